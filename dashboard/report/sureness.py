"""How sure it is: chance, single questions, and the same number in other ways. None of it decides."""

from __future__ import annotations

from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.markup import Markup
from dashboard.numbers import degenerate, exact
from dashboard.report.writer import Writer, bullets, table
from dashboard.selection import KERNELS


def section(comparison: Comparison, writer: Writer) -> str:
    """The section; empty where there is nothing to look at in other ways."""
    kernel = comparison.selection.kernel
    if exact(comparison.pair("excess_churn", kernel)) is None:
        return ""
    said, rows = _said(comparison, writer, kernel), _ways(comparison, writer)
    lead = "The same movement looked at in other ways. Nothing here decides."
    columns = ("way of looking", "excess churn", "interval, pp", "questions", "status")
    ways = table("The same in other ways", columns, rows, numeric=(1, 2, 3)) if rows else ""
    return f"<p class='small'>{lead}</p>{bullets(said)}{ways}" if said or rows else ""


def _said(comparison: Comparison, writer: Writer, kernel: str) -> list[str]:
    chance, weight, drop = (
        comparison.pair(measure, kernel) for measure in ("permutation_p", "largest_influence", "dropped_to_zero")
    )
    said = []
    if exact(chance) is not None:
        said.append(
            "If both states answered alike, a gap of this size or more would come up with a chance of "
            f"{writer.number(chance, 'probability')} (permutation test within questions)."
        )
    if exact(weight) is not None:
        said.append(f"Without the question that weighs most, it moves by {writer.number(weight, 'signed')}.")
    if exact(drop) is not None:
        single = drop["numerator"] == 1
        words = "question with the largest contrast" if single else "questions with the largest contrasts"
        number = writer.number(drop, "count", "numerator")
        said.append(f"The {number} {words} would have to be left out before it could be repeat noise.")
    return said


def _ways(comparison: Comparison, writer: Writer) -> list[tuple[object, ...]]:
    """Excess churn by other bounds, without refusals, under other rules and by a second judge."""
    old, new = comparison.selection.old, comparison.selection.new
    named: list[tuple[object, str]] = []
    for kernel in sentences.kernels(comparison):
        words, at = KERNELS[kernel], f"@{old}-{new}"
        named.append((f"{words}, other bounds (BCa)", f"bca_excess_churn[{kernel}]{at}"))
        named.append((f"{words}, without refusals", f"excess_churn[{kernel}, without refusals]{at}"))
        if kernel == "exact":
            for name, row in comparison.rows.items():
                if row["measure"] == "excess_churn_other_rule" and name.endswith(at):
                    rule = Markup(f"kernel {writer.say('estimate', name, 'kernel')}")
                    named.append(("texts to the letter" if row["kernel"] == "exact:raw" else rule, name))
        else:
            for judge in (judge["judge"] for judge in comparison.study["judges"] if judge["role"] != "primary"):
                who = Markup(f"by the judge {writer.say('judge', judge, 'name')}")
                named.append((who, f"excess_churn[semantic:{judge}]{at}"))
    rows: list[tuple[object, ...]] = []
    for what, name in named:
        row = comparison.named(name)
        if exact(row) is None:
            continue
        ends: object = ""
        if row["low"] is not None and not degenerate(row):
            ends = Markup(" to ".join(writer.number(row, "hundredths", end) for end in ("low", "high")))
        questions = writer.number(row, "count", "population")
        rows.append((what, writer.number(row, "points"), ends, questions, row["status"]))
    return rows
