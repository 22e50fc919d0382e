"""Agreement with its intervals, and the matrix of all states against all states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import MANY, Mark, Palette, drawn, middle, mixed, plain, readable, short, steady

TOLD = 6
"""States up to which the cells of a matrix are wide enough for their numbers; with more, pointing at one tells it."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A number on a line, in percent or percentage points.

    Attributes:
        role: ``old``, ``new``, ``noise`` or ``ink``: which colour.
        text: The number as people read it.
        name: What a click means.
        beside: What stands beside the axis, as markup, where that is not the beginning of the label.
    """

    label: str
    value: float
    low: float | None
    high: float | None
    role: str
    text: str
    name: str = ""
    beside: str = ""


def colour(role: str, palette: Palette) -> str:
    """Colour of a role."""
    return {"old": palette.old, "new": palette.new, "noise": palette.neutral}.get(role, palette.ink)


def dots(
    rows: Sequence[Dot], palette: Palette, *, unit: str = "%", zero: bool = False, dense: bool = False
) -> go.Figure:
    """Values with two-sided intervals, one line each, labelled in words.

    Args:
        rows: From top to bottom.
        palette: Colours.
        unit: Suffix of the axis.
        zero: Whether the axis must include zero (differences) or may start near the data (agreement).
        dense: Whether lines stand as close as lines of text, each value beside its label instead of over its mark.
    """
    lines = [
        {
            "type": "line",
            **{"x0": row.low, "x1": row.high, "y0": index, "y1": index},
            "line": {"color": colour(row.role, palette), "width": 3},
            "opacity": 0.55,
        }
        for index, row in enumerate(rows)
        if row.low is not None and row.high is not None
    ]
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    low, high = min(ends, default=0), max(ends, default=1)
    if zero:
        low, high = min(low, 0), max(high, 0)
        lines.append(_vertical(0, {"color": palette.muted, "width": 1}))
    pad = max((high - low) * 0.12, 1)
    right = high + pad if zero else min(high + pad, 101)
    ticks: Mark = {}
    if not zero and right > 100 and right - low + pad <= 14:  # room for the mark at 100, and no tick beyond it
        step = 1 if right - low + pad <= 7 else 2
        ticks = {"tickvals": list(range(100, math.floor(low - pad), -step))}
    dotted = {
        "type": "scatter",
        "mode": "markers",
        "x": [row.value for row in rows],
        "y": list(range(len(rows))),
        "customdata": [row.name for row in rows],
        "text": [plain(row.label) for row in rows],
        "hovertemplate": "%{text}: %{x:.2f}" + unit + "<extra></extra>",
        "marker": {
            "size": 13,
            "color": [colour(row.role, palette) for row in rows],
            "line": {"color": palette.ground, "width": 1.5},
        },
        **steady(1),
    }
    return drawn(
        palette,
        70 + (22 if dense else 40) * len(rows),
        [dotted],
        x={"range": [low - pad, right], "ticksuffix": unit, **ticks},
        y={
            "tickvals": list(range(len(rows))),
            "ticktext": [
                (row.beside or short(row.label)) + (f"  <b>{plain(row.text)}</b>  " if dense else "  ") for row in rows
            ],
            "showgrid": False,
            "range": [len(rows) - 0.5, -0.75],
            "tickfont": {"color": palette.ink, "size": 13.5},
        },
        shapes=lines,
        annotations=[
            {"x": row.value, "y": i, "text": plain(row.text), "yshift": 15} for i, row in enumerate(rows) if not dense
        ],
    )


def _vertical(x: float, line: Mark) -> Mark:
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


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

    A heat map sends no clicks, so invisible squares over its cells do. Many states are numbered, and named at the rows.
    """
    many, told = len(states) > MANY, len(states) <= TOLD
    place = {state: number for number, state in enumerate(states)}
    values: list[list[float | None]] = [[None] * len(states) for _ in states]
    for tile in tiles:
        values[place[tile.row]][place[tile.column]] = tile.value
    floor = max(min((tile.value for tile in tiles if tile.value is not None), default=0.0) - 5, 0)
    heat = {
        "type": "heatmap",
        "z": values,
        "x": list(range(len(states))),
        "y": list(range(len(states))),
        "colorscale": [[0, palette.low], [1, palette.high]],
        **{"zmin": floor, "zmax": 100, "showscale": False, "hoverinfo": "skip", "xgap": 3, "ygap": 3},
    }
    clicks = {
        "type": "scatter",
        "mode": "markers",
        "x": [place[tile.column] for tile in tiles],
        "y": [place[tile.row] for tile in tiles],
        "customdata": [tile.name for tile in tiles],
        "text": [f"{plain(t.row)} against {plain(t.column)}: {plain(t.text)}" for t in tiles],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": "square", "size": 46, "opacity": 0},
        **steady(0),
    }

    def ink(tile: Tile) -> str:
        share = 0 if tile.value is None else (tile.value - floor) / (100 - floor or 1)
        return palette.ink if tile.value is None else readable(mixed(palette.low, palette.high, share), palette)

    numbers = [str(number) for number in range(1, len(states) + 1)]
    names = [f"{n}  {middle(s, 18)}" if many else short(s, 14) for n, s in zip(numbers, states, strict=True)]
    axis = {"tickvals": list(range(len(states))), "showgrid": False, "tickfont": {"color": palette.ink, "size": 13.5}}
    return drawn(
        palette,
        96 + max((58 if told else 34) * len(states), 120),
        [heat, clicks],
        x={**axis, "ticktext": numbers if many else names, "range": [-0.5, len(states) - 0.5], "side": "top"},
        y={**axis, "ticktext": names, "range": [len(states) - 0.5, -0.5]},
        annotations=[
            {"x": place[t.column], "y": place[t.row], "text": plain(t.text)}
            | {"font": {"color": ink(t), "size": 11 if many else 14}}
            for t in tiles
            if told
        ],
    )
