"""The same numbers by tag: the panel of the Churn page. Exploratory, whatever it shows."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import data, display
from dashboard.comparison import Comparison, absent
from dashboard.numbers import count, exact, percent
from dashboard.state import KERNELS

Row = dict[str, Any]
MOST_TAGS = 12
LIVE = "95%"
"""Confidence of live estimates."""


def panel(comparison: Comparison) -> None:
    """Draw the panel."""
    selection, tags = comparison.selection, comparison.study["tags"]
    display.section(
        "Slices", "Exploratory: computed now, on part of the questions. No slice can rescue or sink the result for all."
    )
    if not tags:
        display.empty(
            "The questions carry no tags.",
            "Add a <code>tags</code> column when importing to see the same numbers by slice.",
        )
        return
    chosen = tags
    if len(tags) > MOST_TAGS:
        chosen = st.multiselect("Tags to show", tags, default=tags[:MOST_TAGS], key="churn-tags")
    rows, cells = [], []
    for tag in chosen:
        found = data.live(selection.study, selection.old, selection.new, tag)
        at = f"[{selection.kernel}]@{selection.old}-{selection.new}"
        excess, across, flips = (
            found.get(m + at) or absent(m + at) for m in ("excess_churn", "cross_agreement", "repeat_stable_flips")
        )
        cells.append(
            (
                tag,
                display.opening(count(excess["population"]), display.into(selection, queue="all", tag=tag)),
                percent(exact(across)),
                display.with_interval(excess),
                display.opening(count(flips["numerator"]), display.into(selection, tag=tag)),
            )
        )
        rows.append(
            {
                "tag": tag,
                "questions": excess["population"],
                "cross agreement": across["value"],
                "excess churn": excess["value"],
                "low": excess["low"],
                "high": excess["high"],
                "repeat-stable flips": flips["numerator"],
                "reason": excess["reason"],
            }
        )
    display.block(
        display.grid(
            ("tag", "questions", "cross agreement", f"excess churn, {LIVE} interval", "repeat-stable flips"),
            cells,
            numeric=(1, 2, 3, 4),
        )
    )
    display.facts(
        population="questions with the tag",
        unit="pairs of answers",
        kernel=KERNELS[selection.kernel],
        status="exploratory",
    )
    display.table(rows, "slices")
