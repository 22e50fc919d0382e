"""Colours and the common look of all figures, for both themes. Old is blue, new is orange, noise is grey."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

OLD, NEW = "#3b6fb6", "#c76a10"
Mark = dict[str, Any]
MANY = 4
"""States up to which a figure is drawn roomily; with more of them names are numbered and shortened in the middle."""
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme; marks reach 3:1 against the ground, text 4.5:1.

    Attributes:
        classes: Colours of semantic classes A, B, C, …; letters always stand beside them.
        low: Lightest colour of a scale of agreement.
        high: Strongest colour of that scale.
    """

    ink: str
    muted: str
    grid: str
    ground: str
    noise: str
    neutral: str
    bad: str
    low: str
    high: str
    old: str = OLD
    new: str = NEW
    classes: tuple[str, ...] = (OLD, NEW, "#7b4fa3", "#1b7f5c", "#b3446c")


LIGHT = Palette(
    ink="#11151a",
    muted="#55606e",
    grid="#e6eaef",
    ground="#ffffff",
    noise="#c2ccd7",
    neutral="#8a94a3",
    bad="#a8231b",
    low="#eef3fa",
    high="#2f62a8",
)
DARK = Palette(
    ink="#f2f5f8",
    muted="#a9b4c1",
    grid="#2b3542",
    ground="#10151c",
    noise="#66717f",
    neutral="#7d8896",
    bad="#ff9d94",
    low="#18212d",
    high="#6fa3e6",
    old="#5b93dd",
    new="#dd8430",
    classes=("#5b93dd", "#dd8430", "#a884d0", "#3fae84", "#d9739a"),
)


def plain(text: object) -> str:
    """Study text for plotly, which renders pseudo-HTML: entities show it literally."""
    return html.escape(str(text), quote=False)


def short(text: object, most: int = 24) -> str:
    """A name that fits beside an axis; tables and hover texts carry the whole of it."""
    whole = str(text)
    return plain(whole if len(whole) <= most else whole[: most - 1] + "…")


def middle(text: object, most: int) -> str:
    """A name of many that differ at their ends: shortened in the middle, beside an axis."""
    whole = str(text)
    tail = (most - 1) // 2
    return plain(whole if len(whole) <= most else whole[: most - 1 - tail] + "…" + whole[len(whole) - tail :])


def mixed(low: str, high: str, share: float) -> str:
    """The colour between two, as plotly mixes them on a scale."""
    parts = [(int(low[i : i + 2], 16), int(high[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * min(max(share, 0), 1)):02x}" for a, b in parts)


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours after WCAG 2, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def readable(ground: str, palette: Palette) -> str:
    """Ink or ground colour, whichever stands out more on a filled mark."""
    return max((palette.ink, palette.ground), key=lambda colour: contrast(colour, ground))


def drawn(
    palette: Palette,
    height: int,
    traces: Sequence[Mark],
    *,
    x: Mark | None = None,
    y: Mark | None = None,
    shapes: Sequence[Mark] = (),
    annotations: Sequence[Mark] = (),
    legend: bool = False,
) -> go.Figure:
    """A figure with the common look; every colour is explicit, so that no surrounding template decides.

    All parts are handed over at once: plotly checks the whole list again at each single addition.
    """
    axis: Mark = {
        "gridcolor": palette.grid,
        "linecolor": palette.grid,
        "zerolinecolor": palette.grid,
        "zeroline": False,
        "tickfont": {"color": palette.muted, "size": 12.5},
        "title": {"font": {"color": palette.muted, "size": 13}},
        "automargin": True,
        "tickangle": 0,
        "ticks": "",
        "fixedrange": True,
    }
    layout: Mark = {
        "template": "none",
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 34 if legend else 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": legend,
        "font": {"family": FONT, "color": palette.ink, "size": 13.5},
        "dragmode": False,
        "clickmode": "event+select",
        "hoverlabel": {
            "bgcolor": palette.ground,
            "bordercolor": palette.grid,
            "font": {"color": palette.ink, "family": FONT, "size": 13},
        },
        "xaxis": _joined(axis, x),
        "yaxis": _joined(axis, y),
        "shapes": list(shapes),
        "annotations": [{"showarrow": False, "font": {"color": palette.ink, "size": 13}} | a for a in annotations],
    }
    if legend:
        place = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
        layout["legend"] = {**place, "font": {"color": palette.ink}}
    return go.Figure(data=list(traces), layout=layout)


def _joined(axis: Mark, own: Mark | None) -> Mark:
    joined = axis | (own or {})
    if own and "title" in own:
        joined["title"] = {**axis["title"], "text": own["title"]}
    return joined


def steady(opacity: float, **more: Any) -> Mark:
    """What a trace needs so that a click does not fade the marks around it."""
    look = {"marker": {"opacity": opacity}, **more}
    return {"selected": look, "unselected": look}
