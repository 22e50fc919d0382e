"""DeepEval test runs: one file is one repeat of one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.importers.kinds.log import Kind, Row, Rows
from audit_core.importers.values import ABSENT


class DeepEval(Rows):
    """Rows of one test run."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer; the name of a case is its place in the run, and therefore no id."""
        row: Row = {
            "question": record.get("input"),
            "repeat": 1,
            "gold": record.get("expectedOutput") or None,
            # Never context, which is what an ideal retrieval would find and the same for every snapshot.
            "evidence": record.get("retrievalContext"),
            "tags": record.get("tags") if isinstance(record.get("tags"), list) else None,
        }
        answer = record.get("actualOutput", ABSENT)
        if answer is not ABSENT:
            row["answer"] = answer
        yield row


DEEPEVAL = Kind(
    "deepeval",
    "test runs of DeepEval: .latest_run_full.json or test_run_….json",
    DeepEval,
    ("json",),
    arrays=(("testCases",), ("testRunData", "testCases")),
    roots=("", "metadata"),
)
