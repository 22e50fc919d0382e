"""OpenSearch and Elasticsearch, each through its own client: a state searches the first indices of a list together.

Term statistics are those of the indices searched (``dfs_query_then_fetch``), no cached answer is taken, and partial
answers are refused. Equal scores are put in the order of the indices and, inside one, of the ids; where they go
beyond what was fetched, more is fetched, so that the order depends on nothing but the corpus.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from audit_core.adapters.hits import Found, Hit, Lists, decimal_text
from audit_core.adapters.services import Calls, UnavailableError, key_of, of_status, passage, unique
from audit_core.errors import InputError, Problem
from audit_core.sources import QUESTION_MARK, Search

MARGIN, GROWTH, WINDOW = 32, 8, 10_000
"""Hits fetched beyond the depth, the factor where a tie goes further, and the most that an index gives at once."""
SETTINGS = {"search_type": "dfs_query_then_fetch", "request_cache": False, "allow_partial_search_results": False}

Send = Callable[[Sequence[str], dict[str, Any]], Any]


def retrieve(
    kind: str, search: Search, reach: Mapping[str, int], questions: Sequence[tuple[str, str]], depth: int, calls: Calls
) -> Lists:
    """Ranked passages from a search engine.

    Args:
        kind: ``opensearch`` or ``elasticsearch``.
        search: Where and how.
        reach: Indices that each state searches, in ladder order.
        questions: (question id, text).
        depth: Most passages per question and state.
        calls: Counts and bounds the calls.
    """
    key = key_of(search.key_variable)
    send, close = (_opensearch if kind == "opensearch" else _elasticsearch)(search, key)
    try:
        for state, count in reach.items():
            names = search.indices[:count]
            for question_id, text in questions if count else ():
                hits = _ranked(f"{question_id} in {state}", text, names, search, key, depth, send, calls)
                yield Found(question_id, state, hits)
    finally:
        close()


def _ranked(
    what: str, text: str, names: Sequence[str], search: Search, key: str, depth: int, send: Send, calls: Calls
) -> list[Hit]:
    size = min(depth + MARGIN, WINDOW)
    while True:
        body = {"query": _asked(json.loads(search.body), text), "size": size, "track_total_hits": False,
                "_source": [f for f in (search.text_field, search.title_field, search.url_field, search.family_field)
                            if f]}  # fmt: skip
        found = calls.call(what, lambda body=body: _read(send(names, body), names, search, key))  # type: ignore[misc]
        found.sort(key=lambda item: item[:3])
        settled = len(found) < size or found[-1][0] > found[depth - 1][0]
        if settled or size == WINDOW:
            break
        size = min(size * GROWTH, WINDOW)
    if not settled:
        expected = f"fewer than {WINDOW:,} equal scores"
        raise InputError(Problem("a tie goes beyond what an index gives at once", expected, "more", what,
                                 "Match on fields that tell the documents apart."))  # fmt: skip
    return [hit for *_, hit in found[:depth]]


def _asked(body: Any, text: str) -> Any:
    """The stored search with the question in its place."""
    if isinstance(body, dict):
        return {name: _asked(value, text) for name, value in body.items()}
    return text if body == QUESTION_MARK else body


def _read(answer: Any, names: Sequence[str], search: Search, key: str) -> list[tuple[float, int, str, Hit]]:
    """Hits of an answer with what they are ordered by."""
    try:
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise UnavailableError("the search timed out or a shard failed", again=True)
        out = []
        for item in answer["hits"]["hits"]:
            score, index, given = item["_score"], item["_index"], item["_source"]
            if index not in names:
                raise UnavailableError(f"a hit is of {index!r}: name indices, not aliases", again=False)
            if type(score) not in (int, float) or not math.isfinite(score):
                raise UnavailableError(f"a hit has the score {str(score)[:40]!r}", again=False)
            fields = {"text": search.text_field, "title": search.title_field, "url": search.url_field,
                      "family": search.family_field}  # fmt: skip
            parts = {"id": item["_id"], **{role: given.get(name) if name else "" for role, name in fields.items()}}
            found = passage(parts, key)
            hit = Hit(found, decimal_text(score))
            out.append((-float(score), names.index(index), found.document_id, hit))
    except (KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(
            f"the answer is not a search result ({type(error).__name__}: {error})", again=True
        ) from None
    unique([document for _, _, document, _ in out])
    return out


def _missing(package: str, kind: str) -> InputError:
    return InputError(Problem(f"the retriever {kind} needs its client", package, "none", "[retrieval]",
                              f"Install it: pip install 'snapshot-audit[{kind}]'"))  # fmt: skip


def _opensearch(search: Search, key: str) -> tuple[Send, Callable[[], None]]:
    try:
        from opensearchpy import OpenSearch, exceptions
    except ImportError:
        raise _missing("opensearch-py", "opensearch") from None
    if key and ":" not in key:
        raise InputError(
            Problem("the key of OpenSearch has no colon", "user:password", "another form", search.key_variable,
                    "Set the variable to user:password."))  # fmt: skip
    client = OpenSearch(
        hosts=[search.base_url], http_auth=tuple(key.split(":", 1)) if key else None, timeout=search.deadline,
        max_retries=0, retry_on_timeout=False, retry_on_status=(), sniff_on_start=False,
    )  # fmt: skip

    def send(names: Sequence[str], body: dict[str, Any]) -> Any:
        params = {name: str(value).lower() for name, value in SETTINGS.items()}
        try:
            return client.search(index=",".join(names), body=body, params=params)
        except exceptions.SerializationError:
            raise UnavailableError("the answer is not JSON", again=True) from None
        except exceptions.ConnectionError as error:
            raise UnavailableError(f"no connection ({type(error).__name__})", again=True) from None
        except exceptions.TransportError as error:
            raise of_status(int(error.status_code), str(error.error)) from None
        except (exceptions.OpenSearchException, ValueError) as error:
            raise UnavailableError(f"the answer cannot be read ({type(error).__name__})", again=True) from None

    return send, client.close


def _elasticsearch(search: Search, key: str) -> tuple[Send, Callable[[], None]]:
    try:
        from elastic_transport import ConnectionError as NoConnection
        from elastic_transport import SerializationError, TransportError
        from elasticsearch import ApiError, Elasticsearch
    except ImportError:
        raise _missing("elasticsearch", "elasticsearch") from None
    client = Elasticsearch(
        search.base_url, api_key=key or None, request_timeout=search.deadline, max_retries=0, retry_on_timeout=False,
        retry_on_status=(), sniff_on_start=False, meta_header=False,
    )  # fmt: skip

    def send(names: Sequence[str], body: dict[str, Any]) -> Any:
        try:
            return client.search(index=",".join(names), body=body, **SETTINGS).body  # type: ignore[arg-type]
        except ApiError as error:
            raise of_status(int(error.status_code), str(error.message)) from None
        except SerializationError:
            raise UnavailableError("the answer is not JSON", again=True) from None
        except NoConnection as error:
            raise UnavailableError(f"no connection ({type(error).__name__})", again=True) from None
        except (TransportError, ValueError) as error:
            raise UnavailableError(f"the answer cannot be read ({type(error).__name__})", again=True) from None

    return send, client.close
