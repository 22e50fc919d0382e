"""The DeepResearchGym search protocol: ``GET ADDRESS?query=…&k=…`` gives base64 JSON documents by rank.

``{"results": ["<base64 of one JSON document>", …]}``, where a document has ``id``, ``url`` and ``text`` (FineWeb) or
``ClueWeb22-ID``, ``URL`` and ``Clean-Text`` (ClueWeb22). A state is told apart by its address, or by the parameter
that limits the search to the first shards: ``num_of_shards=3``, or ``shard_ids=0,1,2``.
"""

from __future__ import annotations

import base64
import binascii
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from audit_core.adapters.hits import Found, Hit, Lists
from audit_core.adapters.services import Calls, UnavailableError, key_of, of_status, passage, unique
from audit_core.codec import CodecError, parse
from audit_core.sources import Search

MOST_BYTES = 64 << 20
NAMES = (("ClueWeb22-ID", "URL", "Clean-Text"), ("id", "url", "text"))


def retrieve(
    search: Search, reach: Mapping[str, int], questions: Sequence[tuple[str, str]], depth: int, calls: Calls
) -> Lists:
    """Ranked passages from a search service; see `opensearch.retrieve` for the arguments."""
    key = key_of(search.key_variable)
    for state, count in reach.items():
        for question_id, text in questions if count else ():
            address = _address(search, state, count, text, depth)
            hits = calls.call(f"{question_id} in {state}", lambda a=address: _read(_get(a, key, search), depth, key))  # type: ignore[misc]
            yield Found(question_id, state, hits)


def _address(search: Search, state: str, count: int, text: str, depth: int) -> str:
    asked = {"query": text, search.count_parameter: str(depth)}
    if search.shards_parameter:
        ids = ",".join(map(str, range(count)))
        asked[search.shards_parameter] = ids if search.shards_parameter == "shard_ids" else str(count)
    return f"{search.addresses.get(state) or search.base_url}?{urllib.parse.urlencode(asked)}"


class _Refused(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """No redirect is followed: what answers must be what the protocol names."""


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Refused())


def _get(address: str, key: str, search: Search) -> bytes:
    request = urllib.request.Request(address, headers={"accept": "application/json", "user-agent": "snapshot-audit"})  # noqa: S310
    if key:
        request.add_header("x-api-key", key)
    try:
        with _OPENER.open(request, timeout=search.deadline) as response:
            body: bytes = response.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise of_status(error.code) from None
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"no complete answer ({type(error).__name__})", again=True) from None
    if len(body) > MOST_BYTES:
        raise UnavailableError(f"more than {MOST_BYTES:,} bytes", again=False)
    return body


def _read(body: bytes, depth: int, key: str) -> list[Hit]:
    try:
        answer = parse(body)
        results = answer["results"]
        documents = [parse(base64.b64decode(item, validate=True)) for item in results]
    except (CodecError, KeyError, TypeError, ValueError, binascii.Error) as error:
        raise UnavailableError(
            f"the answer is not a list of base64 JSON documents ({error})"[:200], again=True
        ) from None
    if len(documents) > depth:
        raise UnavailableError(f"{len(documents)} documents where {depth} were asked for", again=False)
    hits = []
    for document in documents:
        if not isinstance(document, dict):
            raise UnavailableError("a document is not an object", again=False)
        names = next((n for n in NAMES if n[0] in document), NAMES[-1])
        found, url, text = (document.get(name) for name in names)
        url = url.strip() if isinstance(url, str) else url
        hits.append(Hit(passage({"id": found, "text": text, "title": "", "url": url, "family": ""}, key), None))
    unique([hit.passage.document_id for hit in hits])
    return hits
