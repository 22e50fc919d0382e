"""How much rests on single questions: the one that moves D̂ most, and how many it takes to lose the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bootstrap

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Influence:
    """The question without which the mean moves most.

    Attributes:
        change: Mean without it, minus the mean, as (numerator, denominator).
        row: The first such question.
        ties: How many move it as far.
    """

    change: tuple[int, int]
    row: int
    ties: int


def largest(values: Ints, denominator: int, order: npt.NDArray[np.intp]) -> Influence:
    """The largest change of a mean when one question is left out: (mean - D_i) / (N - 1).

    Args:
        values: D_i · denominator of two questions or more.
        order: Rows by the bytes of the questions' ids; the first of equals is named.
    """
    n, total = len(values), int(values.sum(dtype=object))
    changes = total - n * values
    size = np.abs(changes)
    most = size == size.max()
    row = int(order[np.flatnonzero(most[order])[0]])
    return Influence((int(changes[row]), denominator * n * (n - 1)), row, int(most.sum()))


def until_below(values: Ints, denominator: int, margin: Fraction) -> int | None:
    """How many of the largest D_i must be dropped until the mean of the rest is below a margin; None if none suffice.

    Args:
        values: D_i · denominator.
    """
    fits = len(values) * denominator * max(margin.denominator, margin.numerator) < 1 << 62
    ascending = np.sort(values).astype(np.int64 if fits else object)
    left = np.arange(len(ascending), 0, -1).astype(ascending.dtype)
    # Σ / (left · denominator) < margin, in integers; the rest is what is left of the ascending values
    below = np.cumsum(ascending)[::-1] * margin.denominator < left * denominator * margin.numerator
    found = np.flatnonzero(below)
    return int(found[0]) if len(found) else None


def until_zero(values: Ints, denominator: int, tail: Fraction) -> int | None:
    """How many of the largest D_i must be dropped until the one-sided lower bound of the rest is at most zero.

    The bound falls as largest values go, but for steps of the lattice among a handful of questions. So the place where
    it crosses zero is looked for from where a normal bound would cross it: bound(m) ≤ 0, and bound(m - 1) > 0 unless m
    is 0; m is 0 exactly where the bound of all questions is at most zero.

    Args:
        values: D_i · denominator.
        tail: Of the bound.

    Returns:
        The number; None where the bound of the last two questions is still above zero, or none can be computed.
    """
    ascending = np.sort(values)
    n = len(ascending)

    @cache
    def low(dropped: int) -> bool | None:
        found = bootstrap.of_mean(ascending[: n - dropped], denominator)
        return None if found is None else found.quantile(tail) <= 0

    if low(0):
        return 0
    sizes = np.arange(1, n + 1)
    sums, squares = np.cumsum(ascending), np.cumsum(ascending.astype(float) ** 2)
    normal = sums / sizes - 1.645 * np.sqrt(np.maximum(squares / sizes - (sums / sizes) ** 2, 0) / sizes)
    guess = np.flatnonzero(normal[::-1][: n - 1] <= 0)
    return _crossing(low, int(guess[0]) if len(guess) else 0, n - 2)


def _crossing(test: Callable[[int], bool | None], start: int, last: int) -> int | None:
    """Least number in 0 … last from which on a test holds, by doubling steps from a start and then halving."""
    if last < 0:
        return None
    high = low = min(start, last)
    step, found = 1, test(high)
    if found is None:
        return None
    if found:
        while low > 0 and test(low := max(high - step, 0)):
            high, step = low, 2 * step
        if low == 0 and test(0):
            return 0
    else:
        while not test(high):
            if high == last:
                return None
            low, high, step = high, min(high + step, last), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle, high)
    return high
