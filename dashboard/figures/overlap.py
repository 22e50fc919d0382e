"""Shared documents: flips beside other questions, and against the contrast."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.figures.palette import Mark, Palette, drawn, steady

LARGEST = 64
"""Diameter of the largest circle in pixels."""


def shares(
    depth: Sequence[int], flips: Sequence[float], others: Sequence[float], names: Sequence[str], palette: Palette
) -> go.Figure:
    """Share of questions, in percent, at each number of shared documents; flips beside the rest."""
    parts = (("repeat-stable flips", palette.new, flips, "flips"), ("other questions", palette.noise, others, "all"))
    bars: list[Mark] = [
        {
            "type": "bar",
            "x": list(depth),
            "y": list(heights),
            "name": label,
            "marker": {"color": colour, "line": {"width": 0}},
            "customdata": [f"{part}-{name}" for name in names],
            "hovertemplate": "%{x} shared: %{y:.1f}% of " + label + "<extra></extra>",
            **steady(1),
        }
        for label, colour, heights, part in parts
    ]
    figure = drawn(
        palette,
        300,
        bars,
        x={"title": "documents shared by both states", "tickvals": list(depth), "showgrid": False},
        y={"ticksuffix": "%", "rangemode": "tozero"},
        legend=True,
    )
    return figure.update_layout(barmode="group", bargap=0.3)


def bubbles(
    shared: Sequence[int],
    contrast: Sequence[float],
    sizes: Sequence[int],
    flips: Sequence[int],
    names: Sequence[str],
    palette: Palette,
) -> go.Figure:
    """Questions at each pair of shared documents and contrast; the area of a circle is their number."""
    most = max(sizes, default=1)
    circles = {
        "type": "scatter",
        "mode": "markers+text",
        "x": list(shared),
        "y": list(contrast),
        "customdata": list(names),
        "text": [f"{size:,}" if size >= most / 14 else "" for size in sizes],
        "textfont": {"color": palette.ink, "size": 12.5},
        "hovertext": [
            f"{size} question{'s' * (size != 1)}, {flip} flipped" for size, flip in zip(sizes, flips, strict=True)
        ],
        "hovertemplate": "%{x} shared, contrast %{y}: %{hovertext}<extra></extra>",
        "marker": {
            "size": list(sizes),
            **{"sizemode": "area", "sizeref": 2 * most / LARGEST**2, "sizemin": 4, "opacity": 0.6},
            "color": [palette.new if flip else palette.neutral for flip in flips],
            "line": {"color": palette.ground, "width": 1},
        },
        **steady(0.6, textfont={"color": palette.ink}),
    }
    return drawn(
        palette,
        360,
        [circles],
        x={"title": "documents shared by both states", "dtick": 1},
        y={"title": "contrast of the question", "range": [-1.15, 1.2], "tickvals": [-1, -0.5, 0, 0.5, 1]},
    )
