"""Whether a passage is body text, a bibliography, an index or a table of contents: the rule ``passage_kind/1``.

A bibliography, an index or a table of contents names things without describing them, so it is retrieved for a question
and does not answer it. The rule counts marks; it knows no document.

| kind | when |
|---|---|
| contents | `LINES` or more lines or runs end in a page number, the numbers never fall, and leaders, section numbers or a heading say so |
| index | `LINES` or more entries of words and page numbers, in alphabetical order or several with two numbers |
| bibliography | `MARKS` or more marks of references (years, DOIs, initials, volumes and pages, *et al.*, publishers, tags of RIS or BibTeX), `DENSITY` or more a hundred words, and at most `VERBS` a hundred words of the prose words |
| body | otherwise |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

PASSAGE_RULES = ("passage_kind/1",)
PassageKind = Literal["body", "bibliography", "index", "contents"]
LINES = 3
MARKS = 3
DENSITY = 12
VERBS = 4


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
    r"^\W*(?:references?|bibliograph(?:y|ies)|works cited|literature(?: cited)?|further reading|sources|literatur(?:verzeichnis)?|"
    r"quellen(?:verzeichnis)?|bibliographie|références|bibliografía|referencias|bibliografia|riferimenti)\b", re.I)
_INDEX = re.compile(r"^\W*(?:(?:subject |author |general |name )?index|register|stichwortverzeichnis|sachregister|índice analítico)\b", re.I)
_CONTENTS = re.compile(r"^\W*(?:(?:table of )?contents|inhalt(?:sverzeichnis)?|table des matières|sommaire|índice|indice)\b", re.I)
_MARKS = re.compile(
    r"\(?\b(?:1[89]|20)\d\d[a-z]?\b\)?"
    r"|\bdoi\b:?\s*\S*|\b10\.\d{4,9}/\S+|https?://\S+|\barxiv:\S+|\bis[bs]n\b|\bpmid\b"
    r"|\b\d+\s?\(\d+(?:[-–]\d+)?\)|\b\d+\s*:\s*e?\d+\s?[-–]\s?\d+|\b(?:pp?|s|S)\.\s?\d+|\bvol\.|\bno\.\s?\d|\bnr\.\s?\d"
    r"|(?-i:\b[A-ZÀ-Þ][\w'’-]+,? (?:[A-Z]\.[- ]?){1,3})|(?-i:\b[A-ZÀ-Þ][\w'’-]+ [A-Z]{1,3}\b(?=[,.;:]))"
    r"|\bet al\b|\beds?\.|\bhrsg\b|\buniversity press\b|\b(?:springer|elsevier|wiley|blackwell|routledge|verlag)\b|\bproc(?:eedings)?\b"
    r"|\bjournal of\b|(?-i:\bJ\.? [A-Z])|^(?:TY|AU|A1|PY|TI|T1|JO|JF|VL|SP|EP|ER)  - |^@\w+\{|\bv\.\s(?-i:[A-Z])|\[\d{4}\] (?-i:[A-Z]+)",
    re.I | re.M,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE = frozenset(
    """is are was were has have had be been can could may might must should will would this these it they which that when if not
    you your we our do does did there also than then because however such its their but so""".split()
)
_LEADERS = re.compile(r"(?:\.{3,}|(?:\s\.){3,}|…{1,}|_{3,})\s*(\d{1,4}|[ivxlc]+)\b", re.I)
_SECTION = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[IVX]+\.|chapter \d+|part [\divx]+|section \d+|appendix \w|kapitel \d+|chapitre \d+|annex \w)\s", re.I)
_ENDS = re.compile(r"^(?P<words>\D.*?|\d+(?:\.\d+)*\.? \D.*?)[\s.…_]+(?P<page>\d{1,4})$")
_NUMBERS = r"\d{1,4}(?:[-–]\d{1,4})?[fn]{0,2}\.?"
_ENTRY = re.compile(rf"^(?P<words>[^\d:;€$£%]{{2,70}}?),?\s+(?P<pages>{_NUMBERS}(?:,\s*{_NUMBERS})*)$")
_RUN = re.compile(rf"(?P<words>[^\d,;:€$£%.?!]{{2,60}}?),\s*(?P<pages>{_NUMBERS}(?:,\s*{_NUMBERS})*)[;.]?(?=\s|$)")
_SEE = re.compile(r"\bsee(?: also)? \w", re.I)


def kind_of(text: str, title: str = "") -> PassageReading:
    """What kind of passage a text is.

    Args:
        text: The passage as it is shown, its line ends kept where it has some.
        title: Its title; a heading such as *References* counts like one in the text.
    """
    heading = next((line for line in text.splitlines() if line.strip()), "")
    heads = (title, heading)
    return _contents(text, heads) or _index(text, heads) or _bibliography(text, heads) or BODY


def _headed(heads: tuple[str, str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.match(head) and len(head.split()) < 5 for head in heads)


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _contents(text: str, heads: tuple[str, str]) -> PassageReading | None:
    led = [found[1] for found in _LEADERS.finditer(text)]
    if len(led) >= LINES and _rising([int(page) for page in led if page.isdigit()]):
        return PassageReading("contents", f"{len(led)} entries lead to a page number")
    lines = _lines(text)
    ends = [found for line in lines if (found := _ENDS.match(line)) and "," not in found["words"][-1:]]
    if len(ends) >= LINES and 3 * len(ends) >= 2 * (len(lines) - 1) and _rising([int(found["page"]) for found in ends]):
        sections = sum(bool(_SECTION.match(found[0])) for found in ends)
        if 2 * sections >= len(ends) or _headed(heads, _CONTENTS):
            return PassageReading("contents", f"{len(ends)} of {len(lines)} lines end in a page number, in order")
    return None


def _rising(pages: list[int]) -> bool:
    return all(a <= b for a, b in pairwise(pages)) and (not pages or pages[0] < pages[-1])


def _index(text: str, heads: tuple[str, str]) -> PassageReading | None:
    lines = _lines(text)
    entries = [found for line in lines if (found := _ENTRY.match(line))]
    share = len(entries) + sum(bool(_SEE.search(line)) for line in lines if not _ENTRY.match(line))
    if not (len(entries) >= LINES and 3 * share >= 2 * (len(lines) - 1)):
        entries = list(_RUN.finditer(text))
        covered = sum(len(found[0]) for found in entries)
        if len(entries) < LINES or 10 * covered < 6 * len(text):
            return None
    words = [found["words"].strip(" –—-•").casefold() for found in entries]
    several = sum("," in found["pages"] for found in entries)
    in_order = sum(a <= b for a, b in pairwise(words)) * 5 >= (len(words) - 1) * 4
    commas = sum(found[0][len(found["words"]) :].startswith(",") for found in entries)
    if (in_order and (commas * 2 >= len(entries) or several)) or several * 3 >= len(entries) or _headed(heads, _INDEX):
        return PassageReading("index", f"{len(entries)} entries are words with page numbers")
    return None


def _bibliography(text: str, heads: tuple[str, str]) -> PassageReading | None:
    words = _WORD.findall(text)
    marks = len({found.start() for found in _MARKS.finditer(text)})
    prose = sum(word.casefold() in _PROSE for word in words)
    headed = _headed(heads, _REFERENCES)
    if marks < (1 if headed else MARKS) or not words:
        return None
    if 100 * marks < (DENSITY // 2 if headed else DENSITY) * len(words) or 100 * prose > VERBS * len(words):
        return None
    return PassageReading("bibliography", f"{marks} marks of references in {len(words)} words")
