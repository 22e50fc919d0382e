"""Above every page: pickers, pills, banners; and what stands there when there is nothing to show."""

from __future__ import annotations

from typing import Any

import streamlit as st

from audit_core.errors import AuditError
from dashboard import data, display, entrance, identity, runtime, sentences, state
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import pill, plain
from dashboard.identity import Visitor
from dashboard.numbers import exact, percent, plural, points
from dashboard.style import STYLE, logo

Row = dict[str, Any]
ORIGINS = {
    "reconstructed": "Reconstructed from published figures; ids only",
    "imported": "Imported: how the answers were made is not proved",
}


def frame(*, compares: bool = True, bare: bool = False) -> bool:
    """Draw the frame; False where there is nothing that a page could show.

    Args:
        compares: The page shows a comparison; one that does not gets no pickers and needs no study.
        bare: The page shows a comparison and says by itself what must be said beside it.
    """
    st.html(STYLE)
    st.logo(logo(st.context.theme.type == "dark"), size="large")
    visitor = identity.visitor()
    if not visitor.admitted:
        entrance.outside(visitor)
        return False
    if not compares:
        entrance.bar(visitor)
        entrance.notices(visitor)
        return True
    try:
        found = data.studies()
    except AuditError as error:
        display.heading("No study to show yet.")
        display.banner(plain(error), "warn")
        _how()
        return False
    if not found:
        display.heading("No study to show yet.")
        display.banner(f"The database <code>{plain(runtime.database())}</code> holds no study.", "warn")
        _how()
        return False
    try:
        selection = state.select([row["study_id"] for row in found], data.study)
        state.remember(selection)
        if bare:
            return True
        row = data.study(selection.study)
        _pickers(found, row, selection, visitor)
        comparison = compare(selection)
        _pills(comparison)
        entrance.notices(visitor)
        _banners(comparison, data.checks(selection.study))
    except AuditError as error:
        display.banner(plain(error), "bad")
        return False
    return True


def _how() -> None:
    display.block(
        "<p>Build the database from one or more studies, then reload this page:</p>"
        f"<p><code>snapshot-audit load STUDY… --db {plain(runtime.database())}</code></p>"
        '<p class="mut">Have answers in a file of your own? The page <a href="import">Import</a> makes a study of '
        "them, as does <code>snapshot-audit import table FILE… --study DIR</code>.</p>"
    )


def _pickers(found: list[Row], row: Row, selection: state.Selection, visitor: Visitor) -> None:
    titles = {study["study_id"]: f"{study['study_id']} · {study['title']}" for study in found}
    names = {s["state"]: f"{s['state']} · {s['label']}" if s["label"] else s["state"] for s in row["states"]}
    kernels = [kernel for kernel in state.KERNELS if kernel in row["kernels"]]
    for key, value in (
        ("study", selection.study),
        ("old", selection.old),
        ("new", selection.new),
        ("kernel", selection.kernel),
        ("view", selection.uncorrected),
    ):
        st.session_state[f"pick-{key}"] = value
    with st.container(horizontal=True, vertical_alignment="center", key="picker"):
        st.selectbox(
            "Study",
            list(titles),
            format_func=titles.__getitem__,
            key="pick-study",
            label_visibility="collapsed",
            on_change=_study_picked,
        )
        st.selectbox(
            "Old state",
            list(names),
            format_func=lambda name: f"Old: {names[name]}",
            key="pick-old",
            label_visibility="collapsed",
            on_change=_state_picked,
            args=(state.OLD,),
        )
        st.selectbox(
            "New state",
            list(names),
            format_func=lambda name: f"New: {names[name]}",
            key="pick-new",
            label_visibility="collapsed",
            on_change=_state_picked,
            args=(state.NEW,),
        )
        if len(kernels) > 1:
            st.segmented_control(
                "Kernel",
                kernels,
                format_func=state.KERNELS.__getitem__,
                key="pick-kernel",
                label_visibility="collapsed",
                required=True,
                on_change=_picked,
                args=(state.KERNEL,),
            )
        st.toggle("Uncorrected view", key="pick-view", on_change=_view_picked)
        entrance.bar(visitor)


def _picked(key: str) -> None:
    state.choose(key, st.session_state[f"pick-{key}"])


def _study_picked() -> None:
    state.forget_pair()
    _picked(state.STUDY)


def _state_picked(key: str) -> None:
    before = state.current()
    other, previous = (state.NEW, before.old) if key == state.OLD else (state.OLD, before.new)
    if st.session_state[f"pick-{key}"] == getattr(before, other):
        state.choose(other, previous)
    _picked(key)


def _view_picked() -> None:
    state.choose(state.VIEW, state.UNCORRECTED if st.session_state["pick-view"] else state.CORRECTED)


def _pills(comparison: Comparison) -> None:
    study, selection = comparison.study, comparison.selection
    labels = {s["state"]: s["label"] for s in study["states"]}
    repeats = sorted({s["repeats"] for s in study["states"]})
    asked = (
        f"{repeats[0]} to {repeats[-1]} repeats" if len(repeats) > 1 else plural(repeats[0] if repeats else 0, "repeat")
    )
    found = [pill(f"{plain(study['title'])} · {plural(study['questions'], 'question')} · {asked}")]
    if selection.old != selection.new:
        found.append(
            pill(
                f'<b class="old">{plain(selection.old)}</b> {plain(labels[selection.old])} → '
                f'<b class="new">{plain(selection.new)}</b> {plain(labels[selection.new])}'
            )
        )
    found.append(_trust(study))
    if selection.old != selection.new:
        verdict = sentences.verdict(comparison)
        found.append(pill(f"Movement beyond noise: {verdict.short}", verdict.tone))
    found += caveats(comparison)
    found += [pill(f"Semantic labels: {plain(judge['description'])}") for judge in sentences.told_judges(study)]
    st.html(f'<div class="sa sa-pills">{"".join(found)}</div>')


def caveats(comparison: Comparison) -> list[str]:
    """What must be known beside every number of a comparison, as pills."""
    study, found = comparison.study, []
    if study["origin"] in ORIGINS:
        found.append(pill(ORIGINS[study["origin"]], "warn"))
    if comparison.selection.old != comparison.selection.new and not comparison.locked:
        found.append(pill("Exploratory: this pair is not part of the locked results", "warn"))
    if study["kernels"] == ["exact"]:
        found.append(pill("Exact kernel only: no semantic labels", "warn"))
    return found


def _trust(study: Row) -> str:
    locks = plural(study["locks"], "lock")
    if study["verified"] == "passed":
        return pill(f"Ledger verified · {locks}", "ok")
    if study["verified"] == "failed":
        return pill("Ledger check failed", "bad")
    return pill(f"Ledger not fully checked · {locks}", "warn")


def _banners(comparison: Comparison, checks: list[Row]) -> None:
    failed = [check for check in checks if check["result"] == "failed"]
    if failed or comparison.study["verified"] == "failed":
        listed = "".join(f"<li>{plain(c['check_id'])} {plain(c['title'])}: {plain(c['detail'])}</li>" for c in failed)
        display.banner(
            "<b>This study failed its integrity check. Do not rely on any number here.</b>"
            f"<ul>{listed}</ul>Restore the study from its source and load it again.",
            "bad",
        )
    if differing := data.differing(comparison.selection):
        display.banner(plain(differing), "warn")
    for problem in comparison.selection.problems:
        display.banner(plain(problem), "warn")
    if comparison.selection.uncorrected:
        _uncorrected(comparison)


def _uncorrected(comparison: Comparison) -> None:
    kernel = comparison.selection.kernel
    across = exact(comparison.pair("cross_agreement", kernel))
    within = exact(comparison.pair("baseline_agreement", kernel))
    if across is None:
        display.banner(
            "<b>Uncorrected view.</b> There is no agreement between these states to compare: "
            + plain(comparison.pair("cross_agreement", kernel)["reason"]),
            "warn",
        )
        return
    text = (
        f"<b>Uncorrected view.</b> Comparing one answer with one answer would have claimed that "
        f"<b>{percent(1 - across)}</b> of answers changed ({state.KERNELS[kernel]})."
    )
    if within is not None:
        text += (
            f" Repeats of one snapshot already differ {percent(1 - within)} of the time; "
            f"only {points(within - across)} are beyond that noise."
        )
    else:
        text += " How much of that is repeat noise cannot be measured here."
    display.banner(text, "warn")
