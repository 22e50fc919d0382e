"""Texts out of the shapes in which tools keep them: messages, objects, lists in a cell, JSON in a cell."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Iterable, Mapping
from typing import Any

from audit_core.importers.cells import KEYS
from audit_core.importers.document import decode
from audit_core.importers.values import Number

QUESTION = ("question", "query", "user_input", "user_query", "user_question", "input", "prompt", "q", "text")
ANSWER = ("answer", "response", "output", "completion", "generated_answer", "content", "text", "result")
GOLD = (
    "gold",
    "gold_answer",
    "gold_answers",
    "ground_truth",
    "ground_truths",
    "reference",
    "reference_answer",
    "expected",
    "expected_answer",
    "expected_output",
    "answers",
    "answer",
    "target",
    "output",
)
EVIDENCE = (
    "retrieved_contexts",
    "retrieved_context",
    "retrieved_documents",
    "contexts",
    "documents",
    "passages",
    "evidence",
    "sources",
    "context",
)
"""Names under which questions, answers, accepted answers and evidence usually stand, the most telling first."""


_PERSON, _MODEL = ("user", "human"), ("assistant", "ai", "model")
"""Who asks in a conversation, and who answers."""
_TEXTS, _IDS = KEYS["text"], KEYS["document_id"]


def named(names: Iterable[str], among: Iterable[str]) -> str | None:
    """The first of our names that is among a tool's names, however these are written."""
    simple = {name.strip().casefold().replace(" ", "_").replace("-", "_"): name for name in reversed(list(among))}
    return next((simple[name] for name in names if name in simple), None)


def written(value: Any) -> str:
    """A value as JSON text, its numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(str(key))}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def unpacked(value: Any) -> Any:
    """A cell that holds a JSON object or list, read; anything else as it is."""
    if type(value) is str and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.strip())
        except ValueError:
            return value
    return value


def listed(value: Any) -> Any:
    """A cell that holds a list in JSON or in Python's notation, read; anything else as it is.

    ``['a' 'b']``, as arrays print themselves, is no list: Python would make one text of the two, so it stays a text.
    """
    found = unpacked(value)
    if type(found) is not str or not (found.lstrip().startswith("[") and found.rstrip().endswith("]")):
        return found
    text = found.strip()
    try:
        before = None
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and before == tokenize.STRING:
                return found
            if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
                before = token.type
        items = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
        return found
    plain = isinstance(items, list) and all(isinstance(item, str | int | float) for item in items)
    return [item if isinstance(item, str) else str(item) for item in items] if plain else found


def message(value: Any) -> str | None:
    """Text of one chat message's content: text, or parts of which some are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        texts = [part for part in parts if isinstance(part, str)]
        return "\n".join(texts) if texts else None
    return None


def asked(messages: list[Any], roles: tuple[str, ...] = _PERSON) -> str | None:
    """What the last message of a person asks, or of others says."""
    found = None
    for item in messages:
        if isinstance(item, dict):
            role = str(item.get("role") or item.get("type") or "").casefold()
            text = message(item.get("content"))
            if text is not None and role in roles:
                found = text
    return found


def text_in(value: Any, names: Iterable[str]) -> Any:
    """Text out of an object or of messages: under one of the names, else the only value; else the whole as JSON."""
    value = unpacked(value)
    if isinstance(value, list):
        # One choice of a completion is one answer; of several, none is the answer.
        only = value[0].get("message") if len(value) == 1 and isinstance(value[0], dict) else None
        text = asked([only] if isinstance(only, dict) else value, _PERSON if names is QUESTION else _MODEL)
        if text is not None:
            return text
    if isinstance(value, Mapping):
        name = named(names, value)
        if name is None and len(value) == 1:
            name = next(iter(value))
        listing = next((key for key in ("messages", "choices") if isinstance(value.get(key), list)), None)
        if name is None and listing is not None:
            name = listing
        if name is not None and not isinstance(value[name], dict):
            inner = value[name]
            if not isinstance(inner, list):
                return inner
            return message(inner) if name == "content" and message(inner) else text_in(inner, names)
    return value


def evidence_of(value: Any) -> Any:
    """Evidence as a list of documents in which texts are texts, however short, or None where nothing is said."""
    value = listed(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    items = value if isinstance(value, list) else [value]
    return [{"text": item} if isinstance(item, str) else _document(item) for item in items]


def is_document(item: Any) -> bool:
    """Whether something can be meant as a document: an object with a text or an id."""
    return isinstance(item, dict) and any(isinstance(item.get(key), str) for key in (*_TEXTS, *_IDS))


def _document(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if "pageContent" in item and "text" not in item:
        item = {**item, "text": item["pageContent"]}
    return {key: None if isinstance(part, dict | list | bool) else part for key, part in item.items()}


def with_ids(texts: Any, ids: Any) -> Any:
    """Texts and the ids that stand beside them as one list of documents."""
    names = listed(ids)
    if not isinstance(names, list) or not names:
        return texts
    documents = evidence_of(texts)
    if documents is None:
        return [{"document_id": name} for name in names]
    if len(names) != len(documents):
        return documents
    return [
        {**document, "document_id": name} if isinstance(document, dict) else document
        for name, document in zip(names, documents, strict=True)
    ]
