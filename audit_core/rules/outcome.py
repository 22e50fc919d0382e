"""Whether an answer answers, answers a part and notes the gap, or refuses: the rule ``clauses/1``, for English.

The answer is folded (case, quotes, *n't*, white space) and cut into clauses: at ends of sentences and lines, at
semicolons, before *but*, *however*, *although*, *though*, *while*, *whereas* and *and* with a new subject, at the comma
that ends a clause which opens with *although*, *while*, *as* or *since*. A clause refuses where it is an UNKNOWN text
of the study or holds one of the rule's refusals; it notes a gap where it holds one of the rule's gaps; *please …*,
*sorry*, what to consult and what the passages are about instead are courtesy; any other clause of two words or more, or
with a digit, is content.

| the answer | outcome |
|---|---|
| is one of the UNKNOWN texts, or empty | refused |
| has no clause that refuses or notes a gap | answered |
| has such clauses and no content | refused |
| has a gap and content, and no refusal | partial |
| has a refusal and content | partial, and not certain: a judge decides where there is one |

`phrases` says how a text of the rule is written. *Refunds are not given* is an answer, *The passages give no refund* is
none, so most shipped gaps name a source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from audit_core.model import AnswerOutcome
from audit_core.rules.phrases import SOURCES, folded, needed, pattern

OUTCOME_RULES = ("clauses/1",)
_TELL = (
    "[explicitly|directly|specifically|clearly|actually|appear to|seem to|currently]? "
    "[mention|say|state|specify|provide|contain|describe|include|discuss|give|cover|address|explain|indicate|tell|reveal"
    "|answer|list|name|support|report|detail|clarify|offer|define|show|identify]"
)
_TOLD = (
    "[mentioned|said|stated|specified|provided|contained|described|included|discussed|given|covered|addressed"
    "|explained|indicated|answered|listed|named|found|available|present|reported|detailed|defined]"
)
_TELLS = (
    "[mentions|says|states|specifies|provides|contains|describes|includes|discusses|gives|covers|addresses|explains"
    "|indicates|answers|lists|names|supports|reports|details|offers|defines|shows|makes|has]"
)
_SOUGHT = "[information|answer|evidence|passage|passages|document|documents|context|details|mention|data|results]"
_UNABLE = "[cannot|can not|could not|am unable to|was unable to|am not able to|was not able to|are unable to]"
_FROM = "[from|with|by the|by these|by any|based|using|given|on the|in the]"
REFUSALS = (
    "^[i|we] do not know", "^i am not sure", "^[i|we] have no [information|answer|data|evidence]",
    f"^[i|we] {_UNABLE} [accurately|directly|definitively]? "
    "[answer|help|find|determine|provide|locate|tell|say|confirm|identify|be certain|be sure]",
    "^[i|we] [did|do] not [find|see] [any|a|the|enough]",
    "^[i|we] do not have [enough|any|sufficient|that|the|specific|access|information]",
    "^[unable to|not able to|cannot|could not] [answer|find|determine|locate]",
    f"[cannot|can not|could not] be [answered|determined] {_FROM}",
    "[cannot|can not|could not] be [answered|determined]$",
    "question * [cannot|can not|could not] be answered", "not possible to [answer|determine|say|tell]",
    "^[unanswerable|not answerable]$", "[is|question] unanswerable", f"not answerable {_FROM}",
    "^no answer$", "^no answer [is|was|can be|could be]? [found|given|available|possible|in the|to this|to the]",
    "[insufficient|not enough] [information|evidence|context|data|details]",
    "[information|evidence|context|data|{source}] [provided]? [is|are] [insufficient|not sufficient]",
    "^[there is|there are]? no [relevant|matching|supporting] "
    "[information|passages|documents|results|context|evidence]",
    f"[could not|unable to|not able to] find * {_SOUGHT}",
    "^[n/a|not applicable|not found|not available|not provided|no information|no data|no information available]$",
)  # fmt: skip
"""Texts that say that there is no answer."""
GAPS = (
    f"{{source}} [provided|given|retrieved|above|available|here]? [do|does|did] not {_TELL}",
    f"{{source}} [about|on|for|from|in] * [do|does|did] not {_TELL}",
    f"{{source}} [provided|given|retrieved|above]? [{_TELL}|{_TELLS}|have|make] [no|nothing|neither|none]",
    "{source} [are|is|remain|remains] silent", "[none|neither] of the * {source}",
    f"[no|neither] {{source}} [{_TELL}|{_TELLS}]", "[nothing|nowhere] in the * {source}",
    f"no {_SOUGHT} * in the * {{source}}", f"no * [is|are|was|were] {_TOLD} in the * {{source}}",
    f"not * {_TOLD} [in|by|within|anywhere in] * {{source}}", "not in the * {source}", "not part of the * {source}",
    "[unclear|not clear] from the * {source}", "[is|are] not any [information|details|mention|data]",
    "[not|never] [mentioned|stated|specified|described|discussed|addressed|disclosed]$",
    "no [information|details|mention|data|indication] [is|was|are|were]? "
    "[about|on|regarding|of|for|available|given|provided|found|as to|whether|concerning]",
    f"[information|details|data|answer] [is|are]? not {_TOLD}$",
)  # fmt: skip
"""Texts that say that something is missing."""

_SUBORDINATE = re.compile(r"^(?:although|though|even though|while|whereas|as|since|because)\b[^,]*,\s+")
_CLAUSE = re.compile(
    r"(?<=[.!?])(?<![\s.][^\W\d_]\.)\s+|[;\n]+|,?\s+(?=(?:but|however|although|though|whereas)\b)|,\s+(?=while\b)"
    r"|,\s+(?=and (?:i|you|we|it|they|he|she|there|the|this|that|no|its|their)\b)"
    rf"|\s+(?=and (?:i|there is|there are|no|it is|they do|the (?:{'|'.join(SOURCES)}))\b)"
)
_WORD = re.compile(r"\w+")
_COURTESY = re.compile(
    r"^(?:unfortunately, )?(?:(?:i am |we are )?(?:very )?sorry|i apologi[sz]e|unfortunately|please\b.*|let me know\b.*"
    r"|if you (?:have|can|could)\b.*"
    r"|(?:however,? )?(?:you|it|i) (?:can|may|might|could|would|should|is|recommend|suggest)\b"
    r".*\b(?:check|consult|visit|contact|refer to|try|look up|verify)\b.*"
    r"|the .*\b(?:only|instead|focus(?:es)? on|are about|is about|deals? with|relates? to|talks? about)\b.*)$"
)
_CONTRACTED = {"t", "m", "ve"}
"""Ends of contracted words, which folding writes out."""
_SOURCE = pattern(("{source}",))
_THEY = re.compile(r"^(?:and |but |however,? )?(?:they|it)\b")


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


def edited(refusals: Sequence[str], gaps: Sequence[str], *, shipped: bool) -> OutcomeRule | None:
    """The rule of a study that names texts of its own; None for the shipped rule as it is.

    Args:
        refusals: Its texts that say that there is no answer.
        gaps: Its texts that say that something is missing.
        shipped: Whether the shipped texts count too.
    """
    if not refusals and not gaps and shipped:
        return None
    known = (REFUSALS, GAPS) if shipped else ((), ())
    return OutcomeRule(
        refusals=tuple(dict.fromkeys((*refusals, *known[0]))), gaps=tuple(dict.fromkeys((*gaps, *known[1])))
    )


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


def clauses(text: str) -> list[str]:
    """The clauses of a folded text, without punctuation around them."""
    found = []
    for clause in _CLAUSE.split(text):
        opening = _SUBORDINATE.match(clause)
        pieces = (clause[: opening.end()], clause[opening.end() :]) if opening else (clause,)
        found += [bare for piece in pieces if (bare := piece.strip(" .!?,:\"'()*-"))]
    return found


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
    # Most answers hold no word that any text needs, and need not be cut into clauses.
    cues = {word for text in (*rule.refusals, *rule.gaps) for word in needed(text)}
    cues |= {word for text in unknown for word in _WORD.findall(text)[:1]} | _CONTRACTED
    return partial(_read, _Texts(pattern(rule.refusals), pattern(rule.gaps), unknown, frozenset(cues)))


@dataclass(frozen=True, slots=True)
class _Texts:
    refusing: re.Pattern[str]
    missing: re.Pattern[str]
    unknown: frozenset[str]
    cues: frozenset[str]


def _read(texts: _Texts, answer: str) -> Reading:
    words = _WORD.findall(answer.lower()) if answer.isascii() else []
    if words and texts.cues.isdisjoint(words):
        return ANSWERED  # without folding, which changes no other words than cues
    text = folded(answer)
    if not text:
        return Reading("refused", "empty")
    if text in texts.unknown:
        return Reading("refused", answer.strip())
    if texts.cues.isdisjoint(_WORD.findall(text)):
        return ANSWERED
    refusal = gap = ""
    content = named = False
    for clause in clauses(text):
        pointed = _THEY.sub("the passages", clause) if named else clause
        named |= bool(_SOURCE.search(clause))
        if clause in texts.unknown:
            refusal = refusal or clause
        elif found := texts.refusing.search(pointed):
            refusal = refusal or found[0].strip(" ,:")
        elif found := texts.missing.search(pointed):
            gap = gap or found[0]
        elif not _COURTESY.match(clause):
            content |= len(_WORD.findall(clause)) > 1 or any(map(str.isdigit, clause))
    if not refusal and not gap:
        return ANSWERED
    if not content:
        return Reading("refused", refusal or gap)
    return Reading("partial", refusal or gap, not refusal)
