"""Making the calls of a stage: bounded concurrency, pauses, a budget, a circuit breaker, and no drift of the model."""

from __future__ import annotations

import datetime
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from audit_core.calls import Key, request_of
from audit_core.collect.attempts import Attempts
from audit_core.collect.senders import Sender
from audit_core.collection import Calls
from audit_core.errors import NotMeasurableError, Problem, StorageError
from audit_core.outcomes import AGAIN

BREAKER = 10
"""Failures in a row, over all cells, after which a run stops."""
LONGEST_PAUSE = 600.0
Progress = Callable[[str, int, int], None]


def new_run() -> str:
    """Random text that marks this process in the ledger."""
    return secrets.token_hex(4)


def call_all(
    work: Sequence[tuple[Key, Callable[[], str]]],
    attempts: Attempts,
    adapter: Sender,
    calls: Calls,
    *,
    budget: tuple[int, int],
    progress: Progress = lambda _what, _done, _total: None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Draw an accepted reply for every piece of work that has none.

    Args:
        work: What each call is for, and a function that makes its prompt.
        attempts: The stage's ledger.
        adapter: Answers.
        calls: Concurrency and tries.
        budget: Most calls and most tokens over all runs; 0 for no limit.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.

    Raises:
        NotMeasurableError: The budget is used up.
        StorageError: The service refuses or keeps failing; everything accepted is kept, and the run can be resumed.
    """
    left = [(key, prompt) for key, prompt in work if key not in attempts.accepted]
    state = _State(attempts, budget, len(work), len(work) - len(left), progress)
    progress("calls", state.done, state.total)
    with ThreadPoolExecutor(calls.concurrency) as pool:
        futures = [pool.submit(_one, key, prompt, attempts, adapter, calls, state, pause) for key, prompt in left]
        wait(futures, return_when=FIRST_EXCEPTION)
        if any(future.done() and not future.cancelled() and future.exception() for future in futures):
            state.stop.set()
            for future in futures:
                future.cancel()
        wait(futures)
    for future in futures:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error


class _State:
    def __init__(self, attempts: Attempts, budget: tuple[int, int], total: int, done: int, progress: Progress) -> None:
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._attempts, self._budget, self._progress = attempts, budget, progress
        self.total, self.done, self._failures = total, done, 0
        self._models = {a.reading.model for a in attempts.accepted.values() if a.reading.model}

    def may_call(self) -> None:
        calls, tokens = self._budget
        for limit, used, word in ((calls, self._attempts.calls, "calls"), (tokens, self._attempts.tokens, "tokens")):
            if limit and used >= limit:
                raise NotMeasurableError(
                    Problem(
                        f"the budget of {word} is used up",
                        f"at most {limit:,}",
                        f"{used:,}",
                        action="Everything accepted is kept; a larger budget needs a new protocol.",
                    )
                )

    def failed(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= BREAKER:
                raise StorageError(
                    Problem(
                        "the service keeps failing",
                        "an answer",
                        f"{self._failures} failures in a row, the last: {reason}",
                        action="Run the same command again later; nothing is lost.",
                    )
                )

    def accepted(self, model: str | None) -> None:
        with self._lock:
            self._failures = 0
            if model:
                self._models.add(model)
            if len(self._models) > 1:
                raise StorageError(
                    Problem(
                        "another model answered than before",
                        "one model",
                        ", ".join(sorted(self._models)),
                        action="A study has one generator; make a new study for the new model.",
                    )
                )
            self.done += 1
            self._progress("calls", self.done, self.total)


def _one(
    key: Key,
    prompt: Callable[[], str],
    attempts: Attempts,
    adapter: Sender,
    calls: Calls,
    state: _State,
    pause: Callable[[float], None],
) -> None:
    request = request_of(calls, prompt())
    for number in range(calls.tries):
        if state.stop.is_set():
            return
        state.may_call()
        wall = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        attempt = attempts.begin(key, request, model=str(request["model"]), origin=adapter.origin, wall=wall)
        reply = adapter.send(request, attempt)
        reading = attempts.end(attempt, key, reply)
        if reading.outcome == "accepted":
            state.accepted(reading.model)
            return
        if reading.outcome not in AGAIN:
            raise StorageError(
                Problem(
                    "the service refused the request",
                    "an answer",
                    reading.reason,
                    str(adapter.origin),
                    "Check the key, the model's name and the address; the protocol itself is locked.",
                )
            )
        state.failed(reading.reason or str(reply.error))
        wait_for = reply.retry_after
        if wait_for is not None and wait_for > LONGEST_PAUSE:
            raise StorageError(
                Problem(
                    f"the service asks to wait {wait_for:.0f} s",
                    f"at most {LONGEST_PAUSE:.0f} s",
                    "more",
                    str(adapter.origin),
                    "Run the same command again then; nothing is lost.",
                )
            )
        pause(wait_for if wait_for is not None else min(0.5 * 2**number, 60) * (0.5 + random.random() / 2))  # noqa: S311
    raise StorageError(
        Problem(
            "a cell could not be answered",
            f"an answer within {calls.tries} tries",
            reading.reason,
            " / ".join(map(str, key)),
            "Run the same command again; nothing is lost.",
        )
    )
