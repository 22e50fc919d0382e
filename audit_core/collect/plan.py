"""A plan before anything is asked: how many questions, what they would find, what they cost, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audit_core.collect.costs import Price, Tokens, answer_tokens, costs, judge_tokens
from audit_core.estimators.compatibility import compatible
from audit_core.estimators.gate import points
from audit_core.estimators.pilot import Pilot
from audit_core.estimators.planner import (
    LEAST,
    MOST,
    Expected,
    Rule,
    detection,
    power,
    questions_needed,
    smallest_share,
)
from audit_core.estimators.population import Population

USUAL = 0.8
"""Power that the smallest detectable share is given for where none was asked for."""
SIZES = (50, 100, 200, 400, 800, 1600)
REPEATS = (2, 3, 4)
UNPRICED = Price()
NEARLY = 0.0001
"""Smallest share of flips that is told apart from none."""


@dataclass(frozen=True)
class Wish:
    """What is planned and what is assumed.

    Attributes:
        questions: None to have them computed from `wanted`.
        repeats: Answers to each question in each state, 2 to 10.
        wanted: Power, in (0, 1); None where it was not asked for.
        rule: When churn is confirmed.
        population: Assumed, where there is no pilot.
        pilot: A study whose questions stand for the planned ones.
        flips: Share that moves, in place of the pilot's own.
        tolerance: D̂ below which a study is compatible; None where nobody asked.
        states: In which each question is asked.
    """

    questions: int | None
    repeats: int
    wanted: float | None
    rule: Rule
    population: Population
    pilot: Pilot | None = None
    flips: float | None = None
    tolerance: float | None = None
    states: int = 2

    @property
    def judged(self) -> bool:
        """Whether a judge labels the answers by meaning."""
        return self.rule.semantic

    def expected(self, repeats: int) -> Expected:
        """What such a study is expected to meet."""
        if self.pilot is not None:
            return self.pilot.expected(self.flips, repeats)
        return _assumed(self.population, repeats)

    def chance(self, questions: int, repeats: int | None = None, flips: float | None = None) -> float:
        """Power with other numbers than the planned ones."""
        expected = self.expected(repeats or self.repeats)
        return power(expected if flips is None else replace(expected, flips=flips), questions, self.rule)

    def needed(self, wanted: float, repeats: int | None = None) -> int | None:
        """Questions for a power; None where a million do not reach it."""
        return questions_needed(lambda n: self.chance(n, repeats), wanted)

    def smallest(self, questions: int, wanted: float, repeats: int | None = None) -> float | None:
        """Smallest share of moving questions that is confirmed with a power; None where none is."""
        return smallest_share(lambda f: self.chance(questions, repeats, f), wanted)


@lru_cache(maxsize=64)
def _assumed(population: Population, repeats: int) -> Expected:
    return Expected(population.flips, *population.law(repeats))


@dataclass(frozen=True)
class Charges:
    """Tokens and prices; None where they are to be taken from what `init` writes."""

    answer: Tokens | None = None
    judge: Tokens | None = None
    answer_price: Price = UNPRICED
    judge_price: Price = UNPRICED

    def of(self, wish: Wish, questions: int, repeats: int) -> dict[str, Any]:
        """Cost of a study; see `costs.costs`."""
        answer = self.answer or answer_tokens()
        judge = self.judge or judge_tokens(wish.states * repeats, answer.written)
        return costs(questions, repeats, wish.states, answer, judge if wish.judged else None,
                     self.answer_price, self.judge_price)  # fmt: skip


def plan(wish: Wish, charges: Charges) -> dict[str, Any]:
    """Everything about a plan.

    Returns:
        ``answer``, sentences with the short answer first; ``questions`` (None where they cannot be reached), ``power``,
        ``null``, ``detection``, ``expected``, ``smallest``, ``assumed``, ``alternatives`` and ``cost``.
    """
    wanted = wish.wanted or USUAL
    needed = wish.needed(wanted) if wish.wanted else None
    questions = wish.questions or needed
    expected = wish.expected(wish.repeats)
    exact, semantic = expected.law.mean()
    found: dict[str, Any] = {
        "questions": questions,
        "repeats": wish.repeats,
        "wanted": wish.wanted,
        "needed": needed,
        "expected": {"flips": expected.flips, "exact": exact, "semantic": semantic},
        "rule": {"margin": wish.rule.margin, "level": wish.rule.level, "semantic": wish.rule.semantic},
        "assumed": assumed(wish),
    }
    if questions is not None:
        share = wish.smallest(questions, wanted)
        means = replace(expected, flips=share).law.mean() if share is not None else (None, None)
        errors = expected.standard_errors(questions)
        found |= {
            "power": power(expected, questions, wish.rule),
            "null": power(expected.nothing, questions, wish.rule),
            "detection": detection(expected, questions, wish.rule.level) if wish.judged else None,
            "standard_errors": {"exact": errors[0], "semantic": errors[1]},
            "smallest": {"power": wanted, "flips": share, "exact": means[0], "semantic": means[1]},
            "cost": charges.of(wish, questions, wish.repeats),
        }
        if wish.tolerance is not None:
            kernel, low = (1, -1.0) if wish.judged else (0, -0.5)
            found["compatible"] = {
                "tolerance": wish.tolerance,
                **{name: compatible(e, questions, wish.tolerance, wish.rule.level, kernel, low)
                   for name, e in (("if nothing moves", expected.nothing), ("as expected", expected))},
            }  # fmt: skip
    found["alternatives"] = alternatives(wish, charges, questions)
    return {"answer": sentences(wish, found), **found}


def alternatives(wish: Wish, charges: Charges, questions: int | None) -> list[dict[str, Any]]:
    """Other numbers of questions and repeats; a row each."""
    sizes = sorted({*SIZES, *([questions] if questions else [])})
    rows = []
    for repeats in sorted({*REPEATS, wish.repeats}):
        for size in sizes:
            cost = charges.of(wish, size, repeats)
            rows.append({
                "questions": size, "repeats": repeats, "power": wish.chance(size, repeats),
                "smallest_flips": wish.smallest(size, wish.wanted or USUAL, repeats),
                "answers": cost["answers"]["calls"], **({"cost": cost["cost"]} if "cost" in cost else {}),
            })  # fmt: skip
    return rows


def assumed(wish: Wish) -> dict[str, Any]:
    """What a plan rests on."""
    pilot = wish.pilot
    if pilot is None:
        p = wish.population
        zeta = {kernel: p.zeta(kernel) for kernel in ("exact", "semantic")}
        return {"flips": p.flips, "noise": p.noise, "same_words": p.alike, "reworded": p.reworded, "zeta": zeta}
    return {
        "flips": pilot.share if wish.flips is None else wish.flips,
        "pilot": {"questions": pilot.questions, "flips": pilot.flips, "excluded": pilot.excluded},
        "zeta": {"exact": pilot.zeta[0], "semantic": pilot.zeta[1]},
    }


def share(value: float, places: int = 1) -> str:
    """A share in percent; never 0 or 100 where it is neither."""
    step = 10.0 ** -(places + 2)
    if 0 < value < step / 2:
        return f"under {step:.{places}%}"
    if value > 1 - step / 2:
        return "100%" if value == 1 else f"over {1 - step:.{places}%}"
    return f"{value:.{places}%}".replace("." + "0" * places + "%", "%")


def chance(value: float, places: int = 1) -> str:
    """A probability in percent, which is never quite 1."""
    return share(min(value, 1 - 1e-12), places)


def least(value: float | None) -> str:
    """A smallest share of flips as tables show it."""
    if value is None:
        return "none"
    return "any" if value <= NEARLY else share(value)


def pp(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{points(Fraction(value).limit_denominator(10**9), 1)} pp"


def sentences(wish: Wish, found: dict[str, Any]) -> list[str]:
    """The plan in words, the short answer first."""
    expected, rule, n = found["expected"], wish.rule, found["questions"]
    moving = f"if {share(expected['flips'])} of the questions flip"
    lines = []
    if wish.wanted and found["needed"] is None:
        lines.append(
            f"A chance of {share(wish.wanted)} to confirm churn is out of reach with {wish.repeats} repeats, "
            f"{moving}: {MOST:,} questions do not give it."
        )
    if wish.wanted and found["needed"] is not None:
        fewer = " or fewer" if found["needed"] == LEAST else ""
        lines.append(
            f"{found['needed']:,} questions{fewer} with {wish.repeats} repeats give a chance of {share(wish.wanted)} "
            f"to confirm churn, {moving}."
        )
    if n is not None and (wish.questions is not None or not wish.wanted):
        lines.append(
            f"{n:,} questions, {wish.repeats} repeats: the chance to confirm churn is {chance(found['power'])}, "
            f"{moving}."
        )
    lines.append(_means(wish, expected))
    if expected["exact"] < rule.margin:
        lines.append(
            f"The exact one is below the margin of {pp(rule.margin)}, so with many questions a confirmation becomes "
            "less likely, not more: the words of the answers differ too much for exact agreement to show the movement. "
            "Fix a lower margin before you collect, or expect no confirmation."
        )
    elif expected["exact"] < 1.2 * rule.margin:
        lines.append(
            f"The exact one is close to the margin of {pp(rule.margin)}, which decides it: more questions help slowly."
        )
    if n is not None:
        lines += _more(wish, found)
    return [line.replace(" of under ", " under ").replace(" of over ", " over ") for line in lines]


def _means(wish: Wish, expected: dict[str, Any]) -> str:
    semantic = f", semantic {pp(expected['semantic'])}" if wish.judged else ""
    return f"Expected excess churn: exact {pp(expected['exact'])}{semantic}."


def _more(wish: Wish, found: dict[str, Any]) -> list[str]:
    lines = [f"If nothing moves, churn is confirmed all the same with a chance of {share(found['null'], 2)}."]
    smallest = found["smallest"]
    if smallest["flips"] is None:
        lines.append(f"No share of flips is confirmed with a chance of {share(smallest['power'])}.")
    elif smallest["flips"] <= NEARLY:
        lines.append("The questions that do not flip move enough already: churn is confirmed without any flip.")
    else:
        lines.append(
            f"The smallest share of flips that is confirmed with a chance of {share(smallest['power'])}: "
            f"{share(smallest['flips'])} (excess churn: exact {pp(smallest['exact'])}"
            + (f", semantic {pp(smallest['semantic'])})." if wish.judged else ").")
        )
    if found["detection"] is not None:
        lines.append(
            f"Movement of meaning alone, without the margin, is seen with a chance of {chance(found['detection'])}."
        )
    if "compatible" in found:
        both = found["compatible"]
        lines.append(
            f"The chance to show compatible (upper limit of {'semantic' if wish.judged else 'exact'} excess churn "
            f"below {pp(both['tolerance'])}): {chance(both['if nothing moves'])} if nothing moves, "
            f"{chance(both['as expected'])} as expected."
        )
    return lines
