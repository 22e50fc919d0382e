"""A fake OpenAI-compatible service on loopback, with the faults of `service`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.service import Scripted, Seen, Service

STOPS = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


def completion(text: str | None, model: str, stop: str = "stop", number: int = 1) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, "refusal": None}, "finish_reason": stop}
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23},
    }


class Chat(Service):
    """Answers /v1/chat/completions; ``script`` is as in `Service`."""

    def plan(self, seen: Seen) -> tuple[Scripted, int]:
        if seen.path != "/v1/chat/completions":
            return Scripted(status=404), 0
        plan, number = self.call(seen)
        if plan.body is None and plan.status == 200:
            model = plan.model or str(seen.body.get("model"))
            said = completion(plan.text, model, STOPS.get(str(plan.stop_reason), str(plan.stop_reason)), number)
            plan = replace(plan, body=json.dumps(said).encode())
        return plan, number
