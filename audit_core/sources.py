"""Where a study's questions, passages and evidence come from: the settings that a protocol names, and their faults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as Interface

RETRIEVERS = ("fts5", "opensearch", "elasticsearch", "deepresearchgym", "replay")
ENGINES = ("opensearch", "elasticsearch")
ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/@?#:\\\[\]]+)(:(?P<port>\d{1,5}))?(/[^\s?#\\]*)?")
INDEX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,254}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

ROLES: dict[str, dict[str, tuple[str, ...]]] = {
    "questions": {
        "id": ("question_id", "qid", "query_id", "_id", "id"),
        "question": ("question", "query", "text"),
        "tags": ("tags",),
        "parts": ("parts",),
    },
    "gold": {
        "id": ("question_id", "qid", "query_id", "_id", "id"),
        "question": ("question", "query", "text"),
        "answers": ("aliases", "answers", "answer", "gold"),
    },
    "corpus": {
        "id": ("document_id", "doc_id", "docid", "_id", "id"),
        "text": ("text", "contents", "passage"),
        "title": ("title",),
        "url": ("url",),
        "family": ("family",),
    },
}
"""Names that each column may have, this tool's own first; the own name wins, of the others exactly one may occur."""

SHARDS = ("num_of_shards", "shard_ids")
"""How a search service is limited to its first shards: by their number, or by their ids from 0."""
QUESTION_MARK = "{question}"
"""Stands for the question in a stored search body."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a retriever outside the embedded one is reached.

    Attributes:
        base_url: Origin of the service.
        key_variable: Environment variable that holds the key; empty for none. The key itself is never stored.
        indices: Of a search engine, in the order in which states add them.
        body: Of a search engine: the search as JSON text, with `QUESTION_MARK` for the question.
        text_field, title_field, url_field, family_field: Of a search engine's documents.
        addresses: Of a search service, by state: the whole address of its search; empty where one serves all.
        count_parameter: Of a search service: names the number of documents.
        shards_parameter: Of a search service: names the prefix of shards; empty where addresses tell states apart.
        runs: TREC run files by state.
        deadline: Seconds for one call.
        tries: Calls for one list before the pass stops; each is counted in the lock.
    """

    base_url: str = ""
    key_variable: str = ""
    indices: tuple[str, ...] = ()
    body: str = ""
    text_field: str = "text"
    title_field: str = "title"
    url_field: str = "url"
    family_field: str = "family"
    addresses: dict[str, str] = field(default_factory=dict)
    count_parameter: str = "k"
    shards_parameter: str = ""
    runs: dict[str, str] = field(default_factory=dict)
    deadline: int = 60
    tries: int = 3


@dataclass(frozen=True, slots=True)
class Parent:
    """The study whose questions, evidence and prompts this one repeats.

    Attributes:
        path: As the protocol names it, relative to protocol.toml.
        study_id: Of the parent.
        bundle: Its identity: SHA-256 of its protocol's lock.
        lock: SHA-256 of its last lock when this study was frozen.
        gate: The gate of that lock.
        questions, evidence: SHA-256 of the records that were taken, without the fields of the chain.
    """

    path: str
    study_id: str = ""
    bundle: str = ""
    lock: str = ""
    gate: str = ""
    questions: str = ""
    evidence: str = ""


class Reader(Interface):
    """What reads the values of a protocol and collects its faults."""

    def fault(self, what: str, expected: str, found: object, where: str) -> None:
        """Note one fault."""

    def get(
        self, table: str, key: str, good: Callable[[Any], bool], expected: str, default: Any, *, need: bool = False
    ) -> Any:
        """A checked value."""


def columns(reader: Reader, table: str) -> dict[str, str]:
    """Names of columns that the protocol gives for a file, by role."""
    roles = ROLES[table]

    def good(value: Any) -> bool:
        return (
            type(value) is dict
            and value.keys() <= roles.keys()
            and all(type(name) is str and (name or role == "id") for role, name in value.items())
        )

    found: dict[str, str] = reader.get(
        table, "columns", good, "names of columns for " + ", ".join(roles) + ' (id = "" makes ids from questions)', {}
    )
    return found


def search(reader: Reader, retriever: str, reach: Mapping[str, int]) -> Search:
    """The settings of ``[retrieval]`` that belong to one retriever; a setting of another one is a fault."""
    base, allowed = Search(), _KEYS[retriever]

    def get(key: str, good: Callable[[Any], bool], expected: str, default: Any, *, need: bool = False) -> Any:
        need = need and key in allowed
        value = reader.get("retrieval", key, good, expected, None, need=need)
        if value is not None and key not in allowed:
            users = ", ".join(name for name, keys in _KEYS.items() if key in keys)
            reader.fault(f"{key} is of another retriever", users, retriever, "[retrieval]")
        return default if value is None or key not in allowed else value

    states = [name for name, count in reach.items() if count]
    matched = get("match", _names, "a list of fields", ["title", "text"])
    found = Search(
        base_url=get("base_url", is_origin, "https://HOST", "", need=retriever in ENGINES),
        key_variable=get("key_variable", _variable, "the name of an environment variable", ""),
        indices=tuple(get("indices", _indices, "a list of different index names, no patterns", [], need=True)),
        body=_body(matched) if retriever in ENGINES else "",
        text_field=get("text_field", _name, "a field", base.text_field),
        title_field=get("title_field", _text, "a field, or empty", base.title_field),
        url_field=get("url_field", _text, "a field, or empty", base.url_field),
        family_field=get("family_field", _text, "a field, or empty", base.family_field),
        addresses=get("addresses", _map(is_origin), "an address for each state that retrieves", {}),
        count_parameter=get("count_parameter", _parameter, "a name", base.count_parameter),
        shards_parameter=get("shards_parameter", lambda v: v in SHARDS, " or ".join(SHARDS), base.shards_parameter),
        runs=get("runs", _map(_name), "a run file for each state that retrieves", {}, need=True),
        deadline=get("deadline", lambda v: type(v) is int and 1 <= v <= 3600, "1 to 3,600", base.deadline),
        tries=get("tries", lambda v: type(v) is int and 1 <= v <= 20, "1 to 20", base.tries),
    )
    for key, given in (("addresses", found.addresses), ("runs", found.runs)):
        if given and given.keys() != set(states):
            reader.fault(f"{key} and states differ", ", ".join(states), ", ".join(given), "[retrieval]")
    if retriever == "deepresearchgym" and bool(found.addresses) == bool(found.base_url and found.shards_parameter):
        reader.fault("one thing must tell the states apart", "addresses, or base_url with shards_parameter",
                     "both or neither", "[retrieval]")  # fmt: skip
    return found


_COMMON = ("key_variable", "deadline", "tries")
_ENGINE = ("base_url", "indices", "match", "text_field", "title_field", "url_field", "family_field", *_COMMON)
_KEYS: dict[str, tuple[str, ...]] = {
    "fts5": (),
    "opensearch": _ENGINE,
    "elasticsearch": _ENGINE,
    "deepresearchgym": ("base_url", "addresses", "count_parameter", "shards_parameter", *_COMMON),
    "replay": ("runs",),
}


def _body(fields: list[str]) -> str:
    """The search as it is stored and sent: one fixed query on named fields."""
    if len(fields) == 1:
        query: dict[str, Any] = {"match": {fields[0]: {"operator": "or", "query": QUESTION_MARK}}}
    else:
        query = {"multi_match": {"fields": fields, "operator": "or", "query": QUESTION_MARK, "type": "best_fields"}}
    return json.dumps(query, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _text(value: Any) -> bool:
    return type(value) is str


def _name(value: Any) -> bool:
    return type(value) is str and value.strip() != ""


def _variable(value: Any) -> bool:
    return type(value) is str and bool(VARIABLE.fullmatch(value))


def _names(value: Any) -> bool:
    return type(value) is list and bool(value) and all(map(_name, value)) and QUESTION_MARK not in value


def is_origin(value: Any) -> bool:
    """Whether a value is an address without user, query and fragment, whose port is one."""
    found = ORIGIN.fullmatch(value) if type(value) is str and value.isprintable() else None
    return found is not None and 0 < int(found["port"] or 80) < 1 << 16


def _indices(value: Any) -> bool:
    return (
        type(value) is list
        and len(set(map(str, value))) == len(value) > 0
        and all(type(name) is str and INDEX.fullmatch(name) for name in value)
    )


def _parameter(value: Any) -> bool:
    return type(value) is str and bool(PARAMETER.fullmatch(value))


def _map(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is dict and bool(value) and all(map(good, value.values()))
