"""All estimates of the selected pair of states, locked where the study has them, otherwise live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dashboard.numbers import percent
from dashboard.selection import Selection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All estimates that concern the selected pair of states.

    Attributes:
        study: The study's row.
        rows: Estimates by name: the locked ones and, for a pair outside them, live ones.
        estimates: The locked ones alone.
        locked: True where the pair is part of the locked results.
        coverage: Answers and errors per state and repeat; nothing where the caller does not know them.
    """

    selection: Selection
    study: Row
    rows: dict[str, Row]
    estimates: dict[str, Row]
    locked: bool
    coverage: Callable[[], list[Row]] = list

    @property
    def level(self) -> str:
        """Confidence of the bounds in words: the protocol's for locked estimates, 95% for live ones."""
        fixed = ((self.study["protocol"] or {}).get("bootstrap") or {}).get("level") if self.locked else None
        return percent(Fraction(fixed or "0.95"), 1).replace(".0%", "%")

    def named(self, name: str) -> Row:
        """The estimate of that name, or one without a value that says it is not there."""
        return self.rows.get(name) or absent(name)

    def pair(self, measure: str, kernel: str | None = None) -> Row:
        """An estimate of the selected pair."""
        index = f"[{kernel}]" if kernel else ""
        return self.named(f"{measure}{index}@{self.selection.old}-{self.selection.new}")

    def state(self, measure: str, state: str, kernel: str | None = None) -> Row:
        """An estimate of one state."""
        return self.named(f"{measure}[{kernel}]@{state}" if kernel else f"{measure}@{state}")


def absent(name: str) -> Row:
    """An estimate that this study does not have."""
    empty = dict.fromkeys(("value", "numerator", "denominator", "lower", "low", "high", "kernel", "old", "new"))
    return {
        **empty,
        "name": name,
        "measure": name.split("@")[0].split("[")[0],
        "unit": "",
        "status": "",
        "reason": "This study has no such estimate.",
        "population": 0,
        "excluded": 0,
        "detail": {},
    }
