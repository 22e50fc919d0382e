"""Overlap of the evidence of two states: shared documents, Jaccard, rank-biased overlap, Fisher's exact test."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

PERSISTENCE = 0.9


@dataclass(frozen=True)
class Overlap:
    """Evidence of two states compared per question.

    Attributes:
        present: Length Q, whether both states have evidence.
        shared: Documents in both sets.
        union: Documents in either set.
        same_set: Equal sets.
        same_order: Equal lists.
        rank_biased: Extrapolated rank-biased overlap, p = 0.9, in [0, 1].
    """

    present: npt.NDArray[np.bool_]
    shared: npt.NDArray[np.int64]
    union: npt.NDArray[np.int64]
    same_set: npt.NDArray[np.bool_]
    same_order: npt.NDArray[np.bool_]
    rank_biased: npt.NDArray[np.float64]


def overlap(documents: npt.NDArray[np.int32], old: int, new: int) -> Overlap:
    """Compare the ranked distinct documents of two states.

    Args:
        documents: (Q, S, K) document numbers by rank, -1 after the last.
    """
    a, b = documents[:, old], documents[:, new]
    na, nb = (a >= 0).sum(1), (b >= 0).sum(1)
    present = (na > 0) & (nb > 0)
    equal = (a[:, :, None] == b[:, None, :]) & (a[:, :, None] >= 0)
    shared = equal.sum((1, 2), dtype=np.int64)
    same_set = present & (shared == na) & (shared == nb)
    return Overlap(present, shared, na + nb - shared, same_set, present & (a == b).all(1), _rank_biased(equal, na, nb))


def _rank_biased(
    equal: npt.NDArray[np.bool_], na: npt.NDArray[np.int64], nb: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Eq. 32 of Webber, Moffat and Zobel (2010), lists of different length included.

    X_d is the overlap of the two prefixes of depth d, s and l the shorter and the longer length:
    RBO_ext = (1-p)/p · (Σ_{d≤l} X_d/d · p^d + Σ_{s<d≤l} X_s(d-s)/(s·d) · p^d)
              + ((X_l - X_s)/l + X_s/s) · p^l.
    """
    q, depth, _ = equal.shape
    p = PERSISTENCE
    result = np.zeros(q)
    if depth == 0:
        return result
    # prefix[:, d-1] = |first d of a ∩ first d of b|; beyond a list's end its prefix is the whole list
    running = equal.cumsum(1).cumsum(2)
    prefix = running[:, np.arange(depth), np.arange(depth)].astype(float)
    short, long = np.minimum(na, nb), np.maximum(na, nb)
    keep = short > 0
    if not keep.any():
        return result
    x, s, n = prefix[keep], short[keep].astype(float), long[keep].astype(float)
    d = np.arange(1, depth + 1)
    rows = np.arange(len(x))
    x_s, x_l = x[rows, short[keep] - 1], x[rows, long[keep] - 1]
    inside = d[None, :] <= n[:, None]
    tail = inside & (d[None, :] > s[:, None])
    powers = p**d
    first = (x / d * powers * inside).sum(1)
    second = (x_s[:, None] * (d - s[:, None]) / (s[:, None] * d) * powers * tail).sum(1)
    result[keep] = (1 - p) / p * (first + second) + ((x_l - x_s) / n + x_s / s) * p**n
    return result


def fisher_two_sided(both: int, first: int, second: int, n: int) -> float:
    """Two-sided p of Fisher's exact test for a 2 × 2 table with fixed margins.

    Args:
        both: Questions with both properties.
        first, second: Questions with each property.
        n: All questions.

    Returns:
        Sum of the probabilities of all tables that are no more likely than the observed one.
    """
    whole = comb(n, second)

    def ways(x: int) -> int:
        return comb(first, x) * comb(n - first, second - x)

    observed = ways(both)
    # tables as likely as the observed one count; integers, so no tolerance is needed
    return (
        sum(w for x in range(max(0, first + second - n), min(first, second) + 1) if (w := ways(x)) <= observed) / whole
    )
