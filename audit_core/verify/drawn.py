"""What a figure of a report draws and writes, against the numbers that it names."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from audit_core.codec import Record
from audit_core.errors import AuditError
from audit_core.printed import Reference, Source, number, say

NEAR = 1e-9
"""Relative difference of two numbers that are drawn at the same place."""

_KEYS = frozenset(re.findall(
    r"\w+",
    "annotations automargin autorange autosize b bargap barmode base bgcolor bordercolor clickmode color customdata "
    "data dragmode family fgcolor fixedrange font gridcolor height hoverlabel hovertemplate l layout legend line "
    "linecolor margin marker meta mode name numbers opacity orientation paper_bgcolor pattern plot_bgcolor r range "
    "scatter selected shape shapes showarrow showgrid showlegend size t template text textposition tickangle tickfont "
    "tickformat ticks ticksuffix ticktext tickvals title type unselected width x x0 x1 xanchor xaxis xshift y y0 y1 "
    "yanchor yaxis yref yshift zeroline zerolinecolor",
))  # fmt: skip
"""Keys that the figures of a report have; others, as images or templates of text, might write a number."""
_TEMPLATE = re.compile(r"(?:[A-Za-z :-]|%\{(?:x|y|text|x:,|x:\.2f)\})*%?<extra></extra>")
_TICK = re.compile(r"(-?\d+)%? *")


def of_figure(text: str, source: Source) -> tuple[list[str], int]:
    """What a figure draws or writes that is not what its references give, and how many numbers it draws.

    Args:
        text: Its data, as JSON with ``data``, ``layout`` and ``numbers``, the references in the order of drawing.
        source: What may be printed.
    """
    try:
        figure = json.loads(text, parse_constant=_refused)
        references, layout, traces = figure["numbers"], figure["layout"], figure["data"]
        made = [number(source, reference) for reference in references]
        drawn = [*_of_traces(traces), *_of_lines(layout.get("shapes", []))]
        notes = [(re.sub("</?b>", "", n["text"]), n["x"], n["y"]) for n in layout.get("annotations", [])]
        labels = _labels(references, traces, source)
        wrong = [(note[0], label[0]) for note, label in zip(notes, labels, strict=False) if not _same(note, label)]
        faults = [f"A figure has “{key}”." for key in sorted(set(_keys(figure)) - _KEYS)]
        faults += [f"A figure says “{word[:40]}”." for word in _loose(traces, layout, _names(source))]
    except (AuditError, KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        return ["The data of a figure are damaged."], 0
    if len(made) != len(drawn):
        faults.append(f"A figure draws {len(drawn)} numbers and names {len(made)}.")
    for value, derived in zip(drawn, made, strict=False):
        if abs(value - derived) > NEAR * max(1, abs(derived)):
            faults.append(f"A figure draws {value:g}, derived {derived:g}.")
    faults += [f"A figure says “{note}” where “{label}” is derived." for note, label in wrong]
    if len(notes) != len(labels):
        faults.append(f"A figure has {len(notes)} labels for {len(labels)} marks.")
    return faults, len(drawn)


def _refused(constant: str) -> float:
    raise ValueError(constant)


def _keys(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _keys(inner)


def _of_traces(traces: list[Record]) -> Iterator[float]:
    """Numbers along the axes that measure; the other axis of a horizontal figure only orders.

    Excess below zero is drawn hatched and as long as it is, back from where the noise ends.
    """
    for trace in traces:
        for key in ("x", "y") if _upright(trace) else ("x", "base"):
            values = [float(value) for value in trace.get(key, [])]
            if key == "x" and "base" in trace:
                values = [
                    -v if shape else v for v, shape in zip(values, trace["marker"]["pattern"]["shape"], strict=True)
                ]
            yield from values


def _upright(trace: Record) -> bool:
    return trace["type"] == "bar" and trace.get("orientation") != "h"


def _of_lines(shapes: list[Record]) -> Iterator[float]:
    """Ends of intervals; a line over the whole height marks zero."""
    for shape in shapes:
        if shape.get("yref") != "paper":
            yield from (float(shape["x0"]), float(shape["x1"]))
        elif (shape["x0"], shape["x1"]) != (0, 0):
            yield float(shape["x0"])


Label = tuple[str, Any, Any]
"""A text and where it stands along both axes."""


def _labels(references: Sequence[Reference], traces: list[Record], source: Source) -> list[Label]:
    """What stands at the marks, from top to bottom or from left to right."""
    places, orders = traces[0]["x"], traces[0]["y"]
    if _upright(traces[0]):
        levels = [source.levels(*map(str, rest[:3]))[Fraction(str(rest[3]))] for _, *rest in references[: len(places)]]
        return [(f"{sum(found):,}", x, sum(found)) for x, found in zip(places, levels, strict=True)]
    said = [say(source, reference) for reference in references]
    if len(traces) == 1:
        return list(zip(said[: len(places)], places, range(len(places)), strict=True))
    drawn = list(_of_traces(traces))[len(places) :]
    found = zip(said, said[len(places) :], places, drawn, orders, strict=False)
    return [(f"{noise} noise + {update} update", x + max(more, 0), y) for noise, update, x, more, y in found]


def _same(note: Label, label: Label) -> bool:
    near = abs(float(note[1]) - float(label[1])) <= NEAR * max(1, abs(float(label[1])))
    return note[0] == label[0] and near and note[2] == label[2]


def _names(source: Source) -> set[str]:
    """Pairs of states as an axis and its hover texts write them."""
    states = [state.name for state in source.protocol.states]
    whole = {f"{old} → {new}" for old in states for new in states}
    return whole | {name[:23] + "…" for name in whole}


def _loose(traces: list[Record], layout: Record, names: set[str]) -> Iterator[str]:
    """Texts with a digit that are no label, and ticks that say another number than where they stand."""
    for trace in traces:
        if not _TEMPLATE.fullmatch(trace["hovertemplate"]):
            yield trace["hovertemplate"]
        if trace.get("textposition", "none") != "none" or trace.get("mode", "markers") != "markers":
            yield str(trace.get("text"))
        words = [trace.get("name", ""), *trace.get("text", []), *([] if _upright(trace) else map(_word, trace["y"]))]
        yield from (word for word in words if _digit(word) and html.unescape(word) not in names)
    yield from (_word(part["title"]) for part in (layout, layout.get("legend", {})) if "title" in part)
    for axis in (layout["xaxis"], layout["yaxis"]):
        yield from (str(axis[key]) for key, only in (("type", ""), ("tickformat", ",")) if axis.get(key, only) != only)
        texts, places = axis.get("ticktext", []), axis.get("tickvals", [])
        for text, place in zip(texts, places, strict=bool(texts)):
            tick = _TICK.fullmatch(text)
            named = axis is layout["yaxis"] and html.unescape(text).strip() in names
            if _digit(text) and not named and (tick is None or int(tick[1]) != place):
                yield text
        yield from filter(_digit, (axis.get("ticksuffix", ""), axis.get("title", {}).get("text", "")))


def _word(part: Any) -> str:
    return part if isinstance(part, str) else ""


def _digit(text: str) -> bool:
    return any(character.isnumeric() for character in text)
