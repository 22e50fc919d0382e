"""Figures draw what they are given, in our colours, with text that stays text."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise

import pytest

from dashboard.figures import agreement, contrast, flow, noise, overlap
from dashboard.figures.palette import DARK, LIGHT, middle, mixed, plain, readable
from dashboard.figures.palette import contrast as ratio

EVIL = "<b>x</b><a href='https://evil.example'>y</a>"
THEMES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def drawn(palette):
    """One figure of every kind, with hostile words wherever a study's words can go."""
    groups = [[flow.Group("a", EVIL, palette.old)], [flow.Group("b", EVIL, palette.new)]]
    return {
        "noise": noise.noise_and_update([noise.Bar("semantic", 10.9, 10.25, "10.88", "semantic")], palette),
        "dots": agreement.dots([agreement.Dot(EVIL, 80, 70, 90, "old", "80%", "x")], palette),
        "matrix": agreement.matrix([agreement.Tile(EVIL, EVIL, 88.0, "88%", "0-0")], [EVIL], palette),
        "contrasts": contrast.distribution([contrast.Level(0, 0, 5, "0"), contrast.Level(1, 2, 0, "1")], palette),
        "bootstrap": contrast.bootstrap([0, 1, 2], [0.2, 0.6, 0.2], palette, estimate=1, lower=0.5, margin=3),
        "flows": flow.flows([EVIL, EVIL], groups, [flow.Ribbon(0, "a", "b", 3, EVIL, palette.new, "x")], palette),
        "shares": overlap.shares([0, 1], [50, 50], [40, 60], ["0", "1"], palette),
        "bubbles": overlap.bubbles([0, 1], [0, 1], [9, 1], [0, 1], ["a", "b"], palette),
    }


@THEMES
def test_every_figure_sets_its_own_colours_and_template(palette):
    for name, figure in drawn(palette).items():
        spec = json.loads(figure.to_json())
        assert spec["layout"]["font"]["color"] == palette.ink, name
        assert spec["layout"]["paper_bgcolor"] == "rgba(0,0,0,0)", name
        assert spec["layout"]["template"].get("layout", {}).get("font") is None, name
        assert "NaN" not in figure.to_json(), name


@THEMES
def test_study_words_are_entities_in_figures(palette):
    for name, figure in drawn(palette).items():
        assert EVIL not in json.loads(json.dumps(figure.to_json())), name
        assert "<a href" not in figure.to_json(), name
    assert plain("a<b & $x$") == "a&lt;b &amp; $x$"


@THEMES
def test_contrast_of_text_and_marks(palette):
    assert ratio(palette.ink, palette.ground) >= 7
    assert ratio(palette.muted, palette.ground) >= 4.5
    for mark in (palette.old, palette.new, palette.neutral, palette.bad, *palette.classes):
        assert ratio(mark, palette.ground) >= 3, mark
    for share in (0, 0.25, 0.5, 0.75, 1):
        ground = mixed(palette.low, palette.high, share)
        assert ratio(readable(ground, palette), ground) >= 4.5, share


def test_a_negative_excess_lies_inside_the_noise():
    bar = noise.noise_and_update([noise.Bar("k", 40.0, -3.0, "", "k")], LIGHT).data[1]
    assert list(bar.base) == [37.0]
    assert list(bar.x) == [3.0]


def test_every_tile_takes_clicks():
    states = ["n1", "n3"]
    tiles = [agreement.Tile(r, c, 50.0, "50%", f"{r}-{c}") for r in states for c in states]
    heat, clicks = agreement.matrix(tiles, states, LIGHT).data
    assert (heat.type, clicks.type) == ("heatmap", "scatter")
    assert list(clicks.customdata) == ["n1-n1", "n1-n3", "n3-n1", "n3-n3"]


def test_ribbons_leave_and_enter_without_overlap():
    groups = [[flow.Group("a", "a", "#111111"), flow.Group("b", "b", "#111111")]] * 2
    ribbons = [
        flow.Ribbon(0, s, t, n, str(n), "#111111", s + t)
        for s, t, n in (("a", "a", 5), ("a", "b", 3), ("b", "a", 2), ("b", "b", 10))
    ]
    figure = flow.flows(["x", "y"], groups, ribbons, LIGHT)
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    starts = sorted((trace.y[-1], trace.y[0]) for trace in bands)
    ends = sorted((trace.y[flow.STEPS + 1], trace.y[flow.STEPS]) for trace in bands)
    for edges in (starts, ends):
        assert all(low >= high - 1e-9 for (_, high), (low, _) in pairwise(edges))
    thickness = sorted(round((high - low) / (starts[0][1] - starts[0][0]), 6) for low, high in starts)
    assert len(bands) == 4
    assert thickness[-1] / thickness[0] == pytest.approx(5)  # 10 to 2


def test_an_empty_flow_draws_no_ribbon():
    groups = [[flow.Group("a", "a", "#111111")], [flow.Group("b", "b", "#111111")]]
    figure = flow.flows(["x", "y"], groups, [flow.Ribbon(0, "a", "b", 0, "0", "#111111", "ab")], LIGHT)
    assert not [trace for trace in figure.data if trace.fill == "toself"]


def test_figures_import_neither_streamlit_nor_a_database():
    code = (
        "import sys, dashboard.figures.agreement, dashboard.figures.contrast, dashboard.figures.flow, "
        "dashboard.figures.noise, dashboard.figures.overlap; "
        "sys.exit(any(name in sys.modules for name in ('streamlit', 'sqlite3', 'sqlite_utils')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_of_many_states_keep_both_ends():
    names = [f"snapshot 07 of the help centre, chunks of 512/{n}" for n in (64, 65)]
    assert [middle(name, 18) for name in names] == ["snapshot …f 512/64", "snapshot …f 512/65"]
    assert middle("<b>", 12) == "&lt;b&gt;"


def test_many_steps_stand_as_close_as_text_and_say_their_number():
    rows = [agreement.Dot("a" * 60, n, None, None, "new", f"+{n} pp", str(n), f"{n}. a → b") for n in range(11)]
    roomy, dense = agreement.dots(rows, LIGHT, zero=True), agreement.dots(rows, LIGHT, zero=True, dense=True)
    assert dense.layout.height < 330 < roomy.layout.height
    assert dense.layout.yaxis.ticktext[3] == "3. a → b  <b>+3 pp</b>  "
    assert not dense.layout.annotations
    assert dense.data[0].text[3] == "a" * 60


@pytest.mark.parametrize(("states", "texts"), [(4, 16), (6, 36), (12, 0)])
def test_many_states_are_numbered_above_and_named_at_the_rows(states, texts):
    names = [f"snapshot of the help centre {n:02}" for n in range(states)]
    tiles = [agreement.Tile(r, c, 50.0, "50.0%°", f"{r}-{c}") for r in names for c in names]
    figure = agreement.matrix(tiles, names, LIGHT)
    above, beside = figure.layout.xaxis.ticktext, figure.layout.yaxis.ticktext
    assert len(figure.layout.annotations) == texts
    if states == 4:
        assert above == beside == ("snapshot of t…",) * 4
    else:
        assert above[:2] == ("1", "2")
        assert beside[1] == "2  snapshot …entre 01"
    assert figure.data[1].text[1] == "snapshot of the help centre 00 against snapshot of the help centre 01: 50.0%°"


@pytest.mark.parametrize("low", [88, 95, 98, 99.8])
def test_an_axis_of_agreement_ends_at_100(low):
    rows = [agreement.Dot("a", 99.9, low, 100, "old", "99.9%")]
    axis = agreement.dots(rows, LIGHT).layout.xaxis
    assert max(axis.tickvals or [100]) == 100
    assert (axis.tickvals is None) == (low == 88)


@pytest.mark.parametrize("columns", [4, 12])
def test_many_columns_are_numbered_and_leave_room_at_both_ends(columns):
    names = [f"snapshot of the help centre {n:02}" for n in range(columns)]
    ribbons = [flow.Ribbon(n, "a", "a", 3, "3", "#111111", str(n)) for n in range(columns - 1)]
    layout = flow.flows(names, [[flow.Group("a", "A", "#111111")]] * columns, ribbons, LIGHT).layout
    left, right = layout.xaxis.range
    if columns == 4:
        assert (left, right) == (-flow.PAD, 3 + flow.PAD)
        assert layout.annotations[1].text == "<b>snapshot of the help ce…</b>"
    else:
        assert -left / (right - left) > 0.09
        assert layout.annotations[1].text == "<b>2<br>sna… 01</b>"
