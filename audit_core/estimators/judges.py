"""Judges: transitivity of their labels, and agreement of two judges on the same pairs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit_core.estimators.bootstrap import quantile
from audit_core.estimators.stream import weights

Labels = npt.NDArray[np.int8]
SCALE = 10**12
"""Bootstrap values of ratios are compared as integers of this resolution, so that quantiles are reproducible."""


def open_triangles(labels: Labels) -> npt.NDArray[np.int64]:
    """Triples per question labelled 1=2, 2=3, 1≠3.

    A symmetric 0/1 matrix with unit diagonal is positive semidefinite exactly when it has none.

    Args:
        labels: (Q, P, P) symmetric: 1 same, 0 different, -1 unlabelled or absent.
    """
    same, different = (labels == 1).astype(np.int32), (labels == 0).astype(np.int32)
    p = labels.shape[1]
    diagonal = np.arange(p)
    same[:, diagonal, diagonal] = different[:, diagonal, diagonal] = 0
    paths = np.einsum("qij,qjk->qik", same, same)
    # each open triangle 1=2, 2=3, 1≠3 is met twice, as (1, 3) and as (3, 1)
    return (paths * different).sum((1, 2), dtype=np.int64) // 2


@dataclass(frozen=True)
class JudgeAgreement:
    """Two judges on the same pairs.

    Attributes:
        questions: Questions that both labelled.
        pairs: Pairs that both labelled.
        agreeing: Pairs with equal labels.
        identical: Questions with equal labels on all pairs.
        kappa: Cohen's κ; None where a single class is in use.
        agreement_interval, kappa_interval: Two-sided, whole questions resampled; None where undefined.
        undefined_draws: Resamples in which κ was undefined.
    """

    questions: int
    pairs: int
    agreeing: int
    identical: int
    kappa: Fraction | None
    agreement_interval: tuple[Fraction, Fraction] | None
    kappa_interval: tuple[Fraction, Fraction] | None
    undefined_draws: int


def counts(first: Labels, second: Labels) -> npt.NDArray[np.int64]:
    """Per question: pairs both labelled, equal labels, *same* by the first, *same* by the second. Shape (Q, 4)."""
    upper = np.triu_indices(first.shape[1], 1)
    a, b = first[:, upper[0], upper[1]], second[:, upper[0], upper[1]]
    both = (a >= 0) & (b >= 0)
    return np.stack(
        [both.sum(1), (both & (a == b)).sum(1), (both & (a == 1)).sum(1), (both & (b == 1)).sum(1)], 1
    ).astype(np.int64)


def kappa(pairs: int, agreeing: int, first_same: int, second_same: int) -> Fraction | None:
    """Cohen's κ from sums; None where chance agreement is 1 (one class in use)."""
    if pairs == 0:
        return None
    observed = Fraction(agreeing, pairs)
    p, q = Fraction(first_same, pairs), Fraction(second_same, pairs)
    chance = p * q + (1 - p) * (1 - q)
    return None if chance == 1 else (observed - chance) / (1 - chance)


def agreement(rows: npt.NDArray[np.int64], *, draws: int, seed: str, tail: Fraction) -> JudgeAgreement:
    """Agreement and κ with question-cluster bootstrap intervals from the locked stream.

    Args:
        rows: (Q, 4) of `counts`, in the order of the bytes of the question ids; every question labelled by both.
        draws: Resamples of whole questions.
        seed: Of the stream.
        tail: Probability outside the two-sided interval.
    """
    n = len(rows)
    pairs, agreeing, a, b = (int(v) for v in rows.sum(0)) if n else (0, 0, 0, 0)
    value = kappa(pairs, agreeing, a, b)
    identical = int((rows[:, 0] == rows[:, 1]).sum())
    if n < 2 or pairs == 0:
        return JudgeAgreement(n, pairs, agreeing, identical, value, None, None, 0)
    shares, kappas, undefined = [], [], 0
    for weight in weights(n, draws, seed):
        total = weight @ rows
        m = total[:, 0].astype(float)
        observed, p, q = total[:, 1] / m, total[:, 2] / m, total[:, 3] / m
        chance = p * q + (1 - p) * (1 - q)
        known = chance < 1
        undefined += int((~known).sum())
        shares.append(np.rint(observed * SCALE).astype(np.int64))
        kappas.append(np.rint((observed[known] - chance[known]) / (1 - chance[known]) * SCALE).astype(np.int64))
    low, high = tail / 2, 1 - tail / 2
    share, ratio = np.concatenate(shares), np.concatenate(kappas)
    return JudgeAgreement(
        n,
        pairs,
        agreeing,
        identical,
        value,
        (Fraction(quantile(low, share), SCALE), Fraction(quantile(high, share), SCALE)),
        (Fraction(quantile(low, ratio), SCALE), Fraction(quantile(high, ratio), SCALE))
        if len(ratio) and value is not None
        else None,
        undefined,
    )
