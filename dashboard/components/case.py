"""One question whose repeats do different things: its answers, its evidence, and what was not shown."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from audit_core import explore
from dashboard import data, display
from dashboard.comparison import Comparison
from dashboard.components import diagnosed, evidence
from dashboard.components.text import clipped, escaped, shown
from dashboard.display import plain
from dashboard.numbers import count, percent, plural

Row = dict[str, Any]
AT, CASE, BESIDE = "at", "case", "beside"
"""Of the address: the state whose splits are listed, the question that is looked at, and what it is set beside."""
MOST = 200
"""Split questions that a page lists."""
LETTERS = {"answered": "A", "partial": "P", "refused": "R", None: "–"}


def state_of(comparison: Comparison) -> str:
    """The state whose splits are listed: of the address, else the first of new, old and the others that has any."""
    states = [s["state"] for s in comparison.study["states"]]
    wanted = st.query_params.get(AT)
    if wanted in states:
        return str(wanted)
    first = [comparison.selection.new, comparison.selection.old]
    for measure in ("outcome_split", "outcome_split_any"):
        for name in [*first, *states]:
            if comparison.state(measure, name)["numerator"]:
                return name
    return comparison.selection.new


def state_picked() -> None:
    """Another state is chosen; the question is another one then."""
    st.query_params[AT] = st.session_state["refusals-at"]
    for name in (CASE, BESIDE):
        if name in st.query_params:
            del st.query_params[name]


def chosen(found: Sequence[Row]) -> str | None:
    """The question that is looked at: of the address, else the first that split with the same evidence."""
    wanted = st.query_params.get(CASE)
    if wanted is not None:
        return wanted
    same = [row for row in found if row["same_evidence"]] or list(found)
    return str(same[0]["question_id"]) if same else None


def address(comparison: Comparison, at: str, question_id: str) -> str:
    """Link to this page with another question, escaped."""
    parameters = {**comparison.selection.parameters, AT: at, CASE: question_id}
    return html.escape("refusals?" + urlencode(parameters) + "#case")


def beads(row: Row) -> str:
    """Outcomes of the repeats of a question as letters with colours."""
    letters = [word for word in ("answered", "partial", "refused") for _ in range(row[word])]
    most = 12
    found = "".join(f'<span class="sa-bead is-{word}" title="{word}">{LETTERS[word]}</span>' for word in letters[:most])
    return found + (f' <span class="mut">+{len(letters) - most}</span>' if len(letters) > most else "")


def draw(comparison: Comparison, at: str) -> None:
    """The question of the address, or the first of the list."""
    found, _ = data.splits(comparison.selection.study, at, MOST)
    question_id = chosen(found)
    if question_id is None:
        return
    question = data.question(comparison.selection.study, question_id)
    if question is None:
        display.banner(
            f"The address asks for the question “{plain(question_id)}”, which this study does not have.", "warn"
        )
        return
    with st.container(border=True, key="case"):
        _head(comparison, question, at)
        first, second, names, states = _beside(comparison, question, at)
        display.block(_answers(comparison, question, at) + (
            _answers(comparison, question, states[1]) if states[1] != at else ""))  # fmt: skip
        display.block(_probes(comparison, question, at))
        if not comparison.study["has_evidence"]:
            display.empty("This study holds no evidence.", "Import the <code>evidence</code> column to look into it.")
            return
        _evidence(question, first, second, names, states)


def _head(comparison: Comparison, question: Row, at: str) -> None:
    text, name = question["text"] or question["question_id"], escaped(clipped(question["question_id"], 80))
    with st.container(horizontal=True, vertical_alignment="center", key="case-head"):
        display.block(
            f'<h2 id="case" style="margin-top:0">{shown(clipped(text, 400))}</h2>'
            f'<p class="small mut">Question <span class="mono" dir="auto">{name}</span> in <b>{escaped(at)}</b></p>'
        )
        selection = comparison.selection
        pair = {} if at in (selection.old, selection.new) else {"new": at}
        display.link("Open in Triage", display.into(selection, queue="all", q=question["question_id"], **pair))


def _beside(
    comparison: Comparison, question: Row, at: str
) -> tuple[list[Row], list[Row], tuple[str, str], tuple[str, str]]:
    """Two lists of evidence to set side by side, what they are called, and whose they are."""
    held = question["evidence_by_repeat"]
    own = held.get(at, {})
    first, *others = sorted(own) or [-1]  # -1 is what all repeats saw
    options: dict[str, tuple[str, int]] = {f"repeat {repeat} of {at}": (at, repeat) for repeat in others}
    order = [comparison.selection.new, comparison.selection.old, *(s["state"] for s in comparison.study["states"])]
    options |= {name: (name, min(held.get(name, {-1: []}))) for name in dict.fromkeys(order) if name != at}
    mine = own.get(first, [])
    if not options:
        return mine, mine, (at, at), (at, at)
    apart = [name for name, (state, r) in options.items() if state == at and _key(own[r]) != _key(mine)]
    states = [name for name, (state, _) in options.items() if state != at]
    wanted = st.query_params.get(BESIDE)
    name = wanted if wanted in options else [*apart, *states, *options][0]
    st.session_state["case-beside"] = name
    st.selectbox("Set beside", list(options), key="case-beside", on_change=_beside_picked, width=320)
    state, repeat = options[name]
    called = f"repeat {first} of {at}" if state == at else at
    return mine, held.get(state, {}).get(repeat, []), (called, name), (at, state)


def _key(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    return [(r["document_id"], r["rank"], r["passage"], r["score"]) for r in rows]


def _beside_picked() -> None:
    st.query_params[BESIDE] = st.session_state["case-beside"]


def _answers(comparison: Comparison, question: Row, state: str) -> str:
    cells = [cell for cell in question["cells"] if cell["state_name"] == state]
    rows = []
    for cell in cells:
        word = cell["outcome"]
        bead = f'<span class="sa-bead is-{word}">{LETTERS[word]}</span> {word}' if word else "no answer"
        missing = "empty answer" if cell["status"] == "ok" else escaped(cell["error"] or "error")
        text = shown(clipped(cell["answer"], 600)) if cell["answer"] else f'<i class="mut">{missing}</i>'
        doubt = "" if cell["outcome_certain"] in (1, None) else ' <b class="warn">not certain</b>'
        source = f'<span class="mut small">{escaped(clipped(cell["outcome_source"] or "", 120))}{doubt}</span>'
        rows.append(f"<tr><td>r{cell['repeat']}</td><td>{bead}</td><td>{text}</td><td>{source}</td></tr>")
    seen = {cell["evidence"] for cell in cells if cell["status"] == "ok"}
    same = ("evidence of the repeats is not known" if None in seen
            else "repeats saw different evidence" if len(seen) != 1
            else "all repeats saw the same evidence, to the byte" if _texts_kept(question, state)
            else "all repeats saw the same documents in the same order; texts are not kept")  # fmt: skip
    if not rows:
        return f'<p class="mut">No answers in {escaped(state)}.</p>'
    return (f'<h3>{escaped(state)} <span class="mut small">· {same}</span></h3><div class="scroll" tabindex="0"><table>'
            f'<caption class="sa-sr">Answers in {escaped(state)}</caption><thead><tr><th scope="col">repeat</th>'
            '<th scope="col">outcome</th><th scope="col">answer</th><th scope="col">outcome read by</th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>')  # fmt: skip


def _texts_kept(question: Row, state: str) -> bool:
    lists = question["evidence_by_repeat"].get(state, {}).values()
    return all(row["passage"] is not None for rows in lists for row in rows)


def _probes(comparison: Comparison, question: Row, at: str) -> str:
    """What came back when the question was asked again after the results, as a rate with its interval."""
    found = question["probes"].get(at, {})
    if not found:
        if comparison.study["origin"] != "collected":
            return ""
        command = f"snapshot-audit probe STUDY {shlex.quote(question['question_id'])} --state {shlex.quote(at)}"
        return (f'<p class="small mut">How often does it refuse? Ask it again, for diagnosis only: '
                f"<code>{escaped(command)}</code></p>")  # fmt: skip
    rows = []
    for number, answers in found.items():
        refused, size, low, high = explore.refusal_rate([answer["outcome"] for answer in answers])
        rows.append(
            f"<li>Asked again {plural(size, 'time')} (probe {number}): refused <b>{count(refused)}</b>, "
            f"{percent(Fraction(refused, size), 1)}, 95% interval {percent(low, 1)} to {percent(high, 1)}; "
            "in no estimate.</li>"
        )
    return f"<ul>{''.join(rows)}</ul>"


def _evidence(
    question: Row, first: list[Row], second: list[Row], names: tuple[str, str], states: tuple[str, str]
) -> None:
    found = diagnosed.diagnosis(question, first, second, states[:1], names)
    labels = (escaped(names[0]), escaped(names[1]))
    parts = diagnosed.aspects(found, labels)
    siblings = diagnosed.siblings(found)
    what = "· hints by declared rules, never verdicts"
    if not any(row["passage_text"] for row in (*first, *second)):
        what = "· texts of passages are not kept, so neither their kind nor what they speak of can be told"
    body = f"<h3>What may explain it <span class='mut small'>{what}</span></h3>{diagnosed.hints(found)}"
    if parts:
        body += f"<h3>Which part has a passage</h3>{parts}"
    if siblings:
        body += f"<h3>Passages that belong to shown ones and were not shown in {escaped(states[0])}</h3>{siblings}"
    display.block(body)
    texts = list(dict.fromkeys(c["answer"] for c in question["cells"] if c["state_name"] in states and c["answer"]
                               and c["outcome"] != "refused"))  # fmt: skip
    badges = diagnosed.badges(found)
    sides = [(found.old, 0)] if found.old == found.new else [(found.old, 0), (found.new, 1)]
    tables = "".join(
        f'<div class="sa-box"><h3>{labels[which]}</h3>'
        f"{evidence.table(side, texts, labels, which, full=False, badges=badges)}</div>"
        for side, which in sides
    )
    words = (
        evidence.sentence(found.old, found.new, labels)
        if len(sides) > 1
        else "One list, the same for all that is compared."
    )
    display.block(
        f'<h3>Evidence by rank <span class="mut small">· {words}</span></h3><div class="sa-sides">{tables}</div>'
    )
