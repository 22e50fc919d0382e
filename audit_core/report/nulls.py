"""A/A check: two collections of one state, or the repeats of one split in two, must show no excess churn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.explore import pair_estimates
from audit_core.model import Cell, Dossier, Estimate, Judgment, State
from audit_core.results import arrays_of, as_row
from audit_core.same_questions import refuse
from audit_core.study import Study

FIRST, SECOND = "first", "second"
FOUR = 4
"""Two repeats on each side are the fewest that give a noise floor on each side."""


@dataclass(frozen=True, slots=True)
class Null:
    """One comparison of a state with itself.

    Attributes:
        split: How the two sides were made.
        estimates: Agreement and excess churn, sides named first and second.
    """

    split: str
    estimates: tuple[Estimate, ...]

    @property
    def churn(self) -> list[Estimate]:
        """Excess churn under each kernel."""
        return [estimate for estimate in self.estimates if estimate.measure == "excess_churn"]

    @property
    def covers(self) -> bool | None:
        """Whether every interval of excess churn holds zero; None where there is none."""
        intervals = [estimate.interval for estimate in self.churn if estimate.interval is not None]
        return all(low <= 0 <= high for low, high in intervals) if intervals else None


def split_state(study: Study, state: str) -> list[Null]:
    """The repeats of one state against one another: every second one, and the earlier half against the later.

    Raises:
        InputError: The study has no such state, or no question has four answers in it.
    """
    _known(study, state)
    found = []
    for name, side in (("alternating repeats", _alternating), ("earlier and later repeats", _halves)):
        dossiers = (_split(dossier, state, side) for dossier in study.dossiers())
        found.append(Null(name, _estimates(study, dossiers)))
    if not any(estimate.population for null in found for estimate in null.churn):
        raise InputError(
            Problem(
                "the state cannot be split",
                f"at least {FOUR} answers to a question",
                f"fewer in {state}",
                study.protocol.study_id,
                "Collect it again and compare the two collections: snapshot-audit aa STUDY STATE --with STUDY2",
            )
        )
    return found


def against(study: Study, state: str, other: Study, other_state: str) -> list[Null]:
    """Two collections of one state, in one study or in two.

    Raises:
        InputError: A state is unknown, the studies share no question, or ask one id differently.
    """
    _known(study, state)
    _known(other, other_state)
    if study.path.resolve() == other.path.resolve():
        if state == other_state:
            action = "Leave --with out to split its repeats."
            raise InputError(Problem("a state against itself", "two collections", f"{state} twice", action=action))
        dossiers = (_sides(dossier, {state: FIRST, other_state: SECOND}) for dossier in study.dossiers())
        return [Null(f"{state} and {other_state}", _estimates(study, dossiers))]
    name = f"{state} of {study.protocol.study_id} and {other_state} of {other.protocol.study_id}"
    return [Null(name, _estimates(study, _joined(study, state, other, other_state), judged=False))]


def as_facts(study: Study, state: str, nulls: Sequence[Null]) -> dict[str, Any]:
    """The outcome as one JSON object."""
    told = [null.covers for null in nulls if null.covers is not None]
    return {
        "study": study.protocol.study_id,
        "state": state,
        "covers_zero": all(told) if told else None,
        "comparisons": [
            {
                "split": null.split,
                "covers_zero": null.covers,
                "estimates": [as_row(estimate) for estimate in null.estimates if _told(estimate)],
            }
            for null in nulls
        ],
    }


def _told(estimate: Estimate) -> bool:
    return estimate.measure in ("within_agreement", "cross_agreement", "excess_churn", "repeat_stable_flips")


def _estimates(study: Study, dossiers: Iterator[Dossier], judged: bool = True) -> tuple[Estimate, ...]:
    protocol = replace(study.protocol, states=(State(FIRST), State(SECOND)), endpoints=None)
    if not judged:  # labels of two packets say nothing about pairs across them
        dossiers = (replace(dossier, judgments={}) for dossier in dossiers)
    found = pair_estimates(arrays_of(protocol, dossiers), FIRST, SECOND)
    return tuple(e for e in found if judged or e.kernel in (None, "exact"))


def _known(study: Study, state: str) -> None:
    names = [known.name for known in study.protocol.states]
    if state not in names:
        where = study.protocol.study_id
        raise InputError(Problem("no such state", ", ".join(names), state, where, "Name a state of the study."))


def _split(dossier: Dossier, state: str, side: Callable[[int, int], str]) -> Dossier:
    cells = [cell for cell in dossier.cells if cell.state == state]
    answered = sorted(cell.repeat for cell in cells if cell.answer is not None)
    names = {repeat: side(place, len(answered)) for place, repeat in enumerate(answered)}
    chosen = tuple(replace(cell, state=names[cell.repeat]) for cell in cells if cell.repeat in names)
    judgments = {
        judge: replace(
            found,
            slots=tuple((names.get(repeat, ""), repeat) if at == state else ("", repeat) for at, repeat in found.slots),
        )
        for judge, found in dossier.judgments.items()
    }
    return _bare(dossier, chosen, judgments)


def _alternating(place: int, count: int) -> str:
    return SECOND if place % 2 else FIRST


def _halves(place: int, count: int) -> str:
    return FIRST if place < count // 2 else SECOND


def _sides(dossier: Dossier, names: dict[str, str]) -> Dossier:
    """A question with two of its states only, under new names."""
    order = list(names)
    cells = tuple(
        replace(cell, state=names[cell.state])
        for cell in sorted((c for c in dossier.cells if c.state in names), key=lambda c: order.index(c.state))
    )
    judgments = {
        judge: replace(found, slots=tuple((names.get(state, ""), repeat) for state, repeat in found.slots))
        for judge, found in dossier.judgments.items()
    }
    return _bare(dossier, cells, judgments)


def _bare(dossier: Dossier, cells: tuple[Cell, ...], judgments: dict[str, Judgment]) -> Dossier:
    return Dossier(dossier.question, cells, judgments, (), dossier.gold)


def _joined(study: Study, state: str, other: Study, other_state: str) -> Iterator[Dossier]:
    """Questions of two studies by id; what only one of them asks is left out."""
    seconds = {
        dossier.question.question_id: (dossier.question.text, tuple(c for c in dossier.cells if c.state == other_state))
        for dossier in other.dossiers()
    }
    different, common = [], 0
    for dossier in study.dossiers():
        found = seconds.get(dossier.question.question_id)
        if found is None:
            continue
        common += 1
        text, cells = found
        if None not in (text, dossier.question.text) and text != dossier.question.text:
            different.append(dossier.question.question_id)
        first = tuple(replace(cell, state=FIRST) for cell in dossier.cells if cell.state == state)
        yield _bare(dossier, first + tuple(replace(cell, state=SECOND) for cell in cells), {})
    where = f"{study.protocol.study_id} and {other.protocol.study_id}"
    refuse(different, where)
    if not common:
        action = "Check that both studies spell their ids alike."
        raise InputError(Problem("no question in common", "the same ids in both studies", "none", where, action))
