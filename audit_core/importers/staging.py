"""A scratch database that holds an import's rows, so that a large table needs little memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from audit_core.digests import sha256
from audit_core.errors import Problem, StorageError

BATCH, TEXTS = 5_000, 16 << 20
"""Rows, and characters of passages, that are held before they are written."""
_TABLES = """
    CREATE TABLE question (key INTEGER PRIMARY KEY, question_id TEXT, text TEXT, gold TEXT, weight INTEGER);
    CREATE TABLE tag (question INTEGER, tag TEXT, PRIMARY KEY (question, tag)) WITHOUT ROWID;
    CREATE TABLE passage (sha256 TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
    CREATE TABLE entry (
        question INTEGER, state INTEGER, repeat INTEGER, source INTEGER, record INTEGER, line INTEGER, kind INTEGER,
        answer TEXT, error TEXT, evidence TEXT, single INTEGER, number_id INTEGER, cached INTEGER, response_id TEXT,
        time TEXT, outcome TEXT, excerpts TEXT);
"""

TEXT, BLANK, NULL, NO_KEY, FAILED = range(5)
"""What stands where the answer should be: text, a blank cell, null, no such key, or a reported failure."""


class Entry(NamedTuple):
    """One row of a file after its values were read.

    Attributes:
        question: Key of the question, from 0 in order of first appearance.
        state: Number of the state, likewise.
        source: Index of the file.
        kind: What stands where the answer should be.
        evidence: JSON list of ``[document_id, score, title, passage sha256, family]``, or None.
        single: 1 where this row holds one passage of several for its cell.
        number_id: 1 where the id was written as a number.
        excerpts: JSON list of objects with the fields of `model.Excerpt`, or None.
    """

    question: int
    state: int
    repeat: int
    source: int
    record: int
    line: int
    kind: int
    answer: str | None
    error: str | None
    evidence: str | None
    single: int
    number_id: int
    cached: int | None
    response_id: str | None
    time: str | None
    outcome: str | None = None
    excerpts: str | None = None


class Staging:
    """Rows of an import on scratch disk, grouped by cell once all are in.

    Raises:
        StorageError: The scratch disk refuses, on any method.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="snapshot-audit-")
        self._db = sqlite3.connect(Path(self._folder.name) / "rows.db", isolation_level=None)
        self._db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;" + _TABLES)
        self._db.execute("BEGIN")
        self._waiting: list[Entry] = []
        self._texts: dict[str, str] = {}
        self._held = 0
        self.rows = 0

    def add(self, entry: Entry) -> None:
        """Keep one row."""
        self._waiting.append(entry)
        self.rows += 1
        if len(self._waiting) == BATCH:
            self._flush()

    def write(self, sql: str, *values: Any) -> None:
        """Run one statement that changes something."""
        try:
            self._db.execute(sql, values)
        except sqlite3.OperationalError as error:
            raise _refused(error) from error

    def passage(self, text: str | None) -> str | None:
        """Keep a passage once; its SHA-256."""
        if text is None:
            return None
        digest = sha256(text.encode())
        if digest not in self._texts:
            self._texts[digest] = text
            self._held += len(text)
            if self._held > TEXTS:
                self._flush_passages()
        return digest

    def all(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a small result."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            raise _refused(error) from error

    def stream(self, sql: str) -> Iterator[Any]:
        """Rows of a large result."""
        try:
            # Not "yield from", which closes the cursor of an unfinished iteration, and that fails once the database is.
            for row in self._db.execute(sql):  # noqa: UP028
                yield row
        except sqlite3.OperationalError as error:
            raise _refused(error) from error

    def settle(self, states: Sequence[int], order: Sequence[int], ordered: bool) -> None:
        """Put states together that turned out to be one: the repeats of a later one follow those of an earlier one.

        Args:
            states: Number of each state that was read → its number from now on.
            order: States that were read, in the order in which their repeats follow one another.
            ordered: The repeats of a question in a state are only in order; number them 1, 2, …
        """
        self._flush()
        if ordered:
            self.write(
                "UPDATE entry SET repeat = number FROM (SELECT rowid AS id, row_number() OVER (PARTITION BY question, "
                "state ORDER BY repeat, rowid) AS number FROM entry) WHERE entry.rowid = id"
            )
        offsets: list[tuple[int, int, int]] = []
        last: dict[int, int] = {}
        found = self.all("SELECT state, min(repeat), max(repeat) FROM entry GROUP BY state")
        for state, low, high in sorted(found, key=lambda row: order.index(row[0])):
            settled = states[state]
            offset = last[settled] + 1 - low if settled in last else 0
            last[settled] = high + offset
            offsets.append((state, settled, offset))
        if all(state == settled and not offset for state, settled, offset in offsets):
            return
        self.write("CREATE TEMP TABLE settled (old INTEGER PRIMARY KEY, state INTEGER, shift INTEGER)")
        for row in offsets:
            self.write("INSERT INTO settled VALUES (?, ?, ?)", *row)
        self.write(
            "UPDATE entry SET repeat = repeat + shift, state = settled.state FROM settled WHERE entry.state = old"
        )

    def index(self) -> None:
        """All rows are in; index them by cell."""
        self._flush()
        self._flush_passages()
        self.write("CREATE INDEX entry_cell ON entry (question, state, repeat)")

    def cells(self, questions: int) -> Iterator[tuple[int, list[list[Entry]]]]:
        """Per question in order: its key and its cells, each a list of the rows that belong to it.

        Args:
            questions: How many there are; one without a row has an empty list.
        """
        rows = map(Entry._make, self.stream("SELECT * FROM entry ORDER BY question, state, repeat, rowid"))
        key = 0
        for question, group in groupby(rows, key=itemgetter(0)):
            while key < question:
                yield key, []
                key += 1
            yield question, [list(cell) for _, cell in groupby(group, key=itemgetter(1, 2))]
            key += 1
        yield from ((rest, []) for rest in range(key, questions))

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        self._folder.cleanup()

    def _flush(self) -> None:
        try:
            self._db.executemany(f"INSERT INTO entry VALUES ({','.join('?' * len(Entry._fields))})", self._waiting)
        except sqlite3.OperationalError as error:
            raise _refused(error) from error
        self._waiting = []

    def _flush_passages(self) -> None:
        try:
            # In order of their digests, since that is the order of the table.
            self._db.executemany("INSERT OR IGNORE INTO passage VALUES (?, ?)", sorted(self._texts.items()))
        except sqlite3.OperationalError as error:
            raise _refused(error) from error
        self._texts, self._held = {}, 0


class Passages(Mapping[str, str]):
    """Texts by SHA-256 as the scratch database holds them, one in memory at a time."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def __getitem__(self, digest: str) -> str:
        found = self._staging.all("SELECT text FROM passage WHERE sha256 = ?", digest)
        if not found:
            raise KeyError(digest)
        return str(found[0][0])

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self._staging.stream("SELECT sha256 FROM passage ORDER BY sha256"))

    def __len__(self) -> int:
        return int(self._staging.all("SELECT count(*) FROM passage")[0][0])


def _refused(error: sqlite3.Error) -> StorageError:
    return StorageError(
        Problem(
            "the scratch space cannot be used",
            "free space for a copy of the table",
            str(error),
            tempfile.gettempdir(),
            "Free space, or name another folder in the environment variable TMPDIR.",
        )
    )
