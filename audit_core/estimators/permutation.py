"""Within-question permutation test: could the two states be one?

If the answers of a question come from one distribution in both states, its answers are exchangeable: each way to split
them into two groups of the sizes seen is as likely as the one that happened. With two repeats a state there are three
pairings, and with S agreements inside the two pairs and T among all six, 4·D = 3·S - T. The null distribution of Σ D is
the convolution over questions, and p = P(Σ ≥ the observed sum). It needs no draws and no assumption about the labels.

Convolved are floating-point numbers that are never negative, by elementwise additions and multiplications alone: the
relative error is below n · 2^-50 (n questions, under 1e-9 up to a million), and every machine gives the same bits. So p
is given to six significant digits. Where splits are too many to list or their lattice too wide, 10,000 draws of splits
from the locked stream take its place, and p = (1 + draws as extreme) / (1 + draws).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, fsum, gcd, lcm, sqrt

import numpy as np
import numpy.typing as npt

from audit_core.estimators import stream
from audit_core.estimators.churn import EXACT_LIMIT
from audit_core.kernels import Kernel

DRAWS = 10_000
MOST_SPLITS = 4_000
"""Most splits of one question that are listed: up to seven repeats a state."""
WORK, WORDS = 4e8, 3e8
"""Most operations of the exact way; most random words of the other."""
LEAST = 1e-290
"""Probabilities below it are let go; a p-value that falls so low is reported as this bound."""

Ints = npt.NDArray[np.int64]
Kind = tuple[tuple[int, int], ...]
"""Null values of one question over the common denominator, ascending, each with its number of splits."""


@dataclass(frozen=True, slots=True)
class Permutation:
    """Result of the test.

    Attributes:
        p: Probability of a sum at least as large, to six significant digits; None where it is not feasible.
        questions: Questions that enter.
        informative: Those of them whose splits, or the drawn ones, do not all give the same contrast.
        engine: How the null distribution was found; why there is none where `p` is None.
    """

    p: Fraction | None
    questions: int
    informative: int
    engine: str


@dataclass(frozen=True, slots=True)
class _Group:
    """Questions with the same numbers of repeats: who they are, and the agreement of all their answers."""

    old: int
    new: int
    rows: npt.NDArray[np.intp]
    agree: npt.NDArray[np.float64]

    @property
    def denominator(self) -> int:
        return lcm(2 * comb(self.old, 2), 2 * comb(self.new, 2), self.old * self.new)

    def contrasts(self, agree: npt.NDArray[np.float64], split: npt.NDArray[np.float64], denominator: int) -> Ints:
        """D · denominator, where `split` is 1 for answers counted as old; shapes (…, n, n), (…, C, n) → (…, C)."""
        inside, whole = np.matmul(split, agree), agree.sum((-2, -1))[..., None]
        old = (inside * split).sum(-1) / 2  # sums of 0 and 1 in doubles: exact
        across = inside.sum(-1) - 2 * old
        new = whole / 2 - old - across
        weights = (denominator // (2 * comb(self.old, 2)), denominator // (2 * comb(self.new, 2)),
                   denominator // (self.old * self.new))  # fmt: skip
        return np.asarray(old * weights[0] + new * weights[1] - across * weights[2]).astype(np.int64)


def permutation(
    kernel: Kernel, repeats: npt.NDArray[np.int32], keep: npt.NDArray[np.bool_], old: int, new: int,
    order: npt.NDArray[np.intp], seed: str,
) -> Permutation:  # fmt: skip
    """The test on one pair of states.

    Args:
        kernel: Agreement of two answers, known for every pair of a kept question.
        repeats: (Q, S) answers.
        keep: (Q,) eligible questions.
        old, new: Positions of the states.
        order: All questions by the bytes of their ids, for the draws.
        seed: Of the draws.
    """
    size = int(keep.sum())
    groups = list(_groups(kernel, repeats, keep, old, new))
    denominator = lcm(*(group.denominator for group in groups))
    if denominator >= EXACT_LIMIT:
        return Permutation(None, size, 0, "The numbers of repeats differ too much between questions for this test.")
    if all(comb(group.old + group.new, group.old) <= MOST_SPLITS for group in groups):
        kinds, observed = _kinds(groups, denominator)
        informative = sum(kinds.values())
        if not informative:
            return Permutation(Fraction(1), size, 0, "exact")
        p = _exact(kinds, observed)
        if p is not None:
            return Permutation(p, size, informative, "exact")
    return _drawn(groups, denominator, size, order, seed)


def _groups(
    kernel: Kernel, repeats: npt.NDArray[np.int32], keep: npt.NDArray[np.bool_], old: int, new: int
) -> Iterator[_Group]:
    sizes = repeats[:, [old, new]].astype(np.int64)
    code = sizes[:, 0] << 32 | sizes[:, 1]
    for value in np.unique(code[keep]).tolist():
        k, m, rows = value >> 32, value & 0xFFFFFFFF, np.flatnonzero(keep & (code == value))
        agree = np.zeros((len(rows), k + m, k + m))
        for a, s, i in ((slice(k), old, k), (slice(k, None), new, m)):
            for b, t, j in ((slice(k), old, k), (slice(k, None), new, m)):
                agree[:, a, b] = kernel.block(s, t)[rows, :i, :j] == 1
        agree[:, range(k + m), range(k + m)] = 0
        yield _Group(k, m, rows, agree)


def _distinct(agree: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Different matrices of agreement, and how often each occurs."""
    upper = np.triu_indices(agree.shape[1], 1)
    bits = np.packbits(agree[:, upper[0], upper[1]].astype(np.bool_), axis=1)
    wide = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    wide[:, : bits.shape[1]] = bits
    code = wide.view(np.uint64)
    _, first, counts = np.unique(
        code[:, 0] if code.shape[1] == 1 else code, axis=0, return_index=True, return_counts=True
    )
    return agree[first], counts.tolist()


def _kinds(groups: list[_Group], denominator: int) -> tuple[Counter[Kind], int]:
    """Informative questions by their null values, and the observed sum less what the others give in any case."""
    kinds: Counter[Kind] = Counter()
    observed = 0
    for group in groups:
        n = group.old + group.new
        chosen = np.array(list(combinations(range(n), group.old)))
        split = np.zeros((len(chosen), n))
        np.put_along_axis(split, chosen, 1, 1)
        for matrix, count in zip(*_distinct(group.agree), strict=True):
            values = group.contrasts(matrix, split, denominator)
            kind = tuple(sorted(Counter(values.tolist()).items()))
            if len(kind) > 1:
                kinds[kind] += count
                observed += count * int(values[0])  # the first combination is the split that happened
    return kinds, observed


def _exact(kinds: Counter[Kind], observed: int) -> Fraction | None:
    step = gcd(*(value - kind[0][0] for kind in kinds for value, _ in kind))
    spread, width, terms = 0.0, 0, 0
    for kind, count in kinds.items():
        total = sum(w for _, w in kind)
        mean = sum(v * w for v, w in kind) / total
        spread += count * sum(w * ((v - mean) / step) ** 2 for v, w in kind) / total
        width += count * ((kind[-1][0] - kind[0][0]) // step)
        terms += count * len(kind)
    if terms * min(width, 75 * sqrt(spread) + 100) > WORK:
        return None
    law, start = np.ones(1), 0
    for kind, count in sorted(kinds.items()):
        least, total = kind[0][0], sum(w for _, w in kind)
        parts = [((value - least) // step, weight / total) for value, weight in kind]
        for _ in range(count):
            grown = np.zeros(len(law) + parts[-1][0])
            for offset, weight in parts:
                grown[offset : offset + len(law)] += law * weight
            law = grown
            if law[0] < LEAST or law[-1] < LEAST:
                there = np.flatnonzero(law >= LEAST)
                start += int(there[0]) * step
                law = law[there[0] : there[-1] + 1]
        start += count * least
    first = -((start - observed) // step)  # least position whose sum reaches the observed one
    return rounded(fsum(law[max(first, 0) :].tolist()))


def rounded(p: float) -> Fraction:
    """A probability to six significant digits; at least `LEAST`."""
    return Fraction(Decimal(f"{min(max(p, LEAST), 1):.5e}"))


def _drawn(groups: list[_Group], denominator: int, size: int, order: npt.NDArray[np.intp], seed: str) -> Permutation:
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    parts: list[tuple[_Group, npt.NDArray[np.float64]]] = []
    observed: list[Ints] = []
    for group in groups:
        share = group.agree.sum((1, 2))
        several = (share > 0) & (share < (group.old + group.new) * (group.old + group.new - 1))
        agree = group.agree[several][np.argsort(place[group.rows[several]])]
        if len(agree):
            as_it_was = (np.arange(group.old + group.new) < group.old).astype(float)[None]
            observed.append(group.contrasts(agree, as_it_was, denominator)[:, 0])
            parts.append((group, agree))
    total = sum(len(agree) * agree.shape[1] for _, agree in parts)
    if not total:
        return Permutation(Fraction(1), size, 0, "exact")
    if total * DRAWS > WORDS:
        return Permutation(None, size, 0, "There are too many answers to draw splits of all of them.")
    reached, aim = 0, sum(int(values.sum()) for values in observed)
    moved = [np.zeros(len(values), np.bool_) for values in observed]
    for chunk in stream.words(total, DRAWS, f"{seed}/splits", chunk=1 << 18):
        sums, done = np.zeros(len(chunk), np.int64), 0
        for (group, agree), happened, moves in zip(parts, observed, moved, strict=True):
            q, n = agree.shape[:2]
            words = chunk[:, done : done + q * n].reshape(-1, q, n)
            split = np.zeros(words.shape)
            np.put_along_axis(split, np.argpartition(words, group.old - 1, 2)[:, :, : group.old], 1, 2)
            values = group.contrasts(agree, split.transpose(1, 0, 2), denominator)
            moves |= (values != happened[:, None]).any(1)
            sums += values.sum(0)
            done += q * n
        reached += int((sums >= aim).sum())
    informative = sum(int(moves.sum()) for moves in moved)
    return Permutation(Fraction(1 + reached, 1 + DRAWS), size, informative, f"{DRAWS} draws of splits")
