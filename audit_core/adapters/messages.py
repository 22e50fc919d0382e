"""A Messages endpoint through the anthropic package, with nothing left to its defaults.

One call is one HTTP request: no hidden retries, no redirects, no proxy and no profile from the environment. The raw
response is kept; reading it is `outcomes`' work. A deadline of the wall clock bounds the whole call, because
the package's own timeouts are per read.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from audit_core.errors import InputError, Problem
from audit_core.outcomes import Reply

if TYPE_CHECKING:
    from anthropic import Anthropic

FORBIDDEN = ("ANTHROPIC_CUSTOM_HEADERS",)
CONNECT, READ, WRITE, POOL = 10.0, 120.0, 30.0, 30.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where calls go.

    Attributes:
        base_url: Origin of the service, from the protocol; never from the environment.
        key: Kept out of `repr`, of every ledger and of every message.
        deadline: Seconds for one whole call.
    """

    base_url: str
    key: str = field(repr=False)
    deadline: float = 180.0


def refuse_environment() -> None:
    """Stop before the first call where the environment would change every request.

    Raises:
        InputError: ``ANTHROPIC_CUSTOM_HEADERS`` is set.
    """
    for name in FORBIDDEN:
        if os.environ.get(name):
            raise InputError(
                Problem(
                    "the environment would add headers to every request",
                    f"{name} unset",
                    "a value",
                    name,
                    "Unset it; what is sent must be what the protocol says.",
                )
            )


class Messages:
    """Calls to one endpoint; may be used from several threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        refuse_environment()
        self.endpoint = endpoint
        self._client = _client(endpoint)

    def create(self, body: dict[str, Any]) -> Reply:
        """Send one request.

        Args:
            body: ``model``, ``max_tokens``, ``messages`` and further fields of the Messages API, sent as they are;
                a temperature is decimal text.

        Returns:
            The raw response, or the kind of transport error where none came whole.
        """
        return self.ask("/v1/messages", on_wire(body))

    def model(self, name: str) -> Reply:
        """What the service says of one of its models."""
        return self.ask(f"/v1/models/{quote(name, safe='')}")

    def ask(self, path: str, body: dict[str, Any] | None = None, deadline: float | None = None) -> Reply:
        """Send one request to a path of the service: a POST where there is a body, else a GET.

        Args:
            path: Below the base address, or a whole address whose origin the caller has checked.
            body: As it is sent.
            deadline: Seconds; the endpoint's when None.
        """
        start = time.monotonic()
        box: list[Reply] = []
        worker = threading.Thread(target=lambda: box.append(self._send(path, body, start)), daemon=True)
        worker.start()
        worker.join(self.endpoint.deadline if deadline is None else deadline)
        if box:
            return box[0]
        return Reply(None, b"", None, None, "deadline", _elapsed(start))

    def _send(self, path: str, body: dict[str, Any] | None, start: float) -> Reply:
        package = self._package()
        try:
            if body is None:
                response = self._client.get(path, cast_to=_raw_type())
            else:
                response = self._client.post(path, body=body, cast_to=_raw_type())
        except package.APIStatusError as error:
            return _of(error.response, start)
        except package.APITimeoutError:
            return Reply(None, b"", None, None, "timeout", _elapsed(start))
        except package.APIConnectionError:
            return Reply(None, b"", None, None, "connection", _elapsed(start))
        except Exception as error:  # a cut or broken body surfaces as many types; none may carry headers out of here
            return Reply(None, b"", None, None, type(error).__name__, _elapsed(start))
        return _of(response, start)

    @staticmethod
    def _package() -> Any:
        import anthropic

        return anthropic

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def on_wire(body: dict[str, Any]) -> dict[str, Any]:
    """A request as it is sent: decimal text becomes a number, which canonical JSON does not have."""
    return {**body, "temperature": float(body["temperature"])} if "temperature" in body else body


def _client(endpoint: Endpoint) -> Anthropic:
    from anthropic import Anthropic, DefaultHttpxClient, Timeout

    return Anthropic(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=Timeout(READ, connect=CONNECT, read=READ, write=WRITE, pool=POOL),
        http_client=DefaultHttpxClient(trust_env=False, follow_redirects=False),
    )


def _raw_type() -> Any:
    import httpx2

    return httpx2.Response


def _of(response: Any, start: float) -> Reply:
    try:
        body = bytes(response.read())
    except Exception as error:
        return Reply(None, b"", None, None, type(error).__name__, _elapsed(start))
    wait = response.headers.get("retry-after")
    try:
        seconds = float(wait) if wait is not None else None
    except ValueError:
        seconds = None
    return Reply(int(response.status_code), body, response.headers.get("request-id"), seconds, None, _elapsed(start))


def _elapsed(start: float) -> int:
    return int((time.monotonic() - start) * 1000)
