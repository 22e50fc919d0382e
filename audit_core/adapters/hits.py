"""What every retriever yields: for each question in each state that retrieves, passages by rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from audit_core.prompts import Passage

TEXT_LIMIT = 1 << 24
"""Most characters of one passage."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage at its rank.

    Attributes:
        score: Decimal text as the retriever gave it, larger is better; None where it gives none.
    """

    passage: Passage
    score: str | None


Lists = Iterator[tuple[str, str, list[Hit]]]
"""(question id, state, hits by rank), state by state in ladder order; a state that reaches nothing is left out."""


def decimal_text(number: float | int | str) -> str:
    """A finite number as plain decimal text, without an exponent."""
    return format(Decimal(str(number)), "f")
