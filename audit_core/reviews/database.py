"""The SQLite side of the verdict store: schema, one short connection per operation, faults as sentences."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from audit_core.errors import Problem, StorageError

SCHEMA_VERSION = 2
APPLICATION = 0x53415256  # "SARV": another program's database is never written to

SCHEMA = (
    """CREATE TABLE verdict_event(
      id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, study_id TEXT NOT NULL, bundle TEXT NOT NULL,
      question_id TEXT NOT NULL, reviewer TEXT NOT NULL, kind TEXT NOT NULL,
      item_sha256 TEXT NOT NULL, at TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, kernel TEXT NOT NULL,
      verdict TEXT, impact TEXT CHECK(impact IN ('low','medium','high')), causes TEXT NOT NULL, note TEXT NOT NULL,
      base_event INTEGER, more TEXT NOT NULL DEFAULT '{}', prev_sha256 TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE,
      CHECK(kind NOT IN ('verdict','adjudicate','signoff') OR verdict IS NOT NULL)) STRICT""",
    "CREATE INDEX verdict_event_item ON verdict_event(study_id, question_id, reviewer)",
    """CREATE TRIGGER verdict_event_no_update BEFORE UPDATE ON verdict_event
      BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END""",
    """CREATE TRIGGER verdict_event_no_delete BEFORE DELETE ON verdict_event
      BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END""",
    # The trigger also stops INSERT OR REPLACE, which deletes without firing the trigger above.
    """CREATE TRIGGER verdict_event_in_order BEFORE INSERT ON verdict_event
      WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM verdict_event)
        OR EXISTS (SELECT 1 FROM verdict_event WHERE request_id = NEW.request_id OR sha256 = NEW.sha256)
      BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END""",
)


def wal_is_safe(version: tuple[int, int, int]) -> bool:
    """True where this SQLite has the fix for the WAL-reset fault, which can lose committed pages."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)


def journal_mode() -> str:
    """WAL where it is safe, else TRUNCATE."""
    return "WAL" if wal_is_safe(sqlite3.sqlite_version_info[:3]) else "TRUNCATE"


@contextlib.contextmanager
def writing(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    """A connection inside one `BEGIN IMMEDIATE`, committed and durable when the block ends.

    Raises:
        StorageError: Busy, full, read-only, damaged, or another program's file; nothing was stored.
    """
    with _faults(path), contextlib.closing(_connect(path, "rwc", timeout)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal_mode()}")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        _kept_before_migration(connection, path)
        connection.execute("BEGIN IMMEDIATE")
        try:
            _prepared(connection, path)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def reading(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    """A connection for reads of an existing store.

    It is opened for writing where that is allowed, because after a crash the first reader has to roll back.

    Raises:
        StorageError: Busy, damaged, or made by a newer version.
    """
    with _faults(path), contextlib.closing(_connect(path, "rw", timeout)) as connection:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")  # one moment for the version and all that is read, whatever others commit meanwhile
        _version(connection, path)
        yield connection


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=timeout, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the file; asked inside a transaction, so that a file another one is just making is not misread."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    # most programs leave their databases without a version; a new file of ours has neither that nor a table
    if application != APPLICATION and (version or connection.execute("SELECT 1 FROM sqlite_schema").fetchone()):
        raise StorageError(
            Problem(
                "this file is not a verdict store",
                "a new file or one made by this program",
                "another program's database",
                str(path),
                "Name another file; nothing was changed.",
            )
        )
    if version > SCHEMA_VERSION:
        raise StorageError(
            Problem(
                "this verdict store was made by a newer version",
                f"schema {SCHEMA_VERSION}",
                f"schema {version}",
                str(path),
                "Install that version; nothing was changed.",
            )
        )
    return version


def _prepared(connection: sqlite3.Connection, path: Path) -> None:
    """Create the schema in a new file, inside the transaction of the first write."""
    version = _version(connection, path)
    if version == SCHEMA_VERSION:
        return
    if version:
        _migrate(connection)
        return
    _made(connection)


def _made(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def refill(connection: sqlite3.Connection, source: Path) -> None:
    """Give a store the events of another one, as they are there, inside the transaction of the caller."""
    connection.execute("DROP TABLE IF EXISTS verdict_event")
    _made(connection)
    with reading(source, 30) as other:
        rows = other.execute("SELECT * FROM verdict_event ORDER BY id")
        names = [column[0] for column in rows.description]
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO verdict_event({', '.join(names)}) VALUES ({marks})", map(tuple, rows))


def _migrate(connection: sqlite3.Connection) -> None:
    """Version 1 to 2, inside the transaction of a write: the same events in a table that knows more kinds."""
    connection.execute("DROP INDEX verdict_event_item")
    for trigger in ("no_update", "no_delete", "in_order"):
        connection.execute(f"DROP TRIGGER verdict_event_{trigger}")
    connection.execute("ALTER TABLE verdict_event RENAME TO verdict_event_1")
    table, *rest = SCHEMA
    connection.execute(table)
    names = [row["name"] for row in connection.execute("PRAGMA table_info(verdict_event_1)")]
    columns = ", ".join(names)
    connection.execute(f"INSERT INTO verdict_event({columns}) SELECT {columns} FROM verdict_event_1 ORDER BY id")
    connection.execute("DROP TABLE verdict_event_1")
    for statement in rest:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _kept_before_migration(connection: sqlite3.Connection, path: Path) -> None:
    """A copy of an older store beside it, made before anything is changed."""
    connection.execute("BEGIN")
    version = _version(connection, path)
    connection.execute("ROLLBACK")
    if version in (0, SCHEMA_VERSION):
        return
    copy = path.with_name(f"{path.name}.version-{version}")
    if not copy.exists():
        draft = path.with_name(f".{copy.name}.{uuid4().hex}")
        try:
            connection.execute("VACUUM INTO ?", (str(draft),))
            if not copy.exists():  # nobody migrates before there is one, so the draft is of the older version
                draft.rename(copy)
        finally:
            draft.unlink(missing_ok=True)


_KEPT = "Your input is kept on the page; nothing was saved."


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """SQLite's errors as four-part messages."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", None) or ("SQLITE_CORRUPT" if "decode" in str(error) else "")
        raise StorageError(_fault(code, str(error), path)) from error
    except (UnicodeError, json.JSONDecodeError) as error:  # changed bytes inside a text
        raise StorageError(_fault("SQLITE_CORRUPT", str(error), path)) from error
    except OSError as error:
        raise StorageError(
            Problem(
                "the verdict store cannot be reached",
                "a readable file",
                str(error),
                str(path),
                f"Correct the path or its rights. {_KEPT}",
            )
        ) from error


def _fault(code: str, text: str, path: Path) -> Problem:
    where = str(path)
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Problem(
            "the verdict store is busy",
            "a free database",
            "another program holds it",
            where,
            f"Save again in a moment. {_KEPT}",
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN")):
        return Problem(
            "the verdict store cannot be written",
            "a file and a folder with write permission",
            text,
            where,
            f"Correct the permissions, then save again. {_KEPT}",
        )
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return Problem(
            "the disk refused the verdict",
            "free space on a healthy disk",
            text,
            where,
            f"Free space, then save again. {_KEPT}",
        )
    if code.startswith("SQLITE_NOTADB"):
        return Problem(
            "this is not a verdict store, or it is damaged",
            "a reviews.db",
            text,
            where,
            "Name the store. If this is it, move it aside and keep it; it is rebuilt from verdicts.jsonl beside it at "
            f"the next start. {_KEPT}",
        )
    if code.startswith("SQLITE_CORRUPT"):
        return Problem(
            "the verdict store is damaged",
            "a readable SQLite file",
            text,
            where,
            "Move it aside and keep it; it is rebuilt from verdicts.jsonl beside it at the next start. " + _KEPT,
        )
    return Problem("the verdict store refused", "a stored event", text, where, f"Save again. {_KEPT}")
