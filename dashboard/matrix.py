"""Every state against every state: the panel of the Churn page."""

from __future__ import annotations

import streamlit as st

from dashboard import data, display
from dashboard.comparison import Comparison
from dashboard.figures.agreement import Tile, matrix
from dashboard.numbers import exact, percent, plural
from dashboard.state import KERNELS


def panel(comparison: Comparison) -> None:
    """Draw the panel."""
    selection = comparison.selection
    states = [s["state"] for s in comparison.study["states"]]
    fixed = any(lock["gate"] == "results" for lock in data.locks(selection.study))
    display.section(
        "Every state against every state",
        "The diagonal is a state against its own repeats. "
        + ("Cells outside the locked results are marked with ° and are exploratory." if fixed else
           "This study has no locked results, so every cell is exploratory."),
    )  # fmt: skip
    table = data.agreement(selection.study, selection.kernel)
    tiles, rows = [], []
    opens: dict[str, display.Parameters] = {}
    for i, first in enumerate(states):
        for j, second in enumerate(states):
            pair = (first, second) if i <= j else (second, first)
            measure = (
                f"within_agreement[{selection.kernel}]@{first}"
                if i == j
                else (f"cross_agreement[{selection.kernel}]@{pair[0]}-{pair[1]}")
            )
            locked = comparison.estimates.get(measure)
            value = exact(locked) if locked else table[pair]
            text = "–" if value is None else percent(value, 1) + ("" if locked or not fixed else "°")
            tiles.append(Tile(first, second, None if value is None else float(value * 100), text, f"{i}-{j}"))
            old, new = _ends(states, i, j)
            opens[f"{i}-{j}"] = display.into(selection, old=old, new=new, queue=_queue(states, i, j))
            if i <= j:
                rows.append(
                    {
                        "state": first,
                        "against": second,
                        "agreement": None if value is None else float(value),
                        "status": locked["status"] if locked else "exploratory",
                    }
                )
    left, right = st.columns([1, 1])
    with left:
        display.figure(
            matrix(tiles, states, display.palette()), "matrix", "Agreement of every state with every state", opens=opens
        )
        display.facts(
            population=plural(comparison.study["questions"], "question"),
            unit="pairs of answers",
            kernel=KERNELS[selection.kernel],
            status="locked; ° exploratory" if fixed else "exploratory",
        )
    with right:
        display.note(
            "A click on a cell opens the repeat-stable flips of those two states; on the diagonal, "
            "the questions whose repeats disagree."
        )
        display.table(rows, "agreement-matrix", opened=True)


def _ends(states: list[str], i: int, j: int) -> tuple[str, str]:
    """The pair that a cell of the matrix opens; a diagonal cell borrows a neighbour."""
    if i == j:
        i, j = (i, i + 1) if i + 1 < len(states) else (i - 1, i)
    return states[min(i, j)], states[max(i, j)]


def _queue(states: list[str], i: int, j: int) -> str:
    if i != j:
        return "flips"
    return "unstable_old" if i + 1 < len(states) else "unstable_new"
