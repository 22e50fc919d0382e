"""Slides of the comparison: what happened, the three numbers, noise and update, accuracy, the ladder, the limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard import data, display, sentences, sources, steps
from dashboard.comparison import Comparison
from dashboard.components.text import clipped, escaped
from dashboard.figures.agreement import dots
from dashboard.figures.noise import noise_and_update
from dashboard.figures.palette import MANY
from dashboard.markup import plain
from dashboard.numbers import brief, count, exact, interval, percent, plural, points
from dashboard.presenting.markup import big, body, bullets, heading, pages, row
from dashboard.presenting.show import Content, Sight, Slide
from dashboard.selection import KERNELS

Row = dict[str, Any]
SCALE = 1.85
"""How much larger figures are drawn than on a page, in a window of 1280 by 720."""
ROOM = 450
"""Height that the slide of the ladder leaves its figure in that window."""


def opening(comparison: Comparison, problems: Sequence[str]) -> Slide:
    """What was compared and what came out, in one sentence.

    Args:
        problems: Sentences about what the address asks for and cannot be shown.
    """
    study, selection = comparison.study, comparison.selection
    single = selection.old == selection.new
    verdict = None if single else sentences.verdict(comparison)
    title = verdict.title if verdict else "This study has a single state."

    def draw(_: Sight) -> Content:
        lead = verdict.lead if verdict else "There is nothing to compare it with."
        told = [*selection.problems, *problems] + ([] if single else [data.differing(selection)])
        warnings = "".join(f'<p class="warn">{escaped(clipped(text, 300))}</p>' for text in told if text)
        return Content(
            heading(title, small=_compared(comparison)) + body(f'<p class="lead">{lead}</p>{warnings}'), kind="is-title"
        )

    return Slide("title", f"{study['title']}. What happened", draw)


def _compared(comparison: Comparison) -> str:
    study, selection = comparison.study, comparison.selection
    labels = {state["state"]: clipped(state["label"], 60) for state in study["states"]}
    ends = [(selection.old, "old"), (selection.new, "new")][: 1 if selection.old == selection.new else 2]
    named = " → ".join(
        f'<b class="{side}" dir="auto">{plain(clipped(name, 60))}</b> {plain(labels[name])}' for name, side in ends
    )
    repeats = sorted({state["repeats"] for state in study["states"]}) or [0]
    asked = plural(repeats[0], "repeat") if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]} repeats"
    return (
        f'<b dir="auto">{plain(clipped(study["title"], 90))}</b> · {plural(study["questions"], "question")} · {asked}'
        f"<br>{named}"
    )


def three(comparison: Comparison) -> Slide:
    """The three numbers that are always shown together."""

    def draw(_: Sight) -> Content:
        cards = row(big(n.label, n.value, n.note, measured=n.measured) for n in display.headlines(comparison))
        return Content(heading("Three numbers, read together") + body(cards + _facts(comparison)))

    return Slide("numbers", "Three numbers, read together", draw)


def _facts(comparison: Comparison) -> str:
    found = comparison.pair("excess_churn", comparison.selection.kernel)
    if not found["population"]:
        return ""
    status = display.STATUS_WORDS.get(found["status"], found["status"])
    return f'<p class="sa-fine">{plural(found["population"], "question")} · {status}</p>' if status else ""


def noise(comparison: Comparison) -> Slide:
    """Where the disagreement comes from."""
    title = "Where the disagreement comes from"

    def draw(sight: Sight) -> Content:
        bars, _rows = sources.bars(comparison)
        if not bars:
            reason = plain(comparison.pair("excess_churn", comparison.selection.kernel)["reason"])
            text = f"<p>Noise and update cannot be told apart here.</p><p class='mut'>{reason}</p>"
            return Content(heading(title) + body(text))
        figure = enlarged(noise_and_update(bars, display.palette()), SCALE * sight.scale)
        return Content(heading(title, sources.LEGEND), figure, "Repeat noise and excess churn by kernel",
                       _facts(comparison))  # fmt: skip

    return Slide("noise", title, draw)


def accuracy(comparison: Comparison) -> Slide:
    """What mean accuracy hides."""
    title = "What accuracy hides"

    def draw(_: Sight) -> Content:
        change = comparison.pair("exact_match_difference")
        if exact(change) is None:
            return Content(
                heading(title, sentences.transitions(comparison)) + body(f"<p>{plain(change['reason'])}</p>")
            )
        flows = {
            word: comparison.pair(f"transitions[{kind}]")
            for word, kind in (("lost", "lost"), ("gained", "gained"), ("changed unseen", "different_nonmatch"))
        }
        cards = [
            big(f"Pairs of answers {word}", count(flow["numerator"]),
                plain(brief(flow["reason"])) if flow["numerator"] is None else
                f"{percent(exact(flow))} of {plural(flow['denominator'], 'pair')}",
                measured=flow["numerator"] is not None)
            for word, flow in flows.items()
        ]  # fmt: skip
        ends = interval(change)
        between = f", {comparison.level} interval {ends} pp" if ends else ""
        net = f"Exact match moved by <b>{points(exact(change), sign=True)}</b>{between}."
        return Content(heading(title, sentences.transitions(comparison)) + body(row(cards) + f"<p>{net}</p>"))

    return Slide("accuracy", title, draw)


def ladder(comparison: Comparison) -> Slide:
    """Excess churn of each step between neighbouring states."""
    names = [state["state"] for state in comparison.study["states"]]
    kernel, title = comparison.selection.kernel, "Step by step along the ladder"

    def draw(sight: Sight) -> Content:
        marks = steps.dots(comparison, names, kernel)
        lead = steps.lead(comparison, names, comparison.study["main_kernel"])
        if not marks:
            return Content(heading(title, lead) + body("<p>No step can be measured; see the page Trajectories.</p>"))
        figure = dots(marks, display.palette(), unit=" pp", zero=True, dense=len(names) > MANY)
        figure = enlarged(figure, min(SCALE, ROOM / figure.layout.height) * sight.scale)
        found = comparison.named(f"excess_churn[{kernel}]@{names[0]}-{names[1]}")
        fine = (
            f"Excess churn of each step ({KERNELS[kernel]}), two-sided {comparison.level} intervals, not adjusted for "
            f"looking at several steps · {display.STATUS_WORDS.get(found['status'], '')}"
        )
        return Content(heading(title, lead), figure, "Excess churn of each step with its interval",
                       f'<p class="sa-fine">{fine}</p>')  # fmt: skip

    return Slide("ladder", title, draw)


def limits(comparison: Comparison) -> list[Slide]:
    """What the study does not show, on as many slides as it takes."""
    parts = pages(sentences.limits(comparison))

    def slide(number: int) -> Slide:
        title = "What this does not show" + (f" ({number + 1} of {len(parts)})" if len(parts) > 1 else "")
        return Slide(f"limits-{number}", title, lambda _: Content(heading(title) + body(bullets(parts[number]))))

    return [slide(number) for number in range(len(parts))]


def enlarged(figure: go.Figure, scale: float) -> go.Figure:
    """A figure of the pages in large type: every size of type and mark, height and shift grows by a factor."""
    layout = _scaled(figure.layout.to_plotly_json(), scale)
    traces = [
        {key: _scaled(part, scale, key) if key in ("textfont", "marker") else part for key, part in trace.items()}
        for trace in (trace.to_plotly_json() for trace in figure.data)
    ]
    return go.Figure(data=traces, layout=layout)


def _scaled(value: Any, scale: float, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _scaled(inner, scale, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_scaled(inner, scale) for inner in value]
    if name in ("size", "height", "xshift", "yshift") and isinstance(value, int | float):
        return value * scale
    return value
