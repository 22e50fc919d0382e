"""RAGChecker: id, question, gold, answer and ranked evidence in one record; one file is one repeat of one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.importers.kinds.log import Kind, Row, Rows


class RagChecker(Rows):
    """Rows of one file."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer."""
        row: Row = {
            "question_id": record.get("query_id"),
            "question": record.get("query"),
            "repeat": 1,
            "gold": record.get("gt_answer"),
            "evidence": record.get("retrieved_context"),
        }
        if "response" in record:
            row["answer"] = record["response"]
        yield row


RAGCHECKER = Kind(
    "ragchecker",
    "inputs or results of RAGChecker: JSON",
    RagChecker,
    ("json",),
    arrays=(("results",),),
    dropped=(("metrics",),),
)
