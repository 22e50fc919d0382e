"""The release rule on Summary: what is met, not met and open, by the function that the command ``gate`` asks."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from audit_core import release
from audit_core.deciding import TITLES, WORDS, Audited, ReleaseOutcome, desk, release_outcome
from audit_core.errors import AuditError
from audit_core.estimators.gate import Condition
from audit_core.release import ReleaseRule
from audit_core.reviews.fold import Fold
from audit_core.reviews.signoff import read
from audit_core.reviews.team import Person
from dashboard import data, display, identity
from dashboard.comparison import Comparison
from dashboard.components.saving import store
from dashboard.display import Markup, pill, plain

TONES = {"met": "ok", "not met": "bad", "cannot be decided": "warn"}
SIGNS = {True: "✓", False: "✗", None: "—"}
VEILED = "no_open_high_impact_regression"
"""The condition that would tell a reviewer what others said."""
LATER = "Shown to you once you have judged every question that others have judged, so that nobody is led by others."


def fixed(comparison: Comparison) -> ReleaseRule | None:
    """The protocol's release rule, where the selected pair is the one that it is about."""
    study, selection = comparison.study, comparison.selection
    record = (study["protocol"] or {}).get("release")
    if record is None or (study["old_state"], study["new_state"]) != (selection.old, selection.new):
        return None
    return release.from_record(record)


def section(comparison: Comparison) -> None:
    """The whole section; nothing where the protocol has no rule for this pair."""
    rule = fixed(comparison)
    if rule is None:
        return
    with st.container(border=True, key="release-rule"):
        display.block("<h2 style='margin-top:0'>Release rule</h2>")
        if comparison.study["verified"] == "failed":
            display.note("The rule's outcome is not shown: it rests on data that failed a check.")
            return
        try:
            fold = store().fold()
            found, veiled = seen(comparison, rule, fold, identity.person())
        except AuditError as error:
            display.banner(plain(error), "bad")
            return
        _draw(found, veiled)


def seen(
    comparison: Comparison, rule: ReleaseRule, fold: Fold, person: Person
) -> tuple[ReleaseOutcome, Condition | None]:
    """What came of the rule as this person may know it, and the condition that is kept from them."""
    study, pair = comparison.study, (comparison.selection.old, comparison.selection.new)
    selection = replace(comparison.selection, kernel=rule.kernel)
    counted = comparison.pair("repeat_stable_flips", rule.kernel)["numerator"] is not None
    locks = [(lock["gate"], lock["sha256"]) for lock in data.locks(selection.study)]
    audited = Audited(
        selection.study, study["bundle"], pair, locks, data.flips(selection) if counted else None, study["release"],
        comparison.rows,
    )  # fmt: skip
    people = desk(fold, lambda decision: read(store(), decision))
    open_to = not person.independent or all(
        fold.standing(selection.study, question, person.name, pair).verdict
        for question in fold.questions(selection.study, pair)
    )
    if open_to or not rule.no_open_high_impact_regression:
        return release_outcome(rule, audited, people), None
    shown = release_outcome(replace(rule, no_open_high_impact_regression=False), audited, people)
    return shown, Condition(VEILED, None, LATER)


def told(found: ReleaseOutcome, veiled: Condition | None) -> tuple[str, str, str]:
    """Outcome, its tone and one sentence, as far as whoever looks may know them."""
    if veiled and found.outcome != "not met":  # the hidden condition could make it another one
        return "not shown yet", "", "One condition is not shown to you yet, and the outcome with it."
    return found.outcome, TONES[found.outcome], found.headline


def _draw(found: ReleaseOutcome, veiled: Condition | None) -> None:
    word, tone, text = told(found, veiled)
    headline = pill(f"<b>{plain(word.capitalize())}</b>", tone)
    rows = [(_outcome(c), TITLES[c.name], c.sentence) for c in found.conditions]
    if veiled:
        rows.append((Markup("<span class='mut'>not shown</span>"), TITLES[veiled.name], veiled.sentence))
    display.block(
        f'<div class="sa-pills" id="release-outcome">{headline}</div><p style="margin-top:.6rem">{plain(text)} '
        "It was fixed in the protocol before collection; no slice and no other number can change it.</p>"
        + display.grid(("outcome", "condition", "what was found"), rows)
    )
    display.note(
        "The command <code>snapshot-audit gate</code> decides the same way from these verdicts: exit code 0 met, "
        "1 not met, 4 cannot be decided, also where it finds no verdicts to read."
    )


def _outcome(condition: Condition) -> Markup:
    word = WORDS[condition.met]
    return Markup(f'<span class="{TONES[word]}">{SIGNS[condition.met]} {word}</span>')
