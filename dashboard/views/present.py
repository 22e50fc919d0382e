"""Summary and selected flips, full screen."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from audit_core.errors import AuditError
from dashboard import components, data, display, entrance, identity, shell, state
from dashboard.components import key_log
from dashboard.components.desk import OWN, Compared, Desk
from dashboard.components.saving import store
from dashboard.components.text import escaped
from dashboard.data import compare
from dashboard.presenting import stage
from dashboard.presenting.deck import deck
from dashboard.presenting.keys import REGISTRY
from dashboard.presenting.show import Content, Show, act
from dashboard.tables import table

SHOW, LOG, SLIDE, FROM = "present-show", "present-keys", "slide", "from"
PAGES = {"summary": "views/summary.py", "triage": "views/triage.py"}
TRIAGE_DESK = "triage-desk-state"
_CARD = f"<style>{(Path(components.__file__).parent / 'triage.css').read_text('utf-8')}</style>"


def page() -> None:
    """Draw the page. Every full run is a new start, so that names and gold are out of sight again."""
    st.html(_CARD + stage.STYLE)
    before: Show | None = st.session_state.get(SHOW)
    st.session_state[SHOW] = _show({} if before is None else before.acked)
    _stage()


def _show(acked: dict[str, int]) -> Show:
    """What the address asks for."""
    selection, comparison = state.current(), compare(state.current())
    what = Compared(selection.study, comparison.study["bundle"], selection.old, selection.new, selection.kernel)
    rows = table(data.stamp(), selection.study, selection.kernel, selection.old, selection.new)
    desk = Desk(store(), identity.person(), identity.team(), what, rows,
                content=lambda question: data.question(what.study_id, question),
                search=lambda text: data.search(what.study_id, text))  # fmt: skip
    own: Desk | None = st.session_state.get(TRIAGE_DESK)
    desk.masked = own is not None and own.masked
    desk.refresh()
    address = {name: st.query_params.get_all(name) for name in OWN if name in st.query_params}
    desk.adopt({"queue": ["flips"], "sort": ["impact"]} | address)
    show = Show(desk, deck(comparison, desk), "".join(shell.caveats(comparison)), acked=acked)
    if comparison.study["verified"] == "failed":
        show.alarm = "This study failed its integrity check. Do not rely on any number here."
    wanted = st.query_params.get(SLIDE)
    if wanted is not None and wanted.isdecimal() and 1 <= int(wanted[:6]) <= len(show.slides):
        show.at = int(wanted[:6]) - 1
    elif wanted is not None:
        show.message = f"The address asks for a slide that is not there; there are {len(show.slides)}."
    return show


@st.fragment
def _stage() -> None:
    """All that a press changes. The slide is emitted before the acknowledgement of the press."""
    entrance.stay()
    show: Show = st.session_state[SHOW]
    if (identity.person(), identity.team()) != (show.desk.person, show.desk.team):
        st.rerun()  # somebody else has taken the seat, or may do something else now
    show.desk.refresh()
    show.scale = stage.scale()
    with st.container(key="stage"):
        with st.container(key="stage-area"):  # whatever is in it, what follows stays where it is and loses no press
            _slide(show)
        with st.container(horizontal=True, key="stage-foot", vertical_alignment="center"):
            st.html(_place(show), width="stretch")
            stage.mount(f"Slide {show.at + 1} of {len(show.slides)}: {show.slide.title}")
            log = key_log.mount(show.item, show.acked, _keys, key=LOG, card=stage.SLIDE, registry=REGISTRY)
    if st.query_params.get(SLIDE) != str(show.at + 1):
        st.query_params[SLIDE] = str(show.at + 1)
    left = [press for press in key_log.new_presses(log, show.acked) if press.item == show.item]
    for press in left:
        act(show, press)
    if show.closing:
        _leave()
    if left:
        st.rerun(scope="fragment")


def _slide(show: Show) -> None:
    try:
        content = show.slide.draw(show.sight)
    except AuditError as error:
        content = Content(
            f'<h1 tabindex="-1">This slide cannot be shown.</h1><p class="warn">{escaped(str(error))}</p>'
        )
    problem = f'<p class="sa-banner bad" role="alert">{escaped(str(show.problem))}</p>' if show.problem else ""
    alarm = f'<p class="sa-banner bad sa-alarm" role="alert">{show.alarm}</p>' if show.alarm else ""
    kind = "is-figure" if content.drawing is not None else content.kind
    st.html(
        f'<article id="{stage.SLIDE}" class="sa sa-slide {kind}" data-item="{show.item}" data-slide="{show.at + 1}">'
        f"{alarm}{content.markup}{problem}</article>"
    )
    if content.drawing is not None:
        display.figure(content.drawing, f"stage-{show.slide.key}", content.alt)
        st.html(f'<div class="sa">{content.below}</div>')


def _place(show: Show) -> str:
    """Where the presentation is: a thin bar, caveats, and the number in a corner."""
    share = 100 * (show.at + 1) / len(show.slides)
    flip = show.slide.question is not None
    hints = "<span><kbd>e</kbd> evidence <kbd>g</kbd> gold</span>" if flip else ""
    message = f'<span role="status">{escaped(show.message)}</span>' if show.message else ""
    return (
        f'<div class="sa sa-foot-bar"><i style="width:{share:.2f}%"></i></div><div class="sa sa-place">'
        f'<span class="sa-pills">{show.caveats}</span>{message}{hints}'
        '<button data-action="previous" title="One step back" aria-label="Back">‹</button>'
        f'<b id="stage-place">{show.at + 1} / {len(show.slides)}</b>'
        '<button data-action="next" title="One step on" aria-label="Forward">›</button>'
        '<button data-action="jump" data-value="" hidden>Go to</button>'
        '<button data-action="close" title="Leave (Esc)">Leave</button></div>'
    )


def _keys() -> None:
    """Keys and buttons: everything is read first, then nothing but the disk is touched until it has answered."""
    show: Show = st.session_state[SHOW]
    show.desk.sits(identity.person(), identity.team())
    log = (st.session_state.get(LOG) or {}).get("log")
    for press in key_log.new_presses(log, show.acked):
        act(show, press)


def _leave() -> None:
    """Back to where it was opened from, with the queue that was on the desk there."""
    show: Show = st.session_state.pop(SHOW)
    parameters = {name: [value] for name, value in state.current().parameters.items()}
    came = st.query_params.get(FROM)
    desk: Desk | None = st.session_state.get(TRIAGE_DESK)
    if came == "triage":
        same = desk is not None and desk.what == show.desk.what
        parameters |= desk.address() if same and desk is not None else show.desk.address()
    st.switch_page(PAGES.get(came or "", PAGES["summary"]), query_params=parameters)


try:
    page()
except AuditError as error:
    display.banner(escaped(str(error)), "bad")
