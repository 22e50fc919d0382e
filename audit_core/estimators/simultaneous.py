"""Intervals that hold for all steps of the ladder together: the studentised max-t bootstrap.

Whole questions are resampled with all their steps. Of each resample the largest |mean* - mean| / se* over the steps is
kept; its 1 - α quantile c gives mean ± c · se for every step. Where a step does not vary in a resample there is no se*:
the ratio is 0 where the mean is the same and infinite otherwise. Romano and Wolf 2005; Efron and Tibshirani 1993, 12.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit_core.estimators import stream

DRAWS = 10_000
SCALE = 10**12
"""Ends are multiples of 1 / SCALE, so that they are the same on every machine."""


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """Joint intervals of several means.

    Attributes:
        critical: c, in standard errors; None where no step varies or c is infinite.
        intervals: Of each step; None where it does not vary, or where `critical` is None.
    """

    critical: float | None
    intervals: tuple[tuple[Fraction, Fraction] | None, ...]


def max_t(
    families: Sequence[tuple[npt.NDArray[np.int64], Sequence[int]]], order: npt.NDArray[np.intp], tail: Fraction,
    seed: str, draws: int = DRAWS,
) -> list[Simultaneous]:  # fmt: skip
    """Joint intervals of column means, for each of several families of columns by the same resamples.

    Args:
        families: Of each (N, c) integers, one row per question, N ≥ 2, and the denominators of the columns.
        order: Rows by the bytes of the questions' ids.
        tail: Probability outside all intervals of one family together.
        seed: Of the locked stream.
        draws: Resamples.
    """
    columns = np.hstack([columns for columns, _ in families])
    sums = stream.sums(np.hstack([columns, columns * columns]), order, draws, f"{seed}/steps").astype(float)
    out, done, width = [], 0, columns.shape[1]
    for values, denominators in families:
        own = slice(done, done + len(denominators))
        out.append(_intervals(values, denominators, sums[:, :width][:, own], sums[:, width:][:, own], tail))
        done = own.stop
    return out


def _intervals(
    columns: npt.NDArray[np.int64], denominators: Sequence[int], first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64], tail: Fraction,
) -> Simultaneous:  # fmt: skip
    n, draws = len(columns), len(first)
    varies = (columns != columns[0]).any(0)
    if not varies.any():
        return Simultaneous(None, (None,) * len(denominators))
    total, square = columns.sum(0).astype(float), (columns * columns).sum(0).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(first - total) / np.sqrt((n * second - first * first) / n)
    ratios[np.isnan(ratios)] = 0
    largest = np.sort(ratios[:, varies].max(1))
    critical = float(largest[-(-(1 - tail) * draws // 1) - 1])
    if not np.isfinite(critical):
        return Simultaneous(None, (None,) * len(denominators))
    errors = np.sqrt((n * square - total * total) / n).tolist()
    out: list[tuple[Fraction, Fraction] | None] = []
    for column, denominator, error, moves in zip(columns.T, denominators, errors, varies, strict=True):
        middle = Fraction(int(column.sum()), n * denominator)
        reach = Fraction(round(critical * error / (n * denominator) * SCALE), SCALE)
        out.append((middle - reach, middle + reach) if moves else None)
    return Simultaneous(critical, tuple(out))
