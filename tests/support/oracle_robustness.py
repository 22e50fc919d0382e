"""Independent versions of the robustness estimates: plain loops over every split, subset or resample, in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from audit_core.model import Dossier
from tests.support import oracle

Matrix = list[list[int]]


def agreement(dossier: Dossier, kernel: str, rule: str, old: str, new: str) -> tuple[Matrix, int]:
    """Agreement of all answers of two states, the old ones first, and how many those are."""
    slots = [(c.state, c.repeat) for s in (old, new) for c in dossier.cells if c.state == s and c.status == "ok"]
    k = sum(state == old for state, _ in slots)
    return [[int(oracle.agree(dossier, kernel, rule, a, b)) if a != b else 1 for b in slots] for a in slots], k


def contrast(agree: Matrix, first: Sequence[int]) -> Fraction:
    """D when the answers `first` are the old ones and all others the new ones."""
    second = [i for i in range(len(agree)) if i not in first]

    def mean(pairs: list[tuple[int, int]]) -> Fraction:
        return Fraction(sum(agree[i][j] for i, j in pairs), len(pairs))

    inside = [mean(list(itertools.combinations(group, 2))) for group in (first, second)]
    return sum(inside, Fraction(0)) / 2 - mean(list(itertools.product(first, second)))


def permutation_p(matrices: Sequence[tuple[Matrix, int]]) -> Fraction:
    """Share of all joint splits whose sum of D is at least the observed one: the questions are enumerated together."""
    observed = sum((contrast(agree, range(k)) for agree, k in matrices), Fraction(0))
    every = [
        [contrast(agree, split) for split in itertools.combinations(range(len(agree)), k)] for agree, k in matrices
    ]
    sums = [sum(values, Fraction(0)) for values in itertools.product(*every)]
    return Fraction(sum(value >= observed for value in sums), len(sums))


def largest_change(values: Sequence[Fraction]) -> Fraction:
    """Largest |mean without one - mean|."""
    mean = sum(values, Fraction(0)) / len(values)
    changes = []
    for i in range(len(values)):
        rest = [*values[:i], *values[i + 1 :]]
        changes.append(abs(sum(rest, Fraction(0)) / len(rest) - mean))
    return max(changes)


def until_below(values: Sequence[Fraction], margin: Fraction) -> int | None:
    """Largest values dropped one at a time until the mean is below a margin."""
    left = sorted(values)
    for dropped in range(len(values)):
        if sum(left, Fraction(0)) / len(left) < margin:
            return dropped
        left.pop()
    return None


def lower(values: Sequence[int], denominator: int, tail: Fraction) -> Fraction:
    """Type 1 quantile of the exact bootstrap distribution of a mean."""
    total = Fraction(0)
    for value, probability in sorted(oracle.convolved(list(values)).items()):
        total += probability
        if total >= tail:
            return Fraction(value, denominator * len(values))
    raise AssertionError


def bounds_as_largest_go(values: Sequence[int], denominator: int, tail: Fraction) -> list[Fraction]:
    """Lower bounds of the mean with none, one, two … of the largest values dropped, down to two values."""
    ascending = sorted(values)
    return [lower(ascending[:left], denominator, tail) for left in range(len(values), 1, -1)]
