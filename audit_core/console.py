"""What the command line shows people: short tables and progress on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any

from audit_core.errors import visible
from audit_core.estimators.gate import points

PERCENT = {"agreement", "pairs of answers", "matched repeats", "answers", "questions"}
"""Units whose estimates are shares, shown in per cent or percentage points."""


class Progress:
    """A line on stderr for work that takes longer than a second; silent where stderr is not a terminal."""

    def __init__(self, what: str, unit: str = "") -> None:
        self._what, self._unit = what, unit
        self._start = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._width = 0

    def say(self, text: str) -> None:
        """Show what is being done."""
        now = time.monotonic()
        if self._terminal and now - self._start > 1 and now - self._shown > 0.1:
            line = visible(f"{self._what}: {text} ({now - self._start:.0f} s)")[
                : shutil.get_terminal_size().columns - 1
            ]
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width, self._shown = len(line), now

    def count(self, text: str, done: int, total: int | None = None) -> None:
        """Show how much is done; with a total also a bar and the share."""
        if total:
            filled = min(done * 24 // total, 24)
            self.say(f"[{'█' * filled}{'·' * (24 - filled)}] {done * 100 // total} %  {text}")
        else:
            self.say(f"{text}, {done:,} {self._unit}s" if done else text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """A table of text columns; the last column wraps nowhere and is cut at the terminal's width."""
    cells = [[visible(str(cell)).replace("\n", " ") if cell is not None else "" for cell in row] for row in rows]
    widths = [max([len(title), *(len(row[i]) for row in cells)]) for i, title in enumerate(head)]
    limit = shutil.get_terminal_size((140, 24)).columns if sys.stdout.isatty() else 10_000
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (list(head), ["─" * width for width in widths], *cells)
    ]
    return "\n".join(line if len(line) <= limit else line[: limit - 1] + "…" for line in lines)


def rule(text: str) -> str:
    """A closing line under a table."""
    return f"── {text}"


def estimate_table(rows: Sequence[dict[str, Any]]) -> str:
    """Estimates as tables: name, value, lower bound, interval, status; those of each newer group come last."""
    from audit_core.estimators.groups import GROUPS

    groups: dict[str, list[dict[str, Any]]] = {"": [], **{group.title: [] for group in GROUPS}}
    for row in rows:
        groups[next((group.title for group in GROUPS if row["measure"] in group.measures), "")].append(row)
    return "\n\n".join(
        (rule(title) + "\n" if title else "") + _estimates(found) for title, found in groups.items() if found
    )


def _estimates(rows: Sequence[dict[str, Any]]) -> str:
    out = []
    for row in rows:
        show = _shower(row)
        value = "not measurable" if row["value"] is None else show(Fraction(row["numerator"], row["denominator"]))
        interval = row["interval"]
        out.append(
            [
                row["name"],
                value,
                "" if row["numerator"] is None else f"{row['numerator']:,} / {row['denominator']:,}",
                "" if row["lower"] is None else show(_read(row["lower"])),
                "" if interval is None else f"[{show(_read(interval[0]))}, {show(_read(interval[1]))}]",
                row["status"],
                row["reason"] or (row.get("detail") or {}).get("degenerate", ""),
            ]
        )
    return table(out, ["estimate", "value", "exact", "lower bound", "95 % interval", "status", "note"])


def _read(value: float) -> Fraction:
    """A double by its shortest decimal text, as it was written."""
    return Fraction(repr(value))


def _shower(row: dict[str, Any]) -> Any:
    if row["unit"] in PERCENT:
        suffix = (
            " pp"
            if any(word in row["measure"] for word in ("churn", "contribution", "difference", "influence"))
            else " %"
        )
        return lambda value: points(value) + suffix
    return lambda value: f"{float(value):.4g}"
