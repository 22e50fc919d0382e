"""Every error a user can see, and the exit code each one ends with.

    AuditError               2   (base; never raised itself)
    ├── InputError           2   a file, option or record is not what it must be
    ├── LedgerError          2   a ledger line is damaged, or a ledger cannot be extended
    ├── GateError            2   a lock is missing, out of order or already there
    ├── VerificationError    1   a check failed
    ├── StorageError         3   the disk, the database or the network refused
    └── NotMeasurableError   4   the data cannot answer the question (never the same as "failed")

A message has four parts: what is wrong, what was expected, what was found and where, what to do.
One exception can carry many problems, so that a user sees every bad line at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHOWN = 20
"""How many problems one message lists before it says how many more there are."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in four parts.

    Attributes:
        what: What is wrong, as a short clause without a full stop.
        expected: What should have been there.
        found: What was there instead.
        where: File, line, record or option.
        action: What to do, as a full sentence.
    """

    what: str
    expected: str = ""
    found: str = ""
    where: str = ""
    action: str = ""

    def __str__(self) -> str:
        text = self.what
        details = [f"{word} {value}" for word, value in (("expected", self.expected), ("found", self.found)) if value]
        if details:
            text += ": " + ", ".join(details)
        if self.where:
            text += f" ({self.where})"
        text += "."
        if self.action:
            text += " " + self.action
        return visible(text)


class AuditError(Exception):
    """Base of all errors meant for people.

    Args:
        problems: One problem or several; the message lists the first twenty.
    """

    exit_code = 2

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:SHOWN]]
        hidden = len(self.problems) - SHOWN
        if hidden > 0:
            lines.append(f"… and {hidden} more of the same kind of problem.")
        return "\n".join(lines)


class InputError(AuditError):
    """A file, option or record is not what it must be."""


class LedgerError(AuditError):
    """A ledger line is damaged, or the ledger cannot be extended."""


class GateError(AuditError):
    """A lock is missing, out of order or already there."""


class VerificationError(AuditError):
    """A check of a study failed."""

    exit_code = 1


class StorageError(AuditError):
    """The disk, the database or the network refused."""

    exit_code = 3


class NotMeasurableError(AuditError):
    """The data cannot answer the question; this is not the same as a failed check."""

    exit_code = 4


_HIDDEN = {*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0xFEFF, *range(0x202A, 0x202F)}
_HIDDEN |= {*range(0x2066, 0x206A), *range(0xD800, 0xE000)}
_HIDDEN -= {0x0A}


def visible(text: str) -> str:
    """Text with control, bidirectional, zero-width and lone surrogate characters written as escapes.

    Messages quote untrusted files; a terminal must not obey what they contain.
    """
    if all(ord(character) not in _HIDDEN for character in text):
        return text
    return "".join(f"\\u{ord(c):04x}" if ord(c) in _HIDDEN else c for c in text)
