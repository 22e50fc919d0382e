"""Within agreement, cross agreement and the per-question contrast D_i (Eq. 1 to 3), for any number of repeats ≥ 2.

within_i(s) is the mean kernel over unordered pairs of *different* repeats, cross_i(s, t) over all pairs of the two
states, D_i = (within_i(L) + within_i(H)) / 2 - cross_i(L, H). All three are unbiased U-statistics with the question's
own numbers of repeats; negative values are kept, nothing is imputed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from audit_core.kernels import Kernel

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
EXACT_LIMIT = 1 << 40
"""Largest common denominator that int64 sums over a million questions carry safely."""


@dataclass(frozen=True)
class Pairs:
    """Agreeing pairs per question.

    Attributes:
        agree: Length Q, pairs on which the kernel is 1.
        pairs: Length Q, pairs that exist.
        known: Length Q, pairs that the kernel can tell.
    """

    agree: Counts
    pairs: Counts
    known: Counts

    @property
    def defined(self) -> Flags:
        """Questions with at least one pair, all of them known."""
        return (self.pairs > 0) & (self.known == self.pairs)


def within(kernel: Kernel, repeats: npt.NDArray[np.int32], state: int) -> Pairs:
    """Unordered pairs of different repeats at one state.

    Args:
        repeats: (Q, S) accepted answers of each question and state.
    """
    block = kernel.block(state, state)
    upper = np.triu_indices(block.shape[1], 1)
    cells = block[:, upper[0], upper[1]]
    k = repeats[:, state].astype(np.int64)
    return Pairs((cells == 1).sum(1, dtype=np.int64), k * (k - 1) // 2, (cells >= 0).sum(1, dtype=np.int64))


def cross(kernel: Kernel, repeats: npt.NDArray[np.int32], old: int, new: int) -> Pairs:
    """All pairs of an answer at one state with an answer at the other."""
    block = kernel.block(old, new)
    pairs = repeats[:, old].astype(np.int64) * repeats[:, new]
    return Pairs((block == 1).sum((1, 2), dtype=np.int64), pairs, (block >= 0).sum((1, 2), dtype=np.int64))


@dataclass(frozen=True)
class Contrast:
    """Per-question contrasts of one pair of states under one kernel.

    Attributes:
        old, new, crossing: Agreeing pairs and how many there are.
        eligible: Length Q, questions with two known repeats or more at both states and all cross pairs known.
        denominator: Common denominator of `values`, least common multiple over questions.
        values: Length Q, D_i · denominator as integers; 0 and meaningless where not eligible.
    """

    old: Pairs
    new: Pairs
    crossing: Pairs
    eligible: Flags
    denominator: int
    values: npt.NDArray[np.int64]

    @property
    def scaled(self) -> npt.NDArray[np.int64]:
        """Integers of the eligible questions only."""
        return self.values[self.eligible]

    @property
    def flips(self) -> Flags:
        """Repeat-stable flips (Eq. 7): both states agree with themselves on all pairs, and no cross pair agrees."""
        return (
            self.eligible
            & (self.old.agree == self.old.pairs)
            & (self.new.agree == self.new.pairs)
            & (self.crossing.agree == 0)
        )

    @property
    def total(self) -> tuple[int, int]:
        """Σ D_i over eligible questions as (numerator, denominator), not reduced."""
        return int(self.scaled.sum(dtype=object)) if len(self.scaled) else 0, self.denominator


def contrast(kernel: Kernel, repeats: npt.NDArray[np.int32], old: int, new: int) -> Contrast:
    """D_i for every question; see the module's formula.

    Args:
        kernel: Agreement of two answers.
        repeats: (Q, S) accepted answers.
        old, new: Positions of the two states.
    """
    a, b, c = within(kernel, repeats, old), within(kernel, repeats, new), cross(kernel, repeats, old, new)
    eligible = a.defined & b.defined & c.defined
    sizes = [np.flatnonzero(np.bincount(pairs[eligible])) for pairs in (a.pairs, b.pairs, c.pairs)]
    denominator = lcm(*(2 * sizes[0]).tolist(), *(2 * sizes[1]).tolist(), *sizes[2].tolist())
    exact = denominator < EXACT_LIMIT
    values = np.zeros(len(repeats), np.int64 if exact else object)
    if eligible.any():
        kind = np.int64 if exact else object
        parts = [np.asarray(p[eligible]).astype(kind) for p in (a.agree, a.pairs, b.agree, b.pairs, c.agree, c.pairs)]
        x, dx, y, dy, z, dz = parts
        d = denominator if not exact else np.int64(denominator)
        values[eligible] = d // (2 * dx) * x + d // (2 * dy) * y - d // dz * z
    return Contrast(a, b, c, eligible, denominator, values)


def mean_ratio(agree: Counts, pairs: Counts, keep: Flags) -> tuple[int, int] | None:
    """Mean over kept questions of agree / pairs, as (numerator, denominator); None without a question.

    Where all questions have equally many pairs, the numerator counts agreeing pairs and the denominator all pairs.
    """
    n = int(keep.sum())
    if n == 0:
        return None
    shapes, inverse = np.unique(pairs[keep], return_inverse=True)
    sums = np.bincount(inverse, weights=agree[keep].astype(float), minlength=len(shapes))
    if len(shapes) == 1:
        return int(sums[0]), n * int(shapes[0])
    total = sum((Fraction(int(s), int(p)) for s, p in zip(sums, shapes, strict=True)), Fraction(0))
    return total.numerator, total.denominator * n


def baseline_values(found: Contrast) -> tuple[npt.NDArray[np.int64], int]:
    """w_i of the eligible questions as integers, and their common denominator."""
    d = found.denominator
    keep = found.eligible
    x = d // (2 * found.old.pairs[keep]) * found.old.agree[keep]
    y = d // (2 * found.new.pairs[keep]) * found.new.agree[keep]
    return x + y, d


def noise_arrangements(kernel: Kernel, repeats: npt.NDArray[np.int32], found: Contrast, old: int, new: int) -> int:
    """Questions of the form ab|ab with two repeats at both states (z in the corrected flip count F - z/2).

    Under no change the arrangements aa|bb and ab|ab have odds 1 to 2, so z/2 estimates the flips that noise alone
    would show.
    """
    two = found.eligible & (repeats[:, old] == 2) & (repeats[:, new] == 2)
    block = kernel.block(old, new)[:, :2, :2]
    straight = (block[:, 0, 0] == 1) & (block[:, 1, 1] == 1) & (block[:, 0, 1] == 0) & (block[:, 1, 0] == 0)
    turned = (block[:, 0, 1] == 1) & (block[:, 1, 0] == 1) & (block[:, 0, 0] == 0) & (block[:, 1, 1] == 0)
    unstable = (found.old.agree == 0) & (found.new.agree == 0)
    return int((two & unstable & (straight | turned)).sum())
