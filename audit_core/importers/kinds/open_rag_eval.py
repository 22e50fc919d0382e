"""Open RAG Eval: a CSV file with one row a passage, and the answer on the first of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from audit_core.importers.kinds.log import Kind, Row, Rows

_MARK = re.compile(r"\s*\[?\d+\]?\s*")
"""``[1]`` is the place of a passage in its list, which says nothing of which passage it is."""


class OpenRagEval(Rows):
    """Rows of one file, a passage each; they become one cell by question, state and run."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One passage."""
        identity, passage = record.get("passage_id"), record.get("passage")
        if passage and (not isinstance(identity, str) or _MARK.fullmatch(identity)):
            identity = None
        yield {
            "question_id": record.get("query_id"),
            "question": record.get("query"),
            "repeat": record.get("query_run", "1"),
            "passage_id": identity,
            "passage": passage,
            "answer": record.get("generated_answer"),
        }


OPEN_RAG_EVAL = Kind(
    "open-rag-eval",
    "answers of Open RAG Eval: CSV with one row a passage",
    OpenRagEval,
    ("csv",),
    columns=("passage_id", "passage"),
)
