"""Inspect logs, ``.eval`` or JSON: epochs are repeats; errors and invalidated samples are no answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import Kind, Log, Row, Rows, dig
from audit_core.importers.kinds.texts import EVIDENCE, asked, message, named
from audit_core.importers.values import ABSENT, shown

VERSION = "2"
_REFERENCES = ("attachment://", "tc://")
_PARTS = {"input", "target", "choices", "messages", "output", "scores", "metadata", "store"}
"""Parts of a sample in which texts may be kept aside; its events are not read."""


class Inspect(Rows):
    """Rows of one log."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._any = False
        self._fields: Counter[str] = Counter()

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer, or the error in its place."""
        self._any = True
        texts = record.get("attachments")
        if isinstance(texts, dict) and texts:
            for part in _PARTS & record.keys():
                record[part] = _resolved(record[part], texts)
        source = record.get("input")
        row: Row = {
            "question_id": record.get("id"),
            "question": asked(source) if isinstance(source, list) else source,
            "state": self._states(),
            "repeat": record.get("epoch"),
            "gold": record.get("target") or None,
            "response_id": record.get("uuid"),
            "time": record.get("completed_at"),
            "evidence": self._evidence(record),
        }
        error, invalid = record.get("error"), record.get("invalidation")
        output = record.get("output")
        failed = output.get("error") if isinstance(output, dict) else None
        if invalid:
            self.log.tally.add("invalidated_samples", f"{self.log.source.name}: {shown(str(record.get('id')))}")
            row |= {"status": "error", "error": f"invalidated: {_reason(invalid)}"}
        elif error or failed:
            row |= {"status": "error", "error": _reason(error or failed)}
        else:
            field, answer = self._answer(record)
            self._fields[field] += 1
            if isinstance(answer, str) and answer.startswith(_REFERENCES):
                self.log.tally.add("missing_attachments", f"{self.log.source.name}: {shown(answer)}")
                answer = None
            row["answer"] = answer
        yield row

    def finish(self) -> None:
        """Whether the log may be read so, and whether it is all there; its header may stand behind its samples."""
        if not self._any:
            action = "Write the log again with log_samples, or wait until the task has finished."
            raise InputError(Problem("the log holds no samples", "samples", "none", self.log.source.name, action))
        head, where = self.log.head, self.log.source.name
        version = head.get(("version",), VERSION)
        if str(version) != VERSION:
            action = "Write it again with Inspect: inspect log convert"
            raise InputError(Problem("unknown version of the log", VERSION, shown(str(version)), where, action))
        status = str(head.get(("status",), "success"))
        if status != "success":
            self.log.tally.add("unfinished_logs", f"{where}: {shown(status)}")
        if len(self._fields) > 1 and "answer" not in self.log.mapped:
            # A scorer that found no answer in one repeat and one in the next would make churn of its own.
            counts = ", ".join(f"{count:,} from {shown(field)}" for field, count in sorted(self._fields.items()))
            self.log.tally.add("answers_from_several_fields", f"{where}: {counts}")

    def _states(self) -> dict[str, str]:
        head = self.log.head.get(("eval",))
        head = head if isinstance(head, dict) else {}
        return {part: str(head.get(part) or "") for part in ("model", "task")}

    def _answer(self, record: dict[str, Any]) -> tuple[str, Any]:
        """What a scorer took for the answer, else the whole completion; and the field where it stands."""
        scores = record.get("scores")
        for name, score in scores.items() if isinstance(scores, dict) else ():
            if isinstance(score, dict) and isinstance(score.get("answer"), str):
                self.log.guessed("answer", f"scores.{name}.answer")
                return f"scores.{name}.answer", score["answer"]
        output = record.get("output")
        if not isinstance(output, dict):
            return "output.completion", None
        if isinstance(output.get("completion"), str):
            self.log.guessed("answer", "output.completion")
            return "output.completion", output["completion"]
        choices = output.get("choices")
        self.log.guessed("answer", "output.choices.0.message.content")
        content = dig(choices, "0.message.content")
        return "output.completion", None if content is ABSENT else message(content)

    def _evidence(self, record: dict[str, Any]) -> Any:
        for root in ("metadata", "store"):
            values = record.get(root)
            name = named(EVIDENCE, values) if isinstance(values, dict) else None
            if name is not None and isinstance(values, dict):
                self.log.guessed("evidence", f"{root}.{name}")
                return values[name]
        return None


def _resolved(value: Any, texts: dict[str, Any]) -> Any:
    """A value with the texts that the log keeps aside put back in their places."""
    if isinstance(value, str) and value.startswith(_REFERENCES):
        return texts.get(value.partition("://")[2], value)
    if isinstance(value, list):
        return [_resolved(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, texts) for key, item in value.items()}
    return value


def _reason(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("message") or value.get("reason") or "no reason given"
    return shown(str(value), 2_000)


INSPECT = Kind(
    "inspect",
    "logs of Inspect: .eval archives, or JSON",
    Inspect,
    ("zip", "json"),
    arrays=(("samples",),),
    dropped=(("reductions",), ("logging",)),
    states=("model", "task", "file"),
    roots=("", "metadata", "store"),
)
