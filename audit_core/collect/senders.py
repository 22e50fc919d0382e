"""The adapters that a protocol can name, behind one interface: a request goes in, a raw reply comes out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from audit_core.adapters import completions, embedded, extractive, lexical
from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collect.facts import check_weights
from audit_core.collect.progress import THIS_MACHINE
from audit_core.collection import Calls
from audit_core.digests import sha256
from audit_core.errors import InputError, Problem
from audit_core.outcomes import Reply
from audit_core.prompts import stem

_ESCAPE = re.compile(rb"\\u00([0-7][0-9a-fA-F])")


class Sender(Protocol):
    """What a stage calls; used from several threads."""

    origin: str

    def send(self, request: dict[str, Any], attempt: str) -> Reply:
        """One request, at most one call."""

    def close(self) -> None:
        """Release what the adapter holds."""


class Local:
    """An adapter that answers in this process, from the prompt and the attempt's name."""

    origin = THIS_MACHINE

    def __init__(self, reply: Callable[[str, str], bytes]) -> None:
        self._reply = reply

    def send(self, request: dict[str, Any], attempt: str) -> Reply:
        """One reply; where the adapter draws, the draw depends on the attempt's name."""
        return Reply(200, self._reply(request["messages"][0]["content"], attempt))

    def close(self) -> None:
        """Nothing is held."""


class Embedded:
    """The embedded model, served by this process."""

    origin = "embedded"

    def __init__(self, calls: Calls, frozen: dict[str, Any], model_path: Path | None, say: embedded.Say) -> None:
        found = embedded.weights(model_path, say)
        check_weights(frozen, found)
        say("starting the model", 0, 0)
        self._servers = embedded.Servers(found, calls.model, calls.concurrency, float(calls.deadline))

    def send(self, request: dict[str, Any], attempt: str) -> Reply:
        """One call on loopback."""
        return self._servers.create(request, sha256(stem(request["messages"][0]["content"]).encode()))

    def close(self) -> None:
        """Stop the servers."""
        self._servers.close()


class Remote:
    """An endpoint of the Messages protocol."""

    def __init__(self, calls: Calls) -> None:
        key = os.environ.get(calls.key_variable, "")
        if not key:
            raise InputError(
                Problem(
                    "there is no key for the service",
                    f"a key in {calls.key_variable}",
                    "nothing",
                    calls.base_url,
                    f"Set {calls.key_variable}; without a key, freeze a protocol with the adapter embedded "
                    "(pip install 'snapshot-audit[local]') or extractive.",
                )
            )
        self._key = key
        self._messages = self._client(Endpoint(calls.base_url, key, float(calls.deadline)))
        self.origin = calls.base_url

    @staticmethod
    def _client(endpoint: Endpoint) -> Messages:
        return Messages(endpoint)

    def send(self, request: dict[str, Any], attempt: str) -> Reply:
        """One call, one request."""
        return self._checked(self._messages.create(request))

    def ask(self, path: str, body: dict[str, Any] | None = None, deadline: float | None = None) -> Reply:
        """One request to any path of the service."""
        return self._checked(self._messages.ask(path, body, deadline))

    def _checked(self, reply: Reply) -> Reply:
        """The reply; one that echoes the key, also in JSON's escapes, is not stored."""
        if self._key.encode() in _plain(reply.body) + (reply.request_id or "").encode():
            return Reply(None, b"", None, reply.retry_after, "the response echoed the key", reply.elapsed_ms)
        return reply

    def close(self) -> None:
        """Close connections."""
        self._messages.close()


def _plain(body: bytes) -> bytes:
    """A body with the escapes of ASCII characters undone."""
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), body) if b"\\u00" in body else body


class Completions(Remote):
    """An OpenAI-compatible endpoint."""

    @staticmethod
    def _client(endpoint: Endpoint) -> Messages:
        return completions.Completions(endpoint)


def sender(
    calls: Calls, frozen: dict[str, Any], model_path: Path | None = None, say: embedded.Say = lambda *_: None
) -> Sender:
    """The adapter that the protocol names.

    Args:
        calls: How it is called.
        frozen: What freeze noted of its model.
        model_path: Weights in place of the ones of ``[local]``.
        say: Told what, done, total while a model is made ready.
    """
    if calls.adapter == "extractive":
        return Local(lambda prompt, attempt: extractive.reply(prompt, calls.seed, attempt))
    if calls.adapter == "lexical":
        return Local(lambda prompt, _attempt: lexical.reply(prompt))
    if calls.adapter == "embedded":
        return Embedded(calls, frozen, model_path, say)
    return (Completions if calls.adapter == "openai" else Remote)(calls)
