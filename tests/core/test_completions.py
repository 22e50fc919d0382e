"""The OpenAI-compatible adapter: one call is one request, and its raw reply is read strictly."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from audit_core.adapters.completions import Completions
from audit_core.adapters.messages import Endpoint
from audit_core.calls import request_of
from audit_core.collect.senders import sender
from audit_core.collection import Calls
from audit_core.errors import InputError
from audit_core.outcomes import read
from tests.support.chat import Chat, completion
from tests.support.service import Scripted

KEY = "sk-CANARY-123456789"
SETTINGS = Calls("openai", "other-1", "http://127.0.0.1:9", "AUDIT_TEST_KEY", max_tokens=99, temperature="0.5")


def test_the_request_is_what_the_protocol_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://environment.example")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Chat(lambda _s, _n: Scripted(text="Paris")) as service:
        for base in (service.url, service.url + "/v1"):
            client = Completions(Endpoint(base, KEY))
            reply = client.create(request_of(SETTINGS, "Where?"))
            client.close()
            assert read(reply.status, reply.body).text == "Paris"
    for seen in service.seen:
        assert seen.body == {
            "model": "other-1",
            "max_completion_tokens": 99,
            "temperature": 0.5,
            "messages": [{"role": "user", "content": "Where?"}],
        }
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        assert "environment.example" not in str(seen.headers)


def test_no_hidden_retry_and_no_redirect() -> None:
    for plan in (
        Scripted(status=500),
        Scripted(status=429, headers={"retry-after": "7"}),
        Scripted(status=302, headers={"location": "/v1/chat/completions"}),
        Scripted(reset=True),
        Scripted(cut_at=9),
        Scripted(body=b"<html>"),
    ):
        with Chat(lambda _s, _n, plan=plan: plan) as service:
            client = Completions(Endpoint(service.url, KEY))
            reply = client.create(request_of(SETTINGS, "Where?"))
            client.close()
            assert len(service.seen) == 1
            assert read(reply.status, reply.body).outcome != "accepted"
            assert KEY not in repr(reply)
            if plan.status == 429:
                assert reply.retry_after == 7


def changed(**changes: Any) -> bytes:
    record = completion("Paris", "other-1")
    record["choices"][0] |= changes
    return json.dumps(record).encode()


@pytest.mark.parametrize(
    ("body", "outcome", "kind", "text"),
    [
        (changed(), "accepted", "ANSWER", "Paris"),
        (changed(finish_reason="length"), "accepted", "TRUNCATED", "Paris"),
        (changed(finish_reason="content_filter"), "accepted", "REFUSED", "Paris"),
        (changed(finish_reason="tool_calls"), "accepted", "INVALID", "Paris"),
        (changed(message={"role": "assistant", "content": None, "refusal": "No."}), "accepted", "REFUSED", "No."),
        (changed(message={"role": "assistant", "content": None}), "accepted", "INVALID", ""),
        (changed(message={"role": "user", "content": "Paris"}), "transport_invalid", None, ""),
        (changed(message={"role": "assistant", "content": ["Paris"]}), "transport_invalid", None, ""),
        (changed(message="Paris"), "transport_invalid", None, ""),
        (changed(finish_reason=None), "transport_invalid", None, ""),
        (b'{"object": "chat.completion", "choices": []}', "transport_invalid", None, ""),
        (b'{"object": "chat.completion", "choices": [1, 2]}', "transport_invalid", None, ""),
        (b'{"object": "chat.completion"}', "transport_invalid", None, ""),
    ],
)
def test_completions_are_read_strictly(body: bytes, outcome: str, kind: str | None, text: str) -> None:
    reading = read(200, body)
    assert (reading.outcome, reading.kind, reading.text) == (outcome, kind, text)
    if outcome == "accepted":
        assert (reading.model, dict(reading.usage)) == ("other-1", {"input_tokens": 20, "output_tokens": 3})


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUDIT_TEST_KEY", raising=False)
    with pytest.raises(InputError, match="no key for the service"):
        sender(SETTINGS, {})
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x: y")
    with pytest.raises(InputError, match="add headers"):
        sender(SETTINGS, {})
    monkeypatch.delenv("OPENAI_CUSTOM_HEADERS")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"pip install 'snapshot-audit\[openai\]'"):
        sender(SETTINGS, {})
