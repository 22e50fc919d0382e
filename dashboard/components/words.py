"""Words of two texts compared, and the places where a passage mentions an answer. Pure functions on text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

import numpy as np

from dashboard.components.text import escaped

MOST_WORDS = 1_500
"""Words of each text that are compared; comparing is quadratic in the worst case."""

Change = Literal["same", "old", "new"]
_NUMBER = r"[£$€¥]?(?:\d{4}-\d\d-\d\d|\d+(?:[.,:/]\d+)*)%?(?!\w)"  # a time, a price or a date is one word
_PIECES = re.compile(rf"(?:{_NUMBER}|\w+|[^\w\s]+|^)\s*")
_WORD = re.compile(r"\w+")


def difference(old: str, new: str) -> list[tuple[Change, str]]:
    """Runs of text that both share, that only the old one has, and that only the new one has, in reading order.

    Words are compared, not the space between them; `MOST_WORDS` words of each text at most. The shared part is a
    longest common subsequence, in time that does not depend on how repetitive the texts are.
    """
    a, b = _pieces(old), _pieces(new)
    runs: list[tuple[Change, str]] = []
    at_a = at_b = 0
    for i, j in [*_matches([p.rstrip() for p in a], [p.rstrip() for p in b]), (len(a), len(b))]:
        if at_a < i:
            runs.append(("old", "".join(a[at_a:i])))
        if at_b < j:
            runs.append(("new", "".join(b[at_b:j])))
        if i < len(a):
            both = max(a[i], b[j], key=len)  # the one with space after it, where the other ends
            if runs and runs[-1][0] == "same":
                runs[-1] = ("same", runs[-1][1] + both)
            else:
                runs.append(("same", both))
        at_a, at_b = i + 1, j + 1
    return runs


def _matches(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    codes: dict[str, int] = {}
    left = np.array([codes.setdefault(word, len(codes)) for word in a[start:]], dtype=np.int32)
    right = np.array([codes.setdefault(word, len(codes)) for word in b[start:]], dtype=np.int32)
    length = np.zeros((len(left) + 1, len(right) + 1), dtype=np.int16)
    for i, word in enumerate(left):
        length[i + 1, 1:] = np.maximum.accumulate(np.maximum(length[i, 1:], length[i, :-1] + (right == word)))
    i, j, found = len(left), len(right), []
    while i and j:
        if length[i, j] == length[i - 1, j]:
            i -= 1
        elif length[i, j] == length[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((start + i, start + j))
    return [(k, k) for k in range(start)] + found[::-1]


def cut(text: str) -> bool:
    """True where only the beginning of a text is compared."""
    return next(islice(_PIECES.finditer(text), MOST_WORDS, None), None) is not None


def difference_markup(old: str, new: str) -> str:
    """The comparison for `st.html`: struck out what only the old text has, underlined what only the new one has."""
    tags = {"same": "{}", "old": "<del>{}</del>", "new": "<ins>{}</ins>"}
    return "".join(tags[change].format(escaped(text)) for change, text in difference(old, new))


def news_markup(first: str, other: str) -> str:
    """The other text with a mark on every word that the first one does not have at that place."""
    return "".join(f"<mark>{escaped(text)}</mark>" if change == "new" else escaped(text)
                   for change, text in difference(first, other) if change != "old")


def mentions(passage: str, answers: Iterable[str]) -> list[tuple[int, int]]:
    """Where a passage mentions an answer: the whole of it, else its longest run of words.

    A run counts when it has at least two words and half of the answer's; case and spacing do not matter.

    Returns:
        Start and end of each mention, in order, not overlapping.
    """
    found: list[tuple[int, int]] = []
    for answer in answers:
        words = [re.escape(found.group()) for found in islice(_WORD.finditer(answer), 12)]
        if not words or (len(words) == 1 and len(words[0]) < 2):
            continue
        shortest = len(words) if len(words) < 2 else max(2, -(-len(words) // 2))
        for length in range(len(words), shortest - 1, -1):
            runs = {r"\W+".join(words[i : i + length]) for i in range(len(words) - length + 1)}
            pattern = re.compile(rf"\b(?:{'|'.join(sorted(runs))})\b", re.IGNORECASE)
            places = [match.span() for match in pattern.finditer(passage)]
            if places:
                found += places
                break
    return _apart(sorted(found))


def marked(passage: str, places: Iterable[tuple[int, int]]) -> str:
    """Markup of a passage with its mentions marked."""
    out, at = [], 0
    for start, end in places:
        out += [escaped(passage[at:start]), "<mark>", escaped(passage[start:end]), "</mark>"]
        at = end
    return "".join(out) + escaped(passage[at:])


def excerpt(passage: str, places: list[tuple[int, int]], around: int = 110) -> str:
    """Markup of the part of a passage around its first mention, or of its beginning."""
    start = max(0, places[0][0] - around) if places else 0
    end = min(len(passage), (places[0][1] if places else around) + around)
    inside = [(max(a, start) - start, min(b, end) - start) for a, b in places if a < end and b > start]
    text = marked(passage[start:end], inside).replace("\n", " ")
    return ("…" if start else "") + text + ("…" if end < len(passage) else "")


def _pieces(text: str) -> list[str]:
    """Words and signs, each with the space after it; space at the beginning is its own piece."""
    return [piece for match in islice(_PIECES.finditer(text), MOST_WORDS) if (piece := match.group())]


def _apart(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in places:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept
