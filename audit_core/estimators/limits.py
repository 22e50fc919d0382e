"""The conditions of a release rule that rest on the ledgers alone: churn, loss of exact match, gain of refusals.

Each has three outcomes, by one pattern: *met* where the upper limit is below what is tolerated; *not met* where the
lower limit is above 0 and the estimate at least the margin; else it cannot be decided. Upper limits come from betting,
never from a bootstrap. The two can never both hold: a limit is never below the estimate, nor the margin below the
tolerance. All comparisons are of exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit_core.estimators import betting, churn, outcomes, utility
from audit_core.estimators.bounds import Flags, Settings
from audit_core.estimators.gate import Condition, points
from audit_core.model import Estimate
from audit_core.release import ReleaseRule
from audit_core.tensors import Answers

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Limits:
    """A number that a rule is about, with its one-sided limits.

    Attributes:
        name: Of the estimate; a loss or a gain has one of its own.
        value: Of the sample.
        lower: Above the truth with at most the probability outside the confidence level; likewise `upper` below it.
        population: Questions that enter.
        excluded: Questions that do not.
        level: Confidence of each limit.
        alike: Whether all questions have one value.
    """

    name: str
    value: Fraction
    lower: Fraction
    upper: Fraction
    population: int
    excluded: int
    level: Fraction
    alike: bool


def three_ways(value: Fraction, lower: Fraction, upper: Fraction, tolerance: Fraction, margin: Fraction) -> bool | None:
    """True for compatible, False for moved, None for not decided."""
    if upper < tolerance:
        return True
    return False if lower > 0 and value >= margin else None


def conditions(
    rule: ReleaseRule, answers: Answers, old: str, new: str, settings: Settings, estimates: Mapping[str, Estimate]
) -> tuple[list[Condition], list[Limits]]:
    """The conditions on numbers, with the limits that they rest on.

    Args:
        rule: What is asked for.
        old, new: The endpoints.
        settings: Level and seed, from the protocol.
        estimates: By name, of the study; the lower bound of excess churn is the published one.
    """
    found: list[Condition] = []
    used: list[Limits] = []

    def decide(name: str, what: str, lack: str, why: str, limits: Limits | None, tolerance: str, margin: str) -> None:
        found.append(_condition(name, what, lack, why, limits, Fraction(tolerance), Fraction(margin)))
        used.extend([limits] if limits else [])

    if rule.tolerance and rule.margin:
        estimate = estimates[f"excess_churn[{rule.kernel}]@{old}-{new}"]
        why = estimate.reason or estimate.detail.get("bounds", "")
        limits = _churn(rule.kernel, answers, estimate, old, new, settings)
        lack = "two answers in a state or the label of a pair"
        decide("churn", f"{rule.kernel} excess churn", lack, why, limits, rule.tolerance, rule.margin)
    for name, limit, sign, flags, what, lack in (
        ("em_loss", rule.em_loss, -1, answers.em, "the loss of exact match", "gold or an answer in a state"),
        ("refusal_gain", rule.refusal_gain, 1, _refused(answers), "the rise of refusals", "an answer in a state"),
    ):
        if limit:
            values, denominator, keep = utility.difference(flags, answers.index(old), answers.index(new))
            limits = _limits(f"{name}@{old}-{new}", answers, sign * values, denominator, keep, (-1, 1), settings)
            decide(name, what, lack, f"Every question lacks {lack}.", limits, limit, limit)
    return found, used


def _churn(kernel: str, answers: Answers, estimate: Estimate, old: str, new: str, settings: Settings) -> Limits | None:
    if estimate.lower is None:
        return None
    contrast = churn.contrast(answers.kernel(kernel), answers.repeats, answers.index(old), answers.index(new))
    # agreement under the exact kernel is transitive, so D is at least -(1/k + 1/k') / 2; labels need not be
    span = (Fraction(-1, 2), Fraction(1)) if kernel == "exact" else (Fraction(-1), Fraction(1))
    values, denominator, keep = contrast.values, contrast.denominator, contrast.eligible
    return _limits(estimate.name, answers, values, denominator, keep, span, settings, estimate.lower)


def _limits(
    name: str,
    answers: Answers,
    values: Ints,
    denominator: int,
    keep: Flags,
    span: tuple[Fraction | int, Fraction | int],
    settings: Settings,
    lower: Fraction | None = None,
) -> Limits | None:
    rows = np.flatnonzero(keep)
    if not len(rows):
        return None
    ordered = rows[betting.order_of([answers.question_ids[row] for row in rows], settings.seed)]
    some, tail = values[ordered], settings.tail
    return Limits(
        name,
        Fraction(int(some.sum(dtype=object)), denominator * len(rows)),
        betting.lower(some, denominator, *span, tail) if lower is None else lower,
        betting.upper(some, denominator, *span, tail),
        len(rows),
        len(answers) - len(rows),
        1 - tail,
        bool((some == some[0]).all()),
    )


def _refused(answers: Answers) -> npt.NDArray[np.int8]:
    return np.where(answers.outcome < 0, np.int8(-1), answers.outcome == outcomes.REFUSED).astype(np.int8)


def _condition(
    name: str, what: str, lack: str, why: str, found: Limits | None, tolerance: Fraction, margin: Fraction
) -> Condition:
    if found is None:
        return Condition(name, None, f"Not decided: {what} cannot be measured. {why}".strip())
    what = f"{what} is {points(found.value)} pp"
    if found.excluded:
        every, word = found.population + found.excluded, "lacks" if found.excluded == 1 else "lack"
        outside = f"{found.excluded:,} of {every:,} questions {word} {lack}, and the rule was made for all of them"
        return Condition(name, None, f"Not decided: {what}, but {outside}.")
    met = three_ways(found.value, found.lower, found.upper, tolerance, margin)
    if met and found.alike and name == "churn":
        # equal contrasts show no spread to judge by: answers that never vary may be no repeats at all
        return Condition(name, None, f"Not decided: {what} in every question, so there is no spread to judge by.")
    upper = f"{_level(found)} upper bound {_apart(found.upper, tolerance)} pp"
    lower = f"{_level(found)} lower bound {points(found.lower)} pp"
    if met:
        text = f"{what}; its {upper} is below the tolerated {points(tolerance)} pp."
        return Condition(name, True, _sentence(name, "Compatible", text))
    if met is False:
        text = f"{what}, at least {points(margin)} pp, and its {lower} is above 0."
        return Condition(name, False, _sentence(name, "Moved", text))
    small = f"its {lower} is not above 0" if found.lower <= 0 else f"the estimate is below {points(margin)} pp"
    text = f"Its {upper} is not below the tolerated {points(tolerance)} pp, and {small}."
    return Condition(name, None, f"Not decided: {what}. {text}")


def _sentence(name: str, word: str, text: str) -> str:
    return f"{word}: {text}" if name == "churn" else text[0].upper() + text[1:]


def _level(found: Limits) -> str:
    return f"{points(found.level, 4).rstrip('0').rstrip('.')} %"


def _apart(value: Fraction, limit: Fraction) -> str:
    """A limit in points, with more digits where two do not tell it from what it is compared with."""
    return points(value, 2 if points(value) != points(limit) else 4)
