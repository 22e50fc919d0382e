"""Where disagreement comes from: repeat noise and, beyond it, the update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.figures.palette import Palette, blank


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
    """Stacked bars on 0 to 100 percent; a negative excess is drawn hatched inside the noise."""
    figure = blank(palette, 92 + 66 * len(bars), barmode="overlay", bargap=0.52, uniformtext={"mode": False})
    kernels, names = [bar.kernel for bar in bars], [bar.name for bar in bars]
    figure.add_bar(
        y=kernels,
        x=[bar.noise for bar in bars],
        orientation="h",
        marker={"color": palette.noise, "line": {"width": 0}},
        customdata=names,
        hovertemplate="repeat noise %{x:.2f}%<extra></extra>",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    figure.add_bar(
        y=kernels,
        x=[abs(bar.excess) for bar in bars],
        base=[min(bar.noise, bar.noise + bar.excess) for bar in bars],
        orientation="h",
        customdata=names,
        hovertemplate="beyond noise %{meta}<extra></extra>",
        meta=[bar.label for bar in bars],
        marker={
            "color": palette.new,
            "line": {"width": 0},
            "pattern": {"shape": ["/" if bar.excess < 0 else "" for bar in bars], "fgcolor": palette.ground},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    for bar in bars:
        end = bar.noise + max(bar.excess, 0)
        inside = end > 66
        figure.add_annotation(
            y=bar.kernel,
            x=end,
            text=bar.label,
            showarrow=False,
            xanchor="right" if inside else "left",
            yshift=29 if inside else 0,
            xshift=0 if inside else 8,
            font={"color": palette.ink, "size": 14},
        )
    figure.update_xaxes(
        range=[0, 104], tickvals=[0, 25, 50, 75, 100], ticktext=["0", "25", "50", "75", "100%"], showline=False
    )
    figure.update_yaxes(
        autorange="reversed", showgrid=False, tickfont={"color": palette.ink, "size": 14}, ticksuffix="  "
    )
    return figure
