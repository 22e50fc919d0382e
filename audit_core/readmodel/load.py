"""Verified ledgers → `audit.db`, through sqlite-utils: built beside and moved into place, or not at all.

Studies stream through question by question, so memory does not grow with the number of answers beyond the arrays.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlite_utils

from audit_core import locks as lock_files
from audit_core.errors import InputError, Problem, StorageError, VerificationError
from audit_core.model import CheckResult
from audit_core.readmodel.rows import Loader, Progress
from audit_core.readmodel.schema import INDEXES, SCHEMA_VERSION, TABLES, VIEWS, WITHOUT_ROWID
from audit_core.study import Study

# Without an adapter for it, Python looks in vain how to bind each None, which takes as long as five other values.
_NONE: dict[None, None] = {None: None}
sqlite3.register_adapter(type(None), _NONE.get)

Verifier = Callable[[Path], Sequence[CheckResult]]
"""Runs the numbered checks on a study; see `verify.verify`."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded: the database, the studies' ids and the number of rows per table."""

    db: str
    studies: list[str]
    rows: dict[str, int]


def load(
    paths: Sequence[Path],
    db: Path,
    *,
    verifier: Verifier,
    allow_failed: bool = False,
    add: bool = False,
    progress: Progress = lambda _what, _done: None,
) -> Loaded:
    """Build a database from studies and move it into place.

    Args:
        paths: Study folders.
        db: Target; an older audit database there is replaced, any other file is not.
        verifier: The checks; nothing is loaded unverified.
        allow_failed: Load a study although a check failed; every page then says so.
        add: Keep the studies that are in the target, as they were loaded.
        progress: Called along the way.

    Raises:
        InputError: No study, a study twice, or the target is not an audit database.
        VerificationError: A check failed.
        StorageError: The disk refuses.
    """
    if not paths:
        raise InputError(
            Problem(
                "no study to load", "one study folder or more", "none", action="Name the folders of locked studies."
            )
        )
    check_target(db)
    with _alone(db):
        return _load(paths, db, verifier, allow_failed, add, progress)


@contextlib.contextmanager
def _alone(db: Path) -> Iterator[None]:
    """One build of a database at a time: two that add a study each would lose the first one's."""
    try:
        lock = os.open(db.resolve().parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(error, db) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _unwritable(error: Exception, db: Path) -> StorageError:
    return StorageError(
        Problem(
            "the database cannot be written",
            "a writable folder with free space",
            str(error),
            str(db),
            "Free space or correct the rights, then run the same command again.",
        )
    )


def _load(
    paths: Sequence[Path], db: Path, verifier: Verifier, allow_failed: bool, add: bool, progress: Progress
) -> Loaded:
    draft = db.with_name(f".{db.name}.{os.getpid()}.partial")
    draft.unlink(missing_ok=True)
    adding = add and db.exists() and db.stat().st_size > 0
    try:
        if adding:
            shutil.copyfile(db, draft)
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            with _no_collection():
                built = sqlite_utils.Database(connection, execute_plugins=False)
                _build(built, paths, verifier, allow_failed, progress, adding)
            counted = {
                table: int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]) for table in TABLES
            }
            names = [row[0] for row in connection.execute("SELECT study_id FROM study ORDER BY study_key")]
        finally:
            connection.close()
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        draft.replace(db)
        lock_files.sync_folder(db.resolve().parent)
    except (OSError, sqlite3.Error) as error:
        raise _unwritable(error, db) from error
    finally:
        for name in (draft, draft.with_name(draft.name + "-journal")):
            name.unlink(missing_ok=True)
    return Loaded(str(db), names, counted)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of short-lived rows without a cycle among them: looking for cycles would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def check_target(db: Path) -> None:
    """Refuse a place where no database can be written.

    Raises:
        InputError: A folder, a file of something else, or a folder that does not exist.
    """
    if db.is_dir():
        raise InputError(
            Problem(
                "the database path is a folder", "a file name", "a folder", str(db), "Name a file, such as audit.db."
            )
        )
    if not db.parent.is_dir():
        raise InputError(
            Problem(
                "the database's folder does not exist",
                "an existing folder",
                "none",
                str(db.parent),
                "Make it first, or choose another place.",
            )
        )
    if not db.exists() or db.stat().st_size == 0:
        return
    with db.open("rb") as stream:
        head = stream.read(16)
    tables: set[str] = set()
    if head == b"SQLite format 3\x00":
        connection = sqlite3.connect(f"{db.resolve().as_uri()}?mode=ro", uri=True)
        try:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.DatabaseError:
            tables = set()
        finally:
            connection.close()
    if "study" not in tables or "check_result" not in tables:
        raise InputError(
            Problem(
                "another file is there",
                "an audit database or nothing",
                "something else",
                str(db),
                "Choose another name; only an audit database is ever replaced.",
            )
        )


def _kept(connection: sqlite3.Connection) -> dict[str, Path]:
    """Ids and folders of the studies that stay."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise InputError(
            Problem(
                "this database was made by another version",
                f"schema {SCHEMA_VERSION}",
                f"schema {version}",
                action="Load all studies again, without --add.",
            )
        )
    return {row[0]: Path(row[1]) for row in connection.execute("SELECT study_id, path FROM study")}


def _build(
    db: sqlite_utils.Database,
    paths: Sequence[Path],
    verifier: Verifier,
    allow_failed: bool,
    progress: Progress,
    adding: bool,
) -> None:
    # The draft is thrown away when anything fails, so it needs no journal and no sync before the end.
    connection = db.conn
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN")
    seen: dict[str, Path] = {}
    if adding:
        seen = _kept(connection)
    else:
        for table, definition in TABLES.items():
            suffix = " STRICT, WITHOUT ROWID" if table in WITHOUT_ROWID else " STRICT"
            db.execute(f'CREATE TABLE "{table}" ({definition}){suffix}')
    failed: list[Problem] = []
    for path in paths:
        study = Study(path)
        study_id = study.protocol.study_id
        if study_id in seen:
            raise InputError(
                Problem(
                    "two studies have one id",
                    "different study ids",
                    study_id,
                    f"{seen[study_id]} and {path}",
                    "Load one of them, or import it under another id.",
                )
            )
        seen[study_id] = path
        progress(f"{study_id}: verifying", 0)
        checks = verifier(path)
        bad = [check for check in checks if check.result == "failed"]
        if bad and not allow_failed:
            failed += [
                Problem(
                    f"{study_id}: check {c.check_id} failed: {c.title}",
                    found=c.detail,
                    where=str(path),
                    action="Restore the study, or load it as it is with --allow-failed.",
                )
                for c in bad
            ]
            continue
        Loader(db, Study(path, "failed" if bad else "verified"), path, checks, progress).run()
    if failed:
        raise VerificationError(failed)
    for table, indexes in () if adding else INDEXES.items():
        for number, index in enumerate(indexes):
            db.execute(f'CREATE INDEX "ix_{table}_{number}" ON "{table}" ({index})')
    for name, query in () if adding else VIEWS.items():
        db.create_view(name, query)
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    if broken:
        raise StorageError(
            Problem(
                "a row points nowhere",
                "complete references",
                str(broken),
                action="Report this; the studies themselves are untouched.",
            )
        )
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
