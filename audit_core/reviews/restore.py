"""Putting a copy in the place of a store: what was there is kept aside, and no event is lost unasked."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from audit_core.codec import CodecError, decode
from audit_core.errors import InputError, Problem, StorageError
from audit_core.locks import sync_folder
from audit_core.reviews import proofs
from audit_core.reviews.backup import STAMP, events_of, link, sound, sync, told, vacuum
from audit_core.reviews.database import refill
from audit_core.reviews.events import Entry, Event, from_fields, intact
from audit_core.reviews.joining import join
from audit_core.reviews.merge import read
from audit_core.reviews.store import JOURNAL, ReviewStore


@dataclass(slots=True)
class Restored:
    """What a restore did.

    Attributes:
        events: How many the store holds now.
        aside: Files that were there before, kept.
        brought: Events that the copy did not hold and that were brought over from them.
        left: Events that are only in `aside` now, because it was asked for exactly the copy.
        notes: Sentences about what could not be read.
    """

    events: int = 0
    aside: list[Path] = field(default_factory=list)
    brought: list[Event] = field(default_factory=list)
    left: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def restore(copy: Path, path: Path, now: datetime, *, exact: bool = False) -> Restored:
    """Put a copy in the place of a store; what was there is kept aside, and no event is lost without being asked for.

    Args:
        copy: From `backup`.
        path: The store; need not exist, and may be damaged.
        now: For the names of what is kept aside.
        exact: Leave out events that only the present store holds.

    Raises:
        InputError: The copy is not sound; nothing was changed.
        StorageError: The store is busy, or not ours to replace, or the disk refused; nothing was changed.
    """
    if not copy.is_file() or (path.exists() and copy.samefile(path)):
        raise InputError(Problem("no copy here", "a file that `reviews backup` made", "another", str(copy),
                                 "Name a file of the folder backups."))  # fmt: skip
    action = "Name another file of the folder backups; nothing was changed."
    try:
        found = sound(copy)
    except StorageError as error:
        (fault,) = error.problems
        raise InputError(Problem("this copy is not sound", "a file as `reviews backup` made it",
                                 fault.found or fault.what, str(copy), action)) from None  # fmt: skip
    if not found.events:
        raise InputError(Problem("this copy holds nothing", "a copy with events", "none", str(copy), action))
    with told("the store cannot be replaced", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        workshop = path.parent / f".restore-{os.getpid()}"
        shutil.rmtree(workshop, ignore_errors=True)
        workshop.mkdir()
        try:
            with _held(path) as held:
                done = _prepared(copy, path, workshop, exact)
                _swap(path, workshop, f"replaced-{now.strftime(STAMP)}", done, held)
        finally:
            shutil.rmtree(workshop, ignore_errors=True)
    done.notes += proofs.adopt(path.parent / proofs.FOLDER, events_of(path), copy.parent / proofs.FOLDER)
    return done


def _prepared(copy: Path, path: Path, workshop: Path, exact: bool) -> Restored:
    """Store and second medium as they shall be, in a folder of their own."""
    done = Restored()
    vacuum(copy, workshop / path.name)
    store = ReviewStore(workshop / path.name)
    for name, incoming in (("the store", _stored(path, done)), (JOURNAL, _copied(path.with_name(JOURNAL), done))):
        entries = join(store.events(), incoming, name).entries
        if exact:
            known = {event.request_id for event in done.left}
            wanted = {entry.request_id for entry in entries} - known
            done.left += [event for event in incoming if event.request_id in wanted]
        elif entries:
            done.brought += _extended(store, entries)
    store.reconcile()
    done.events = store.fold().last
    for file in (store.path, store.journal.path):
        if file.exists():
            sync(file)
    return done


def _extended(store: ReviewStore, entries: list[Entry]) -> list[Event]:
    return store.extend(lambda _present: entries)


def _stored(path: Path, done: Restored) -> list[Event]:
    """Events of the store that is replaced; none where it is damaged.

    Raises:
        StorageError: It is busy, or not ours to replace: of a newer version, or of another program.
    """
    if not path.exists():
        return []
    try:
        events = events_of(path)
    except StorageError as error:
        cause = error.__cause__
        if not isinstance(cause, sqlite3.DatabaseError) or isinstance(cause, sqlite3.OperationalError):
            raise
        done.notes.append(f"{path.name} is damaged ({cause}); what it held was taken from {JOURNAL}.")
        return []
    sound_ones = [event for event in events if intact(event)]
    if len(sound_ones) < len(events):
        done.notes.append(f"{len(events) - len(sound_ones)} events of {path.name} were changed; they are kept aside.")
    return sound_ones


def _copied(path: Path, done: Restored) -> list[Event]:
    """Events of the second medium, as far as its lines are whole."""
    if not path.exists():
        return []
    try:
        return read(path)
    except InputError as error:
        events = whole(path)
        done.notes.append(f"{path.name}: {error.problems[0].found}; {len(events)} events of it could be read.")
        return events


def whole(path: Path) -> list[Event]:
    """Events of the lines that are not damaged, by number, each request once."""
    found: dict[str, Event] = {}
    for text in path.read_bytes().split(b"\n"):
        with contextlib.suppress(CodecError, ValueError, TypeError, AttributeError):
            event = from_fields(decode(text))
            if intact(event):
                found[event.request_id] = event
    return sorted(found.values(), key=lambda event: event.id)


def _swap(path: Path, workshop: Path, ending: str, done: Restored, held: sqlite3.Connection | None) -> None:
    """Put the new content in place: a second name for what is there, then the second medium, then the database.

    At no moment is there no store, and after a kill the next start completes either medium from the other. A sound
    database gets its new content in the transaction that holds it: another file under its name would be taken for
    the old one by whoever has that one open, and both would share one rollback journal.
    """
    journal, made = path.with_name(JOURNAL), workshop / JOURNAL
    if held is not None:
        vacuum(path, workshop / "aside")
        sync(workshop / "aside")
        refill(held, workshop / path.name)
    for file, source in ((path, workshop / "aside" if held is not None else path), (journal, journal)):
        if source.exists():
            done.aside.append(link(source, path.parent, f"{file.name}.{ending}", ""))
    if held is None:  # what a crash left beside a damaged database belongs to it, never to another one
        for left in (f"{path.name}{part}" for part in ("-journal", "-wal", "-shm")):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(left).rename(path.with_name(f"{left}.{ending}"))
    sync_folder(path.parent)
    _placed(made, journal)
    try:
        if held is None:
            (workshop / path.name).replace(path)
        else:
            held.execute("COMMIT")
    except (OSError, sqlite3.Error):  # a full disk, or somebody who reads for too long
        old = workshop / "old"
        for file in done.aside:
            file.replace(old if file.name.startswith(f"{JOURNAL}.") else workshop / "unused")
        _placed(old, journal)
        raise
    sync_folder(path.parent)


def _placed(made: Path, target: Path) -> None:
    if made.exists():
        made.replace(target)
    else:
        target.unlink(missing_ok=True)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[sqlite3.Connection | None]:
    """A transaction in a sound store that keeps others from writing, but not from reading; None where there is none.

    Whoever waits to write finds afterwards what stands then, and is told where that is not what was read before.
    """
    if not path.exists():
        yield None
        return
    with contextlib.closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")  # takes what a write-ahead log holds into the database
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            sound = [row[0] for row in connection.execute("PRAGMA integrity_check(1)").fetchall()] == ["ok"]
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            sound = False  # damaged, which is why it is replaced
        yield connection if sound else None
