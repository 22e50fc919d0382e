"""Tables of outcomes: each state by itself, flows between two, where the noise comes from, and excerpts."""

from __future__ import annotations

from typing import Any

from audit_core.rules.excerpts import KINDS, ExcerptKind
from dashboard import data, display
from dashboard.comparison import Comparison
from dashboard.display import Markup, plain
from dashboard.numbers import UNDEFINED, count, exact, interval, percent, plural
from dashboard.state import KERNELS

Row = dict[str, Any]
OUTCOMES = ("answered", "partial", "refused")
HEADS: dict[ExcerptKind, str] = {
    "exact": "to the letter", "fold": "but for layout", "elsewhere": "in another passage",
    "spans two": "over two passages", "absent": "in none", "not checked": "not checked",
}  # fmt: skip
"""Classes of excerpts in words."""
NONE = Markup('<span class="mut">–</span>')
"""A cell without a number; the reason stands under the table."""


def pair_of(comparison: Comparison) -> list[str]:
    """The two states, once where they are one."""
    return list(dict.fromkeys((comparison.selection.old, comparison.selection.new)))


def split_link(comparison: Comparison, name: str, *, same: bool = False) -> display.Parameters:
    """The questions that split in a state: the pair of the link has it as its old or its new state."""
    selection = comparison.selection
    states = [s["state"] for s in comparison.study["states"]]
    side = "old" if name == selection.old else "new"
    pair = {} if name in (selection.old, selection.new) else {"new": name}
    if pair and selection.old == name:
        pair = {"old": name, "new": next(s for s in states if s != name)}
    facts = [f"split_{side}", *([f"same_evidence_{side}"] if same else [])]
    return display.into(selection, queue="all", fact=facts, **pair)


def states(comparison: Comparison) -> None:
    """How often repeats of each state do different things, and what that is of its noise."""
    display.section(
        "Each state by itself",
        f"Splits among questions with two repeats or more, with exact two-sided {comparison.level} intervals.",
    )
    kernel, cells, rows = comparison.selection.kernel, [], []
    shown: list[Row] = []
    for entry in comparison.study["states"]:
        name = entry["state"]
        same, every = comparison.state("outcome_split", name), comparison.state("outcome_split_any", name)
        share = comparison.state("split_share", name, kernel)
        shown += same, every, share
        cells.append((
            Markup(f'<b>{plain(name)}</b> <span class="mut">{plain(entry["label"])}</span>'),
            _of(same, split_link(comparison, name, same=True)), _of(every, split_link(comparison, name)),
            _rate(share), _right_evidence(comparison, name),
        ))  # fmt: skip
        rows.append({
            "state": name, "split, same evidence": same["numerator"], "of": same["denominator"], "low": same["low"],
            "high": same["high"], "split, any evidence": every["numerator"], "of all": every["denominator"],
            "share of disagreement": share["value"],
        })  # fmt: skip
    head = ("state", "split, same evidence", "split, any evidence", f"of the noise ({KERNELS[kernel]})",
            "refusals beside a passage with the gold answer")  # fmt: skip
    display.block(display.grid(head, cells, numeric=(1, 2, 3, 4)))
    display.note(
        "<b>Of the noise</b>: the share of the disagreement among repeats of one state that lies in questions of which "
        "one repeat refuses and another does not." + _reasons(shown)
    )
    row = comparison.state("outcome_split", comparison.selection.new)
    display.facts(population=population(shown), unit="questions", kernel="outcome of an answer",
                  status=row["status"])  # fmt: skip
    display.table(rows, "splits-by-state")


def _of(row: Row, link: display.Parameters) -> Markup:
    if exact(row) is None:
        return NONE
    ends = f' <span class="mut">({interval(row)}%)</span>' if interval(row) else ""
    return Markup(f"{display.opening(count(row['numerator']), link)} of {count(row['denominator'])}{ends}")


def _right_evidence(comparison: Comparison, name: str) -> Markup | str:
    """Refusals although a shown passage mentions an accepted answer."""
    found = data.over_evidence(comparison.selection.study, name)
    if not found.refused:
        return "no refusal"
    if not found.told:
        return "not known: no gold, or no texts"
    pair = {} if name in pair_of(comparison) else {"new": name}
    ids = list(dict.fromkeys(row["question_id"] for row in found.found))
    opens = display.into(comparison.selection, queue="all", only=ids, **pair)
    return Markup(f"{display.opening(count(len(found.found)), opens)} of {count(found.told)}")


def flows(comparison: Comparison) -> None:
    """Matched repeats by outcome at the old state, then at the new one."""
    display.section("From outcome to outcome", "Matched repeats; diagnostic and not noise-corrected.")
    old, new = comparison.selection.old, comparison.selection.new
    moves = data.outcome_flows(comparison.selection.study, old, new)
    if not sum(sum(row.values()) for row in moves.values()):
        display.empty("No question has answers in both states.", "Choose two states that share questions.")
        return
    head = (f"{old} ↓  {new} →", *OUTCOMES)
    display.block(display.grid(
        head, [(Markup(f"<b>{word}</b>"), *(count(moves[word][to]) for to in OUTCOMES)) for word in OUTCOMES],
        numeric=(1, 2, 3),
    ))  # fmt: skip
    row = comparison.pair("outcome_transitions[to_refused]")
    display.facts(population=plural(row["population"], "question"), unit=row["unit"] or "matched repeats",
                  kernel="outcome of an answer", status=row["status"])  # fmt: skip
    display.table([{"from": word, **moves[word]} for word in OUTCOMES], "outcome-flows")


def noise(comparison: Comparison) -> None:
    """Whether repeats disagree with the same evidence before them, or because they were shown other evidence."""
    display.section(
        "Where does the noise come from?",
        "Disagreement among repeats of one state, split by whether the two repeats saw the same evidence.",
    )
    kernel, cells, rows = comparison.selection.kernel, [], []
    shown: list[Row] = []
    for entry in comparison.study["states"]:
        name = entry["state"]
        same, other = (comparison.state("noise", name, f"{kernel}, {word} evidence") for word in ("same", "other"))
        parts = [
            comparison.state("noise_contribution", name, f"{kernel}, {word} evidence") for word in ("same", "other")
        ]
        shown += same, other, *parts
        unseen = exact(same) is None and exact(parts[0]) is not None  # no two repeats had the same evidence
        own = UNDEFINED if unseen else _rate(parts[0])
        cells.append((Markup(f"<b>{plain(name)}</b>"), _rate(same), _rate(other), own, _rate(parts[1])))
        rows.append({
            "state": name, "disagreement, same evidence": same["value"], "disagreement, other evidence": other["value"],
            "contribution, same evidence": None if unseen else parts[0]["value"],
            "contribution, other evidence": parts[1]["value"],
        })  # fmt: skip
    head = (
        "state",
        "disagree, same evidence",
        "disagree, other evidence",
        "generator's part",
        "retrieval's part at most",
    )
    display.block(display.grid(head, cells, numeric=(1, 2, 3, 4)))
    display.note(
        "The two parts add up to the disagreement of the state. With the same evidence neither retrieval nor the index "
        "can be the cause; with other evidence it may be retrieval, or the generator all the same." + _reasons(shown)
    )
    row = comparison.state("noise", comparison.selection.new, f"{kernel}, same evidence")
    display.facts(population=population(shown), unit=row["unit"] or "pairs of answers",
                  kernel=KERNELS[kernel], status=row["status"])  # fmt: skip
    display.table(rows, "noise-by-evidence")


def excerpts(comparison: Comparison) -> None:
    """Whether excerpts that answers carry are in the passages that were shown; nothing where there are none."""
    found = data.excerpts(comparison.selection.study)
    if not found:
        return
    display.section(
        "Excerpts that answers carry",
        "Each is looked for in the passage that it names: to the letter, then but for white space, ligatures, hyphens, "
        "dashes and quotes; never digits, signs or units.",
    )
    states = [s["state"] for s in comparison.study["states"] if s["state"] in found]
    cells = []
    for name in states:
        pair = {} if name in pair_of(comparison) else {"new": name}
        cells.append((
            Markup(f"<b>{plain(name)}</b>"),
            *(display.opening(count(len(ids)), display.into(
                comparison.selection, queue="all", only=list(dict.fromkeys(ids)), **pair))
              for ids in (found[name].get(kind, []) for kind in KINDS)),
        ))  # fmt: skip
    display.block(display.grid(("state", *HEADS.values()), cells, numeric=range(1, len(KINDS) + 1)))
    display.facts(population=plural(comparison.study["questions"], "question"), unit="excerpts",
                  kernel="excerpts against the passages shown", status="exploratory")  # fmt: skip
    display.table([{"state": name} | {kind: len(found[name].get(kind, [])) for kind in KINDS} for name in states],
                  "excerpts")  # fmt: skip


def _rate(row: Row) -> Markup | str:
    value = exact(row)
    return NONE if value is None else percent(value)


def _reasons(rows: list[Row]) -> str:
    """Why there are cells without a number, each reason once."""
    found = dict.fromkeys(row["reason"] for row in rows if exact(row) is None)
    return f" <b>–</b> {plain(' '.join(found))}" if found else ""


def population(rows: list[Row]) -> str:
    """Questions that the rows of a table rest on; each rests on these or on some of them."""
    return plural(max((row["population"] for row in rows), default=0), "question")
