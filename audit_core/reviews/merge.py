"""Joining the verdicts of people who worked apart: every event of every file once, and nobody's verdict overwritten.

A file is another `reviews.db`, or a `verdicts.jsonl`. Its events are appended with new numbers; `source` keeps the
digest that they had, `base_event` follows the new numbers. Where one person said something on the same question in both
places, what stands here keeps standing: the newest verdict from there becomes a draft that this person decides about,
the rest becomes ``kept``. People who worked apart meet in no such place; for them the order of files does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from audit_core.errors import AuditError, InputError, Problem
from audit_core.reviews import proofs
from audit_core.reviews.events import DECISIONS, FIRST, VERDICTS, Entry, Event, Kind, chained, checked
from audit_core.reviews.fold import STACKED, Fold, aside_key
from audit_core.reviews.journal import Journal
from audit_core.reviews.store import ReviewStore, verified

SQLITE = b"SQLite format 3\x00"
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


def merge(store: ReviewStore, paths: Sequence[Path], *, dry_run: bool = False) -> list[Joined]:
    """Join files into a store, all in one transaction; again, it does nothing.

    Args:
        store: What they are joined into; made where there is none.
        paths: The files, in any order.
        dry_run: Say what would happen, and write nothing.

    Raises:
        InputError: A file is none, is damaged, or contradicts what is here; nothing was written.
        StorageError: The store refused; nothing was written.
    """
    sources = [(path, read(path, store.path)) for path in paths]
    found: list[Joined] = []

    def make(present: list[Event]) -> Iterator[Entry]:
        everything = list(present)
        for path, incoming in sources:
            joined = join(everything, incoming, path.name)
            found.append(joined)
            for entry in joined.entries:
                last = everything[-1] if everything else None
                everything.append(chained(entry, last.id + 1 if last else 1, last.sha256 if last else FIRST))
                yield entry

    if dry_run:
        present = store.events()
        verified(present, 0, FIRST, store.path)
        list(make(present))
    else:
        store.extend(make)
        for (path, incoming), joined in zip(sources, found, strict=True):
            joined.notes += proofs.adopt(store.path.parent / proofs.FOLDER, incoming, path.parent / proofs.FOLDER)
    return found


def read(path: Path, target: Path | None = None) -> list[Event]:
    """Events of a file, checked: digests, chain, and one content for each request.

    Raises:
        InputError: It is not one, or it is damaged.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE))
            stream.seek(0, os.SEEK_END)
            ended = stream.tell() == 0 or (stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) == b"\n")
    except OSError as error:
        raise _refused(path, error.strerror or str(error), "Name a reviews.db or a verdicts.jsonl.") from error
    if target is not None and target.exists() and path.samefile(target):
        raise _refused(path, "the store itself", "Name the file of somebody else.")
    try:
        if head == SQLITE:
            events = ReviewStore(path).events()
            verified(events, 0, FIRST, path)
        elif not ended:
            raise _refused(path, "a last line without an end", "Copy the file again, as a whole.")
        else:
            events = _chain(Journal(path).read(), path)
    except InputError:
        raise
    except AuditError as error:
        problem = error.problems[0]
        raise _refused(path, f"{problem.what}: {problem.found or problem.expected}", "Ask for the file again, or for "
                       "another copy.", problem.where) from error  # fmt: skip
    for event in events:
        try:
            checked(replace(event, verdict=None) if event.kind == "kept" else event)
        except InputError as error:
            raise _refused(path, str(error.problems[0]), "Ask for the file again.", f"event {event.id}") from error
    return events


def join(present: Sequence[Event], incoming: Sequence[Event], name: str) -> Joined:
    """What has to be appended to some events so that they hold those of a file too. Pure.

    Raises:
        InputError: One request with two contents.
    """
    here = {event.request_id: event for event in present}
    for event in incoming:
        if (known := here.get(event.request_id)) is not None:
            _same(known, event, name)
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


def _same(known: Event, event: Event, name: str) -> None:
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


def _chain(lines: list[Event], path: Path) -> list[Event]:
    """Events of a `verdicts.jsonl` by their numbers; of an event that was numbered anew, the last line counts."""
    digests = {event.sha256: event for event in lines}
    latest: dict[str, Event] = {}
    for event in lines:
        before = digests.get(event.prev_sha256)
        if event.prev_sha256 != FIRST and (before is None or before.id != event.id - 1):
            raise _refused(
                path, "a line is missing or was changed", "Ask for the whole file.", f"before event {event.id}"
            )
        if event.request_id in latest:
            _same(latest[event.request_id], event, path.name)
        latest[event.request_id] = event
    return sorted(latest.values(), key=lambda event: event.id)


def _entry(event: Event, kind: Kind, base: int | None) -> Entry:
    values = {name: getattr(event, name) for name in _SUBSTANCE}
    return Entry(**values, kind=kind, base_event=base, source=event.source)


def _alike(said: Event, other: Event | None) -> bool:
    names = ("verdict", "impact", "causes", "note")
    return other is not None and all(getattr(said, name) == getattr(other, name) for name in names)


def _word(event: Event) -> str:
    return {**VERDICTS, **DECISIONS}.get(str(event.verdict), str(event.verdict))


def _refused(path: Path, found: str, action: str, where: str = "") -> InputError:
    return InputError(
        Problem(
            "this file cannot be merged",
            "a whole reviews.db or verdicts.jsonl",
            found,
            where if str(path) in where else f"{path}{': ' if where else ''}{where}",
            f"{action} Nothing was written.",
        )
    )


def totals(found: Iterable[Joined]) -> tuple[int, int]:
    """Events appended, and events that were here already."""
    everything = list(found)
    return sum(len(joined.entries) for joined in everything), sum(joined.known for joined in everything)
