"""What all kinds share: records out of any format, fields found by name or path, rows of the one aligned table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers import columns
from audit_core.importers.delimited import MOST_PROBLEMS, DelimitedReader
from audit_core.importers.document import RECORD_LIMIT, Document, Path, decode
from audit_core.importers.facts import made_id
from audit_core.importers.kinds.texts import evidence_of, listed, written
from audit_core.importers.options import Options
from audit_core.importers.parquet import ParquetReader
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


class Rows:
    """Turns the records of one file of one kind into rows.

    Args:
        log: The file, what was asked for, and what was read of it so far.
    """

    def __init__(self, log: Log) -> None:
        self.log = log

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """The rows of one record."""
        raise NotImplementedError

    def finish(self) -> None:
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
    """The value at a path of keys with dots between them; a key that holds a dot itself is tried first."""
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
        position: How many bytes were read so far, where that is known.
        count: How many records were read so far, those without a row among them.
    """

    complete = True
    repeated: frozenset[str] = frozenset()

    def __init__(self, kind: Kind, source: Source, options: Options, tally: Tally) -> None:
        self._kind, self._source, self._tally = kind, source, tally
        self.columns = [*COLUMNS, *kind.columns]
        self.seen = set(self.columns)
        self._log = Log(kind, source, options, tally)
        for left, right in columns.pairs(options.mapping):
            if left not in columns.COLUMNS:
                known = ", ".join(COLUMNS)
                action = "Write --map OURS=THEIRS, such as --map question=vars.question."
                raise InputError(
                    Problem("a mapping names no column of ours", known, shown(f"{left}={right}"), "--map", action)
                )
            self._log.mapped[left] = right
        self._asked = [part for part in options.state_parts if part not in kind.states]
        self._rows = kind.rows(self._log)
        self._made = False
        self.position = self.count = 0
        self._escaped = True  # whether the present record may hold half a character

    def records(self) -> Iterator[tuple[int, int, Row]]:
        """Number of the record from 1, its position, and its values by our names."""
        for number, line, record in self._raw():
            self.count = number
            try:
                for row in self._rows.rows(record):
                    yield number, line, self._finished(row, record)
            except RecursionError:
                raise InputError(Problem("a record is nested too deep", where=str(self._source.at(line)))) from None
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
            given, row["evidence"] = row["evidence"], evidence_of(row["evidence"])
            if isinstance(given, str) and given.lstrip().startswith("[") and row["evidence"] == [{"text": given}]:
                self._tally.add("evidence_in_other_notation", f"{self._source.name}: {shown(given)}")
        if "gold" in row:
            row["gold"] = gold_of(row["gold"])
        question = row.get("question")
        if question is not None and not isinstance(question, str):
            row["question"] = question = written(question)
        identity = row.get("question_id")
        if (identity is None or identity == "") and question:
            row["question_id"] = made_id(question)
            if not self._made:
                self._made = True
                self._tally.add("ids_made_from_questions", self._source.name)
        row["state"] = self._state(row.get("state") or {}, record)
        if self._escaped:
            row, found = scrub(row)
            if found:
                self._tally.add("surrogates", self._source.name, count=found)
        return row

    def _answer(self, value: Any) -> Any:
        if isinstance(value, dict | list | bool):
            self._tally.add("object_answers", self._source.name)
            return written(value)
        return value

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

    def _raw(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        form, source = self._source.form, self._source
        if form == "csv":
            yield from DelimitedReader(source, self._log.options.delimiter, self._tally).records()
        elif form == "parquet":
            yield from ParquetReader(source, self._tally).records()
        elif form == "jsonl":
            yield from self._lines()
        elif form == "zip":
            from audit_core.importers.kinds.archive import samples

            yield from self._objects(samples(source, self._log.head))
        else:
            with source.open() as stream:
                document = Document(stream, source.name, self._kind.arrays, self._kind.dropped)
                for record in self._objects(self._elements(document)):
                    self.position, self._escaped = document.position, document.escaped
                    yield record

    def _elements(self, document: Document) -> Iterator[Any]:
        found = False
        for path, value, is_record in document.values():
            if is_record:
                found = True
                yield value
            else:
                self._log.head[path] = value
        if not found:
            arrays = " or ".join(".".join(path) or "a list" for path in self._kind.arrays)
            keys = ", ".join(shown(".".join(path), 40) for path in list(self._log.head)[:12]) or "nothing"
            action = "Check that the file is a log of this kind, and that it holds records."
            name = f"no records of {self._kind.name}"
            raise InputError(Problem(name, f"records at {arrays}", keys, self._source.name, action))

    def _objects(self, values: Iterator[Any]) -> Iterator[tuple[int, int, dict[str, Any]]]:
        number = 0
        for value in values:
            number += 1
            if not isinstance(value, dict):
                self._tally.add("unreadable_values", f"{self._source.at(number)}: no object")
                continue
            yield number, number, value

    def _lines(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        problems: list[Problem] = []
        number = line = 0
        with self._source.open() as stream:
            while data := stream.readline(RECORD_LIMIT + 1):
                line += 1
                self.position += len(data)
                self._escaped = b"\\ud" in data or b"\\uD" in data
                try:
                    if len(data) > RECORD_LIMIT:
                        raise ValueError(f"longer than {RECORD_LIMIT:,} bytes")
                    text = data.decode("utf-8-sig").strip()
                    if not text:
                        continue
                    record = decode(text)
                    if not isinstance(record, dict):
                        raise ValueError("not an object")
                except ValueError as error:
                    what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                    action = "Correct the file; nothing was written."
                    problems.append(
                        Problem(f"damaged record: {what}", "one JSON object", "", str(self._source.at(line)), action)
                    )
                    if len(problems) == MOST_PROBLEMS or len(data) > RECORD_LIMIT:
                        break
                    continue
                number += 1
                if not problems:
                    yield number, line, record
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
