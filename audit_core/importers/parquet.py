"""Parquet, row group by row group; sizes that the file only claims are checked before they are believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import TEXT_LIMIT, Number, scrub

GROUP_LIMIT = 1 << 30
"""Largest declared size of one row group, which has to fit into memory."""
BATCH = 2_000
FREE_BYTES, MOST_EXPANSION = 1 << 30, 200
"""A file may unpack to 1 GiB, or to 200 times its own size if that is more."""


class ParquetReader:
    """Records of one Parquet file.

    Attributes:
        columns: Names of the top-level columns.
        repeated: Empty.
        complete: True.

    Raises:
        InputError: Damaged, too large when unpacked, or of a type that text cannot be read from.
    """

    complete = True
    repeated: frozenset[str] = frozenset()

    def __init__(self, source: Source, tally: Tally) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise InputError(
                Problem("Parquet needs pyarrow", "pyarrow", "none", source.name, "Install it: pip install pyarrow")
            ) from None
        self._source, self._tally, self._errors = source, tally, (pyarrow.ArrowException, OSError, ValueError)
        try:
            schema = parquet.read_schema(source.path)
            # Dictionary columns keep a value once, however often the file repeats it.
            is_text = pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_binary
            texts = [field.name for field in schema if any(test(field.type) for test in is_text)]
            self._file = parquet.ParquetFile(source.path, read_dictionary=texts)
        except self._errors as error:
            raise self._error(error) from None
        self.columns = list(schema.names)
        self.seen = set(self.columns)
        if len(self.seen) != len(self.columns):
            raise InputError(Problem("two columns have one name", where=source.name, action="Rename one of them."))
        self.wanted: list[str] = self.columns
        self._limit = max(FREE_BYTES, MOST_EXPANSION * source.size)

    def records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Number of the record from 1, twice, and its values by column name; only `wanted` columns are read."""
        number = unpacked = 0
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).total_byte_size
            if size > GROUP_LIMIT:
                raise self._bomb(f"a row group of {size:,} bytes", f"at most {GROUP_LIMIT:,} bytes")
            try:
                for batch in self._file.iter_batches(BATCH, row_groups=[group], columns=self.wanted):
                    columns = []
                    for column in batch.columns:
                        values, length = self._values(column)
                        unpacked += length
                        columns.append(values)
                    if unpacked > self._limit:
                        raise self._bomb(f"more than {self._limit:,} bytes unpacked", "a plausible size")
                    for row in zip(*columns, strict=True):
                        number += 1
                        yield number, number, dict(zip(batch.schema.names, row, strict=True))
            except self._errors as error:
                raise self._error(error) from None
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _values(self, column: Any) -> tuple[list[Any], int]:
        """Python values of an Arrow column and the bytes that they stand for."""
        if hasattr(column, "dictionary"):
            used = column.indices.unique().drop_null()
            words = dict(zip(used.to_pylist(), map(self._text, column.dictionary.take(used).to_pylist()), strict=True))
            values = [words.get(index) for index in column.indices.to_pylist()]
            return values, sum(len(value) for value in values if value is not None)
        return [self._value(value) for value in column.to_pylist()], column.nbytes

    def _text(self, value: str | bytes | None) -> str | None:
        if isinstance(value, bytes):
            value = value.decode()
        if value is not None and len(value) > TEXT_LIMIT:
            raise ValueError(f"a text of {len(value):,} characters, above the limit of {TEXT_LIMIT:,}")
        return value

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if value != value:  # a table tool's way of writing nothing in a column of numbers
            return None
        if isinstance(value, str | bytes):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items() if item is not None}
        if isinstance(value, int | float):
            return Number(repr(value))
        return scrub(str(value))[0]

    def _bomb(self, found: str, expected: str) -> InputError:
        self.close()
        action = "Write it in smaller row groups, or import it as CSV."
        return InputError(Problem("the file unpacks to too much", expected, found, self._source.name, action))

    def _error(self, error: Exception) -> InputError:
        if isinstance(error, InputError):
            return error
        lines = str(error).splitlines() or [type(error).__name__]
        return InputError(
            Problem(f"damaged Parquet: {lines[0][:300]}", where=self._source.name, action="Write the file again.")
        )
