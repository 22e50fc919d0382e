"""Groups of estimates that came later than some locked results, which have all or none of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from audit_core.estimators import refusals
from audit_core.estimators import robustness as robust
from audit_core.estimators.bounds import Settings
from audit_core.model import Estimate
from audit_core.protocol import Protocol
from audit_core.tensors import Answers


@dataclass(frozen=True, slots=True)
class Group:
    """One such group.

    Attributes:
        title: In words.
        measures: Of these estimates, and of no others.
        make: All of them, by protocol, answers and settings.
    """

    title: str
    measures: frozenset[str]
    make: Callable[[Protocol, Answers, Settings], list[Estimate]]


def outcomes(protocol: Protocol, answers: Answers, settings: Settings) -> list[Estimate]:
    """What answers do, state by state and pair by pair."""
    states = [e for state in answers.states for e in refusals.state_estimates(answers, state, settings)]
    pairs = [
        e for old, new, role in protocol.pairs() for e in refusals.pair_estimates(answers, old, new, role, settings)
    ]
    return states + pairs


def robustness(protocol: Protocol, answers: Answers, settings: Settings) -> list[Estimate]:
    """How sure excess churn is between the endpoints, or in every pair where none are named, and along the steps."""
    margin = Fraction(protocol.decision.margin) if protocol.decision else None
    found: list[Estimate] = []
    for old, new, role in protocol.pairs():
        if protocol.endpoints in (None, (old, new)):
            found += robust.pair_estimates(answers, old, new, role, settings, margin)
    return [*found, *robust.step_estimates(answers, list(pairwise(answers.states)), settings)]


OUTCOMES = Group("outcomes of answers, refusals, evidence of repeats", refusals.MEASURES, outcomes)
ROBUSTNESS = Group("how sure the result is", robust.MEASURES, robustness)
GROUPS = (OUTCOMES, ROBUSTNESS)
"""In the order in which results.json lists them, after all other estimates."""


def lacking(measures: Iterable[str]) -> tuple[Group, ...]:
    """Groups of which results with these measures have nothing."""
    given = set(measures)
    return tuple(group for group in GROUPS if not group.measures & given)
