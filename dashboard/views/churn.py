"""How much is noise, how much is the update?"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import streamlit as st

from dashboard import data, display, matrix, sentences, slices, state, sureness
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import plain
from dashboard.figures.agreement import Dot, dots
from dashboard.figures.contrast import Level, bootstrap, distribution
from dashboard.numbers import UNDEFINED, decimal, degenerate, exact, interval, percent, plural, points
from dashboard.state import KERNELS

Row = dict[str, Any]


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    display.heading("How much is noise, how much is the update?", _lead(comparison))
    if display.single_state(comparison):
        return
    display.three_numbers(comparison)
    _agreement(comparison)
    left, right = st.columns(2)
    with left, st.container(border=True, height="stretch"):
        _contrasts(comparison)
    with right, st.container(border=True, height="stretch"):
        _bootstrap(comparison)
    sureness.panel(comparison)
    matrix.panel(comparison)
    slices.panel(comparison)


def _lead(comparison: Comparison) -> str:
    kernel = comparison.selection.kernel
    row = comparison.pair("excess_churn", kernel)
    value = exact(row)
    if value is None:
        return plain(row["reason"])
    within = exact(comparison.pair("baseline_agreement", kernel))
    return (
        f"Repeats of one state disagree {percent(1 - within) if within is not None else UNDEFINED} of the time; the "
        f"step from {sentences.states(comparison)} adds {points(value)} ({KERNELS[kernel]})."
    )


def _agreement(comparison: Comparison) -> None:
    selection = comparison.selection
    display.section(
        "Agreement within each state and across them",
        "Both floors are shown apart: a state that only became less repeatable must not read as churn. "
        f"Lines are two-sided {comparison.level} intervals.",
    )
    shown = sentences.kernels(comparison)
    for column, kernel in zip(st.columns(len(shown)), shown, strict=True):
        with column, st.container(border=True, height="stretch"):
            display.block(f"<h3>{KERNELS[kernel].capitalize()}</h3>")
            named = [
                (
                    f"within {selection.old}",
                    comparison.state("within_agreement", selection.old, kernel),
                    "old",
                    "unstable_old",
                ),
                (
                    f"within {selection.new}",
                    comparison.state("within_agreement", selection.new, kernel),
                    "new",
                    "unstable_new",
                ),
                ("same-state baseline", comparison.pair("baseline_agreement", kernel), "noise", "all"),
                ("across the states", comparison.pair("cross_agreement", kernel), "ink", "flips"),
            ]
            rows, marks = [], []
            for label, row, role, queue in named:
                value = exact(row)
                rows.append(
                    {
                        "agreement": label,
                        "value": row["value"],
                        "low": row["low"],
                        "high": row["high"],
                        "questions": row["population"],
                        "status": row["status"],
                        "reason": row["reason"],
                    }
                )
                if value is not None:
                    marks.append(
                        Dot(
                            label,
                            float(value * 100),
                            _hundred(row["low"]),
                            _hundred(row["high"]),
                            role,
                            percent(value),
                            queue,
                        )
                    )
            if not marks:
                display.empty("No agreement can be measured.", plain(named[0][1]["reason"]))
                continue
            display.figure(
                dots(marks, display.palette()),
                f"agreement-{kernel}",
                "Agreement within and across states",
                opens={queue: display.into(selection, kernel=kernel, queue=queue) for *_, queue in named},
            )
            across = named[-1][1]
            display.facts(
                population=plural(across["population"], "question"),
                unit="pairs of answers",
                kernel=KERNELS[kernel],
                status=across["status"],
            )
            display.table(rows, f"agreement-{kernel}")


def _hundred(value: float | None) -> float | None:
    return None if value is None else value * 100


def _contrasts(comparison: Comparison) -> None:
    selection = comparison.selection
    display.block("<h2 style='margin-top:0'>Which questions carry it</h2>")
    columns = data.columns(selection.study, selection.kernel, selection.old, selection.new)
    counted: Counter[tuple[Fraction, int]] = Counter()
    for (top, bottom, flip), number in Counter(
        zip(columns["numerator"], columns["denominator"], columns["flip"], strict=True)
    ).items():
        if top is not None and bottom:
            counted[Fraction(top, bottom), flip] += number
    if not counted:
        display.empty("No question has a contrast.", plain(comparison.pair("excess_churn", selection.kernel)["reason"]))
        return
    values = sorted({value for value, _ in counted})
    levels = [Level(float(v), counted[v, 1], counted[v, 0], str(v)) for v in values]
    opens = {str(v): display.into(selection, queue="all", contrast=v) for v in values}
    display.figure(
        distribution(levels, display.palette()), "contrasts", "Number of questions at each contrast", opens=opens
    )
    flips, part = (
        comparison.pair("repeat_stable_flips", selection.kernel),
        comparison.pair("flip_contribution", selection.kernel),
    )
    rest, noise = (
        comparison.pair("rest_contribution", selection.kernel),
        comparison.pair("expected_noise_flips", selection.kernel),
    )
    text = "There are no repeat-stable flips; what there is of excess churn comes from partial disagreement."
    if flips["numerator"]:
        text = (
            f"<b>{plural(flips['numerator'], 'repeat-stable flip')}</b> "
            f"{'contributes' if flips['numerator'] == 1 else 'contribute'} {points(exact(part))} of excess "
            f"churn, all other questions {points(exact(rest))}."
        )
        if exact(noise) is not None:
            text += f" Noise alone would be expected to look like {_flips(noise)} of these flips."
    display.block(f'<p class="small">{text}</p>')
    row = comparison.pair("excess_churn", selection.kernel)
    display.facts(
        population=plural(row["population"], "question"),
        unit="questions",
        kernel=KERNELS[selection.kernel],
        status=flips["status"],
    )
    if flips["numerator"]:
        display.link(plural(flips["numerator"], "repeat-stable flip"), display.into(selection))
    outside = [q for q, top in zip(columns["question_id"], columns["numerator"], strict=True) if top is None]
    if outside:
        display.note(plain(row["reason"]))
        display.link(f"{plural(len(outside), 'question')} outside", display.into(selection, queue="all", only=outside))
    display.table(
        [
            {"contrast": level.value, "repeat-stable flips": level.flips, "other questions": level.others}
            for level in levels
        ],
        "contrasts",
    )


def _flips(noise: Row) -> str:
    """The expected number of noise flips: the share times the questions."""
    return decimal(Fraction(noise["numerator"], noise["denominator"]) * noise["population"], 1)


def _bootstrap(comparison: Comparison) -> None:
    selection = comparison.selection
    display.block("<h2 style='margin-top:0'>Resampling the questions</h2>")
    row = comparison.pair("excess_churn", selection.kernel)
    value = exact(row)
    found = (
        data.resampled(selection.study, selection.kernel, selection.old, selection.new) if value is not None else None
    )
    if value is None or found is None:
        display.empty("There is no bootstrap distribution.", plain(row["reason"] or row["detail"].get("bounds", "")))
        return
    if degenerate(row):
        display.empty(
            "All questions have the same contrast.",
            "Resampling cannot vary, so the bounds equal the estimate and carry no information.",
        )
        return
    margin = _margin(comparison)
    display.figure(
        bootstrap(*found, display.palette(), estimate=float(value * 100), lower=_hundred(row["lower"]), margin=margin),
        "bootstrap",
        "Bootstrap distribution of excess churn",
    )
    note = (
        f"Exact distribution over resampled questions. One-sided {comparison.level} lower bound "
        f"{decimal(row['lower'], 2, 100)} pp, "
        f"two-sided {comparison.level} interval {interval(row)} pp."
    )
    if margin is not None:
        note += " The margin is part of the protocol's rule."
    display.block(f'<p class="small">{note}</p>')
    display.facts(
        population=plural(row["population"], "question"),
        unit="whole questions resampled",
        kernel=KERNELS[selection.kernel],
        status=row["status"],
    )
    display.table([{"excess churn, pp": x, "probability": p} for x, p in zip(*found, strict=True)], "bootstrap")


def _margin(comparison: Comparison) -> float | None:
    """The margin of the rule, where it is about this pair and kernel."""
    rule = (comparison.study["protocol"] or {}).get("decision")
    if not rule or sentences.decision(comparison) is None or comparison.selection.kernel != "exact":
        return None
    return float(Fraction(rule["margin"]) * 100)


page()
