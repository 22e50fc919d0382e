"""How far a stage is: words, cost and what the ledger alone says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_core.collect.attempts import Attempts
from audit_core.collect.progress import Meter, Standing, cost_of, facts, words
from audit_core.collection import Calls
from audit_core.outcomes import Reply
from audit_core.tally import Slots
from tests.support.service import message

PRICED = Calls("messages", input_price="3", output_price="15")
BODY = json.dumps(message("Paris", "m")).encode()


@pytest.mark.parametrize(
    ("calls", "tokens", "cost"),
    [
        (PRICED, (1_000_000, 1_000_000), "18.0000"),
        (PRICED, (10, 1), "0.0000"),
        (PRICED, (50, 0), "0.0002"),
        (Calls("messages", input_price="0.8", output_price="4"), (123_456, 7_890), "0.1303"),
        (Calls("messages", input_price="3"), (10, 10), None),
        (Calls("messages"), (10, 10), None),
    ],
)
def test_cost_is_exact_decimal_text(calls: Calls, tokens: tuple[int, int], cost: str | None) -> None:
    assert cost_of(calls, tokens) == cost


@pytest.mark.parametrize(
    ("standing", "text"),
    [
        (Standing(0, 960, None, (0, 0), None), "0 of 960"),
        (Standing(120, 960, 60.0, (12_000, 345), "0.0412"),
         "120 of 960 · 60 a minute · 12,345 tokens · cost 0.0412 · 14 min left"),
        (Standing(960, 960, 60.0, (1, 0), None, "done"), "960 of 960 · 60 a minute · 1 tokens · done"),
    ],
)  # fmt: skip
def test_words_of_a_standing(standing: Standing, text: str) -> None:
    assert str(standing) == text


def test_lengths_of_time() -> None:
    assert [words(s) for s in (5, 89, 90, 5399, 5400, 86_400)] == ["5 s", "89 s", "2 min", "90 min", "1.5 h", "24.0 h"]


def test_a_meter_counts_this_run_only() -> None:
    told: list[tuple[str, int, int]] = []
    meter = Meter("calls", Calls("messages"), 900, 960, lambda *line: told.append(line))
    meter.show(900, [0, 0])
    meter.show(910, [1000, 10], "waiting")
    assert told[0] == ("calls 900 of 960", 900, 960)
    assert "a minute" in told[1][0]
    assert told[1][0].endswith("waiting")


def test_the_ledger_alone_says_how_far_it_is_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "attempts.jsonl"
    with Attempts(path, "0" * 64, "r", Slots([f"q{i}" for i in range(9)])) as attempts:
        for i in range(3):
            attempts.end(attempts.begin((f"q{i}",), {}, model="m", origin="o"), Reply(200, BODY))
        attempts.end(attempts.begin(("q3",), {}, model="m", origin="o"), Reply(529, b""))
        attempts.begin(("q4",), {}, model="m", origin="o")
        batch, items = attempts.begin_batch([(("q5",), {}), (("q6",), {})], model="m", origin="o", after="")
        early = facts(path, PRICED, 9)
        attempts.created(batch, "msgbatch_1")
        attempts.end_batch(batch, [(items[0], Reply(200, BODY))])
        with path.open("ab") as stream:
            stream.write(b'{"attempt":"torn')
        found = facts(path, PRICED, 9)
    assert early["open_batch"]["waiting"] == 2
    assert "batch_id" not in early["open_batch"]
    assert {k: found[k] for k in ("calls", "accepted", "cells", "input_tokens", "output_tokens", "cost")} == {
        "calls": 7, "accepted": 4, "cells": 9, "input_tokens": 80, "output_tokens": 12, "cost": "0.0004",
    }  # fmt: skip
    assert found["outcomes"] == {"accepted": 4, "http_retryable": 1}
    assert {k: found["open_batch"][k] for k in ("batch_id", "calls", "waiting")} == {
        "batch_id": "msgbatch_1", "calls": 2, "waiting": 1,
    }  # fmt: skip
