"""What does accuracy hide?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import display, sentences, state
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import Markup, plain
from dashboard.figures.flow import Group, Ribbon, flows
from dashboard.figures.palette import Palette
from dashboard.numbers import bounds, count, decimal, exact, interval, percent, plural, points
from dashboard.state import KERNELS

Row = dict[str, Any]
KINDS = {
    "lost": "lost: match → nonmatch",
    "gained": "gained: nonmatch → match",
    "different_nonmatch": "different nonmatch: both miss the gold, with different answers",
    "both_match": "both match",
    "same_nonmatch": "same nonmatch: both miss the gold, with the same answer",
}


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    found = {kind: comparison.pair(f"transitions[{kind}]") for kind in KINDS}
    display.heading("What does accuracy hide?", sentences.transitions(comparison))
    if display.single_state(comparison):
        return
    display.three_numbers(comparison)
    if found["lost"]["numerator"] is None:
        display.empty(
            "Transitions need gold answers and matched repeats.",
            plain(found["lost"]["reason"])
            + " Add a <code>gold</code> column when importing to see what accuracy hides.",
        )
    else:
        _flows(comparison, found)
    _unknown(comparison)
    _states(comparison)


def _flows(comparison: Comparison, found: dict[str, Row]) -> None:
    selection = comparison.selection
    palette = display.palette()
    opens = {kind: display.into(selection, queue=kind) for kind in ("lost", "gained", "different_nonmatch")}
    opens |= {kind: display.into(selection, queue="all", fact=kind) for kind in ("both_match", "same_nonmatch")}
    with st.container(key="wrap-flows"):
        left, right = st.columns([1.15, 1])
    with left, st.container(border=True, height="stretch"):
        display.block("<h2 style='margin-top:0'>Where matched answers went</h2>")
        if not any(found[kind]["numerator"] for kind in ("lost", "gained", "different_nonmatch")):
            display.block("<p>Every matched repeat kept its status and, where it missed the gold, its answer.</p>")
        display.figure(
            _drawing(comparison, found, palette), "transitions", "Flows between EM-match and EM-nonmatch", opens=opens
        )
        row = found["lost"]
        display.facts(
            population=plural(row["population"], "question"),
            unit=row["unit"],
            status=row["status"],
            kernel=f"exact match; {KERNELS.get(row['kernel'] or '', 'exact')} for same or different",
        )
    with right, st.container(border=True, height="stretch"):
        display.block("<h2 style='margin-top:0'>The same as counts</h2>")
        cells: list[tuple[object, ...]] = [
            (
                label,
                display.opening(count(found[kind]["numerator"]), opens[kind]),
                percent(exact(found[kind])),
                _between(found[kind]),
            )
            for kind, label in KINDS.items()
        ]
        for measure, label in (
            ("net_transitions", "net: gained − lost"),
            ("gross_transitions", "gross: gained + lost"),
        ):
            row = comparison.pair(measure)
            cells.append((Markup(f"<b>{label}</b>"), count(row["numerator"]), percent(exact(row)), ""))
        display.block(
            display.grid(("transition", "matched repeats", "share", "between answers"), cells, numeric=(1, 2, 3))
        )
        display.note(
            "Diagnostic and not noise-corrected: repeats of one state differ too. “Between answers” "
            "leaves out flows from or to UNKNOWN."
        )
        display.table(
            [
                {
                    "transition": kind,
                    "matched repeats": row["numerator"],
                    "of": row["denominator"],
                    "share": row["value"],
                    "between answers": row["detail"].get("between_answers"),
                    "status": row["status"],
                }
                for kind, row in found.items()
            ],
            "transitions",
        )


def _between(row: Row) -> str:
    known = row["detail"].get("between_answers")
    return "" if known is None else count(int(known))


def _drawing(comparison: Comparison, found: dict[str, Row], palette: Palette) -> Any:
    sides = [Group("match", "EM-match", palette.old), Group("nonmatch", "EM-nonmatch", palette.neutral)]
    after = [Group("match", "EM-match", palette.new), Group("nonmatch", "EM-nonmatch", palette.neutral)]
    ways = {
        "both_match": ("match", "match", palette.noise, "both match"),
        "lost": ("match", "nonmatch", palette.bad, "lost"),
        "gained": ("nonmatch", "match", palette.classes[3], "gained"),
        "different_nonmatch": ("nonmatch", "nonmatch", palette.new, "different nonmatch"),
        "same_nonmatch": ("nonmatch", "nonmatch", palette.noise, "same nonmatch"),
    }
    ribbons = [
        Ribbon(
            0,
            source,
            target,
            found[kind]["numerator"] or 0,
            f"{word} {count(found[kind]['numerator'])}",
            colour,
            kind,
            at=0.24 if kind in ("lost", "gained") else 0.5,
        )
        for kind, (source, target, colour, word) in ways.items()
    ]
    return flows([comparison.selection.old, comparison.selection.new], [sides, after], ribbons, palette, height=400)


def _unknown(comparison: Comparison) -> None:
    selection = comparison.selection
    into, out = comparison.pair("unknown_transitions[in]"), comparison.pair("unknown_transitions[out]")
    display.section("UNKNOWN in and out")
    if into["numerator"] is None:
        display.empty("Refusals cannot be followed.", plain(into["reason"]))
        return
    if not into["numerator"] and not out["numerator"]:
        display.block("<p>No matched repeat went from an answer to UNKNOWN or back.</p>")
        return
    inward = display.opening(count(into["numerator"]), display.into(selection, queue="all", fact="unknown_in"))
    outward = display.opening(count(out["numerator"]), display.into(selection, queue="all", fact="unknown_out"))
    total = count(into["denominator"])
    display.block(
        f"<p><b>{inward}</b> of {total} matched repeats went from an answer to UNKNOWN ({percent(exact(into))}), "
        f"<b>{outward}</b> from UNKNOWN to an answer ({percent(exact(out))}).</p>"
    )


def _states(comparison: Comparison) -> None:
    display.section(
        "Each state by itself",
        f"Means over questions of the mean over repeats, with two-sided {comparison.level} intervals.",
    )
    cells, rows = [], []
    for entry in comparison.study["states"]:
        name = entry["state"]
        found = {m: comparison.state(m, name) for m in ("exact_match", "token_f1", "unknown_rate")}
        label = Markup(_named(comparison, name, entry["label"]))
        cells.append((label, *(Markup(_rate(comparison, row)) for row in found.values())))
        rows.append(
            {"state": name, "label": entry["label"]}
            | {
                f"{m}{end}": row[key]
                for m, row in found.items()
                for end, key in (("", "value"), (" low", "low"), (" high", "high"))
            }
        )
    display.block(display.grid(("state", "exact match", "token F1", "UNKNOWN rate"), cells, numeric=(1, 2, 3)))
    change = comparison.pair("exact_match_difference")
    if exact(change) is not None:
        ends = f"{comparison.level} interval {interval(change)} pp"
        if not interval(change):
            why = bounds(change, comparison.level)[0].rstrip(".")
            ends = f"no interval: {plain(why[:1].lower() + why[1:])}"
        display.block(
            f'<p class="small">Exact match from {sentences.states(comparison)}: '
            f"<b>{points(exact(change), sign=True)}</b>, {ends}.</p>"
        )
    row = comparison.state("unknown_rate", comparison.selection.new)
    display.facts(
        population=plural(comparison.study["questions"], "question"),
        unit="answers",
        status=row["status"],
        kernel=f"gold answers after the rule {plain(comparison.study['normalization'])}",
    )
    display.table(rows, "states")


def _named(comparison: Comparison, name: str, label: str) -> str:
    tone = {comparison.selection.old: "old", comparison.selection.new: "new"}.get(name, "")
    return f'<b class="{tone}">{plain(name)}</b> <span class="mut">{plain(label)}</span>'


def _rate(comparison: Comparison, row: Row) -> str:
    value = exact(row)
    if value is None:
        return f'<span class="mut">{sentences.silent(comparison, row) or plain(row["reason"])}</span>'
    ends = (
        ""
        if not interval(row)
        else (f' <span class="mut">({decimal(row["low"], 2, 100)} to {decimal(row["high"], 2, 100)})</span>')
    )
    return percent(value) + ends


page()
