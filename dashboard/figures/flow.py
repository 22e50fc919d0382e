"""Flows between ordered groups as ribbons. Drawn by hand, because a Sankey trace sends no clicks to the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import MANY, Mark, Palette, drawn, middle, plain, short, steady

STEPS = 24
BAR = 0.018
GAP = 0.035
PAD = 0.41
READABLE = 0.034
"""Thinnest ribbon that holds a line of text; thinner ones tell their number when pointed at."""


@dataclass(frozen=True, slots=True)
class Group:
    """A block in one column; order in the list is order from the top."""

    key: str
    label: str
    colour: str


@dataclass(frozen=True, slots=True)
class Ribbon:
    """A flow between neighbouring columns.

    Attributes:
        name: What a click means.
        at: Where along its way it carries its label, from 0 to 1.
    """

    column: int
    source: str
    target: str
    size: int
    label: str
    colour: str
    name: str
    at: float = 0.5


def flows(
    columns: Sequence[str],
    groups: Sequence[Sequence[Group]],
    ribbons: Sequence[Ribbon],
    palette: Palette,
    *,
    height: int = 360,
) -> go.Figure:
    """Columns of blocks joined by ribbons whose width is a count; a marker on each takes the click."""
    blocks = [_blocks(column, groups[column], ribbons) for column in range(len(columns))]
    leaving = [{key: span[0] for key, span in column.items()} for column in blocks]
    entering = [{key: span[0] for key, span in column.items()} for column in blocks]
    total = max((sum(span[1] for span in column.values()) for column in blocks), default=1) or 1
    scale = (1 - GAP * max(max((len(column) for column in blocks), default=1) - 1, 0)) / total
    bands, middles = [], []
    order = _order(groups)
    for ribbon in sorted(ribbons, key=lambda r: (r.column, order[r.column, r.source], order[r.column + 1, r.target])):
        if not ribbon.size:
            continue
        thick = ribbon.size * scale
        start, end = leaving[ribbon.column][ribbon.source], entering[ribbon.column + 1][ribbon.target]
        leaving[ribbon.column][ribbon.source] -= thick
        entering[ribbon.column + 1][ribbon.target] -= thick
        ease = ribbon.at**2 * (3 - 2 * ribbon.at)
        middles.append((ribbon, start + (end - start) * ease - thick / 2, thick))
        bands.append(_band(ribbon, start, end, thick))
    clicks = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [ribbon.column + BAR + (1 - 2 * BAR) * ribbon.at for ribbon, _, _ in middles],
        "y": [y for _, y, _ in middles],
        "text": [plain(ribbon.label) if thick >= READABLE else "" for ribbon, _, thick in middles],
        "textposition": "middle center",
        "textfont": {"color": palette.ink, "size": 13},
        "customdata": [ribbon.name for ribbon, _, _ in middles],
        "hovertext": [plain(ribbon.label) for ribbon, _, _ in middles],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"size": 30, "opacity": 0.01, "color": palette.ink},
        **steady(0.01, textfont={"color": palette.ink}),
    }
    many = len(columns) > MANY
    pad = 0.12 * (len(columns) - 1) if many else PAD
    room = max(7, 60 // len(columns))
    heads = [f"{n}<br>{middle(title, room)}" if many else short(title) for n, title in enumerate(columns, 1)]
    titles: list[Mark] = [
        {"x": column, "y": 1.06, "text": f"<b>{title}</b>", "font": {"color": palette.ink, "size": 12 if many else 14}}
        for column, title in enumerate(heads)
    ]
    seen = [
        (column, group, *blocks[column][group.key])
        for column, members in enumerate(groups)
        for group in members
        if blocks[column][group.key][1]
    ]
    return drawn(
        palette,
        height,
        [*bands, clicks],
        x={"visible": False, "range": [-pad, len(columns) - 1 + pad]},
        y={"visible": False, "range": [-0.03, 1.1]},
        shapes=[_bar(column, group, top, size * scale) for column, group, top, size in seen],
        annotations=titles
        + [
            _name(column, group, top - size * scale / 2, size, column == len(columns) - 1)
            for column, group, top, size in seen
        ],
    )


def _order(groups: Sequence[Sequence[Group]]) -> Mapping[tuple[int, str], int]:
    return {(column, group.key): place for column, blocks in enumerate(groups) for place, group in enumerate(blocks)}


def _blocks(column: int, groups: Sequence[Group], ribbons: Sequence[Ribbon]) -> dict[str, tuple[float, int]]:
    """Top edge and count of each block; the larger of what enters and what leaves."""
    sizes = {
        group.key: max(
            sum(r.size for r in ribbons if r.column == column and r.source == group.key),
            sum(r.size for r in ribbons if r.column == column - 1 and r.target == group.key),
        )
        for group in groups
    }
    total, place, found = sum(sizes.values()) or 1, 1.0, {}
    share = (1 - GAP * (len(groups) - 1)) / total
    for group in groups:
        found[group.key] = (place, sizes[group.key])
        place -= sizes[group.key] * share + GAP
    return found


def _band(ribbon: Ribbon, start: float, end: float, thick: float) -> Mark:
    ways = [step / STEPS for step in range(STEPS + 1)]
    xs = [round(ribbon.column + BAR + (1 - 2 * BAR) * way, 5) for way in ways]
    upper = [start + (end - start) * way * way * (3 - 2 * way) for way in ways]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs + xs[::-1],
        "y": upper + [y - thick for y in upper[::-1]],
        "fill": "toself",
        "fillcolor": ribbon.colour,
        "line": {"width": 0},
        "opacity": 0.5,
        "hoverinfo": "skip",
    }


def _bar(column: int, group: Group, top: float, tall: float) -> Mark:
    corners = {"x0": column - BAR, "x1": column + BAR, "y0": top - tall, "y1": top}
    return {"type": "rect", **corners, "fillcolor": group.colour, "line": {"width": 0}}


def _name(column: int, group: Group, y: float, size: int, last: bool) -> Mark:
    """A block's name and count: outside the figure at both ends, before the block in between."""
    side, away = ("left", 1) if last else ("right", -1)
    return {
        "x": column + away * BAR,
        "y": y,
        "text": f"{short(group.label)}<br>{size:,}",
        **{"xanchor": side, "xshift": away * 8, "align": side},
    }
