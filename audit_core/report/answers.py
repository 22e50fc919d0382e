"""A study's answers as a long table that ``import table`` takes back, and its ranked lists as TREC runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from audit_core.digests import canonical
from audit_core.errors import InputError, NotMeasurableError, Problem
from audit_core.model import Dossier, Evidence, Excerpt
from audit_core.reviews.export import formula_safe
from audit_core.study import Study
from audit_core.study.passages import Passages

COLUMNS = (
    "question_id", "question", "state", "repeat", "answer", "status", "error", "gold", "evidence", "tags", "weight",
    "outcome", "excerpts",
)  # fmt: skip
Row = dict[str, Any]


def rows(study: Study) -> Iterator[Row]:
    """One row a cell, in study order: the columns of `importers.columns`, lists as lists."""
    with closing(Passages(study)) as texts:
        yield from _rows(study, texts)


def _rows(study: Study, texts: Passages) -> Iterator[Row]:
    for dossier in study.dossiers():
        question, gold = dossier.question, dossier.gold
        for cell in dossier.cells:
            shown = _evidence(dossier, cell.state, cell.repeat)
            yield {
                "question_id": question.question_id,
                "question": question.text,
                "state": cell.state,
                "repeat": cell.repeat,
                "answer": cell.answer,
                "status": cell.status,
                "error": cell.error,
                "gold": list(gold.aliases) if gold else None,
                "evidence": None if shown is None else [
                    {"document_id": d.document_id, "rank": d.rank, "score": d.score, "title": d.title,
                     "family": d.family or None, "text": texts[d.passage] if d.passage else None}
                    for d in shown.documents
                ],
                "tags": list(question.tags),
                "weight": question.weight,
                "outcome": cell.outcome,
                "excerpts": [_said(excerpt) for excerpt in cell.excerpts] or None,
            }  # fmt: skip


def as_jsonl(study: Study) -> Iterator[bytes]:
    """One canonical JSON object a line; what is not there is left out."""
    for row in rows(study):
        kept = {name: value for name, value in row.items() if value is not None}
        for document in kept.get("evidence", []):
            for name in [name for name, value in document.items() if value is None]:
                del document[name]
        yield canonical(kept) + b"\n"


def as_csv(study: Study) -> Iterator[bytes]:
    """Every field quoted, lists as JSON, formulas disarmed: for a spreadsheet; JSONL is the machine's form."""
    yield b"\xef\xbb\xbf" + _line(list(COLUMNS))
    for row in rows(study):
        yield _line([_text(row[name]) for name in COLUMNS])


def as_run(study: Study, state: str) -> Iterator[bytes]:
    """The ranked lists of one state: ``qid Q0 docid rank score tag``.

    Raises:
        InputError: The study has no such state, or an id holds white space, which the format cannot carry.
        NotMeasurableError: The state has no ranked lists, or more than one for a question.
    """
    names = [item.name for item in study.protocol.states]
    if state not in names:
        raise InputError(Problem("the study has no such state", " or ".join(names), state, "--state"))
    lines = 0
    for dossier in study.dossiers():
        lists = [item for item in dossier.evidence if item.state == state]
        if len(lists) > 1:
            raise NotMeasurableError(
                Problem("a run holds one list a question", "one list for all repeats", f"{len(lists)}",
                        dossier.question.question_id, "Export the answers as JSONL instead.")
            )  # fmt: skip
        for item in lists:
            for document in item.documents:
                names_ = (dossier.question.question_id, document.document_id)
                if any(not name or name.split() != [name] for name in names_):
                    raise InputError(Problem("an id cannot stand in a run", "no white space", repr(names_), state))
                score = document.score or str(-document.rank)
                yield f"{names_[0]} Q0 {names_[1]} {document.rank} {score} snapshot-audit\n".encode()
                lines += 1
    if not lines:
        raise NotMeasurableError(
            Problem("the state has no ranked lists", "evidence", "none", state, "Choose a state that retrieves.")
        )


def _evidence(dossier: Dossier, state: str, repeat: int) -> Evidence | None:
    """The list of a cell: its own, else the one of all repeats."""
    lists = [item for item in dossier.evidence if item.state == state and item.repeat in (None, repeat)]
    return next((item for item in lists if item.repeat is not None), lists[0] if lists else None)


def _said(excerpt: Excerpt) -> Row:
    named = {"text": excerpt.text, "document_id": excerpt.document_id, "rank": excerpt.rank}
    return {name: value for name, value in named.items() if value is not None}


def _line(fields: list[str]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(fields)
    return stream.getvalue().encode("utf-8", "surrogatepass")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else formula_safe(str(value))
