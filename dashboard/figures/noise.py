"""Where disagreement comes from: repeat noise and, beyond it, the update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import Mark, Palette, drawn, steady

CROWDED = 55
"""End of a bar, in percent, beyond which its label no longer fits beside it; then all labels stand above."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One kernel's disagreement, in percentage points.

    Attributes:
        noise: Disagreement between repeats of one state.
        excess: What the cross comparison adds; may be negative.
        label: Both as text, rounded from the exact value.
        name: What a click means.
    """

    kernel: str
    noise: float
    excess: float
    label: str
    name: str


def noise_and_update(bars: Sequence[Bar], palette: Palette) -> go.Figure:
    """Bars on 0 to 100 percent; a negative excess is drawn hatched inside the noise."""
    common: Mark = {
        "type": "bar",
        "orientation": "h",
        "y": [bar.kernel for bar in bars],
        "customdata": [bar.name for bar in bars],
        **steady(1),
    }
    noise = {
        **common,
        "x": [bar.noise for bar in bars],
        "marker": {"color": palette.noise, "line": {"width": 0}},
        "hovertemplate": "repeat noise %{x:.2f}%<extra></extra>",
    }
    excess = {
        **common,
        "x": [abs(bar.excess) for bar in bars],
        "base": [min(bar.noise, bar.noise + bar.excess) for bar in bars],
        "meta": [bar.label for bar in bars],
        "marker": {
            "color": palette.new,
            "line": {"width": 0},
            "pattern": {"shape": ["/" if bar.excess < 0 else "" for bar in bars], "fgcolor": palette.ground},
        },
        "hovertemplate": "beyond noise %{x:.2f} pp<extra></extra>",
    }
    height = 92 + 66 * len(bars)
    above = round(0.24 * (height - 48) / max(len(bars), 1)) + 12
    figure = drawn(
        palette,
        height,
        [noise, excess],
        x={"range": [0, 104], "tickvals": [0, 25, 50, 75, 100], "ticktext": ["0", "25", "50", "75", "100%"]},
        y={
            "autorange": "reversed",
            "showgrid": False,
            "tickfont": {"color": palette.ink, "size": 14},
            "ticksuffix": "  ",
        },
        annotations=[_label(bar, above if any(_end(b) > CROWDED for b in bars) else None) for bar in bars],
    )
    return figure.update_layout(barmode="overlay", bargap=0.52)


def _end(bar: Bar) -> float:
    return bar.noise + max(bar.excess, 0)


def _label(bar: Bar, above: int | None) -> Mark:
    """Beside the bar, or so many pixels over its end."""
    at: Mark = {"y": bar.kernel, "x": _end(bar), "text": bar.label}
    if above is None:
        return {**at, "xanchor": "left", "xshift": 8}
    return {**at, "xanchor": "right" if _end(bar) > CROWDED / 2 else "left", "yshift": above}
