"""Copies of the verdict store: made while people work, checked before they count, and put back without losing an event.

A copy is never made with the file system: a database that is being written is copied by SQLite itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from audit_core.errors import InputError, Problem, StorageError
from audit_core.locks import sync_folder
from audit_core.reviews import proofs
from audit_core.reviews.database import reading
from audit_core.reviews.events import FIRST, Event
from audit_core.reviews.store import ReviewStore, refuse_emptied, verified

FOLDER = "backups"
KEPT = 30
PAUSE = timedelta(hours=1)
"""How long a dashboard waits between two copies."""
STAMP = "%Y-%m-%dT%H-%M-%SZ"
_NAME = re.compile(r".+-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)(?:\.(\d+))?\.db")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was checked.

    Attributes:
        events: How many it holds.
        head: Digest of the last one.
    """

    path: Path
    events: int
    head: str


def folder_of(path: Path) -> Path:
    """Where the copies of a store are kept, unless somebody says otherwise."""
    return path.parent / FOLDER


def copies(path: Path, folder: Path | None = None) -> list[Path]:
    """Copies of a store, the newest first."""
    found = [(m.group(1), int(m.group(2) or 0), file) for file in (folder or folder_of(path)).glob(f"{path.stem}-*.db")
             if (m := _NAME.fullmatch(file.name))]  # fmt: skip
    return [file for *_, file in sorted(found, reverse=True)]


def due(path: Path, now: datetime) -> bool:
    """Whether an hourly copy is due: there is something to copy that no copy of the last hour can hold."""
    if not path.is_file():
        return False
    newest = next(iter(copies(path)), None)
    if newest is None:
        return True
    made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
    return abs(now - made) >= PAUSE and path.stat().st_mtime >= newest.stat().st_mtime


def backup(path: Path, now: datetime, folder: Path | None = None, *, keep: int = KEPT) -> Copy:
    """A dated copy of a store, also while others write to it; the newest `keep` are kept.

    Raises:
        InputError: There is no store.
        StorageError: It could not be made, or it is not sound; no file with the name of a copy is left.
    """
    if not path.is_file():
        raise InputError(Problem("no verdict store here", "a reviews.db", "no such file", str(path), "Check the path."))
    place = folder or folder_of(path)
    with told("the copy cannot be written", place):
        place.mkdir(parents=True, exist_ok=True)
        for left in place.glob(f".{path.stem}.*"):
            if time.time() - left.stat().st_mtime > PAUSE.total_seconds():
                left.unlink(missing_ok=True)  # of a process that was killed while it copied
        draft = place / f".{path.stem}.{os.getpid()}.{threading.get_ident()}"
        try:
            before = _count(path)
            vacuum(path, draft)
            copy = sound(draft)
            refuse_emptied(path, copy.events)
            if copy.events < before:
                raise StorageError(Problem("the copy lacks events", f"{before} or more", str(copy.events), str(place),
                                           "Try again; no copy was kept."))  # fmt: skip
            sync(draft)
            made = link(draft, place, f"{path.stem}-{now.strftime(STAMP)}")
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(place)
        proofs.adopt(place / proofs.FOLDER, events_of(made), path.parent / proofs.FOLDER)
        for old in [file for file in copies(path, place) if file != made][max(keep - 1, 0) :]:
            old.unlink()
    return Copy(made, copy.events, copy.head)


def sound(path: Path) -> Copy:
    """A copy whose pages, chain of events and digests were all looked at.

    Raises:
        StorageError: It is damaged.
    """
    with reading(path, 30) as connection:
        said = [row[0] for row in connection.execute("PRAGMA integrity_check(3)").fetchall()]
    if said != ["ok"]:
        raise StorageError(Problem("this database is damaged", "integrity", said[0][:200], str(path),
                                   "Use another copy; nothing was changed."))  # fmt: skip
    events = events_of(path)
    verified(events, 0, FIRST, path)
    return Copy(path, len(events), events[-1].sha256 if events else FIRST)


def events_of(path: Path) -> list[Event]:
    """Everything that a store or a copy holds, unchecked."""
    return ReviewStore(path, patience=30).events()


def _count(path: Path) -> int:
    with reading(path, 30) as connection:
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            return 0
        return int(connection.execute("SELECT count(*) FROM verdict_event").fetchone()[0])


def vacuum(path: Path, target: Path) -> None:
    """A copy of a database, as of one moment."""
    target.unlink(missing_ok=True)
    try:
        with reading(path, 30) as connection:
            connection.execute("ROLLBACK")  # SQLite copies as of one moment by itself, and outside a transaction only
            connection.execute("PRAGMA query_only=OFF")  # the one thing it would refuse; nothing is written here
            connection.execute("VACUUM INTO ?", (str(target),))
    except StorageError as error:
        if isinstance(error.__cause__, sqlite3.OperationalError):  # more often about the copy than about the store
            raise error.__cause__ from None
        raise


def link(file: Path, folder: Path, name: str, ending: str = ".db") -> Path:
    """A second name for a file, never over another one."""
    for number in range(1_000):
        target = folder / (f"{name}.{number}{ending}" if number else f"{name}{ending}")
        with contextlib.suppress(FileExistsError):
            os.link(file, target)
            return target
    raise FileExistsError(name)


def sync(file: Path) -> None:
    """Make a file's content durable."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


@contextlib.contextmanager
def told(what: str, path: Path) -> Iterator[None]:
    """Faults of disk and database as four-part messages."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise StorageError(
            Problem(
                what,
                "a free database on a writable disk with free space",
                str(error),
                str(path),
                "Free space or correct the rights, then try again; nothing was changed.",
            )
        ) from error
