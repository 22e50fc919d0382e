"""How far a stage is: rate, tokens, cost and time left, while it runs and from the ledger alone."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from audit_core import codec
from audit_core.codec import CodecError, Record
from audit_core.collection import Calls
from audit_core.outcomes import read
from audit_core.study import is_calls
from audit_core.tally import TOKENS, reply_of

THIS_MACHINE = "this machine"
"""Origin of calls that never leave this process."""
Progress = Callable[[str, int, int], None]
"""Called with what, done, total."""


def cost_of(calls: Calls, tokens: tuple[int, int]) -> str | None:
    """Cost of input and output tokens as decimal text with four places; None where the protocol names no prices."""
    if not calls.input_price or not calls.output_price:
        return None
    read_tokens, written = tokens
    exact = Fraction(calls.input_price) * read_tokens + Fraction(calls.output_price) * written
    whole = Decimal(exact.numerator) / Decimal(exact.denominator) / 1_000_000
    return str(whole.quantize(Decimal("0.0001"), ROUND_HALF_UP))


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a stage is.

    Attributes:
        done, total: Cells.
        per_minute: Cells accepted in a minute of this run; None while that is unknown.
        tokens: Input, output.
        cost: Decimal text; None where there are no prices.
        note: What else a person should know, such as an open batch.
    """

    done: int
    total: int
    per_minute: float | None
    tokens: tuple[int, int]
    cost: str | None
    note: str = ""

    @property
    def seconds_left(self) -> int | None:
        """At the present rate."""
        return round((self.total - self.done) * 60 / self.per_minute) if self.per_minute else None

    def __str__(self) -> str:
        parts = [f"{self.done:,} of {self.total:,}"]
        if self.per_minute:
            parts.append(f"{self.per_minute:,.0f} a minute")
        if any(self.tokens):
            parts.append(f"{sum(self.tokens):,} tokens")
        if self.cost is not None:
            parts.append(f"cost {self.cost}")
        if self.seconds_left:
            parts.append(f"{words(self.seconds_left)} left")
        return " · ".join([*parts, self.note] if self.note else parts)


def words(seconds: int) -> str:
    """A length of time for people."""
    if seconds < 90:
        return f"{seconds} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Meter:
    """Standing of a stage while it runs, told with every accepted reply.

    Args:
        what: In one word, for the line.
        calls: Prices.
        done: Cells accepted before this run.
        total: Cells.
        tell: Shows it.
    """

    def __init__(self, what: str, calls: Calls, done: int, total: int, tell: Progress) -> None:
        self._what, self._calls, self._before, self._total, self._tell = what, calls, done, total, tell
        self._start, self._lock = time.monotonic(), threading.Lock()

    def show(self, done: int, tokens: list[int], note: str = "") -> None:
        """Tell how far the stage is."""
        minutes = (time.monotonic() - self._start) / 60
        rate = (done - self._before) / minutes if done > self._before and minutes > 0 else None
        used = (tokens[0], tokens[1])
        standing = Standing(done, self._total, rate, used, cost_of(self._calls, used), note)
        with self._lock:
            self._tell(f"{self._what} {standing}", done, self._total)


def records_of(path: Path) -> Iterator[Record]:
    """Records of a ledger of calls, also while another process writes it; up to a line that is not whole."""
    with path.open("rb") as stream:
        for line in stream:
            try:
                if line.endswith(b"\n"):
                    yield codec.plain(line)
            except CodecError:
                return


def spent(study: Path, besides: str) -> tuple[int, int]:
    """Calls and tokens of a study's other ledgers of calls; adapters that answer in this process cost nothing.

    Args:
        study: Its folder.
        besides: The ledger that counts for itself.
    """
    calls, tokens = 0, 0
    ledgers = [path for path in study.rglob("*.jsonl") if is_calls(path.relative_to(study).as_posix())]
    for path in ledgers:
        if path == study / besides or not path.is_file():
            continue
        for record in records_of(path):
            if record.get("kind") == "start" and record["origin"] != THIS_MACHINE:
                calls += 1
            elif record.get("outcome") == "accepted":
                reply = reply_of(record)
                tokens += sum(count for name, count in read(reply.status, reply.body).usage if name in TOKENS)
    return calls, tokens


def facts(path: Path, calls: Calls, total: int) -> dict[str, Any]:
    """What a ledger of calls says, also while another process writes it; streams, and takes no lock.

    Returns:
        Counts, tokens, cost, rate and time left, and the batch that is open.
    """
    started = accepted = size = waiting = 0
    tokens = [0, 0]
    run, first, last, in_run = "", "", "", 0
    batch: dict[str, Any] | None = None
    outcomes: dict[str, int] = {}
    open_items: set[str] = set()
    for record in records_of(path):
        kind = record.get("kind")
        if record.get("run", run) != run and kind in ("start", "created"):
            run, first, in_run = record["run"], record["wall"], 0
        last = record.get("wall", last)
        if kind == "start":
            started += 1
        elif kind == "batch":
            open_items = set(record["items"])
            batch, size = {"since": record["wall"], "calls": len(open_items)}, len(open_items)
        elif kind == "created" and batch is not None:
            batch["batch_id"] = record["batch_id"]
        elif kind == "end":
            outcomes[record["outcome"]] = outcomes.get(record["outcome"], 0) + 1
            open_items.discard(record["attempt"])
            if record["outcome"] == "accepted":
                accepted, in_run = accepted + 1, in_run + 1
                reply = reply_of(record)
                usage = dict(read(reply.status, reply.body).usage)
                tokens = [held + usage.get(name, 0) for held, name in zip(tokens, TOKENS, strict=True)]
    waiting = len(open_items)
    minutes = _minutes(first, last)
    used = (tokens[0], tokens[1])
    standing = Standing(accepted, total, in_run / minutes if minutes and in_run else None, used, cost_of(calls, used))
    found: dict[str, Any] = {
        "calls": started, "accepted": accepted, "cells": total,
        "outcomes": dict(sorted(outcomes.items())), "input_tokens": tokens[0], "output_tokens": tokens[1],
        "last_call": last or None,
    }  # fmt: skip
    if standing.cost is not None:
        found["cost"] = standing.cost
    if standing.per_minute and accepted < total:
        found["cells_a_minute"], found["seconds_left"] = round(standing.per_minute, 1), standing.seconds_left
    if batch is not None and waiting:
        found["open_batch"] = {**batch, "calls": size, "waiting": waiting}
    return found


def _minutes(first: str, last: str) -> float:
    try:
        start, end = (datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (first, last))
    except ValueError:
        return 0.0
    return (end - start).total_seconds() / 60
