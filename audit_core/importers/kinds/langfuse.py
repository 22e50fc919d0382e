"""Langfuse: items of experiments, as its API and its table export give them; each run is one repeat of one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import Kind, Row, Rows, mixed
from audit_core.importers.kinds.texts import ANSWER, EVIDENCE, GOLD, QUESTION, named, text_in, unpacked
from audit_core.importers.values import ABSENT


class Langfuse(Rows):
    """Rows of one file of experiment items."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer."""
        output = _first(record, "output", "Output")
        if output is ABSENT and "answer" not in self.log.mapped:
            action = "Export experiment items with their input and output (fields=io): a run item only names its trace."
            found, where = mixed(list(record)), self.log.source.name
            raise InputError(Problem("the items hold no answers", "a field output", found, where, action))
        output = unpacked(output)
        row: Row = {
            "question_id": _present(_first(record, "experimentItemId", "datasetItemId", "itemId")),
            "question": text_in(_present(_first(record, "input", "Input")), QUESTION),
            "state": {
                "run": _present(_first(record, "experimentName", "datasetRunName", "runName")),
                "run id": _present(_first(record, "experimentId", "datasetRunId", "runId")),
            },
            "repeat": 1,
            "gold": text_in(_present(_first(record, "expectedOutput", "expected_output", "Expected Output")), GOLD),
            "response_id": record.get("traceId"),
            "time": record.get("startTime"),
        }
        if isinstance(output, dict) and (name := named(EVIDENCE, output)):
            self.log.guessed("evidence", f"output.{name}")
            row["evidence"] = output[name]
        if output is not ABSENT:
            row["answer"] = text_in(output, ANSWER)
        yield row


def _first(record: dict[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if name in record), ABSENT)


def _present(value: Any) -> Any:
    return None if value is ABSENT else value


LANGFUSE = Kind(
    "langfuse",
    "experiment items of Langfuse: JSON, JSONL or CSV",
    Langfuse,
    ("json", "jsonl", "csv"),
    arrays=((), ("data",)),
    states=("run", "run id", "file"),
    roots=("", "metadata", "experimentItemMetadata"),
)
