"""People's labels beside a judge's: how far they agree, and excess churn corrected by a sample that people labelled.

People label all pairs of the questions of a sample that is stratified by what the judge says, so every question's
chance to be in it is known. Agreement is given as it is in the sample, where questions that the judge saw move are
over-represented, and weighted back to all questions, which is what describes the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from audit_core.estimators import stream
from audit_core.estimators.bootstrap import quantile
from audit_core.estimators.judges import SCALE, kappa

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int8]
Interval = tuple[Fraction, Fraction]
NOBODY = "No question has all its pairs labelled yet."


@dataclass(frozen=True, slots=True)
class Stratum:
    """Questions that were drawn with the same chance.

    Attributes:
        name: In words, for the reason why something cannot be measured.
        size: All questions of the stratum.
        judged: Contrast by the judge of those that a person has labelled.
        valued: Contrast by the person of the same questions.
        floored: Whether a variance of the differences that was seen to be small may be so by chance.
    """

    name: str
    size: int
    judged: tuple[Fraction, ...] = ()
    valued: tuple[Fraction, ...] = ()
    floored: bool = False

    @property
    def open(self) -> bool:
        """Too few labelled questions to tell how much they differ among themselves."""
        return len(self.valued) < min(self.size, 2)

    @property
    def differences(self) -> list[Fraction]:
        """What people say minus what the judge says."""
        return [h - j for h, j in zip(self.valued, self.judged, strict=True)]


@dataclass(frozen=True, slots=True)
class Correction:
    """Excess churn corrected by people's labels.

    Attributes:
        value: The estimate; None where it is not measurable.
        variance: Of the estimate.
        floored: The same with a floor for strata in which no error was seen.
        reason: Why it is not measurable.
    """

    value: Fraction | None
    variance: Fraction = Fraction(0)
    floored: Fraction = Fraction(0)
    reason: str = ""


def corrected(judge_mean: Fraction, strata: Sequence[Stratum]) -> Correction:
    """The stratified difference estimator: mean_N(j) + Σ_h (N_h/N) · mean over labelled of (h − j).

    Its variance is Var(h)/N, for the questions are themselves a sample, plus Σ_h (N_h/N)² (1/n_h − 1/N_h) s_h² for the
    questions that nobody labelled. Where no error was seen in n_h questions, s_h² = 0 says too much; the floor
    ¼/(n_h + 1) stands for one error of half a point in one question more.

    Args:
        judge_mean: Mean of the judge's contrast over all questions.
        strata: Parts that make up all questions.
    """
    total = sum(s.size for s in strata)
    if not total or not any(s.valued for s in strata):
        return Correction(None, reason=NOBODY)
    for s in strata:
        if s.open:
            done = f"{len(s.valued)} of {s.size} questions {s.name}"
            return Correction(None, reason=f"Too few labels: two are needed of each kind, and {done} have all theirs.")
    value, first, second = judge_mean, Fraction(0), Fraction(0)
    spread = floored = Fraction(0)
    for s in (s for s in strata if s.size):
        n, weight = len(s.valued), Fraction(s.size, total)
        differences = s.differences
        value += weight * _mean(differences)
        first += weight * _mean(s.valued)
        second += weight * _mean([h * h for h in s.valued])
        left = weight**2 * (Fraction(1, n) - Fraction(1, s.size))
        own = _variance(differences)
        spread += left * own
        floored += left * (max(own, Fraction(1, 4 * (n + 1))) if s.floored else own)
    among = (second - first**2) / total
    return Correction(value, among + spread, among + floored)


def interval(value: Fraction, variance: Fraction, tail: Fraction) -> Interval:
    """Two-sided normal interval, its half width rounded to `SCALE` so that it is the same everywhere."""
    z = NormalDist().inv_cdf(float(1 - tail / 2))
    half = Fraction(round(z * sqrt(variance) * SCALE), SCALE)
    return value - half, value + half


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _variance(values: Sequence[Fraction]) -> Fraction:
    if len(values) < 2:
        return Fraction(0)  # a stratum of one question: nothing of it is unlabelled
    mean = _mean(values)
    return sum(((v - mean) ** 2 for v in values), Fraction(0)) / (len(values) - 1)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Agreement of judge and person, weighted back to all questions.

    Attributes:
        confusion: Shares of pairs: same by both, same by the judge only, by the person only, by neither; None where a
            stratum has too few labels.
        agreement, kappa: From these shares.
        agreement_interval, kappa_interval: Two-sided, whole questions resampled within their strata.
        undefined_draws: Resamples in which κ was undefined.
    """

    confusion: tuple[Fraction, Fraction, Fraction, Fraction] | None = None
    agreement: Fraction | None = None
    kappa: Fraction | None = None
    agreement_interval: Interval | None = None
    kappa_interval: Interval | None = None
    undefined_draws: int = 0


def weighted(strata: Sequence[tuple[int, Ints]], *, draws: int, seed: str, tail: Fraction) -> Weighted:
    """Agreement and κ as they would be if all questions had been labelled.

    Args:
        strata: Size of each stratum, and (n, 4) of `judges.counts` of its labelled questions in the order of the bytes
            of their ids.
        draws: Resamples.
        seed: Of the stream; each stratum has its own.
        tail: Probability outside the two-sided interval.
    """
    filled = [(size, rows) for size, rows in strata if size]
    if not filled or any(len(rows) < min(size, 2) for size, rows in filled):
        return Weighted()
    whole = lcm(*(len(rows) for _, rows in filled))
    scaled = [rows * (size * whole // len(rows)) for size, rows in filled]
    pairs, agreeing, judge, person = (int(v) for v in sum(rows.sum(0) for rows in scaled))
    if not pairs:
        return Weighted()
    drawn = sum(_totals(rows, draws, f"{seed}/{number}") for number, rows in enumerate(scaled))
    found, undefined = kappa(pairs, agreeing, judge, person), 0
    m = np.asarray(drawn)[:, 0].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, p, q = (np.asarray(drawn)[:, c] / m for c in (1, 2, 3))
        chance = p * q + (1 - p) * (1 - q)
        ratio = (share - chance) / (1 - chance)
    known = (m > 0) & (chance < 1)
    undefined = int((~known).sum())
    both = Fraction(agreeing + judge + person - pairs, 2)
    return Weighted(
        (both / pairs, (judge - both) / pairs, (person - both) / pairs, (agreeing - both) / pairs),
        Fraction(agreeing, pairs),
        found,
        _quantiles(share[m > 0], tail),
        None if found is None else _quantiles(ratio[known], tail),
        undefined,
    )


@dataclass(frozen=True, slots=True)
class Reliability:
    """Agreement among several people.

    Attributes:
        pairs: Pairs that two or more of them labelled.
        alpha: Krippendorff's α for two values; None where a single one is in use.
        interval: Two-sided, whole questions resampled.
    """

    pairs: int
    alpha: Fraction | None = None
    interval: Interval | None = None


def reliability(labels: Labels, *, draws: int, seed: str, tail: Fraction) -> Reliability:
    """Krippendorff's α, nominal, with missing labels.

    Args:
        labels: (questions, pairs, people) in the order of the bytes of the question ids: 1 same, 0 different, -1 none.
        draws: Resamples of whole questions.
        seed: Of the stream.
        tail: Probability outside the two-sided interval.
    """
    same, different = (labels == 1).sum(2, dtype=np.int64), (labels == 0).sum(2, dtype=np.int64)
    many = same + different
    shared = many > 1
    whole = lcm(*range(1, max(labels.shape[2], 2)))
    apart = np.where(shared, same * different * (whole // np.maximum(many - 1, 1)), 0)
    rows = np.stack([apart.sum(1), np.where(shared, same, 0).sum(1), np.where(shared, different, 0).sum(1)], 1)
    rows = rows[shared.any(1)]
    pairs = int(shared.sum())
    disagreement, ones, zeros = (int(v) for v in rows.sum(0)) if len(rows) else (0, 0, 0)
    if not ones * zeros:
        return Reliability(pairs)
    alpha = 1 - Fraction((ones + zeros - 1) * disagreement, whole * ones * zeros)
    if len(rows) < 2:
        return Reliability(pairs, alpha)
    drawn = _totals(rows, draws, seed).astype(float)
    product = drawn[:, 1] * drawn[:, 2]
    known = product > 0
    found = 1 - (drawn[:, 1] + drawn[:, 2] - 1)[known] * drawn[known, 0] / (whole * product[known])
    return Reliability(pairs, alpha, _quantiles(found, tail))


def _totals(rows: Ints, draws: int, seed: str) -> Ints:
    """Sums of the rows over each resample, (draws, columns)."""
    if len(rows) == 1:
        return np.repeat(rows, draws, 0)
    return np.concatenate([weight @ rows for weight in stream.weights(len(rows), draws, seed)])


def _quantiles(values: npt.NDArray[np.float64], tail: Fraction) -> Interval | None:
    if not len(values):
        return None
    scaled = np.rint(values * SCALE).astype(np.int64)
    low, high = (quantile(level, scaled) for level in (tail / 2, 1 - tail / 2))
    return Fraction(low, SCALE), Fraction(high, SCALE)
