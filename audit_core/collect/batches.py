"""Calls that travel in batches: recorded before a batch is made, found again after a crash, accepted when complete.

Batches follow one another. Whatever happens between two records, the next run goes on: a batch whose name is known
is awaited, one whose name is not is looked for among the batches that are newer than the last one before it, and only
when the service does not have it are its calls made again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from audit_core.adapters.batches import BYTES, BatchError, Batches, Made
from audit_core.calls import request_of
from audit_core.collect.attempts import Attempts
from audit_core.collect.limits import Budget, Health, pause_of, refused, unanswered
from audit_core.collect.progress import Meter
from audit_core.collection import Calls
from audit_core.digests import canonical
from audit_core.errors import Problem, StorageError
from audit_core.outcomes import AGAIN, Reply
from audit_core.tally import Batch, Key

FIRST_POLL, LONGEST_POLL = 2.0, 60.0
SETTLE = 30.0
"""Seconds after which a batch that was made must be in the service's list."""

Piece = tuple[Key, dict[str, Any]]
"""What a call is for, and its request."""


class Service(Protocol):
    """An adapter that can send requests to any path of its service."""

    origin: str

    def ask(self, path: str, body: dict[str, Any] | None = None, deadline: float | None = None) -> Reply:
        """One request."""


def batch_all(
    work: Iterator[tuple[Key, Callable[[], str]]],
    attempts: Attempts,
    service: Service,
    calls: Calls,
    *,
    limit: Budget,
    health: Health,
    meter: Meter,
    pause: Callable[[float], object],
) -> None:
    """Draw an accepted reply for every piece of work, batch by batch; see `caller.call_all`."""
    run = _Run(attempts, service, calls, limit, health, meter, pause)
    for batch in list(attempts.tally.batches.values()):
        if batch.batch_id or run.found(batch):
            run.collect(batch, {})
    run.all_of(work)


class _Run:
    def __init__(
        self,
        attempts: Attempts,
        service: Service,
        calls: Calls,
        limit: Budget,
        health: Health,
        meter: Meter,
        pause: Callable[[float], object],
    ) -> None:
        self._attempts, self._calls, self._origin = attempts, calls, str(service.origin)
        self._batches = Batches(service.ask, calls.base_url)
        self._limit, self._health, self._meter, self._pause = limit, health, meter, pause
        self._again: deque[Piece] = deque()
        self._tries: dict[Key, int] = {}

    def all_of(self, work: Iterator[tuple[Key, Callable[[], str]]]) -> None:
        fresh = ((key, request_of(self._calls, prompt())) for key, prompt in work)
        while pieces := self._some(fresh):
            after = self._patiently(self._batches.newest)
            batch, items = self._attempts.begin_batch(
                pieces, model=str(pieces[0][1]["model"]), origin=self._origin, after=after
            )
            named = dict(zip(items, pieces, strict=True))
            if self._made(batch, named):
                self.collect(batch, named)

    def _some(self, fresh: Iterator[Piece]) -> list[Piece]:
        """The calls of the next batch: within its size, the service's limit and the budget."""
        pieces: list[Piece] = []
        size = tokens = 0
        while len(pieces) < self._calls.batch_size:
            piece = self._again.popleft() if self._again else next(fresh, None)
            if piece is None:
                break
            size += len(canonical(piece[1])) + 100
            tokens += (most := self._limit.most_tokens(piece[1]))
            if not self._limit.fits(len(pieces) + 1, tokens):
                if not pieces:
                    raise self._limit.used_up(most)
                self._again.appendleft(piece)
                break
            if size > BYTES and pieces:
                self._again.appendleft(piece)
                break
            pieces.append(piece)
        return pieces

    def _made(self, batch: Batch, named: dict[str, Piece]) -> bool:
        """Have the service make a batch; False where it did not, and the calls wait for the next one."""
        began = time.monotonic()
        try:
            made = self._batches.create([(attempt, request) for attempt, (_, request) in named.items()])
            if made.batch_id in self._attempts.tally.batch_ids:
                raise BatchError(f"the service names a new batch {made.batch_id} as an earlier one", again=True)
        except BatchError as fault:
            if fault.status is not None and fault.status < 500 and fault.status not in (200, 408, 409):
                self._attempts.end_batch(batch, ((a, Reply(fault.status, b"", error="the batch")) for a in batch.items))
                if not fault.again:
                    raise refused(fault.reason, self._origin) from None
            elif self.found(batch):
                return True
            for key, _ in named.values():
                self._tried(key, fault.reason)
            self._again.extendleft(reversed(named.values()))
            self._failed(began, fault)
            return False
        self._attempts.created(batch, made.batch_id)
        self._health.well()
        return True

    def found(self, batch: Batch) -> bool:
        """Whether the service has a batch whose name is not known; its calls are interrupted where it has not.

        A list of batches does not say what they hold, so each of the right size is awaited and its results are read.
        """
        others = set(self._attempts.tally.batch_ids)
        for look in range(2):
            if look:
                self._pause(SETTLE)
            for made in self._patiently(lambda: list(self._batches.since(batch.after))):
                if made.batch_id in others or made.size != len(batch.items):
                    continue
                others.add(made.batch_id)
                ended = self._ended(made.batch_id)
                if ended is None or ended.archived:
                    continue
                results = self._patiently(lambda ended=ended: self._batches.results(ended))  # type: ignore[misc]
                if results.keys() == set(batch.items):
                    self._attempts.created(batch, made.batch_id)
                    return True
        self._attempts.give_up(batch, "the service does not have the batch")
        return False

    def collect(self, batch: Batch, named: dict[str, Piece]) -> None:
        """Await a batch and take its results in, when they are complete."""
        began = time.monotonic()
        ended = self._ended(batch.batch_id)
        if ended is None or ended.archived:
            self._attempts.give_up(batch, gone := "the service no longer has the results of the batch")
            for piece in named.values():
                self._later(piece, gone)
            return
        items = set(batch.items)

        def complete() -> dict[str, Reply]:
            made = self._batches.retrieve(batch.batch_id)
            results = self._batches.results(made)
            if results.keys() != items:
                raise BatchError(f"the results of {batch.batch_id} are not those of its requests", again=True)
            return results

        results = self._patiently(complete)
        readings = self._attempts.end_batch(batch, ((attempt, results[attempt]) for attempt in batch.items))
        final = ""
        for attempt, reading in readings:
            if reading.outcome == "accepted":
                self._health.accepted(reading.model)
            elif reading.outcome not in AGAIN:
                final = final or f"{reading.reason} ({results[attempt].error})"
            elif attempt in named:
                self._later(named[attempt], reading.reason)
        self._meter.show(self._attempts.tally.done, self._attempts.tally.tokens)
        if final:
            raise refused(final, self._origin)
        if readings and all(reading.outcome != "accepted" for _, reading in readings):
            self._failed(began, BatchError(f"no request of a batch was answered: {readings[0][1].reason}", again=True))

    def _later(self, piece: Piece, reason: str) -> None:
        self._tried(piece[0], reason)
        self._again.append(piece)

    def _tried(self, key: Key, reason: str) -> None:
        """Count a try of a cell; failures in a row do not bound them, because other requests succeed between."""
        self._tries[key] = self._tries.get(key, 0) + 1
        if self._tries[key] >= self._calls.tries:
            raise unanswered(key, self._calls.tries, reason)

    def _ended(self, batch_id: str) -> Made | None:
        """A batch after its end; None where the service no longer knows it."""
        wait = FIRST_POLL
        while True:
            try:
                made = self._patiently(lambda: self._batches.retrieve(batch_id), gone=True)
            except LookupError:
                return None
            if made.ended:
                return made
            self._meter.show(
                self._attempts.tally.done, self._attempts.tally.tokens, f"{made.size:,} calls in {batch_id}"
            )
            self._pause(wait)
            wait = min(wait * 1.5, LONGEST_POLL)

    def _patiently(self, ask: Callable[[], Any], *, gone: bool = False) -> Any:
        """An answer of the service, asked again while that can help.

        Raises:
            LookupError: It is not there, and the caller wants to know.
            StorageError: The service refuses or keeps failing.
        """
        while True:
            began = time.monotonic()
            try:
                found = ask()
            except BatchError as fault:
                if gone and fault.status == 404:
                    raise LookupError from None
                if not fault.again:
                    raise self._final(fault) from None
                self._failed(began, fault)
                continue
            self._health.well()
            return found

    def _final(self, fault: BatchError) -> StorageError:
        if fault.status is not None:
            return refused(fault.reason, self._origin)
        return StorageError(
            Problem(
                fault.reason, f"results at {self._origin}", "another address",
                action="Nothing was fetched or lost. Ask the service's operator, then run the same command.",
            )
        )  # fmt: skip

    def _failed(self, began: float, fault: BatchError) -> None:
        self._health.failed(began, fault.reason)
        self._pause(pause_of(fault.retry_after, 5.0, self._origin))
