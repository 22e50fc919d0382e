"""Does another study of the same questions move as much?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from audit_core.same_questions import named
from dashboard import data, display, state
from dashboard.comparison import absent
from dashboard.display import Markup, plain
from dashboard.figures.agreement import Dot, dots
from dashboard.numbers import count, degenerate, exact, interval, plural, points
from dashboard.state import KERNELS, Selection

Row = dict[str, Any]
TITLE = "Does another study of the same questions move as much?"
OTHER = "other"  # key of the address that names the second study
LEVEL = "95%"  # of live estimates
FLIPS = {"both": "in both", "first only": "only in the first", "second only": "only in the second"}


def page() -> None:
    """Draw the page."""
    selection = state.current()
    shared = data.sharing(selection.study)
    able = [study for study, number in shared.items() if number and not _obstacle(study, selection)]
    if selection.old == selection.new or not able:
        _nothing(selection, shared)
        return
    problems: list[str] = []
    other = state.asked(OTHER, able, able[0], "second study", problems)
    found = data.paired(selection.study, other, selection.old, selection.new)
    kernels = [kernel for kernel in KERNELS if _name("paired_difference", kernel, selection) in found]
    main = selection.kernel if selection.kernel in kernels else kernels[0]
    display.heading(TITLE, _lead(selection, other, found, main))
    for problem in problems:
        display.banner(plain(problem), "warn")
    _picker(able, other, shared)
    _which(selection, other)
    for column, kernel in zip(st.columns(len(kernels)), kernels, strict=True):
        with column, st.container(border=True, height="stretch"):
            _churn(selection, found, kernel)
    _flips(selection, other, found, kernels)
    _accuracy(selection, found)


def _obstacle(study: str, selection: Selection) -> str:
    """Why a study that shares questions cannot be compared; empty where it can."""
    if not {selection.old, selection.new} <= {row["state"] for row in data.study(study)["states"]}:
        return f"lacks {selection.old} or {selection.new}"
    if ids := data.misnamed(selection.study, study):
        return f"another question, or another gold, under the same id: {named(ids)}"
    return ""


def _name(measure: str, kernel: str, selection: Selection) -> str:
    return f"{measure}[{kernel}]@{selection.old}-{selection.new}"


def _nothing(selection: Selection, shared: dict[str, int]) -> None:
    """Why there is no second study, study by study, and what to do."""
    display.heading(
        TITLE, "Another model, service or day on the same questions is compared here, question by question."
    )
    if selection.old == selection.new:
        display.empty("This study has a single state.", "Two states are needed before movement can be compared.")
        return
    if not shared:
        display.empty(
            "This is the only study here.",
            "Load one on the same questions too: <code>snapshot-audit load STUDY --add --db FILE</code>.",
        )
        return
    display.empty(
        "No other study here can be compared with this one.",
        "It must share questions, by id, with the same text and gold, and have the states "
        f"{plain(selection.old)} and {plain(selection.new)}.",
    )
    rows = [
        (study, count(number), _obstacle(study, selection) if number else "no question in common")
        for study, number in shared.items()
    ]
    display.block(display.grid(("study", "shared questions", "why not"), rows, numeric=(1,)))


def _lead(selection: Selection, other: str, found: dict[str, Row], kernel: str) -> str:
    name = _name("excess_churn", kernel, selection)
    first, second = found[f"{name} (first)"], found[f"{name} (second)"]
    difference = found[_name("paired_difference", kernel, selection)]
    if exact(first) is None:
        return plain(first["reason"])
    text = (
        f"On {plural(first['population'], 'question')} that both can measure, <b>{plain(selection.study)}</b> moves "
        f"{points(exact(first))} and <b>{plain(other)}</b> {points(exact(second))} ({KERNELS[kernel]}). "
    )
    if difference["reason"]:
        return text + plain(difference["reason"])
    if difference["low"] is None or degenerate(difference):
        return text + "Their difference has no interval."
    zero = difference["low"] <= 0 <= difference["high"]
    return text + (
        "That difference cannot be told from zero, which does not show that they are alike."
        if zero
        else f"The difference of {points(exact(difference), sign=True)} is more than chance among questions explains."
    )


def _picker(able: list[str], other: str, shared: dict[str, int]) -> None:
    titles = {
        study: f"{study} · {data.study(study)['title']} · {plural(shared[study], 'shared question')}" for study in able
    }
    st.session_state["compare-other"] = other
    st.selectbox(
        "Second study", able, key="compare-other", format_func=titles.__getitem__, on_change=_picked, width=640
    )


def _picked() -> None:
    state.choose(OTHER, st.session_state["compare-other"])


def _which(selection: Selection, other: str) -> None:
    """Both studies side by side, so that nobody takes one for the other."""
    cells = []
    for place, study in (("first", selection.study), ("second", other)):
        row = data.study(study)
        labels = {s["state"]: s["label"] for s in row["states"]}
        states = " → ".join(f"{name} {labels[name]}".strip() for name in (selection.old, selection.new))
        repeats = "/".join(str(s["repeats"]) for s in row["states"] if s["state"] in (selection.old, selection.new))
        cells.append((place, f"{study} · {row['title']}", row["generator"], states, repeats, count(row["questions"])))
    display.block(
        display.grid(("which", "study", "generator", "states", "repeats", "questions"), cells, numeric=(4, 5))
    )
    display.note("Answers of the two are never pooled. Everything here is computed now, on the shared questions alone.")


def _marks(rows: list[tuple[str, str, Row]]) -> list[Dot]:
    marks = []
    for label, role, row in rows:
        if row["value"] is not None:
            low, high = (None if row[end] is None or degenerate(row) else 100 * row[end] for end in ("low", "high"))
            marks.append(Dot(label, 100 * row["value"], low, high, role, points(exact(row), sign=role == "noise")))
    return marks


def _churn(selection: Selection, found: dict[str, Row], kernel: str) -> None:
    name = _name("excess_churn", kernel, selection)
    rows = [
        ("first", "ink", found[f"{name} (first)"]),
        ("second", "ink", found[f"{name} (second)"]),
        ("first minus second", "noise", found[_name("paired_difference", kernel, selection)]),
    ]
    display.block(f"<h2 style='margin-top:0'>Excess churn, {KERNELS[kernel]}</h2>")
    difference = rows[-1][2]
    if exact(difference) is None:
        display.empty("Nothing can be compared.", plain(difference["reason"]))
        return
    display.figure(
        dots(_marks(rows), display.palette(), unit=" pp", zero=True), f"compare-{kernel}",
        "Excess churn of both studies and their paired difference",
    )  # fmt: skip
    text = f"Lines are two-sided {LEVEL} intervals; whole questions are resampled in both studies together."
    if difference["reason"]:
        text += f" <b>{plain(difference['reason'])}</b> The difference is then no estimate of an effect."
    display.note(text)
    every = difference["population"] + difference["excluded"]
    display.facts(
        population=f"{plural(difference['population'], 'question')} of {count(every)} of the first study",
        unit="pairs of answers",
        kernel=KERNELS[kernel],
        status="exploratory",
    )
    display.table([_flat(label, row) for label, _, row in rows], f"compare-{kernel}")


def _flips(selection: Selection, other: str, found: dict[str, Row], kernels: list[str]) -> None:
    display.section(
        "Do the same questions flip?",
        "A question that flips in both points at its evidence; one that flips in a single study may be that model's.",
    )
    cells, rows = [], []
    for kernel in kernels:
        members = data.paired_flips(selection.study, other, kernel, selection.old, selection.new)
        line: list[object] = [KERNELS[kernel]]
        for where in FLIPS:
            row = found[f"common_flips[{kernel}, {where}]@{selection.old}-{selection.new}"]
            study = other if where == "second only" else selection.study
            ids = members[where]
            opened = display.into(selection, study=study, kernel=kernel, queue="all", only=ids) if ids else None
            line.append(display.opening(count(row["numerator"]), opened))
            rows.append({"kernel": kernel, "flips": where, **_flat("", row), "ids": " ".join(ids)})
        line.append(count(found[f"common_flips[{kernel}, both]@{selection.old}-{selection.new}"]["population"]))
        cells.append(line)
    display.block(display.grid(("kernel", *FLIPS.values(), "shared questions"), cells, numeric=(1, 2, 3, 4)))
    display.facts(
        population="questions that both studies can measure",
        unit="questions",
        kernel=" and ".join(KERNELS[kernel] for kernel in kernels),
        status="exploratory",
    )
    display.table(rows, "compare-flips")


def _accuracy(selection: Selection, found: dict[str, Row]) -> None:
    at = f"@{selection.old}-{selection.new}"
    rows = [
        ("first", found.get(f"exact_match_difference{at} (first)")),
        ("second", found.get(f"exact_match_difference{at} (second)")),
        ("first minus second", found.get(f"paired_exact_match_difference{at}")),
    ]
    display.section("Did accuracy move as much?", "Change of exact match from the old to the new state.")
    present = [(label, row or absent(label)) for label, row in rows]
    if exact(present[-1][1]) is None:
        display.empty("Accuracy cannot be compared.", plain(present[-1][1]["reason"]))
        return
    cells = [(label, points(exact(row), sign=True), Markup(plain(interval(row) or "none"))) for label, row in present]
    display.block(display.grid(("study", "change of exact match", f"{LEVEL} interval, pp"), cells, numeric=(1, 2)))
    if reason := present[-1][1]["reason"]:
        display.note(plain(reason))
    display.facts(
        population=plural(present[-1][1]["population"], "question"),
        unit="answers",
        kernel="exact match with the gold",
        status="exploratory",
    )
    display.table([_flat(label, row) for label, row in present], "compare-accuracy")


def _flat(label: str, row: Row) -> Row:
    keys = ("name", "value", "low", "high", "population", "excluded", "status", "reason")
    return {**({"what": label} if label else {}), **{key: row[key] for key in keys}}


page()
