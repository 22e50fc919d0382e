"""Counts as bars, each with its number in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import Palette, drawn, plain, steady


@dataclass(frozen=True, slots=True)
class Counted:
    """One bar.

    Attributes:
        text: The number as people read it.
    """

    label: str
    size: int
    text: str
    colour: str


def counts(bars: Sequence[Counted], palette: Palette, *, unit: str) -> go.Figure:
    """Horizontal bars from top to bottom.

    Args:
        bars: At least one.
        palette: Colours.
        unit: What is counted, for the axis.
    """
    most = max((bar.size for bar in bars), default=1) or 1
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [bar.size for bar in bars],
        "y": list(range(len(bars))),
        "width": 0.62,
        "marker": {"color": [bar.colour for bar in bars], "line": {"width": 0}},
        "text": [plain(bar.label) for bar in bars],
        "textposition": "none",
        "hovertemplate": "%{text}: %{x:,}<extra></extra>",
        **steady(1),
    }
    return drawn(
        palette,
        72 + 38 * len(bars),
        [trace],
        x={"range": [0, most * 1.14], "title": unit, "tickformat": ","},
        y={
            "tickvals": list(range(len(bars))),
            "ticktext": [plain(bar.label) + "  " for bar in bars],
            "range": [len(bars) - 0.5, -0.5],
            "showgrid": False,
            "tickfont": {"color": palette.ink, "size": 13.5},
        },
        annotations=[
            {"x": bar.size, "y": i, "text": plain(bar.text), "xanchor": "left", "xshift": 5}
            for i, bar in enumerate(bars)
        ],
    )
