"""Calls of a retrieval service: each bounded by a deadline, each counted, none repeated in silence."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from audit_core.adapters.hits import TEXT_LIMIT
from audit_core.errors import InputError, Problem, StorageError
from audit_core.prompts import Passage

T = TypeVar("T")
AGAIN = frozenset({408, 429, 500, 502, 503, 504})


class UnavailableError(Exception):
    """A call that gave no usable answer.

    Args:
        reason: For people; holds nothing of headers or keys.
        again: Whether another call may help.
    """

    def __init__(self, reason: str, *, again: bool) -> None:
        super().__init__(reason)
        self.again = again


def of_status(status: int, what: str = "") -> UnavailableError:
    """What an HTTP status other than success means; of the service's words only the name of an exception is told."""
    name = f", {what}" if re.fullmatch(r"[a-z_]{1,60}", what) else ""
    return UnavailableError(f"status {status}{name}", again=status in AGAIN)


class Calls:
    """The calls of one pass.

    Args:
        origin: Named in messages.
        tries: Calls for one list before the pass stops.
        deadline: Seconds of the wall clock for one call.
        pause: Waits between tries; replaced in tests.

    Attributes:
        made: Calls so far, also those that failed.
    """

    def __init__(self, origin: str, tries: int, deadline: float, pause: Callable[[float], None] = time.sleep) -> None:
        self._origin, self._tries, self._deadline, self._pause = origin, tries, deadline, pause
        self.made = 0

    def call(self, what: str, send: Callable[[], T]) -> T:
        """What one call gives.

        Args:
            what: The list that is asked for, for messages.
            send: One request; raises `UnavailableError`.

        Raises:
            StorageError: The service refuses, or keeps failing.
        """
        for number in range(self._tries):
            self.made += 1
            try:
                return self._bounded(send)
            except UnavailableError as error:
                reason = error
                if not error.again:
                    break
            if number + 1 < self._tries:
                self._pause(min(0.5 * 2**number, 30))
        raise StorageError(
            Problem(
                "the retrieval service gave no evidence",
                f"an answer within {self._tries} tries" if reason.again else "an answer",
                str(reason),
                f"{what} at {self._origin}",
                "Nothing was locked; correct the cause and run the same command again.",
            )
        )

    def _bounded(self, send: Callable[[], T]) -> T:
        box: list[T | BaseException] = []

        def work() -> None:
            try:
                box.append(send())
            except BaseException as error:
                box.append(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        worker.join(self._deadline)
        if not box:
            raise UnavailableError(f"no answer within {self._deadline:g} s", again=True)
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]


def key_of(variable: str) -> str:
    """The key in an environment variable; empty where the protocol names none.

    Raises:
        InputError: The variable is empty.
    """
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key:
        raise InputError(
            Problem("there is no key for the retrieval service", f"a key in {variable}", "nothing", "[retrieval]",
                    f"Set {variable}; the key itself is never stored."))  # fmt: skip
    return key


def passage(parts: dict[str, Any], key: str) -> Passage:
    """A passage of a service's document.

    Args:
        parts: id, text, title, url, family, as the service gave them; None where absent.
        key: Must not come back in a text.

    Raises:
        UnavailableError: The document has no id or text, or is not one that can be stored.
    """
    who = str(parts["id"])[:60]
    for name, value in parts.items():
        needed = name in ("id", "text")
        if value is None and not needed:
            parts[name] = ""
        elif not isinstance(value, str) or (needed and not value.strip()):
            raise UnavailableError(f"the document {who!r} has no {name}: found {str(value)[:40]!r}", again=False)
        elif len(value) > TEXT_LIMIT:
            raise UnavailableError(f"the {name} of {who!r} has {len(value):,} characters", again=False)
        elif any("\ud800" <= character <= "\udfff" for character in value):
            raise UnavailableError(f"the {name} of {who!r} is not valid Unicode", again=False)
        elif key and key in value:
            raise UnavailableError(f"the {name} of a document echoes the key", again=False)
    return Passage(parts["id"], parts["title"], parts["url"], parts["text"], parts["family"])


def unique(ids: list[str]) -> None:
    """Refuse a list that names a document twice.

    Raises:
        UnavailableError: It does.
    """
    twice = next((key for number, key in enumerate(ids) if key in ids[:number]), None)
    if twice is not None:
        raise UnavailableError(f"the document {twice[:60]!r} is twice in one list", again=False)
