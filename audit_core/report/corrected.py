"""Excess churn of a study corrected by people's labels, beside the judge's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from audit_core.estimators import people
from audit_core.estimators.bounds import Settings, bounded
from audit_core.model import Estimate
from audit_core.report.labelled import WORDS, Frame, Joined, blank
from audit_core.reviews.labels import DRAWN, IDENTICAL, STILL

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Corrected:
    """Excess churn corrected by the labels of one person, or by the mean of all.

    Attributes:
        reviewer: Whose; empty for the mean over those who finished a question.
        estimate: Its interval has the floor for errors that were not seen.
        plain: The interval without it.
        counted: Questions that enter, by stratum.
        outside: Counted questions with a *cannot tell*.
        extremes: The estimate if all those pairs were the same, and if all were different.
    """

    reviewer: str
    estimate: Estimate
    plain: Interval | None
    counted: dict[str, int]
    outside: int
    extremes: tuple[Fraction, Fraction] | None


def uncorrected(found: Frame, settings: Settings) -> Estimate:
    """Excess churn by the judge alone, with the study's own bounds."""
    top, denominator = found.contrast.total
    estimate = Estimate(
        f"excess_churn[semantic]@{found.old}-{found.new}",
        "excess_churn",
        top,
        denominator * found.size,
        "agreement",
        settings.status("other", "judge"),
        "semantic",
        found.old,
        found.new,
        population=found.size,
        excluded=len(found.answers) - found.size,
    )
    values = found.contrast.scaled
    return bounded(estimate, values, denominator, settings) if values.dtype != object else estimate


def corrected_by(joined: Joined, names: Sequence[str], settings: Settings) -> Corrected:
    """Excess churn corrected by one person, or by the mean of several over the questions that each has finished."""
    found = joined.frame
    finished = {name: joined.finished(name) for name in names}
    counted = joined.counted(np.logical_or.reduce(list(finished.values())))
    own = {name: joined.contrasts(name) for name in names}
    values = [_mean([own[name][i] for name in names if finished[name][i]]) for i in range(len(joined.ids))]
    known = np.array([value is not None for value in values], np.bool_)
    used = joined.by_stratum(counted & known)
    result = people.corrected(found.judge_mean, _strata(joined, used, values))
    outside = int((counted & ~known).sum())
    index = "mean of people" if len(names) > 1 else names[0]
    base = blank(joined, f"people: {index}", settings)
    estimate = replace(
        base,
        name="excess_churn" + base.name,
        measure="excess_churn",
        numerator=None if result.value is None else result.value.numerator,
        denominator=None if result.value is None else result.value.denominator,
        unit="agreement",
        interval=None if result.value is None else people.interval(result.value, result.floored, settings.tail),
        reason=result.reason,
        population=found.size,
        excluded=len(found.answers) - found.size,
        detail={"engine": "stratified difference, normal interval with a floor", **sizes(used)},
    )
    extremes = None
    if outside and result.value is not None:
        at = joined.by_stratum(counted)
        ends = []
        for cannot in (1, 0):
            filled = {name: joined.contrasts(name, cannot) for name in names}
            all_of = [_mean([filled[name][i] for name in names if finished[name][i]]) for i in range(len(joined.ids))]
            ends.append(people.corrected(found.judge_mean, _strata(joined, at, all_of)).value)
        extremes = (ends[0], ends[1]) if ends[0] is not None and ends[1] is not None else None
    return Corrected(
        "" if len(names) > 1 else names[0],
        estimate,
        None if result.value is None else people.interval(result.value, result.variance, settings.tail),
        {name: len(rows) for name, rows in used.items()},
        outside,
        extremes,
    )


def _mean(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def _strata(
    joined: Joined, used: Mapping[str, Sequence[int]], values: Sequence[Fraction | None]
) -> list[people.Stratum]:
    """The drawn strata with what people say, and the questions with a single answer, of which no one need say it."""
    found = joined.frame
    out = []
    for name in DRAWN:
        judged = tuple(found.judged(joined.ids[i]) for i in used[name])
        valued = tuple(value for i in used[name] if (value := values[i]) is not None)
        out.append(people.Stratum(WORDS[name], len(found.strata[name]), judged, valued, floored=name == STILL))
    alike = tuple(found.judged(question) for question in found.strata[IDENTICAL])
    return [*out, people.Stratum(WORDS[IDENTICAL], len(alike), alike, (Fraction(0),) * len(alike))]


def sizes(counted: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Counted questions by stratum, for the detail of an estimate."""
    return {f"questions {WORDS[name]}": str(len(rows)) for name, rows in counted.items()}
