"""Who the page thinks you are, on every page; and the one page for people who are not let in."""

from __future__ import annotations

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews.chosen import choose
from audit_core.reviews.names import LOCAL, LONGEST
from dashboard import display, identity, runtime
from dashboard.display import plain
from dashboard.identity import Visitor

NAME, PROBLEM = "who-name", "who-problem"


def outside(visitor: Visitor) -> None:
    """Instead of any page: why nothing is shown, and what to do."""
    title = "Sign in to see this dashboard." if visitor.action == "sign in" else "You are not let in here."
    display.heading(title)
    if visitor.person.reason != title:
        display.banner(plain(visitor.person.reason), "warn")
    _button(visitor)


def stay() -> None:
    """At the head of a fragment, which runs again without its page: leave once somebody is not let in any more."""
    if not identity.visitor().admitted:
        st.rerun()


def bar(visitor: Visitor) -> None:
    """Name, role and how sure the name is, with what can be done about it."""
    person = visitor.person
    name = person.name.removeprefix(LOCAL) if not person.proved else person.name
    sure = "" if person.proved else " · not authenticated"
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="who"):
        st.html(
            f'<div class="sa sa-who" title="{plain(person.name)}"><b>{plain(name)}</b>'
            f"<span>{person.role}{sure}</span></div>",
            width="content",
        )
        _button(visitor)


def notices(visitor: Visitor) -> None:
    """Why somebody may only look, and a fault in the team file to those who can act on it."""
    if visitor.person.reason:
        display.banner(plain(visitor.person.reason), "warn")
    if visitor.person.role == "adjudicator" and (trouble := identity.trouble()):
        display.banner(plain(trouble), "warn")
    if problem := st.session_state.pop(PROBLEM, ""):
        display.banner(plain(problem), "warn")


def _button(visitor: Visitor) -> None:
    if visitor.action == "sign in":
        st.button("Sign in", key="who-in", on_click=_sign_in)
    elif visitor.action == "sign out":
        st.button("Sign out", key="who-out", on_click=st.logout)
    elif visitor.action == "choose":
        with st.popover("Your name", key="who-choose"), st.form("who-form", border=False, width=380):
            _choice()
            st.form_submit_button("Keep this name", on_click=_chosen)


def _choice() -> None:
    people = [name.removeprefix(LOCAL) for name in identity.team().people]
    if people:
        st.selectbox("Who are you?", people, index=None, placeholder="Choose", key=NAME)
    else:
        st.text_input("Who are you?", max_chars=LONGEST, key=NAME)
    st.markdown(
        "Your verdicts carry it. It is kept beside them and cannot be changed here later. "
        "Nobody checks it: it is shown as not authenticated."
    )


def _sign_in() -> None:
    st.login(identity.roster().sign_in.provider)


def _chosen() -> None:
    """Keep the name, once; everything is read before anything is done."""
    name = st.session_state.get(NAME)
    name = " ".join(name.split()) if isinstance(name, str) else ""
    found = identity.roster()
    try:
        if identity.visitor().action != "choose":
            problem = "A name was chosen already; nothing was changed."
        elif found.team.people and found.known_as(LOCAL + name) is None:
            problem = "Choose one of the names of the team file; nothing was saved."
        else:
            choose(runtime.reviews(), name)
            problem = ""
    except AuditError as error:
        problem = str(error)
    st.session_state[PROBLEM] = problem
