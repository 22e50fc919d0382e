"""Verdicts that an earlier study gave on the same question, moving between the same two meanings.

Nothing of a study's text is kept: a question and its answers are known by digests of their normalized forms. Two
meanings are taken for the same where any normalized answer is; what a judge would call the same in other words is not
found, and an offer is only ever that: a person accepts it or not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from audit_core.digests import sha256
from audit_core.normalize import RULES, exact_key
from audit_core.reviews.events import Event

LONGEST = 20_000
"""Characters of an answer up to which it is normalized."""
RULE = RULES["nq_open/1"]
"""Fixed for all studies, whatever rule a study scores by, so that digests of two studies can be compared."""


def question_digest(text: str | None) -> str:
    """Digest of a question's text without differences of case, width and white space; empty for no text."""
    if not text:
        return ""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return sha256(folded.encode("utf-8", "surrogatepass"))


def meanings(old: Iterable[str | None], new: Iterable[str | None]) -> tuple[str, ...]:
    """Digests of the normalized answers of two states, each after ``old:`` or ``new:``; None is no answer."""
    found = {
        f"{side}:{sha256(_form(text).encode('utf-8', 'surrogatepass'))}"
        for side, answers in (("old", old), ("new", new))
        for text in answers
        if text is not None
    }
    return tuple(sorted(found))


def _form(text: str) -> str:
    """The normalized answer; a very long one as it is, for normalizing it would hold up every look at its question."""
    return exact_key(RULE, text)[0] if len(text) <= LONGEST else " " + text.strip()


def offered(events: Sequence[Event], study_id: str, now: Sequence[str]) -> Event | None:
    """The newest ruling of another study on the same question and meanings, else its newest verdict.

    Args:
        events: Standing verdicts and rulings on the question, by its digest.
        study_id: The study on the desk.
        now: Meanings as they are on the desk.
    """
    fitting = [event for event in events if event.study_id != study_id and same_move(event.meanings, now)]
    return max(fitting, key=lambda event: (event.kind == "adjudicate", event.id), default=None)


def same_move(before: Iterable[str], now: Iterable[str]) -> bool:
    """Whether both sides share a normalized answer."""
    return {name.partition(":")[0] for name in set(before) & set(now)} == {"old", "new"}
