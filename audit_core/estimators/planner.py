"""Power of the confirmatory gate before anything is collected, and the questions that it needs.

The gate confirms when exact D̂ ≥ margin and the lower bounds of exact and semantic D̂ are above 0. How many of the N
questions move is binomial, and is summed over rather than approximated, because a rare flip is what makes D̂ skew; so
is, where few flips are expected, how many of them exact D shows in full. Given these counts, (exact D̂, semantic D̂) is
taken as bivariate normal with the moments of the population's law. The lower bound is a quantile of the bootstrap; it
is above 0 when D̂ is above the value that `_Sums.critical` solves for. How well this agrees with simulated audits:
docs/plan.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log, sqrt

import numpy as np
import numpy.typing as npt

from audit_core.estimators import normal
from audit_core.estimators.population import Law

Floats = npt.NDArray[np.float64]

LEAST = 50
"""Fewest questions that a plan speaks about; with fewer the normal law is too far from the truth."""
MOST = 1_000_000
STEP = 10
"""A needed number of questions is rounded up to a multiple of it."""
_WIDTH = 7
"""Standard deviations of the number of moving questions that are summed over."""
_TINY = 1e-12
_UNLIKELY = 1e-8
_MANY = 60
"""Expected flips from which their two sorts need not be told apart."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold for *churn confirmed*.

    Attributes:
        margin: Least exact D̂, in [0, 1].
        level: Confidence of the one-sided lower bounds, in (0.5, 1).
        semantic: Whether the lower bound of semantic D̂ must be above 0 too.
    """

    margin: float = 0.03
    level: float = 0.95
    semantic: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What a study is expected to find.

    Attributes:
        flips: Share of questions that move, in [0, 1].
        moved: Law of a question that moves.
        still: Law of one that does not.
    """

    flips: float
    moved: Law
    still: Law

    @property
    def law(self) -> Law:
        """Law of a question drawn from all."""
        return self.moved.joined(self.still, self.flips)

    @property
    def nothing(self) -> Expected:
        """The same noise, and nothing that moves."""
        return replace(self, flips=0.0, still=self.still.centred())

    def standard_errors(self, questions: int) -> tuple[float, float]:
        """Of D̂, exact and semantic: √((Var_i Δ_i + E Var(D_i | i)) / N)."""
        return tuple(sqrt(variance / questions) for variance in self.law.variance())  # type: ignore[return-value]


def power(expected: Expected, questions: int, rule: Rule) -> float:
    """Chance that the gate confirms, in [0, 1].

    Args:
        questions: N, `LEAST` or more; every one of them with all its answers and labels.
    """
    sums, chance = _Sums.over(expected, questions)
    bar = np.maximum(sums.critical(0, rule.level), _placed(rule.margin, questions, sums.step))
    first = sums.standard(0, bar)
    if not rule.semantic:
        return min(float(chance @ normal.below(-first)), 1.0)
    second = sums.standard(1, sums.critical(1, rule.level))
    return min(float(chance @ normal.both_above(first, second, sums.correlation)), 1.0)


def detection(expected: Expected, questions: int, level: float) -> float:
    """Chance that the lower bound of semantic D̂ alone is above 0, in [0, 1]."""
    sums, chance = _Sums.over(expected, questions)
    return min(float(chance @ normal.below(-sums.standard(1, sums.critical(1, level)))), 1.0)


class _Sums:
    """Moments of exact (0) and semantic (1) D̂ given how many questions are of each kind; arrays over such counts."""

    def __init__(self, laws: Sequence[Law], counts: Sequence[Floats], step: float) -> None:
        every = sum(counts)
        self.n, self.step = float(every[0]), step  # type: ignore[index]
        self._shares = [count / self.n for count in counts]
        # [kernel][kind]: E D, E D², E D³
        raw = [[law.moments(kernel) for law in laws] for kernel in (0, 1)]
        self.mean, self.square, self.third = (
            [self._mixed([moments[power] for moments in raw[kernel]]) for kernel in (0, 1)] for power in range(3)
        )
        inner = [self._mixed([b - a * a for a, b, _ in raw[kernel]]) for kernel in (0, 1)]
        self.spread = [np.sqrt(np.maximum(variance, _TINY) / self.n) for variance in inner]
        crossed = [law.product() - a[0] * b[0] for law, a, b in zip(laws, *raw, strict=True)]
        self.correlation = np.clip(self._mixed(crossed) / self.n / (self.spread[0] * self.spread[1]), -1, 1)
        # regression of D² on D among questions of one kind
        lean = [self._mixed([c - a * b for a, b, c in raw[kernel]]) for kernel in (0, 1)]
        self.slope = [a / np.maximum(b, _TINY) for a, b in zip(lean, inner, strict=True)]

    @classmethod
    def over(cls, expected: Expected, questions: int) -> tuple[_Sums, Floats]:
        """The sums by how many questions move, and how many of those in all their words, with the chances of that."""
        clear, rest, part = _parted(expected.moved)
        if part is None or not 0 < expected.flips < 1 or questions * expected.flips > _MANY:
            movers, chance = _binomial(questions, expected.flips)
            return cls((expected.moved, expected.still), (movers, questions - movers), expected.law.step), chance
        chances = (expected.flips * part, expected.flips * (1 - part), 1 - expected.flips)
        a, b = (_binomial(questions, share)[0].astype(np.intp) for share in chances[:2])
        first, others = (grid.ravel() for grid in np.meshgrid(a, b, indexing="ij"))
        counts = np.stack((first, others, questions - first - others))
        counts = counts[:, counts[2] >= 0]
        logs = _factorials(questions)
        weights = np.exp(logs[questions] - logs[counts].sum(0) + np.log(chances) @ counts)
        keep = weights > _UNLIKELY
        laws = (clear, rest, expected.still)
        return cls(laws, list(counts[:, keep].astype(float)), expected.law.step), weights[keep] / weights[keep].sum()

    def _mixed(self, values: list[float]) -> Floats:
        return sum(share * value for share, value in zip(self._shares, values, strict=True))  # type: ignore[return-value]

    def standard(self, kernel: int, bar: Floats) -> Floats:
        """A value of D̂ in standard deviations from its mean."""
        found: Floats = np.clip((bar - self.mean[kernel]) / self.spread[kernel], -38, 38)
        return found

    def critical(self, kernel: int, level: float) -> Floats:
        """D̂ from which its lower bound is above 0.

        The bound is D̂ − z·s/√N less half a step of the lattice, with the skewness correction of Cornish and Fisher.
        s² is the mean of D² less D̂²; that mean itself rises with D̂, by `slope`.
        """
        z, half = normal.quantile(level), self.step / (2 * self.n)
        mean, slope, third = self.mean[kernel], self.slope[kernel], self.third[kernel]
        constant = self.square[kernel] - slope * mean
        bar = np.full_like(mean, z)
        for _ in range(6):  # settles to four digits in three
            # (x − half)·√N = bar·√(constant + slope·x − x²)
            a, b = self.n + bar**2, -2 * half * self.n - bar**2 * slope
            c = self.n * half**2 - bar**2 * np.maximum(constant, 0)
            found: Floats = np.maximum((np.sqrt(np.maximum(b * b - 4 * a * c, 0)) - b) / (2 * a), half)
            variance = np.maximum(constant + slope * found - found**2, _TINY)
            skewness = (third - 3 * (variance + found**2) * found + 2 * found**3) / variance**1.5
            bar = np.maximum(z - np.clip(skewness, -5, 5) * (z * z - 1) / (6 * sqrt(self.n)), 0.0)
        return found


def _parted(moved: Law) -> tuple[Law, Law, float | None]:
    """Flips that exact D shows in full, all others, and the share of the first; None where they are of one sort."""
    full = moved.exact > 1 - 1e-9
    share = float(moved.probability[full].sum())
    if not _TINY < share < 1 - _TINY:
        return moved, moved, None
    parts = [
        Law(moved.exact[rows], moved.semantic[rows], moved.probability[rows] / weight, moved.step)
        for rows, weight in ((full, share), (~full, 1 - share))
    ]
    return parts[0], parts[1], share


def _placed(margin: float, questions: int, step: float) -> float:
    """The margin for a normal law: half a step below the least D̂ on the lattice that reaches it."""
    return (ceil(margin * questions / step - 1e-9) - 0.5) * step / questions if step else margin


def _binomial(n: int, share: float) -> tuple[Floats, Floats]:
    """Numbers of moving questions that have a chance worth counting, and their chances."""
    if share <= 0 or share >= 1:
        return np.array([float(n) if share >= 1 else 0.0]), np.ones(1)
    width = _WIDTH * sqrt(n * share * (1 - share)) + _WIDTH
    m = np.arange(max(0, int(n * share - width)), min(n, int(n * share + width) + 1) + 1)
    logs = _factorials(n)
    chance = np.exp(logs[n] - logs[m] - logs[n - m] + m * log(share) + (n - m) * log(1 - share))
    return m.astype(float), chance / chance.sum()


@lru_cache(maxsize=4)
def _factorials(n: int) -> Floats:
    """Logarithms of 0! to n!."""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))


def questions_needed(chance: Callable[[int], float], wanted: float) -> int | None:
    """Fewest questions, a multiple of `STEP`, at which a chance reaches what is wanted.

    Args:
        chance: Power by number of questions. It grows but for small teeth that the lattice cuts into it.
        wanted: In (0, 1).

    Returns:
        The number; None where `MOST` questions do not reach it.
    """
    low, high = LEAST - STEP, LEAST
    while chance(high) < wanted:
        if high >= MOST:
            return None
        low, high = high, min(high * 2, MOST)
    while high - low > STEP:
        middle = (low + high) // (2 * STEP) * STEP
        low, high = (low, middle) if chance(middle) >= wanted else (middle, high)
    return high


def smallest_share(chance: Callable[[float], float], wanted: float) -> float | None:
    """Smallest share of moving questions, in steps of 0.0001, at which a chance reaches what is wanted.

    Args:
        chance: Power by share of moving questions.
        wanted: In (0, 1).

    Returns:
        The share; None where it is not reached although every question moves.
    """
    low, high = 0, 10_000
    if chance(1.0) < wanted:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle / 10_000) >= wanted else (middle, high)
    return high / 10_000
