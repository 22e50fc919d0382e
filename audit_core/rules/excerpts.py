"""Whether the verbatim excerpts of an answer are in the passages that it was shown.

| kind | when |
|---|---|
| exact | to the letter in the passage that it is cited from, or in any where none is cited |
| fold | so after the fold ``presentation/1`` of `presentation` |
| elsewhere | exact or folded, in another shown passage than the cited one |
| spans two | in the end of one shown passage and the beginning of another, folded |
| absent | in none |
| not checked | the study does not keep the texts of the passages that it could be in |

Excerpts come from structured output where the study has it, else from the answer by the rule ``quoted/1``: text in
double quotes of `QUOTED` words or more that a citation in brackets follows at once, or precedes by at most three words;
the citation is a rank (``[3]``, ``(passage 3)``) or a document id that was shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from audit_core.model import Cell, Dossier, Evidence, Excerpt
from audit_core.rules.presentation import found_in, spanned
from audit_core.rules.shown import Shown, shown

EXCERPT_RULES = ("quoted/1",)
ExcerptKind = Literal["exact", "fold", "spans two", "elsewhere", "absent", "not checked"]
KINDS: tuple[ExcerptKind, ...] = ("exact", "fold", "elsewhere", "spans two", "absent", "not checked")
QUOTED = 4
NEAR = 300
"""Characters before and after a quote in which its citation is looked for."""
SPANNING = 4
"""Fewest words of an excerpt that may be looked for over the border of two passages."""
LONGEST = 2_000
"""Most characters of one that is."""

_QUOTE = re.compile(r'[“„«]\s*([^“”„«»"\n]+?)\s*[”“»]|"([^"“”\n]+?)"')
_AFTER = re.compile(r"^[\s.,;:]*[\[(]([^\[\]()]{1,200})[\])]")
_BEFORE = re.compile(r"[\[(]([^\[\]()]{1,200})[\])][:,]?(?:\s+[\w’']+){0,3}[\s:,]*$")
_RANK = re.compile(r"(?:(?:passage|document|doc|source|excerpt|no\.?)\s*)?(\d{1,3})$", re.I)


@dataclass(frozen=True, slots=True)
class Checked:
    """An excerpt and where it is.

    Attributes:
        kind: See the module's table.
        places: Ranks of the passages that hold it: one, two where it spans two, none where it is absent.
        folded: Whether it took the fold to find it.
    """

    excerpt: Excerpt
    kind: ExcerptKind
    places: tuple[int, ...] = ()
    folded: bool = False


def excerpts_of(cell: Cell, passages: Sequence[Shown]) -> tuple[Excerpt, ...]:
    """The excerpts of an answer: those of structured output, else those that it quotes with a citation."""
    return cell.excerpts or quoted(cell.answer or "", passages)


def quoted(answer: str, passages: Sequence[Shown]) -> tuple[Excerpt, ...]:
    """What an answer quotes with a citation, by the rule ``quoted/1``."""
    ids = {passage.document_id for passage in passages}
    ranks = {passage.rank for passage in passages}
    found = []
    for quote in _QUOTE.finditer(answer):
        text = (quote[1] or quote[2]).strip()
        if len(text.split()) < QUOTED:
            continue
        after, before = answer[quote.end() : quote.end() + NEAR], answer[max(0, quote.start() - NEAR) : quote.start()]
        near = (_AFTER.match(after), _BEFORE.search(before))
        for cited in (match[1].strip() for match in near if match):
            rank = _RANK.match(cited)
            if cited in ids:
                found.append(Excerpt(text, cited))
            elif rank and int(rank[1]) in ranks:
                found.append(Excerpt(text, rank=int(rank[1])))
            if cited in ids or rank:  # a citation that follows decides, also one of a passage that was not shown
                break
    return tuple(found)


def check(cell: Cell, passages: Sequence[Shown]) -> list[Checked]:
    """Every excerpt of an answer, checked against the passages that it was shown."""
    return [checked(excerpt, passages) for excerpt in excerpts_of(cell, passages)]


def checked(excerpt: Excerpt, passages: Sequence[Shown]) -> Checked:
    """One excerpt against the passages shown."""
    named = excerpt.document_id is not None or excerpt.rank is not None
    cited = [passage for passage in passages if _is_cited(passage, excerpt)] if named else list(passages)
    for places, other in ((cited, False), (passages, True)):
        for how in ("exact", "fold"):
            for passage in places:
                if passage.text is not None and found_in(excerpt.text, passage.text) == how:
                    return Checked(excerpt, "elsewhere" if other else how, (passage.rank,), how == "fold")
    if len(excerpt.text) <= LONGEST and len(excerpt.text.split()) >= SPANNING:
        border = spanned(excerpt.text, [passage.body for passage in passages])
        if border:
            return Checked(excerpt, "spans two", (passages[border[0]].rank, passages[border[1]].rank), True)
    unread = any(passage.text is None for passage in passages) or not passages
    return Checked(excerpt, "not checked" if unread else "absent")


def _is_cited(passage: Shown, excerpt: Excerpt) -> bool:
    return (excerpt.document_id is None or passage.document_id == excerpt.document_id) and (
        excerpt.rank is None or passage.rank == excerpt.rank
    )


def evidence_of(cell: Cell, evidence: Iterable[Evidence]) -> Evidence | None:
    """The list that an answer was shown: its repeat's own, or that of all repeats of the state."""
    lists = [item for item in evidence if item.state == cell.state and item.repeat in (None, cell.repeat)]
    return next((item for item in lists if item.repeat is not None), lists[0] if lists else None)


def counted(dossiers: Iterable[Dossier], text_of: Callable[[str], str]) -> dict[str, Counter[ExcerptKind]]:
    """Number of excerpts of each kind by state; states whose answers carry none are absent.

    Args:
        dossiers: Of all questions.
        text_of: Text of a passage by its digest.
    """
    counts: dict[str, Counter[ExcerptKind]] = {}
    for dossier in dossiers:
        for cell in dossier.cells:
            if cell.status == "ok":
                kinds = [item.kind for item in check(cell, shown(evidence_of(cell, dossier.evidence), text_of))]
                if kinds:
                    counts.setdefault(cell.state, Counter()).update(kinds)
    return counts
