"""Current verdicts as rows, as CSV that no spreadsheet executes, and as JSONL."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from audit_core.digests import canonical
from audit_core.reviews.fold import Fold
from audit_core.reviews.team import Person

EXPORTED = (
    "study_id",
    "question_id",
    "reviewer",
    "kind",
    "verdict",
    "impact",
    "causes",
    "note",
    "old",
    "new",
    "kernel",
    "at",
    "event",
    "sides",
    "group",
    "source",
    "gold_revealed",
    "item_sha256",
    "bundle",
    "sha256",
)

Row = dict[str, Any]


def export(
    fold: Fold, study_id: str, question_ids: Sequence[str] | None = None, reviewer: str | None = None
) -> list[Row]:
    """Verdicts and adjudications that stand, one row for each question, pair of states and reviewer.

    Args:
        fold: What stands, from `ReviewStore.fold`.
        study_id: The study.
        question_ids: Only these, in this order; None for all, in the order of the events.
        reviewer: Only this person.

    Returns:
        Rows with the keys of `EXPORTED`; `causes` is a list, `event` the number in the store, `gold_revealed` true
        where gold had been shown before the verdict was given.
    """
    found: dict[str, list[Row]] = {}
    for pair in fold.pairs(study_id):
        for who in fold.reviewers(study_id, pair) if reviewer is None else [reviewer]:
            for question_id, standing in fold.standings(study_id, who, pair):
                gold = standing.revealed.get("gold")
                for event in filter(None, (standing.verdict, standing.ruling)):
                    row = {name: getattr(event, name, None) for name in EXPORTED}
                    row["causes"], row["event"] = list(event.causes), event.id
                    row["gold_revealed"] = gold is not None and gold.id < event.id
                    found.setdefault(question_id, []).append(row)
    if question_ids is None:
        return sorted((row for rows in found.values() for row in rows), key=lambda row: row["event"])
    return [row for question_id in question_ids for row in found.get(question_id, [])]


def visible_to(person: Person, rows: Sequence[Row]) -> list[Row]:
    """Rows that a person may see: a reviewer's own, and others' on what they have judged themselves.

    Adjudicators settle and viewers give no verdict, so both see everything.
    """
    if person.may("adjudicate") or not person.may("verdict"):
        return list(rows)
    own = {
        (row["question_id"], row["old"], row["new"])
        for row in rows
        if row["reviewer"] == person.name and row["kind"] == "verdict"
    }
    return [row for row in rows if row["reviewer"] == person.name
            or (row["question_id"], row["old"], row["new"]) in own]  # fmt: skip


def as_jsonl(rows: Iterable[Row]) -> bytes:
    """The machine's form: one canonical JSON object a line."""
    return b"".join(canonical(row) + b"\n" for row in rows)


def as_csv(rows: Iterable[Row], columns: Sequence[str] = EXPORTED) -> bytes:
    """The spreadsheet's form: every field quoted, formulas disarmed, UTF-8 with a signature."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([formula_safe(_text(row[name])) for name in columns])
    return text.getvalue().encode("utf-8-sig")


def formula_safe(text: str) -> str:
    """Text with an apostrophe before it where a spreadsheet would take it for a formula.

    The first visible character decides, after compatibility folding, so that full-width forms count.
    """
    if text[:1] in ("\t", "\r", "\n"):
        return "'" + text
    for character in text:
        if character.isspace() or unicodedata.category(character) in ("Cf", "Cc"):
            continue
        return "'" + text if unicodedata.normalize("NFKC", character)[:1] in "=+-@" else text
    return text


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
