"""Do these two answers mean the same? The masked desk at which people label pairs to check the judge."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from audit_core.errors import AuditError, NotMeasurableError
from audit_core.reviews import labels
from dashboard import components, data, display, identity, state
from dashboard.checking import Checking, checking
from dashboard.components import key_log, label_card, labelling
from dashboard.components.clock import Clock
from dashboard.components.labelling import CARD, REGISTRY, Asking, LabelDesk
from dashboard.components.saving import store
from dashboard.display import plain

DESK, LOG = "labels-desk-state", "labels-keys"
JUDGES = "views/judges.py"
_FOLDER = Path(components.__file__).parent
_STYLE = "".join(f"<style>{(_FOLDER / name).read_text('utf-8')}</style>" for name in ("triage.css", "labels.css"))


def page() -> None:
    """Draw the page."""
    st.html(_STYLE)
    selection = state.current()
    person = identity.person()
    try:
        found = checking(selection, numbers=False)
    except NotMeasurableError as error:
        display.heading("There is no pair to label.")
        display.empty("Nothing to check.", plain(error))
        _back()
        return
    if found.sample is None:
        display.heading("There is no pair to label yet.")
        display.empty("No sample has been drawn.", "An adjudicator draws one on the Judges page.")
        _back()
        return
    if not person.may("label"):
        display.heading("You may not label pairs.")
        display.empty(
            "You may only look.", plain(person.reason or f"Your role is {person.role}; labels need a reviewer.")
        )
        _back()
        return
    _open(found, person.name)
    with st.container(key="labels-desk"):
        _label()
    _back()


def _open(found: Checking, who: str) -> None:
    """The session's desk for this sample and person."""
    sample, selection = found.sample, state.current()
    assert sample is not None
    bundle = data.study(selection.study)["bundle"]
    what = Asking(selection.study, bundle, sample.old, sample.new, sample.seed, sample.sha256, who)
    desk: LabelDesk | None = st.session_state.get(DESK)
    if desk is not None and desk.what == what:
        return
    fresh = LabelDesk(store(), what, labels.queue(found.pairs, found.drawn, sample.seed, who))
    if desk is not None:
        fresh.acked = desk.acked
    fresh.refresh()
    fresh.begin()
    fresh.message = ""
    st.session_state[DESK] = fresh


@st.fragment
def _label() -> None:
    """All that a press changes; the card is emitted before the panel and before the acknowledgement of the press."""
    desk: LabelDesk = st.session_state[DESK]
    if identity.person().name != desk.what.who:
        st.rerun()  # somebody else has taken the seat: the whole page is drawn for them
    desk.refresh()
    desk.put_on_screen()
    with st.container(horizontal=True, key="labels-top", vertical_alignment="center"):
        st.html(label_card.progress(desk), width="stretch")
        keys = st.container(width="content")
    main, side = st.columns([3, 1.15])
    main.html(label_card.card(desk))
    clock = Clock.of(st.context.timezone, datetime.now(UTC))
    with side, st.container(border=True, key="labels-panel"):
        st.html(label_card.panel(desk, clock))
    with keys:
        log = key_log.mount(desk.item, desk.acked, _keys, key=LOG, card=CARD, registry=REGISTRY)
    # after a crash of the server a new session finds presses that nobody took; only those of this very pair count
    left = [press for press in key_log.new_presses(log, desk.acked) if press.item == desk.item]
    if left:
        person = identity.person()
        for press in left:
            labelling.act(desk, press, person)
        st.rerun()


def _keys() -> None:
    """Keys and buttons: everything is read first, then nothing but the disk is touched until it has answered."""
    desk: LabelDesk = st.session_state[DESK]
    log = (st.session_state.get(LOG) or {}).get("log")
    person = identity.person()
    for press in key_log.new_presses(log, desk.acked):
        labelling.act(desk, press, person)


def _back() -> None:
    st.page_link(JUDGES, label="To the Judges page", query_params=dict(state.current().parameters))


try:
    page()
except AuditError as error:
    display.banner(plain(error), "bad")
