"""Whether a passage is body text, a bibliography, an index or a table of contents: the rule ``passage_kind/1``.

A bibliography, an index or a table of contents names things without describing them: it is retrieved for a question and
does not answer it. The rule counts marks in the text and knows no document. The first line that applies decides:

| kind | when |
|---|---|
| contents | `ENTRIES` or more entries lead to a page number by dots, or are numbered and end in one, or stand under a heading that says so; the pages never fall and the entries are `COVER` of the text, or they are bare short lines under such a heading |
| index | `ENTRIES` or more entries of words and page numbers, `COVER` of the text, in alphabetical order with commas or several pages, or a third of them with several |
| bibliography | under a heading that says so `COVER` of the pieces between full stops are no sentences, or there are `MARKS` or more marks of references of two sorts (years; addresses such as a DOI; volumes and pages; authors; numbers in brackets and titles in quotes; words such as *et al.*, *Proceedings*, *Verlag*), or addresses alone; `DENSITY` or more in a hundred words, half of that under a heading, and at most `PROSE` words in a hundred of which only sentences are made; notices of copyright and where links lead are none |
| body | otherwise |
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

PASSAGE_RULES = ("passage_kind/1",)
PassageKind = Literal["body", "bibliography", "index", "contents"]
ENTRIES = 3
COVER = Fraction(2, 3)
MARKS = 3
DENSITY = 12
PROSE = 4
LONGEST = 20_000
"""Characters that are read of a passage."""


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What the rule makes of a passage.

    Attributes:
        kind: See the module's table.
        reason: What decided, in words; empty for body text.
    """

    kind: PassageKind
    reason: str = ""


BODY = PassageReading("body")

_REFERENCES = re.compile(
    r"^\W*(?:chapter \w+\W+)?(?:references?|bibliograph(?:y|ies)|works cited|literature(?: cited)?|further reading"
    r"|sources|reading list|(?:selected )?publications|table of cases|authorities|literatur(?:verzeichnis)?"
    r"|quellen(?:verzeichnis)?|bibliographie|références|bibliografía|referencias|bibliografia|riferimenti)"
    r"(?: and [\w ]+)?(?:,? part \w+)?\W*$",
    re.I,
)
_CONTENTS = re.compile(
    r"^\W*(?:(?:table of |list of )?(?:contents|figures|tables)|on this page"
    r"|in this (?:chapter|section|article|document)|inhalt(?:sverzeichnis)?|table des matières|sommaire|índice"
    r"|indice)\W*$",
    re.I,
)
_MARKS = re.compile(
    r"(?P<year>\(?\b(?:1[5-9]|20)\d\d[a-z]?\b\)?)"
    r"|(?P<address>https?://\S+|\bdoi\b:?\s*\S+|\b10\.\d{4,9}/\S+|\barxiv:\S+|\bis[bs]n\b[:\s]*[\dXx-]*"
    r"|\bpmid\b:?\s*\d*)"
    r"|(?P<place>\b\d+\s?\(\d+(?:[-–]\d+)?\)|\b\d+\s*:\s*e?\d+\s?[-–]\s?[e\d]+|\b(?:pp?|s)\.\s?\d+|\bvol\."
    r"|\bn[or]\.\s?\d|\bart\.\s?\d|§\s?\d"
    r"|\b\d{1,4} (?!jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[A-Z][A-Za-z. ]{0,12}\d{1,4}\b)"
    r"|(?P<author>(?-i:\b[A-ZÀ-Þ][\w'’-]+, ?(?:[A-ZÀ-Þ]\.[- ]?){1,3}|\b[A-ZÀ-Þ][\w'’-]+ [A-Z]{1,3}\b(?=[,.;:])"
    r"|(?:\b[A-Z]\.[- ]?){1,3}[A-ZÀ-Þ][a-zà-þ]{2,}"
    r"|(?:^|(?<=[.\]] ))[A-ZÀ-Þ][\w'’-]+, [A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]*\.?)*[.,]))"
    r"|(?P<number>(?:^|(?<=[.\s]))\[\d{1,3}\]\s+(?=[\"“‘'*]?(?-i:[A-ZÀ-Þ]))|[\"“](?-i:[A-ZÀ-Þ])[^\"“”]{14,200}[\"”])"
    r"|(?P<word>\bet al\b|\beds?\.|\bhrsg\b|\bibid\b|\bop\. cit|\buniversity press\b"
    r"|\b(?:springer|elsevier|wiley|routledge)\b|\bverlag\b|\bproc(?:eedings)?\b|\bjournal of\b|(?-i:\bJ\.? [A-Z])"
    r"|\bv\.\s(?-i:[A-Z])"
    r"|^(?:TY|A[U1]|PY|Y1|T[I1]|J[OF]|VL|[SE]P|ER|PB|CY)  -|^@\w+\{|\b(?:author|journal|publisher|booktitle)\s*=)",
    re.I | re.M,
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCES = frozenset({
    "is", "are", "was", "were", "has", "have", "had", "be", "been", "can", "could", "might", "must", "should",
    "will", "would", "this", "these", "it", "they", "which", "that", "when", "if", "not", "you", "your", "we", "our",
    "do", "does", "did", "there", "also", "than", "then", "because", "however", "such", "its", "their", "but", "so",
})  # fmt: skip
_LEADERS = re.compile(
    r"(?:\.{4,300}|\s\.{3,300}|(?:\s\.){3,300}|…{2,99}|\s…|_{3,300})\s{0,9}(\d{1,4}|[ivxlc]{1,9})\b", re.I
)
_SECTION = r"(?:(?:chapter|section|part|appendix|annex|figure|table|kapitel|anhang) [\w.]+|\d+(?:\.\d+)*|[IVX]+)"
_NUMBERED = re.compile(
    rf"(?<![\w.:]){_SECTION}[.:]?\s+(?P<words>[^\W\d][^\d]{{2,70}}?)\s+(?P<page>\d{{1,4}})(?=\s|$)", re.I
)
_ENDS = re.compile(r"^(?P<words>.*[^\W\d].*?)[\s._…]+(?P<page>\d{1,4})$")
_SENTENCE_END = re.compile(r"[.!?;:,]$")
_ENTRY_ENDS = re.compile(r"(?<=\d)[fn]{0,2}[,;.]*\s+(?=[^\W\d_])")
_NUMBER = r"\d{1,4}(?:[-–]\d{1,4})?[fn]{0,2}"
_ENTRY = re.compile(
    rf"^(?P<words>[^\d:€$£%]{{2,90}}?)(?P<comma>,?)\s+(?P<pages>{_NUMBER}(?:,\s*{_NUMBER})*)[,;.]?$"
)
_LINK = re.compile(r"(?<=\])\([^)\s]*\)|<[^<>\n]+>")
"""Where a link of Markdown leads, and tags; the words are beside them."""
_RIGHTS = re.compile(r"©|\bcopyright\b|\blicen[cs]ed?\b", re.I)
_PIECE_ENDS = re.compile(r"(?<=\w\w)[.?!](?=\s|$)|;|\n")
_SEE = re.compile(r"(?:(?<=[.,;(] )|(?<=\())see(?: also)? [^.;,\d\n]+[.;,)]*", re.I)


def kind_of(text: str, title: str = "") -> PassageReading:
    """What kind of passage a text is.

    Args:
        text: The passage as it is shown, its line ends kept where it has some.
        title: Its title; a heading such as *References* counts like one in the first line of the text.
    """
    text = text[:LONGEST]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    heads = (title, *lines[:1])
    return _contents(text, lines, heads) or _index(lines) or _bibliography(text, heads) or BODY


def _headed(heads: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(part) for head in heads for part in (head, *re.split(r"[:–—]", head)))


def _contents(text: str, lines: list[str], heads: Sequence[str]) -> PassageReading | None:
    led = [found[1] for found in _LEADERS.finditer(text)]
    if len(led) >= ENTRIES and _rising([int(page) for page in led if page.isdigit()]):
        return PassageReading("contents", f"dots lead {len(led)} entries to a page number")
    numbered = list(_NUMBERED.finditer(text))
    if len(numbered) >= ENTRIES and _covers(numbered, text) and _rising([int(found["page"]) for found in numbered]):
        return PassageReading("contents", f"{len(numbered)} numbered entries end in a page number, in order")
    if _headed(heads, _CONTENTS):
        below = lines[1:] if lines and _CONTENTS.search(lines[0]) else lines
        ends = [found for line in below if (found := _ENDS.match(line))]
        if len(ends) >= ENTRIES and len(ends) >= COVER * len(below) and _rising([int(found["page"]) for found in ends]):
            return PassageReading("contents", f"{len(ends)} lines under a heading end in a page number, in order")
        if len(below) > ENTRIES and all(len(line.split()) < 7 and not _SENTENCE_END.search(line) for line in below):
            return PassageReading("contents", f"{len(below)} short lines under a heading")
    return None


def _covers(entries: list[re.Match[str]], text: str) -> bool:
    return sum(len(" ".join(found[0].split())) for found in entries) >= COVER * len(" ".join(text.split()))


def _rising(pages: list[int]) -> bool:
    return all(a <= b for a, b in pairwise(pages)) and (not pages or pages[0] < pages[-1])


def _index(lines: list[str]) -> PassageReading | None:
    lines = [_SEE.sub("", line) for line in lines]
    pieces = [piece.strip() for line in lines for piece in _ENTRY_ENDS.split(line)]
    entries = [found for piece in pieces if (found := _ENTRY.match(piece)) and _is_entry(found)]
    if len(entries) < ENTRIES or not _covers(entries, "\n".join(lines)):
        return None
    words = [re.sub(r"^\W+", "", found["words"]).casefold() for found in entries]
    several = sum("," in found["pages"] for found in entries)
    commas = sum(bool(found["comma"]) for found in entries)
    in_order = 5 * sum(a[:1] <= b[:1] for a, b in pairwise(words)) >= 4 * (len(words) - 1)
    if (in_order and (2 * commas >= len(entries) or several)) or (several > 1 and 3 * several >= len(entries)):
        return PassageReading("index", f"{len(entries)} entries are words with page numbers")
    return None


def _is_entry(found: re.Match[str]) -> bool:
    """Whether the numbers rise as pages do, and the words are no part of a sentence."""
    pages = [int(re.match(r"\d+", page.strip())[0]) for page in found["pages"].split(",")]  # type: ignore[index]
    words = _words(found["words"])
    return pages == sorted(pages) and len(words) < 10 and _SENTENCES.isdisjoint(words)


def _bibliography(text: str, heads: Sequence[str]) -> PassageReading | None:
    headed = _headed(heads, _REFERENCES)
    if headed:
        pieces = [words for piece in _PIECE_ENDS.split(text) if (words := _words(piece))]
        bare = sum(_SENTENCES.isdisjoint(words) and len(words) < 15 for words in pieces)
        if len(pieces) > ENTRIES and bare >= COVER * len(pieces):
            return PassageReading("bibliography", f"{bare} of {len(pieces)} pieces under a heading are no sentences")
    text = _LINK.sub("", text)
    all_words = _words(text)
    if _RIGHTS.search(text) or 100 * sum(word in _SENTENCES for word in all_words) > PROSE * len(all_words):
        return None
    marks = [str(found.lastgroup) for found in _MARKS.finditer(text)]
    words = _words(_MARKS.sub(" ", text))
    if len(marks) < MARKS or not (len(set(marks)) > 1 or set(marks) == {"address"}):
        return None
    if 100 * len(marks) < (DENSITY // 2 if headed else DENSITY) * (len(words) + len(marks)):
        return None
    return PassageReading("bibliography", f"{len(marks)} marks of references beside {len(words)} words")


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
