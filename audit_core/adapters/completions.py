"""An OpenAI-compatible endpoint through the openai package, with nothing left to its defaults or the environment.

The raw response is kept, as with `messages`; `outcomes` reads both forms.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from audit_core.adapters.messages import CONNECT, POOL, READ, WRITE, Endpoint, Messages, on_wire
from audit_core.errors import InputError, Problem
from audit_core.outcomes import Reply

if TYPE_CHECKING:
    from openai import OpenAI

FORBIDDEN = "OPENAI_CUSTOM_HEADERS"


class Completions(Messages):
    """Calls to one endpoint; may be used from several threads."""

    _client: Any  # the openai package's, which has the same post and close

    def __init__(self, endpoint: Endpoint) -> None:
        if os.environ.get(FORBIDDEN):
            raise InputError(
                Problem(
                    "the environment would add headers to every request",
                    f"{FORBIDDEN} unset",
                    "a value",
                    FORBIDDEN,
                    "Unset it; what is sent must be what the protocol says.",
                )
            )
        self.endpoint = endpoint
        self._client = _client(endpoint)

    def create(self, body: dict[str, Any]) -> Reply:
        """Send one request.

        Args:
            body: ``model``, ``max_completion_tokens`` and ``messages``, sent as they are; a temperature is decimal
                text.

        Returns:
            The raw response, or the kind of transport error where none came whole.
        """
        version = "" if self.endpoint.base_url.rstrip("/").endswith("/v1") else "/v1"
        return self.ask(f"{version}/chat/completions", on_wire(body))

    @staticmethod
    def _package() -> Any:
        import openai

        return openai


def _client(endpoint: Endpoint) -> OpenAI:
    try:
        from openai import DefaultHttpxClient, OpenAI, Timeout
    except ImportError:
        raise InputError(
            Problem(
                "the client of this service is not installed",
                "the package openai",
                "nothing",
                endpoint.base_url,
                "Install it: pip install 'snapshot-audit[openai]'",
            )
        ) from None
    client = OpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=Timeout(READ, connect=CONNECT, read=READ, write=WRITE, pool=POOL),
        http_client=DefaultHttpxClient(trust_env=False, follow_redirects=False),
    )
    client.organization = client.project = None  # else taken from the environment
    return client
