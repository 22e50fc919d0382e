"""What all kinds share: records out of any format, fields found by name or path, rows of the one aligned table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers import columns
from audit_core.importers.document import Path
from audit_core.importers.facts import made_id
from audit_core.importers.kinds.records import Records
from audit_core.importers.kinds.texts import evidence_of, is_document, listed, unpacked, written
from audit_core.importers.options import Options
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import ABSENT, Number, scrub, shown

SEPARATOR = "\x1f"
"""Between the parts by which states are told apart, until it is known which of them differ."""
COLUMNS = (
    "question_id",
    "question",
    "state",
    "repeat",
    "answer",
    "error",
    "status",
    "gold",
    "evidence",
    "tags",
    "cached",
    "response_id",
    "time",
)
Row = dict[str, Any]
"""One row of the table: our columns, and under ``state`` the parts by which states may be told apart."""


class Rows(ABC):
    """Turns the records of one file of one kind into rows.

    Args:
        log: The file, what was asked for, and what was read of it so far.
    """

    def __init__(self, log: Log) -> None:
        self.log = log

    @abstractmethod
    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """The rows of one record."""

    def finish(self) -> None:  # noqa: B027  most kinds have nothing to add
        """After the last record: what only the whole file shows."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A tool whose logs can be imported.

    Attributes:
        name: As the command knows it.
        what: One line for the help.
        rows: Makes the reader of one file.
        forms: Formats in which the tool writes.
        arrays: Where a JSON document holds its records.
        dropped: Large arrays of such a document that nobody asks for.
        states: Parts by which states may be told apart, the most telling first; ``file`` is one of them.
        roots: Where a short path of ``--map`` is looked for.
        ordered: The repeats of a question are only in order, and numbered once all are there.
        columns: Of the table, beyond `COLUMNS`.
    """

    name: str
    what: str
    rows: type[Rows]
    forms: tuple[str, ...]
    arrays: tuple[Path, ...] = ((),)
    dropped: tuple[Path, ...] = ()
    states: tuple[str, ...] = ("file",)
    roots: tuple[str, ...] = ("",)
    ordered: bool = False
    columns: tuple[str, ...] = ()


@dataclass(slots=True)
class Log:
    """One file while it is read.

    Attributes:
        head: Values that stand beside the records, by path.
        mapped: Paths that were asked for, by our column.
    """

    kind: Kind
    source: Source
    options: Options
    tally: Tally
    head: dict[Path, Any] = field(default_factory=dict)
    mapped: dict[str, str] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    _guessed: set[str] = field(default_factory=set)

    def guessed(self, column: str, where: str) -> None:
        """Say once which field of the file was taken for a column of ours."""
        if column not in self._guessed and column not in self.mapped:
            self._guessed.add(column)
            self.tally.once("guessed_fields", f"{column} is {shown(where)}")

    def look(self, record: Mapping[str, Any], path: str) -> Any:
        """The value at a path such as ``vars.question``, in the record or beside the records; else `ABSENT`."""
        for root in self.kind.roots:
            value = dig(record, f"{root}.{path}" if root else path)
            if value is not ABSENT:
                return value
        return dig({".".join(key): value for key, value in self.head.items()}, path)


def dig(value: Any, path: str) -> Any:
    """The value at a path of keys with dots between them; a key that holds a dot itself is tried first.

    Cells of a CSV file that hold JSON are read on the way.
    """
    value = unpacked(value)
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        parts = path.split(".")
        for size in range(len(parts) - 1, 0, -1):
            if (key := ".".join(parts[:size])) in value:
                return dig(value[key], ".".join(parts[size:]))
    if isinstance(value, list):
        first, _, rest = path.partition(".")
        if first.isdecimal() and int(first) < len(value):
            return dig(value[int(first)], rest) if rest else value[int(first)]
    return ABSENT


class LogReader:
    """Rows of one file, as the readers of tables give them.

    Attributes:
        columns: Our own names, since a kind knows where they are.
        count: How many records were read so far, those without a row among them.
    """

    complete = True
    repeated: frozenset[str] = frozenset()

    def __init__(self, kind: Kind, source: Source, options: Options, tally: Tally) -> None:
        self._kind, self._source, self._tally = kind, source, tally
        self.columns = [*COLUMNS, "weight", *kind.columns]
        self.seen = set(self.columns)
        self._log = Log(kind, source, options, tally)
        for left, right in columns.pairs(options.mapping):
            if left not in self.columns or left == "state":
                known = ", ".join(column for column in self.columns if column != "state")
                action = "Write --map OURS=THEIRS, such as --map question=vars.question."
                if left == "state":
                    action = f"Write --state-from {right}."
                raise InputError(
                    Problem("a mapping names no column of ours", known, shown(f"{left}={right}"), "--map", action)
                )
            self._log.mapped[left] = right
        self._asked = [part for part in options.state_parts if part not in kind.states]
        self._rows = kind.rows(self._log)
        self._made = False
        self._raw = Records(source, kind, self._log.head, options.delimiter, tally)
        self.count = 0

    @property
    def position(self) -> int:
        """How many bytes were read so far, where that is known."""
        return self._raw.position

    def records(self) -> Iterator[tuple[int, int, Row]]:
        """Number of the record from 1, its position, and its values by our names."""
        place: object = self._source.name
        try:
            for number, line, raw in self._raw:
                self.count, place = number, self._source.at(line)
                record = self._clean(raw)
                for row in self._rows.rows(record):
                    yield number, line, self._finished(row, record)
        except RecursionError:
            # A value beside the records, or the record after the last that was read.
            action = "Leave the record out, or map the fields that matter: --map OURS=PATH"
            raise InputError(
                Problem("a record is nested too deep", "a few levels", "hundreds", str(place), action)
            ) from None
        self._rows.finish()
        self._check_mapping()

    def close(self) -> None:
        """Nothing stays open between records."""

    def _finished(self, row: Row, record: dict[str, Any]) -> Row:
        for column, path in self._log.mapped.items():
            value = self._log.look(record, path)
            if value is not ABSENT:
                self._log.found.add(column)
                row[column] = value
        if "answer" in row:
            row["answer"] = self._answer(row["answer"])
        if "evidence" in row:
            row["evidence"] = self._evidence(row["evidence"])
        if "gold" in row:
            row["gold"] = self._gold(row["gold"])
        row["state"] = self._state(row.get("state") or {}, record)
        row = self._clean(row)  # JSON in a cell may hold half a character that the record did not
        question = row.get("question")
        if question is not None and not isinstance(question, str):
            row["question"] = question = written(question)
        identity = row.get("question_id")
        if (identity is None or identity == "") and question:
            row["question_id"] = made_id(question)
            if not self._made:
                self._made = True
                self._tally.add("ids_made_from_questions", self._source.name)
        return row

    def _clean(self, values: dict[str, Any]) -> dict[str, Any]:
        if not self._raw.escaped:
            return values
        clean, found = scrub(values)
        if found:
            self._tally.add("surrogates", self._source.name, count=found)
        return clean

    def _answer(self, value: Any) -> Any:
        if isinstance(value, dict | list | bool):
            self._tally.add("object_answers", self._source.name)
            return written(value)
        return value

    def _evidence(self, given: Any) -> Any:
        found = evidence_of(given)
        if isinstance(given, str) and given.lstrip().startswith("[") and found == [{"text": given}]:
            self._tally.add("evidence_in_other_notation", f"{self._source.name}: {shown(given)}")
        if "evidence" not in self._log.mapped and found and not all(map(is_document, found)):
            # A field that was only guessed must not cost the answer beside it.
            self._tally.add("unusable_evidence", f"{self._source.name}: {shown(written(found[0]))}")
            return None
        return found

    def _gold(self, given: Any) -> Any:
        found = gold_of(given)
        items = found if isinstance(found, list) else [found]
        if "gold" not in self._log.mapped and not all(item is None or isinstance(item, str) for item in items):
            self._tally.add("unusable_golds", f"{self._source.name}: {shown(written(found))}")
            return None
        return found

    def _state(self, parts: Mapping[str, Any], record: dict[str, Any]) -> str:
        """All parts by which states may differ, in one text."""
        values = []
        for part in (*self._asked, *self._kind.states):
            if part in self._asked:
                value = self._log.look(record, part)
                if value is ABSENT or value is None:
                    value = ""
                else:
                    self._log.found.add(part)
            else:
                value = self._source.name if part == "file" else parts.get(part)
            text = "" if value is None else value if isinstance(value, str) else written(value)
            values.append(text.replace(SEPARATOR, " ").strip())
        return SEPARATOR.join(values)

    def _check_mapping(self) -> None:
        """Refuse a path that no record has."""
        problems = [
            Problem(
                "a mapped field is in no record",
                f"a field {shown(path)}",
                "none",
                f"{self._source.name}: {option}",
                "Write the path as the file spells it, with dots between the keys.",
            )
            for option, path in (
                *((f"--map {column}={path}", path) for column, path in self._log.mapped.items()
                  if column not in self._log.found),
                *((f"--state-from {part}", part) for part in self._asked if part not in self._log.found),
            )
        ]  # fmt: skip
        if problems:
            raise InputError(problems)


def gold_of(value: Any) -> Any:
    """Accepted answers: texts as they are, a list as a list, numbers as their text; blank ones and null as nothing."""
    value = listed(value)
    if isinstance(value, list):
        return [str(item) if isinstance(item, Number) else item for item in value if item is not None] or None
    return value


def mixed(values: Sequence[str]) -> str:
    """A few names for a message."""
    return ", ".join(shown(value, 40) for value in values[:5]) + (", …" if len(values) > 5 else "")
