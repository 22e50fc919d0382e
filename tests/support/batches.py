"""A fake service with Message Batches: each request of a batch is answered by the script of single calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.service import Scripted, Seen, Service, message

PATH = "/v1/messages/batches"
ERRORS = {400: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


class BatchService(Service):
    """The server.

    Attributes:
        polls: How often a batch is still in progress when it is asked for.
        create: Called with the number of the request that makes a batch; a returned plan is sent instead, and
            ``keeps`` says whether the batch was made all the same.
        results: Changes the lines of results before they are sent.
        describe: Changes a batch's description before it is sent.
        asked: Method-like words of all requests beside single calls.
        batches: Made so far, in their order: requests and results.
    """

    def __init__(self, script: Callable[[Seen, int], Scripted] | None = None, **more: Any) -> None:
        super().__init__(script, **more)
        self.polls = 1
        self.create: Callable[[int], tuple[Scripted | None, bool]] = lambda _: (None, True)
        self.results: Callable[[list[dict[str, Any]], int], bytes] = lambda lines, _: joined(lines)
        self.describe: Callable[[dict[str, Any], int], dict[str, Any]] = lambda batch, _: batch
        self.asked: list[str] = []
        self.batches: dict[str, dict[str, Any]] = {}
        self._rng, self._made = random.Random(5), 0

    def plan(self, seen: Seen) -> tuple[Scripted, int]:
        path, query = urlsplit(seen.path).path, parse_qs(urlsplit(seen.path).query)
        if not path.startswith(PATH):
            return super().plan(seen)
        parts = path.removeprefix(PATH).strip("/").split("/")
        if seen.body:
            return self._create(seen), 0
        if parts == [""]:
            self.asked.append("list")
            return self._list(query), 0
        batch = self.batches.get(parts[0])
        if batch is None:
            return Scripted(status=404), 0
        if parts[1:] == ["cancel"]:
            self.asked.append("cancel")
            return self._say(parts[0]), 0
        if parts[1:] == ["results"]:
            self.asked.append("results")
            lines = [{"custom_id": r["custom_id"], "result": r["result"]} for r in batch["answers"]]
            self._rng.shuffle(lines)
            return Scripted(body=self.results(lines, self.asked.count("results"))), 0
        self.asked.append("retrieve")
        batch["polled"] += 1
        return self._say(parts[0]), 0

    def _create(self, seen: Seen) -> Scripted:
        self.asked.append("create")
        plan, keeps = self.create(self.asked.count("create"))
        if not keeps:
            return plan or Scripted(status=500)
        self._made += 1
        name = f"msgbatch_{self._made:04d}"
        requests = seen.body["requests"]
        assert len({r["custom_id"] for r in requests}) == len(requests)
        answers = []
        for request in requests:
            one, number = self.call(Seen("/v1/messages", seen.headers, request["params"]))
            answers.append({"custom_id": request["custom_id"], "result": self._result(one, request, number)})
        self.batches[name] = {"answers": answers, "polled": 0}
        return plan or self._say(name)

    @staticmethod
    def _result(plan: Scripted, request: dict[str, Any], number: int) -> dict[str, Any]:
        if plan.fate:
            return {"type": plan.fate}
        if plan.status != 200:
            error = {"type": ERRORS.get(plan.status, "api_error"), "message": "scripted"}
            return {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}
        if plan.body is not None:
            return {"type": "succeeded", "message": json.loads(plan.body)}
        model = plan.model or request["params"]["model"]
        return {"type": "succeeded", "message": message(plan.text, model, plan.stop_reason, number)}

    def _list(self, query: dict[str, list[str]]) -> Scripted:
        names = list(self.batches)[::-1]
        if after := query.get("after_id"):
            names = names[names.index(after[0]) + 1 :]
        limit = int(query.get("limit", ["20"])[0])
        page = [self._described(name) for name in names[:limit]]
        ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return Scripted(body=json.dumps({"data": page, "has_more": len(names) > limit, **ends}).encode())

    def _described(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        ended = batch["polled"] > self.polls
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for answer in batch["answers"]:
            counts[answer["result"]["type"] if ended else "processing"] += 1
        return {
            "id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts, "created_at": "2026-01-31T09:00:00Z", "expires_at": "2026-02-01T09:00:00Z",
            "ended_at": "2026-01-31T09:10:00Z" if ended else None, "archived_at": None, "cancel_initiated_at": None,
            "results_url": f"{self.url}{PATH}/{name}/results" if ended else None,
        }  # fmt: skip

    def _say(self, name: str) -> Scripted:
        described = self.describe(self._described(name), self.batches[name]["polled"])
        return Scripted(body=json.dumps(described).encode())


def joined(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
