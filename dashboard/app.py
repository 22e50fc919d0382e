"""The frame of every page: navigation, what is compared, and whether the data can be trusted."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from audit_core.errors import AuditError
from dashboard import display, runtime, shell
from dashboard.style import ICON

st.set_page_config(page_title="Snapshot audit", page_icon=ICON, layout="wide")
runtime.warm()
VIEWS = Path(__file__).parent / "views"
PAGES = (
    "summary", "churn", "transitions", "evidence", "trajectories", "refusals", "triage", "judges", "compare", "ledger",
    "report",
)  # fmt: skip
page = st.navigation(
    [
        st.Page(VIEWS / f"{name}.py", title=name.capitalize(), url_path=name, default=name == "summary")
        for name in PAGES
    ]
    + [
        st.Page(VIEWS / "importing.py", title="Import", url_path="import"),
        st.Page(VIEWS / "plan.py", title="Plan", url_path="plan"),
        st.Page(VIEWS / "labels.py", title="Label pairs", url_path="labels", visibility="hidden"),
        st.Page(VIEWS / "present.py", title="Present", url_path="present", visibility="hidden"),
    ],
    position="top",
)
if shell.frame(compares=page.url_path not in ("import", "plan"), bare=page.url_path == "present"):
    try:
        page.run()
    except AuditError as error:
        display.banner(display.plain(error), "bad")
