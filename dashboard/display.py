"""Shared pieces of the pages. Study text passes `plain` and `st.html`, never a Markdown-rendering call."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
import streamlit as st

from audit_core.reviews.export import formula_safe
from dashboard.comparison import Comparison
from dashboard.components.links import triage_params
from dashboard.figures.palette import DARK, LIGHT, Palette
from dashboard.markup import Markup as Markup
from dashboard.markup import card as card
from dashboard.markup import grid as grid
from dashboard.markup import outcome as outcome
from dashboard.markup import pill as pill
from dashboard.markup import plain as plain
from dashboard.numbers import UNDEFINED, bounds, brief, count, exact, interval, percent, plural, points
from dashboard.state import KERNELS, Selection

TRIAGE = "views/triage.py"
NOT_WORDS = re.compile(r"[^\w ,.()−-]|_")
Row = Mapping[str, Any]
Parameters = Mapping[str, str | list[str]]

STATUS_WORDS = {
    "confirmatory": "confirmatory: computed once, fixed by the protocol",
    "supportive": "supportive",
    "post-hoc": "post-hoc: defined after the results were seen",
    "exploratory": "exploratory: not fixed before the answers were seen",
}


def block(content: str, classes: str = "") -> None:
    """One block of our own markup; every study text in it has passed `plain`."""
    st.html(f'<div class="sa {classes}">{content}</div>')


def palette() -> Palette:
    """Colours of figures for the theme that the reader sees."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def heading(title: str, lead: str = "") -> None:
    """The page's first heading and one sentence under it, both already markup."""
    block(f"<h1>{title}</h1>" + (f'<p class="lead">{lead}</p>' if lead else ""))


def section(title: str, lead: str = "") -> None:
    """A second-level heading and what the section shows."""
    block(f"<h2>{title}</h2>" + (f'<p class="small mut wide">{lead}</p>' if lead else ""))


def note(content: str) -> None:
    """A small remark in muted ink; markup."""
    block(f'<p class="small mut">{content}</p>')


def banner(content: str, tone: str = "info") -> None:
    """A message across the page; ``bad`` interrupts a screen reader."""
    role = "alert" if tone == "bad" else "status"
    st.html(f'<div class="sa sa-banner {tone}" role="{role}">{content}</div>')


def empty(what: str, action: str) -> None:
    """A part of a page that has nothing to show: what is missing, and what to do."""
    banner(f"<b>{what}</b> {action}")


def into(selection: Selection, **filters: Any) -> Parameters:
    """Parameters of a link to the questions behind a number; `filters` may also name another pair or kernel."""
    shared = {name: filters.pop(name, value) for name, value in selection.parameters.items()}
    return triage_params(**shared, **filters)


def link(label: str, parameters: Parameters, page: str = TRIAGE, *, icon: str = ":material/arrow_forward:") -> None:
    """A link into another page of this session; a label renders Markdown, so only words and numbers get through."""
    st.page_link(page, label=NOT_WORDS.sub("", label), query_params=dict(parameters), icon=icon, icon_position="right")


def opening(text: str, parameters: Parameters | None) -> Markup:
    """A number in a table as a link to its questions; plain where there is nothing to open."""
    if not parameters or text in ("0", UNDEFINED):
        return Markup(plain(text))
    address = "triage?" + urlencode(dict(parameters), doseq=True)
    return Markup(f'<a href="{html.escape(address)}">{plain(text)}</a>')


def with_interval(row: Row) -> Markup:
    """A difference with its interval, for a table; the first clause of the reason where it is undefined."""
    value = exact(row)
    if value is None:
        return Markup(f'<span class="mut">{plain(brief(row["reason"]))}</span>')
    ends = interval(row)
    return Markup(points(value) + (f' <span class="mut">({ends})</span>' if ends else ""))


def csv_bytes(rows: Sequence[Row]) -> bytes:
    """Rows as CSV that no spreadsheet runs: all fields quoted, text that begins like a formula gets an apostrophe.

    Numbers are written as they are; only text can come from a study.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    names = list(rows[0]) if rows else []
    writer.writerow([_inert(name) for name in names])
    writer.writerows([_inert(row[name]) for name in names] for row in rows)
    return stream.getvalue().encode("utf-8-sig", errors="backslashreplace")


def _inert(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    return formula_safe(str(value))


def table(rows: Sequence[Row], key: str, *, label: str = "The same data as a table", opened: bool = False) -> None:
    """The rows behind a figure, folded, with a download that is safe to open in a spreadsheet."""
    with st.expander(label, expanded=opened, key=f"table-{key}"):
        if not rows:
            block('<p class="mut">No rows.</p>')
            return
        st.dataframe(
            {name: [row[name] for row in rows] for name in rows[0]},
            hide_index=True,
            width="stretch",
            height=min(38 + 35 * len(rows), 420),
            key=f"frame-{key}",
        )
        download(rows, key)


def download(rows: Sequence[Row], key: str) -> None:
    """A CSV download built only when it is asked for."""
    st.download_button(
        "Download CSV",
        data=lambda: csv_bytes(rows),
        file_name=f"{key}.csv",
        mime="text/csv",
        key=f"csv-{key}",
        icon=":material/download:",
        on_click="ignore",
    )


def facts(*, population: str, unit: str, kernel: str, status: str) -> None:
    """What every figure must say about itself."""
    words = STATUS_WORDS.get(status, status)
    block(
        f'<div class="sa-what"><span><b>Population</b> {population}</span><span><b>Unit</b> {unit}</span>'
        f"<span><b>Kernel</b> {kernel}</span><span><b>Status</b> {words}</span></div>"
    )


def figure(drawing: go.Figure, key: str, alt: str, *, opens: Mapping[str, Parameters] | None = None) -> None:
    """A figure whose marks open Triage: each mark's `customdata` names an entry of `opens`.

    The element's key changes after a click, so that coming back to the page does not repeat the click.
    """
    turns = st.session_state.setdefault("turns", {})
    event: Any = st.plotly_chart(
        drawing,
        key=f"figure-{key}-{turns.get(key, 0)}",
        theme=None,
        width="stretch",
        alt=alt,
        on_select="rerun" if opens else "ignore",
        selection_mode="points",
        config={"displayModeBar": False, "responsive": True},
    )
    points = event.selection.points if opens else []
    chosen = [_first(point.get("customdata")) for point in points]
    wanted = next((name for name in chosen if opens and name in opens), None)
    if opens and wanted is not None:
        turns[key] = turns.get(key, 0) + 1
        st.switch_page(TRIAGE, query_params=dict(opens[wanted]))


def single_state(comparison: Comparison) -> bool:
    """Say so where a study has nothing to compare; True then."""
    if comparison.selection.old != comparison.selection.new:
        return False
    empty(
        "This study has a single state.",
        "Import answers from a second snapshot to compare them; until then the Ledger page shows what is there.",
    )
    return True


@dataclass(frozen=True, slots=True)
class Headline:
    """A number of the three that are always shown together; `note` is markup that must be read with it."""

    label: str
    value: str
    note: str
    measured: bool

    @property
    def markup(self) -> str:
        """The number as a card."""
        return card(self.label, self.value, self.note, measured=self.measured)


def headlines(comparison: Comparison) -> tuple[Headline, Headline, Headline]:
    """Cross agreement with its baseline, excess churn with its interval, and the count of flips."""
    kernel = comparison.selection.kernel
    words = KERNELS[kernel]
    across, within, excess, flips = (
        comparison.pair(measure, kernel)
        for measure in ("cross_agreement", "baseline_agreement", "excess_churn", "repeat_stable_flips")
    )
    share, calm, gap, number = exact(across), exact(within), exact(excess), flips["numerator"]
    beside = plain(brief(across["reason"])) if calm is None else f"same-snapshot baseline {percent(calm)}"
    ends = plain(brief(excess["reason"])) if gap is None else "<br>".join(map(plain, bounds(excess, comparison.level)))
    of = (
        plain(brief(flips["reason"]))
        if number is None
        else f"of {plural(flips['denominator'], 'question')}, {percent(exact(flips))}"
    )
    return (
        Headline(f"Still agree across snapshots ({words})", percent(share), beside, share is not None),
        Headline(f"Excess churn ({words})", points(gap), ends, gap is not None),
        Headline(f"Repeat-stable flips ({words})", count(number), of, number is not None),
    )


def three_numbers(comparison: Comparison) -> None:
    """Cross agreement, excess churn with its interval, and the count of flips: never one without the others."""
    selection = comparison.selection
    questions, flips = comparison.study["questions"], comparison.pair("repeat_stable_flips", selection.kernel)
    links = [
        (f"All {plural(questions, 'question')}", into(selection, queue="all")),
        ("Questions above zero", into(selection, queue="all", contrast=(0.0001, 1))),
    ]
    if flips["numerator"]:
        links.append((f"Open {plural(flips['numerator'], 'flip')}", into(selection)))
    for column, number, opens in zip_longest(st.columns(3), headlines(comparison), links):
        with column, st.container(border=True, height="stretch", gap="xsmall"):
            block(number.markup)
            if opens:
                link(*opens)


def _first(value: Any) -> Any:
    """Plotly hands `customdata` back as a scalar, a list or an index-keyed mapping."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return value[0] if isinstance(value, list) and value else value
