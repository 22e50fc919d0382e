"""The ladder step by step: every neighbouring pair of states, for Trajectories and Present."""

from __future__ import annotations

from itertools import pairwise

from dashboard.comparison import Comparison
from dashboard.figures.agreement import Dot
from dashboard.figures.palette import MANY, middle
from dashboard.numbers import count, exact, plural, points
from dashboard.selection import KERNELS


def measurable(comparison: Comparison, names: list[str], kernel: str) -> bool:
    """True where flips can be counted at one step at least."""
    steps = (comparison.named(f"repeat_stable_flips[{kernel}]@{old}-{new}") for old, new in pairwise(names))
    return any(row["numerator"] is not None for row in steps)


def lead(comparison: Comparison, names: list[str], kernel: str) -> str:
    """How many questions flip anywhere on the ladder, and how often an answer comes back."""
    union = comparison.named(f"adjacent_flips_union[{kernel}]")
    if union["numerator"] is None or not measurable(comparison, names, kernel):
        return "The ladder in steps."
    back = [row for row in comparison.rows.values() if row["measure"] == "returning_flips" and row["numerator"]]
    total = count(union["denominator"])
    text = f"{plural(union['numerator'], 'question')} of {total} flip at one step of the ladder or more"
    returned = sum(row["numerator"] for row in back)
    if returned:
        text += f"; {count(returned)} times an answer leaves and comes back (X → Y → X)"
    return text + f" ({KERNELS[kernel]})."


def dots(comparison: Comparison, names: list[str], kernel: str) -> list[Dot]:
    """Excess churn of each step that has one, named by the step's number."""
    found = []
    for index, (old, new) in enumerate(pairwise(names)):
        row = comparison.named(f"excess_churn[{kernel}]@{old}-{new}")
        value = exact(row)
        if value is None:
            continue
        low, high = (None if row[end] is None else row[end] * 100 for end in ("low", "high"))
        ends = (f"\u2068{middle(name, 12)}\u2069" for name in (old, new))  # isolated, as names may run from the right
        beside = f"{index + 1}. {' → '.join(ends)}" if len(names) > MANY else ""
        label, drawn = f"{old} → {new}", float(value * 100)
        found.append(Dot(label, drawn, low, high, "new", points(value), str(index), beside))
    return found
