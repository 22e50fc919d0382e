"""Which passages are shown, by the policy of a state, and which of their families are not.

- ``fan_out``: one ranking for each part of the question (`rules.aspects`), taken in turns: rank 1 of each part in the
  order of the parts, then rank 2, …; a passage stands at its first place, with the score that it has there. A question
  of one part is searched as it is.
- ``drop_bibliography``: passages that `rules.passage_kind` takes for a bibliography, an index or contents are left out.
- The first ``depth`` of what is left would be shown.
- ``expand_siblings``: after each of them comes one passage that is of its family and not among them: the best in the
  ranking, else the first in the corpus. The whole is cut at ``depth`` again: every state shows the same number of
  passages, and the last ones make room for siblings.

All rankings are cut at `LONGEST`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, zip_longest

from audit_core.adapters.hits import Hit, Relative
from audit_core.adapters.shelf import Ranking, Shelf
from audit_core.policies import PLAIN, Policy
from audit_core.prompts import Passage
from audit_core.rules.aspects import parts
from audit_core.rules.passage_kind import kind_of

LONGEST = 1000
"""Places of a ranking that are looked at; a sibling beyond has no rank."""
MOST = 12
"""Siblings that are noted for one list."""


def asked(question: str, policy: Policy, cut: Sequence[str] = ()) -> Sequence[str]:
    """What is searched for a question: itself, or each of its parts.

    Args:
        question: Its text.
        policy: Of the state.
        cut: Parts of the question, where a model or its author has cut it.
    """
    found = (cut or parts(question)) if policy.fan_out else ()
    return found if len(found) > 1 else (question,)


def longest(shelf: Shelf, policy: Policy, depth: int) -> int:
    """How many places of a ranking are needed: no more than are shown, where nothing can come from further down."""
    return LONGEST if shelf.related or policy.drop_bibliography else depth


def merged(rankings: Sequence[Ranking]) -> Ranking:
    """Rankings taken in turns, rank by rank; a place stands where it first came, with its score there."""
    found: Ranking = {}
    for row in zip_longest(*(ranking.items() for ranking in rankings)):
        for item in row:
            if item is not None:
                found.setdefault(*item)
    return found


def chosen(shelf: Shelf, ranking: Ranking, policy: Policy, depth: int) -> list[int]:
    """Places of the passages that are shown, by rank."""

    def kept(places: Iterable[int]) -> Iterator[int]:
        return (p for p in places if not (policy.drop_bibliography and _names_only(shelf.passage(p))))

    first = list(islice(kept(ranking), depth))
    if not policy.expand_siblings or not shelf.related:
        return first
    families, taken, out = shelf.families(ranking.keys()), set(first), list[int]()
    for place in first:
        out.append(place)
        if place in families and (found := next(kept(_kin(shelf, families[place], ranking, families, taken)), None)):
            taken.add(found)
            out.append(found)
    return out[:depth]


def _kin(shelf: Shelf, family: str, ranking: Ranking, families: dict[int, str], taken: set[int]) -> Iterator[int]:
    """Places of a family that are not taken: by rank, then in the order of the corpus."""
    yield from (place for place in ranking if families.get(place) == family and place not in taken)
    yield from (place for place in shelf.members(family) if place not in ranking and place not in taken)


@lru_cache(maxsize=1 << 12)
def _names_only(passage: Passage) -> bool:
    return kind_of(passage.text, passage.title).kind != "body"


def hits(shelf: Shelf, places: Iterable[int], ranking: Ranking) -> list[Hit]:
    """Passages with the scores that they have in a ranking."""
    return [Hit(shelf.passage(place), ranking.get(place)) for place in places]


def relatives(shelf: Shelf, shown: Sequence[int], plain: Ranking) -> tuple[Relative, ...]:
    """Passages of the shown ones' families that are not shown: at most `MOST`, best rank first, unranked last.

    Args:
        shown: Places by rank.
        plain: The whole list of the plain retrieval, cut at `LONGEST`.
    """
    families = shelf.families({*plain, *shown}) if shelf.related else {}
    first: dict[str, int] = {}
    for place in shown:
        if place in families:
            first.setdefault(families[place], place)
    if not first:
        return ()
    held, ranks = set(shown), {place: rank for rank, place in enumerate(plain, 1)}
    ranked = [place for place in plain if families.get(place) in first and place not in held]
    places = {place: families[place] for place in ranked[:MOST]}
    for family in first if len(places) < MOST else ():
        others = (place for place in shelf.members(family) if place not in ranks and place not in held)
        places |= dict.fromkeys(islice(others, MOST - len(places)), family)
    of = {family: shelf.passage(place).document_id for family, place in first.items()}
    return tuple(
        Relative(hit, of[family], ranks.get(place))
        for (place, family), hit in zip(places.items(), hits(shelf, places, plain), strict=True)
    )


def found(
    shelf: Shelf, plain: Ranking, ranking: Ranking, policy: Policy = PLAIN, *, depth: int
) -> tuple[list[Hit], tuple[Relative, ...]]:
    """What a state shows for a question, and what it leaves out of the same families.

    Args:
        plain: The ranking of the whole question.
        ranking: The one that the policy chooses from: `plain`, or the merged one.
    """
    shown = chosen(shelf, ranking, policy, depth)
    return hits(shelf, shown, ranking), relatives(shelf, shown, plain)
