"""What do I send to the people who decide?"""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

import streamlit as st

from audit_core.reviews.fold import Fold
from dashboard import data, display, identity, runtime, state
from dashboard.comparison import Comparison
from dashboard.components.saving import store
from dashboard.data import compare
from dashboard.numbers import plural
from dashboard.report import document, making, paper

PARTS = (
    "what happened, what is true now, what to do", "excess churn in plain words",
    "four figures with their numbers", "flips with evidence, chosen by a rule that it states",
    "rules, verdicts and sign-off", "method, settings, limits, and what may be claimed",
    "checks and locks", "every estimate",
)  # fmt: skip


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    display.heading(
        "What do I send to the people who decide?",
        "One file that opens without this dashboard and without a network. Each of its numbers can be derived again.",
    )
    if display.single_state(comparison):
        return
    selection = comparison.selection
    if comparison.study["verified"] == "failed":
        display.empty(
            "A check of this study failed, so there is no report of it.",
            "The Ledger page says which check. Restore the study from a copy and load it again.",
        )
        return
    if not comparison.locked:
        pairs = " · ".join(f"{p['old']} → {p['new']}" for p in comparison.study["pairs"])
        display.empty(
            "This pair of states is not part of the study's estimates, so it is in no report.",
            f"Choose one of these above: {display.plain(pairs)}.",
        )
        return
    people, person = making.people_of(store(), identity.team().needed), identity.person()
    hidden = _hidden(people.fold, comparison)
    if person.independent and hidden:
        display.empty(
            f"{plural(hidden, 'question')} still {'waits' if hidden == 1 else 'wait'} for your own verdict.",
            "A report shows what everyone said; you can make one once you have given yours, so that nobody is led.",
        )
        return
    left, right = st.columns([1, 2.1], gap="medium")
    with left:
        redacted = st.toggle(
            "Redacted", key="report-redacted", help="Ids and digests only: no question, answer, gold or passage."
        )
        _downloads(comparison, people, redacted)
        display.block("<h2>What is in it</h2><ul>" + "".join(f"<li>{part}</li>" for part in PARTS) + "</ul>")
        display.note(
            "Checked by anyone who has the study: <code>snapshot-audit verify STUDY --claims REPORT</code>. The same "
            "study and verdicts give the same file, to the byte."
        )
    with right, st.container(border=True):
        pair = (selection.old, selection.new)
        first = making.preview(runtime.database(), selection.study, people, pair=pair, redacted=redacted)
        st.html(f'<style>{_style()}</style><div class="sa-report">{first}</div>')


def _hidden(fold: Fold, comparison: Comparison) -> int:
    """Flips, and other questions that anybody has judged, on which whoever looks has not judged yet."""
    selection, name = comparison.selection, identity.person().name
    pair = (selection.old, selection.new)
    asked = {*data.flips(selection), *fold.questions(selection.study, pair)}
    return sum(fold.standing(selection.study, question, name, pair).verdict is None for question in asked)


def _downloads(comparison: Comparison, people: making.People, redacted: bool) -> None:
    selection = comparison.selection
    name = re.sub(r"[^a-z0-9-]+", "-", f"{selection.study}-{selection.old}-{selection.new}".lower()).strip("-")
    name += "-redacted" if redacted else ""
    make = partial(
        making.render, runtime.database(), selection.study, people, pair=(selection.old, selection.new),
        redacted=redacted,
    )  # fmt: skip
    st.download_button(
        "Download as one HTML file", data=make, file_name=f"{name}.html", mime="text/html", key="report-html",
        icon=":material/download:", type="primary", on_click="ignore", width="stretch",
    )  # fmt: skip
    if any(map(shutil.which, paper.NAMES)):
        st.download_button(
            "Download as PDF", data=lambda: paper.printed(make()), file_name=f"{name}.pdf", mime="application/pdf",
            key="report-pdf", icon=":material/picture_as_pdf:", on_click="ignore", width="stretch",
        )  # fmt: skip
        display.note("Printing to PDF takes a few seconds.")
    else:
        display.note("There is no Chromium here to print with; print the HTML file from any browser.")
    rows = [{key: value for key, value in row.items() if key not in ("study_key", "position", "detail")}
            for row in comparison.estimates.values()]  # fmt: skip
    st.download_button(
        "Every estimate as CSV", data=lambda: display.csv_bytes(rows), file_name=f"{selection.study}-estimates.csv",
        mime="text/csv", key="report-csv", icon=":material/table:", on_click="ignore", width="stretch",
    )  # fmt: skip
    display.note("Answers, verdicts and ranked lists are exported by <code>snapshot-audit export</code> and "
                 "<code>snapshot-audit reviews export</code>.")  # fmt: skip


def _style() -> str:
    """The report's own style, for the preview alone; paper is white in either theme."""
    own = (Path(document.__file__).parent / "report.css").read_text("utf-8").split("@page")[0]
    own = own.replace(":root{", "&{").replace("body{", "&{background:#fff;")
    return f".sa-report{{{own}}}.sa-report header{{padding-top:16px}}"


page()
