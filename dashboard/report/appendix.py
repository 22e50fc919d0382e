"""Every estimate of the study."""

from __future__ import annotations

from audit_core.printed import SHARES, Row
from dashboard.comparison import Comparison
from dashboard.markup import Markup
from dashboard.numbers import degenerate, exact
from dashboard.report.writer import Writer, table

COLUMNS = ("estimate", "value", "exact", "lower bound", "interval", "questions", "status")


def section(comparison: Comparison, writer: Writer) -> str:
    """Tables by measure, in the order of the results."""
    groups: dict[str, list[Row]] = {}
    tagged = "excess_churn_without_tag"  # its names are texts of the study
    for row in comparison.estimates.values():
        if writer.redacted and row["measure"] == tagged:
            continue
        groups.setdefault(row["measure"], []).append(row)
    return "".join(
        table(_title(measure), COLUMNS, [_row(writer, row) for row in rows], numeric=range(1, 6))
        for measure, rows in groups.items()
    )


def _title(measure: str) -> str:
    return "Token F1" if measure == "token_f1" else measure.replace("_", " ").capitalize()


def _row(writer: Writer, row: Row) -> tuple[object, ...]:
    name = Markup(f"<span class='mono'>{writer.say('estimate', row['name'], 'name')}</span>")
    if row["reason"]:
        name = Markup(f"{name}<br><span class='small'>{writer.say('estimate', row['name'], 'reason')}</span>")
    value = exact(row)
    if value is None:
        return name, "not measurable", "", "", "", writer.number(row, "count", "population"), row["status"]
    shares = ""
    if row["numerator"] is not None and row["unit"] != "probability":
        shares = f"{writer.number(row, 'count', 'numerator')} / {writer.number(row, 'count', 'denominator')}"
    lower = between = ""
    if degenerate(row):
        between = "none: all equal"
    elif row["low"] is not None:
        form = "hundredths" if row["unit"] in SHARES else "plain"
        lower = writer.number(row, form, "lower") if row["lower"] is not None else ""
        between = Markup(" to ".join(writer.number(row, form, end) for end in ("low", "high")))
    return (
        name, writer.number(row, "auto"), Markup(shares), lower, between, writer.number(row, "count", "population"),
        row["status"],
    )  # fmt: skip
