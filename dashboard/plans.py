"""What the page Plan asks for, kept in the URL, and what it shows, computed once for the same wishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from audit_core import explore
from audit_core.collect.plan import Charges, Wish, plan
from audit_core.errors import AuditError
from audit_core.estimators.pilot import Pilot
from audit_core.estimators.planner import LEAST, MOST, Rule, detection, power
from audit_core.estimators.population import Population
from dashboard import data, state

KEPT = "plan-kept"
CURVE = (50, 60, 70, 85, 100, 120, 140, 170, 200, 240, 280, 330, 400, 480, 570, 680, 800, 960, 1140, 1360, 1600, 1920,
         2290, 2720, 3200)  # fmt: skip
"""Numbers of questions at which the curve is computed."""


@dataclass(frozen=True, slots=True)
class Field:
    """One number that a reader may change.

    Attributes:
        label: Beside it.
        default: Also what the URL leaves out.
        places: Decimals shown; 0 for whole numbers.
        help: More about it.
    """

    label: str
    default: float
    low: float
    high: float
    step: float
    places: int
    help: str


FIELDS = {
    "questions": Field("Questions", 400, LEAST, MOST, 50, 0, "How many questions the audit asks."),
    "repeats": Field("Repeats", 2, 2, 10, 1, 0, "Answers to each question in each state."),
    "chance": Field("Wanted chance, %", 80, 1, 99, 5, 0, "For the questions needed and the smallest share of flips."),
    "flips": Field("Questions that flip, %", 10, 0, 100, 1, 1, "Share of questions whose meaning moves."),
    "noise": Field("Repeats differ in meaning, %", 11, 0, 50, 1, 1,
                   "How often two answers of one state differ in meaning; 100 less the within agreement on Churn."),
    "words": Field("Equal meaning, equal words, %", 40, 0, 100, 5, 1,
                   "How often two answers of one state that mean the same have the same words."),
    "margin": Field("Margin, pp", 3, 0, 100, 0.5, 1, "Least exact excess churn that counts."),
    "level": Field("Confidence, %", 95, 50.1, 99.9, 1, 1, "Of the one-sided lower bounds."),
    "tolerance": Field("Tolerance, pp", 3, 0.1, 99, 1, 1, "Excess churn below which an audit is called compatible."),
    "states": Field("States", 2, 2, 100, 1, 0, "In which every question is asked; for the cost."),
}  # fmt: skip
NO_PILOT = ""


def kept() -> dict[str, str]:
    """What was chosen other than the defaults, as the URL has it."""
    found: dict[str, str] = st.session_state.setdefault(KEPT, {})
    return found


def follow(pilots: list[str]) -> list[str]:
    """Take over what the URL asks for and write what was chosen before into it.

    Returns:
        Sentences on parts of the URL that could not be followed.
    """
    problems = []
    for name in (*FIELDS, "pilot"):
        wanted = st.query_params.get(name)
        if wanted is None:
            continue
        if wanted in pilots if name == "pilot" else _number(name, wanted) is not None:
            kept()[name] = wanted
        else:
            problems.append(f"The address asks for the {name} “{wanted}”, which is not possible here.")
            del st.query_params[name]
    if kept().get("pilot", NO_PILOT) not in (NO_PILOT, *pilots):
        del kept()["pilot"]
    if {n: st.query_params[n] for n in (*FIELDS, "pilot") if n in st.query_params} != kept():
        other = {n: st.query_params.get_all(n) for n in st.query_params if n not in FIELDS and n != "pilot"}
        st.query_params.from_dict({**other, **kept()})
    return problems


def choose(name: str, text: str, default: str) -> None:
    """Keep one choice; for callbacks."""
    if text == default:
        kept().pop(name, None)
        st.query_params.pop(name, None)
    else:
        kept()[name] = text
        st.query_params[name] = text


def value(name: str, default: float | None = None) -> float:
    """A number as it was chosen, or its default."""
    found = _number(name, kept().get(name, ""))
    return found if found is not None else FIELDS[name].default if default is None else default


def _number(name: str, text: str) -> float | None:
    field = FIELDS[name]
    try:
        number = float(text) if len(text) < 12 else None
    except ValueError:
        return None
    if number is None or not field.low <= number <= field.high or (field.places == 0 and number % 1):
        return None
    return number


def pilots() -> list[str]:
    """Ids of loaded studies that can be a pilot by their states; none where there is no database."""
    try:
        return [row["study_id"] for row in data.studies() if len(data.study(row["study_id"])["states"]) > 1]
    except AuditError:
        return []


@st.cache_resource(show_spinner="Reading the pilot's answers once …", max_entries=8)
def _pilot(mark: data.Stamp, study_id: str) -> Pilot | None:
    return explore.pilot(data.arrays(study_id), *state.default_pair(data.study(study_id)))


def pilot(study_id: str) -> Pilot | None:
    """What a loaded study says as a pilot; None where it does not show its noise."""
    return _pilot(data.stamp(), study_id)


@dataclass(frozen=True)
class Asked:
    """All that a plan depends on; hashable, so that it is computed once."""

    numbers: tuple[tuple[str, float], ...]
    pilot: str
    flips_given: bool

    def wish(self) -> Wish:
        """The same for the planner."""
        of = dict(self.numbers)
        source = pilot(self.pilot) if self.pilot else None
        rule = Rule(of["margin"] / 100, of["level"] / 100, source is None or source.semantic)
        return Wish(
            int(of["questions"]), int(of["repeats"]), of["chance"] / 100, rule,
            Population(of["flips"] / 100, of["noise"] / 100, of["words"] / 100), source,
            of["flips"] / 100 if source and self.flips_given else None, of["tolerance"] / 100, int(of["states"]),
        )  # fmt: skip


@st.cache_data(show_spinner="Computing the plan …", max_entries=64)
def _found(mark: data.Stamp, asked: Asked, _charges: Charges, charges: str) -> dict[str, Any]:
    return plan(asked.wish(), _charges)


def found(asked: Asked, charges: Charges) -> dict[str, Any]:
    """The plan; see `audit_core.collect.plan.plan`."""
    return _found(data.stamp(), asked, charges, repr(charges))


@st.cache_data(show_spinner=False, max_entries=64)
def _curves(mark: data.Stamp, asked: Asked) -> dict[str, list[float]]:
    wish = asked.wish()
    expected = wish.expected(wish.repeats)
    nothing, along = expected.nothing, sizes(wish.questions or LEAST)
    lines = {
        "expected": [power(expected, n, wish.rule) for n in along],
        "nothing": [power(nothing, n, wish.rule) for n in along],
    }
    if wish.judged:
        lines["meaning"] = [detection(expected, n, wish.rule.level) for n in along]
    return {name: [100 * chance for chance in line] for name, line in lines.items()}


def sizes(planned: int) -> list[int]:
    """Numbers of questions at which the curve is computed: those of `CURVE`, and on to the planned one."""
    found = list(CURVE)
    while found[-1] < planned:
        found.append(min(round(found[-1] * 1.3), planned))
    return found


def curves(asked: Asked) -> dict[str, list[float]]:
    """Chances in percent at the numbers of questions of `sizes`, by what they are about."""
    return _curves(data.stamp(), asked)
