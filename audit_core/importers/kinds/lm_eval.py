"""lm-evaluation-harness: ``samples_*.jsonl``; the inner list of ``resps`` is the repeats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import Kind, Log, Row, Rows
from audit_core.importers.kinds.texts import QUESTION, listed, named
from audit_core.importers.values import shown


class LmEval(Rows):
    """Rows of one file: a document is written once for each filter, and read once."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._filter: str | None = None

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One row a response."""
        name = str(record.get("filter", ""))
        if self._filter is None:
            self._filter = name
        if name != self._filter:
            # All filters start from the same responses, which are what is read.
            self.log.tally.add("other_filters", f"{self.log.source.name}: {shown(name)}")
            return
        document = record.get("doc")
        row: Row = {
            "question_id": record.get("doc_id"),
            "question": self._question(document, record),
            "gold": listed(record.get("target")),
        }
        for repeat, text in enumerate(self._responses(record), 1):
            yield {**row, "repeat": repeat, "answer": text}

    def _responses(self, record: dict[str, Any]) -> list[Any]:
        responses = record.get("resps")
        inner = responses[0] if isinstance(responses, list) and len(responses) == 1 else None
        texts = inner if isinstance(inner, list) else [inner]
        if not texts or any(not isinstance(text, str) for text in texts):
            expected = "resps with one list of generated texts"
            found = "several requests for one document" if inner is None else "likelihoods of choices"
            action = "Only tasks that generate text can be audited for churn."
            raise InputError(Problem("no generated answers", expected, found, self.log.source.name, action))
        return texts

    def _question(self, document: Any, record: dict[str, Any]) -> Any:
        if isinstance(document, dict) and (name := named(QUESTION, document)):
            self.log.guessed("question", f"doc.{name}")
            return document[name]
        asked = self.log.look(record, "arguments.gen_args_0.arg_0")
        if isinstance(asked, str):
            self.log.guessed("question", "arguments.gen_args_0.arg_0")
            return asked
        return None


LM_EVAL = Kind("lm-eval", "samples of lm-evaluation-harness: samples_….jsonl", LmEval, ("jsonl",), roots=("", "doc"))
