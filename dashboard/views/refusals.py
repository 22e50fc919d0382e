"""Same evidence, different outcome?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from audit_core.estimators.refusals import alarms
from dashboard import components, data, display, state
from dashboard.comparison import Comparison
from dashboard.components import case, outcome_tables
from dashboard.components.outcome_tables import OUTCOMES
from dashboard.data import compare
from dashboard.display import Markup, card, plain
from dashboard.figures.outcomes import Outcomes, outcome_bars
from dashboard.numbers import UNDEFINED, brief, count, decimal, exact, percent, plural, points
from dashboard.state import KERNELS

Row = dict[str, Any]
_STYLE = f"<style>{(Path(components.__file__).parent / 'triage.css').read_text('utf-8')}</style>"
SHOWN = 10  # split questions that are listed before the rest is folded


def page() -> None:
    """Draw the page."""
    st.html(_STYLE)
    comparison = compare(state.current())
    display.heading("Same evidence, different outcome?", _lead(comparison))
    for alarm in alarms(comparison.rows.values()):
        display.banner(f"<b>Alarm.</b> {plain(alarm.sentence)}", "bad")
    _cards(comparison)
    at = case.state_of(comparison)
    left, right = st.columns([1, 1.2])
    with left, st.container(border=True, height="stretch"):
        _rates(comparison)
    with right, st.container(border=True, height="stretch"):
        _splits(comparison, at)
    case.draw(comparison, at)
    outcome_tables.states(comparison)
    if comparison.selection.old != comparison.selection.new:
        outcome_tables.flows(comparison)
    outcome_tables.noise(comparison)
    outcome_tables.excerpts(comparison)


def _lead(comparison: Comparison) -> str:
    parts = []
    for name in outcome_tables.pair_of(comparison):
        row = comparison.state("outcome_split", name)
        if exact(row) is not None:
            parts.append(f"{count(row['numerator'])} of {plural(row['denominator'], 'question')} in {plain(name)}")
    if not parts:
        return "Whether repeats with the same evidence end differently cannot be told from this study."
    texts = comparison.study["has_texts"]
    how = "With evidence equal to the byte" if texts else "With the same documents in the same order"
    return f"{how}, repeats do different things for {' and '.join(parts)}."


def _cards(comparison: Comparison) -> None:
    names = outcome_tables.pair_of(comparison)
    columns = st.columns(4)
    for column, name, tone in zip(columns, names, ("old", "new"), strict=False):
        with column, st.container(border=True, height="stretch", gap="xsmall"):
            _split_card(comparison, name, tone if len(names) > 1 else "")
    if len(names) < 2:
        return
    with columns[2], st.container(border=True, height="stretch", gap="xsmall"):
        _moves_card(comparison)
    with columns[3], st.container(border=True, height="stretch", gap="xsmall"):
        _churn_card(comparison)


def _split_card(comparison: Comparison, name: str, tone: str) -> None:
    row = comparison.state("outcome_split", name)
    label = f'Split outcome in <b class="{tone}">{plain(name)}</b>, same evidence'
    value = exact(row)
    if value is None:
        display.block(card(label, UNDEFINED, plain(brief(row["reason"])), measured=False))
        return
    ends = f"{comparison.level} interval {decimal(row['low'], 2, 100)} to {decimal(row['high'], 2, 100)}"
    note = f"{count(row['numerator'])} of {plural(row['denominator'], 'question')}<br>{ends}"
    display.block(card(label, percent(value), note))
    if row["numerator"]:
        display.link(
            f"Open {plural(row['numerator'], 'question')}", outcome_tables.split_link(comparison, name, same=True)
        )


def _moves_card(comparison: Comparison) -> None:
    gained = comparison.pair("outcome_transitions[to_refused]")
    lost = comparison.pair("outcome_transitions[from_refused]")
    if gained["numerator"] is None:
        display.block(card("Refusals gained and lost", UNDEFINED, plain(brief(gained["reason"])), measured=False))
        return
    value = f"+{count(gained['numerator'])} / −{count(lost['numerator'])}"
    note = f"of {plural(gained['denominator'], 'matched repeat')}; not noise-corrected"
    display.block(card("Refusals gained and lost", value, note))
    with st.container(horizontal=True, gap="small"):
        for row, word, fact in ((gained, "gained", "to_refused"), (lost, "lost", "from_refused")):
            if row["numerator"]:
                link = display.into(comparison.selection, queue="all", fact=fact)
                display.link(f"{count(row['numerator'])} {word}", link)


def _churn_card(comparison: Comparison) -> None:
    kernel = comparison.selection.kernel
    label = f"Excess churn without refusals ({KERNELS[kernel]})"
    row, whole = comparison.pair("excess_churn", f"{kernel}, without refusals"), comparison.pair("excess_churn", kernel)
    value = exact(row)
    if value is None:
        display.block(card(label, UNDEFINED, plain(brief(row["reason"])), measured=False))
        return
    note = f"with them {points(exact(whole))}<br>{plural(row['population'], 'question')} without any refusal"
    display.block(card(label, points(value), note))


def _rates(comparison: Comparison) -> None:
    display.block("<h2 style='margin-top:0'>What answers do</h2>")
    bars, rows = [], []
    shown: list[Row] = []
    for entry in comparison.study["states"]:
        found = [comparison.state("outcome_rate", entry["state"], word) for word in OUTCOMES]
        values = [exact(row) for row in found]
        if any(value is None for value in values):
            continue
        shown += found
        shares = [float(100 * (value or 0)) for value in values]
        labels = [percent(value, 1) for value in values]
        bars.append(Outcomes(entry["state"], (shares[0], shares[1], shares[2]), (labels[0], labels[1], labels[2])))
        rows.append(
            {"state": entry["state"], "label": entry["label"]}
            | {f"{word}{end}": row[key] for word, row in zip(OUTCOMES, found, strict=True)
               for end, key in (("", "value"), (" low", "low"), (" high", "high"))}
        )  # fmt: skip
    if not bars:
        display.empty("There is no answer to read.", "Import answers, or collect them.")
        return
    display.figure(
        outcome_bars(bars, display.palette()), "outcomes", "Share of answers that answer, answer a part, refuse"
    )
    row = comparison.state("outcome_rate", comparison.selection.new, "refused")
    display.note(
        "Refused: says that there is no answer. Partial: answers what it can and notes the gap. "
        + _sources(comparison.selection.study)
    )
    display.facts(
        population=outcome_tables.population(shown), unit="answers", kernel="outcome of an answer",
        status=row["status"],
    )  # fmt: skip
    display.table(rows, "outcomes")


def _sources(study_id: str) -> str:
    """Who says what answers do, in words."""
    found = data.outcome_sources(study_id)
    parts = [f"{plain(source)} ({plural(number, 'answer')})" for source, number, _ in found]
    doubt = sum(number for _, _, number in found)
    text = f"Read by {', '.join(parts)}." if parts else ""
    return text + (f" For {plural(doubt, 'answer')} the rule is not certain, and no judge was asked." if doubt else "")


def _splits(comparison: Comparison, at: str) -> None:
    """Questions of one state whose repeats do not all do the same."""
    display.block("<h2 style='margin-top:0'>Questions whose repeats do different things</h2>")
    states = [s["state"] for s in comparison.study["states"]]
    totals = {name: comparison.state("outcome_split_any", name)["numerator"] or 0 for name in states}
    st.session_state["refusals-at"] = at
    st.selectbox(  # shows names as they are; a segmented control renders them as Markdown
        "State", states, key="refusals-at", format_func=lambda name: f"{name}: {plural(totals[name], 'question')}",
        label_visibility="collapsed", on_change=case.state_picked, width=320,
    )  # fmt: skip
    found, total = data.splits(comparison.selection.study, at, case.MOST)
    if not found:
        reason = comparison.state("outcome_split_any", at)
        if exact(reason) is None:
            display.empty("Nothing can split here.", plain(reason["reason"]) + " Ask every question at least twice.")
        else:
            display.block(f"<p>All repeats of each question do the same in {plain(at)}.</p>")
        return
    chosen = case.chosen(found)
    display.block(_list(comparison, at, found[:SHOWN], chosen))
    if len(found) > SHOWN:
        with st.expander("More questions", key="more-splits"):
            display.block(_list(comparison, at, found[SHOWN:], chosen))
    if total > len(found):
        display.note(f"The first {count(len(found))} of {count(total)}; all of them are in Triage.")
    display.table(
        [{name: row[name] for name in ("question_id", "answers", *OUTCOMES, "same_evidence")} for row in found],
        "split-questions",
    )


def _list(comparison: Comparison, at: str, found: list[Row], chosen: str | None) -> str:
    rows = []
    for row in found:
        text = row["text"] or row["question_id"]
        name = Markup(f'<a href="{case.address(comparison, at, row["question_id"])}" target="_self"'
                      + (' aria-current="true"' if row["question_id"] == chosen else "")
                      + f' dir="auto">{plain(text[:160])}{"…" if len(text) > 160 else ""}</a>'
                      + (f' <span class="mut mono">{plain(row["question_id"][:40])}</span>' if row["text"] else "")
                      )  # fmt: skip
        done = ", ".join(f"{count(row[word])} {word}" for word in OUTCOMES if row[word])
        same = {1: "same", 0: "differs", None: "not known"}[row["same_evidence"]]
        rows.append((name, Markup(f'<span style="white-space:nowrap">{case.beads(row)}</span>'), done, same))
    return display.grid(("question", "repeats", "outcomes", "evidence"), rows)


page()
