"""Where disagreement comes from, by kernel: repeat noise and, beyond it, the update."""

from __future__ import annotations

from typing import Any

from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.figures.noise import Bar
from dashboard.numbers import decimal, exact
from dashboard.selection import KERNELS

Row = dict[str, Any]
LEGEND = "Grey: repeats of one snapshot disagree anyway. Orange: extra disagreement across snapshots."
"""What the colours of the bars mean."""


def bars(comparison: Comparison) -> tuple[list[Bar], list[Row]]:
    """A bar for each kernel whose noise can be told from the update, and the same as rows of a table."""
    found, rows = [], []
    for kernel in sentences.kernels(comparison):
        within = exact(comparison.pair("baseline_agreement", kernel))
        across = exact(comparison.pair("cross_agreement", kernel))
        excess = exact(comparison.pair("excess_churn", kernel))
        if within is None or across is None or excess is None:
            continue
        noise = 1 - within
        label = f"{decimal(noise, 2, 100)} noise + <b>{decimal(excess, 2, 100)} update</b>"
        found.append(Bar(KERNELS[kernel], float(noise * 100), float(excess * 100), label, kernel))
        rows.append(
            {
                "kernel": KERNELS[kernel],
                "repeats of one state disagree": float(noise),
                "excess churn": float(excess),
                "states disagree": float(1 - across),
            }
        )
    return found, rows
