"""The reviewer's desk: which queue, which question, what stands. No Streamlit in here.

The current question is owned by the server and is never a widget's value, because a late browser message carries old
widget values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np

from audit_core.errors import AuditError
from audit_core.reviews.events import CAUSES, IMPACTS, Event
from audit_core.reviews.filters import PARAMETERS, Filters, parse
from audit_core.reviews.fold import Fold, Pair, Standing
from audit_core.reviews.queues import QUEUES, SORTS, Marks, Table, members, ordered
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Team
from dashboard.components.saving import Details, Shown

OWN = ("queue", "sort", "seed", "q", *PARAMETERS)
"""Parameters of the address that belong to this page."""

Row = dict[str, Any]
Address = dict[str, list[str]]


def item_of(study_id: str, question_id: str) -> str:
    """A question's name in widget keys and in the browser: short, and different for ids that look alike."""
    return hashlib.sha256(repr((study_id, question_id)).encode()).hexdigest()[:20]


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


@dataclass
class Desk:
    """One browser session's desk.

    Attributes:
        person: Who sits here; read again before every save.
        team: How the team reviews.
        what: The comparison.
        table: Its questions.
        queue: Name of the queue; likewise `sort`, `seed`, `filters`.
        order: Positions of the queue's questions in the order of work, fixed when the queue was entered, so that
            nothing moves under the reviewer's hands.
        current: The question on the desk; None where the queue is empty.
        written: Own part of the address as this session wrote it last.
        acked: Last key press taken from each tab.
        fold: What stood at the last successful read.
        last: The event saved last in this session, as read back.
        unsaved: Input that the disk refused, by item: verdict and details.
        problem: Why the last save failed.
        unread: Why the last read failed; then `fold` is older than the disk.
        message: What happened last, in words.
        pair: Number of the answer pair whose words are compared.
        full_evidence: Passages in full instead of excerpts.
        full_text: Long texts of the current question that are shown to the end: cell keys, or ``question``.
        full_labels: The matrix of pair labels is shown.
        epoch: Counts changes of a note that did not come from its field, so that the field is drawn anew.
        drawn: Item, epoch and text of the note's field.
        causes: Tags beyond the usual ones that were used in this study.
        own: Newest event of this tab by item; the base of its next press.
        shown: What the page showed by item.
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
    acked: dict[str, int] = field(default_factory=dict)
    fold: Fold = field(default_factory=Fold)
    last: Event | None = None
    unsaved: dict[str, tuple[str | None, Details]] = field(default_factory=dict)
    problem: AuditError | None = None
    unread: AuditError | None = None
    message: str = ""
    problems: list[str] = field(default_factory=list)
    pair: int = 0
    full_evidence: bool = False
    full_text: set[str] = field(default_factory=set)
    full_labels: bool = False
    epoch: int = 0
    drawn: tuple[str, int, str] = ("", -1, "")
    causes: list[str] = field(default_factory=list)
    own: dict[str, int] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)

    def __post_init__(self) -> None:
        today = datetime.now(UTC).date().isoformat()
        self.marks = Marks(self.table, self.what.study_id, self.what.pair, self.person, self.team, today)
        self._place: dict[int, int] = {}
        self._inside = np.zeros(len(self.table), np.bool_)

    def refresh(self) -> None:
        """Read what is new on the disk; a failure is told, and the desk goes on with what it knows."""
        try:
            self.fold, self.unread = self.reviews.fold(), None
        except AuditError as error:
            self.unread = error
        self.marks.follow(self.fold)

    def inherit(self, other: Desk) -> None:
        """Take over what belongs to the session rather than to the comparison."""
        self.acked, self.last, self.unsaved = other.acked, other.last, other.unsaved
        self.full_evidence, self.epoch, self.own = other.full_evidence, other.epoch + 1, other.own

    def gather_causes(self) -> None:
        """Remember the cause tags that were used in this study."""
        standings = self.fold.standings(self.what.study_id, self.who, self.what.pair)
        used = [cause for _, s in standings if s.details for cause in s.details.causes]
        self.causes = list(dict.fromkeys(used))

    def history(self) -> list[Event]:
        """Everything this reviewer recorded on the current question."""
        try:
            return self.reviews.history(self.what.study_id, self.current or "", self.who)
        except AuditError as error:
            self.unread = error
            return []

    @property
    def who(self) -> str:
        """The name that verdicts carry."""
        return self.person.name

    @property
    def item(self) -> str:
        """Name of the current question; empty without one."""
        return item_of(self.what.study_id, self.current) if self.current is not None else ""

    def standing(self, question_id: str) -> Standing:
        """What this reviewer has said about a question."""
        return self.fold.standing(self.what.study_id, question_id, self.who, self.what.pair)

    def details(self, item: str | None = None) -> Details:
        """Impact, causes and note of the current question or of one shown before: unsaved input, else what stands."""
        item = self.item if item is None else item
        if item in self.unsaved:
            return self.unsaved[item][1]
        question = self.current if item == self.item else self.shown[item].question_id
        return Details.of(self.standing(question).details) if question is not None else Details()

    def note_drawn(self) -> str:
        """The note as its field was first drawn on this visit; own changes are in the field already."""
        if self.drawn[:2] != (self.item, self.epoch):
            self.drawn = (self.item, self.epoch, self.details().note)
        return self.drawn[2]

    def causes_offered(self) -> dict[str, str]:
        """Cause tags to choose from: the usual ones, those used in this study, and what stands.

        The names are digests, since a browser's sanitizer drops attributes that hold what it takes for markup.
        """
        tags = dict.fromkeys([*CAUSES, *self.causes, *self.details().causes])
        return {item_of("cause", tag): tag for tag in tags}

    def offered(self) -> Event | None:
        """The event that *undo* takes back: the verdict on screen, else the one given last in this study."""
        own = self.standing(self.current).verdict if self.current is not None else None
        return own or self.fold.last_given(self.what.study_id, self.who, self.what.pair)

    def counts(self) -> dict[str, int]:
        """How many questions each queue holds under the present filter."""
        narrowed = self.filters.mask(self.table, self.marks, self.search) if self.filters else None
        return {name: int(mask.sum()) for name, mask in members(self.table, self.marks, narrowed).items()}

    def progress(self) -> tuple[int, int, int]:
        """Reviewed, all, and high impact, over the present queue."""
        high = self.marks.impact == list(IMPACTS).index("high")
        return int((self.marks.reviewed & self._inside).sum()), len(self.order), int((high & self._inside).sum())

    def place(self) -> int | None:
        """Position of the current question in the queue, from 0; None where it is outside."""
        return self._place.get(self.table.index[self.current]) if self.current is not None else None

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

        queue = one("queue", QUEUES, "flips", "queue")
        sort = one("sort", SORTS, "impact", "order")
        seed = wanted.get("seed", ["1"])[-1]
        filters = {name: values for name, values in wanted.items() if name in PARAMETERS}
        self.enter(queue, sort, int(seed) if seed.isdecimal() and len(seed) < 10 else 1, filters)
        self.problems += self.filters.problems
        if "q" in wanted:
            question = wanted["q"][-1]
            if question in self.table.index:
                self.current = question
            else:
                self.problems.append(f"The address asks for the question “{question}”, which this study does not have.")

    def enter(self, queue: str, sort: str, seed: int = 1, filters: Address | None = None) -> None:
        """Go to a queue: fix its order and show its first question without a verdict."""
        same = bool(self._place) and (queue, sort, seed, filters or {}) == (
            self.queue, self.sort, self.seed, self.filter_address)
        if same:
            return
        self.queue, self.sort, self.seed, self.filter_address = queue, sort, seed, filters or {}
        self.filters = parse(self.filter_address)
        narrowed = self.filters.mask(self.table, self.marks, self.search) if self.filters else None
        self._inside = members(self.table, self.marks, narrowed)[queue].copy()
        self.order = ordered(self.table, self.marks, self._inside, sort, seed)
        self._place = {position: i for i, position in enumerate(self.order)}
        waiting = next((p for p in self.order if not self.marks.reviewed[p]), None)
        first = waiting if waiting is not None else next(iter(self.order), None)
        self.show(None if first is None else self.table.ids[first])
        self.message = ""

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
        if question_id != self.current:
            self.full_text = set()
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

    def next_unreviewed(self) -> bool:
        """Go to the next question without a verdict, past the end to the beginning; False where there is none."""
        start = self.place()
        begin = 0 if start is None else start + 1
        if bool((self._inside & ~self.marks.reviewed).any()):
            for step in range(len(self.order)):
                position = self.order[(begin + step) % len(self.order)]
                if not self.marks.reviewed[position]:
                    self.show(self.table.ids[position])
                    return True
        self.message = "Every question of this queue has a verdict."
        return False

    def put_on_screen(self, question: Row) -> Standing:
        """Note exactly what the page shows, before it shows it."""
        standing, before = self.standing(question["question_id"]), self.shown.get(self.item)
        if before and standing.newest not in (before.base, self.own.get(self.item)):
            self.epoch += 1  # another tab has changed the note; its field must not bring the older one back
        self.shown[self.item] = self.seen(question["question_id"], question["content_sha256"], standing.newest)
        return standing

    def seen(self, question_id: str, digest: str, base: int | None) -> Shown:
        """What a verdict on a question is stored against."""
        what = self.what
        return Shown(what.study_id, what.bundle, question_id, digest, what.old, what.new, what.kernel, base)


def pairs_of(cells: Sequence[Row], old: str, new: str) -> list[tuple[int, int]]:
    """Answer pairs to compare word by word: across the endpoints first, then inside them, then everything else."""
    ends = [i for i, cell in enumerate(cells) if cell["state_name"] in (old, new)]
    found = [(i, j) if cells[i]["state_name"] == old else (j, i) for i, j in combinations(ends, 2)
             if cells[i]["state_name"] != cells[j]["state_name"]]
    found += [pair for pair in combinations(ends, 2) if cells[pair[0]]["state_name"] == cells[pair[1]]["state_name"]]
    return found + [pair for pair in combinations(range(len(cells)), 2) if not set(pair) <= set(ends)]
