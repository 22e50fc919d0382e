"""The labelling desk: one masked pair of answers at a time, and what its keys do. No Streamlit in here.

As on Triage, a press belongs to the pair that was on screen when it was made; if the desk has moved on, it is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from audit_core.errors import AuditError
from audit_core.reviews.events import LABELS, Entry, Event
from audit_core.reviews.labels import Asked, Place, given
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, permit
from dashboard.components.desk import item_of
from dashboard.components.key_log import Press
from dashboard.components.keys import Key

CARD = "label-card"
REGISTRY: tuple[Key, ...] = (
    Key("1 s", "label:same", "Same", "They mean the same answer to the question. Saves and goes on."),
    Key("2 d", "label:different", "Different", "They are different answers. Saves and goes on."),
    Key("3 c", "label:cannot_tell", "Cannot tell", "It cannot be decided from what is shown. Saves and goes on."),
    Key("j", "next", "Next", "Next pair."),
    Key("k", "previous", "Previous", "Previous pair."),
    Key("n", "open", "Next open", "Next pair that you have not labelled."),
    Key("z", "undo", "Undo", "Take back the label named beside the button; its history stays."),
    Key("?", "help", "Keys", "Show or close this list."),
)


@dataclass(frozen=True, slots=True)
class Asking:
    """What a desk is set up for.

    Attributes:
        bundle: SHA-256 of the study's protocol lock.
        seed: Of the sample.
        sample: Digest of its questions.
        who: Whose labels.
    """

    study_id: str
    bundle: str
    old: str
    new: str
    seed: str
    sample: str
    who: str


@dataclass
class LabelDesk:
    """One browser session's labelling desk.

    Attributes:
        queue: Pairs in this person's order.
        current: Position in it.
        given: This person's labels that stand, by pair.
        acked: Last press taken from each tab.
        last: The event saved last in this session, as read back.
        unsaved: Values that were refused, by item.
        problem: Why the last save failed.
        unread: Why the last read failed.
        message: What happened last, in words.
        full: Long texts of the pair on screen that are shown to the end: ``question``, ``A`` or ``B``.
        shown: Pairs that were on screen, by item.
    """

    reviews: ReviewStore
    what: Asking
    queue: Sequence[Asked]
    current: int = 0
    given: dict[Place, Event] = field(default_factory=dict)
    acked: dict[str, int] = field(default_factory=dict)
    last: Event | None = None
    unsaved: dict[str, str] = field(default_factory=dict)
    problem: AuditError | None = None
    unread: AuditError | None = None
    message: str = ""
    full: set[str] = field(default_factory=set)
    shown: dict[str, Asked] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {pair.place: number for number, pair in enumerate(self.queue)}

    def refresh(self) -> None:
        """Read what is new on the disk; a failure is told, and the desk goes on with what it knows."""
        try:
            own = given(self.reviews.fold(), self.what.study_id).get(self.what.who, {})
            self.unread = None
        except AuditError as error:
            self.unread = error
            return
        self.given = {
            place: event
            for place, event in own.items()
            if place in self._places and event.item_sha256 == self.queue[self._places[place]].sha256
        }

    @property
    def pair(self) -> Asked:
        """The pair on the desk."""
        return self.queue[self.current]

    def name(self, pair: Asked) -> str:
        """A pair's name in the browser."""
        return item_of(self.what.study_id, repr(pair.place))

    @property
    def item(self) -> str:
        """Name of the pair on the desk."""
        return self.name(self.pair)

    @property
    def label(self) -> Event | None:
        """What this person has said about the pair on the desk."""
        return self.given.get(self.pair.place)

    def offered(self) -> Event | None:
        """The label that *undo* takes back: the one on screen, else the one given last."""
        return self.label or max(self.given.values(), key=lambda event: event.id, default=None)

    def finished(self) -> tuple[int, int]:
        """Questions of which every pair is labelled, and all."""
        waiting = Counter(pair.question_id for pair in self.queue if pair.place not in self.given)
        questions = {pair.question_id for pair in self.queue}
        return len(questions) - len(waiting), len(questions)

    def move(self, step: int) -> None:
        """One pair on or back; at an end it says so."""
        wanted = self.current + step
        if 0 <= wanted < len(self.queue):
            self._show(wanted)
            self.message = ""
        else:
            self.message = "This is the last pair." if step > 0 else "This is the first pair."

    def next_open(self) -> None:
        """Go to the next pair without a label, past the end to the beginning."""
        for step in range(1, len(self.queue) + 1):
            position = (self.current + step) % len(self.queue)
            if self.queue[position].place not in self.given:
                self._show(position)
                return
        self.message = "Every pair of the sample has your label."

    def begin(self) -> None:
        """Show the first pair without a label."""
        self.current = len(self.queue) - 1
        self.next_open()

    def put_on_screen(self) -> None:
        """Note which pair the page shows, before it shows it."""
        self.shown[self.item] = self.pair

    def _show(self, position: int) -> None:
        if position != self.current:
            self.full = set()
        self.current = position


def act(desk: LabelDesk, press: Press, person: Person) -> None:
    """Do what a key or button asks of the pair that was on screen, as the person who is there now."""
    action, _, value = press.action.partition(":")
    here = press.item == desk.item and desk.item in desk.shown
    if action == "label" and here and value in LABELS:
        _save(desk, press, person, desk.pair, value)
    elif action == "retry" and here and desk.item in desk.unsaved:
        _save(desk, press, person, desk.pair, desk.unsaved[desk.item])
    elif action == "undo":
        _undo(desk, press, person)
    elif action in ("next", "previous"):
        desk.move(1 if action == "next" else -1)
    elif action == "open":
        desk.next_open()
    elif action == "full_text" and here:
        desk.full.add(press.value[:10])


def _save(desk: LabelDesk, press: Press, person: Person, pair: Asked, value: str) -> None:
    event = _stored(desk, press, person, pair, value)
    if event is None:
        desk.unsaved[press.item] = value
        return
    desk.last = event
    desk.next_open()


def _undo(desk: LabelDesk, press: Press, person: Person) -> None:
    event = desk.offered()
    if event is None or event.id != press.undo:
        return  # the screen offered something else
    position = desk._places[event.question_id, event.subject]
    back = _stored(desk, press, person, desk.queue[position], None)
    if back is not None:
        desk.last, desk.current = None, position
        desk.message = f"Taken back: label #{event.id}, by event #{back.id}."


def _stored(desk: LabelDesk, press: Press, person: Person, pair: Asked, value: str | None) -> Event | None:
    """The event as read back from the disk; None where it was refused, with the reason on the desk."""
    what = desk.what
    entry = Entry(
        request_id=press.request,
        study_id=what.study_id,
        bundle=what.bundle,
        question_id=pair.question_id,
        reviewer=person.name,
        kind="label",
        item_sha256=pair.sha256,
        at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        old=what.old,
        new=what.new,
        kernel="semantic",
        verdict=value,
        sides=pair.sides(what.seed, person.name)[0].name,
        subject=pair.subject,
    )
    desk.message = ""
    try:
        permit(person, "label")
        if person.name != what.who:
            return None  # somebody else has taken the seat; the page is about to be drawn for them
        saved = desk.reviews.append(entry)
    except AuditError as error:
        desk.problem = error
        return None
    desk.problem = saved.copy_problem
    desk.unsaved.pop(press.item, None)
    desk.refresh()
    return saved.event
