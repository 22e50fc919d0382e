"""JSONL, strictly: one object a line, no key twice, no NaN, numbers kept as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isinf
from typing import Any, NoReturn

from audit_core.errors import InputError, Problem
from audit_core.importers.delimited import MOST_PROBLEMS
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import TEXT_LIMIT, Number, scrub

DEPTH_LIMIT = 32
DIGITS_LIMIT = 1_000
PEEK_RECORDS, PEEK_BYTES = 1_000, 8 << 20
"""How far ahead column names are looked for."""


class JsonlReader:
    """Records of one JSONL file.

    Attributes:
        columns: Keys of the first records.
        repeated: Empty, since no key may occur twice.
        complete: False, since a later record may have further keys.
        seen: All keys of the records read so far.

    Raises:
        InputError: Damaged lines, each named, or a line that is too long.
    """

    complete = False
    repeated: frozenset[str] = frozenset()

    def __init__(self, source: Source, tally: Tally) -> None:
        self._source, self._tally = source, tally
        self._problems: list[Problem] = []
        self._read = 0
        self.seen: dict[str, None] = {}
        self._ahead: list[tuple[int, int, dict[str, Any]]] = []
        self._stream = source.open()
        self._rest = self._parsed()
        for record in self._rest:
            self._ahead.append(record)
            if len(self._ahead) == PEEK_RECORDS or self._read > PEEK_BYTES:
                break
        if self._problems:
            self._stop()
        self.columns = list(self.seen)

    def records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Number of the record from 1, its line, and its values by key."""
        yield from self._ahead
        self._ahead = []
        yield from self._rest
        self._stop()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._ahead = []

    def _stop(self) -> None:
        self.close()
        if self._problems:
            raise InputError(self._problems)

    def _parsed(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        number = line = 0
        while data := self._stream.readline(TEXT_LIMIT + 1):
            line += 1
            self._read += len(data)
            if len(data) > TEXT_LIMIT:
                self._fault(line, f"longer than {TEXT_LIMIT:,} bytes")
                return
            if line == 1:
                data = data.removeprefix(b"\xef\xbb\xbf")
            if not data.strip():
                self._tally.add("blank_lines", f"{self._source.name}: line", line)
                continue
            try:
                record = decode(data.decode())
            except (ValueError, RecursionError) as error:
                if self._fault(line, reason(error)):
                    return
                continue
            if type(record) is not dict:
                if self._fault(line, "not an object"):
                    return
                continue
            # Python accepts the escape of half a character, which no database or file will take.
            if b"\\ud" in data or b"\\uD" in data:
                record, found = scrub(record)
                if found:
                    self._tally.add("surrogates", f"{self._source.name}: line", line, count=found)
            number += 1
            if not record.keys() <= self.seen.keys():
                self.seen.update(dict.fromkeys(record))
            yield number, line, record

    def _fault(self, line: int, what: str) -> bool:
        where = f"{self._source.name}: line {line}"
        self._problems.append(
            Problem(f"damaged record: {what}", "one JSON object", "", where, "Correct the file; nothing was written.")
        )
        return len(self._problems) == MOST_PROBLEMS


def reason(error: Exception) -> str:
    """Why a line is no JSON, in a few words."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} of the line is not UTF-8"
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return str(error)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object out of its pairs.

    Raises:
        ValueError: A key stands twice.
    """
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def number(text: str) -> Number:
    """A number as it is written.

    Raises:
        ValueError: It is absurdly long.
    """
    if len(text) > DIGITS_LIMIT:
        raise ValueError(f"a number of {len(text):,} characters")
    return Number(text)


def _decimal(text: str) -> Number:
    value = number(text)
    if isinf(float(text)):
        raise ValueError(f"the number {text} is out of range")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_int=number, parse_float=_decimal, parse_constant=_constant)


def decode(text: str) -> Any:
    """A JSON value, its numbers as `Number`.

    Raises:
        ValueError: Not JSON, a key twice, NaN, a number out of range, or nested too deep.
        RecursionError: Nested far too deep.
    """
    value = _DECODER.decode(text.strip(" \t\r\n"))
    if text.count("[") + text.count("{") > DEPTH_LIMIT and _depth(value) > DEPTH_LIMIT:
        raise ValueError(f"nested deeper than {DEPTH_LIMIT}")
    return value


def _depth(value: Any) -> int:
    if type(value) is dict:
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if type(value) is list else 0
