"""Records ↔ canonical JSON lines, strictly: one byte form per record, nothing unknown, nothing repaired.

The admitted domain: objects with printable ASCII keys, integers below 2^53, no floats, strings of Unicode scalar
values, depth at most 32, lines of at most 16 MiB. On this domain the standard library and orjson give identical
bytes (a test holds them together), so orjson is used for speed where it is installed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from audit_core.digests import canonical

try:
    import orjson
except ImportError:  # the verifier needs nothing but the standard library and numpy
    orjson = None  # type: ignore[assignment]

LINE_LIMIT = 16 << 20
DEPTH_LIMIT = 32
INT_LIMIT = 1 << 53

Record = dict[str, Any]


class CodecError(ValueError):
    """A line or record outside the admitted domain; the text says what is wrong with it."""


def encode(value: Any) -> bytes:
    """Canonical bytes of a value in the domain.

    Raises:
        CodecError: The value is outside the domain.
    """
    _check(value, 0)
    return dump(value)


def decode(line: bytes, deep: bool = True, limit: int = LINE_LIMIT) -> Any:
    """The value of one canonical line, without its newline.

    Args:
        line: Bytes.
        deep: Check every nested value; without it the caller's field checks take that over.
        limit: Most bytes.

    Raises:
        CodecError: Not JSON, not canonical, or outside the domain.
    """
    if len(line) > limit:
        raise CodecError(f"line of {len(line):,} bytes, above the limit of {limit:,}")
    try:
        value = orjson.loads(line) if orjson is not None else json.loads(line, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not JSON: {_reason(error)}") from None
    if deep or orjson is None:
        _check(value, 0)
    if dump(value) != line:
        raise CodecError("not canonical JSON (key order, spaces, escapes, duplicate keys or line ends differ)")
    return value


def plain(line: bytes) -> Any:
    """The value of a line that was verified before; only that it is JSON is checked.

    Raises:
        CodecError: Not JSON.
    """
    try:
        return orjson.loads(line) if orjson is not None else json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not JSON: {_reason(error)}") from None


def parse(data: bytes) -> Any:
    """A JSON value that people or other tools wrote: strict in meaning, free in layout.

    Raises:
        CodecError: Not JSON, duplicate keys, NaN or infinity, or nested too deep.
    """
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise CodecError(_reason(error)) from None
    _depth(value, 0)
    return value


def dump(value: Any) -> bytes:
    """Canonical bytes of a value that is known to be in the domain."""
    try:
        return (
            orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
            if orjson is not None
            else canonical(value)
        )
    except (TypeError, UnicodeEncodeError) as error:
        raise CodecError(f"text that is not valid Unicode: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error).splitlines()[0]


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise CodecError(f"key {twice!r} twice in one object")
    return value


def _no_constant(name: str) -> Any:
    raise CodecError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise CodecError(f"the number {text} is out of range")
    return value


def _depth(value: Any, depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise CodecError(f"nested deeper than {DEPTH_LIMIT}")
    if isinstance(value, dict):
        for item in value.values():
            _depth(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _depth(item, depth + 1)


_KEY = re.compile(r"[ -~]+")


def _check(value: Any, depth: int) -> None:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return
    if kind is int:
        if not -INT_LIMIT < value < INT_LIMIT:
            raise CodecError("an integer of 2^53 or more; store it as text")
        return
    if depth > DEPTH_LIMIT:
        raise CodecError(f"nested deeper than {DEPTH_LIMIT}")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not _KEY.fullmatch(key):
                raise CodecError(f"key {key!r} is not printable ASCII")
            _check(item, depth + 1)
    elif kind is list:
        for item in value:
            _check(item, depth + 1)
    elif kind is float:
        raise CodecError("a floating-point number; store it as decimal text")
    else:
        raise CodecError(f"a value of type {kind.__name__}")
