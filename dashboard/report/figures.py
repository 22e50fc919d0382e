"""The figures of a report: each with its data as a table, of which every number is derived again by whoever checks."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from audit_core.printed import Reference, Row
from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.figures.agreement import Dot, dots
from dashboard.figures.contrast import Level, distribution
from dashboard.figures.counts import Counted, counts
from dashboard.figures.noise import Bar, noise_and_update
from dashboard.figures.palette import LIGHT
from dashboard.markup import Markup
from dashboard.numbers import count, decimal, exact, points
from dashboard.report.writer import Writer, island, table
from dashboard.selection import KERNELS

WIDTH = 680
"""Pixels: what fits the width of an A4 page, so that nothing is laid out anew for paper."""
KINDS = {
    "lost": "lost: match to miss",
    "gained": "gained: miss to match",
    "different_nonmatch": "unseen: one miss to another",
    "same_nonmatch": "same miss",
    "both_match": "still a match",
}
STATUS = {
    "confirmatory": "confirmatory (fixed by the protocol, computed once)",
    "supportive": "supportive",
    "post-hoc": "post-hoc (defined after results were seen)",
    "exploratory": "exploratory (not fixed before the answers were seen)",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with everything that must stand beside it.

    Attributes:
        drawing: For plotly.
        numbers: References of all numbers that it draws.
        data: The same as an HTML table.
        facts: Population, unit, kernel and status, as markup.
    """

    key: str
    title: str
    drawing: go.Figure
    numbers: Sequence[Reference]
    data: str
    facts: str

    def markup(self) -> str:
        """The figure as HTML."""
        content = json.loads(self.drawing.update_layout(width=WIDTH, autosize=False).to_json())
        shown = {"data": content["data"], "layout": content["layout"], "numbers": [list(n) for n in self.numbers]}
        label, data = html.escape(self.title), island(shown, f'data-plot="plot-{self.key}"')
        return (
            f'<figure id="figure-{self.key}"><figcaption>{label}</figcaption>'
            f'<div class="plot" id="plot-{self.key}" role="img" aria-label="{label}. The table below has its numbers.">'
            f'</div>{data}<p class="facts">{self.facts}</p>'
            f"<details><summary>The same as numbers</summary>{self.data}</details></figure>"
        )


def facts(writer: Writer, row: Row, kernel: str) -> str:
    """What every figure says about itself."""
    population = writer.number(row, "count", "population")
    return (
        f"<b>Population</b> {population} questions · <b>Unit</b> {row['unit']} · <b>Kernel</b> {kernel} · "
        f"<b>Status</b> {STATUS.get(row['status'], row['status'])}"
    )


def estimate(row: Row, field: str = "value", form: str = "hundredths") -> Reference:
    """Reference of a number of an estimate."""
    return ("estimate", row["name"], field, form)


def sources(comparison: Comparison, writer: Writer) -> Figure | None:
    """Repeat noise and, beyond it, the update."""
    bars, rows = [], []
    used: tuple[list[Reference], list[Reference], list[Reference]] = ([], [], [])
    shown = None
    for kernel in sentences.kernels(comparison):
        within, across, excess = (
            comparison.pair(m, kernel) for m in ("baseline_agreement", "cross_agreement", "excess_churn")
        )
        noise, update = exact(within), exact(excess)
        if noise is None or update is None or exact(across) is None:
            continue
        noise, shown = 1 - noise, shown or excess
        label = f"{decimal(noise, 2, 100)} noise + <b>{decimal(update, 2, 100)} update</b>"
        bars.append(Bar(KERNELS[kernel], float(noise * 100), float(update * 100), label, kernel))
        own = [estimate(within, "complement"), estimate(excess), estimate(across, "complement")]
        used[0].append(own[0])
        used[1].append(own[1])
        used[2].append(own[0] if update >= 0 else own[2])
        rows.append((KERNELS[kernel], *(writer.say(*reference) for reference in own)))
    if shown is None:
        return None
    columns = ("kernel", "repeats of one state disagree, %", "excess churn, pp", "answers across states disagree, %")
    return Figure(
        "sources", "Where the disagreement comes from: grey is repeat noise, orange is the update",
        noise_and_update(bars, LIGHT), [*used[0], *used[1], *used[2]],
        table("Disagreement by kernel", columns, rows, numeric=(1, 2, 3)),
        facts(writer, shown, " and ".join(KERNELS[kernel] for kernel in sentences.kernels(comparison))),
    )  # fmt: skip


def steps(comparison: Comparison, writer: Writer) -> Figure | None:
    """Excess churn between the endpoints and along the ladder, with intervals."""
    kernel, own = comparison.selection.kernel, (comparison.selection.old, comparison.selection.new)
    pairs = [own] + [(p["old"], p["new"]) for p in comparison.study["pairs"] if (p["old"], p["new"]) != own]
    marks, rows, used, lines = [], [], [], []
    for old, new in pairs:
        row = comparison.named(f"excess_churn[{kernel}]@{old}-{new}")
        value = exact(row)
        if value is None:
            continue
        ends = [row[end] for end in ("low", "high")]
        low, high = (None if end is None else end * 100 for end in ends)
        role = "new" if (old, new) == own else "noise"
        marks.append(Dot(f"{old} → {new}", float(value * 100), low, high, role, points(value)))
        used.append(estimate(row, "value", "points"))
        if None not in ends:
            lines += [estimate(row, "low"), estimate(row, "high")]
        flips = comparison.named(f"repeat_stable_flips[{kernel}]@{old}-{new}")
        names = Markup(f"{writer.state(old)} → {writer.state(new)}")
        between = Markup(" to ".join(writer.number(row, "hundredths", end) for end in ("low", "high"))
                         if None not in ends else "none")  # fmt: skip
        number = writer.number(flips, "count", "numerator") if flips["numerator"] is not None else Markup("")
        rows.append((names, writer.number(row, "points"), between, number, row["status"]))
    if len(marks) < 2:
        return None
    columns = ("states", "excess churn", "two-sided interval, pp", "repeat-stable flips", "status")
    return Figure(
        "steps", "Movement beyond repeat noise between the endpoints (orange) and along the ladder (grey)",
        dots(marks, LIGHT, unit=" pp", zero=True), [*used, *lines],
        table("Excess churn by pair of states", columns, rows, numeric=(1, 2, 3)),
        facts(writer, comparison.pair("excess_churn", kernel), KERNELS[kernel]),
    )  # fmt: skip


def transitions(comparison: Comparison, writer: Writer) -> Figure | None:
    """What happened to exact match, pair of answers by pair of answers."""
    found = {kind: comparison.pair(f"transitions[{kind}]") for kind in KINDS}
    if any(row["numerator"] is None for row in found.values()):
        return None
    colours = {"lost": LIGHT.bad, "gained": LIGHT.classes[3], "different_nonmatch": LIGHT.new}
    bars = [
        Counted(KINDS[kind], row["numerator"], count(row["numerator"]), colours.get(kind, LIGHT.noise))
        for kind, row in found.items()
    ]
    rows = [
        (KINDS[kind], writer.number(row, "count", "numerator"), writer.number(row, "percent"))
        for kind, row in found.items()
    ]
    return Figure(
        "transitions", "What happened to exact match, repeat by repeat",
        counts(bars, LIGHT, unit="matched repeats"),
        [estimate(row, "numerator", "count") for row in found.values()],
        table("Transitions of exact match", ("transition", "matched repeats", "share"), rows, numeric=(1, 2)),
        facts(writer, found["lost"], "exact match against the gold answers"),
    )  # fmt: skip


def contrasts(comparison: Comparison, writer: Writer) -> Figure | None:
    """How many questions carry the movement."""
    selection = comparison.selection
    pair = (selection.kernel, selection.old, selection.new)
    found = writer.source.levels(*pair)
    if not found:
        return None
    levels = [Level(float(value), flips, others, str(value)) for value, (flips, others) in found.items()]
    rows = [
        tuple(writer.say("level", *pair, str(value), which) for which in ("value", "flips", "others"))
        for value in found
    ]
    columns = ("contrast of a question", "repeat-stable flips", "other questions")
    return Figure(
        "contrasts", "How many questions carry it: one bar for each value of the contrast, flips in orange",
        distribution(levels, LIGHT), [
            ("level", *pair, str(value), which)
            for which_of_trace in ("others", "flips")
            for which in ("value", which_of_trace)
            for value in found
        ],
        table("Questions by contrast", columns, rows, numeric=(0, 1, 2)),
        facts(writer, comparison.pair("excess_churn", selection.kernel), KERNELS[selection.kernel]),
    )  # fmt: skip
