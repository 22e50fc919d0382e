"""What every retriever yields: for each question in each state that retrieves, passages by rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

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


@dataclass(frozen=True, slots=True)
class Relative:
    """A passage that was not shown although it is of a shown one's family.

    Attributes:
        hit: The passage, with its score in the whole list.
        of: Id of the best shown passage of its family.
        rank: In the whole list of the plain retrieval, from 1; None where that does not hold it.
    """

    hit: Hit
    of: str
    rank: int | None


class Found(NamedTuple):
    """What one retrieval gives; `relatives` are empty where the corpus is not on this machine."""

    question_id: str
    state: str
    hits: list[Hit]
    relatives: tuple[Relative, ...] = ()


Lists = Iterator[Found]
"""State by state in ladder order; a state that reaches nothing is left out."""


def decimal_text(number: float | int | str) -> str:
    """A finite number as plain decimal text, without an exponent."""
    return format(Decimal(str(number)), "f")
