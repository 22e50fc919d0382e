"""CSV: every cell is text to the letter, line ends inside quotes included; nothing is taken for missing."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from audit_core.errors import InputError, Problem
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import TEXT_LIMIT, shown

MOST_PROBLEMS = 100
"""After so many damaged records reading stops; a file with more of them is no table."""


class DelimitedReader:
    """Records of one CSV file.

    Args:
        source: The file.
        delimiter: One character; None takes a tab for ``.tsv`` and a comma otherwise.
        tally: Told of blank lines.

    Attributes:
        columns: Names in the header; a column without a name is left out.
        repeated: Names that occur more than once; their values come as lists.
        complete: True, since a header names all columns.

    Raises:
        InputError: No header, damaged quoting, a record of another length, not UTF-8, or too long a line.
    """

    complete = True

    def __init__(self, source: Source, delimiter: str | None, tally: Tally) -> None:
        self._source, self._tally = source, tally
        csv.field_size_limit(TEXT_LIMIT)
        tab = source.path.suffix.lower() == ".tsv"
        self._delimiter = {None: "\t" if tab else ",", "\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
        if len(self._delimiter or "") != 1:
            raise InputError(
                Problem(
                    "the delimiter is not one character",
                    "such as ; or \\t",
                    repr(delimiter),
                    "--delimiter",
                    "Name one character.",
                )
            )
        self._stream = io.TextIOWrapper(source.open(), encoding="utf-8-sig", newline="")
        self._rows = csv.reader(self._lines(self._stream), delimiter=self._delimiter or ",", strict=True)
        try:
            self._header = self._next() or []
        except InputError:
            self.close()
            raise
        names = [name for name in self._header if name]
        self.columns = list(dict.fromkeys(names))
        self.repeated = {name for name, count in Counter(names).items() if count > 1}
        self.seen = set(names)
        if not names:
            self.close()
            raise self._error("no header", "column names in the first line", shown(str(self._header)), 1)

    def records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Number of the record from 1, line where it ends, and its values by column name."""
        header, width, repeated = self._header, len(self._header), self.repeated
        number = 0
        problems: list[Problem] = []
        while (row := self._next()) is not None:
            if not row:
                self._tally.add("blank_lines", f"{self._source.name}: line", self._rows.line_num)
                continue
            number += 1
            if len(row) != width:
                found = f"{len(row)} values"
                problems += self._error(
                    "a record has another length", f"{width} values", found, self._rows.line_num
                ).problems
                if len(problems) == MOST_PROBLEMS:
                    break
                continue
            values: dict[str, Any] = dict(zip(header, row, strict=True))
            for name in repeated:
                values[name] = [text for column, text in zip(header, row, strict=True) if column == name]
            yield number, self._rows.line_num, values
        self._stream.close()
        if problems:
            raise InputError(problems)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _next(self) -> list[str] | None:
        start = getattr(self, "_rows", None)
        line = start.line_num + 1 if start else 1
        try:
            return next(self._rows, None)
        except csv.Error as error:
            what = str(error)
            if "unexpected end of data" in what:
                what = "a quote that is never closed; the file looks cut"
            raise self._error(f"damaged CSV: {what}", "", "", line, "Export the file again.") from None
        except UnicodeDecodeError:
            raise self._error(
                "the file is not UTF-8", "UTF-8 text", "other bytes", _undecodable(self._source), "Save it as UTF-8."
            ) from None

    def _lines(self, stream: TextIO) -> Iterator[str]:
        # A line iterator of its own, because the stream's would read a line of any length into memory.
        number = 0
        while line := stream.readline(TEXT_LIMIT + 1):
            number += 1
            if len(line) > TEXT_LIMIT:
                found = "a longer one"
                raise self._error("a line is too long", f"at most {TEXT_LIMIT:,} characters", found, number)
            yield line

    def _error(self, what: str, expected: str, found: str, line: int, action: str = "") -> InputError:
        where = f"{self._source.name}: line {line}"
        return InputError(Problem(what, expected, found, where, action or "Correct the file; nothing was written."))


def _undecodable(source: Source) -> int:
    """Line of the first byte that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with source.open() as stream:
        while block := stream.read(1 << 20):
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                return line + bytes(error.object[: error.start]).count(b"\n")
            line += block.count(b"\n")
    return line
