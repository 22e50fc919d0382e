"""People against the judge, on the Judges page: the sample, who is how far, agreement, and corrected excess churn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import streamlit as st

from audit_core.errors import NotMeasurableError, Problem
from audit_core.model import Estimate
from audit_core.report.corrected import Corrected
from audit_core.report.people import Checked, Disagreement
from audit_core.results import as_row
from audit_core.reviews.events import LABELS
from audit_core.reviews.labels import MOVED, STILL
from audit_core.reviews.names import LOCAL
from audit_core.reviews.team import Person
from dashboard import display, sampling
from dashboard.checking import Checking
from dashboard.comparison import Comparison
from dashboard.components.text import clipped
from dashboard.display import Markup, plain
from dashboard.figures.agreement import Dot, dots
from dashboard.numbers import count, decimal, exact, interval, percent, plural, points

Row = dict[str, Any]
MEAN = "mean of all"
LISTED = 50
"""Pairs of the list of disagreements that are shown; the CSV has all."""


def single() -> NotMeasurableError:
    """What stands in place of numbers where there is one state."""
    what = "there is one state"
    return NotMeasurableError(Problem(what, "two states", "one", action="Import a second snapshot's answers."))


def ratio(row: Row, *, ends: bool = True) -> str:
    """κ or α with its interval."""
    value = exact(row)
    if value is None:
        return "not defined"
    text = decimal(value, 2)
    between = f"{decimal(row['low'], 2)} to {decimal(row['high'], 2)}"
    return f"{text}, {between}" if ends and row["low"] is not None else text


def sentence(checked: Checked) -> str:
    """What people found, in one clause."""
    number = len(checked.progress)
    who = "one person has labelled pairs" if number == 1 else f"{number} people have labelled pairs"
    best = checked.corrected[-1]
    value = best.estimate.value
    if value is None:
        return f"{who}, not yet enough to correct the judge's number"
    share = checked.against[0].weighted_agreement
    agree = f" and agrees with the judge on {percent(share.value, 1)} of all" if _one(checked) and share else ""
    return (
        f"{who}{agree}; corrected by what they say, excess churn is {points(value)} where the judge alone makes it "
        f"{points(checked.uncorrected.value)}"
    )


def _one(checked: Checked) -> bool:
    return len(checked.against) == 1


def called(reviewer: str) -> str:
    """A person's name for people."""
    return reviewer.removeprefix(LOCAL) if reviewer else MEAN


def panel(comparison: Comparison, found: Checking, person: Person) -> None:
    """Everything about people's labels on the selected pair of states."""
    sampling.panel(comparison, found, person)
    if found.sample is None:
        return
    if found.checked is None:
        display.empty(
            "Nobody has labelled a pair yet.", "Agreement and the corrected number appear with the first labels."
        )
        return
    checked = found.checked
    _progress(checked)
    with st.container(key="wrap-people"):
        left, right = st.columns([1.15, 1])
    with left:
        _agreement(comparison, checked)
    with right:
        _confusion(comparison, checked, person)
    _corrected(comparison, checked)
    _disagreements(comparison, checked, person)


def _progress(checked: Checked) -> None:
    rows = [
        {
            "person": called(p.reviewer),
            "pairs labelled": p.labelled,
            "of": p.asked,
            "questions finished": p.finished,
            "counted, judge sees move": p.counted[MOVED],
            "counted, judge sees stay": p.counted[STILL],
            "cannot tell": p.cannot_tell,
            "of other answers": p.outdated,
        }
        for p in checked.progress
    ]
    columns = [name for name in rows[0] if name != "of other answers" or any(row[name] for row in rows)]
    cells = [[row[name] for name in columns] for row in rows]
    display.block("<h3>Who is how far</h3>" + display.grid(columns, cells, numeric=range(1, len(columns))))
    display.note(
        "A question counts when all its pairs are labelled and so are the questions drawn before it; then the counted "
        "ones are a random part, wherever a person stops."
    )


def _agreement(comparison: Comparison, checked: Checked) -> None:
    rows: list[tuple[object, ...]] = []
    flat: list[Row] = []
    for a in checked.against:
        weighted = [a.weighted_agreement, a.weighted_kappa]
        for words, (share, kappa) in (("all questions", weighted), ("as sampled", [a.agreement, a.kappa])):
            if share is not None and kappa is not None:
                rows.append((f"judge and {called(a.second)}", words, *_shown(share, kappa)))
                flat += [as_row(share), as_row(kappa)]
    for a in checked.between:
        rows.append((f"{called(a.first)} and {called(a.second)}", "as sampled", *_shown(a.agreement, a.kappa)))
        flat += [as_row(a.agreement), as_row(a.kappa)]
    if checked.alpha is not None:
        alpha = as_row(checked.alpha)
        rows.append(("all people", "as sampled", "", f"α {ratio(alpha)}"))
        flat.append(alpha)
    display.block("<h3>How far they agree</h3>" + display.grid(("who", "over", "same label", "κ, beyond chance"), rows))
    alone = " One person only: how far people agree with each other is unknown." if _one(checked) else ""
    display.note(
        "“All questions” weights the sample back to all questions and describes the judge. “As sampled” is what was "
        "labelled, with more of the questions that move. Two texts that meet again in a question are asked once and "
        f"count wherever they meet.{alone}"
    )
    first = checked.against[0]
    display.facts(
        population=f"{plural(first.agreement.population, 'question')} with labels",
        unit="pairs of answers whose texts differ",
        kernel="semantic",
        status=first.agreement.status,
    )
    keep = ("name", "value", "numerator", "denominator", "low", "high", "unit", "status", "population", "reason")
    display.table([{key: row[key] for key in keep} for row in flat], "people-agreement")


def _shown(share: Estimate, kappa: Estimate) -> tuple[str, str]:
    row = as_row(share)
    if row["value"] is None:
        return "not measurable yet", "not measurable yet"
    ends = f", {decimal(row['low'], 1, 100)} to {decimal(row['high'], 1, 100)}" if row["low"] is not None else ""
    return percent(exact(row), 1) + ends, ratio(as_row(kappa))


def _confusion(comparison: Comparison, checked: Checked, person: Person) -> None:
    display.block("<h3>Where they differ</h3>")
    flat = []
    for a in checked.against:
        both, judge, people, neither = a.confusion
        split = [d for d in _open(checked, person) if d.said.get(a.second) == ("same" if not d.judge else "different")]
        merged, parted = (_link(comparison, [d for d in split if d.judge == label]) for label in (1, 0))
        name = plain(called(a.second))
        rows = [("judge: same", both, Markup(merged(judge))), ("judge: different", Markup(parted(people)), neither)]
        display.block(
            display.grid(("pairs, as sampled", f"{called(a.second)}: same", "different"), rows, numeric=(1, 2))
        )
        if a.weighted is not None:
            same, judge_only, person_only, different = a.weighted
            told = []
            if same + judge_only:
                told.append(
                    f"of pairs that the judge calls the same, {percent(judge_only / (same + judge_only), 1)} differ"
                )
            if different + person_only:
                missed = percent(person_only / (different + person_only), 1)
                told.append(f"of pairs that it calls different, {missed} are the same")
            display.note(f"In all questions, by {name}: {'; '.join(told)}.")
        weights = a.weighted or (None,) * 4
        for (j, p), number, share in zip(_CELLS, a.confusion, weights, strict=True):
            flat.append(
                {"person": called(a.second), "judge": j, "says": p, "pairs": number,
                 "share of all": None if share is None else float(share)}
            )  # fmt: skip
    display.table(flat, "people-confusion")


_CELLS = (("same", "same"), ("same", "different"), ("different", "same"), ("different", "different"))


def _link(comparison: Comparison, split: Sequence[Disagreement]) -> Any:
    """A number as a link to the questions of some pairs; plain where none of them may be opened."""
    ids = list(dict.fromkeys(d.asked.question_id for d in split))
    into = display.into(comparison.selection, queue="all", kernel="semantic", only=ids) if ids else None
    return lambda number: display.opening(count(number), into)


def _corrected(comparison: Comparison, checked: Checked) -> None:
    selection = comparison.selection
    display.block(
        f"<h3>Excess churn {plain(selection.old)} → {plain(selection.new)}, corrected by people's labels</h3>"
        '<p class="small mut wide">What people say on the sample, minus what the judge says on it, moves the judge\'s '
        "number. The interval allows for errors that so small a sample need not show (the floor).</p>"
    )
    before = as_row(checked.uncorrected)
    marks = [_dot("judge alone, uncorrected", before, "noise")]
    rows: list[Row] = [
        {"by": "judge alone, uncorrected", **_values(before), "low, no floor": None, "high, no floor": None,
         "questions": before["population"], "cannot tell": 0}
    ]  # fmt: skip
    for c in checked.corrected:
        row = as_row(c.estimate)
        label = f"corrected, {called(c.reviewer)}"
        if row["value"] is None:
            display.empty(f"{plain(called(c.reviewer))}: not measurable yet.", plain(row["reason"]))
        else:
            marks.append(_dot(label, row, "ink"))
        ends = (None, None) if c.plain is None else tuple(map(float, c.plain))
        rows.append(
            {"by": label, **_values(row), "low, no floor": ends[0], "high, no floor": ends[1],
             "questions": sum(c.counted.values()), "cannot tell": c.outside}
        )  # fmt: skip
    if len(marks) > 1:
        with st.container(key="wrap-corrected"):
            left, right = st.columns([1.15, 1])
        with left:
            display.figure(
                dots(marks, display.palette(), unit=" pp", zero=True),
                "corrected",
                "Excess churn by the judge alone and corrected by people's labels",
            )
        with right:
            display.block(
                display.grid(("by", "excess churn", "without the floor", "questions"), _cells(before, checked))
            )
            for c in checked.corrected:
                if c.extremes:
                    same, different = c.extremes
                    left_out = f"{plural(c.outside, 'question')} with <i>cannot tell</i> left out"
                    display.note(
                        f"{plain(called(c.reviewer))}: {left_out}; {points(same)} if those pairs were all the same, "
                        f"{points(different)} if all were different."
                    )
    best = checked.corrected[-1]
    display.facts(
        population=f"{plural(best.estimate.population, 'question')}, of which {sum(best.counted.values()):,} count as "
        "labelled",
        unit="excess churn, mean over questions",
        kernel="semantic",
        status=best.estimate.status,
    )
    display.table(rows, "people-corrected")


def _dot(label: str, row: Row, role: str) -> Dot:
    value = exact(row)
    low, high = (None if row[end] is None else 100 * row[end] for end in ("low", "high"))
    return Dot(label, float(100 * (value or Fraction(0))), low, high, role, points(value))


def _values(row: Row) -> Row:
    return {key: row[key] for key in ("value", "numerator", "denominator", "low", "high", "status")}


def _cells(before: Row, checked: Checked) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [("judge alone", display.with_interval(before), "", count(before["population"]))]
    return rows + [_cell(c) for c in checked.corrected]


def _cell(c: Corrected) -> tuple[object, ...]:
    row = as_row(c.estimate)
    bare = {**row, "low": None, "high": None}
    if c.plain is not None:
        bare["low"], bare["high"] = map(float, c.plain)
    return called(c.reviewer), display.with_interval(row), interval(bare), count(sum(c.counted.values()))


def _open(checked: Checked, person: Person) -> list[Disagreement]:
    """Disagreements that may be shown: to somebody who labels, only in questions that they have finished."""
    labels = person.may("label")
    begun = any(p.reviewer == person.name for p in checked.progress)
    if not labels or (person.role == "adjudicator" and not begun):
        return list(checked.disagreements)
    return [d for d in checked.disagreements if person.name in d.finished]


def _disagreements(comparison: Comparison, checked: Checked, person: Person) -> None:
    shown = _open(checked, person)
    hidden = len(checked.disagreements) - len(shown)
    display.block(f"<h3>Pairs on which they differ: {count(len(checked.disagreements))}</h3>")
    if hidden:
        display.note(
            f"{plural(hidden, 'pair')} hidden: they stand in questions that you have not finished, and would tell what "
            "others said."
        )
    if not shown:
        return
    names = [a.second for a in checked.against]
    words = {1: "same", 0: "different"}
    rows, flat = [], []
    for d in shown:
        into = display.into(comparison.selection, queue="all", kernel="semantic", only=[d.asked.question_id])
        said = [LABELS[d.said[name]].lower() if name in d.said else "" for name in names]
        shown_as = [Markup(f'<span style="white-space:nowrap">{word}</span>') for word in (words[d.judge], *said)]
        a, b = (
            Markup(f'<span dir="auto">{plain(clipped(x.text, 110))}</span>') for x in (d.asked.first, d.asked.second)
        )
        question = clipped(d.asked.question or d.asked.question_id, 110)
        rows.append((display.opening(question, into), a, b, *shown_as))
        flat.append(
            {"question_id": d.asked.question_id, "first": d.asked.first.text, "second": d.asked.second.text,
             "judge": words[d.judge], **{called(name): value for name, value in zip(names, said, strict=True)}}
        )  # fmt: skip
    columns = ("question", "one answer", "the other", "judge", *(called(name) for name in names))
    display.block(display.grid(columns, rows[:LISTED]))
    if len(rows) > LISTED:
        display.note(f"The first {LISTED} are shown; the CSV has all {len(rows):,}.")
    display.download(flat, "people-disagreements")
