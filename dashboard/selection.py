"""What is compared, as a value: the study, two of its states, the kernel and the view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STUDY, OLD, NEW, KERNEL, VIEW = "study", "old", "new", "kernel", "view"
KEYS = (STUDY, OLD, NEW, KERNEL, VIEW)
KERNELS = {"semantic": "semantic", "exact": "normalized exact"}
CORRECTED, UNCORRECTED = "corrected", "uncorrected"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """The comparison that every page shows.

    Attributes:
        old: Name of the old state; equal to `new` only where a study has a single state.
        kernel: ``exact`` or ``semantic``.
        uncorrected: True where the reader asked what a one-shot comparison would have claimed.
        problems: Sentences about parts of the URL that could not be followed.
    """

    study: str
    old: str
    new: str
    kernel: str
    uncorrected: bool = False
    problems: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, str]:
        """The shared part of every link."""
        return {STUDY: self.study, OLD: self.old, NEW: self.new, KERNEL: self.kernel}


def default_pair(row: Row) -> tuple[str, str]:
    """The endpoints of a study; without declared ones its first and last state that retrieve, else first and last."""
    if row["old_state"] and row["new_state"]:
        return row["old_state"], row["new_state"]
    open_book = [state["state"] for state in row["states"] if not state["closed_book"]]
    names = open_book if len(open_book) > 1 else [state["state"] for state in row["states"]]
    return names[0], names[-1]
