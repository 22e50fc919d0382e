"""Did retrieval change, and where?"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import streamlit as st

from dashboard import data, display, sentences, state
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import Markup, card, plain
from dashboard.figures.overlap import bubbles, shares
from dashboard.numbers import UNDEFINED, count, decimal, exact, percent, plural
from dashboard.state import KERNELS

Row = dict[str, Any]


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    shared = comparison.pair("shared_documents")
    display.heading("Did retrieval change, and where?", _lead(comparison, shared))
    if display.single_state(comparison):
        return
    if exact(shared) is None:
        display.empty(
            "There is no evidence to compare between these states.",
            plain(shared["reason"]) + " Choose two states that retrieve, or import the <code>evidence</code> column.",
        )
    else:
        _cards(comparison, shared)
        columns = data.columns(
            comparison.selection.study, comparison.selection.kernel, comparison.selection.old, comparison.selection.new
        )
        left, right = st.columns(2)
        with left, st.container(border=True, height="stretch"):
            _flips(comparison, columns)
        with right, st.container(border=True, height="stretch"):
            _scatter(comparison, columns)
    _passes(comparison)


def _lead(comparison: Comparison, shared: Row) -> str:
    value = exact(shared)
    if value is None:
        return "What was retrieved cannot be compared between these states."
    depth = shared["detail"].get("depth")
    return (
        f"From {sentences.states(comparison)}, a question keeps {decimal(value, 2)} of its "
        f"{plain(depth) if depth else 'retrieved'} documents on average; "
        f"{percent(exact(comparison.pair('zero_overlap')))} of questions keep none."
    )


def _cards(comparison: Comparison, shared: Row) -> None:
    selection = comparison.selection
    zero, same, turned = (comparison.pair(m) for m in ("zero_overlap", "identical_sets", "reordered_sets"))
    depth = shared["detail"].get("depth", "")
    bounds = (
        ""
        if shared["low"] is None
        else f"{comparison.level} interval {decimal(shared['low'], 2)} to {decimal(shared['high'], 2)}"
    )
    jaccard, biased = comparison.pair("jaccard"), comparison.pair("rank_biased_overlap")
    entries: tuple[tuple[str, str, str, int | None, dict[str, Any] | None], ...] = (
        ("Shared documents", decimal(exact(shared), 2), f"mean, of {plain(depth)}<br>{bounds}", None, None),
        (
            "No document in common",
            percent(exact(zero)),
            f"{count(zero['numerator'])} of {plural(zero['denominator'], 'question')}",
            zero["numerator"],
            {"queue": "all", "shared": 0},
        ),
        (
            "Same set",
            percent(exact(same)),
            _same(same, turned),
            same["numerator"],
            {"queue": "all", "fact": "same_set"},
        ),
        (
            "Overlap of lists",
            decimal(exact(jaccard), 3),
            f"mean Jaccard<br>rank-biased overlap {decimal(exact(biased), 3)} (p = 0.9)",
            None,
            None,
        ),
    )
    for column, (label, value, note, number, narrowed) in zip(st.columns(4), entries, strict=True):
        with column, st.container(border=True, height="stretch", gap="xsmall"):
            display.block(card(label, value, note))
            if number and narrowed:
                display.link(f"Open {plural(number, 'question')}", display.into(selection, **narrowed))
            elif narrowed is None:
                display.link(
                    f"All {plural(shared['population'], 'question')}",
                    display.into(selection, queue="all", shared=(0, 10_000)),
                )
    display.facts(
        population=plural(shared["population"], "question"),
        unit="distinct documents of the top lists",
        kernel="document ids",
        status=shared["status"],
    )


def _same(same: Row, turned: Row) -> str:
    if not same["numerator"]:
        return "no question keeps all its documents"
    return (
        f"{plural(same['numerator'], 'question keeps', 'questions keep')} every document, "
        f"{count(turned['numerator'])} of them in another order"
    )


def _flips(comparison: Comparison, columns: dict[str, list[Any]]) -> None:
    selection = comparison.selection
    display.block("<h2 style='margin-top:0'>Flips beside other questions</h2>")
    pairs = Counter(zip(columns["shared"], columns["flip"], strict=True))
    depth = sorted({shared for shared, _ in pairs if shared is not None})
    total = {flip: sum(n for (s, f), n in pairs.items() if s is not None and f == flip) for flip in (0, 1)}
    if not total[1]:
        display.empty("No flip has evidence in both states.", "There is nothing to set beside the other questions.")
        return
    heights = {flip: [100 * pairs[s, flip] / total[flip] if total[flip] else 0 for s in depth] for flip in (0, 1)}
    opens = {f"flips-{s}": display.into(selection, shared=s) for s in depth}
    opens |= {f"all-{s}": display.into(selection, queue="all", shared=s) for s in depth}
    display.figure(
        shares(depth, heights[1], heights[0], [str(s) for s in depth], display.palette()),
        "flip-overlap",
        "Shared documents of flips and of other questions",
        opens=opens,
    )
    flips, others = comparison.pair("shared_documents[flips]"), comparison.pair("shared_documents[nonflips]")
    test = comparison.pair("zero_overlap_test")
    p = test["detail"].get("fisher_p")
    display.block(
        f'<p class="small">Flips share <b>{decimal(exact(flips), 2)}</b> documents on average, other questions '
        f"<b>{decimal(exact(others), 2)}</b>. Zero overlap against flipping: Fisher's exact test, two-sided, "
        f"p = {decimal(float(p), 3) if p else UNDEFINED}. "
        '<span class="mut">A hint at a mechanism, not a cause: what else differs between these questions is not '
        "controlled.</span></p>"
    )
    display.facts(
        population=f"{plural(total[1], 'flip')} and {plural(total[0], 'other question')}",
        unit="questions",
        kernel=f"{KERNELS[selection.kernel]} for flips",
        status="post-hoc" if comparison.locked else "exploratory",
    )
    display.table(
        [{"shared documents": s, "flips": pairs[s, 1], "other questions": pairs[s, 0]} for s in depth], "flip-overlap"
    )


def _scatter(comparison: Comparison, columns: dict[str, list[Any]]) -> None:
    selection = comparison.selection
    display.block("<h2 style='margin-top:0'>Overlap and contrast</h2>")
    places: Counter[tuple[int, Fraction]] = Counter()
    flipped: Counter[tuple[int, Fraction]] = Counter()
    parts = (columns[name] for name in ("shared", "numerator", "denominator", "flip"))
    for (shared, top, bottom, flip), number in Counter(zip(*parts, strict=True)).items():
        if shared is not None and top is not None and bottom:
            places[shared, Fraction(top, bottom)] += number
            flipped[shared, Fraction(top, bottom)] += number * flip
    if not places:
        display.empty(
            "No question has both evidence and a contrast.",
            plain(comparison.pair("excess_churn", selection.kernel)["reason"]),
        )
        return
    order = sorted(places, key=lambda place: -places[place])
    names = [f"{shared}|{value}" for shared, value in order]
    opens = {
        name: display.into(selection, queue="all", shared=shared, contrast=value)
        for name, (shared, value) in zip(names, order, strict=True)
    }
    drawing = bubbles(
        [s for s, _ in order],
        [float(v) for _, v in order],
        [places[p] for p in order],
        [flipped[p] for p in order],
        names,
        display.palette(),
    )
    display.figure(drawing, "overlap-contrast", "Shared documents against the contrast of each question", opens=opens)
    display.note(
        "The area of a circle is its number of questions; orange circles hold repeat-stable flips. A click opens them."
    )
    display.facts(
        population=plural(sum(places.values()), "question"),
        unit="questions",
        kernel=KERNELS[selection.kernel],
        status="post-hoc" if comparison.locked else "exploratory",
    )
    display.table(
        [
            {"shared documents": s, "contrast": float(v), "questions": places[s, v], "flips": flipped[s, v]}
            for s, v in sorted(places)
        ],
        "overlap-contrast",
    )


def _passes(comparison: Comparison) -> None:
    display.section(
        "Retrieval pass against audit pass",
        "The same retrieval, done twice: ids in order and rendered bytes must be equal.",
    )
    found = [check for check in data.checks(comparison.selection.study) if "retriev" in check["title"].lower()]
    if not found:
        display.empty(
            "This study has no check of a second retrieval pass.",
            "Whether retrieval repeats itself cannot be told from it.",
        )
        return
    display.block(
        display.grid(
            ("check", "what is checked", "result", "detail"),
            [
                (check["check_id"], check["title"], Markup(display.outcome(check["result"])), check["detail"])
                for check in found
            ],
        )
    )


page()
