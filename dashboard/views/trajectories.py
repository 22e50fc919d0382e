"""What happens between the endpoints?"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import streamlit as st

from dashboard import classes, data, display, sentences, state, steps
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import plain
from dashboard.figures.agreement import dots
from dashboard.numbers import count, exact, percent, plural
from dashboard.state import KERNELS

Row = dict[str, Any]
SIDES = {
    "old": "with the old endpoint",
    "new": "with the new endpoint",
    "third": "a third answer",
    "unstable": "disagrees with itself",
    "mixed": "mixed labels",
}
ANCHORS = {
    "old": "only with the old endpoint",
    "new": "only with the new endpoint",
    "neither": "with neither",
    "other": "other, by non-transitive labels",
}


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    names = [s["state"] for s in comparison.study["states"]]
    main = comparison.study["main_kernel"]
    display.heading("What happens between the endpoints?", steps.lead(comparison, names, main))
    if display.single_state(comparison):
        return
    if len(names) < 3:
        display.empty(
            "This study has two states, so there is nothing between the endpoints.",
            "The step from one to the other is on the Churn page; a third snapshot would show a trajectory.",
        )
        return
    _steps(comparison, names)
    if not steps.measurable(comparison, names, main):
        display.empty(
            "No answer can be followed along the ladder.",
            "Flips need two answers per question in neighbouring states; ask again and import the repeats.",
        )
        return
    classes.panel(comparison, names)
    left, right = st.columns(2)
    with left, st.container(border=True, height="stretch"):
        _middle(comparison)
    with right, st.container(border=True, height="stretch"):
        _anchor(comparison)


def _steps(comparison: Comparison, names: list[str]) -> None:
    kernel = comparison.selection.kernel
    shown = sentences.kernels(comparison)
    display.section(
        "Step by step",
        f"Every neighbouring pair of the ladder. Two-sided {comparison.level} intervals, not adjusted for looking at "
        "several steps.",
    )
    cells, rows, opens = [], [], {}
    marks = steps.dots(comparison, names, kernel)
    for index, (old, new) in enumerate(pairwise(names)):
        excess = {k: comparison.named(f"excess_churn[{k}]@{old}-{new}") for k in shown}
        flips = {k: comparison.named(f"repeat_stable_flips[{k}]@{old}-{new}") for k in shown}
        cells.append(
            (
                f"{old} → {new}",
                *(
                    display.opening(
                        count(flips[k]["numerator"]), display.into(comparison.selection, old=old, new=new, kernel=k)
                    )
                    for k in shown
                ),
                *(display.with_interval(excess[k]) for k in shown),
            )
        )
        rows.append(
            {"old": old, "new": new}
            | {f"flips, {KERNELS[k]}": flips[k]["numerator"] for k in shown}
            | {
                f"excess churn, {KERNELS[k]}{end}": excess[k][key]
                for k in shown
                for end, key in (("", "value"), (" low", "low"), (" high", "high"))
            }
        )
        opens[str(index)] = display.into(comparison.selection, old=old, new=new)
    columns = ("step", *(f"flips, {KERNELS[k]}" for k in shown), *(f"excess churn, {KERNELS[k]}" for k in shown))
    with st.container(key="wrap-steps"):
        left, right = st.columns([1.2, 1])
    with left:
        display.block(display.grid(columns, cells, numeric=range(1, len(columns))))
        union = comparison.named(f"adjacent_flips_union[{comparison.study['main_kernel']}]")
        if union["numerator"]:
            display.link(
                f"{plural(union['numerator'], 'question')} flip at one step or more", _behind(comparison, union)
            )
        display.table(rows, "steps")
    with right:
        if marks:
            display.figure(
                dots(marks, display.palette(), unit=" pp", zero=True), "steps", "Excess churn of each step", opens=opens
            )
    row = comparison.named(f"excess_churn[{kernel}]@{names[0]}-{names[1]}")
    display.facts(
        population=plural(row["population"], "question"),
        unit="pairs of answers",
        kernel=KERNELS[kernel],
        status=row["status"],
    )


def _behind(comparison: Comparison, row: Row) -> display.Parameters:
    """Parameters of a link to the questions that a count along the ladder is about."""
    old, new = state.default_pair(comparison.study)
    members = data.members(comparison.selection.study, old, new).get(row["name"], [])
    kernel = comparison.study["main_kernel"]
    return display.into(comparison.selection, old=old, new=new, kernel=kernel, queue="all", only=members)


def _middle(comparison: Comparison) -> None:
    display.block("<h2 style='margin-top:0'>Where the states between side</h2>")
    names = [s["state"] for s in comparison.study["states"]]
    middles = [name for name in names if comparison.rows.get(f"middle_state[old]@{name}")]
    if not middles:
        named = comparison.study["old_state"] is not None
        display.empty(
            "No state lies between the study's endpoints." if named else "The study names no endpoints.",
            "This table is about the states between the endpoints that a protocol names.",
        )
    rows = []
    for name in middles:
        found = {side: comparison.named(f"middle_state[{side}]@{name}") for side in SIDES}
        total = found["old"]["denominator"]
        if total is None:
            display.empty("No endpoint flip can be followed here.", plain(found["old"]["reason"]))
            continue
        cells = [_side(comparison, label, found[side]) for side, label in SIDES.items()]
        display.block(
            f"<h3>{plain(name)}, of {plural(total, 'endpoint flip')}</h3>"
            + display.grid(("its answers side", "flips", "share"), cells, numeric=(1, 2))
        )
        flips, others = (comparison.named(f"middle_unstable[{word}]@{name}") for word in ("flips", "others"))
        display.note(
            f"Unstable among flips {percent(exact(flips), 1)}, among other questions {percent(exact(others), 2)}."
        )
        rows += [
            {"state": name, "side": side, "flips": row["numerator"], "of": row["denominator"]}
            for side, row in found.items()
        ]
    _returning(comparison, names)
    if rows:
        display.facts(
            population="endpoint flips",
            unit="questions",
            kernel=KERNELS[comparison.study["main_kernel"]],
            status="post-hoc",
        )
        display.table(rows, "middle")


def _side(comparison: Comparison, label: str, row: Row) -> tuple[object, ...]:
    number = display.opening(count(row["numerator"]), _behind(comparison, row))
    return label, number, percent(exact(row), 1)


def _returning(comparison: Comparison, names: list[str]) -> None:
    kernel = comparison.study["main_kernel"]
    cells = []
    for before, name, after in zip(names, names[1:], names[2:], strict=False):
        both, back = (comparison.named(f"{m}[{kernel}]@{name}") for m in ("consecutive_flips", "returning_flips"))
        opened = (display.opening(count(row["numerator"]), _behind(comparison, row)) for row in (both, back))
        cells.append((f"{before} → {name} → {after}", *opened))
    display.block(
        "<h3>Flips at two steps in a row</h3>"
        + display.grid(("steps", "flip at both", "and return, X → Y → X"), cells, numeric=(1, 2))
    )


def _anchor(comparison: Comparison) -> None:
    display.block("<h2 style='margin-top:0'>The closed-book anchor</h2>")
    rows = []
    for entry in comparison.study["states"]:
        name = entry["state"]
        if not entry["closed_book"] or comparison.rows.get(f"anchor[old]@{name}") is None:
            continue
        found = {side: comparison.named(f"anchor[{side}]@{name}") for side in ANCHORS}
        total = found["old"]["denominator"]
        if total is None:
            display.empty("No endpoint flip has a repeat-stable closed-book answer.", plain(found["old"]["reason"]))
            continue
        cells = [_side(comparison, label, found[side]) for side, label in ANCHORS.items()]
        display.block(
            f"<h3>{plain(name)}, of {plural(total, 'endpoint flip')} with a stable closed-book answer</h3>"
            + display.grid(("it aligns", "flips", "share"), cells, numeric=(1, 2))
        )
        rows += [
            {"state": name, "aligns": side, "flips": row["numerator"], "of": row["denominator"]}
            for side, row in found.items()
        ]
    if not rows:
        display.empty(
            "This study has no closed-book anchor beside its endpoints.",
            "Ask the questions once more without retrieval to add one.",
        )
        return
    display.note("Descriptive only: agreeing with the closed-book answer does not make an answer right, or remembered.")
    display.facts(
        population="endpoint flips whose anchor is repeat-stable",
        unit="questions",
        kernel=KERNELS[comparison.study["main_kernel"]],
        status="post-hoc",
    )
    display.table(rows, "anchor")


page()
