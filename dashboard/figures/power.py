"""The chance that an audit confirms churn, by its number of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

import plotly.graph_objects as go

from dashboard.figures.palette import Mark, Palette, drawn, steady

ROLES = {"expected": ("new", "solid", 3.0), "meaning": ("old", "dash", 2.0), "nothing": ("noise", "dot", 2.0)}
"""What a line is about, with its colour, dash and width; no two are told apart by colour alone."""

TICKS = (50, 100, 200, 400, 800, 1600, 3200, 10_000, 30_000, 100_000, 300_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Line:
    """One chance.

    Attributes:
        role: Key of `ROLES`.
        name: In the legend.
        chances: By number of questions, in percent.
    """

    role: str
    name: str
    chances: Sequence[float]


def power_curve(
    sizes: Sequence[int], lines: Sequence[Line], palette: Palette, *, planned: int, wanted: float
) -> go.Figure:
    """Lines over a logarithmic axis of questions.

    Args:
        sizes: Numbers of questions, ascending.
        planned: The number that is planned; a vertical line.
        wanted: Chance that is wanted, in percent; a horizontal line.
    """
    traces: list[Mark] = []
    for line in lines:
        colour, dash, width = ROLES[line.role]
        shade = palette.muted if colour == "noise" else getattr(palette, colour)
        traces.append({
            "type": "scatter", "mode": "lines", "name": line.name, "x": list(sizes), "y": list(line.chances),
            "line": {"color": shade, "dash": dash, "width": width},
            "hovertemplate": f"%{{x:,}} questions: %{{y:.1f}}%<extra>{line.name}</extra>", **steady(1),
        })  # fmt: skip
    rule: Mark = {"type": "line", "line": {"color": palette.muted, "width": 1, "dash": "dot"}}
    place: Mark = {"font": {"color": palette.muted, "size": 12.5}, "yanchor": "bottom"}
    notes = [
        {**place, "text": "wanted", "x": 1, "xref": "paper", "xanchor": "right", "y": wanted},
        {**place, "text": "planned", "x": log10(planned), "xanchor": "left", "xshift": 5, "y": 3},
    ]
    ticks = [n for n in TICKS if sizes[0] <= n <= sizes[-1]]
    figure = drawn(
        palette, 380, traces,
        x={"type": "log", "tickvals": ticks, "ticktext": [f"{n:,}" for n in ticks], "title": "questions",
           "range": [log10(sizes[0]) - 0.02, log10(sizes[-1]) + 0.02]},
        y={"range": [0, 104], "tickvals": [0, 25, 50, 75, 100], "ticktext": ["0", "25", "50", "75", "100%"]},
        shapes=[
            {**rule, "x0": 0, "x1": 1, "xref": "paper", "y0": wanted, "y1": wanted},
            {**rule, "x0": planned, "x1": planned, "y0": 0, "y1": 100},
        ],
        annotations=notes,
        legend=True,
    )  # fmt: skip
    return figure.update_layout(legend={"x": 0, "xanchor": "left"})
