"""Message Batches of a service: made, looked for, awaited and read, with nothing accepted that is not complete.

The transport is the one of `messages`: one request each, no hidden retries, no redirects. Results are fetched from the
origin of the protocol and from no other, because the key goes with the request.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from audit_core.adapters.messages import on_wire
from audit_core.codec import CodecError, parse
from audit_core.outcomes import AGAIN, Reply, read

PATH = "/v1/messages/batches"
BYTES = 250_000_000
"""Most bytes of the requests of one batch; the service takes 256 MB."""
TRANSFER = 3600.0
"""Seconds for sending a batch or fetching its results."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
KINDS = ("succeeded", "errored", "canceled", "expired")
STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "api_error": 500, "overloaded_error": 529,
}  # fmt: skip
"""The HTTP status that each kind of error has outside a batch."""

Ask = Callable[[str, dict[str, Any] | None, float | None], Reply]
"""Sends one request: path, body for a POST, deadline."""


class BatchError(Exception):
    """The service did not do what it was asked.

    Attributes:
        reason: In one clause.
        again: Whether asking again can help.
        status: HTTP status; None where there was no complete response.
        retry_after: Seconds that the service asks to wait.
    """

    def __init__(
        self, reason: str, *, again: bool, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.again, self.status, self.retry_after = reason, again, status, retry_after


@dataclass(frozen=True, slots=True)
class Made:
    """A batch as the service describes it.

    Attributes:
        batch_id: Its name.
        ended: Whether all its requests have ended.
        counts: Requests by what became of them, and those still processing.
        results_url: Where the results are; None before the end, and once they are no longer kept.
        archived: Whether the results are no longer kept.
    """

    batch_id: str
    ended: bool
    counts: dict[str, int]
    results_url: str | None
    archived: bool

    @property
    def size(self) -> int:
        """Requests in it."""
        return sum(self.counts.values())


class Batches:
    """The batches of one service.

    Args:
        ask: Sends one request with the key.
        base_url: Origin that results may come from.
    """

    def __init__(self, ask: Ask, base_url: str) -> None:
        self._ask, self._base = ask, base_url

    def create(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> Made:
        """Make a batch of (name, request).

        Raises:
            BatchError: It was not made, or nobody knows.
        """
        body = {"requests": [{"custom_id": name, "params": on_wire(request)} for name, request in requests]}
        return _made(self._get(PATH, body, TRANSFER))

    def retrieve(self, batch_id: str) -> Made:
        """A batch as it is now."""
        return _made(self._get(f"{PATH}/{batch_id}"))

    def newest(self) -> str:
        """Name of the newest batch; empty where there is none."""
        found = self._page("?limit=1")[0]
        return found[0].batch_id if found else ""

    def since(self, after: str) -> Iterator[Made]:
        """Batches newer than a named one, the newest first; all of them where it is gone or empty."""
        query = "?limit=100"
        last = ""
        while True:
            found, more = self._page(query)
            if found and found[-1].batch_id == last:
                raise BatchError("the list of batches gives one page again and again", again=True)
            last = found[-1].batch_id if found else ""
            for made in found:
                if made.batch_id == after:
                    return
                yield made
            if not more or not found:
                return
            query = f"?limit=100&after_id={found[-1].batch_id}"

    def results(self, made: Made) -> dict[str, Reply]:
        """What became of each request of a batch that has ended, by its name.

        Raises:
            BatchError: The results are elsewhere, cut, or not what the batch's counts say.
        """
        if not made.ended or made.results_url is None:
            raise BatchError(f"{made.batch_id} has no results", again=True)
        if not _same_origin(made.results_url, self._base):
            raise BatchError(
                f"the results of {made.batch_id} are at another origin, and the key must not go there", again=False
            )
        body = self._body(self._ask(made.results_url, None, TRANSFER))
        found: dict[str, Reply] = {}
        tally: Counter[str] = Counter()
        for line in body.split(b"\n"):
            if not line.strip():
                continue
            name, kind, reply = _result(line)
            if name in found:
                raise BatchError(f"the results name {name} twice", again=True)
            found[name] = reply
            tally[kind] += 1
        if any(made.counts.get(kind, 0) != tally[kind] for kind in (*KINDS, "processing")):
            raise BatchError(
                f"the results are not complete: counted {dict(tally)}, announced {made.counts}", again=True
            )
        return found

    def _page(self, query: str) -> tuple[list[Made], bool]:
        page = self._get(PATH + query)
        data = page.get("data")
        if not isinstance(data, list):
            raise BatchError("the list of batches is not one", again=True)
        return [_made(item) for item in data], page.get("has_more") is True

    def _get(self, path: str, body: dict[str, Any] | None = None, deadline: float | None = None) -> dict[str, Any]:
        try:
            found = parse(self._body(self._ask(path, body, deadline)))
        except CodecError as error:
            raise BatchError(f"not strict JSON: {error}", again=True) from None
        if not isinstance(found, dict):
            raise BatchError("not an object", again=True)
        return found

    @staticmethod
    def _body(reply: Reply) -> bytes:
        if reply.status == 200:
            return reply.body
        reading = read(reply.status, reply.body)
        reason = reading.reason if reply.status is not None else f"{reading.reason} ({reply.error})"
        raise BatchError(reason, again=reading.outcome in AGAIN, status=reply.status, retry_after=reply.retry_after)


def _made(item: Any) -> Made:
    name = item.get("id") if isinstance(item, dict) else None
    counts = item.get("request_counts") if isinstance(item, dict) else None
    if (
        not isinstance(name, str) or not NAME.fullmatch(name) or item.get("type") != "message_batch"
        or not isinstance(counts, dict)
        or any(type(counts.get(kind, 0)) is not int or counts.get(kind, 0) < 0 for kind in (*KINDS, "processing"))
    ):  # fmt: skip
        raise BatchError("not a batch", again=True)
    url = item.get("results_url")
    return Made(
        name,
        item.get("processing_status") == "ended",
        {kind: counts.get(kind, 0) for kind in (*KINDS, "processing")},
        url if isinstance(url, str) else None,
        isinstance(item.get("archived_at"), str),
    )


def _result(line: bytes) -> tuple[str, str, Reply]:
    try:
        record = parse(line)
    except CodecError as error:
        raise BatchError(f"a line of the results is not strict JSON: {error}", again=True) from None
    name, result = (record.get("custom_id"), record.get("result")) if isinstance(record, dict) else (None, None)
    kind = result.get("type") if isinstance(result, dict) else None
    if not isinstance(name, str) or not isinstance(result, dict) or kind not in KINDS:
        raise BatchError("a line of the results is not a result", again=True)
    if kind == "succeeded":
        return name, kind, Reply(200, _dumped(result.get("message")))
    if kind == "errored":
        body = result.get("error")
        inner = body.get("error") if isinstance(body, dict) else None
        word = str(inner.get("type")) if isinstance(inner, dict) else "no type"
        return name, kind, Reply(STATUS.get(word, 500), _dumped(body), error=word)
    return name, kind, Reply(None, b"", error=f"the request was {kind}")


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate stays the escape that it was
        return json.dumps(value).encode()


def _same_origin(url: str, base: str) -> bool:
    try:
        one, other = urlsplit(url), urlsplit(base)
        usual = {"http": 80, "https": 443}
        return (one.scheme, one.hostname, one.port or usual.get(one.scheme), one.username) == (
            other.scheme, other.hostname, other.port or usual.get(other.scheme), None,
        )  # fmt: skip
    except ValueError:
        return False
