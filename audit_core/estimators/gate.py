"""The confirmatory decision: an intersection of conditions fixed in the protocol. Nothing else rescues or sinks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Outcome = Literal["churn confirmed", "not confirmed", "cannot be decided"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition and whether it holds; None where it cannot be decided."""

    name: str
    met: bool | None
    sentence: str


def points(value: Fraction, places: int = 2) -> str:
    """A fraction in percentage points as text, rounded half up from the exact value, with a true minus sign."""
    scaled = value * 100 * 10**places
    rounded = (abs(scaled) * 2 + 1) // 2
    whole, rest = divmod(int(rounded), 10**places)
    sign = "−" if scaled < 0 and rounded else ""
    return f"{sign}{whole}.{rest:0{places}d}" if places else f"{sign}{whole}"


def decide(
    margin: Fraction, exact: Fraction | None, lower: Sequence[tuple[str, Fraction | None, bool]], excluded: int
) -> tuple[Outcome, tuple[Condition, ...]]:
    """Apply the rule on exact values.

    Args:
        margin: Least exact excess churn that counts.
        exact: Exact excess churn between the endpoints.
        lower: (kernel, one-sided lower bound, degenerate) for each kernel whose bound must be above 0.
        excluded: Questions outside the estimand; with any, the rule cannot return a decision in favour.

    Returns:
        The outcome and each condition.
    """
    conditions = [
        Condition(
            "margin",
            None if exact is None else exact >= margin,
            f"Exact excess churn is at least {points(margin)} pp: "
            + ("not measurable." if exact is None else f"{points(exact)} pp."),
        )
    ]
    for kernel, bound, degenerate in lower:
        note = " (all questions are equal, so the bound is degenerate)" if degenerate else ""
        conditions.append(
            Condition(
                f"lower bound, {kernel}",
                None if bound is None else bound > 0,
                f"The lower bound of {kernel} excess churn is above 0: "
                + ("not measurable." if bound is None else f"{points(bound)} pp{note}."),
            )
        )
    if excluded:
        conditions.append(
            Condition(
                "all questions",
                None,
                f"{excluded} of the questions lack a second answer in a state or the label of a pair, so the rule "
                "cannot be applied to the population it was fixed for.",
            )
        )
    met = [condition.met for condition in conditions]
    if any(value is False for value in met) and not excluded:
        return "not confirmed", tuple(conditions)
    if any(value is None for value in met):
        return "cannot be decided", tuple(conditions)
    return "churn confirmed", tuple(conditions)
