"""Passages that exist and were not shown, although they belong to a family or a document that was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from audit_core.model import Dossier, Evidence
from audit_core.rules.shown import Shown, shown, source_of


@dataclass(frozen=True, slots=True)
class Unshown:
    """A passage that exists and was not shown, although it belongs to one that was.

    Attributes:
        passage: Its ``rank`` is 0 where none is known.
        of: Shown document that it is a sibling of.
        seen: How it is known, in words.
    """

    passage: Shown
    of: str
    seen: str


def siblings_of(
    dossier: Dossier, states: Iterable[str], text_of: Callable[[str], str], others: Iterable[Evidence] = ()
) -> tuple[Unshown, ...]:
    """Passages that were not shown in the states although they belong to a family or document that was.

    Args:
        dossier: Of the question; its siblings where the study keeps them, else what its other evidence shows.
        states: Those compared.
        text_of: Text of a passage by its digest.
        others: Evidence of other questions to look through as well.
    """
    states = tuple(states)
    here = [item for item in dossier.evidence if item.state in states]
    there = {document.document_id for item in here for document in item.documents}
    found: dict[str, Unshown] = {}
    kept = [item for item in dossier.siblings if item.state in states]
    for known in kept:
        for s in known.documents:
            if s.document_id not in there | found.keys():
                text = None if s.passage is None else text_of(s.passage)
                passage = Shown(s.document_id, s.rank or 0, text, s.title, s.score, s.family, s.passage)
                found[s.document_id] = Unshown(passage, s.of, f"in the corpus of {known.state}")
    if kept:
        return tuple(found.values())
    families = {document.family: document.document_id for item in here for document in item.documents}
    sources = {source_of(document_id): document_id for document_id in there}
    for item in (*(item for item in dossier.evidence if item.state not in states), *others):
        for passage in shown(item, text_of):
            own = families.get(passage.family) if passage.family else None
            of = own or sources.get(source_of(passage.document_id))
            if of and passage.document_id not in there | found.keys():
                unranked = replace(passage, rank=0, score=None)
                found[passage.document_id] = Unshown(unranked, of, f"shown in {item.state}")
    return tuple(found.values())
