"""The client's policy and the outcome table, through the real anthropic package against a fake service."""

from __future__ import annotations

import json
import time

import pytest

from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collect.senders import Remote
from audit_core.collection import Calls
from audit_core.errors import InputError
from audit_core.outcomes import Reply, answer_of, message_reading, read
from tests.support.service import Scripted, Seen, Service, message

KEY = "sk-ant-CANARY-0123456789"
BODY = {"model": "small-1", "max_tokens": 64, "messages": [{"role": "user", "content": "Where?"}]}
GOOD = json.dumps(message("Paris", "small-1")).encode()

TABLE: dict[str, tuple[Scripted, str, str | None]] = {
    "an answer": (Scripted(), "accepted", "ANSWER"),
    "UNKNOWN": (Scripted(text="UNKNOWN"), "accepted", "ANSWER"),
    "a refusal": (Scripted(text="", stop_reason="refusal"), "accepted", "REFUSED"),
    "cut by the token limit": (Scripted(text="Par", stop_reason="max_tokens"), "accepted", "TRUNCATED"),
    "an empty answer": (Scripted(text=""), "accepted", "INVALID"),
    "513 bytes": (Scripted(text="é" * 257), "accepted", "INVALID"),
    "512 bytes": (Scripted(text="é" * 256), "accepted", "ANSWER"),
    "an unknown stop reason": (Scripted(stop_reason="tool_use"), "accepted", "INVALID"),
    "no stop reason": (Scripted(stop_reason=None), "transport_invalid", None),
    "HTML": (Scripted(body=b"<html>login</html>", headers={"content-type": "text/html"}), "transport_invalid", None),
    "another object": (Scripted(body=b'{"hello":1}'), "transport_invalid", None),
    "nothing": (Scripted(body=b""), "transport_invalid", None),
    "invalid UTF-8": (Scripted(body=b'{"a":"\xff"}'), "transport_invalid", None),
    "a key twice": (Scripted(body=GOOD[:-1] + b',"id":"x"}'), "transport_invalid", None),
    "NaN": (Scripted(body=GOOD[:-1] + b',"x":NaN}'), "transport_invalid", None),
    "408": (Scripted(status=408), "http_retryable", None),
    "409": (Scripted(status=409), "http_retryable", None),
    "429": (Scripted(status=429, headers={"retry-after": "3600"}), "http_retryable", None),
    "500": (Scripted(status=500), "http_retryable", None),
    "529": (Scripted(status=529), "http_retryable", None),
    "400": (Scripted(status=400), "config_error", None),
    "401": (Scripted(status=401), "config_error", None),
    "413": (Scripted(status=413), "config_error", None),
    "a redirect to another origin": (
        Scripted(status=307, headers={"location": "http://127.0.0.1:9/v1/messages"}),
        "config_error",
        None,
    ),
    "a reset": (Scripted(reset=True), "transport_error", None),
    "a body cut short": (Scripted(cut_at=20), "transport_error", None),
}


@pytest.mark.parametrize("name", TABLE)
def test_outcome_table(name: str) -> None:
    plan, outcome, kind = TABLE[name]
    with Service(lambda _s, _n: plan) as service:
        raw = Messages(Endpoint(service.url, KEY, 10)).create(BODY)
        reading = read(raw.status, raw.body)
        assert (reading.outcome, reading.kind) == (outcome, kind), reading
        assert len(service.seen) == 1, "one call is one request"
        assert service.seen[0].body == BODY
        assert service.seen[0].path == "/v1/messages"
    if plan.headers.get("retry-after"):
        assert raw.retry_after == 3600
    if outcome == "accepted":
        assert reading.model == "small-1"
        assert dict(reading.usage) == {"input_tokens": 20, "output_tokens": 3}
        assert raw.request_id == "req_000001"


def test_a_dripping_server_meets_the_deadline() -> None:
    with Service(lambda _s, _n: Scripted(drip=0.05)) as service:
        start = time.monotonic()
        raw = Messages(Endpoint(service.url, KEY, 0.6)).create(BODY)
        assert (raw.status, raw.error) == (None, "deadline")
        assert time.monotonic() - start < 5


def test_no_server_at_all() -> None:
    with Service() as service:
        url = service.url
    raw = Messages(Endpoint(url, KEY, 5)).create(BODY)
    assert read(raw.status, raw.body).outcome == "transport_error"


def test_the_environment_does_not_redirect_or_add(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service() as trap, Service() as service:
        for name in ("ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
            monkeypatch.setenv(name, trap.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-OTHER")
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-OTHER")
        raw = Messages(Endpoint(service.url, KEY, 10)).create(BODY)
        assert raw.status == 200
        assert trap.seen == []
        headers = json.dumps(service.seen[0].headers)
        assert "OTHER" not in headers
        assert KEY in headers
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-a: b")
    with pytest.raises(InputError, match="CUSTOM_HEADERS"):
        Messages(Endpoint(service.url, KEY, 10))


def test_the_key_is_in_nothing_that_is_stored_or_shown() -> None:
    def script(_seen: Seen, number: int) -> Scripted:
        return [Scripted(), Scripted(status=401), Scripted(reset=True)][number - 1]

    with Service(script) as service:
        client = Messages(Endpoint(service.url, KEY, 10))
        for _ in range(3):
            assert KEY not in repr(client.create(BODY))
        assert KEY not in repr(client.endpoint)


@pytest.mark.parametrize("where", ["body", "escaped", "request id", "error"])
def test_a_reply_that_echoes_the_key_is_not_kept(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    escaped = "".join(f"\\u{ord(character):04X}" for character in KEY)
    plan = {
        "body": Scripted(text=KEY),
        "escaped": Scripted(body=json.dumps(message("echo", "m")).replace("echo", escaped).encode()),
        "request id": Scripted(headers={"request-id": f"req_{KEY}"}),
        "error": Scripted(status=400, body=f"no {KEY}".encode()),
    }[where]
    with Service(lambda _seen, _number: plan) as service:
        remote = Remote(Calls("messages", "m", service.url, "AUDIT_TEST_KEY"))
        reply = remote.send(BODY, "1")
        remote.close()
    assert reply == Reply(None, b"", None, None, "the response echoed the key", reply.elapsed_ms)
    if where == "escaped":
        assert KEY in json.loads(plan.body or b"")["content"][0]["text"]


def test_lone_surrogates_are_replaced_and_thinking_is_not_text() -> None:
    body = json.dumps(message("x", "m")).replace('"x"', '"a \\ud83d b"').encode()
    assert read(200, body).text == "a \ufffd b"
    thought = message("Paris", "m")
    thought["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    assert message_reading(thought).text == "Paris"


@pytest.mark.parametrize(
    ("text", "stop", "want"),
    [
        (" Paris \n", "end_turn", "Paris"),
        ("", "refusal", "UNKNOWN"),
        ("Par", "max_tokens", "Par"),
        ("", "end_turn", ""),
    ],
)
def test_answers_enter_the_ledger_stripped(text: str, stop: str, want: str) -> None:
    assert answer_of(message_reading(message(text, "m", stop))) == want
