"""Records of a JSONL, CSV, TSV or Parquet file, one at a time, each with its place; damaged ones are collected."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from audit_core.codec import LINE_LIMIT, CodecError, parse
from audit_core.errors import InputError, Problem

ACTION = "Correct the file; nothing was written."
MOST = 100
"""After so many faults a file is read no further; one with more of them is another kind of file."""
GROUP_LIMIT = 1 << 30
"""Largest declared size of one row group of a Parquet file, which has to fit into memory."""
BATCH = 1_000

Record = dict[str, Any]


class Table:
    """Records of one file.

    Args:
        path: Its ending decides how it is read: ``.csv``, ``.tsv``, ``.parquet``, and JSONL for any other.

    Attributes:
        faults: Of the records read so far; `fault` adds to them, `finish` raises them.
        header: Names of the columns; None for JSONL, where each record has its own.
        only: Columns that are read, of a Parquet file; None for all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[Problem] = []
        self.only: list[str] | None = None
        self._kind = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}.get(path.suffix.lower(), "jsonl")
        self._unit = "record" if self._kind == "parquet" else "line"
        try:
            self._stream = path.open("rb")
        except OSError as error:
            raise InputError(
                Problem("an input of the protocol cannot be read", "a file", str(error.strerror), str(path),
                        "Put it back.")) from None  # fmt: skip
        self.header = self._open()

    def fault(self, what: str, expected: str, found: object, number: int) -> None:
        """Note one fault at a record."""
        self.faults.append(Problem(what, expected, str(found)[:80], f"{self.path.name}: {self._unit} {number}", ACTION))

    def records(self) -> Iterator[tuple[int, Record]]:
        """Line, or number of the record in a Parquet file, and values by column; damaged records are left out."""
        read = {"jsonl": self._lines, "parquet": self._groups}.get(self._kind, self._rows)
        with self._stream:
            for item in read():
                if len(self.faults) >= MOST:
                    return
                yield item

    def finish(self) -> None:
        """End the reading.

        Raises:
            InputError: With every fault noted.
        """
        self._stream.close()
        if self.faults:
            raise InputError(self.faults)

    def _open(self) -> list[str] | None:
        if self._kind == "jsonl":
            return None
        if self._kind == "parquet":
            return self._schema()
        csv.field_size_limit(LINE_LIMIT)
        text = io.TextIOWrapper(self._stream, encoding="utf-8-sig", newline="")
        self._csv = csv.reader(text, delimiter="\t" if self._kind == "tsv" else ",", strict=True)
        header = self._row() or []
        if not header or len(set(header)) != len(header):
            self.fault("the header does not name the columns", "different names", ", ".join(header) or "nothing", 1)
        return header

    def _lines(self) -> Iterator[tuple[int, Record]]:
        number = 0
        stream: BinaryIO = self._stream
        while line := stream.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) > LINE_LIMIT:
                self.fault("a line is too long", f"at most {LINE_LIMIT:,} bytes", "a longer one", number)
                return
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if not line.strip():
                continue
            try:
                record = parse(line.strip())
            except CodecError as error:
                self.fault(f"damaged record: {error}", "one JSON object a line", "", number)
                continue
            if isinstance(record, dict):
                yield number, record
            else:
                self.fault("a record is not an object", "a JSON object", record, number)

    def _row(self) -> list[str] | None:
        try:
            return next(self._csv, None)
        except (csv.Error, UnicodeDecodeError) as error:
            self.fault(f"damaged CSV: {error}", "UTF-8 text with closed quotes", "", self._csv.line_num + 1)
            return None

    def _rows(self) -> Iterator[tuple[int, Record]]:
        assert self.header is not None
        while (row := self._row()) is not None:
            if not row:
                continue
            if len(row) == len(self.header):
                yield self._csv.line_num, dict(zip(self.header, row, strict=True))
            else:
                self.fault("a record has another length", f"{len(self.header)} values", f"{len(row)} values",
                           self._csv.line_num)  # fmt: skip

    def _schema(self) -> list[str]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise InputError(Problem("Parquet needs pyarrow", "pyarrow", "none", self.path.name,
                                     "Install it: pip install pyarrow")) from None  # fmt: skip
        self._errors = (pyarrow.ArrowException, OSError, ValueError)
        try:
            self._parquet = parquet.ParquetFile(self._stream)
            names = list(self._parquet.schema_arrow.names)
        except self._errors as error:
            raise InputError(self._damaged(error)) from None
        if len(set(names)) != len(names):
            self.fault("two columns have one name", "different names", ", ".join(names), 1)
        return names

    def _groups(self) -> Iterator[tuple[int, Record]]:
        number = 0
        try:
            for group in range(self._parquet.num_row_groups):
                if self._parquet.metadata.row_group(group).total_byte_size > GROUP_LIMIT:
                    self.fault("a row group is too large", f"at most {GROUP_LIMIT:,} bytes", "a larger one", number + 1)
                    return
                for batch in self._parquet.iter_batches(BATCH, row_groups=[group], columns=self.only):
                    for record in batch.to_pylist():
                        number += 1
                        yield number, {key: value for key, value in record.items() if value is not None}
        except self._errors as error:
            self.faults.append(self._damaged(error))

    def _damaged(self, error: Exception) -> Problem:
        lines = str(error).splitlines() or [type(error).__name__]
        return Problem(f"damaged Parquet: {lines[0][:200]}", where=self.path.name, action="Write the file again.")
