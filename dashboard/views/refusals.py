"""Same evidence, different outcome?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from audit_core.estimators.refusals import alarms
from audit_core.rules.excerpts import KINDS
from dashboard import components, data, display, state
from dashboard.comparison import Comparison, compare
from dashboard.components import case
from dashboard.display import Markup, card, plain
from dashboard.figures.outcomes import Outcomes, outcome_bars
from dashboard.numbers import UNDEFINED, brief, count, decimal, exact, interval, percent, plural, points
from dashboard.state import KERNELS

Row = dict[str, Any]
OUTCOMES = ("answered", "partial", "refused")
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
    _states(comparison)
    if comparison.selection.old != comparison.selection.new:
        _flows(comparison)
    _noise(comparison)
    _excerpts(comparison)


def _pair(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys((comparison.selection.old, comparison.selection.new)))


def _lead(comparison: Comparison) -> str:
    parts = []
    for name in _pair(comparison):
        row = comparison.state("outcome_split", name)
        if exact(row) is not None:
            parts.append(f"{count(row['numerator'])} of {plural(row['denominator'], 'question')} in {plain(name)}")
    if not parts:
        return "Whether repeats with the same evidence end differently cannot be told from this study."
    return f"With evidence equal to the byte, repeats do different things for {' and '.join(parts)}."


def _cards(comparison: Comparison) -> None:
    names = _pair(comparison)
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
        display.link(f"Open {plural(row['numerator'], 'question')}", _split_link(comparison, name, same=True))


def _split_link(comparison: Comparison, name: str, *, same: bool = False) -> display.Parameters:
    """The questions that split in a state: the pair of the link has it as its old or its new state."""
    selection = comparison.selection
    states = [s["state"] for s in comparison.study["states"]]
    side = "old" if name == selection.old else "new"
    pair = {} if name in (selection.old, selection.new) else {"new": name}
    if pair and selection.old == name:
        pair = {"old": name, "new": next(s for s in states if s != name)}
    facts = [f"split_{side}", *([f"same_evidence_{side}"] if same else [])]
    return display.into(selection, queue="all", fact=facts, **pair)


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
    for entry in comparison.study["states"]:
        found = [comparison.state("outcome_rate", entry["state"], word) for word in OUTCOMES]
        values = [exact(row) for row in found]
        if any(value is None for value in values):
            continue
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
        population=plural(row["population"], "question"), unit="answers", kernel="outcome of an answer",
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
    st.segmented_control(
        "State", states, key="refusals-at", format_func=lambda name: f"{name}: {count(totals[name])}",
        label_visibility="collapsed", required=True, on_change=case.state_picked,
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
        with st.expander(f"{plural(len(found) - SHOWN, 'more question')}", key="more-splits"):
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
                      + f' dir="auto">{plain(text[:160])}{"…" if len(text) > 160 else ""}</a>')  # fmt: skip
        done = ", ".join(f"{count(row[word])} {word}" for word in OUTCOMES if row[word])
        same = {1: "same", 0: "differs", None: "not known"}[row["same_evidence"]]
        rows.append((name, Markup(f'<span style="white-space:nowrap">{case.beads(row)}</span>'), done, same))
    return display.grid(("question", "repeats", "outcomes", "evidence"), rows)


def _states(comparison: Comparison) -> None:
    display.section(
        "Each state by itself",
        f"Splits among questions with two repeats or more, with exact two-sided {comparison.level} intervals.",
    )
    kernel, cells, rows = comparison.selection.kernel, [], []
    for entry in comparison.study["states"]:
        name = entry["state"]
        same, every = comparison.state("outcome_split", name), comparison.state("outcome_split_any", name)
        share = comparison.state("split_share", name, kernel)
        cells.append((
            Markup(f'<b>{plain(name)}</b> <span class="mut">{plain(entry["label"])}</span>'),
            _of(same, _split_link(comparison, name, same=True)), _of(every, _split_link(comparison, name)),
            percent(exact(share)) if exact(share) is not None
            else Markup(f'<span class="mut">{plain(brief(share["reason"]))}</span>'),
            _right_evidence(comparison, name),
        ))  # fmt: skip
        rows.append({
            "state": name, "split, same evidence": same["numerator"], "of": same["denominator"], "low": same["low"],
            "high": same["high"], "split, any evidence": every["numerator"], "of all": every["denominator"],
            "share of disagreement": share["value"],
        })  # fmt: skip
    head = ("state", "split, same evidence", "split, any evidence", f"of the noise ({KERNELS[kernel]})",
            "refusals beside a passage with the gold answer")  # fmt: skip
    display.block(display.grid(head, cells, numeric=(1, 2, 3, 4)))
    display.note(
        "<b>Of the noise</b>: the share of the disagreement among repeats of one state that lies in questions of which "
        "one repeat refuses and another does not."
    )
    row = comparison.state("outcome_split", comparison.selection.new)
    display.facts(population=plural(row["population"], "question"), unit="questions", kernel="outcome of an answer",
                  status=row["status"])  # fmt: skip
    display.table(rows, "splits-by-state")


def _of(row: Row, link: display.Parameters) -> Markup:
    if exact(row) is None:
        return Markup(f'<span class="mut">{plain(brief(row["reason"]))}</span>')
    ends = f' <span class="mut">({interval(row)}%)</span>' if interval(row) else ""
    return Markup(f"{display.opening(count(row['numerator']), link)} of {count(row['denominator'])}{ends}")


def _right_evidence(comparison: Comparison, name: str) -> Markup | str:
    """Refusals although a shown passage mentions an accepted answer."""
    found = data.over_evidence(comparison.selection.study, name)
    if not found.refused:
        return "no refusal"
    if not found.told:
        return "not known: no gold, or no texts"
    pair = {} if name in _pair(comparison) else {"new": name}
    ids = list(dict.fromkeys(row["question_id"] for row in found.found))
    opens = display.into(comparison.selection, queue="all", only=ids, **pair)
    return Markup(f"{display.opening(count(len(found.found)), opens)} of {count(found.told)}")


def _flows(comparison: Comparison) -> None:
    display.section("From outcome to outcome", "Matched repeats; diagnostic and not noise-corrected.")
    old, new = comparison.selection.old, comparison.selection.new
    moves = data.outcome_flows(comparison.selection.study, old, new)
    if not sum(sum(row.values()) for row in moves.values()):
        display.empty("No question has answers in both states.", "Choose two states that share questions.")
        return
    head = (f"{old} ↓  {new} →", *OUTCOMES)
    display.block(display.grid(
        head, [(Markup(f"<b>{word}</b>"), *(count(moves[word][to]) for to in OUTCOMES)) for word in OUTCOMES],
        numeric=(1, 2, 3),
    ))  # fmt: skip
    row = comparison.pair("outcome_transitions[to_refused]")
    display.facts(population=plural(row["population"], "question"), unit=row["unit"] or "matched repeats",
                  kernel="outcome of an answer", status=row["status"])  # fmt: skip
    display.table([{"from": word, **moves[word]} for word in OUTCOMES], "outcome-flows")


def _noise(comparison: Comparison) -> None:
    """Whether repeats disagree with the same evidence before them, or because they were shown other evidence."""
    display.section(
        "Where does the noise come from?",
        "Disagreement among repeats of one state, split by whether the two repeats saw the same evidence.",
    )
    kernel, cells, rows = comparison.selection.kernel, [], []
    for entry in comparison.study["states"]:
        name = entry["state"]
        same, other = (comparison.state("noise", name, f"{kernel}, {word} evidence") for word in ("same", "other"))
        parts = [
            comparison.state("noise_contribution", name, f"{kernel}, {word} evidence") for word in ("same", "other")
        ]
        cells.append((Markup(f"<b>{plain(name)}</b>"), _rate(same), _rate(other), _rate(parts[0]), _rate(parts[1])))
        rows.append({
            "state": name, "disagreement, same evidence": same["value"], "disagreement, other evidence": other["value"],
            "contribution, same evidence": parts[0]["value"], "contribution, other evidence": parts[1]["value"],
        })  # fmt: skip
    head = (
        "state",
        "disagree, same evidence",
        "disagree, other evidence",
        "generator's part",
        "retrieval's part at most",
    )
    display.block(display.grid(head, cells, numeric=(1, 2, 3, 4)))
    display.note(
        "The two parts add up to the disagreement of the state. With the same evidence neither retrieval nor the index "
        "can be the cause; with other evidence it may be retrieval, or the generator all the same."
    )
    row = comparison.state("noise", comparison.selection.new, f"{kernel}, same evidence")
    display.facts(population=plural(row["population"], "question"), unit=row["unit"] or "pairs of answers",
                  kernel=KERNELS[kernel], status=row["status"])  # fmt: skip
    display.table(rows, "noise-by-evidence")


def _excerpts(comparison: Comparison) -> None:
    """Whether excerpts that answers carry are in the passages that were shown; nothing where there are none."""
    found = data.excerpts(comparison.selection.study)
    if not found:
        return
    display.section(
        "Excerpts that answers carry",
        "Each is looked for in the passage that it names: to the letter, then but for white space, ligatures, hyphens, "
        "dashes and quotes; never digits, signs or units.",
    )
    states = [s["state"] for s in comparison.study["states"] if s["state"] in found]
    cells = []
    for name in states:
        pair = {} if name in _pair(comparison) else {"new": name}
        cells.append((
            Markup(f"<b>{plain(name)}</b>"),
            *(display.opening(count(len(ids)), display.into(
                comparison.selection, queue="all", only=list(dict.fromkeys(ids)), **pair))
              for ids in (found[name].get(kind, []) for kind in KINDS)),
        ))  # fmt: skip
    display.block(display.grid(("state", *KINDS), cells, numeric=range(1, len(KINDS) + 1)))
    display.facts(population=plural(comparison.study["questions"], "question"), unit="excerpts",
                  kernel="excerpts against the passages shown", status="exploratory")  # fmt: skip
    display.table([{"state": name} | {kind: len(found[name].get(kind, [])) for kind in KINDS} for name in states],
                  "excerpts")  # fmt: skip


def _rate(row: Row) -> Markup | str:
    value = exact(row)
    return Markup(f'<span class="mut">{plain(brief(row["reason"]))}</span>') if value is None else percent(value)


page()
