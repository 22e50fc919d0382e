"""Numbers on pages: those of `audit_core.numerals`, and what stands beside an estimate."""

from __future__ import annotations

from audit_core.numerals import UNDEFINED, Number, Row, count, decimal, exact, percent, plural, points, probability

__all__ = [
    "UNDEFINED", "Number", "Row", "bounds", "brief", "count", "decimal", "degenerate", "exact", "interval", "percent",
    "plural", "points", "probability",
]  # fmt: skip


def degenerate(row: Row) -> bool:
    """True where all questions are equal, so that bounds repeat the estimate and carry no information."""
    return "degenerate" in row["detail"]


def interval(row: Row, places: int = 2) -> str:
    """The two-sided interval as ``7.19 to 13.31``, in percentage points; empty where none means anything."""
    if row["low"] is None or row["high"] is None or degenerate(row):
        return ""
    return f"{decimal(row['low'], places, 100)} to {decimal(row['high'], places, 100)}"


def bounds(row: Row, level: str) -> list[str]:
    """One-sided bound and interval in words, or why there are none."""
    if degenerate(row):
        return ["all questions are equal, so bounds say nothing"]
    if row["lower"] is None:
        return [row["detail"].get("bounds", "no bounds")]
    return [f"one-sided {level} lower bound {decimal(row['lower'], 2, 100)}", f"{level} interval {interval(row)}"]


def brief(reason: str) -> str:
    """The first clause of a reason, for a card; the whole of it stands in the page's lead. *Undefined* is none."""
    reason = reason.removeprefix("Undefined: ")
    head, colon, _ = reason.partition(":")
    return head[:1].upper() + head[1:] + ("." if colon else "")
