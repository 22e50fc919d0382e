"""Single values of a record: gold, evidence, tags and the like, each refused where it cannot be meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast, get_args

from audit_core.digests import sha256
from audit_core.importers.jsonl import decode
from audit_core.importers.values import Number
from audit_core.model import AnswerOutcome

LONG_ID = 200
"""A listed text longer than this is a passage, not a document id."""

KEYS = {
    "document_id": ("document_id", "doc_id", "passage_id", "chunk_id", "id"),
    "text": ("text", "passage", "content", "page_content", "body"),
    "score": ("score",),
    "title": ("title",),
    "family": ("family", "family_id", "family_key"),
}
"""Names under which a document's parts are found."""
CITED = {
    "text": ("text", "excerpt", "quote"),
    "document_id": ("document_id", "doc_id", "passage_id", "chunk_id"),
    "rank": ("rank",),
}
"""Names under which an excerpt's parts are found."""
_NUMBER = re.compile(r"[+-]?\d+")
_WHOLE = re.compile(r"\+?[0-9]+(\.0+)?")
_TRUE, _FALSE = {"true", "1", "yes", "y"}, {"false", "0", "no", "n"}


class UnreadableError(ValueError):
    """A value that cannot be meant; the text says why."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One document of the evidence as the file gives it.

    Attributes:
        document_id: To the letter, or made from the text where the file names none.
        text: None where the file holds ids only.
    """

    document_id: str
    text: str | None = None
    score: str | None = None
    title: str = ""
    family: str = ""


def text_of(value: Any) -> str | None:
    """Text or a number as text; None for null.

    Raises:
        UnreadableError: True, false, a list or an object, which would have to be guessed at.
    """
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    raise UnreadableError(f"{_what(value)} where text is expected")


def whole_of(value: Any) -> int:
    """A whole number of 0 or more.

    Raises:
        UnreadableError: Anything else.
    """
    if isinstance(value, str) and len(value) <= 15 and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    found = f"{value[:40]!r}" if isinstance(value, str) else _what(value)
    raise UnreadableError(f"{found} where a whole number is expected")


def is_whole(number: Number) -> bool:
    """Whether a number is written without a fraction or an exponent."""
    return _NUMBER.fullmatch(number) is not None


def flag_of(value: Any) -> bool | None:
    """True or false however it is written; None where it says nothing.

    Raises:
        UnreadableError: Another word.
    """
    if value is None or isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else _what(value)
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if not word:
        return None
    raise UnreadableError(f"{word[:40]!r} where true or false is expected")


def aliases_of(value: Any, separator: str | None) -> list[str]:
    """Gold aliases: a list, a JSON list as text, or one text that is split only where a separator is given.

    Blank aliases are kept here and left to the caller, who counts them.

    Raises:
        UnreadableError: An alias that is not text, such as true (which is what some formats make of *yes*).
    """
    if value is None:
        return []
    if isinstance(value, str):
        listed = _listed(value) if not isinstance(value, Number) else None
        if listed is None:
            if not value.strip():
                return []
            return [part.strip() for part in value.split(separator)] if separator else [str(value)]
        value = listed
    if not isinstance(value, list):
        raise UnreadableError(f"{_what(value)} where accepted answers are expected")
    for item in value:
        if not isinstance(item, str):
            raise UnreadableError(f"{_what(item)} among the accepted answers, which must be text")
    return [str(item) for item in value]


def looks_like_a_list(value: Any) -> bool:
    """Whether one text seems to be a list in another notation than JSON."""
    text = value.strip() if isinstance(value, str) else ""
    return text.startswith(("['", "('", "{'", '["', '("')) and _listed(text) is None


def tags_of(value: Any) -> list[str]:
    """Tags: a list, a JSON list as text, or texts between commas.

    Raises:
        UnreadableError: A tag that is not text.
    """
    if isinstance(value, str):
        listed = _listed(value)
        value = value.split(",") if listed is None else listed
    if value is None:
        return []
    if not isinstance(value, list) or any(not isinstance(item, str) for item in value):
        raise UnreadableError("something else than texts where tags are expected")
    return [tag for item in value if (tag := str(item).strip())]


def passages_of(value: Any) -> list[Passage] | None:
    """Evidence in order; None where the record says nothing about it, an empty list where nothing was retrieved.

    Raises:
        UnreadableError: A document that is neither an id nor an object with an id or a text.
    """
    if isinstance(value, str):
        if not value.strip():
            return None
        listed = _listed(value)
        if listed is None:
            return [passage(None, str(value))]
        value = listed
    if value is None:
        return None
    if not isinstance(value, list):
        raise UnreadableError(f"{_what(value)} where a list of documents is expected")
    return [_document(item) for item in value]


def outcome_of(value: Any) -> AnswerOutcome | None:
    """What an answer does, in one of the three words; None where the record does not say.

    Raises:
        UnreadableError: Another word.
    """
    word = (text_of(value) or "").strip().casefold()
    if not word:
        return None
    if word not in get_args(AnswerOutcome):
        raise UnreadableError(f"{str(value)[:40]!r} where answered, partial or refused is expected")
    return cast(AnswerOutcome, word)


def excerpts_of(value: Any) -> list[dict[str, Any]]:
    """Excerpts as objects of text, document_id and rank, what is not said left out; texts alone are excerpts too.

    Raises:
        UnreadableError: No list, an excerpt without text, or a rank that is no whole number from 1.
    """
    listed = _listed(value) if isinstance(value, str) and value.strip() else value
    if listed is None and isinstance(value, str) and value.strip():
        raise UnreadableError("a text where a JSON list of excerpts is expected")
    if listed in (None, ""):
        return []
    if not isinstance(listed, list):
        raise UnreadableError(f"{_what(listed)} where a list of excerpts is expected")
    return [_excerpt(item) for item in listed]


def _excerpt(item: Any) -> dict[str, Any]:
    given = {"text": item} if isinstance(item, str) and not isinstance(item, Number) else item
    if not isinstance(given, dict):
        raise UnreadableError(f"{_what(item)} where an excerpt is expected")
    found = {field: text_of(next((given[key] for key in keys if key in given), None)) for field, keys in CITED.items()}
    if not (found["text"] or "").strip():
        raise UnreadableError("an excerpt without a text")
    rank = whole_of(found["rank"]) if (found["rank"] or "").strip() else None
    if rank == 0:
        raise UnreadableError("a rank of 0 where ranks begin with 1")
    excerpt = {"text": found["text"], "document_id": found["document_id"] or None, "rank": rank}
    return {name: part for name, part in excerpt.items() if part is not None}


def passage(
    document_id: str | None, text: str | None, score: str | None = None, title: str = "", family: str = ""
) -> Passage:
    """A document; without an id its text identifies it.

    Raises:
        UnreadableError: Neither an id nor a text.
    """
    if document_id is None or not document_id.strip():
        if text is None:
            raise UnreadableError("a document with neither an id nor a text")
        document_id = "text-" + sha256(text.encode())[:16]
    return Passage(document_id, text, score, title, family)


def _document(item: Any) -> Passage:
    if isinstance(item, str):
        is_text = len(item) > LONG_ID
        return passage(None if is_text else str(item), str(item) if is_text else None)
    if not isinstance(item, dict):
        raise UnreadableError(f"{_what(item)} where a document is expected")
    if len(item) == 1 and isinstance(text := item.get("text"), str):
        return passage(None, str(text))
    found = {field: text_of(next((item[key] for key in keys if key in item), None)) for field, keys in KEYS.items()}
    return passage(found["document_id"], found["text"], found["score"], found["title"] or "", found["family"] or "")


def _listed(text: str) -> list[Any] | None:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _what(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return {type(None): "null", list: "a list", dict: "an object"}.get(type(value), "a value")
