"""Which flips are presented: by a rule that the screen states, or exactly those that somebody picked."""

from __future__ import annotations

from dataclasses import dataclass

from audit_core.reviews.events import VERDICTS
from audit_core.reviews.queues import QUEUES, SORTS
from dashboard.components.desk import Desk
from dashboard.numbers import count, plural

MOST, NAMED = 10, 50
"""Most questions of a queue, and most of those that an address names."""


@dataclass(frozen=True, slots=True)
class Picks:
    """Questions to present, and by what rule.

    Attributes:
        questions: Their ids, in order.
        rule: One sentence or two; plain text.
    """

    questions: list[str]
    rule: str


def picks(desk: Desk) -> Picks:
    """The questions that an address asks for, as far as whoever presents may show them.

    Args:
        desk: Set up for the comparison, its queue entered.
    """
    if desk.filters.only is not None:
        return _named(desk, list(dict.fromkeys(desk.filters.only)))
    open_ = [question for question in desk.ids() if not veiled(desk, question)]
    ranked = sorted(open_, key=lambda question: _rank(desk, question))  # sorted keeps the queue's order among equals
    known = "that counts and that you may know" if desk.person.independent else "that counts"
    filtered = " that pass the filter of the address" if desk.filters else ""
    rule = (
        f"Chosen by rule, not by hand: of {plural(len(desk.order), 'question')} in the queue "
        f"“{QUEUES[desk.queue].label}”{filtered}, at most {MOST}; first those with a verdict {known} (regressions, "
        f"highest impact first, then improvements and the other verdicts), then in the order “{SORTS[desk.sort]}”."
    )
    return Picks(ranked[:MOST], rule + _masked(len(desk.order) - len(open_)))


def veiled(desk: Desk, question: str) -> bool:
    """Whether a question cannot be shown without unmasking it: until the own verdict.

    An adjudicator may show what is settled.
    """
    settled = desk.person.may("adjudicate") and desk.review(question).outcome(desk.team.needed) is not None
    return desk.masked_now(question) and not settled


def _named(desk: Desk, wanted: list[str]) -> Picks:
    inside = set(desk.ids())
    there = [question for question in wanted if question in inside]
    open_ = [question for question in there if not veiled(desk, question)]
    rule = f"Picked by hand: {plural(len(wanted), 'question')} of the study, in the order of picking."
    if len(open_) > NAMED:
        rule += f" The first {NAMED} are shown."
    if missing := len(wanted) - len(there):
        rule += f" {count(missing)} left out: not in the study, outside the filter or set aside."
    return Picks(open_[:NAMED], rule + _masked(len(there) - len(open_)))


def _masked(number: int) -> str:
    return f" {count(number)} left out: masked until you have judged them." if number else ""


def _rank(desk: Desk, question: str) -> tuple[int, int]:
    """The verdict's place, then its impact; questions without a known verdict last."""
    i = desk.table.index[question]
    verdict, impact = int(desk.marks.outcome[i]), int(desk.marks.outcome_impact[i])
    return (verdict, -impact) if verdict >= 0 else (len(VERDICTS), 0)
