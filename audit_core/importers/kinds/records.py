"""Records of a log, whatever its format: JSON of any size, lines, CSV, Parquet, an archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from audit_core.errors import InputError, Problem
from audit_core.importers.delimited import MOST_PROBLEMS, DelimitedReader
from audit_core.importers.document import RECORD_LIMIT, Document, Path, decode
from audit_core.importers.kinds.archive import samples
from audit_core.importers.parquet import ParquetReader
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import scrub, shown


class Layout(Protocol):
    """Where a tool's JSON holds its records; see `kinds.log.Kind`."""

    @property
    def name(self) -> str:
        """Of the tool."""

    @property
    def arrays(self) -> tuple[Path, ...]:
        """Paths of the arrays that hold records."""

    @property
    def dropped(self) -> tuple[Path, ...]:
        """Paths of large arrays that nobody asks for."""


class Records:
    """Number of each record from 1, its position, and its values.

    Args:
        source: The file.
        layout: Of its kind.
        head: Filled with the values beside the records, by path.
        delimiter: Of a CSV file.
        tally: Told of what is no record.

    Attributes:
        position: How many bytes were read so far, where that is known.
        escaped: Whether the present record may hold half a character.
    """

    def __init__(
        self, source: Source, layout: Layout, head: dict[Path, Any], delimiter: str | None, tally: Tally
    ) -> None:
        self._source, self._layout, self._head = source, layout, head
        self._delimiter, self._tally = delimiter, tally
        self.position, self.escaped = 0, True

    def __iter__(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        form, source = self._source.form, self._source
        if form == "csv":
            yield from DelimitedReader(source, self._delimiter, self._tally).records()
        elif form == "parquet":
            yield from ParquetReader(source, self._tally).records()
        elif form == "jsonl":
            yield from self._lines()
        elif form == "zip":
            yield from self._objects(self._members())
        else:
            with source.open() as stream:
                document = Document(stream, source.name, self._layout.arrays, self._layout.dropped)
                for record in self._objects(self._elements(document)):
                    self.position, self.escaped = document.position, document.escaped
                    yield record

    def _members(self) -> Iterator[Any]:
        for value, escaped, size in samples(self._source, self._head):
            self.escaped = escaped
            self.position += size
            yield value

    def _elements(self, document: Document) -> Iterator[Any]:
        found = False
        for path, value, is_record in document.values():
            if is_record:
                found = True
                yield value
            else:
                self._head[path] = scrub(value)[0] if document.escaped else value
        if not found:
            arrays = " or ".join(".".join(path) or "a list" for path in self._layout.arrays)
            keys = ", ".join(shown(".".join(path), 40) for path in list(self._head)[:12]) or "nothing"
            action = "Check that the file is a log of this kind, and that it holds records."
            name = f"no records of {self._layout.name}"
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
                self.escaped = b"\\ud" in data or b"\\uD" in data
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
