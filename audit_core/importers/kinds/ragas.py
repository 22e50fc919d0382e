"""RAGAS data sets: current and older names of columns; several responses of one record are repeats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import Kind, Log, Row, Rows, mixed
from audit_core.importers.kinds.texts import asked, listed, with_ids
from audit_core.importers.values import ABSENT

_QUESTION, _GOLD = ("user_input", "question"), ("reference", "ground_truth", "ground_truths")
_ANSWER, _TEXTS = ("response", "answer"), ("retrieved_contexts", "contexts")


class Ragas(Rows):
    """Rows of one data set; the file is one state, and one repeat unless it holds several responses a record."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One row a response."""
        question = _first(record, _QUESTION)
        if question is ABSENT and "question" not in self.log.mapped:
            raise _foreign(self.log, record)
        question = listed(question)
        gold, answer = _first(record, _GOLD), _first(record, _ANSWER)
        row: Row = {
            "question": asked(question) if isinstance(question, list) else None if question is ABSENT else question,
            "gold": None if gold is ABSENT else gold,
            "evidence": with_ids(_present(_first(record, _TEXTS)), record.get("retrieved_context_ids")),
        }
        several = listed(record.get("multi_responses"))
        if isinstance(several, list) and several:
            for repeat, text in enumerate(several, 1):
                yield {**row, "repeat": repeat, "answer": text}
        else:
            yield {**row, "repeat": 1, **({} if answer is ABSENT else {"answer": answer})}


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if name in record), ABSENT)


def _present(value: Any) -> Any:
    return None if value is ABSENT else value


def _foreign(log: Log, record: dict[str, Any]) -> InputError:
    action = "Name it: --map question=NAME, or import the file as a table."
    names = "a field user_input or question"
    return InputError(Problem("no question in the record", names, mixed(list(record)), log.source.name, action))


RAGAS = Kind(
    "ragas",
    "data sets and results of RAGAS: JSONL, CSV, JSON or Parquet",
    Ragas,
    ("csv", "jsonl", "json", "parquet"),
    arrays=((), ("samples",), ("data",)),
)
