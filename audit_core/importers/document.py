"""A JSON document of any size, read value by value: records one by one, the rest whole, nothing twice."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from audit_core.errors import InputError, Problem
from audit_core.importers.jsonl import number, unique

CHUNK = 1 << 20
RECORD_LIMIT = 64 << 20
"""Largest single record, in bytes or characters; a larger one is no record of one answer."""
ESCAPE, HALVES = "\\u", ("\\ud", "\\uD")
"""How the escape of half a character begins; without one a value holds no lone surrogate."""
_SPACE = re.compile(r"[ \t\r\n]*")
_TAIL = 16
"""An error so close to the end of what was read may only mean that the rest is still to come."""

Path = tuple[str, ...]


_DECODER = json.JSONDecoder(
    object_pairs_hook=unique, parse_int=number, parse_float=number, parse_constant=lambda name: None
)
"""NaN is what evaluation tools write for a metric that failed; it is read as nothing, and never as zero."""


def decode(text: str) -> Any:
    """One JSON value.

    Raises:
        ValueError: Not JSON, a key twice, or nested too deep.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


class Document:
    """One JSON document.

    Args:
        stream: Its bytes.
        name: What messages call it.
        arrays: Where the records lie: paths of arrays that are given element by element.
        dropped: Paths of arrays that may be large and that nobody asks for.

    Attributes:
        position: How many bytes were read so far.
        escaped: Whether the last value may hold half a character.
    """

    def __init__(self, stream: BinaryIO, name: str, arrays: Collection[Path], dropped: Collection[Path] = ()) -> None:
        self._stream, self._name = stream, name
        self._arrays, self._dropped = frozenset(arrays), frozenset(dropped)
        self._prefixes = {path[:size] for path in (*arrays, *dropped) for size in range(len(path))}
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._before, self._over = "", 0, 0, False
        self.position = 0
        self.escaped = False

    def values(self) -> Iterator[tuple[Path, Any, bool]]:
        """Path, value, and whether it is an element of one of the arrays or another value around them.

        Raises:
            InputError: Damaged, cut, not UTF-8, too deep, or with too large a value.
        """
        yield from self._walk(())
        if self._peek():
            raise self._damaged("something follows the document; lines of JSON need a name that ends in .jsonl")

    def _walk(self, path: Path) -> Iterator[tuple[Path, Any, bool]]:
        first = self._peek()
        if first == "[" and (path in self._arrays or path in self._dropped):
            wanted = path in self._arrays
            for _ in self._items("]"):
                value = self._value()
                if wanted:
                    yield path, value, True
        elif first == "{" and path in self._prefixes:
            seen: set[str] = set()
            for _ in self._items("}"):
                key = self._value()
                if type(key) is not str or self._peek() != ":":
                    raise self._damaged("no key where one is expected")
                if key in seen:
                    raise self._damaged(f"the key {key[:40]!r} stands twice in one object")
                seen.add(key)
                self._at += 1
                yield from self._walk((*path, key))
        else:
            yield path, self._value(), False

    def _items(self, end: str) -> Iterator[None]:
        """Step from item to item of an array or object, from its opening to its closing sign."""
        self._at += 1
        if self._peek() == end:
            self._at += 1
            return
        while True:
            yield
            sign = self._peek()
            self._at += 1
            if sign == end:
                return
            if sign != ",":
                self._at -= 1
                raise self._damaged("no comma where one is expected" if sign else "the file ends too early; it is cut")

    def _peek(self) -> str:
        """The next sign that is no space; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _value(self) -> Any:
        if not self._peek():
            raise self._damaged("the file ends too early; it is cut")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._text[self._at] in '{["' or not self._fill():
                    break
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _TAIL
                if not unfinished or not self._fill():
                    cut = unfinished and self._over
                    raise self._damaged(
                        "the file ends too early; it is cut" if cut else error.msg, error.pos - self._at
                    ) from None
            except RecursionError:
                raise self._damaged("nested too deep") from None
            except ValueError as error:
                raise self._damaged(str(error)) from None
        marks = HALVES if self._text.find(ESCAPE, self._at, end) >= 0 else ()
        self.escaped = any(self._text.find(mark, self._at, end) >= 0 for mark in marks)
        self._at = end
        return value

    def _fill(self) -> bool:
        """Read on: as much as is held already, so that a long value is not parsed too often; False at the end."""
        if self._over:
            return False
        held = self._text[self._at :]
        if len(held) > RECORD_LIMIT:
            action = "Check that the file is what the command's KIND says."
            raise InputError(
                Problem("a record is too large", f"at most {RECORD_LIMIT:,} characters", "more", self._place(), action)
            )
        data = self._stream.read(max(CHUNK, len(held)))
        self._over = not data
        self.position += len(data)
        try:
            more = self._decoder.decode(data, final=self._over)
        except UnicodeDecodeError:
            action = "Save it as UTF-8."
            raise InputError(
                Problem("the file is not UTF-8", "UTF-8 text", "other bytes", self._place(), action)
            ) from None
        self._before += self._at
        self._text, self._at = held + more, 0
        return not self._over

    def _place(self, more: int = 0) -> str:
        return f"{self._name}: character {self._before + self._at + more + 1:,}"

    def _damaged(self, what: str, more: int = 0) -> InputError:
        action = "Export the file again; nothing was written."
        return InputError(Problem(f"damaged JSON: {what}", "one JSON document", "", self._place(more), action))
