"""How every estimate gets its bounds, and how an undefined one says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bootstrap, churn, stream
from audit_core.model import Estimate, EstimateStatus

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NO_FLOOR = (
    "No noise floor: a state needs two answers per question before repeat noise can be subtracted, and no question "
    "has them in both states. The raw agreement is uncorrected."
)
UNCORRECTED = "Uncorrected: without two answers per state, repeat noise is part of this number."


@dataclass(frozen=True, slots=True)
class Settings:
    """What the protocol fixes for all estimates.

    Attributes:
        tail: Probability outside the confidence level.
        draws, seed: Of the locked stream.
        status: Status of an estimate by (kind, role), kind one of ``churn``, ``flips``, ``other``.
    """

    tail: Fraction
    draws: int
    seed: str
    status: Callable[[str, str], EstimateStatus]


def bounded(estimate: Estimate, values: Ints, denominator: int, settings: Settings) -> Estimate:
    """The estimate with its one-sided lower bound and two-sided interval.

    Args:
        values: One integer per question of the population, its share of the mean times `denominator`.
    """
    if len(values) < 2:
        detail = {**estimate.detail, "bounds": "A single question has no interval; resampling needs two or more."}
        return replace(estimate, detail=detail)
    low, high = settings.tail / 2, 1 - settings.tail / 2
    found = bootstrap.of_mean(values, denominator)
    if found is not None:
        quantiles = [found.quantile(level) for level in (settings.tail, low, high)]
        engine = "exact bootstrap"
    else:
        sums = stream.sums(values[:, None], np.arange(len(values)), settings.draws, settings.seed)[:, 0]
        quantiles = [
            Fraction(bootstrap.quantile(level, sums), denominator * len(values)) for level in (settings.tail, low, high)
        ]
        engine = f"{settings.draws} draws"
    detail = {**estimate.detail, "engine": engine}
    if (values == values[0]).all():
        detail["degenerate"] = "All questions are equal, so the bounds equal the estimate."
    return replace(estimate, lower=quantiles[0], interval=(quantiles[1], quantiles[2]), detail=detail)


def agreement(
    name: str,
    measure: str,
    kernel: str | None,
    old: str | None,
    new: str | None,
    pairs: churn.Pairs,
    keep: Flags,
    status: EstimateStatus,
    settings: Settings,
    reason: str,
    note: str = "",
) -> Estimate:
    """Mean over questions of agreeing pairs among all pairs, with bounds; without a question undefined."""
    ratio = churn.mean_ratio(pairs.agree, pairs.pairs, keep)
    if ratio is None:
        return undefined(name, measure, status, kernel, old, new, reason, len(keep), "pairs of answers")
    estimate = Estimate(
        name,
        measure,
        ratio[0],
        ratio[1],
        "pairs of answers",
        status,
        kernel,
        old,
        new,
        reason=note,
        population=int(keep.sum()),
        excluded=int((~keep).sum()),
    )
    sizes = np.unique(pairs.pairs[keep])
    denominator = int(np.lcm.reduce(sizes))
    if denominator >= churn.EXACT_LIMIT:
        return estimate
    return bounded(estimate, denominator // pairs.pairs[keep] * pairs.agree[keep], denominator, settings)


def undefined(
    name: str,
    measure: str,
    status: EstimateStatus,
    kernel: str | None,
    old: str | None,
    new: str | None,
    reason: str,
    excluded: int,
    unit: str,
) -> Estimate:
    """An estimate that the data cannot give, with the reason."""
    return Estimate(name, measure, None, None, unit, status, kernel, old, new, reason=reason, excluded=excluded)
