"""LLM Comparator: two models with one answer each. To look at only: one repeat is no noise floor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit_core.importers.kinds.log import Kind, Log, Row, Rows


class Comparator(Rows):
    """Rows of one comparison."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._names: tuple[str, str] | None = None

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """The answers of both models."""
        for side, name in zip(("output_text_a", "output_text_b"), self._models(), strict=True):
            yield {
                "question": record.get("input_text"),
                "state": {"model": name},
                "repeat": 1,
                "tags": record.get("tags") if isinstance(record.get("tags"), list) else None,
                **({"answer": record[side]} if side in record else {}),
            }

    def _models(self) -> tuple[str, str]:
        if self._names is None:
            models = self.log.head.get(("models",))
            models = models if isinstance(models, list) else []
            found = [model.get("name") if isinstance(model, dict) else None for model in (*models, {}, {})][:2]
            one, other = (name if isinstance(name, str) and name.strip() else letter
                          for name, letter in zip(found, "AB", strict=True))  # fmt: skip
            self._names = (one, other) if one != other else (f"{one} (A)", f"{other} (B)")
        return self._names


COMPARATOR = Kind(
    "llm-comparator",
    "comparisons of LLM Comparator: JSON; one answer a model, so no excess churn",
    Comparator,
    ("json",),
    arrays=(("examples",),),
    states=("model", "file"),
)
