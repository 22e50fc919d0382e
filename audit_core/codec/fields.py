"""What a record of each ledger holds, as tables of small predicates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from audit_core.codec.domain import CodecError, Record

# Field checks: one small predicate a kind, so that a record's shape reads as a table.


def is_text(value: Any) -> bool:
    """Text, empty or not."""
    return type(value) is str


def is_name(value: Any) -> bool:
    """Non-empty text."""
    return type(value) is str and value != ""


def is_count(value: Any) -> bool:
    """A whole number, 0 or more."""
    return type(value) is int and value >= 0


def is_flag(value: Any) -> bool:
    """True or false."""
    return type(value) is bool


def is_hex(value: Any) -> bool:
    """64 lower-case hexadecimal digits."""
    return type(value) is str and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def is_texts(value: Any) -> bool:
    """A list of texts."""
    return type(value) is list and all(type(item) is str for item in value)


def is_list(value: Any) -> bool:
    """A list."""
    return type(value) is list


Field = tuple[Callable[[Any], bool], str, bool]
"""(predicate, what it must be, required)"""

CHAIN: dict[str, Field] = {
    "prev": (is_hex, "64 hexadecimal digits", True),
    "seq": (is_count, "a whole number", True),
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
}

QUESTION: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "text": (is_text, "text", False),
    "tags": (is_texts, "a list of texts", False),
    "weight": (is_count, "a whole number", False),
    "parts": (is_texts, "a list of texts", False),
}
CELL: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "state": (is_name, "non-empty text", True),
    "repeat": (is_count, "a whole number", True),
    "status": (lambda v: v in ("ok", "error"), "ok or error", True),
    "answer": (is_text, "text", False),
    "error": (is_text, "text", False),
    "attempts": (is_count, "a whole number", False),
    "order": (is_count, "a whole number", False),
    "source": (is_count, "a whole number", False),
    "record": (is_count, "a whole number", False),
    "cached": (is_flag, "true or false", False),
    "response_id": (is_text, "text", False),
    "outcome": (lambda v: v in ("answered", "partial", "refused"), "answered, partial or refused", False),
    "excerpts": (is_list, "a list", False),
}
EXCERPT: dict[str, Field] = {
    "text": (is_name, "non-empty text", True),
    "document_id": (is_name, "non-empty text", False),
    "rank": (lambda v: type(v) is int and v > 0, "a whole number, 1 or more", False),
}
EVIDENCE: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "state": (is_name, "non-empty text", True),
    "repeat": (is_count, "a whole number", False),
    "documents": (is_list, "a list", True),
}
DOCUMENT: dict[str, Field] = {
    "document_id": (is_name, "non-empty text", True),
    "rank": (is_count, "a whole number", True),
    "score": (is_text, "decimal text", False),
    "title": (is_text, "text", False),
    "passage": (is_hex, "64 hexadecimal digits", False),
    "family": (is_text, "text", False),
}
SIBLINGS: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "state": (is_name, "non-empty text", True),
    "documents": (is_list, "a list", True),
}
SIBLING: dict[str, Field] = {
    "document_id": (is_name, "non-empty text", True),
    "of": (is_name, "non-empty text", True),
    "family": (is_text, "text", False),
    "rank": (lambda v: type(v) is int and v > 0, "a whole number, 1 or more", False),
    "score": (is_text, "decimal text", False),
    "title": (is_text, "text", False),
    "passage": (is_hex, "64 hexadecimal digits", False),
}
JUDGMENT: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "slots": (is_list, "a list of [state, repeat]", True),
    "labels": (is_list, "a list of [i, j, 0 or 1]", True),
    "attempts": (is_count, "a whole number", False),
}
OUTCOME: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "state": (is_name, "non-empty text", True),
    "repeat": (is_count, "a whole number", True),
    "outcome": (lambda v: v in ("answered", "partial", "refused"), "answered, partial or refused", True),
}
GOLD: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "aliases": (is_texts, "a list of texts", True),
}
FINDING: dict[str, Field] = {
    "severity": (lambda v: v in ("error", "warning", "notice"), "error, warning or notice", True),
    "kind": (is_name, "non-empty text", True),
    "count": (is_count, "a whole number", True),
    "where": (is_text, "text", True),
    "sentence": (is_text, "text", True),
}

RESULTS: dict[str, Field] = {
    "v": (lambda v: v == 1, "1", True),
    "kind": (lambda v: v == "audit.results", "audit.results", True),
    "study_id": (is_text, "text", True),
    "tool": (lambda v: type(v) is dict, "an object", True),
    "estimates": (lambda v: type(v) is list and all(type(e) is dict for e in v), "a list of objects", True),
    "decision": (lambda v: v is None or type(v) is dict, "an object or null", True),
    "release": (lambda v: type(v) is dict, "an object", False),
    "stream": (lambda v: v is None or type(v) is dict, "an object or null", True),
}
RESULTS_LIMIT = 1 << 30
"""Most bytes of the results: a study of a hundred states without endpoints has thousands of pairs."""


def check_fields(record: Any, fields: dict[str, Field], what: str) -> Record:
    """The record itself, when it has exactly the admitted fields.

    Raises:
        CodecError: Missing, unknown or ill-typed fields; the message names the first.
    """
    if type(record) is not dict:
        raise CodecError(f"{what} must be an object")
    for key, value in record.items():
        field = fields.get(key)
        if field is None:
            raise CodecError(f"unknown field {key!r} in {what}")
        if not field[0](value):
            raise CodecError(f"field {key!r} of {what} must be {field[1]}, found {str(value)[:60]!r}")
    if not _required(id(fields), fields) <= record.keys():
        missing = next(key for key in fields if fields[key][2] and key not in record)
        raise CodecError(f"field {missing!r} of {what} is missing")
    return record


_REQUIRED: dict[int, tuple[dict[str, Field], frozenset[str]]] = {}


def _required(key: int, fields: dict[str, Field]) -> frozenset[str]:
    """Names that a record must have; kept per table, because this is asked for every line of every ledger."""
    held = _REQUIRED.get(key)
    if held is None or held[0] is not fields:
        held = _REQUIRED[key] = (fields, frozenset(name for name, field in fields.items() if field[2]))
    return held[1]
