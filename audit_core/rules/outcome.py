"""Whether an answer answers, answers a part and notes the gap, or refuses: the rule ``clauses/1``.

The answer is folded (case, quotes, white space) and cut into clauses at ends of sentences and lines, at semicolons, and
before *but*, *however*, *although*, *though*. A clause refuses where it is an UNKNOWN text of the study or holds one of
the rule's refusals as whole words; it notes a gap where it holds one of the rule's gaps; any other clause of two words
or more, or with a digit, is content.

| the answer | outcome |
|---|---|
| is one of the UNKNOWN texts, or empty | refused |
| has no clause that refuses or notes a gap | answered |
| has such clauses and no content | refused |
| has a gap and content, and no refusal | partial |
| has a refusal and content | partial, and not certain: a judge decides where there is one |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from audit_core.model import AnswerOutcome

OUTCOME_RULES = ("clauses/1",)
REFUSALS = (
    "i cannot answer", "i can't answer", "cannot be answered", "can not be answered", "can't be answered",
    "unable to answer", "not able to answer", "i don't know", "i do not know", "i'm not sure", "i am not sure",
    "unanswerable", "no answer", "i'm sorry", "i am sorry", "i apologize", "i cannot help", "i can't help",
    "insufficient information", "not enough information", "no relevant information", "couldn't find", "could not find",
)  # fmt: skip
"""Texts that say that there is no answer."""
GAPS = (
    "not in the passages", "not in the passage", "not in the context", "not in the documents", "not mentioned",
    "not specified", "not stated", "not provided", "not given", "not available", "not covered", "not found",
    "does not mention", "do not mention", "doesn't mention", "don't mention", "does not say", "do not say",
    "does not specify", "do not specify", "does not provide", "do not provide", "does not contain", "do not contain",
    "does not describe", "do not describe", "no information", "no details", "no mention",
)  # fmt: skip
"""Texts that say that something is missing."""

_CLAUSE = re.compile(r"(?<=[.!?])\s+|[;\n]+|,?\s+(?=(?:but|however|although|though)\b)")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"'})
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"[^\s'\"]+")
"""Letters that folding changes in case only."""


@dataclass(frozen=True, slots=True)
class OutcomeRule:
    """How answers of a study are read; part of its protocol.

    Attributes:
        rule: One of `OUTCOME_RULES`.
        refusals: Texts that say that there is no answer; the benchmark's own, where it has some.
        gaps: Texts that say that something is missing.
    """

    rule: str = OUTCOME_RULES[0]
    refusals: tuple[str, ...] = REFUSALS
    gaps: tuple[str, ...] = GAPS


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rule makes of an answer.

    Attributes:
        outcome: See the module's table.
        reason: The text that decided, as the rule has it; empty for an answer without any.
        certain: False where a judge should decide.
    """

    outcome: AnswerOutcome
    reason: str = ""
    certain: bool = True


ANSWERED = Reading("answered")


def folded(text: str) -> str:
    """Case, quotes and runs of spaces made one; line ends kept, because they end clauses."""
    lines = text.translate(_QUOTES).casefold().split("\n")
    return "\n".join(" ".join(line.split()) for line in lines).strip()


def read(answer: str, unknown_texts: tuple[str, ...], rule: OutcomeRule) -> Reading:
    """Read one answer.

    Args:
        answer: To the letter.
        unknown_texts: Answers of the study that count as UNKNOWN, ignoring case.
        rule: The study's.
    """
    return reader(unknown_texts, rule)(answer)


@lru_cache(maxsize=64)
def reader(unknown_texts: tuple[str, ...], rule: OutcomeRule) -> Callable[[str], Reading]:
    """`read` for many answers of one study."""
    unknown = frozenset(map(folded, unknown_texts))
    refusing, missing = _pattern(rule.refusals), _pattern(rule.gaps)
    groups = _groups({folded(text) for text in (*unknown_texts, *rule.refusals, *rule.gaps) if text.strip()})

    def outcome(answer: str) -> Reading:
        # nearly all answers have no word of the rule; they are told by a few letters, before anything is cut
        plain = answer.casefold()
        near = [texts for sign, texts in groups if sign in plain]
        if not near and answer.strip():
            return ANSWERED
        text = folded(answer)
        if not text:
            return Reading("refused", "empty")
        if text in unknown:
            return Reading("refused", answer.strip())
        if not any(part in text for texts in near for part in texts):
            return ANSWERED
        refusal = gap = ""
        content = False
        for clause in _CLAUSE.split(text):
            bare = clause.strip(" .!?,:\"'")
            if bare in unknown:
                refusal = refusal or bare
            elif found := refusing.search(clause):
                refusal = refusal or found[0]
            elif found := missing.search(clause):
                gap = gap or found[0]
            else:
                content |= len(_WORD.findall(clause)) > 1 or any(map(str.isdigit, clause))
        if not refusal and not gap:
            return ANSWERED
        if not content:
            return Reading("refused", refusal or gap)
        return Reading("partial", refusal or gap, not refusal)

    return outcome


def _pattern(texts: tuple[str, ...]) -> re.Pattern[str]:
    words = sorted((re.escape(folded(text)) for text in texts if text.strip()), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)" if words else r"(?!)")


def _groups(texts: set[str]) -> list[tuple[str, list[str]]]:
    """The texts by a few letters that stand in each of a group: an answer that lacks those holds none of them."""
    signs = {}
    for text in texts:
        longest = sorted(_RUN.findall(text), key=len)[-3:]  # short ones stand in any answer
        cut = {run[i : i + 3] for run in longest for i in range(max(len(run) - 2, 1))} or {""}
        signs[text] = {sign for sign in cut if len(sign) == max(map(len, cut))}
    groups: list[tuple[str, list[str]]] = []
    while signs:
        counts = Counter(sorted(sign for found in signs.values() for sign in found))
        best = counts.most_common(1)[0][0]
        groups.append((best, sorted(text for text, found in signs.items() if best in found)))
        signs = {text: found for text, found in signs.items() if best not in found}
    return groups
