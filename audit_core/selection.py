"""Outcome-blind selection: questions in the order of a hash that only the seed and the id decide.

Anyone with the public ids, the seed and the exclusion list gets the same selection; nobody can steer it by looking at
answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from audit_core.digests import sha256
from audit_core.errors import InputError, Problem


def position(seed: str, question_id: str) -> str:
    """What a question is ordered by: SHA-256 of the seed, a zero byte and the id, as hexadecimal text."""
    return sha256(seed.encode() + b"\x00" + question_id.encode())


def select(question_ids: Iterable[str], seed: str, count: int, excluded: Collection[str] = ()) -> list[str]:
    """The first ids in hash order that are not excluded.

    Args:
        question_ids: The whole population; order does not matter.
        seed: Of the protocol.
        count: How many.
        excluded: Ids that may not be selected, whether or not they exist.

    Raises:
        InputError: An id twice, or fewer questions than asked for.
    """
    ids = list(question_ids)
    population = set(ids)
    if len(population) != len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InputError(
            Problem(
                "an id occurs twice in the population", "unique ids", twice, action="Give each question its own id."
            )
        )
    left = sorted(population - set(excluded), key=lambda i: (position(seed, i), i))
    if len(left) < count:
        raise InputError(
            Problem(
                "there are too few questions",
                f"{count} questions",
                f"{len(left)} after {len(population) - len(left)} exclusions",
                action="Ask for fewer, or give a larger population.",
            )
        )
    return left[:count]
