"""The values a table can hold, whatever its format: text, numbers kept as they are written, and nothing."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

TEXT_LIMIT = 16 << 20
"""Largest line or cell, in bytes or characters."""

SURROGATE = re.compile("[\ud800-\udfff]")


class Number(str):
    """A number as its source writes it, so that 1.10 stays 1.10 and a 64-bit id keeps its last digits."""

    __slots__ = ()


class Absent:
    """The value of a key that a record does not have, which is not the same as null."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()

Value = Any
"""``str``, ``Number``, ``bool``, None, list or dict of these; absent keys are simply not in the record."""


def plain(text: str) -> str:
    """Text without differences that only layout makes: composed, white space collapsed."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def lookalike(text: str) -> str:
    """Text as a hurried reader sees it; two ids with one form are easily taken for each other."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().split())


def scrub(value: Value) -> tuple[Value, int]:
    """A value with lone surrogates replaced by U+FFFD, and how many there were.

    A lone surrogate is no Unicode text: databases and files refuse it.
    """
    if type(value) is str:
        return SURROGATE.subn("\ufffd", value)
    if type(value) is list:
        pairs = [scrub(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if type(value) is dict:
        found = 0
        clean = {}
        for key, item in value.items():
            clean_key, in_key = scrub(key)
            clean[clean_key], in_item = scrub(item)
            found += in_key + in_item
        return clean, found
    return value, 0


def shown(value: Value, limit: int = 60) -> str:
    """A value for a message, cut to a readable length."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
