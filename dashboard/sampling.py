"""The sample that people label: what was drawn, drawing it, and the way to the labelling desk."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

import streamlit as st

from audit_core.digests import sha256
from audit_core.errors import AuditError
from audit_core.protocol import from_record
from audit_core.report.labelled import WORDS
from audit_core.reviews import labels
from audit_core.reviews.events import Entry
from audit_core.reviews.labels import DRAWN, IDENTICAL
from audit_core.reviews.names import LOCAL
from audit_core.reviews.team import Person, permit
from dashboard import data, display, identity
from dashboard.checking import Checking, checking
from dashboard.comparison import Comparison
from dashboard.components.saving import store
from dashboard.display import plain
from dashboard.numbers import count, plural
from dashboard.state import Selection

SIZE, OUTCOME = "people-size", "people-drawn"
LABELS_PAGE = "views/labels.py"


def panel(comparison: Comparison, found: Checking, person: Person) -> None:
    """What was drawn, with a button to draw and a link to label."""
    told = st.session_state.pop(OUTCOME, None)
    if told:
        display.banner(*told)
    strata = {name: len(ids) for name, ids in found.frame.strata.items()}
    most = sum(strata[name] for name in DRAWN)
    if not most:
        display.empty("There is nothing to label.", "In every question all answers of both states are one text.")
        return
    if found.stale:
        display.note(
            "An earlier sample was drawn from answers or labels that this study no longer has; it counts no more."
        )
    if found.sample is None:
        display.empty(
            "No sample has been drawn.",
            f"{count(most)} questions can be asked: {_each(strata)}. A sample is drawn once, by the study's "
            "seed, before the first label, and recorded.",
        )
    else:
        _drawn(found, strata)
    asked = sum(pair.asked for pairs in found.pairs.values() for pair in pairs)
    with st.container(horizontal=True, vertical_alignment="bottom", key="people-sample"):
        if found.sample is not None and person.may("label"):
            words = f"Label pairs, {asked:,} in all"
            if st.button(words, type="primary", key="people-label", icon=":material/edit_note:"):
                st.switch_page(LABELS_PAGE, query_params=dict(comparison.selection.parameters))
        if found.sample is None or found.sample.size < most:
            _draw(comparison.selection, found, most, person)


def _drawn(found: Checking, strata: dict[str, int]) -> None:
    sample = found.sample
    assert sample is not None
    event = sample.event
    who = (
        f", drawn by {plain(event.reviewer.removeprefix(LOCAL))} on {event.at[:10]}, event #{event.id}" if event else ""
    )
    alone = strata[IDENTICAL]
    rest = f" {plural(alone, 'question')} with one and the same answer {_needs(alone)} nobody." if alone else ""
    display.block(
        f"<p>A sample of <b>{plural(sample.size, 'question')}</b>{who}: {_of(sample.sizes, strata)}.{rest}</p>"
    )


def _needs(number: int) -> str:
    return "needs" if number == 1 else "need"


def _of(some: Mapping[str, int], strata: dict[str, int]) -> str:
    return " and ".join(f"{count(some[name])} of {count(strata[name])} {WORDS[name]}" for name in DRAWN)


def _each(strata: Mapping[str, int]) -> str:
    return " and ".join(f"{count(strata[name])} {WORDS[name]}" for name in DRAWN)


def _draw(selection: Selection, found: Checking, most: int, person: Person) -> None:
    before = found.sample.size if found.sample else 0
    wanted = min(most, 2 * before or labels.DEFAULT)
    if not person.may("sample"):
        if not before:
            display.note("An adjudicator draws it; your role is " + person.role + ".")
        return
    st.number_input(
        "Questions to label", before + 1, most, wanted, key=f"{SIZE}-{before}", width=180, help="Half from each kind."
    )
    words = "Draw more questions" if before else "Draw the sample"
    st.button(
        words, key="people-draw", type="secondary" if before else "primary", on_click=_record, args=(selection, before)
    )


def _record(selection: Selection, before: int) -> None:
    """Record a draw: everything is read first, then nothing but the disk is touched until it has answered."""
    size = int(st.session_state.get(f"{SIZE}-{before}", 0))
    person, study = identity.person(), data.study(selection.study)
    try:
        permit(person, "sample")
        found = checking(selection, numbers=False)
        if found.sample is not None and found.sample.size >= size:
            st.session_state[OUTCOME] = ("A sample of this size was drawn already; nothing was recorded.", "info")
            return
        seed = found.sample.seed if found.sample else from_record(study["protocol"]).seed
        pair = selection.old, selection.new
        sample = labels.drawn(found.frame.strata, pair, found.frame.judge, seed, size)
        digest = sha256(sample.content.encode())
        entry = Entry(
            request_id=f"sample:{secrets.token_hex(12)}",
            study_id=selection.study,
            bundle=study["bundle"],
            question_id="",
            reviewer=person.name,
            kind="sample",
            item_sha256=digest,
            at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            old=selection.old,
            new=selection.new,
            kernel="semantic",
            content=sample.content,
        )
        saved = store().append(entry)
    except AuditError as error:
        st.session_state[OUTCOME] = (plain(error), "bad")
        return
    st.session_state[OUTCOME] = (f"Recorded: {plural(sample.size, 'question')}, event #{saved.event.id}.", "info")
