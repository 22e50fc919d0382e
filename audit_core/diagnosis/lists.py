"""What became of the passages between two ranked lists: kept, moved, lost, gained; the same order; the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from audit_core.rules.shown import Shown

Fate = Literal["kept", "moved", "lost", "gained"]
Order = Literal["same", "another order", "different"]
Names = tuple[str, str]
"""What the two lists are called: old and new, two repeats, or A and B while a question is masked."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One passage of a list.

    Attributes:
        passage: As it was shown.
        fate: What became of it towards the other list.
        elsewhere: Its rank in the other list; None where it is not there.
        twice: True where the same document stands higher in this list already; overlap counts it once.
    """

    passage: Shown
    fate: Fate
    elsewhere: int | None
    twice: bool


def compared(old: Sequence[Shown], new: Sequence[Shown]) -> tuple[tuple[Ranked, ...], tuple[Ranked, ...]]:
    """Both lists in rank order, each passage with its fate."""
    return _side(old, _ranks(new), "lost"), _side(new, _ranks(old), "gained")


def sentence(old: Sequence[Ranked], new: Sequence[Ranked], names: Names = ("old", "new")) -> str:
    """The comparison in words."""
    if not old and not new:
        return "No documents were retrieved in either state."
    number = {fate: sum(r.fate == fate and not r.twice for r in side) for side, fate in
              ((old, "kept"), (old, "moved"), (old, "lost"), (new, "gained"))}  # fmt: skip
    if not number["moved"] + number["lost"] + number["gained"]:
        if number["kept"] == 1:
            return "The same document."
        return f"The same {number['kept']} documents in the same order."
    if not number["lost"] + number["gained"]:
        both = number["kept"] + number["moved"]
        if both == 1:
            return "The same document at another rank."
        return f"The same {both} documents, {number['moved']} of them at another rank."
    return (f"{number['kept'] + number['moved']} in both ({number['moved']} moved), "
            f"{number['lost']} only in {names[0]}, {number['gained']} only in {names[1]}.")  # fmt: skip


def _ranks(passages: Sequence[Shown]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for passage in passages:
        ranks.setdefault(passage.document_id, passage.rank)
    return ranks


def _side(passages: Sequence[Shown], other: dict[str, int], absent: Fate) -> tuple[Ranked, ...]:
    own = _ranks(passages)
    side = []
    for passage in passages:
        rank = other.get(passage.document_id)
        fate: Fate = absent if rank is None else "kept" if rank == passage.rank else "moved"
        side.append(Ranked(passage, fate, rank, own[passage.document_id] != passage.rank))
    return tuple(side)


def order(old: Sequence[Shown], new: Sequence[Shown]) -> Order:
    """Whether the ids are the same in the same order, in another order, or different."""
    a, b = [p.document_id for p in old], [p.document_id for p in new]
    return "same" if a == b else "another order" if sorted(a) == sorted(b) else "different"


def identical(old: Sequence[Shown], new: Sequence[Shown]) -> bool | None:
    """Ids, order, rendered texts and scores; what is equal without a text is not known to be."""
    if [(p.document_id, p.rank, p.score) for p in old] != [(p.document_id, p.rank, p.score) for p in new]:
        return False
    kept = [(a.passage or a.text, b.passage or b.text) for a, b in zip(old, new, strict=True)]
    if any(None not in pair and pair[0] != pair[1] for pair in kept):
        return False
    return None if any(None in pair for pair in kept) else True
