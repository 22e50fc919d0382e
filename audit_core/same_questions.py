"""Whether an id stands for one question, with one gold, in two studies; otherwise no number may compare them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from audit_core.errors import InputError, Problem
from audit_core.model import Dossier

Asked = tuple[str | None, frozenset[str] | None]
"""A question's text and the aliases of its gold, each None where it is not known."""
_MOST_NAMED = 5


def asked(text: str | None, gold: Collection[str] | None, origin: str) -> Asked:
    """What an id stands for; the gold of a study reconstructed from published figures is made up and says nothing."""
    return text, None if gold is None or origin == "reconstructed" else frozenset(gold)


def noted(dossiers: Iterable[Dossier], origin: str, found: dict[str, Asked]) -> Iterator[Dossier]:
    """Pass a study's questions on, and put into ``found`` what each id stands for."""
    for dossier in dossiers:
        question, gold = dossier.question, dossier.gold
        found[question.question_id] = asked(question.text, gold.aliases if gold else None, origin)
        yield dossier


def differing(first: Mapping[str, Asked], second: Mapping[str, Asked]) -> list[str]:
    """Ids of both that stand for another text or another gold in each, in the order of the first."""
    return [
        question
        for question, one in first.items()
        if any(None not in pair and pair[0] != pair[1] for pair in zip(one, second.get(question, one), strict=True))
    ]


def refuse(ids: Collection[str], where: str) -> None:
    """Refuse to compare studies where ids differ.

    Raises:
        InputError: There are such ids; the first few are named.
    """
    if ids:
        found = named(ids)
        raise InputError(Problem("the same id with another question or another gold", "one text and one gold for an id",
                                 found, where, "Compare collections of the same questions."))  # fmt: skip


def named(ids: Collection[str]) -> str:
    """The first few of some ids, for a sentence."""
    return ", ".join(list(ids)[:_MOST_NAMED]) + (f" and {len(ids) - _MOST_NAMED:,} more" * (len(ids) > _MOST_NAMED))
