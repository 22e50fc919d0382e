"""Durable calls: the start record is on disk before a call is made, the end record with the raw body after it.

One append-only ledger per stage is the single source of truth; cells are derived from it. A cell's accepted answer is
immutable: nothing here can draw it again.
"""

from __future__ import annotations

import base64
import datetime
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from audit_core.codec import Record
from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem
from audit_core.ledger import Ledger
from audit_core.outcomes import Reading, Reply, read
from audit_core.study import ATTEMPT
from audit_core.tally import Batch, Key, Slots, Tally

BODY_LIMIT = 2 << 20
"""Most bytes of a stored body: however it is escaped, its record fits into a line."""
TOGETHER = 500
"""Most end records of a batch that share one write."""


class Attempts:
    """The ledger of one stage's calls, open for appending; usable from several threads.

    Opening ends every call that a crash left open with the outcome ``interrupted``: its result was never seen. Calls
    that travel in a batch stay open: the service still has them.

    Args:
        path: Of the ledger.
        prev: SHA-256 of the lock before.
        run: Random text of this process.
        slots: Numbers of the planned calls.
    """

    def __init__(self, path: Path, prev: str, run: str, slots: Slots) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.tally = Tally(path, slots)
        self._ledger = Ledger(path, prev, ATTEMPT, "attempt", self.tally.add)
        self._lock = threading.Lock()
        self._run = run
        left = [attempt for attempt, call in self.tally.open.items() if call.batch is None]
        self.interrupted = len(left)
        try:
            self._interrupt(left, "")
        except BaseException:
            self.close()
            raise

    @property
    def calls(self) -> int:
        """Calls started so far, over all runs."""
        return self.tally.calls

    @property
    def tokens(self) -> int:
        """Tokens of accepted replies so far, over all runs."""
        return sum(self.tally.tokens)

    def begin(self, key: Key, request: dict[str, Any], *, model: str, origin: str) -> str:
        """Record that a call is about to be made; on disk when this returns.

        Returns:
            The attempt's identifier, never used before.
        """
        with self._lock:
            start = self._start(key, request, model, origin, self.tally.calls + 1, self.tally.attempts(key) + 1)
            ticket = self._put(start)
        self._ledger.commit(ticket)
        return str(start["attempt"])

    def end(self, attempt: str, reply: Reply) -> Reading:
        """Record what came back; on disk when this returns.

        Returns:
            The reply as read; an accepted one is now the cell's.
        """
        reading, record = _end(attempt, reply)
        with self._lock:
            ticket = self._put(record)
        self._ledger.commit(ticket)
        return reading

    def begin_batch(
        self, work: Sequence[tuple[Key, dict[str, Any]]], *, model: str, origin: str, after: str
    ) -> tuple[Batch, list[str]]:
        """Record that a batch of calls is about to be made; all of it is on disk when this returns.

        The record of the batch comes last, so that a torn write leaves calls that were never sent.

        Returns:
            The batch, and the attempt of each piece of work.
        """
        with self._lock:
            first = self.tally.calls + 1
            starts = [
                self._start(key, request, model, origin, first + i, self.tally.attempts(key) + 1)
                for i, (key, request) in enumerate(work)
            ]
            items = [str(start["attempt"]) for start in starts]
            name = f"batch-{self.tally.made + 1:05d}-{self._run}"
            record = {"attempt": name, "kind": "batch", "items": items, "run": self._run, "origin": origin,
                      "wall": _wall(), **({"after": after} if after else {})}  # fmt: skip
            ticket = self._put(*starts, record)
        self._ledger.commit(ticket)
        return self.tally.batches[name], items

    def created(self, batch: Batch, batch_id: str) -> None:
        """Record how the service names a batch; on disk when this returns."""
        with self._lock:
            ticket = self._put(
                {"attempt": batch.attempt, "kind": "created", "batch_id": batch_id, "run": self._run, "wall": _wall()}
            )
        self._ledger.commit(ticket)

    def end_batch(self, batch: Batch, replies: Iterable[tuple[str, Reply]]) -> list[tuple[str, Reading]]:
        """Record what came back for calls of a batch; those that ended before are left as they are.

        Returns:
            The attempts that ended now, and their replies as read.
        """
        readings: list[tuple[str, Reading]] = []
        waiting = ((a, *_end(a, reply)) for a, reply in replies if a in self.tally.open)
        while some := list(islice(waiting, TOGETHER)):
            with self._lock:
                ticket = self._put(*(record for _, _, record in some))
            self._ledger.commit(ticket)
            readings += ((attempt, reading) for attempt, reading, _ in some)
        return readings

    def give_up(self, batch: Batch, why: str) -> None:
        """Record that the outcome of a batch will never be seen; its calls are interrupted."""
        self._interrupt([attempt for attempt in batch.items if attempt in self.tally.open], why)

    def _interrupt(self, attempts: Sequence[str], why: str) -> None:
        for place in range(0, len(attempts), TOGETHER):
            more = {"error": why} if why else {}
            with self._lock:
                ticket = self._put(
                    *({"attempt": attempt, "kind": "end", "outcome": "interrupted", **more}
                      for attempt in attempts[place : place + TOGETHER])
                )  # fmt: skip
            self._ledger.commit(ticket)

    def _start(
        self, key: Key, request: dict[str, Any], model: str, origin: str, number: int, ordinal: int
    ) -> dict[str, Any]:
        if key in self.tally:
            raise InputError(
                Problem(
                    "a cell was accepted already",
                    "a cell without an accepted reply",
                    str(key),
                    action="Report this; accepted replies are never drawn again.",
                )
            )
        where: dict[str, Any] = {"question_id": key[0]}
        if len(key) == 3:
            where |= {"state": key[1], "repeat": key[2]}
        return {
            "attempt": f"{number:07d}-{self._run}", "kind": "start", **where, "ordinal": ordinal, "run": self._run,
            "request_sha256": sha256(canonical(request)), "model": model, "origin": origin, "wall": _wall(),
        }  # fmt: skip

    def _put(self, *records: Record) -> int:
        offsets, ticket = self._ledger.put(*records)
        for record, offset in zip(records, offsets, strict=True):
            self.tally.add(record, offset)
        return ticket

    def close(self) -> None:
        """Release the ledger."""
        self.tally.close()
        self._ledger.close()

    def __enter__(self) -> Attempts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(attempt: str, reply: Reply) -> tuple[Reading, Record]:
    if len(reply.body) > BODY_LIMIT:
        reply = Reply(None, b"", reply.request_id, None, f"a body of {len(reply.body)} bytes", reply.elapsed_ms)
    reading = read(reply.status, reply.body)
    record: Record = {"attempt": attempt, "kind": "end", "outcome": reading.outcome, "elapsed_ms": reply.elapsed_ms}
    if reply.status is not None:
        record["status"] = reply.status
    if reply.request_id:
        record["request_id"] = reply.request_id.encode("ascii", "replace").decode()
    if reply.error:
        record["error"] = reply.error
    if reply.retry_after is not None and 0 <= reply.retry_after < 1 << 31:
        record["retry_after_ms"] = int(reply.retry_after * 1000)
    if reply.body:
        try:
            record["body"] = reply.body.decode()
        except UnicodeDecodeError:
            record["body_base64"] = base64.b64encode(reply.body).decode()
    return reading, record


def _wall() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
