"""Which flips need a person, one by one?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews.database import journal_mode
from audit_core.reviews.export import as_csv, as_jsonl, export, visible_to
from audit_core.reviews.fold import NOTHING
from audit_core.reviews.store import JOURNAL
from dashboard import components, data, display, entrance, identity, state
from dashboard.components import key_log, panel, presses
from dashboard.components.card import View, card
from dashboard.components.clock import Clock
from dashboard.components.desk import OWN, Compared, Desk, pairs_of
from dashboard.components.group_card import group_card
from dashboard.components.queue_bar import menus, nobody, progress
from dashboard.components.saving import store
from dashboard.components.text import escaped
from dashboard.state import Selection
from dashboard.tables import table

DESK = "triage-desk-state"
LOOK = 15  # seconds after which an idle page shows what others did
_STYLE = f"<style>{(Path(components.__file__).parent / 'triage.css').read_text('utf-8')}</style>"


def page() -> None:
    """Draw the page."""
    st.html(_STYLE)
    selection = state.current()
    try:
        _open(selection)
    except AuditError as error:
        display.banner(escaped(str(error)), "bad")
        return
    with st.container(key="triage-desk"):
        _review()
    _foot(selection.study)


def _open(selection: Selection) -> None:
    """The session's desk for this comparison, following the address where it says something new."""
    mark, study = data.stamp(), data.study(selection.study)
    what = Compared(selection.study, study["bundle"], selection.old, selection.new, selection.kernel)
    desk: Desk | None = st.session_state.get(DESK)
    address = {name: st.query_params.get_all(name) for name in OWN if name in st.query_params}
    if desk is None or desk.what != what or st.session_state.get(DESK + "-mark") != mark:
        fresh = Desk(store(), identity.person(), identity.team(), what,
                     table(mark, selection.study, selection.kernel, selection.old, selection.new),
                     content=lambda question: data.question(what.study_id, question),
                     search=lambda text: data.search(what.study_id, text))
        if desk is not None:
            fresh.inherit(desk)
            address = address or desk.address()
        fresh.refresh()
        fresh.gather_causes()
        fresh.adopt(address)
        st.session_state[DESK], st.session_state[DESK + "-mark"] = fresh, mark
    elif address and address != desk.written:
        desk.refresh()
        desk.adopt(address)


@st.fragment
def _review() -> None:
    """All that a press changes. The card is emitted before the panel and before the acknowledgement of the press."""
    entrance.stay()
    desk: Desk = st.session_state[DESK]
    desk.sits(identity.person(), identity.team())
    desk.refresh()
    with st.container(horizontal=True, key="triage-top", vertical_alignment="center"):
        st.html(menus(desk), width="content")
        st.html(progress(desk), width="stretch")
        if st.session_state.get("triage-find") != desk.filters.find:
            st.session_state["triage-find"] = desk.filters.find
        st.text_input("Search", key="triage-find", placeholder="Search ( / )", label_visibility="collapsed", width=220,
                      on_change=_found)
        keys = st.container(width="content")
    question = desk.content(desk.current) if desk.current is not None else None
    if desk.grouping:
        _together(desk)
    elif question is None:
        st.html(nobody(desk))
    else:
        _question(desk, question)
    with keys:
        log = key_log.mount(desk.item, desk.acked, _keys, look=LOOK)
    _write(desk)
    left = [p for p in key_log.new_presses(log, desk.acked) if p.item == desk.item or p.action == "note"]
    for press in left:
        presses.act(desk, press)
    if desk.presenting:
        desk.presenting = False
        st.switch_page("views/present.py", query_params={**state.current().parameters, **desk.presented()})
    if left:
        st.rerun()


def _question(desk: Desk, question: dict[str, Any]) -> None:
    standing = desk.put_on_screen(question)
    history = desk.history()
    clock = Clock.of(st.context.timezone, datetime.now(UTC))
    main, side = st.columns([3, 1.05])
    main.html(card(_view(desk, question)))
    with side, st.container(border=True, key="triage-panel"):
        st.html(panel.choices(desk, standing, clock))
        st.html(panel.note(desk))
        st.html(panel.foot(desk, standing, question["content_sha256"], history, clock))
        if form := panel.aside_form(desk):
            st.html(form)


def _together(desk: Desk) -> None:
    """Several questions for one verdict."""
    clock = Clock.of(st.context.timezone, datetime.now(UTC))
    main, side = st.columns([3, 1.05])
    main.html(group_card(desk))
    with side, st.container(border=True, key="triage-panel"):
        st.html(panel.together(desk))
        st.html(panel.note(desk))
        st.html(panel.foot(desk, NOTHING, "", [], clock))


def _view(desk: Desk, question: dict[str, Any]) -> View:
    place, undo, what = desk.place(), desk.offered(), desk.what
    question_id = question["question_id"]
    masked = desk.masked_now(question_id)
    first, second = desk.sides(question_id) if masked else what.pair
    pairs = pairs_of(question["cells"], first, second)
    if masked:  # a pair with another state would give the sides away
        pairs = [pair for pair in pairs if all(question["cells"][i]["state_name"] in what.pair for i in pair)]
    position = f"Question {place + 1:,} of {len(desk.order):,}" if place is not None else "Not in this queue"
    return View(
        question, data.study(what.study_id), desk.table.row(question_id), first, second, what.kernel,
        desk.standing(question_id), desk.shown[desk.item].base, desk.item, undo.id if undo else None, position,
        pairs[desk.pair % len(pairs)] if pairs else None, desk.full_evidence, desk.full_text, desk.full_labels, masked,
    )


def _write(desk: Desk) -> None:
    """Write the own part of the address; it is read on full runs only, and only when it says something else."""
    desk.written = desk.address()
    for name in OWN:
        values = desk.written.get(name)
        if values is None:
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get_all(name) != values:
            st.query_params[name] = values if len(values) > 1 else values[0]


def _keys() -> None:
    """Keys, buttons and notes: everything is read first, then nothing but the disk is touched until it has answered."""
    ss = st.session_state
    desk: Desk = ss[DESK]
    desk.sits(identity.person(), identity.team())
    log = (ss.get("triage-keys") or {}).get("log")
    for press in key_log.new_presses(log, desk.acked):
        presses.act(desk, press)


def _found() -> None:
    ss = st.session_state
    text, desk = ss["triage-find"], ss[DESK]
    filters = {name: values for name, values in desk.filter_address.items() if name != "find"}
    desk.enter(desk.queue, desk.sort, desk.seed, filters | ({"find": [text]} if text.strip() else {}))


def _foot(study: str) -> None:
    """All verdicts that stand in this study, for a spreadsheet and for machines; another cause tag."""
    with st.container(horizontal=True, key="triage-downloads", vertical_alignment="bottom"):
        for name, write, mime in (("csv", as_csv, "text/csv"), ("jsonl", as_jsonl, "application/jsonl")):
            st.download_button(f"Verdicts as {name.upper()}", partial(_export, write, study),
                               file_name=f"standing-verdicts.{name}", mime=mime, on_click="ignore",
                               key=f"triage-download-{name}", icon=":material/download:")
        st.text_input("Add a cause tag", key="triage-cause", max_chars=60, width=260, on_change=_cause,
                      placeholder="Add a cause tag", label_visibility="collapsed")
    path, mode = escaped(str(store().path)), journal_mode()
    why = "" if mode == "WAL" else f" ({mode} journal: the SQLite of this machine lacks a fix that WAL needs)"
    st.html(f'<p class="sa small mut">Verdicts are on disk before they are called saved: in <code>{path}</code>{why}, '
            f"and again in <code>{JOURNAL}</code> beside it.</p>")


def _export(write: Callable[[list[dict[str, Any]]], bytes], study: str) -> bytes:
    visitor = identity.visitor()  # asked again: the page may be older than the team file
    return write(visible_to(visitor.person, export(store().fold(), study)) if visitor.admitted else [])


def _cause() -> None:
    ss = st.session_state
    desk: Desk = ss[DESK]
    cause = " ".join((ss["triage-cause"] or "").split())
    if cause:
        desk.causes.append(cause)
    ss["triage-cause"] = ""


page()
