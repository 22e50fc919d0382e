"""Agreement with its intervals, and the matrix of all states against all states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import Palette, blank, mixed, plain, readable


@dataclass(frozen=True, slots=True)
class Dot:
    """A number on a line, in percent or percentage points.

    Attributes:
        role: ``old``, ``new``, ``noise`` or ``ink``: which colour.
        text: The number as people read it.
        name: What a click means.
    """

    label: str
    value: float
    low: float | None
    high: float | None
    role: str
    text: str
    name: str = ""


def colour(role: str, palette: Palette) -> str:
    """Colour of a role."""
    return {"old": palette.old, "new": palette.new, "noise": palette.neutral}.get(role, palette.ink)


def dots(
    rows: Sequence[Dot], palette: Palette, *, unit: str = "%", zero: bool = False, line: float | None = None
) -> go.Figure:
    """Values with two-sided intervals, one line each, labelled in words.

    Args:
        rows: From top to bottom.
        palette: Colours.
        unit: Suffix of the axis.
        zero: Whether the axis must include zero (differences) or may start near the data (agreement).
        line: Where to draw a threshold, if anywhere.
    """
    figure = blank(palette, 70 + 40 * len(rows))
    labels = [plain(row.label) for row in rows]
    for index, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            figure.add_shape(
                type="line",
                x0=row.low,
                x1=row.high,
                y0=index,
                y1=index,
                line={"color": colour(row.role, palette), "width": 3},
                opacity=0.55,
            )
        figure.add_annotation(
            x=row.value,
            y=index,
            text=plain(row.text),
            showarrow=False,
            yshift=15,
            font={"color": palette.ink, "size": 13},
        )
    figure.add_scatter(
        x=[row.value for row in rows],
        y=list(range(len(rows))),
        mode="markers",
        customdata=[row.name for row in rows],
        text=labels,
        hovertemplate="%{text}: %{x:.2f}" + unit + "<extra></extra>",
        marker={
            "size": 13,
            "color": [colour(row.role, palette) for row in rows],
            "line": {"color": palette.ground, "width": 1.5},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    low, high = min(ends, default=0), max(ends, default=1)
    if zero:
        low, high = min(low, 0), max(high, 0)
        figure.add_vline(x=0, line={"color": palette.muted, "width": 1})
    if line is not None:
        low, high = min(low, line), max(high, line)
        figure.add_vline(x=line, line={"color": palette.muted, "width": 1, "dash": "dot"})
    pad = max((high - low) * 0.12, 1)
    figure.update_xaxes(range=[low - pad, high + pad if zero else min(high + pad, 101)], ticksuffix=unit)
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[label + "  " for label in labels],
        showgrid=False,
        range=[len(rows) - 0.5, -0.75],
        tickfont={"color": palette.ink, "size": 13.5},
        zeroline=False,
    )
    return figure


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell of the matrix: agreement of two states, or of one state with itself."""

    row: str
    column: str
    value: float | None
    text: str
    name: str


def matrix(tiles: Sequence[Tile], states: Sequence[str], palette: Palette) -> go.Figure:
    """States against states; the diagonal is agreement between repeats of one state.

    A heat map sends no clicks, so invisible squares over its cells do.
    """
    found = {(tile.row, tile.column): tile for tile in tiles}
    values = [[found[r, c].value if (r, c) in found else None for c in states] for r in states]
    names = [plain(state) for state in states]
    positions = list(range(len(states)))
    known = [tile.value for tile in tiles if tile.value is not None]
    low = min(known, default=0.0)
    figure = blank(palette, 96 + max(58 * len(states), 120))
    figure.add_heatmap(
        z=values,
        x=positions,
        y=positions,
        colorscale=[[0, palette.low], [1, palette.high]],
        zmin=max(low - 5, 0),
        zmax=100,
        showscale=False,
        hoverinfo="skip",
        xgap=3,
        ygap=3,
    )
    span = 100 - max(low - 5, 0) or 1
    for tile in tiles:
        share = 0 if tile.value is None else (tile.value - max(low - 5, 0)) / span
        ink = palette.ink if tile.value is None else readable(mixed(palette.low, palette.high, share), palette)
        figure.add_annotation(
            x=states.index(tile.column),
            y=states.index(tile.row),
            text=plain(tile.text),
            showarrow=False,
            font={"color": ink, "size": 14},
        )
    figure.add_scatter(
        x=[states.index(tile.column) for tile in tiles],
        y=[states.index(tile.row) for tile in tiles],
        mode="markers",
        customdata=[tile.name for tile in tiles],
        text=[f"{plain(t.row)} against {plain(t.column)}: {plain(t.text)}" for t in tiles],
        hovertemplate="%{text}<extra></extra>",
        marker={"symbol": "square", "size": 46, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )
    axis = {
        "tickvals": positions,
        "ticktext": names,
        "showgrid": False,
        "zeroline": False,
        "tickfont": {"color": palette.ink, "size": 13.5},
        "range": [-0.5, len(states) - 0.5],
    }
    figure.update_xaxes(**axis, side="top")
    figure.update_yaxes(**{**axis, "range": [len(states) - 0.5, -0.5]})
    return figure
