"""Threads that share one piece of work: the first error stops them all, and calls under way get their end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

TICK = 0.1
"""Seconds."""


def work_together(count: int, job: Callable[[], None], stop: threading.Event) -> None:
    """Run a job in several threads until each has returned.

    A job looks at ``stop`` and returns soon after it is set. Ctrl-C sets it and waits for calls under way; a second
    Ctrl-C leaves at once, and the calls that it abandons are interrupted when the ledger is opened next.

    Args:
        count: Threads.
        job: What each runs.
        stop: Set by the first error.

    Raises:
        BaseException: The first error of a job.
    """
    errors: list[BaseException] = []

    def one() -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=one, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        _join(threads)
    except KeyboardInterrupt:
        stop.set()
        _join(threads)
        raise
    if errors:
        raise errors[0]


def _join(threads: Sequence[threading.Thread]) -> None:
    """Wait for threads, waking up now and then: where a worker was handed the signal, only then is it noticed here."""
    for thread in threads:
        while thread.is_alive():
            thread.join(TICK)
