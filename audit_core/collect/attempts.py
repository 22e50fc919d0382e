"""Durable calls: the start record is on disk before a call is made, the end record with the raw body after it.

One append-only ledger per stage is the single source of truth; cells are derived from it. A cell's accepted answer is
immutable: nothing here can draw it again.
"""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any

from audit_core.calls import Accepted, Key, fold, reply_of
from audit_core.codec import Record
from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem
from audit_core.ledger import Ledger
from audit_core.outcomes import Reading, Reply, read
from audit_core.study import ATTEMPT


class Attempts:
    """The ledger of one stage's calls, open for appending; usable from several threads.

    Opening ends every call that a crash left open with the outcome ``interrupted``: its result was never seen.

    Args:
        path: Of the ledger.
        prev: SHA-256 of the lock before.
        run: Random text of this process.
    """

    def __init__(self, path: Path, prev: str, run: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._ledger = Ledger(path, prev, ATTEMPT, "attempt")
        self._lock = threading.Lock()
        self._run = run
        try:
            self.accepted, self.counts, left = fold(self._ledger.records)
            self._used = sum(self.counts.values())
            self.tokens = sum(
                value for record in self._ledger.records if record["kind"] == "end"
                for name, value in read(*_stored(record)).usage if name in ("input_tokens", "output_tokens")
            )  # fmt: skip
            for attempt in left:
                self._ledger.append({"attempt": attempt, "kind": "end", "outcome": "interrupted"})
            self.interrupted = len(left)
        except BaseException:
            self._ledger.close()
            raise

    @property
    def calls(self) -> int:
        """Calls started so far, over all runs."""
        return self._used

    def begin(self, key: Key, request: dict[str, Any], *, model: str, origin: str, wall: str) -> str:
        """Record that a call is about to be made; on disk when this returns.

        Returns:
            The attempt's identifier, never used before.
        """
        with self._lock:
            if key in self.accepted:
                raise InputError(
                    Problem(
                        "a cell was accepted already",
                        "a cell without an accepted reply",
                        str(key),
                        action="Report this; accepted replies are never drawn again.",
                    )
                )
            self._used += 1
            self.counts[key] = self.counts.get(key, 0) + 1
            attempt = f"{self._used:07d}-{self._run}"
            where: dict[str, Any] = {"question_id": key[0]}
            if len(key) == 3:
                where |= {"state": key[1], "repeat": key[2]}
            self._ledger.append({
                "attempt": attempt, "kind": "start", **where, "ordinal": self.counts[key], "run": self._run,
                "request_sha256": sha256(canonical(request)), "model": model, "origin": origin, "wall": wall,
            })  # fmt: skip
            return attempt

    def end(self, attempt: str, key: Key, reply: Reply) -> Reading:
        """Record what came back; on disk when this returns.

        Returns:
            The reply as read; an accepted one is now the cell's.
        """
        reading = read(reply.status, reply.body)
        record: dict[str, Any] = {
            "attempt": attempt,
            "kind": "end",
            "outcome": reading.outcome,
            "elapsed_ms": reply.elapsed_ms,
        }
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
        with self._lock:
            self._ledger.append(record)
            self.tokens += sum(v for name, v in reading.usage if name in ("input_tokens", "output_tokens"))
            if reading.outcome == "accepted":
                self.accepted[key] = Accepted(reading, self.counts[key])
        return reading

    def close(self) -> None:
        """Release the ledger."""
        self._ledger.close()

    def __enter__(self) -> Attempts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stored(record: Record) -> tuple[int | None, bytes]:
    reply = reply_of(record)
    return reply.status, reply.body
