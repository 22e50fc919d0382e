"""What came back from one call, as a class that a stranger can recompute from the stored body.

| class | drawn again |
|---|---|
| ``accepted`` | never: an answer, also UNKNOWN, a refusal, a truncated or an invalid one |
| ``http_retryable`` | yes: 408, 409, 429, 5xx |
| ``transport_error`` | yes: no complete response |
| ``transport_invalid`` | yes: a response that is not a message (HTML, cut JSON, duplicate keys, no stop reason) |
| ``interrupted`` | yes: the process ended after the start record, so the outcome was never seen |
| ``config_error`` | no: other 3xx and 4xx stop the run |

A refusal or a truncated answer is an accepted cell: drawing it again would bias the noise floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from audit_core.codec import CodecError, parse

Outcome = Literal["accepted", "http_retryable", "transport_error", "transport_invalid", "interrupted", "config_error"]
Kind = Literal["ANSWER", "REFUSED", "TRUNCATED", "INVALID"]
AGAIN = frozenset({"http_retryable", "transport_error", "transport_invalid", "interrupted"})
RETRYABLE = frozenset({408, 409, 429})
ANSWER_LIMIT = 512
"""Largest answer in UTF-8 bytes; a longer one is INVALID, and stays."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP response, or its absence; only plain values that are safe to store.

    Attributes:
        status: HTTP status; None where no complete response came.
        body: The raw body.
        request_id: Of the service, for support only.
        retry_after: Seconds the service asks to wait.
        error: Kind of transport error, where no complete response came.
        elapsed_ms: From the monotonic clock.
    """

    status: int | None
    body: bytes
    request_id: str | None = None
    retry_after: float | None = None
    error: str | None = None
    elapsed_ms: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply, read strictly.

    Attributes:
        outcome: See the module's table.
        kind: Of an accepted answer.
        text: The joined text blocks of a message; empty where there is none.
        model: That the service says answered.
        usage: Whole numbers by name.
        reason: Why the reply is not accepted, or not an ANSWER.
    """

    outcome: Outcome
    kind: Kind | None = None
    text: str = ""
    model: str | None = None
    stop_reason: str | None = None
    message_id: str | None = None
    usage: tuple[tuple[str, int], ...] = ()
    reason: str = ""


def read(status: int | None, body: bytes) -> Reading:
    """Classify a reply from its status and stored body alone."""
    if status is None:
        return Reading("transport_error", reason="no complete response")
    if status in RETRYABLE or status >= 500:
        return Reading("http_retryable", reason=f"HTTP {status}")
    if status != 200:
        return Reading("config_error", reason=f"HTTP {status}")
    try:
        message = parse(body)
    except CodecError as error:
        return Reading("transport_invalid", reason=f"not strict JSON: {error}")
    return message_reading(message)


def message_reading(message: Any) -> Reading:
    """Classify a message object, as it stands in a response or a batch's results; a chat completion is read as one."""
    if isinstance(message, dict) and message.get("object") == "chat.completion":
        message = _of_completion(message)
    if not isinstance(message, dict) or message.get("type") != "message" or message.get("role") != "assistant":
        return Reading("transport_invalid", reason="not a message")
    blocks, stop = message.get("content"), message.get("stop_reason")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return Reading("transport_invalid", reason="content is not a list of blocks")
    if not isinstance(stop, str):
        return Reading("transport_invalid", reason="no stop reason: the message is not complete")
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        return Reading("transport_invalid", reason="a text block without text")
    text = "".join(text for text in texts if isinstance(text, str))
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    usage = message.get("usage")
    counts = tuple(sorted(
        (name, value) for name, value in (usage if isinstance(usage, dict) else {}).items()
        if isinstance(name, str) and type(value) is int and 0 <= value < 1 << 53
    ))  # fmt: skip
    model, message_id = message.get("model"), message.get("id")
    kind, reason = _kind(stop, text)
    return Reading(
        "accepted", kind, text, model if isinstance(model, str) else None, stop,
        message_id if isinstance(message_id, str) else None, counts, reason,
    )  # fmt: skip


_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def _of_completion(completion: dict[str, Any]) -> Any:
    """A chat completion in the form of a message; None where it is not complete."""
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    said = choice.get("message") if isinstance(choice, dict) else None
    stop = choice.get("finish_reason") if isinstance(choice, dict) else None
    if not isinstance(said, dict) or not isinstance(stop, str):
        return None
    usage = completion.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    refused = said.get("refusal")
    text = said.get("content") if refused is None else refused
    return {
        "type": "message", "role": said.get("role"), "id": completion.get("id"), "model": completion.get("model"),
        "content": [] if text is None else [{"type": "text", "text": text}],
        "stop_reason": "refusal" if refused is not None else _STOPS.get(stop, stop),
        "usage": {"input_tokens": counts.get("prompt_tokens"), "output_tokens": counts.get("completion_tokens")},
    }  # fmt: skip


def _kind(stop: str, text: str) -> tuple[Kind, str]:
    if stop == "refusal":
        return "REFUSED", "the model refused"
    if stop in ("max_tokens", "model_context_window_exceeded", "pause_turn"):
        return "TRUNCATED", f"stopped by {stop}"
    if stop not in ("end_turn", "stop_sequence"):
        return "INVALID", f"stopped by {stop}"
    answer = text.strip()
    if not answer:
        return "INVALID", "empty"
    if len(answer.encode()) > ANSWER_LIMIT:
        return "INVALID", f"longer than {ANSWER_LIMIT} bytes"
    return "ANSWER", ""


def answer_of(reading: Reading) -> str:
    """The answer text of an accepted reply, as it enters the ledger; refusals and empty ones by their kind's name."""
    text = reading.text.strip()
    if reading.kind == "REFUSED":
        return text or "UNKNOWN"
    return text
