"""Shared documents: flips beside other questions, and against the contrast."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.figures.palette import Palette, blank


def shares(
    depth: Sequence[int], flips: Sequence[float], others: Sequence[float], names: Sequence[str], palette: Palette
) -> go.Figure:
    """Share of questions, in percent, at each number of shared documents; flips beside the rest."""
    figure = blank(
        palette,
        300,
        barmode="group",
        bargap=0.3,
        showlegend=True,
        margin={"t": 34, "l": 8, "r": 8, "b": 8},
        legend={
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"color": palette.ink},
        },
    )
    for heights, colour, label, part in (
        (flips, palette.new, "repeat-stable flips", "flips"),
        (others, palette.noise, "other questions", "all"),
    ):
        figure.add_bar(
            x=list(depth),
            y=list(heights),
            name=label,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[f"{part}-{name}" for name in names],
            hovertemplate="%{x} shared: %{y:.1f}% of " + label + "<extra></extra>",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    figure.update_xaxes(
        title={"text": "documents shared by both states"}, tickvals=list(depth), showgrid=False, zeroline=False
    )
    figure.update_yaxes(ticksuffix="%", rangemode="tozero", zeroline=False)
    return figure


def bubbles(
    shared: Sequence[int],
    contrast: Sequence[float],
    sizes: Sequence[int],
    flips: Sequence[int],
    names: Sequence[str],
    palette: Palette,
) -> go.Figure:
    """Questions at each pair of shared documents and contrast; the area of a circle is their number."""
    figure = blank(palette, 360)
    most = max(sizes, default=1)
    figure.add_scatter(
        x=list(shared),
        y=list(contrast),
        mode="markers+text",
        customdata=list(names),
        text=[f"{size:,}" if size >= most / 14 else "" for size in sizes],
        textfont={"color": palette.ink, "size": 12.5},
        hovertext=[
            f"{size} question{'s' * (size != 1)}, {flip} flipped" for size, flip in zip(sizes, flips, strict=True)
        ],
        hovertemplate="%{x} shared, contrast %{y}: %{hovertext}<extra></extra>",
        marker={
            "size": list(sizes),
            "sizemode": "area",
            "sizeref": 2 * most / 64**2,
            "sizemin": 4,
            "opacity": 0.6,
            "color": [palette.new if flip else palette.neutral for flip in flips],
            "line": {"color": palette.ground, "width": 1},
        },
        selected={"marker": {"opacity": 0.6}, "textfont": {"color": palette.ink}},
        unselected={"marker": {"opacity": 0.6}, "textfont": {"color": palette.ink}},
    )
    figure.update_xaxes(title={"text": "documents shared by both states"}, dtick=1, zeroline=False)
    figure.update_yaxes(
        title={"text": "contrast of the question"}, range=[-1.15, 1.2], tickvals=[-1, -0.5, 0, 0.5, 1], zeroline=False
    )
    return figure
