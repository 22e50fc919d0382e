"""Opaque names of questions and tags, for studies whose ids say something.

Estimates depend on ids in two ways: resamples number the questions by the bytes of their ids, and betting bounds take
them in the order of a digest of seed and id. So opaque ids are chosen such that both orders stay what they were, and
with them every bound to the last digit. They are made of the two ranks and nothing else of the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from audit_core.estimators import betting, stream


def opaque_ids(question_ids: Sequence[str], seed: str | None) -> list[str]:
    """A name for each id: its rank, and the first number that puts the name where the id stood among the bets.

    Args:
        question_ids: Unique.
        seed: Of the study, where its protocol has a rule whose bounds come from betting; None where it has none. The
            search takes N tries a question, so N² digests in all.
    """
    n, width = len(question_ids), len(str(max(len(question_ids) - 1, 0)))
    names = [""] * n
    for rank, row in enumerate(stream.order_of(list(question_ids)).tolist()):
        names[row] = f"q{rank:0{width}}"
    if seed is None:
        return names
    for place, row in enumerate(betting.order_of(question_ids, seed).tolist()):
        # any name whose digest falls into the place's share of all digests keeps the order
        names[row] = next(
            name
            for number in count()
            for name in [f"{names[row]}-{number}"]
            if int.from_bytes(betting.key_of(name, seed)[:8], "big") * n >> 64 == place
        )
    return names


def opaque_tags(tags: Iterable[str]) -> dict[str, str]:
    """A name for each tag, in the same order."""
    found = sorted(set(tags))
    width = len(str(len(found)))
    return {tag: f"t{number:0{width}}" for number, tag in enumerate(found, start=1)}
