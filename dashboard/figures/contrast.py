"""Per-question contrasts, and the bootstrap distribution of their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from dashboard.figures.palette import Palette, blank


@dataclass(frozen=True, slots=True)
class Level:
    """Questions that share one value of the contrast; `name` says what a click means."""

    value: float
    flips: int
    others: int
    name: str


def distribution(levels: Sequence[Level], palette: Palette) -> go.Figure:
    """Number of questions at each contrast; repeat-stable flips stand apart in orange and are labelled."""
    figure = blank(
        palette,
        330,
        barmode="stack",
        bargap=0.25,
        legend={
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"color": palette.ink},
        },
        showlegend=True,
    )
    values = [level.value for level in levels]
    gaps = [b - a for a, b in pairwise(values)]
    width = min(gaps, default=0.25) * 0.8
    for part, colour, label in (
        ("others", palette.noise, "other questions"),
        ("flips", palette.new, "repeat-stable flips"),
    ):
        heights = [getattr(level, part) for level in levels]
        figure.add_bar(
            x=values,
            y=heights,
            name=label,
            width=width,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[level.name for level in levels],
            hovertemplate="contrast %{x}: %{y} " + label + "<extra></extra>",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    for level in levels:
        figure.add_annotation(
            x=level.value,
            y=level.flips + level.others,
            text=f"{level.flips + level.others:,}",
            showarrow=False,
            yshift=10,
            font={"color": palette.ink, "size": 13},
        )
    top = max((level.flips + level.others for level in levels), default=1)
    figure.update_xaxes(
        title={"text": "contrast: agreement within states minus across"},
        range=[-1.1, 1.1],
        tickvals=[-1, -0.5, 0, 0.5, 1],
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(title={"text": "questions"}, range=[0, top * 1.12], zeroline=False)
    figure.update_layout(margin={"t": 34, "l": 8, "r": 8, "b": 8})
    return figure


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
        values: Percentage points, evenly spaced.
        weights: Probability of each value.
        palette: Colours.
        estimate: The point estimate.
        lower: One-sided 95 % lower bound.
        margin: Smallest excess churn that the protocol's rule accepts.
    """
    figure = blank(palette, 330)
    top = max(weights, default=1.0)
    figure.add_scatter(
        x=list(values),
        y=list(weights),
        mode="lines",
        line={"color": palette.muted, "width": 1.5},
        fill="tozeroy",
        fillcolor=_pale(palette),
        hovertemplate="%{x:.2f} pp<extra></extra>",
    )
    marks = [(estimate, "estimate", palette.new, "solid"), (0.0, "no excess", palette.muted, "solid")]
    if lower is not None:
        marks.append((lower, "lower bound", palette.ink, "dash"))
    if margin is not None:
        marks.append((margin, "margin", palette.bad, "dot"))
    for step, (x, label, colour, dash) in enumerate(sorted(marks)):
        height = top * (1.06 + 0.09 * (step % 3))
        figure.add_shape(type="line", x0=x, x1=x, y0=0, y1=height, line={"color": colour, "width": 2, "dash": dash})
        figure.add_annotation(
            x=x,
            y=height,
            text=f"{label} {x:.2f}",
            showarrow=False,
            yshift=9,
            font={"color": palette.ink, "size": 12.5},
            xanchor="center",
        )
    figure.update_yaxes(visible=False, range=[0, top * 1.36])
    figure.update_xaxes(ticksuffix=" pp", title={"text": "excess churn in resampled sets of questions"}, showgrid=False)
    return figure


def _pale(palette: Palette) -> str:
    red, green, blue = (int(palette.noise[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.55)"
