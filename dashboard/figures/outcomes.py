"""What answers do in each state: answer, answer a part, refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import Mark, Palette, drawn, readable, short, steady

WIDE = 9
"""Least share, in percent, of a part whose number stands inside it."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One state.

    Attributes:
        state: Its name; also what a click means.
        shares: Percent of answers that answer, answer a part, and refuse.
        labels: The same as text, rounded from the exact values.
    """

    state: str
    shares: tuple[float, float, float]
    labels: tuple[str, str, str]


def outcome_bars(states: Sequence[Outcomes], palette: Palette) -> go.Figure:
    """A bar of 100 percent for each state, first state on top; words in the legend, numbers in the parts."""
    colours = (palette.noise, palette.classes[2], palette.bad)
    traces: list[Mark] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": word,
            "y": [short(s.state) for s in states],
            "x": [s.shares[place] for s in states],
            "customdata": [[s.state, s.labels[place]] for s in states],
            "text": [s.labels[place] if s.shares[place] >= WIDE else "" for s in states],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "textfont": {"color": readable(colour, palette), "size": 13},
            "marker": {"color": colour, "line": {"width": 1, "color": palette.ground}},
            "hovertemplate": f"%{{y}}: {word} %{{customdata[1]}}<extra></extra>",
            **steady(1),
        }
        for place, (word, colour) in enumerate(zip(("answered", "partial", "refused"), colours, strict=True))
    ]
    figure = drawn(
        palette,
        84 + 46 * len(states),
        traces,
        x={"range": [0, 104], "tickvals": [0, 25, 50, 75, 100], "ticktext": ["0", "25", "50", "75", "100%"]},
        y={"autorange": "reversed", "showgrid": False, "tickfont": {"color": palette.ink, "size": 14},
           "ticksuffix": "  "},
        legend=True,
    )  # fmt: skip
    return figure.update_layout(barmode="stack", bargap=0.42, legend_traceorder="normal")
