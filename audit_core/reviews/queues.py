"""The queues of Triage: who is in each, in which order, and how many. One function answers all three.

It works on the columns of one pair of states and kernel (`readmodel.read.columns` or `explore.columns`) and on what
people have said so far. Everything is a numpy mask over the questions, so that 100,000 of them take milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.reviews.events import IMPACTS, VERDICTS
from audit_core.reviews.fold import STACKED, Fold, Pair
from audit_core.reviews.memory import question_digest
from audit_core.reviews.team import Person, Team

Mask = npt.NDArray[np.bool_]
PRIORITY_TAGS = frozenset({"high-priority", "high priority", "priority"})
SORTS = {"impact": "Impact first", "ladder": "Study order", "random": "Random"}

COLUMNS = (
    "within_old", "within_old_pairs", "within_new", "within_new_pairs", "crossing", "cross_pairs", "numerator",
    "denominator", "flip", "matched", "lost", "gained", "both_match", "different_nonmatch", "same_nonmatch",
    "unknown_in", "unknown_out", "all_nonmatch", "verbatim", "shared", "documents", "same_set", "same_order",
    "refusal_split", "open_triangles", "judges_disagree", "split_old", "split_new", "to_refused", "from_refused",
    "same_evidence_old", "same_evidence_new", "weight",
)  # fmt: skip
"""Numeric columns of the read model's `contrast` and `fact`, and the question's weight."""


class Table:
    """The columns of one pair of states and kernel as arrays, in question order.

    Args:
        columns: Parallel lists; absent columns and None are *unknown*, never zero.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.ids: list[str] = list(columns["question_id"])
        self.index = {question_id: i for i, question_id in enumerate(self.ids)}
        self._columns = columns
        self._numbers: dict[str, npt.NDArray[np.float64]] = {}
        self._tags: list[tuple[str, ...]] | None = None
        self._masks: dict[str, Mask] = {}
        self._shares: dict[str, dict[str, Mask]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        """One column as doubles, NaN where unknown."""
        if name not in self._numbers:
            values = self._columns.get(name)
            if values is None:
                array = np.full(len(self.ids), np.nan)
            else:
                array = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
            self._numbers[name] = array
        return self._numbers[name]

    @property
    def contrast(self) -> npt.NDArray[np.float64]:
        """Per-question contrast in [-1, 1]; NaN where it is undefined."""
        if "contrast" not in self._numbers:
            with np.errstate(invalid="ignore", divide="ignore"):
                self._numbers["contrast"] = self["numerator"] / self["denominator"]
        return self._numbers["contrast"]

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """Tags of each question."""
        if self._tags is None:
            found = self._columns.get("tags") or [()] * len(self.ids)
            self._tags = [tuple(json.loads(tags) if isinstance(tags, str) else tags or ()) for tags in found]
        return self._tags

    @cached_property
    def digests(self) -> list[str]:
        """Digest of each question's text, by which it is known in other studies; empty where it has none."""
        return [question_digest(text) for text in self._columns.get("text") or [None] * len(self.ids)]

    def fixed(self, queue: str, marks: Marks) -> Mask:
        """Mask of a queue that verdicts do not change."""
        if queue not in self._masks:
            self._masks[queue] = np.asarray(QUEUES[queue].members(self, marks), np.bool_)
        return self._masks[queue]

    def shares(self, team: Team, study_id: str) -> dict[str, Mask] | None:
        """The questions of each reviewer of a team; None where everyone gets all. Drawn once for all sessions."""
        if team.assignment == "all" or not team.reviewers:
            return None
        key = repr((team, study_id))
        if key not in self._shares:
            found = {name: np.zeros(len(self), np.bool_) for name in team.reviewers}
            for i, (question_id, tags) in enumerate(zip(self.ids, self.tags, strict=True)):
                for name in found.keys() & set(team.assigned(study_id, question_id, tags) or found):
                    found[name][i] = True
            self._shares = {key: found}  # an older team file's are no longer asked for
        return self._shares[key]

    def row(self, question_id: str) -> dict[str, Any] | None:
        """All columns of one question as they came."""
        i = self.index.get(question_id)
        return None if i is None else {name: values[i] for name, values in self._columns.items()}


class Marks:
    """What people have said about the questions of a table, as arrays that follow the fold.

    Args:
        table: The questions.
        study_id: The study; likewise `pair`, old and new state.
        person: Whose desk it is.
        team: How many verdicts a question needs, and who gets which.
        today: ISO 8601; a quarantine that ended before it has no effect.

    Attributes:
        verdict: The person's own, as position in `VERDICTS`, -1 for none.
        impact: Position in `IMPACTS`, -1 for none.
        disputed: Reviewers said different things and nobody has settled it.
        settled: The verdict counts: enough agree, or an adjudicator has decided.
        outcome: The verdict that counts, as position in `VERDICTS`, -1 for none; likewise its impact in
            `outcome_impact`. A reviewer knows both of questions they have judged themselves only.
        aside: Set aside.
        people: Of each reviewer, the questions with their verdict.
    """

    def __init__(self, table: Table, study_id: str, pair: Pair, person: Person, team: Team, today: str) -> None:
        self.table, self.study_id, self.pair, self.person, self.team = table, study_id, pair, person, team
        self.today = today
        n = len(table)
        self.verdict, self.impact, self.outcome, self.outcome_impact = (np.full(n, -1, np.int8) for _ in range(4))
        self.disputed, self.settled, self.aside = (np.zeros(n, np.bool_) for _ in range(3))
        self.people: dict[str, Mask] = {}
        self._fold: Fold | None = None
        self._seen = 0

    def follow(self, fold: Fold) -> Marks:
        """Take in the events that are new since the last call."""
        if fold is not self._fold:
            self._fold, self._seen = fold, 0
            self.verdict[:] = self.impact[:] = self.outcome[:] = self.outcome_impact[:] = -1
            self.disputed[:] = self.settled[:] = self.aside[:] = False
            self.people = {}
        trail = fold.trail
        touched: dict[int, None] = {}
        set_aside = False
        while self._seen < len(trail):
            event = trail[self._seen]
            set_aside = set_aside or event.kind in ("quarantine", "release")
            if event.kind in STACKED and event.study_id == self.study_id and event.pair == self.pair:
                i = self.table.index.get(event.question_id)
                if i is not None:
                    touched[i] = None
            self._seen += 1
        for i in touched:
            self._take(fold, i)
        if set_aside:
            self.aside[:] = [
                fold.set_aside(self.study_id, question_id, digest, self.today) is not None
                for question_id, digest in zip(self.table.ids, self.table.digests, strict=True)
            ]
        return self

    def _take(self, fold: Fold, i: int) -> None:
        question_id = self.table.ids[i]
        review = fold.review(self.study_id, question_id, self.pair)
        own = next((v for v in review.verdicts if v.reviewer == self.person.name), None)
        self.verdict[i] = _VERDICT_CODE[own.verdict] if own else -1
        self.impact[i] = _IMPACT_CODE[own.impact] if own else -1
        self.disputed[i] = review.disputed
        counts = review.outcome(self.team.needed)
        self.settled[i] = counts is not None
        told = counts if own or not self.person.independent else None
        self.outcome[i] = _VERDICT_CODE[told.verdict] if told else -1
        self.outcome_impact[i] = _IMPACT_CODE[told.impact] if told else -1
        by = {v.reviewer for v in review.verdicts}
        for who in by - self.people.keys():
            self.people[who] = np.zeros(len(self.table), np.bool_)
        for who, mask in self.people.items():
            mask[i] = who in by

    def of(self, name: str) -> Mask:
        """Questions that a person is to review."""
        shares = self.table.shares(self.team, self.study_id)
        if shares is None:
            return np.ones(len(self.table), np.bool_)
        return shares.get(name, np.zeros(len(self.table), np.bool_))

    @property
    def reviewed(self) -> Mask:
        """Questions with an own verdict."""
        return self.verdict >= 0

    @property
    def to_settle(self) -> Mask:
        """Disputed questions that the person may know of: a reviewer knows of those they have judged themselves."""
        return self.disputed & self.reviewed if self.person.independent else self.disputed


_VERDICT_CODE: dict[str | None, int] = {None: -1} | {verdict: i for i, verdict in enumerate(VERDICTS)}
_IMPACT_CODE: dict[str | None, int] = {None: -1} | {impact: i for i, impact in enumerate(IMPACTS)}


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue.

    Attributes:
        label: Words for people.
        members: Table and marks → mask.
        empty: Why nobody is in it, when nobody is.
        fixed: True where verdicts do not change it, so that it is computed once for a table.
    """

    label: str
    members: Callable[[Table, Marks], Mask]
    empty: str
    fixed: bool = True


def _positive(column: str) -> Callable[[Table, Marks], Mask]:
    return lambda table, marks: table[column] > 0


def _unstable(state: str) -> Callable[[Table, Marks], Mask]:
    return lambda table, marks: table[f"within_{state}"] < table[f"within_{state}_pairs"]


def _priority(table: Table, marks: Marks) -> Mask:
    """A priority tag, or a weight in the top tenth of weights that differ."""
    mask = np.fromiter((not PRIORITY_TAGS.isdisjoint(tags) for tags in table.tags), np.bool_, len(table))
    weight = table["weight"]
    known = weight[~np.isnan(weight)]
    if known.size and known.min() < known.max():
        mask |= weight >= max(np.quantile(known, 0.9, method="inverted_cdf"), np.nextafter(known.min(), np.inf))
    return mask


_NO_GOLD = "EM transitions need gold answers and two states; look in the ledger whether this study has them."

QUEUES: dict[str, Queue] = {
    "flips": Queue(
        "Repeat-stable flips",
        _positive("flip"),
        "No question has repeats that agree within both states and never across them.",
    ),
    "unstable_old": Queue("Unstable at old", _unstable("old"), "Every question repeats its answer in the old state."),
    "unstable_new": Queue("Unstable at new", _unstable("new"), "Every question repeats its answer in the new state."),
    "lost": Queue("EM lost", _positive("lost"), f"No matched repeat went from EM-match to EM-nonmatch. {_NO_GOLD}"),
    "gained": Queue(
        "EM gained", _positive("gained"), f"No matched repeat went from EM-nonmatch to EM-match. {_NO_GOLD}"
    ),
    "different_nonmatch": Queue(
        "Different nonmatch",
        _positive("different_nonmatch"),
        f"No matched repeat moved from one EM-nonmatch to another. {_NO_GOLD}",
    ),
    "refusal_split": Queue(
        "Refusal split", _positive("refusal_split"), "In no state does one repeat refuse while another answers."
    ),
    "judges_disagree": Queue(
        "Judges disagree",
        _positive("judges_disagree"),
        "No pair was labelled differently by two judges; most studies have one judge or none.",
    ),
    "nontransitive": Queue(
        "Non-transitive", _positive("open_triangles"), "No question has labels of the form 1 = 2, 2 = 3, 1 ≠ 3."
    ),
    "priority": Queue("High priority", _priority, "No question carries a priority tag or a high traffic weight."),
    "mine": Queue(
        "Mine, open",
        lambda table, marks: marks.of(marks.person.name) & ~marks.reviewed & (table["flip"] > 0),
        "Every repeat-stable flip that is yours has your verdict.",
        fixed=False,
    ),
    "disputed": Queue(
        "Disputed",
        lambda table, marks: marks.to_settle,
        "Nobody disagrees: no question has two different verdicts that an adjudicator has not settled.",
        fixed=False,
    ),
    "unreviewed": Queue(
        "Unreviewed", lambda table, marks: ~marks.reviewed, "Every question has your verdict.", fixed=False
    ),
    "reviewed": Queue(
        "Reviewed", lambda table, marks: marks.reviewed, "No question has your verdict yet.", fixed=False
    ),
    "quarantine": Queue("Set aside", lambda table, marks: marks.aside, "No question is set aside.", fixed=False),
    "all": Queue("All questions", lambda table, marks: np.ones(len(table), np.bool_), "The study has no questions."),
}
"""Every queue by the name that the URL uses, in the order of the menu."""


def members(table: Table, marks: Marks, narrowed: Mask | None = None, *, aside_too: bool = False) -> dict[str, Mask]:
    """Who is in each queue; counts beside the queues are the sums of these masks.

    Args:
        table: The questions.
        marks: What the reviewer has said.
        narrowed: Mask of `filters.Filters`, joined by *and*.
        aside_too: Keep what is set aside, where it is looked up rather than worked on.
    """
    masks = {
        name: table.fixed(name, marks) if queue.fixed else queue.members(table, marks) for name, queue in QUEUES.items()
    }
    if marks.aside.any() and not aside_too:  # out of sight, but in a queue of its own and in every estimate
        masks = {name: mask if name == "quarantine" else mask & ~marks.aside for name, mask in masks.items()}
    return masks if narrowed is None else {name: mask & narrowed for name, mask in masks.items()}


def ordered(table: Table, marks: Marks, mask: Mask, sort: str, seed: int = 0) -> list[int]:
    """Positions of a queue's members in the order of work.

    ``impact``: verdict pending, then EM lost, then traffic weight, then low overlap, then study order.
    ``ladder``: study order. ``random``: by SHA-256 of seed and id, the same on every machine and for every subset.
    """
    positions = np.flatnonzero(mask)
    if sort == "random":
        keys = {
            int(i): hashlib.sha256(f"{seed}\n{table.ids[i]}".encode("utf-8", "surrogatepass")).digest()
            for i in positions
        }
        return sorted(keys, key=keys.__getitem__)
    if sort == "impact":
        weight, shared, lost = table["weight"][positions], table["shared"][positions], table["lost"][positions]
        keys_last_first = (
            positions,
            np.where(np.isnan(shared), np.inf, shared),
            -np.where(np.isnan(weight), -np.inf, weight),
            ~(lost > 0),
            marks.reviewed[positions],
        )
        positions = positions[np.lexsort(keys_last_first)]
    return [int(i) for i in positions]
