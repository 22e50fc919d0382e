"""The fold ``presentation/1``: texts that differ in how they are set, and in nothing that they say.

| folded | how |
|---|---|
| white space | every run, also of no-break and thin spaces and line ends, is one space; never none |
| ligatures | ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ are their letters |
| accents | a letter and its combining marks are one character |
| invisible marks | soft hyphens and zero-width characters between letters are dropped |
| quotes | ‘ ’ ‚ ‛ ‹ › ` ´ are ', and “ ” „ ‟ « » are " |
| dashes | ‐ ‑ ‒ – — ― are - |
| hyphenation | a hyphen, white space and a small letter, with two letters on both sides, may be nothing or a hyphen |
| ellipses | at the beginning and the end of an excerpt they are dropped |

Never folded: digits, also raised and lowered ones; signs such as + ± × = < > % ° ′ ″ and the minus U+2212; units, µ and
μ, the signs for kelvin, ohm and ångström; case (mM is not MM); spaces between digits (1 0 is not 10). An excerpt that
begins or ends within a number of the passage is not in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

PRESENTATION_RULES = ("presentation/1",)

_LETTERS = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_FAMILIES = str.maketrans(
    _LETTERS | dict.fromkeys("‘’‚‛‹›`´", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—―", "-")
)
_BREAK = "\ufdd0"
"""Stands for a hyphen at the end of a line; no text holds this character."""
_ACCENTED = re.compile(r"[^\W\d_][\u0300-\u036f]+")
_LETTER = r"[^\W\d_]"
_INVISIBLE = re.compile(rf"(?<={_LETTER})(?:\u00ad\s+|[\u00ad\u200b-\u200d\u2060\ufeff]+)(?={_LETTER})")
_HYPHENATED = re.compile(rf"(?<={_LETTER}{_LETTER})[-‐]\s+(?=({_LETTER}){_LETTER})")
_ELLIPSES = re.compile(r"^(?:\s*(?:…|\.{3}))+|(?:(?:…|\.{3})\s*)+$")


@lru_cache(maxsize=1024)
def folded(text: str) -> str:
    """A text under the fold; equal texts say the same."""
    text = text.replace(_BREAK, "")
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        text = _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", found[0]), text)
        text = text.translate({ord(a): b for a, b in _LETTERS.items()})
    text = _HYPHENATED.sub(lambda found: _BREAK if found[1].islower() else found[0], text)
    return " ".join(text.translate(_FAMILIES).split())


def found_in(excerpt: str, text: str) -> Literal["exact", "fold"] | None:
    """How a text holds an excerpt; None where it does not, or only within a longer number."""
    bare = _bare(excerpt)
    if not bare:
        return None
    if excerpt.strip() in text and _whole(re.escape(excerpt.strip()), text):
        return "exact"
    if _letters(bare) not in _letters(text):
        return None
    return "fold" if _whole(_expression(folded(bare)), folded(text)) else None


@lru_cache(maxsize=256)
def _bare(excerpt: str) -> str:
    """An excerpt without the dots that say that it goes on."""
    return _ELLIPSES.sub("", excerpt).strip()


def joined(excerpt: str, first: str, second: str) -> bool:
    """Whether an excerpt is in the end of one text and the beginning of another, which may overlap."""
    bare = folded(_bare(excerpt))
    a, b = folded(first), folded(second)
    if not bare or not a or not b:
        return False
    border = folded(f"{first[-len(excerpt) - 50 :]}\n{second[: len(excerpt) + 50]}")
    if _whole(_expression(bare), border):
        return True
    ends = next((n for n in range(min(len(bare), len(a)), 0, -1) if a.endswith(bare[:n])), 0)
    begins = next((n for n in range(max(0, len(bare) - len(b)), len(bare)) if b.startswith(bare[n:])), len(bare))
    return 0 < begins <= ends < len(bare)


def spanned(excerpt: str, texts: Sequence[str]) -> tuple[int, int] | None:
    """The first two texts, by place, over whose border an excerpt goes; see `joined`.

    Time grows with the texts, not with their pairs: only where the end of one and the beginning of the other together
    are as long as the excerpt are both looked at.
    """
    bare = _letters(_bare(excerpt))
    held = [_reach(bare, _letters(text)) for text in texts]
    for i, (end, _) in enumerate(held):
        for j, (_, beginning) in enumerate(held):
            if i != j and end + beginning >= len(bare) and joined(excerpt, texts[i], texts[j]):
                return i, j
    return None


@lru_cache(maxsize=1024)
def _letters(text: str) -> str:
    """What hyphenation and line ends leave alone."""
    return folded(text).translate({ord(character): None for character in f"- {_BREAK}"})


def _reach(bare: str, text: str) -> tuple[int, int]:
    """Length of the longest beginning of an excerpt that ends a text, and of the longest end that begins it."""
    most = min(len(bare), len(text))
    end = next((n for n in range(most, 0, -1) if text.endswith(bare[:n])), 0)
    return end, next((n for n in range(most, 0, -1) if text.startswith(bare[len(bare) - n :])), 0)


def _whole(expression: str, text: str) -> bool:
    """Whether the expression is in the text and cuts no number."""
    for found in re.finditer(expression, text):
        before, after = text[: found.start()], text[found.end() :]
        begins = found[0][:1].isnumeric() and re.search(r"(?:\d[.,]?|[-+−±<>≤≥~≈])$", before)
        ends = found[0][-1:].isnumeric() and re.match(r"\d|[.,]\d", after)
        if not begins and not ends:
            return True
    return False


@lru_cache(maxsize=1024)
def _expression(excerpt: str) -> str:
    """A folded excerpt, in which each hyphen at the end of a line may be nothing or a hyphen, here or in the text."""
    pieces = []
    for i, character in enumerate(excerpt):
        between = i > 0 and excerpt[i - 1].isalpha() and character.isalpha()
        if character == _BREAK:
            pieces.append(f"[-{_BREAK}]?")
        elif character == "-":
            pieces.append(f"[-{_BREAK}]")
        else:
            pieces.append((f"{_BREAK}?" if between else "") + re.escape(character))
    return "".join(pieces)
