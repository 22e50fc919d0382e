"""Making the calls of a stage, by the transport that the protocol names."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from audit_core.calls import request_of
from audit_core.collect.attempts import Attempts
from audit_core.collect.batches import batch_all
from audit_core.collect.limits import Budget, Health, Pace, pause_of, refused, unanswered
from audit_core.collect.progress import Meter, Progress
from audit_core.collect.senders import Remote, Sender
from audit_core.collect.workers import work_together
from audit_core.collection import Calls
from audit_core.outcomes import AGAIN
from audit_core.tally import Key

Work = tuple[Key, Callable[[], str]]
"""What a call is for, and a function that makes its prompt."""


def new_run() -> str:
    """Random text that marks this process in the ledger."""
    return secrets.token_hex(4)


def call_all(
    work: Iterable[Work],
    attempts: Attempts,
    adapter: Sender,
    calls: Calls,
    *,
    budget: tuple[int, int],
    spent: tuple[int, int] = (0, 0),
    progress: Progress = lambda _what, _done, _total: None,
    pause: Callable[[float], object] | None = None,
) -> None:
    """Draw an accepted reply for every piece of work that has none.

    Args:
        work: In the order of the schedule; taken one by one, so that it need not fit into memory.
        attempts: The stage's ledger.
        adapter: Answers.
        calls: Transport, concurrency, rate and tries.
        budget: Most calls and most tokens of the study over all runs; 0 for no limit.
        spent: Calls and tokens of its other stages.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.

    Raises:
        NotMeasurableError: The budget is used up.
        StorageError: The service refuses or keeps failing; everything accepted is kept, and the run can be resumed.
    """
    stop = threading.Event()
    run = _Run(attempts, adapter, calls, Budget(attempts, *budget, spent), progress, stop, pause or stop.wait)
    left = ((key, prompt) for key, prompt in work if key not in attempts.tally)
    run.meter.show(attempts.tally.done, attempts.tally.tokens)
    if calls.transport == "batch":
        assert isinstance(adapter, Remote), "the protocol admits batches with the adapter messages only"
        batch_all(left, attempts, adapter, calls, limit=run.budget, health=run.health, meter=run.meter, pause=run.pause)
    else:
        shared = _Shared(left)
        work_together(calls.concurrency, lambda: run.draw(shared), stop)


class _Shared:
    """Work that several threads take from, one piece at a time."""

    def __init__(self, work: Iterator[Work]) -> None:
        self._work, self._lock = work, threading.Lock()

    def take(self) -> Work | None:
        with self._lock:
            return next(self._work, None)


class _Run:
    """One run of a stage over single calls."""

    def __init__(
        self,
        attempts: Attempts,
        adapter: Sender,
        calls: Calls,
        budget: Budget,
        progress: Progress,
        stop: threading.Event,
        pause: Callable[[float], object],
    ) -> None:
        self.attempts, self.adapter, self.calls, self.budget = attempts, adapter, calls, budget
        self.stop, self.pause = stop, pause
        self.health = Health(attempts.tally.models)
        self.pace = Pace(calls.rate, pause)
        self.meter = Meter("calls", calls, attempts.tally.done, len(attempts.tally.slots), progress)

    def draw(self, shared: _Shared) -> None:
        while not self.stop.is_set() and (piece := shared.take()):
            self._one(*piece)

    def _one(self, key: Key, prompt: Callable[[], str]) -> None:
        request, reason = request_of(self.calls, prompt()), ""
        for number in range(self.calls.tries):
            self.pace.wait()
            if not self.budget.reserve(request, self.stop):
                return
            began = time.monotonic()
            try:
                attempt = self.attempts.begin(
                    key, request, model=str(request["model"]), origin=str(self.adapter.origin)
                )
                reply = self.adapter.send(request, attempt)
                reading = self.attempts.end(attempt, reply)
            finally:
                self.budget.release(request)
            if reading.outcome == "accepted":
                self.health.accepted(reading.model)
                self.meter.show(self.attempts.tally.done, self.attempts.tally.tokens)
                return
            if reading.outcome not in AGAIN:
                raise refused(reading.reason, str(self.adapter.origin))
            reason = reading.reason or str(reply.error)
            self.health.failed(began, reason)
            usual = min(0.5 * 2**number, 60) * (0.5 + random.random() / 2)  # noqa: S311
            self.pause(pause_of(reply.retry_after, usual, str(self.adapter.origin)))
            if self.stop.is_set():
                return
        raise unanswered(key, self.calls.tries, reason)
