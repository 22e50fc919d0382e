"""May I ship, and what happened?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from audit_core.errors import AuditError
from audit_core.estimators.refusals import alarms
from dashboard import data, display, identity, people, sentences, sources, state
from dashboard.checking import checking
from dashboard.comparison import Comparison
from dashboard.components import release, release_rule
from dashboard.data import compare
from dashboard.display import Markup, card, plain
from dashboard.figures.noise import noise_and_update
from dashboard.numbers import UNDEFINED, bounds, brief, count, exact, percent, plural, points
from dashboard.state import KERNELS

Row = dict[str, Any]
PRESENT = "views/present.py"


def page() -> None:
    """Draw the page."""
    selection = state.current()
    comparison = compare(selection)
    if selection.old == selection.new:
        display.heading("This study has a single state.", "There is nothing to compare it with.")
        display.empty(
            "One state only.",
            "Import answers from a second snapshot to measure movement. "
            "The answers can be read in Triage, the data on the Ledger page.",
        )
        return
    verdict = sentences.verdict(comparison)
    with st.container(horizontal=True, vertical_alignment="top", key="summary-head"):
        display.heading(verdict.title, verdict.lead)
        display.link("Present", dict(selection.parameters), PRESENT, icon=":material/slideshow:")
    _cards(comparison)
    _outcomes(comparison)
    checked = st.container()
    left, right = st.columns([1.25, 1])
    with left, st.container(border=True, height="stretch"):
        _sources(comparison)
    with right, st.container(border=True, height="stretch"):
        _review(comparison)
    release_rule.section(comparison)
    release.section(comparison)
    display.section("What this does not show")
    display.block(
        "<ul class='wide mut'>" + "".join(f"<li>{limit}</li>" for limit in sentences.limits(comparison)) + "</ul>"
    )
    with checked:  # last, because it may have to read all answers of a large study first
        _people(comparison)


def _cards(comparison: Comparison) -> None:
    selection = comparison.selection
    for column, draw in zip(st.columns(4), (_agreement, _semantic, _exact, _accuracy), strict=True):
        with column, st.container(border=True, height="stretch", gap="xsmall"):
            draw(comparison, selection)


def _outcomes(comparison: Comparison) -> None:
    """Questions that one repeat answers and another refuses from the same evidence, and states that say one thing."""
    for alarm in alarms(comparison.rows.values()):
        display.banner(f"<b>Alarm.</b> {plain(alarm.sentence)}", "bad")
    selection = comparison.selection
    found = {name: comparison.state("outcome_split", name)["numerator"] for name in (selection.old, selection.new)}
    if not any(found.values()):
        return
    parts = [f"{plural(number, 'question')} in <b>{plain(name)}</b>" for name, number in found.items() if number]
    at = selection.new if found[selection.new] else selection.old
    with st.container(horizontal=True, vertical_alignment="center", key="summary-outcomes"):
        display.block(
            f"<p><b>Same evidence, different outcome:</b> {' and '.join(parts)}, where one repeat answers and another "
            "refuses, or answers a part.</p>"
        )
        display.link("Refusals", {**selection.parameters, "at": at}, "views/refusals.py")


def _people(comparison: Comparison) -> None:
    """What people's labels make of the judge's number, where there are any."""
    selection = comparison.selection
    if "semantic" not in comparison.study["kernels"] or not data.labelled(selection.study):
        return
    try:
        checked = checking(selection).checked
    except AuditError:
        return  # the Judges page says why
    if checked is None:
        return
    text = people.sentence(checked)
    with st.container(horizontal=True, vertical_alignment="center", key="summary-people"):
        display.block(f"<p><b>People against the judge:</b> {plain(text[:1].upper() + text[1:])}.</p>")
        display.link("Judges", dict(selection.parameters), "views/judges.py")


def _agreement(comparison: Comparison, selection: state.Selection) -> None:
    kernel = selection.kernel
    across, within = comparison.pair("cross_agreement", kernel), comparison.pair("baseline_agreement", kernel)
    value = exact(across)
    note = f"same-snapshot baseline {percent(exact(within))}" if value is not None else plain(brief(across["reason"]))
    display.block(
        card(f"Still agree across snapshots ({KERNELS[kernel]})", percent(value), note, measured=value is not None)
    )
    questions = comparison.study["questions"]
    display.link(f"All {plural(questions, 'question')}", display.into(selection, queue="all"))


def _semantic(comparison: Comparison, selection: state.Selection) -> None:
    _excess(comparison, selection, "semantic")


def _exact(comparison: Comparison, selection: state.Selection) -> None:
    _excess(comparison, selection, "exact")


def _excess(comparison: Comparison, selection: state.Selection, kernel: str) -> None:
    label = f"Excess churn, {KERNELS[kernel]}"
    if kernel not in comparison.study["kernels"]:
        display.block(card(label, UNDEFINED, "This study has no semantic labels.", measured=False))
        return
    row = comparison.pair("excess_churn", kernel)
    value = exact(row)
    if value is None:
        display.block(card(label, UNDEFINED, plain(brief(row["reason"])), measured=False))
        return
    display.block(card(label, points(value), "<br>".join(map(plain, bounds(row, comparison.level)))))
    flips = comparison.pair("repeat_stable_flips", kernel)["numerator"]
    if flips is not None:
        display.link(plural(flips, "repeat-stable flip"), display.into(selection, kernel=kernel))


def _accuracy(comparison: Comparison, selection: state.Selection) -> None:
    row = comparison.pair("exact_match_difference")
    value = exact(row)
    if value is None:
        why = sentences.silent(comparison, row) or plain(row["reason"])
        display.block(card("Exact match", UNDEFINED, why, measured=False))
        return
    lost, gained, unseen = (
        comparison.pair(f"transitions[{name}]") for name in ("lost", "gained", "different_nonmatch")
    )
    note = f"{percent(exact(lost))} lost, {percent(exact(gained))} gained, {percent(exact(unseen))} changed unseen"
    if lost["denominator"]:  # the links open questions, of which one may hold several such pairs
        note = f"of {plural(lost['denominator'], 'pair')} of answers: {note}"
    display.block(card("Exact match", points(value, sign=True), note))
    with st.container(horizontal=True, gap="small"):
        for flow, word in ((lost, "lost"), (gained, "gained"), (unseen, "unseen")):
            if flow["numerator"]:
                queue = {"unseen": "different_nonmatch"}.get(word, word)
                display.link(f"{count(flow['numerator'])} {word}", display.into(selection, queue=queue))


def _sources(comparison: Comparison) -> None:
    display.block("<h2 style='margin-top:0'>Where the disagreement comes from</h2>")
    bars, rows = sources.bars(comparison)
    if not bars:
        display.empty(
            "Noise and update cannot be told apart here.",
            " ".join(sentences.failures(comparison, names=(comparison.selection.old, comparison.selection.new)))
            or "Ask every question at least twice in each state and import the repeats.",
        )
        return
    links = {kernel: display.into(comparison.selection, kernel=kernel) for kernel in KERNELS}
    display.figure(
        noise_and_update(bars, display.palette()),
        "sources",
        "Bars of repeat noise and excess churn by kernel",
        opens=links,
    )
    display.note(f"{sources.LEGEND} A click opens the repeat-stable flips.")
    row = comparison.pair("excess_churn", comparison.selection.kernel)
    display.facts(
        population=plural(row["population"], "question"),
        unit="pairs of answers",
        kernel=" and ".join(KERNELS[kernel] for kernel in sentences.kernels(comparison)),
        status=row["status"],
    )
    display.table(rows, "where-disagreement-comes-from")


def _review(comparison: Comparison) -> None:
    selection = comparison.selection
    display.block("<h2 style='margin-top:0'>Manual review</h2>")
    flips = comparison.pair("repeat_stable_flips", selection.kernel)
    if flips["numerator"] is None:
        display.empty("Repeat-stable flips cannot be counted here.", plain(flips["reason"]))
    elif not flips["numerator"]:
        display.block(
            "<p>There are no repeat-stable flips between these states, so no question waits for a person. "
            "Other queues are in Triage.</p>"
        )
    else:
        _progress(comparison, flips)
    _rule(comparison)


def _progress(comparison: Comparison, flips: Row) -> None:
    selection = comparison.selection
    try:
        found = data.review(selection)
    except AuditError as error:
        display.banner(plain(error), "bad")
        return
    everyone, known, needed = found.everyone, found.known, identity.team().needed
    said = known.by_verdict
    reviewed = "reviewed" if needed == 1 else f"settled, by {needed} who agree or a ruling"
    other = said["regression"] - known.high_impact_regressions

    def opens(number: int, **filters: str) -> Markup:
        return display.opening(count(number), display.into(selection, **filters))

    def two(label: str, first: str, second: str) -> tuple[str, str, str]:
        links = " + ".join(opens(said[word], verdict=word) for word in (first, second) if said[word])
        return label, links or "0", ""

    high = known.high_impact_regressions
    own = [("of these, judged by you too:", count(known.reviewed), "")] if found.partial else []
    verdicts = [
        (reviewed, opens(everyone.reviewed, verdict="any"), ""),
        *own,
        ("regression, high impact", opens(high, verdict="regression", impact="high"), "bad" if high else ""),
        ("regression, other impact", opens(other, verdict="regression", impact="other"), ""),
        two("improvement or acceptable", "improvement", "both_acceptable"),
        ("not a real change (judge error)", opens(said["not_a_real_change"], verdict="not_a_real_change"), ""),
        two("both wrong or cannot tell", "both_wrong", "cannot_tell"),
    ]
    open_ = [
        ("disputed, to be settled", opens(found.disputed, queue="disputed"), "bad"),
        (f"begun, fewer than {plural(needed, 'verdict')}", count(everyone.begun), ""),
        ("set aside as unstable", opens(found.aside, queue="quarantine", fact="flip"), ""),
    ]
    started = everyone.reviewed or found.disputed or everyone.begun
    rows = verdicts if everyone.reviewed else [(reviewed, "none yet" if started else "not started", "")]
    rows += [row for row, number in zip(open_, (found.disputed, everyone.begun, found.aside), strict=True) if number]
    rows += [("invisible to accuracy", _invisible(comparison), "")]
    body = "".join(f"<tr><td>{label}</td><td class='n {tone}'>{value}</td></tr>" for label, value, tone in rows)
    share = f"{count(flips['numerator'])} of {count(flips['denominator'])}"
    head = f"<tr><th scope='col'>repeat-stable flips</th><th scope='col' class='n'>{share}</th></tr>"
    display.block(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")
    if found.waiting:
        display.link(f"Review {plural(found.waiting, 'open flip')}", display.into(selection, verdict="none"))


def _invisible(comparison: Comparison) -> str:
    row = comparison.pair("nonmatch_flips", comparison.selection.kernel)
    if row["numerator"] is None:
        return "no gold"
    return display.opening(count(row["numerator"]), display.into(comparison.selection, fact="all_nonmatch"))


def _rule(comparison: Comparison) -> None:
    rule = sentences.decision(comparison)
    if rule is None:
        if release_rule.fixed(comparison) is None:
            display.note(
                "Release rule: none was fixed in advance for this pair of states, so nothing here confirms or "
                "refutes a release."
            )
        return
    signs = {
        True: '<span class="ok">✓</span>',
        False: '<span class="bad">✗ not met:</span>',
        None: '<span class="warn">— not decided:</span>',
    }
    listed = "".join(f"<li>{signs[c['met']]} {plain(c['sentence'])}</li>" for c in rule["conditions"])
    unmet = sum(c["met"] is not True for c in rule["conditions"])
    note = (
        "every condition is met"
        if not unmet
        else f"{count(unmet)} of {plural(len(rule['conditions']), 'condition')} not met"
    )
    if comparison.study["verified"] == "failed":
        display.note("The rule's outcome is not shown: it rests on data that failed a check.")
        return
    display.block(
        f'<p class="small"><b>Decision fixed in the protocol: {plain(rule["outcome"])}</b>, {note}.</p>'
        f'<ul class="plain">{listed}</ul>'
    )
    if release_rule.fixed(comparison):
        display.note("It asks whether churn is confirmed. About the release, the release rule below decides.")


page()
