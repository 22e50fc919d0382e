"""What bounds a run: the budget, the rate, failures in a row, and that one model answers throughout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from audit_core.collect.attempts import Attempts
from audit_core.errors import NotMeasurableError, Problem, StorageError

BREAKER = 10
"""Failures in a row, over all cells, after which a run stops."""
LONGEST_PAUSE = 600.0
"""Seconds; a service that asks for more stops the run."""


class Budget:
    """Most calls and most tokens of a study over all its stages and runs; never exceeded.

    A call reserves the most tokens that it can use: one for each byte of its request, and its ``max_tokens``. Where
    calls under way leave no room, the next one waits for what they really use.

    Args:
        attempts: What this stage used so far.
        calls, tokens: Limits; 0 for none.
        spent: Calls and tokens of other stages.
    """

    def __init__(self, attempts: Attempts, calls: int, tokens: int, spent: tuple[int, int] = (0, 0)) -> None:
        self._attempts, self._calls, self._tokens = attempts, calls, tokens
        self._spent = spent
        self._changed = threading.Condition()
        self._under_way = self._reserved = 0

    @staticmethod
    def most_tokens(request: dict[str, Any]) -> int:
        """The most tokens that a request can use."""
        text = sum(len(str(message["content"]).encode("utf-8", "replace")) for message in request["messages"])
        return text + 64 + int(request.get("max_tokens", 0))

    def reserve(self, request: dict[str, Any], stop: threading.Event) -> bool:
        """Take room for one call, waiting for calls under way where they hold it.

        Returns:
            False when the run stops meanwhile.

        Raises:
            NotMeasurableError: There is no room.
        """
        most = self.most_tokens(request) if self._tokens else 0
        with self._changed:
            while not stop.is_set():
                if self.fits(1, most):
                    self._under_way += 1
                    self._reserved += most
                    return True
                if not self._under_way:
                    raise self.used_up(most)
                self._changed.wait(0.1)
        return False

    def release(self, request: dict[str, Any]) -> None:
        """Give back what a call reserved, once its start and its end are in the ledger."""
        with self._changed:
            self._under_way -= 1
            self._reserved -= self.most_tokens(request) if self._tokens else 0
            self._changed.notify_all()

    def fits(self, calls: int, tokens: int) -> bool:
        """Whether so many further calls with so many tokens stay within the limits."""
        used = self._used_calls + self._waiting_calls() + calls
        return (not self._calls or used <= self._calls) and (
            not self._tokens or self._used_tokens + self._reserved + tokens <= self._tokens
        )

    @property
    def _used_calls(self) -> int:
        return self._spent[0] + self._attempts.calls

    @property
    def _used_tokens(self) -> int:
        return self._spent[1] + self._attempts.tokens

    def _waiting_calls(self) -> int:
        """Calls that have room but no start record yet; counted as all calls under way, which never is too few."""
        return max(0, self._under_way - len(self._attempts.tally.open))

    def used_up(self, tokens: int) -> NotMeasurableError:
        """The message that names the limit that was met."""
        calls_met = self._calls and self._used_calls >= self._calls
        limit, used, word = (
            (self._calls, f"{self._used_calls:,}", "calls")
            if calls_met
            else (self._tokens, f"{self._used_tokens:,}, and the next call may use {tokens:,}", "tokens")
        )
        return NotMeasurableError(
            Problem(
                f"the budget of {word} is used up",
                f"at most {limit:,}",
                used,
                action="Everything accepted is kept; a larger budget needs a new protocol.",
            )
        )


class Pace:
    """Most calls in a minute, evenly spaced, over all threads.

    Args:
        rate: Calls in a minute; 0 for no limit.
        pause: Waits so many seconds.
        clock: Seconds that only grow.
    """

    def __init__(
        self, rate: int, pause: Callable[[float], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._space, self._pause, self._clock = 60 / rate if rate else 0.0, pause, clock
        self._lock, self._next = threading.Lock(), clock()

    def wait(self) -> None:
        """Return when the next call may be made."""
        if not self._space:
            return
        with self._lock:
            turn = max(self._next, self._clock())
            self._next = turn + self._space
        if (left := turn - self._clock()) > 0:
            self._pause(left)


class Health:
    """Failures in a row, and that one model answers.

    Calls that failed side by side are one failure: a service that refuses thirty calls at once has failed once.

    Args:
        models: That answered in earlier runs.
    """

    def __init__(self, models: set[str]) -> None:
        self._lock = threading.Lock()
        self._models, self._failures, self._last = set(models), 0, 0.0

    def failed(self, began: float, reason: str) -> None:
        """Note a failure.

        Args:
            began: When the call began, by `time.monotonic`.
            reason: For the message.

        Raises:
            StorageError: It is one too many.
        """
        with self._lock:
            if began < self._last:
                return
            self._failures, self._last = self._failures + 1, time.monotonic()
            if self._failures >= BREAKER:
                raise StorageError(
                    Problem(
                        "the service keeps failing",
                        "an answer",
                        f"{self._failures} failures in a row, the last: {reason}",
                        action="Run the same command again later; nothing is lost.",
                    )
                )

    def well(self) -> None:
        """Note that the service did what it was asked."""
        with self._lock:
            self._failures = 0

    def accepted(self, model: str | None) -> None:
        """Note an accepted reply.

        Raises:
            StorageError: Another model gave it than the replies before.
        """
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


def pause_of(retry_after: float | None, failure: float, origin: str) -> float:
    """Seconds to wait before a call is made again.

    Args:
        retry_after: What the service asks for.
        failure: What is waited without that.
        origin: Of the service, for the message.

    Raises:
        StorageError: The service asks for longer than a run waits.
    """
    if retry_after is None:
        return failure
    if retry_after > LONGEST_PAUSE:
        raise StorageError(
            Problem(
                f"the service asks to wait {retry_after:.0f} s",
                f"at most {LONGEST_PAUSE:.0f} s",
                "more",
                origin,
                "Run the same command again then; nothing is lost.",
            )
        )
    return max(0.0, retry_after)


def refused(reason: str, origin: str) -> StorageError:
    """The message for a request that will never be answered."""
    return StorageError(
        Problem(
            "the service refused the request",
            "an answer",
            reason,
            origin,
            "Check the key, the model's name and the address; the protocol itself is locked.",
        )
    )


def unanswered(key: tuple[object, ...], tries: int, reason: str) -> StorageError:
    """The message for a cell whose tries are used up in this run."""
    return StorageError(
        Problem(
            "a cell could not be answered",
            f"an answer within {tries} tries",
            reason,
            " / ".join(map(str, key)),
            "Run the same command again; nothing is lost.",
        )
    )
