"""Records ↔ canonical JSON lines, strictly: one byte form per record, nothing unknown, nothing repaired.

The admitted domain: objects with printable ASCII keys, integers below 2^53, no floats, strings of Unicode scalar
values, depth at most 32, lines of at most 16 MiB. On this domain the standard library and orjson give identical
bytes (a test holds them together), so orjson is used for speed where it is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from audit_core.digests import canonical
from audit_core.model import Cell, Document, Evidence, Finding, Gold, Judgment, Question, State

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


def decode(line: bytes, deep: bool = True) -> Any:
    """The value of one canonical line, without its newline.

    Args:
        line: Bytes.
        deep: Check every nested value; without it the caller's field checks take that over.

    Raises:
        CodecError: Not JSON, not canonical, or outside the domain.
    """
    if len(line) > LINE_LIMIT:
        raise CodecError(f"line of {len(line):,} bytes, above the limit of {LINE_LIMIT:,}")
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


# Field checks: one small predicate a kind, so that a record's shape reads as a table.


def _text(value: Any) -> bool:
    return type(value) is str


def _name(value: Any) -> bool:
    return type(value) is str and value != ""


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _flag(value: Any) -> bool:
    return type(value) is bool


def _hex(value: Any) -> bool:
    return type(value) is str and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _list(value: Any) -> bool:
    return type(value) is list


Field = tuple[Callable[[Any], bool], str, bool]
"""(predicate, what it must be, required)"""

CHAIN: dict[str, Field] = {
    "prev": (_hex, "64 hexadecimal digits", True),
    "seq": (_count, "a whole number", True),
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
}

QUESTION: dict[str, Field] = {
    "question_id": (_name, "non-empty text", True),
    "text": (_text, "text", False),
    "tags": (_texts, "a list of texts", False),
    "weight": (_count, "a whole number", False),
}
CELL: dict[str, Field] = {
    "question_id": (_name, "non-empty text", True),
    "state": (_name, "non-empty text", True),
    "repeat": (_count, "a whole number", True),
    "status": (lambda v: v in ("ok", "error"), "ok or error", True),
    "answer": (_text, "text", False),
    "error": (_text, "text", False),
    "attempts": (_count, "a whole number", False),
    "order": (_count, "a whole number", False),
    "source": (_count, "a whole number", False),
    "record": (_count, "a whole number", False),
    "cached": (_flag, "true or false", False),
    "response_id": (_text, "text", False),
}
EVIDENCE: dict[str, Field] = {
    "question_id": (_name, "non-empty text", True),
    "state": (_name, "non-empty text", True),
    "repeat": (_count, "a whole number", False),
    "documents": (_list, "a list", True),
}
DOCUMENT: dict[str, Field] = {
    "document_id": (_name, "non-empty text", True),
    "rank": (_count, "a whole number", True),
    "score": (_text, "decimal text", False),
    "title": (_text, "text", False),
    "passage": (_hex, "64 hexadecimal digits", False),
}
JUDGMENT: dict[str, Field] = {
    "question_id": (_name, "non-empty text", True),
    "slots": (_list, "a list of [state, repeat]", True),
    "labels": (_list, "a list of [i, j, 0 or 1]", True),
    "attempts": (_count, "a whole number", False),
}
GOLD: dict[str, Field] = {"question_id": (_name, "non-empty text", True), "aliases": (_texts, "a list of texts", True)}
FINDING: dict[str, Field] = {
    "severity": (lambda v: v in ("error", "warning", "notice"), "error, warning or notice", True),
    "kind": (_name, "non-empty text", True),
    "count": (_count, "a whole number", True),
    "where": (_text, "text", True),
    "sentence": (_text, "text", True),
}


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
    for key, field in fields.items():
        if field[2] and key not in record:
            raise CodecError(f"field {key!r} of {what} is missing")
    return record


def _strip(record: Record) -> Record:
    return {key: value for key, value in record.items() if value is not None}


def from_question(question: Question) -> Record:
    """Fields of a question's ledger record; absent values are left out."""
    return _strip(
        {
            "question_id": question.question_id,
            "text": question.text,
            "tags": list(question.tags) or None,
            "weight": question.weight,
        }
    )


def to_question(record: Record) -> Question:
    """The question of a ledger record."""
    return Question(record["question_id"], record.get("text"), tuple(record.get("tags", ())), record.get("weight"))


def from_cell(cell: Cell) -> Record:
    """Fields of a cell's ledger record; absent values are left out."""
    return _strip(
        {
            "question_id": cell.question_id,
            "state": cell.state,
            "repeat": cell.repeat,
            "status": cell.status,
            "answer": cell.answer,
            "error": cell.error,
            "attempts": cell.attempts,
            "order": cell.order,
            "source": cell.source,
            "record": cell.record,
            "cached": cell.cached,
            "response_id": cell.response_id,
        }
    )


def to_cell(record: Record) -> Cell:
    """The cell of a ledger record.

    Raises:
        CodecError: An answer without text, or an error with one.
    """
    if (record["status"] == "ok") != ("answer" in record):
        raise CodecError("a cell has an answer exactly when its status is ok")
    get = record.get
    return Cell(
        record["question_id"],
        record["state"],
        record["repeat"],
        record["status"],
        get("answer"),
        get("error"),
        get("attempts"),
        get("order"),
        get("source"),
        get("record"),
        get("cached"),
        get("response_id"),
    )


def from_evidence(evidence: Evidence) -> Record:
    """Fields of an evidence record."""
    documents = [
        _strip(
            {
                "document_id": d.document_id,
                "rank": d.rank,
                "score": d.score,
                "title": d.title or None,
                "passage": d.passage,
            }
        )
        for d in evidence.documents
    ]
    return _strip(
        {
            "question_id": evidence.question_id,
            "state": evidence.state,
            "repeat": evidence.repeat,
            "documents": documents,
        }
    )


def to_evidence(record: Record) -> Evidence:
    """The evidence of a ledger record.

    Raises:
        CodecError: A document with an unknown or missing field.
    """
    documents = tuple(
        Document(d["document_id"], d["rank"], d.get("score"), d.get("title", ""), d.get("passage"))
        for d in (check_fields(item, DOCUMENT, "document") for item in record["documents"])
    )
    return Evidence(record["question_id"], record["state"], documents, record.get("repeat"))


def from_judgment(judgment: Judgment) -> Record:
    """Fields of a judgment's ledger record."""
    return _strip(
        {
            "question_id": judgment.question_id,
            "slots": [list(slot) for slot in judgment.slots],
            "labels": [list(label) for label in judgment.labels],
            "attempts": judgment.attempts,
        }
    )


def to_judgment(record: Record) -> Judgment:
    """The judgment of a ledger record.

    Raises:
        CodecError: A label outside the slots, twice, or neither 0 nor 1.
    """
    slots = []
    for slot in record["slots"]:
        if type(slot) is not list or len(slot) != 2 or not _name(slot[0]) or not _count(slot[1]):
            raise CodecError(f"a slot must be [state, repeat], found {str(slot)[:60]!r}")
        slots.append((slot[0], slot[1]))
    if len(set(slots)) != len(slots):
        raise CodecError("the same slot twice in one judgment")
    labels, seen = [], set()
    for label in record["labels"]:
        if type(label) is not list or len(label) != 3 or any(type(item) is not int for item in label):
            raise CodecError(f"a label must be [i, j, 0 or 1], found {str(label)[:60]!r}")
        i, j, same = label
        if not 0 <= i < j < len(slots) or same not in (0, 1):
            raise CodecError(f"label {label} is not [i, j, 0 or 1] with i < j below {len(slots)}")
        if (i, j) in seen:
            raise CodecError(f"the pair [{i}, {j}] is labelled twice")
        seen.add((i, j))
        labels.append((i, j, same))
    return Judgment(record["question_id"], tuple(slots), tuple(labels), record.get("attempts"))


def plain_judgment(record: Record) -> Judgment:
    """The judgment of a record that was verified before."""
    return Judgment(
        record["question_id"],
        tuple(map(tuple, record["slots"])),
        tuple(map(tuple, record["labels"])),
        record.get("attempts"),
    )


def from_gold(gold: Gold) -> Record:
    """Fields of a gold record."""
    return {"question_id": gold.question_id, "aliases": list(gold.aliases)}


def to_gold(record: Record) -> Gold:
    """The gold of a ledger record."""
    return Gold(record["question_id"], tuple(record["aliases"]))


def from_finding(finding: Finding) -> Record:
    """Fields of a finding."""
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "count": finding.count,
        "where": finding.where,
        "sentence": finding.sentence,
    }


def to_finding(record: Record) -> Finding:
    """The finding of a record."""
    return Finding(record["severity"], record["kind"], record["count"], record["where"], record["sentence"])


def from_state(state: State) -> Record:
    """A state as it stands in the protocol."""
    return {"name": state.name, "label": state.label, "closed_book": state.closed_book}
