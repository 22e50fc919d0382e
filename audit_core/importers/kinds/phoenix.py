"""Phoenix experiments, CSV or JSON: the one export with a repeat number of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.importers.kinds.log import Kind, Row, Rows
from audit_core.importers.kinds.texts import ANSWER, EVIDENCE, GOLD, QUESTION, named, text_in, unpacked


class Phoenix(Rows):
    """Rows of one experiment."""

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer, or the error in its place."""
        output = unpacked(record.get("output"))
        error = record.get("error")
        row: Row = {
            "question_id": record.get("example_id"),
            "question": text_in(record.get("input"), QUESTION),
            "repeat": record.get("repetition_number"),
            "gold": text_in(record.get("reference_output"), GOLD),
            "response_id": record.get("trace_id"),
            "time": record.get("start_time"),
        }
        if isinstance(output, dict) and (name := named(EVIDENCE, output)):
            self.log.guessed("evidence", f"output.{name}")
            row["evidence"] = output[name]
        if error:
            row |= {"status": "error", "error": error}
        elif "output" in record:
            # An empty cell of the CSV export is a task that returned nothing; JSON tells null from an empty answer.
            nothing = output == "" and self.log.source.form == "csv"
            row["answer"] = None if nothing else text_in(output, ANSWER)
        yield row


PHOENIX = Kind(
    "phoenix",
    "experiments exported from Phoenix: CSV or JSON",
    Phoenix,
    ("csv", "json", "jsonl"),
    arrays=((), ("data",), ("runs",)),
    roots=("", "metadata"),
)
