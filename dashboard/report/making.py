"""From a loaded study and what people said to the bytes of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit_core.codec import Record
from audit_core.deciding import Audited, reported
from audit_core.errors import AuditError, InputError, Problem
from audit_core.printed import Row, Source
from audit_core.protocol import from_record
from audit_core.readmodel import read
from audit_core.readmodel.printed import source
from audit_core.reviews import signed
from audit_core.reviews.carried import Reviewed, carried, decided, reviewed
from audit_core.reviews.decided import Signed, decisions, outdated
from audit_core.reviews.fold import Fold, Pair
from audit_core.reviews.signoff import read as proof
from audit_core.reviews.store import ReviewStore
from dashboard.report.document import document, first_page
from dashboard.report.examples import chosen
from dashboard.selection import Selection, default_pair


@dataclass(frozen=True, slots=True)
class People:
    """What people said, for a report.

    Attributes:
        fold: What stands.
        proof: Reads the file of a sign-off; raises where it is missing or was changed.
        needed: Independent verdicts that a question needs.
    """

    fold: Fold
    proof: Callable[[Signed], object] = lambda _: None
    needed: int = 1


def people_of(store: ReviewStore, needed: int) -> People:
    """What a store of verdicts says."""
    return People(store.fold(), lambda decision: proof(store, decision), needed)


def render(db: Path, study_id: str, people: People, *, pair: Pair | None = None, redacted: bool) -> bytes:
    """A report on a pair of states of a loaded study.

    Args:
        db: The database.
        study_id: A study in it.
        people: What people said.
        pair: Old and new state; the endpoints when None.
        redacted: Whether texts of the study are left out.

    Raises:
        InputError: The pair is not part of the study's estimates.
    """
    return _whole(_gathered(db, study_id, people, pair, redacted), redacted)


def again(db: Path, study_id: str, record: Record, *, pair: Pair, redacted: bool) -> bytes:
    """A report made anew from the verdicts that it carries; arguments else as of `render`.

    Args:
        record: What the report carries of the review.

    Raises:
        InputError: Those are no verdicts, or the pair is not part of the study's estimates.
    """
    study, flips = _compared(db, study_id, pair)
    held = reviewed(record, study_id, flips, pair)
    return _whole(_held(db, study, pair, flips, held), redacted)


def _whole(made: _Gathered, redacted: bool) -> bytes:
    return document(made.study, made.source, made.selection, made.flips, made.carried, redacted=redacted)


def preview(db: Path, study_id: str, people: People, *, pair: Pair | None = None, redacted: bool) -> str:
    """The first page of `render` as markup, without figures; arguments as there."""
    made = _gathered(db, study_id, people, pair, redacted)
    return first_page(made.study, made.source, made.selection, redacted=redacted)


@dataclass(frozen=True, slots=True)
class _Gathered:
    study: Row
    source: Source
    selection: Selection
    flips: list[str]
    carried: Record


def _compared(db: Path, study_id: str, pair: Pair | None) -> tuple[dict[str, Any], list[str]]:
    """The study, and the repeat-stable flips of a pair of its states.

    Raises:
        InputError: The pair is not part of the study's estimates.
    """
    study = read.study(db, study_id)
    old, new = pair = pair or default_pair(study)
    if old == new:
        raise InputError(Problem("a report compares two states", "two states", f"{old} alone", study_id,
                                 "Collect or import a second state."))  # fmt: skip
    flips = _flips(db, study_id, study["main_kernel"], pair)
    if flips is None:
        listed = "; ".join(f"{p['old']} {p['new']}" for p in study["pairs"]) or "none"
        raise InputError(
            Problem("this pair of states is not part of the study's estimates", listed, f"{old} {new}", study_id,
                    "Name one of these pairs; others are explored on the dashboard and are in no report.")
        )  # fmt: skip
    return study, flips


def _gathered(db: Path, study_id: str, people: People, given: Pair | None, redacted: bool) -> _Gathered:
    study, flips = _compared(db, study_id, given)
    pair, kernel = given or default_pair(study), study["main_kernel"]
    rows = read.estimates(db, study_id)
    names = signed.estimate_names(study["kernels"], pair)
    screen = signed.screen(
        people.fold, study, pair, kernel, locks=_locks(db, study_id), flips=flips, needed=people.needed,
        estimates=[rows[name] for name in names if name in rows],
        rule=study["decision"] if _endpoints(study) == pair else None,
    )  # fmt: skip
    signoff = _signoff(people, screen)
    if redacted and signoff:
        signoff |= {"by": "", "reason": "", "conditions": ""}
    verdicts = reviewed(carried(screen.events, people.needed, None, noted=()), study_id, flips, pair).verdicts
    shown: Sequence[str] = [] if redacted else chosen(flips, verdicts)
    counted = (people.fold.review(study_id, question, pair).outcome(people.needed) for question in shown)
    noted = {event.id for event in counted if event}
    held = reviewed(carried(screen.events, people.needed, signoff, noted=noted), study_id, flips, pair)
    return _held(db, study, pair, flips, held)


def _held(db: Path, study: dict[str, Any], pair: Pair, flips: list[str], held: Reviewed) -> _Gathered:
    study_id, (old, new) = study["study_id"], pair
    rows, release, fixed = read.estimates(db, study_id), None, from_record(study["protocol"]).release
    if fixed and _endpoints(study) == pair:
        counted = rows[f"repeat_stable_flips[{fixed.kernel}]@{old}-{new}"]["numerator"] is not None
        judged = _flips(db, study_id, fixed.kernel, pair) if counted else None
        locks = _locks(db, study_id)
        release = reported(fixed, Audited(study_id, study["bundle"], pair, locks, judged, study["release"], rows), held)
    selection = Selection(study_id, old, new, study["main_kernel"])
    return _Gathered(study, source(db, study, held, release), selection, flips, held.record)


def _endpoints(study: Row) -> tuple[str | None, str | None]:
    return study["old_state"], study["new_state"]


def _locks(db: Path, study_id: str) -> list[tuple[str, str]]:
    return [(lock["gate"], lock["sha256"]) for lock in read.locks(db, study_id)]


def _flips(db: Path, study_id: str, kernel: str, pair: Pair) -> list[str] | None:
    table = read.columns(db, study_id, kernel, *pair)
    if table is None:
        return None
    return [question for question, flip in zip(table["question_id"], table["flip"], strict=True) if flip]


def _signoff(people: People, screen: signed.Screen) -> dict[str, str] | None:
    found = [d for d in decisions(people.fold, screen.study_id, screen.pair) if d.event.kind == "signoff"]
    if not found:
        return None
    fault = ""
    try:
        people.proof(found[0])
    except AuditError as error:
        fault = f"{error.problems[0].what}."  # without the place, which is another one on every machine
    return decided(found[0], outdated(found[0], screen, people.fold), fault)
