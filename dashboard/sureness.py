"""How sure is this? The panel of the Churn page: the same number by other ways, and what rests on single questions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import streamlit as st

from dashboard import data, display
from dashboard.comparison import Comparison, absent
from dashboard.display import Markup, plain
from dashboard.figures.agreement import Dot, dots
from dashboard.numbers import count, degenerate, exact, interval, percent, plural, points, probability
from dashboard.state import KERNELS

Row = dict[str, Any]
WITHOUT_TAG = "excess_churn_without_tag"


def panel(comparison: Comparison) -> None:
    """Draw the panel."""
    selection = comparison.selection
    display.section(
        "How sure is this?",
        "The same movement by other ways of looking. If they agree, the result does not hang on one choice. "
        "Nothing here can rescue or sink a decision.",
    )
    excess = comparison.pair("excess_churn", selection.kernel)
    if exact(excess) is None:
        display.empty("There is nothing to look at in other ways.", plain(excess["reason"]))
        return
    found = data.robustness(selection.study, selection.old, selection.new)
    ways = _ways(comparison, found)
    with st.container(key="wrap-sure"):
        left, right = st.columns([1.1, 1])
    with left, st.container(border=True, height="stretch"):
        _forest(comparison, ways)
    with right, st.container(border=True, height="stretch"):
        _questions(comparison, found)
    _steps(comparison)


def _ways(comparison: Comparison, found: dict[str, Row]) -> list[tuple[str, Row]]:
    """Excess churn as it is above, then by each other way that this study has, with its name in words."""
    kernel = comparison.selection.kernel
    at = f"@{comparison.selection.old}-{comparison.selection.new}"
    rows = {**comparison.rows, **found}
    wanted = [
        ("as above", f"excess_churn[{kernel}]{at}"),
        ("other bounds (BCa)", f"bca_excess_churn[{kernel}]{at}"),
        ("without refusals", f"excess_churn[{kernel}, without refusals]{at}"),
    ]
    if kernel == "exact":
        wanted.append(("texts to the letter", f"excess_churn[exact:raw]{at}"))
        for name, row in found.items():
            if row["measure"] == "excess_churn_other_rule" and row["kernel"] != "exact:raw":
                wanted.append((f"rule {row['kernel'].removeprefix('exact:')}", name))
    else:
        seconds = [judge["judge"] for judge in comparison.study["judges"] if judge["role"] != "primary"]
        for judge in seconds:
            who = "second judge" if len(seconds) == 1 else judge
            wanted.append((who, f"excess_churn[semantic:{judge}]{at}"))
            wanted.append(("first judge, same ones", f"excess_churn[semantic, questions of {judge}]{at}"))
    ways = [(label, rows[name]) for label, name in wanted if exact(rows.get(name) or absent(name)) is not None]
    tags = [row for row in found.values() if _of_kernel(row, WITHOUT_TAG, kernel) and exact(row) is not None]
    tags.sort(key=lambda row: (exact(row), row["name"]))
    for row in {row["name"]: row for row in (tags[:1] + tags[-1:])}.values():
        ways.append((f"without tag {row['detail']['tag']}", row))
    return ways


def _of_kernel(row: Row, measure: str, kernel: str) -> bool:
    return row["measure"] == measure and str(row["kernel"]).split(",")[0] == kernel


def _forest(comparison: Comparison, ways: list[tuple[str, Row]]) -> None:
    selection = comparison.selection
    display.block("<h3>Excess churn, in other ways</h3>")
    marks: list[Dot] = []
    for label, row in ways:
        low, high = (None if row[end] is None or degenerate(row) else 100 * row[end] for end in ("low", "high"))
        marks.append(Dot(label, 100 * row["value"], low, high, "noise" if marks else "ink", points(exact(row))))
    display.figure(
        dots(marks, display.palette(), unit=" pp", zero=True), "sure-ways", "Excess churn by other ways of looking"
    )
    notes = f"Lines are two-sided {comparison.level} intervals of each way alone."
    labels = [label for label, _ in ways]
    if "first judge, same ones" in labels:
        notes += " The second judge saw part of the questions; the first judge's number on the same ones is below it."
    if any(row["measure"] == WITHOUT_TAG for _, row in ways):
        notes += " Of the tags, the two are shown whose questions, left out, give the lowest and the highest number."
    display.note(notes)
    statuses = dict.fromkeys(row["status"] for _, row in ways[1:])
    display.facts(
        population=f"{plural(ways[0][1]['population'], 'question')}, fewer where a way leaves some out",
        unit="questions",
        kernel=KERNELS[selection.kernel],
        status=" and ".join(statuses) if len(statuses) > 1 else next(iter(statuses), "exploratory"),
    )
    display.table([_flat(label, row) for label, row in ways], "sure-ways")


def _questions(comparison: Comparison, found: dict[str, Row]) -> None:
    """Chance, single questions, people: a table of what, how much, and what it means."""
    selection = comparison.selection
    kernel, at = selection.kernel, f"@{selection.old}-{selection.new}"

    def named(measure: str) -> Row:
        name = f"{measure}[{kernel}]{at}"
        return found.get(name) or absent(name)

    display.block("<h3>Chance, and single questions</h3>")
    shown = [row for row in map(named, ("permutation_p", "largest_influence", "dropped_to_zero", "dropped_to_margin"))
             if row["status"]]  # fmt: skip
    cells = [_line(comparison, row) for row in shown]
    display.block(display.grid(("what", "how much", "of what"), cells, numeric=(1,)))
    if kernel != "exact":
        display.link("What people say about the judge", selection.parameters, "views/judges.py")
    display.facts(
        population=plural(shown[0]["population"], "question"),
        unit="whole questions",
        kernel=KERNELS[kernel],
        status=" and ".join(dict.fromkeys(row["status"] for row in shown)),
    )
    every = [row for row in found.values() if row["kernel"] == kernel or _of_kernel(row, WITHOUT_TAG, kernel)]
    display.table([_flat(row["measure"], row) for row in every], "sure-all")


def _line(comparison: Comparison, row: Row) -> tuple[object, object, object]:
    selection, value, measure = comparison.selection, exact(row), row["measure"]
    why = plain(row["reason"])
    if measure == "permutation_p":
        if value is not None:
            why = f"{plural(int(row['detail']['informative']), 'question')} can tell; {plain(row['detail']['engine'])}"
        return "Chance of as much excess if the two states were one", probability(value), Markup(why)
    if value is None:
        value_text: object = "none"
    elif measure == "largest_influence":
        value_text = points(value, sign=True)
        question, ties = row["detail"]["question"], int(row["detail"]["ties"]) - 1
        why = display.opening(question, display.into(selection, queue="all", only=[question]))
        why += f" and {plural(ties, 'question')} alike" if ties else ""
    else:
        value_text = count(row["numerator"])
        why = f"{percent(value, 1)} of {plural(row['denominator'], 'question')}"
    words = {
        "largest_influence": "Without the question that weighs most, the number moves by",
        "dropped_to_zero": "Largest contrasts to drop until the lower bound is at zero",
        "dropped_to_margin": "… until the number is below the margin",
    }
    return words[measure], value_text, Markup(why)


def _steps(comparison: Comparison) -> None:
    """Joint intervals of the steps, where the ladder has two or more."""
    kernel = comparison.selection.kernel
    names = [s["state"] for s in comparison.study["states"]]
    cells, rows = [], []
    reasons: dict[str, None] = {}
    for old, new in pairwise(names):
        alone = comparison.named(f"excess_churn[{kernel}]@{old}-{new}")
        joint = comparison.estimates.get(f"simultaneous_excess_churn[{kernel}]@{old}-{new}")
        if joint is None:
            return
        value, label = exact(joint), f"{old} → {new}"
        if not interval(joint):
            reasons[joint["reason"] or joint["detail"].get("degenerate") or joint["detail"].get("bounds", "")] = None
        flips = display.into(comparison.selection, old=old, new=new, queue="flips")
        cells.append((label, display.opening(points(value), flips), interval(alone) or "none", interval(joint) or "–"))
        ends = {"alone, low": alone["low"], "alone, high": alone["high"]}
        rows.append({**_flat(label, joint), **ends})
    if not cells:
        return
    display.block("<h3>All steps of the ladder at once</h3>")
    display.note(
        "Each interval alone misses now and then; among several, one that misses is likelier. Those in the last "
        f"column are wider, so as to hold for all steps together ({comparison.level})."
    )
    display.block(
        display.grid(("step", "excess churn", "interval alone, pp", "interval together, pp"), cells, numeric=(1, 2, 3))
    )
    if reasons:
        display.note(f"<b>–</b> {plain(' '.join(reasons))}")
    display.facts(
        population=plural(rows[0]["questions"], "question") + " that all steps have",
        unit="whole questions resampled",
        kernel=KERNELS[kernel],
        status=rows[0]["status"],
    )
    display.table(rows, "sure-steps")


def _flat(label: str, row: Row) -> Row:
    return {
        "what": label,
        "name": row["name"],
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "questions": row["population"],
        "status": row["status"],
        "reason": row["reason"],
        "detail": "; ".join(f"{key} {value}" for key, value in row["detail"].items()),
    }
