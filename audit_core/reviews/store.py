"""The verdict store: append-only events in `reviews.db`, and again in `verdicts.jsonl` beside it.

Nothing here is ever updated, deleted or rebuilt from a study. `append` returns only after the event is committed
with a full sync *and* has been read back over a fresh connection, so that *Saved* on a screen is a fact. Verdicts
belong to a study id and a question id; loading a study again does not detach them.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from audit_core.errors import AuditError, InputError, Problem, StorageError
from audit_core.reviews.database import reading, writing
from audit_core.reviews.events import COLUMNS, FIRST, LATER, Entry, Event, chained, checked, from_fields, intact
from audit_core.reviews.fold import SPOKEN, STACKED, Fold
from audit_core.reviews.joining import join, lineage
from audit_core.reviews.journal import CopyError, Journal

JOURNAL = "verdicts.jsonl"
_STORED = (*(name for name in COLUMNS if name not in LATER), "more")
_INSERT = f"INSERT INTO verdict_event({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"


class ConflictError(InputError):
    """What should be settled or taken back is no longer the newest; the message says what was saved since."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of an append.

    Attributes:
        event: As read back from the database after the commit.
        repeated: True where this request had been stored before; nothing new was written.
        copy_problem: Why the line in `verdicts.jsonl` could not be written; the verdict itself is safe.
    """

    event: Event
    repeated: bool = False
    copy_problem: AuditError | None = None


class ReviewStore:
    """All reads and writes of one `reviews.db`.

    Args:
        path: The database; made, with `verdicts.jsonl` in the same folder, at the first append.
        timeout: Seconds to wait for another writer.
        patience: Seconds a read waits; short, because a page waits with it.
    """

    def __init__(self, path: Path, *, timeout: float = 30.0, patience: float = 2.0) -> None:
        self.path, self.timeout, self.patience = path, timeout, patience
        self.journal = Journal(path.with_name(JOURNAL))
        self._fold = Fold()
        self._lock, self._reconciling = threading.Lock(), threading.Lock()
        self._reconciled = False

    def append(self, entry: Entry) -> Saved:
        """Store what a reviewer did.

        A ``verdict`` whose `base_event` is not the newest of its question, pair and reviewer is stored as ``draft``.

        Raises:
            InputError: The entry is not valid.
            ConflictError: An ``adjudicate``, ``retract``, ``dismiss`` or ``signoff`` whose base is not the newest.
            StorageError: Nothing was stored.
        """
        return self._append([checked(entry)])[0]

    def append_group(self, entries: Sequence[Entry]) -> list[Saved]:
        """Store one decision on several questions: all of it or nothing.

        Raises:
            InputError: An entry is not valid.
            ConflictError: One of them is stale; a group leaves no drafts behind.
            StorageError: Nothing was stored.
        """
        return self._append([checked(entry) for entry in entries], together=True) if entries else []

    def _append(self, entries: Sequence[Entry], *, together: bool = False) -> list[Saved]:
        with contextlib.suppress(CopyError):  # told below, when this entry's own line is refused
            self.reconcile()
        found: list[tuple[int, bool]] = []
        trail = self._fold.trail
        with writing(self.path, self.timeout) as connection:
            _follows(connection, trail[-1] if trail else None, self.path)
            for entry in entries:
                known = connection.execute(
                    "SELECT id, reviewer FROM verdict_event WHERE request_id = ?", (entry.request_id,)
                ).fetchone()
                if known and known["reviewer"] != entry.reviewer:
                    raise ConflictError(_not_yours(entry))
                accepted = entry if known else _with_kind(connection, entry)
                if together and accepted.kind != entry.kind:
                    raise ConflictError(_moved_on(entry))
                found.append((known[0] if known else insert(connection, accepted).id, bool(known)))
        numbers = [number for number, _ in found]
        events = {event.id: event for event in self._events("id BETWEEN ? AND ?", min(numbers), max(numbers))}
        asked = {number: entry.request_id for number, entry in zip(numbers, entries, strict=True)}
        missing = [n for n, request in asked.items() if n not in events or events[n].request_id != request]
        if missing:
            raise StorageError(
                Problem(
                    "the verdict could not be read back",
                    f"event {missing[0]}",
                    "another one" if missing[0] in events else "nothing",
                    str(self.path),
                    "Save again.",
                )
            )
        problem: AuditError | None = None
        try:
            self.journal.append([events[number] for number, repeated in found if not repeated])
        except CopyError as error:
            self._reconciled, problem = False, error
        return [Saved(events[number], repeated, None if repeated else problem) for number, repeated in found]

    def extend(self, make: Callable[[list[Event]], Iterable[Entry]]) -> list[Event]:
        """Append what a function makes of everything stored: all of it or nothing, for a merge of other stores.

        Raises:
            StorageError: Nothing was stored.
            CopyError: Everything was stored, but `verdicts.jsonl` is not complete yet.
        """
        with contextlib.suppress(CopyError):
            self.reconcile()
        events = self._extended(make)
        try:
            self.journal.append(events)
        except CopyError:
            self._reconciled = False
            raise
        return events

    def _extended(self, make: Callable[[list[Event]], Iterable[Entry]]) -> list[Event]:
        with writing(self.path, self.timeout) as connection:
            rows = connection.execute("SELECT * FROM verdict_event ORDER BY id").fetchall()
            stored = [_of_row(dict(row)) for row in rows]
            verified(stored, 0, FIRST, self.path)
            return [insert(connection, entry) for entry in make(stored)]

    def event(self, event_id: int) -> Event | None:
        """One event over a fresh connection; None where there is none."""
        found = self._events("id = ?", event_id)
        return found[0] if found else None

    def events(self, after: int = 0) -> list[Event]:
        """All events with a number above `after`, in order; empty where nothing was ever saved."""
        return self._events("id > ?", after)

    def history(self, study_id: str, question_id: str, reviewer: str | None = None) -> list[Event]:
        """Everything that was recorded on one question, in order."""
        if reviewer is None:
            return self._events("study_id = ? AND question_id = ?", study_id, question_id)
        return self._events("study_id = ? AND question_id = ? AND reviewer = ?", study_id, question_id, reviewer)

    def fold(self) -> Fold:
        """What stands now. One object per store, extended by the events that are new; treat it as read-only.

        Raises:
            StorageError: Unreadable, or the chain of digests is broken.
        """
        with self._lock:
            self._reconcile_if_possible()
            last = self.event(self._fold.last)
            if last is None or last.sha256 != self._fold.head:
                if self._fold.last:  # another file has taken the place of the one read before
                    self._reconciled = False
                    self._reconcile_if_possible()
                self._fold = Fold()
            new = self.events(self._fold.last)
            verified(new, self._fold.last, self._fold.head, self.path)
            for event in new:
                self._fold.add(event)
            return self._fold

    def reconcile(self) -> None:
        """Give each medium the events that only the other one holds: once, and again where one of them is gone.

        Raises:
            CopyError: `verdicts.jsonl` cannot be written.
            StorageError: One of them is damaged, or the database cannot be written.
        """
        with self._reconciling:
            lost = self.journal.written and not self.journal.path.is_file()
            if lost or not self._reconciled or not self.path.is_file():
                self._exchange()
                self._reconciled = True

    def _exchange(self) -> None:
        written = self.journal.read()
        stored = self.events()
        verified(stored, 0, FIRST, self.path)
        lost = lineage(written, {event.request_id for event in stored})
        if lost:
            try:
                self._extended(lambda present: join(present, lost, JOURNAL).entries)
            except InputError as error:
                raise StorageError(error.problems) from error
            stored = self.events()
        lines = {event.sha256 for event in written}
        self.journal.append([event for event in stored if event.sha256 not in lines])

    def _reconcile_if_possible(self) -> None:
        """Replay before the first read; a page that can only read still shows what is there."""
        try:
            self.reconcile()
        except StorageError:
            if not self.path.is_file():
                raise

    def _events(self, where: str, *values: Any) -> list[Event]:
        if not self.path.is_file():
            return []
        with reading(self.path, self.patience) as connection:
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                return []  # made, but the first transaction never committed
            found = connection.execute(f"SELECT * FROM verdict_event WHERE {where} ORDER BY id", values).fetchall()
            return [_of_row(dict(row)) for row in found]


def _with_kind(connection: sqlite3.Connection, entry: Entry) -> Entry:
    """The entry, demoted or refused where its base is not the newest event of what it is about."""
    if entry.kind not in ("verdict", "adjudicate", "retract", "dismiss", "signoff"):
        return entry
    where, values = "study_id = ? AND old = ? AND new = ?", [entry.study_id, entry.old, entry.new]
    if entry.kind != "signoff":  # which rests on all questions of its pair
        where, values = where + " AND question_id = ?", [*values, entry.question_id]
    if entry.kind in ("adjudicate", "signoff"):  # rest on what everyone said, so nobody may have said more since
        kinds: tuple[str, ...] = SPOKEN
    else:
        kinds, where = STACKED, where + " AND reviewer = ?"
        values.append(entry.reviewer)
    newest = connection.execute(
        f"SELECT id, reviewer, kind, verdict, at FROM verdict_event WHERE {where} AND kind IN "
        f"({', '.join('?' * len(kinds))}) ORDER BY id DESC LIMIT 1",
        [*values, *kinds],
    ).fetchone()
    if (newest["id"] if newest else None) == entry.base_event:
        return entry
    if entry.kind == "verdict":
        return replace(entry, kind="draft")
    said = f"{newest['reviewer']}: {newest['verdict'] or newest['kind']} at {newest['at']}, event {newest['id']}"
    raise ConflictError(
        Problem(
            "something was saved since this page was drawn",
            f"event {entry.base_event} as the newest",
            said if newest else "nothing",
            action="Look at the newer state, then decide again; nothing was saved.",
        )
    )


def _follows(connection: sqlite3.Connection, seen: Event | None, path: Path) -> None:
    """Let a save pass that goes on from what was read.

    Raises:
        StorageError: Another file has taken the place of the one that was read.
    """
    if seen is None:
        return
    found = connection.execute("SELECT sha256 FROM verdict_event WHERE id = ?", (seen.id,)).fetchone()
    if found is None or found[0] != seen.sha256:
        raise StorageError(
            Problem(
                "the verdict store was replaced by another one",
                f"event {seen.id} as it was read",
                "another event" if found else "nothing",
                str(path),
                "Look at what stands now, then save again; nothing was saved.",
            )
        )


def _not_yours(entry: Entry) -> Problem:
    return Problem(
        "this press was recorded as somebody else's",
        "a name for each press that nobody else has used",
        entry.request_id,
        action="Reload the page and press again; nothing was saved.",
    )


def _moved_on(entry: Entry) -> Problem:
    return Problem(
        "a question of the group has been judged since this page was drawn",
        f"event {entry.base_event} as the newest",
        "a newer one",
        entry.question_id,
        "Look at that question, then decide again; nothing was saved.",
    )


def insert(connection: sqlite3.Connection, entry: Entry) -> Event:
    """Append to the chain. An event from the other medium keeps its digest where it follows the last one directly."""
    last = connection.execute("SELECT id, sha256 FROM verdict_event ORDER BY id DESC LIMIT 1").fetchone()
    event = chained(entry, last["id"] + 1 if last else 1, last["sha256"] if last else FIRST)
    row = asdict(event) | {"causes": json.dumps(event.causes, ensure_ascii=False)}
    more = {name: row[name] for name in LATER if row[name]}
    row["more"] = json.dumps(more, ensure_ascii=False)
    connection.execute(_INSERT, [row[name] for name in _STORED])
    return event


def refuse_emptied(path: Path, events: int) -> None:
    """Refuse to take a store for empty whose second medium holds events.

    Raises:
        StorageError: The file beside it holds lines, and it holds no event.
    """
    beside = path.with_name(JOURNAL)
    if not events and beside.is_file() and beside.stat().st_size:
        raise StorageError(
            Problem("the verdict store is empty, and the file beside it is not", f"the events of {beside.name}",
                    "none", str(path), "Start the dashboard on it: it completes the store. Nothing was changed.")
        )  # fmt: skip


def _of_row(row: dict[str, Any]) -> Event:
    more = json.loads(row.pop("more", "{}"))  # a store of version 1 has no such column
    return from_fields({**row, "causes": json.loads(row["causes"]), **more})


def verified(events: Sequence[Event], last: int, head: str, path: Path) -> None:
    """Let events pass that follow one another.

    Args:
        events: In order.
        last: Number of the event before them.
        head: Its digest.
        path: For the message.

    Raises:
        StorageError: One of them was changed, is missing or is out of order.
    """
    for event in events:
        if event.id != last + 1 or event.prev_sha256 != head or not intact(event):
            raise StorageError(
                Problem(
                    "the history of verdicts was changed outside this program",
                    f"event {last + 1} as it was saved",
                    f"event {event.id} with another digest",
                    str(path),
                    "Move the file aside and keep it; it is rebuilt from verdicts.jsonl beside it at the next start.",
                )
            )
        last, head = event.id, event.sha256
