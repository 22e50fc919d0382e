"""A passage as it was shown: what the rules for evidence read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from audit_core.model import Document, Evidence

_CHUNK = re.compile(r"(?:#|::)[\w.-]+$|[#:_/.-](?:chunk|passage|part|para|p|c)[_-]?\d+$", re.I)


@dataclass(frozen=True, slots=True)
class Shown:
    """One ranked passage.

    Attributes:
        document_id: Identifier to the letter.
        rank: From 1.
        text: As it was rendered for the generator; None where the study does not keep it.
        title: May be empty.
        score: Decimal text as the retriever gave it; None where unknown.
        family: Key that versions and near-duplicates of one document share; empty where unknown.
        passage: SHA-256 of the rendered text; None where the study does not keep it.
    """

    document_id: str
    rank: int
    text: str | None = None
    title: str = ""
    score: str | None = None
    family: str = ""
    passage: str | None = None

    @property
    def name(self) -> str:
        """Words for people: the title, or the identifier where there is none."""
        return self.title or self.document_id

    @property
    def body(self) -> str:
        """The text without the line of identifier, title and address that a rendered passage begins with."""
        text = self.text or ""
        head, _, rest = text.partition("\n")
        return rest if rest and head.split(" · ")[0] == self.document_id else text


def shown(evidence: Evidence | None, text_of: Callable[[str], str]) -> tuple[Shown, ...]:
    """The passages of one evidence list.

    Args:
        evidence: None for no list.
        text_of: Text of a passage by its digest.
    """
    return tuple(passage_of(document, text_of) for document in (evidence.documents if evidence else ()))


def passage_of(document: Document, text_of: Callable[[str], str]) -> Shown:
    """One document of an evidence list, with its text where the study keeps it."""
    text = None if document.passage is None else text_of(document.passage)
    return Shown(document.document_id, document.rank, text, document.title, document.score, document.family,
                 document.passage)  # fmt: skip


def source_of(document_id: str) -> str:
    """The document of a passage: its identifier without a marked number of a part (``doc#3``, ``a/p12``)."""
    return _CHUNK.sub("", document_id)
