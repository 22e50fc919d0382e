"""Can I trust "same" and "different"?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from audit_core.errors import NotMeasurableError
from dashboard import data, display, identity, people, state
from dashboard.checking import Checking, checking
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import plain
from dashboard.figures.agreement import Dot, dots
from dashboard.numbers import count, exact, percent, plural, points
from dashboard.people import ratio

Row = dict[str, Any]
TITLE = "Can I trust “same” and “different”?"


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    judges = {judge["judge"]: judge for judge in comparison.study["judges"]}
    primary = next((judge for judge in judges.values() if judge["role"] == "primary"), None)
    if primary is None:
        display.heading(TITLE, "Two answers count as the same here when their normalized texts are equal.")
        display.empty(
            "This study has no judge.",
            "Nobody decided about meanings, so there is nothing to check. Equal texts do mean the same; different "
            "texts may, so excess churn by exact text is not churn of meaning. docs/judges.md says how to add a judge.",
        )
        return
    found = _found(comparison)
    seconds = [name for name, judge in judges.items() if judge["role"] != "primary"]
    display.heading(TITLE, _lead(comparison, seconds, found))
    display.note(f"“Same” and “different” are decided by <b>{plain(primary['description'] or primary['judge'])}</b>.")
    _second(comparison, judges, seconds)
    _transitivity(comparison)
    display.section(
        "People against the judge",
        "People label the same pairs of answers without seeing states, evidence, gold, the judge's label or each "
        "other's. What they say corrects the judge's number.",
    )
    if isinstance(found, NotMeasurableError):
        display.empty("There is nothing to label at these states.", plain(found))
        return
    people.panel(comparison, found, identity.person())


def _found(comparison: Comparison) -> Checking | NotMeasurableError:
    if comparison.selection.old == comparison.selection.new:
        return people.single()
    try:
        return checking(comparison.selection)
    except NotMeasurableError as error:
        return error


def _lead(comparison: Comparison, seconds: list[str], found: Checking | NotMeasurableError) -> str:
    """One sentence: who checked the judge, and with what result."""
    parts = []
    for name in seconds:
        share, kappa = (comparison.named(f"judge_{word}[{name}]") for word in ("agreement", "kappa"))
        if exact(share) is not None:
            told = f" (κ {ratio(kappa)})" if exact(kappa) is not None else ""
            parts.append(f"a second judge gave the same label to {percent(exact(share), 1)} of the pairs{told}")
    done = found.checked if isinstance(found, Checking) else None
    if done is not None:
        parts.append(people.sentence(done))
    elif parts:
        parts.append("no person has checked it yet")
    if not parts:
        return "Nobody has checked this judge on this study yet: take its labels as one opinion."
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def _second(comparison: Comparison, judges: dict[str, Row], seconds: list[str]) -> None:
    display.section("A second judge", "Another judge labelled the same pairs of a share of the questions, or of all.")
    if not seconds:
        display.empty(
            "This study has one judge.",
            "A second one shows how far the numbers depend on who decides; docs/judges.md says how to add it.",
        )
        return
    for name in seconds:
        share, kappa, alike = (
            comparison.named(f"{measure}[{name}]")
            for measure in ("judge_agreement", "judge_kappa", "identical_partitions")
        )
        with st.container(key=f"wrap-second-{seconds.index(name)}"):
            left, right = st.columns([1, 1.15])
        with left:
            if exact(share) is None:
                display.empty("The two cannot be compared.", plain(share["reason"]))
                continue
            rows = [
                ("same label", _of(share), _interval(share, 100, "%")),
                ("κ, agreement beyond chance", ratio(kappa, ends=False), _interval(kappa, 1, "")),
                ("questions labelled alike throughout", _of(alike), ""),
            ]
            words = judges[name]["description"] or name
            display.block(
                f"<h3>{plain(words)}</h3>" + display.grid(("", "value", f"{comparison.level} interval"), rows)
            )
            split = [
                q
                for q, n in zip(*(_columns(comparison)[c] for c in ("question_id", "judges_disagree")), strict=True)
                if n
            ]
            if split:
                display.link(
                    f"Open {plural(len(split), 'question')} that the judges label differently",
                    display.into(comparison.selection, queue="judges_disagree"),
                )
            display.facts(
                population=plural(share["population"], "question") + " that both labelled",
                unit="pairs of answers, all states",
                kernel="semantic",
                status=share["status"],
            )
        with right:
            _under_each(comparison, name, words)
        table = [share, kappa, alike]
        display.table([_flat(row) for row in table], f"second-judge-{seconds.index(name)}")


def _columns(comparison: Comparison) -> dict[str, list[Any]]:
    selection = comparison.selection
    return data.columns(selection.study, "semantic", selection.old, selection.new)


def _under_each(comparison: Comparison, name: str, words: str) -> None:
    """Excess churn by each judge on the questions that both labelled, between the study's endpoints."""
    old, new = comparison.study["old_state"], comparison.study["new_state"]
    if old is None:
        display.empty("The study names no endpoints.", "Excess churn under each judge is computed between them.")
        return
    at = f"@{old}-{new}"
    rows = {
        "first judge, all": comparison.named(f"excess_churn[semantic]{at}"),
        "first judge, same ones": comparison.named(f"excess_churn[semantic, questions of {name}]{at}"),
        "second judge": comparison.named(f"excess_churn[semantic:{name}]{at}"),
    }
    marks = []
    for number, (label, row) in enumerate(rows.items()):
        value = exact(row)
        if value is not None:
            low, high = (None if row[end] is None else 100 * row[end] for end in ("low", "high"))
            role = "noise" if number == 0 else "ink"
            marks.append(Dot(label, float(100 * value), low, high, role, points(value)))
    if len(marks) < 2:
        display.empty(
            "Excess churn cannot be compared.", "No question that both labelled has repeats at both endpoints."
        )
        return
    display.figure(
        dots(marks, display.palette(), unit=" pp", zero=True), f"under-{name[:20]}", "Excess churn under each judge"
    )
    both = rows["second judge"]
    display.facts(
        population=f"{plural(both['population'], 'question')}; all of the first judge: "
        f"{count(rows['first judge, all']['population'])}",
        unit=f"excess churn {plain(old)} → {plain(new)}",
        kernel="semantic",
        status=both["status"],
    )
    display.table([{"judge": label, **_flat(row)} for label, row in rows.items()], f"under-{name[:20]}")


def _transitivity(comparison: Comparison) -> None:
    display.section(
        "Labels that contradict themselves",
        "A is the same as B and B the same as C, yet A differs from C. Labels are kept as given; in such questions "
        "excess churn is an agreement gap and nothing more.",
    )
    questions, triangles = (comparison.named(f"{m}[semantic]") for m in ("nontransitive_questions", "open_triangles"))
    if questions["numerator"] is None:
        display.empty("Not counted.", plain(questions["reason"]))
        return
    number = questions["numerator"]
    if not number:
        display.block(
            f"<p>Not one question of {count(questions['denominator'])}: the judge's labels are consistent.</p>"
        )
    else:
        display.block(
            f"<p><b>{plural(number, 'question')}</b> of {count(questions['denominator'])} "
            f"({percent(exact(questions))}), with {plural(triangles['numerator'], 'such triple')} of answers.</p>"
        )
        display.link(
            f"Open {plural(number, 'question')} with such labels",
            display.into(comparison.selection, queue="nontransitive"),
        )
    display.facts(
        population=plural(questions["population"], "question"),
        unit="questions; triples of answers over all states",
        kernel="semantic",
        status=questions["status"],
    )
    display.table([_flat(questions), _flat(triangles)], "transitivity")


def _of(row: Row) -> str:
    return f"{percent(exact(row), 1)} · {count(row['numerator'])} of {count(row['denominator'])}"


def _interval(row: Row, scale: int, unit: str) -> str:
    if row["low"] is None:
        return "not defined"
    places = 1 if scale == 100 else 2
    return f"{scale * row['low']:.{places}f} to {scale * row['high']:.{places}f}{unit}"


def _flat(row: Row) -> Row:
    return {
        key: row[key] for key in ("name", "value", "numerator", "denominator", "low", "high", "status", "population")
    }


page()
