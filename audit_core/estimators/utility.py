"""Exact match, token F1 and UNKNOWN rate per state: mean over questions of the mean over repeats."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def rate(flags: npt.NDArray[np.int8], state: int) -> tuple[int, int, npt.NDArray[np.bool_]] | None:
    """Mean over questions of the share of 1 among a state's answers.

    Args:
        flags: (Q, S, R) with 1, 0, and -1 where absent or not measured.

    Returns:
        (numerator, denominator, questions that enter), or None where no question does. With equally many repeats the
        denominator counts answers.
    """
    values, denominator, keep = per_question(flags, state)
    if not keep.any():
        return None
    return int(values[keep].sum()), denominator * int(keep.sum()), keep


def per_question(flags: npt.NDArray[np.int8], state: int) -> tuple[Ints, int, npt.NDArray[np.bool_]]:
    """Share of 1 among a state's answers per question: integers, their common denominator, and which are defined."""
    known = (flags[:, state] >= 0).sum(1)
    ones = (flags[:, state] == 1).sum(1)
    keep = known > 0
    denominator = lcm(*(int(k) for k in np.unique(known[keep]))) if keep.any() else 1
    values = np.zeros(len(flags), np.int64)
    values[keep] = denominator // known[keep] * ones[keep]
    return values, denominator, keep


def difference(flags: npt.NDArray[np.int8], old: int, new: int) -> tuple[Ints, int, npt.NDArray[np.bool_]]:
    """Share at the new state minus share at the old, per question: integers, common denominator, which are defined."""
    a, da, ka = per_question(flags, old)
    b, db, kb = per_question(flags, new)
    denominator = lcm(da, db)
    keep = ka & kb
    return np.where(keep, b * (denominator // db) - a * (denominator // da), 0), denominator, keep


def mean_f1(f1: npt.NDArray[np.int32], state: int) -> tuple[int, int, npt.NDArray[np.bool_]] | None:
    """Mean over questions of the mean token F1 over repeats, exact.

    Args:
        f1: (Q, S, R, 2) numerators and denominators; denominator 0 where not measured.
    """
    top, bottom = f1[:, state, :, 0], f1[:, state, :, 1]
    known = (bottom > 0).sum(1)
    keep = known > 0
    if not keep.any():
        return None
    repeats = np.broadcast_to(known[:, None], bottom.shape)[bottom > 0]
    rows = np.stack([top[bottom > 0], bottom[bottom > 0], repeats], 1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    total = sum(
        (Fraction(int(c) * int(n), int(d) * int(k)) for (n, d, k), c in zip(distinct, counts, strict=True)), Fraction(0)
    )
    mean = total / int(keep.sum())
    return mean.numerator, mean.denominator, keep
