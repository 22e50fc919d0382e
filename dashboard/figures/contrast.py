"""Per-question contrasts, and the bootstrap distribution of their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from dashboard.figures.palette import Mark, Palette, drawn, steady

FINE = 160
"""Points of a distribution that are drawn as they are."""


@dataclass(frozen=True, slots=True)
class Level:
    """Questions that share one value of the contrast; `name` says what a click means."""

    value: float
    flips: int
    others: int
    name: str


def distribution(levels: Sequence[Level], palette: Palette) -> go.Figure:
    """Number of questions at each contrast; repeat-stable flips stand apart in orange and are labelled."""
    values = [level.value for level in levels]
    width = min((b - a for a, b in pairwise(values)), default=0.25) * 0.8
    totals = [level.flips + level.others for level in levels]
    parts = (
        ("other questions", palette.noise, [level.others for level in levels]),
        ("repeat-stable flips", palette.new, [level.flips for level in levels]),
    )
    bars: list[Mark] = [
        {
            "type": "bar",
            "x": values,
            "y": heights,
            "name": label,
            "width": width,
            "marker": {"color": colour, "line": {"width": 0}},
            "customdata": [level.name for level in levels],
            "hovertemplate": "contrast %{x}: %{y} " + label + "<extra></extra>",
            **steady(1),
        }
        for label, colour, heights in parts
    ]
    figure = drawn(
        palette,
        330,
        bars,
        x={
            "title": "contrast: agreement within states minus across",
            "range": [-1.1, 1.1],
            "tickvals": [-1, -0.5, 0, 0.5, 1],
            "showgrid": False,
        },
        y={"title": "questions", "range": [0, max(totals, default=1) * 1.12]},
        annotations=[
            {"x": value, "y": total, "text": f"{total:,}", "yshift": 10}
            for value, total in zip(values, totals, strict=True)
        ],
        legend=True,
    )
    return figure.update_layout(barmode="stack")


def bootstrap(
    values: Sequence[float],
    weights: Sequence[float],
    palette: Palette,
    *,
    estimate: float,
    lower: float | None,
    margin: float | None,
) -> go.Figure:
    """Exact bootstrap distribution of excess churn with its lower bound, zero and the margin.

    Args:
        values: Percentage points, ascending.
        weights: Probability of each value.
        palette: Colours.
        estimate: The point estimate.
        lower: One-sided lower bound.
        margin: Smallest excess churn that the protocol's rule accepts.
    """
    values, weights = _coarse(values, weights)
    top = max(weights, default=1.0)
    curve = {
        "type": "scatter",
        "mode": "lines",
        "x": values,
        "y": weights,
        "line": {"color": palette.muted, "width": 1.5},
        "fill": "tozeroy",
        "fillcolor": _pale(palette),
        "hovertemplate": "%{x:.2f} pp<extra></extra>",
    }
    marks = [(estimate, "estimate", palette.new, "solid"), (0.0, "no excess", palette.muted, "solid")]
    if lower is not None:
        marks.append((lower, "lower bound", palette.ink, "dash"))
    if margin is not None:
        marks.append((margin, "margin", palette.bad, "dot"))
    lines, labels = [], []
    for step, (x, label, colour, dash) in enumerate(sorted(marks)):
        height = top * (1.06 + 0.09 * (step % 3))
        line = {"color": colour, "width": 2, "dash": dash}
        lines.append({"type": "line", "x0": x, "x1": x, "y0": 0, "y1": height, "line": line})
        labels.append({"x": x, "y": height, "text": f"{label} {x:.2f}", "yshift": 9})
    return drawn(
        palette,
        330,
        [curve],
        x={"ticksuffix": " pp", "title": "excess churn in resampled sets of questions", "showgrid": False},
        y={"visible": False, "range": [0, top * 1.36]},
        shapes=lines,
        annotations=labels,
    )


def _coarse(values: Sequence[float], weights: Sequence[float]) -> tuple[list[float], list[float]]:
    """A long, uneven lattice in at most 120 steps of equal width, each with the probability that falls into it."""
    if len(values) <= FINE:
        return list(values), list(weights)
    steps = min(120, len(values) // 6)
    width = (values[-1] - values[0]) / steps
    sums = [0.0] * (steps + 1)
    for value, weight in zip(values, weights, strict=True):
        sums[int((value - values[0]) / width)] += weight
    return [values[0] + (step + 0.5) * width for step in range(steps)], [*sums[:-2], sums[-2] + sums[-1]]


def _pale(palette: Palette) -> str:
    red, green, blue = (int(palette.noise[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.55)"
