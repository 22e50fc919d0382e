"""How alike two answers to one question are worded: whole numbers from 0 to 1000, the same on every machine.

Every feature is a ratio of two whole numbers, rounded once to thousandths, so nothing depends on floating point.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from audit_core.adapters.extractive import COMMON
from audit_core.normalize import RULES

FEATURES = (
    "containment",
    "f1",
    "f1_content",
    "recall_of_shorter",
    "recall_of_shorter_content",
    "token_set_ratio",
    "partial_ratio_content",
    "no_number_conflict",
    "no_negation_conflict",
)
ONE = 1000
"""What a feature counts in: 1000 is all, 0 is nothing."""

_DIGITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90
}  # fmt: skip
_NUMBERS = {word: number for number, word in enumerate(_DIGITS)} | _TENS
_SYNONYMS = {"true": "yes", "false": "no", "cannot": "can not", "cant": "can not", "wont": "will not"}
_UNITS = {
    word: (unit, factor)
    for unit, factor, words in (
        ("percent", 1, ("percent", "%", "per cent")), ("euro", 1, ("eur", "€", "euro", "euros")),
        ("dollar", 1, ("usd", "$", "dollar", "dollars")), ("pound", 1, ("gbp", "£", "pound", "pounds")),
        ("second", 1, ("s", "sec", "secs", "second", "seconds")), ("second", 60, ("min", "mins", "minute", "minutes")),
        ("second", 3600, ("h", "hr", "hrs", "hour", "hours")), ("second", 86400, ("day", "days")),
        ("second", 604800, ("week", "weeks")), ("month", 1, ("month", "months")), ("month", 12, ("year", "years")),
        ("kb", 1, ("kb",)), ("mb", 1, ("mb",)), ("gb", 1, ("gb",)), ("tb", 1, ("tb",)), ("byte", 1, ("byte", "bytes")),
        ("metre", 1, ("m", "metre", "metres", "meter", "meters")),
        ("metre", 1000, ("km", "kilometre", "kilometres", "kilometer", "kilometers")),
        ("kg", 1, ("kg", "kilogram", "kilograms")), ("time", 1, ("time", "times")), ("item", 1, ("item", "items")),
        ("person", 1, ("people", "person", "persons", "user", "users")), ("device", 1, ("device", "devices")),
        ("file", 1, ("file", "files")), ("character", 1, ("character", "characters")),
    )
    for word in words
}  # fmt: skip
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_QUANTITY = re.compile(r"([$€£]?)\s*(-?\d+(?:\.\d+)?)\s*([^\W\d_]+(?: cent)?|[%€$£])?")
_THOUSANDS = re.compile(r"(?<=\d)[,  ](?=\d{3}(?!\d))")
_NEGATION = frozenset(["no", "not", "never", "none", "neither", "nor", "without", "nothing", "unable"])
_AUXILIARY = frozenset([
    "is", "are", "was", "were", "do", "does", "did", "could", "would", "should", "has", "have", "had", "must"
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, with its unit in terms of a basic one: minutes are 60 seconds, years 12 months; "" for no unit."""

    number: Fraction
    factor: int
    unit: str

    def equals(self, other: Quantity) -> bool:
        """Whether two quantities are the same; a missing unit fits any."""
        if not self.unit or not other.unit:
            return self.number == other.number
        return self.unit == other.unit and self.number * self.factor == other.number * other.factor


@dataclass(frozen=True, slots=True)
class Wording:
    """One answer, taken apart.

    Attributes:
        raw: Stripped text, as it is where the normal form is empty.
        words: Of the normal form: lower case, no punctuation, articles or accents; digits for number words to 99,
            yes and no for true and false, "not" as a word of its own.
        numbers: Every number in it, as written.
        quantity: Where it is a number, with or without a unit, and nothing else.
        negated: Whether it holds an odd number of negations.
    """

    raw: str
    words: tuple[str, ...]
    numbers: frozenset[str]
    quantity: Quantity | None
    negated: bool


@lru_cache(maxsize=4096)
def wording(text: str) -> Wording:
    """An answer, taken apart."""
    raw = text.strip()
    plain = _THOUSANDS.sub("", raw.lower())
    words = _words(plain)
    numbers = frozenset(_NUMBER.findall(plain)) | {word for word in words if word.isdecimal()}
    return Wording(raw, words, numbers, _quantity(plain, words), sum(map(negation, words)) % 2 == 1)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    found: list[str] = []
    tens = 0
    for word in RULES["nq_open/1"].normalize(bare.replace("-", " ").replace("/", " ")).split():
        number = _NUMBERS.get(word)
        if number is not None and number < 10 and tens:
            found[-1] = str(tens + number)
        elif number is not None:
            found.append(str(number))
        elif word.endswith("nt") and word[:-2] in _AUXILIARY:
            found += [word[:-2], "not"]
        else:
            found += _SYNONYMS.get(word, word).split()
        tens = _TENS.get(word, 0)
    return tuple(found)


def _quantity(plain: str, words: tuple[str, ...]) -> Quantity | None:
    text = plain.strip(". ")
    found = _QUANTITY.fullmatch(text) or (_QUANTITY.fullmatch(" ".join(words)) if text[:1].isalpha() else None)
    if found is None:
        return None
    sign, number, word = found.group(1), found.group(2), found.group(3) or ""
    if (sign and word) or (word and word not in _UNITS):
        return None
    unit, factor = _UNITS.get(sign or word, ("", 1))
    return Quantity(Fraction(number), factor, unit)


def negation(word: str) -> bool:
    """Whether a word of a normal form turns a statement round."""
    return word in _NEGATION


def number_conflict(a: Wording, b: Wording) -> bool:
    """Whether both answers hold a number that the other lacks."""
    return bool(a.numbers - b.numbers and b.numbers - a.numbers)


def features(question: str, a: Wording, b: Wording) -> tuple[int, ...]:
    """The features of a pair, in the order of `FEATURES`; the order of the two answers does not matter."""
    asked = set(_words(question.lower())) | COMMON
    content_a, content_b = (tuple(w for w in x.words if w not in asked) for x in (a, b))
    if not content_a or not content_b:  # a choice between words of the question
        content_a, content_b = a.words, b.words
    short, long = sorted((content_a, content_b), key=lambda words: (len(words), words))
    text_a, text_b = " ".join(a.words), " ".join(b.words)
    return (
        ONE * (f" {text_a} " in f" {text_b} " or f" {text_b} " in f" {text_a} ") if text_a and text_b else 0,
        _f1(a.words, b.words),
        _f1(content_a, content_b),
        _recall(a.words, b.words),
        _recall(content_a, content_b),
        _token_set(set(a.words), set(b.words)),
        _partial(short, long),
        0 if number_conflict(a, b) else ONE,
        0 if a.negated != b.negated else ONE,
    )


def _share(part: int, whole: int) -> int:
    return (2 * ONE * part + whole) // (2 * whole) if whole else 0


def _common(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return sum((Counter(a) & Counter(b)).values())


def _f1(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return _share(2 * _common(a, b), len(a) + len(b))


def _recall(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return _share(_common(a, b), min(len(a), len(b)))


def _token_set(a: set[str], b: set[str]) -> int:
    both = " ".join(sorted(a & b))
    one, other = (" ".join(filter(None, [both, *sorted(x - y)])) for x, y in ((a, b), (b, a)))
    pairs = [(one, other), (both, one), (both, other)] if both else [(one, other)]
    return max(_ratio(x, y) for x, y in pairs)


def _partial(short: tuple[str, ...], long: tuple[str, ...]) -> int:
    size, text = len(short), " ".join(short)
    return max((_ratio(text, " ".join(long[i : i + size])) for i in range(len(long) - size + 1)), default=0)


def _ratio(a: str, b: str) -> int:
    return _share(2 * _subsequence(a, b), len(a) + len(b))


def _subsequence(a: str, b: str) -> int:
    """Length of the longest common subsequence of characters, bit-parallel (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, character in enumerate(a):
        places[character] = places.get(character, 0) | 1 << i
    full = (1 << len(a)) - 1
    row = full
    for character in b:
        hit = row & places.get(character, 0)
        row = (row + hit | row - hit) & full
    return len(a) - row.bit_count()
