"""The two official answer normalizations, by name and version; exact match and token F1 under them.

``nq_open/1`` is ``language/orqa/utils/eval_utils.py`` of google-research/language (commit e2b407d1): NFD, lower
case, ASCII punctuation deleted, articles replaced by a space, white space collapsed. ``triviaqa/1`` is
``evaluation/triviaqa_evaluation.py`` of mandarjoshi90/triviaqa (commit 51b53595): lower case, punctuation replaced
by a space, articles, white space; no Unicode normalization.

Both scripts call an answer that normalizes to nothing equal to a gold that does (``""`` matches ``A+``). Here such
a pair matches only where the stripped raw texts are equal; `published_match` keeps the rule as published.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = string.punctuation.encode()
_TO_SPACE = bytes(0x20 if byte in _PUNCTUATION else byte for byte in range(256))
_UTF8 = ("utf-8", "surrogatepass")
"""ASCII bytes never occur inside a multi-byte UTF-8 character, so punctuation can be handled on bytes."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A normalization under its name and version.

    Attributes:
        name: Key in `RULES`, such as ``nq_open/1``.
        title: Words for people.
        source: The official script, with its commit.
        normalize: Text to its normalized form. The form may be empty and never begins or ends with white space.
    """

    name: str
    title: str
    source: str
    normalize: Callable[[str], str]


def _nq_open(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return _drop_articles(text.lower().encode(*_UTF8).translate(None, _PUNCTUATION).decode(*_UTF8))


def _triviaqa(text: str) -> str:
    text = text.lower()
    if not text.isascii():
        text = text.replace("‘", " ").replace("’", " ").replace("´", " ")
    return _drop_articles(text.encode(*_UTF8).translate(_TO_SPACE).decode(*_UTF8))


def _drop_articles(text: str) -> str:
    # In printable ASCII without punctuation the regex finds exactly the words that white space separates.
    if text.isascii() and text.isprintable():
        return " ".join([word for word in text.split() if word not in _ARTICLES])
    return " ".join(_ARTICLE.sub(" ", text).split())


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "nq_open/1",
            "NQ-open",
            "google-research/language language/orqa/utils/eval_utils.py e2b407d154bdbfa4a0718e68cefa4aa1a28c2471",
            _nq_open,
        ),
        Rule(
            "triviaqa/1",
            "TriviaQA",
            "mandarjoshi90/triviaqa evaluation/triviaqa_evaluation.py 51b53595131828a00a1fed09cca9c87f512090e2",
            _triviaqa,
        ),
    )
}


def exact_key(rule: Rule, text: str) -> tuple[str, bool]:
    """The key under which two answers are the same, and whether it is flagged.

    The key is the normalized form. Where that is empty it is a space and the stripped raw text, flagged; a
    normalized form never begins with white space, so the two kinds cannot meet.
    """
    form = rule.normalize(text)
    return (form, False) if form else (" " + text.strip(), True)


def exact_match(rule: Rule, text: str, aliases: Iterable[str]) -> bool:
    """Whether any gold alias has the same exact key as the answer.

    Raises:
        ValueError: Without an alias exact match is undefined.
    """
    return exact_key(rule, text)[0] in _alias_keys(rule, _checked(aliases))


def published_match(rule: Rule, text: str, aliases: Iterable[str]) -> bool:
    """Exact match as the official scripts define it: two empty normalized forms are equal.

    Raises:
        ValueError: Without an alias exact match is undefined.
    """
    form = rule.normalize(text)
    return any(rule.normalize(alias) == form for alias in _checked(aliases))


def token_f1(rule: Rule, text: str, aliases: Iterable[str]) -> Fraction:
    """Largest bag-of-words F1 over the aliases, in [0, 1]; nothing in common is 0, also empty against empty.

    Raises:
        ValueError: Without an alias token F1 is undefined.
    """
    return Fraction(*_best_f1(rule, rule.normalize(text), _checked(aliases)))


def _best_f1(rule: Rule, form: str, aliases: tuple[str, ...]) -> tuple[int, int]:
    words = form.split()
    bag = Counter(words) if len(words) > 1 else dict.fromkeys(words, 1)
    best = (0, 1)
    for gold, size in _alias_bags(rule, aliases):
        common = 0
        for word, count in bag.items():
            other = gold.get(word)
            if other:
                common += count if count < other else other
        if 2 * common * best[1] > best[0] * (len(words) + size):
            best = (2 * common, len(words) + size)
    return best


def _checked(aliases: Iterable[str]) -> tuple[str, ...]:
    # A bare string is iterable too; taking its letters for aliases is a known fault of one official script.
    if isinstance(aliases, str):
        raise TypeError("aliases must be several texts, not one text")
    checked = tuple(aliases)
    if not checked:
        raise ValueError("without a gold alias the score is undefined")
    return checked


# The cells of one question come together, so a small cache saves normalizing its golds for each of them.
@lru_cache(maxsize=4096)
def _alias_keys(rule: Rule, aliases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(exact_key(rule, alias)[0] for alias in aliases)


@lru_cache(maxsize=4096)
def _alias_bags(rule: Rule, aliases: tuple[str, ...]) -> tuple[tuple[Counter[str], int], ...]:
    forms = [rule.normalize(alias).split() for alias in aliases]
    return tuple((Counter(form), len(form)) for form in forms)


@dataclass(frozen=True, slots=True)
class Score:
    """Everything that one normalization of an answer gives.

    Attributes:
        key: See `exact_key`.
        flagged: The normalized form is empty.
        match: Exact match; None without gold.
        f1: Token F1 as (numerator, denominator); the denominator is 0 without gold.
    """

    key: str
    flagged: bool
    match: bool | None
    f1: tuple[int, int]


def score(rule: Rule, text: str, aliases: tuple[str, ...]) -> Score:
    """`exact_key`, `exact_match` and `token_f1` of an answer at once; without an alias only the key is known."""
    form = rule.normalize(text)
    key, flagged = (form, False) if form else (" " + text.strip(), True)
    if not aliases:
        return Score(key, flagged, None, (0, 0))
    return Score(key, flagged, key in _alias_keys(rule, aliases), _best_f1(rule, form, aliases))
