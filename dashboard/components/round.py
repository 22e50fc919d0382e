"""A reviewer's way through the questions: queue, order, filter, progress, and where they are. No Streamlit in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from audit_core.errors import AuditError
from audit_core.reviews.events import IMPACTS
from audit_core.reviews.filters import PARAMETERS, Filters, parse
from audit_core.reviews.fold import Fold, Pair
from audit_core.reviews.queues import QUEUES, SORTS, Marks, Table, members, ordered
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Team

OWN = ("queue", "sort", "seed", "q", *PARAMETERS)
"""Parameters of the address that belong to this page."""

Row = dict[str, Any]
Address = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Compared:
    """What the desk is set up for."""

    study_id: str
    bundle: str
    old: str
    new: str
    kernel: str

    @property
    def pair(self) -> Pair:
        """Old and new state."""
        return self.old, self.new


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass
class Round:
    """One browser session's way through a queue.

    Attributes:
        person: Who sits here; read again before every save.
        team: How the team reviews.
        what: The comparison.
        table: Its questions.
        content: Question id → everything about it; None where it is not there.
        search: Text → ids of the questions that contain it.
        queue: Name of the queue; likewise `sort`, `seed`, `filters`.
        order: Positions of the queue's questions in the order of work, fixed when the queue was entered, so that
            nothing moves under the reviewer's hands.
        current: The question on the desk; None where the queue is empty.
        written: Own part of the address as this session wrote it last.
        fold: What stood at the last successful read.
        unread: Why the last read failed; then `fold` is older than the disk.
        message: What happened last, in words.
        problems: Sentences about parts of the address that could not be followed.
    """

    reviews: ReviewStore
    person: Person
    team: Team
    what: Compared
    table: Table
    content: Callable[[str], Row | None]
    search: Callable[[str], set[str]]
    queue: str = "flips"
    sort: str = "impact"
    seed: int = 1
    filters: Filters = field(default_factory=Filters)
    filter_address: Address = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    current: str | None = None
    written: Address = field(default_factory=dict)
    fold: Fold = field(default_factory=Fold)
    unread: AuditError | None = None
    message: str = ""
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.today = _today()
        self._new_marks()
        self._place: dict[int, int] = {}
        self._inside = np.zeros(len(self.table), np.bool_)

    @property
    def who(self) -> str:
        """The name that verdicts carry."""
        return self.person.name

    def refresh(self) -> None:
        """Read what is new on the disk; a failure is told, and the desk goes on with what it knows."""
        if (today := _today()) != self.today:  # a desk may stay open over midnight, when a quarantine ends
            self.today = today
            self._new_marks()
        try:
            self.fold, self.unread = self.reviews.fold(), None
        except AuditError as error:
            self.unread = error
        self.marks.follow(self.fold)

    def sits(self, person: Person, team: Team) -> None:
        """Somebody is at the desk: the same person as before, or one with another name, role or team."""
        if (person, team) != (self.person, self.team):
            self.person, self.team = person, team
            self._new_marks()
            self.marks.follow(self.fold)

    def _new_marks(self) -> None:
        self.marks = Marks(self.table, self.what.study_id, self.what.pair, self.person, self.team, self.today)

    def counts(self) -> dict[str, int]:
        """How many questions each queue holds under the present filter."""
        return {name: int(mask.sum()) for name, mask in self._members().items()}

    def _members(self) -> dict[str, Any]:
        narrowed = self.filters.mask(self.table, self.marks, self.search) if self.filters else None
        return members(self.table, self.marks, narrowed, aside_too=self.filters.settled)

    def progress(self) -> tuple[int, int, int]:
        """Reviewed, all, and high impact, over the present queue."""
        high = self.marks.impact == list(IMPACTS).index("high")
        return int((self.marks.reviewed & self._inside).sum()), len(self.order), int((high & self._inside).sum())

    def people(self) -> list[tuple[str, int, int]]:
        """Of everyone on the team or with a verdict here: the name, verdicts given and questions that are theirs."""
        names = dict.fromkeys([*self.team.reviewers, *self.marks.people])
        nothing = np.zeros(len(self.table), np.bool_)
        return [
            (
                name,
                int((self.marks.people.get(name, nothing) & self._inside).sum()),
                int((self.marks.of(name) & self._inside).sum()),
            )
            for name in names
        ]

    def settled(self) -> int:
        """Questions of the queue whose verdict counts, over everyone."""
        return int((self.marks.settled & self._inside).sum())

    def set_aside(self) -> int:
        """Questions that belong to the queue and are in quarantine."""
        queue = QUEUES[self.queue]
        mask = self.table.fixed(self.queue, self.marks) if queue.fixed else queue.members(self.table, self.marks)
        return 0 if self.queue == "quarantine" or self.filters.settled else int((mask & self.marks.aside).sum())

    def place(self) -> int | None:
        """Position of the current question in the queue, from 0; None where it is outside."""
        return self._place.get(self.table.index[self.current]) if self.current is not None else None

    def ids(self) -> list[str]:
        """Questions of the queue in the order of work."""
        return [self.table.ids[position] for position in self.order]

    def adopt(self, address: Mapping[str, Sequence[str]]) -> None:
        """Take queue, filters and question from an address; what cannot be followed is told."""
        wanted = {name: list(values) for name, values in address.items() if name in OWN and values}
        self.problems = []

        def one(name: str, known: Mapping[str, Any], default: str, what: str) -> str:
            value = wanted.get(name, [default])[-1]
            if value in known:
                return value
            self.problems.append(f"The address asks for the {what} “{value}”, which does not exist.")
            return default

        shared_out = self.team.assignment != "all" and self.person.may("verdict")
        queue = one("queue", QUEUES, "mine" if shared_out else "flips", "queue")
        sort = one("sort", SORTS, "random" if self.team.masked else "impact", "order")
        seed = wanted.get("seed", ["1"])[-1]
        filters = {name: values for name, values in wanted.items() if name in PARAMETERS}
        self.enter(queue, sort, int(seed) if seed.isdecimal() and len(seed) < 10 else 1, filters)
        self.problems += self.filters.problems
        if "q" in wanted:
            question = wanted["q"][-1]
            if question in self.table.index:
                self.show(question)
            else:
                self.problems.append(f"The address asks for the question “{question}”, which this study does not have.")

    def enter(self, queue: str, sort: str, seed: int = 1, filters: Address | None = None) -> None:
        """Go to a queue: fix its order and show its first question without an own verdict."""
        same = bool(self._place) and (queue, sort, seed, filters or {}) == (
            self.queue, self.sort, self.seed, self.filter_address)  # fmt: skip
        if same:
            return
        self.queue, self.sort, self.seed, self.filter_address = queue, sort, seed, filters or {}
        self.filters = parse(self.filter_address)
        self._inside = self._members()[queue].copy()
        self.order = ordered(self.table, self.marks, self._inside, sort, seed)
        self._place = {position: i for i, position in enumerate(self.order)}
        waiting = next((p for p in self.order if self._open(p)), None)
        first = waiting if waiting is not None else next(iter(self.order), None)
        self.show(None if first is None else self.table.ids[first])
        self.message = ""

    def _open(self, position: int) -> bool:
        """Whether a question still waits: in the disputed queue for a ruling, elsewhere for an own verdict."""
        if self.marks.aside[position] and self.queue != "quarantine":
            return False
        return bool(self.marks.disputed[position] if self.queue == "disputed" else not self.marks.reviewed[position])

    def address(self) -> Address:
        """Own part of the address of what is on the desk."""
        found: Address = {"queue": [self.queue], "sort": [self.sort], **self.filter_address}
        if self.sort == "random":
            found["seed"] = [str(self.seed)]
        if self.current is not None:
            found["q"] = [self.current]
        return found

    def show(self, question_id: str | None) -> None:
        """Put a question on the desk."""
        self.current = question_id

    def move(self, step: int) -> None:
        """One question on or back; at an end it says so."""
        place = self.place()
        if not self.order:
            return
        if place is None:
            self.show(self.table.ids[self.order[0]])
            return
        wanted = place + step
        if 0 <= wanted < len(self.order):
            self.show(self.table.ids[self.order[wanted]])
            self.message = ""
        else:
            self.message = "This is the last question of the queue." if step > 0 else "This is the first question."

    def next_open(self) -> bool:
        """Go to the next question that waits, past the end to the beginning; False where there is none."""
        start = self.place()
        begin = 0 if start is None else start + 1
        for step in range(len(self.order)):
            position = self.order[(begin + step) % len(self.order)]
            if self._open(position):
                self.show(self.table.ids[position])
                return True
        self.message = (
            "Every question of this queue is settled." if self.queue == "disputed"
            else "Every question of this queue has your verdict."
        )  # fmt: skip
        return False
