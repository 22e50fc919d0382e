"""Which passages support which part of a question: the rule ``coverage/1``.

The own words of a part are its content words without those that every part holds. A passage supports a part where it
holds at least `SHARE` of them, case and the endings of `ENDINGS` ignored (*diagnosed*, *diagnosis*, *diagnostic*). A
bibliography, an index or a table of contents names things without describing them and supports no part. The rule sees
words, not meaning: a part without a supporting passage is a place to look, no proof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from audit_core.rules.aspects import content
from audit_core.rules.passage_kind import PassageKind, PassageReading, kind_of
from audit_core.rules.shown import Shown

COVERAGE_RULES = ("coverage/1",)
SHARE = Fraction(1, 2)
ENDINGS = (
    "izations", "isations", "ization", "isation", "ations", "ation", "ments", "ment", "ings", "ing", "tics", "tic",
    "ally", "able", "ies", "ers", "als", "es", "ed", "er", "al", "is", "ly", "s", "e", "y", "d",
)  # fmt: skip
"""Endings that are taken off where four letters or more stay, the longest first."""
STEM = 4

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Support:
    """A passage that holds the own words of a part.

    Attributes:
        passage: Position in the passages given, from 0.
        words: The words that decided, as the part has them.
    """

    passage: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aspect:
    """One part of a question and what supports it.

    Attributes:
        part: As the question is cut.
        own: Its own words; empty where words cannot tell it from the other parts, and nothing is said about it.
        supports: Passages that support it, in the order given.
        named: Passages that hold its words but are no body text, with their kind.
        unread: Passages without a text in the study.
    """

    part: str
    own: tuple[str, ...]
    supports: tuple[Support, ...]
    named: tuple[tuple[Support, PassageKind], ...] = ()
    unread: int = 0

    @property
    def bare(self) -> bool:
        """Whether the part could be told apart and no passage supports it, with all passages read."""
        return bool(self.own) and not self.supports and not self.unread


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without case and ending."""
    word = word.casefold()
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM:
            return word[: -len(ending)]
    return word


def stems(text: str) -> frozenset[str]:
    """All words of a text without case and ending."""
    return frozenset(map(stem, _WORD.findall(text)))


def own_words(parts: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each part that tell it from the others; of a single part, all its content words."""
    words = [list(dict.fromkeys(word for found in content(part) for word in _WORD.findall(found))) for part in parts]
    if len(parts) < 2:
        return [tuple(found) for found in words]
    shared = frozenset.intersection(*(frozenset(map(stem, found)) for found in words))
    return [tuple(word for word in found if stem(word) not in shared) for found in words]


def held(own: Sequence[str], text: str) -> tuple[str, ...]:
    """The own words of a part that a text holds; empty where they are fewer than `SHARE` of them."""
    there = stems(text)
    found = tuple(word for word in own if stem(word) in there)
    return found if own and Fraction(len(found), len(own)) >= SHARE else ()


def covered(
    parts: Sequence[str], passages: Sequence[Shown], kinds: Sequence[PassageReading] | None = None
) -> tuple[Aspect, ...]:
    """Which passages support each part.

    Args:
        parts: Of one question, from `aspects.parts`.
        passages: Those shown, in rank order.
        kinds: What each passage is, where known already.
    """
    if kinds is None:
        kinds = [kind_of(passage.text or "", passage.title) for passage in passages]
    unread = sum(passage.text is None for passage in passages)
    found = []
    for part, own in zip(parts, own_words(parts), strict=True):
        holding = [
            (Support(i, words), kinds[i].kind)
            for i, passage in enumerate(passages)
            if passage.text is not None and (words := held(own, f"{passage.title}\n{passage.text}"))
        ]
        supports = tuple(support for support, kind in holding if kind == "body")
        named = tuple((support, kind) for support, kind in holding if kind != "body")
        found.append(Aspect(part, own, supports, named, unread))
    return tuple(found)
