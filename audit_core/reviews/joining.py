"""What has to be appended to some events so that they hold others too, with nobody's verdict overwritten. Pure.

Events are appended with new numbers where they do not follow what they followed; `source` keeps the digest that they
had, `base_event` follows the new numbers. Where one person said something on the same question in both places, what
stands here keeps standing: the newest verdict from there becomes a draft that this person decides about, the rest
becomes ``kept``. People who worked apart meet in no such place; for them the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, fields, replace

from audit_core.errors import InputError, Problem
from audit_core.reviews.events import DECISIONS, FIRST, VERDICTS, Entry, Event, Kind, chained
from audit_core.reviews.fold import STACKED, Fold, aside_key

_MOVED = ("base_event", "kind", "source")
"""What a merge may change; all other fields of one request are the same everywhere."""
_SUBSTANCE = tuple(f.name for f in fields(Entry) if f.name not in _MOVED)

Key = tuple[object, ...]


@dataclass(slots=True)
class Joined:
    """What came of one file.

    Attributes:
        name: The file.
        events: Events in it.
        known: Those that were here already.
        entries: Those to append, in order.
        notes: Sentences about what a person has to look at.
    """

    name: str
    events: int
    known: int = 0
    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def join(present: Sequence[Event], incoming: Sequence[Event], name: str) -> Joined:
    """What has to be appended to some events so that they hold those of a file too. Pure.

    Raises:
        InputError: One request with two contents.
    """
    here = {event.request_id: event for event in present}
    for event in incoming:
        if (known := here.get(event.request_id)) is not None:
            agree(known, event, name)
    joined = Joined(name, len(incoming), sum(event.request_id in here for event in incoming))
    ours, theirs = _Side(present), _Side(incoming)
    kinds: dict[str, Kind] = {}
    for key in theirs.keys:
        kinds |= _demoted(key, ours, theirs, joined.notes)
    numbers: dict[int, int] = {}
    last, head = (present[-1].id, present[-1].sha256) if present else (0, FIRST)
    for event in incoming:
        if event.request_id in here:
            numbers[event.id] = here[event.request_id].id
            continue
        if event.prev_sha256 == head and event.id == last + 1:  # its author saw exactly what is here
            numbers[event.id] = event.id
            last, head = event.id, event.sha256
            joined.entries.append(_entry(event, event.kind, event.base_event))
            continue
        kind = kinds.get(event.request_id, event.kind)
        base = None if event.base_event is None else numbers.get(event.base_event)
        if kind == "adjudicate" and (unseen := _unseen(event, ours, theirs)):
            base = min(base or 0, unseen[0].id - 1) or None
            joined.notes.append(
                f"{event.reviewer} ruled on {event.question_id[:80]} without having seen what {unseen[0].reviewer} "
                "said; the question is open again."
            )
        entry = _entry(event, kind, base)
        if (made := chained(entry, last + 1, head)).sha256 != event.sha256:  # it does not follow what it followed there
            entry = replace(entry, source=" ".join(filter(None, (event.sha256, event.source))))
            made = chained(entry, last + 1, head)
        numbers[event.id] = made.id
        last, head = made.id, made.sha256
        joined.entries.append(entry)
    return joined


def lineage(lines: Sequence[Event], known: Set[str]) -> list[Event]:
    """Events of a second medium whose requests are not known, with all that they followed, by their numbers.

    Lines may stand in another order than their numbers. Of an event that was numbered anew the last line counts.
    """
    digests = {event.sha256: event for event in lines}
    latest = {event.request_id: event for event in lines}
    found: dict[str, Event] = {}
    for event in latest.values():
        before: Event | None = event if event.request_id not in known else None
        while before is not None and before.request_id not in found:
            found[before.request_id] = before
            before = digests.get(before.prev_sha256)
    return sorted(found.values(), key=lambda event: event.id)


class _Side:
    """The events of one side, folded and sorted by what they are about."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.fold = Fold(events)
        self.requests = {event.request_id for event in events}
        self.keys: dict[Key, list[Event]] = {}
        for event in events:
            if (key := _key(event)) is not None:
                self.keys.setdefault(key, []).append(event)


def _key(event: Event) -> Key | None:
    """What only one event can hold at a time; None where events do not meet."""
    if event.kind in STACKED:
        return "verdict", event.study_id, event.question_id, event.reviewer, event.pair
    if event.kind == "label":
        return "label", event.study_id, event.question_id, event.reviewer, event.subject
    if event.kind in ("quarantine", "release"):
        return "quarantine", aside_key(event.study_id, event.question_id, event.question_sha256)
    if event.kind == "signoff":
        return "sign-off", event.study_id, event.pair
    return None


def _demoted(key: Key, ours: _Side, theirs: _Side, notes: list[str]) -> dict[str, Kind]:
    """Kinds of events from there that may not count as they are, because something else is here."""
    here, there = ours.keys.get(key, []), theirs.keys[key]
    new = [event for event in there if event.request_id not in ours.requests]
    if not new or all(event.request_id in theirs.requests for event in here):
        return {}  # nothing to do, or they went on from what is here
    kept: dict[str, Kind] = dict.fromkeys((event.request_id for event in new), "kept")
    newest, other = here[-1], there[-1]
    where = f"{other.question_id[:80]} ({other.reviewer})"
    if key[0] in ("quarantine", "sign-off"):  # the later one counts, whichever file came first
        if (other.at, other.request_id) > (newest.at, newest.request_id):
            return {}
        notes.append(f"An earlier {key[0]} by {other.reviewer} is kept as history; the one here is later.")
        return kept
    if key[0] == "label":
        if other.verdict != newest.verdict:
            notes.append(f"Two labels by one person on {where}: the one here stays, the other is kept as history.")
        return kept
    place = other.study_id, other.question_id, other.reviewer, other.pair
    mine, yours = ours.fold.standing(*place), theirs.fold.standing(*place)
    said = max(filter(None, (yours.verdict, yours.conflict)), key=lambda event: event.id, default=None)
    if yours.ruling and yours.ruling.request_id in kept:
        notes.append(f"A ruling on {where} is kept as history, because the same person said something here too.")
    if said is None or said.request_id not in kept or _alike(said, mine.verdict):
        return kept
    if mine.conflict and mine.conflict.at > said.at:
        notes.append(f"Three verdicts by one person on {where}: the last draft stays, {_word(said)} is history.")
        return kept
    stands = _word(mine.verdict) if mine.verdict else "nothing"
    notes.append(f"Two verdicts by one person on {where}: {stands} stands, {_word(said)} waits as a draft.")
    return kept | {said.request_id: "draft"}


def _unseen(ruling: Event, ours: _Side, theirs: _Side) -> list[Event]:
    """Standing verdicts here that contradict a ruling from there whose author could not see them."""
    review = ours.fold.review(ruling.study_id, ruling.question_id, ruling.pair)
    return [
        verdict
        for verdict in review.verdicts
        if verdict.request_id not in theirs.requests
        and verdict.reviewer != ruling.reviewer
        and verdict.verdict != ruling.verdict
    ]


def agree(known: Event, event: Event, name: str) -> None:
    """Let a request pass that has the same content in both places.

    Raises:
        InputError: It has not.
    """
    differing = [name_ for name_ in _SUBSTANCE if getattr(known, name_) != getattr(event, name_)]
    demoted = known.kind == event.kind or {known.kind, event.kind} & {"draft", "kept"}
    if differing or not demoted:
        raise InputError(
            Problem(
                "one request has two contents",
                f"the same in both places, but for its number: {', '.join(differing) or 'kind'} differs",
                f"event {known.id} by {known.reviewer} here, event {event.id} by {event.reviewer} in {name}",
                f"request {event.request_id[:80]}",
                "One of the files was changed by hand. Ask whose it is; nothing was written.",
            )
        )


def _entry(event: Event, kind: Kind, base: int | None) -> Entry:
    values = {name: getattr(event, name) for name in _SUBSTANCE}
    return Entry(**values, kind=kind, base_event=base, source=event.source)


def _alike(said: Event, other: Event | None) -> bool:
    names = ("verdict", "impact", "causes", "note")
    return other is not None and all(getattr(said, name) == getattr(other, name) for name in names)


def _word(event: Event) -> str:
    return {**VERDICTS, **DECISIONS}.get(str(event.verdict), str(event.verdict))
