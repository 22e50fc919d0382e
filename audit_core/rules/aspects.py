"""The parts of a question that asks for several things: the rule ``aspects/1``, for English.

A question is cut, in this order and again in each piece, at

1. question marks, line ends and counters such as ``(a)`` or ``2)``;
2. *and*, *or*, *but*, a comma or a semicolon before a question word (*how is it treated*, *when*, *if so where*), or before
   an auxiliary with its subject (*can I*, *is there*);
3. a list of three or more short things before *of*, *for*, *in* or *to* (*causes, diagnosis and treatment of X*), or two
   where the article is said again or both are in `THINGS`;
4. two participles after one subject (*how is X diagnosed and treated*), and a preposition said twice (*for adults and for
   children*).

What all parts share stands in each of them: the words around a list, and, in brackets, the subject of the first part where
a later one only points to it (*it*, *their*) or is a bare question word. *and* inside a name (*terms and conditions*), after
*between* and before a noun never cuts. A question of one part is that part.
"""

from __future__ import annotations

import re

ASPECT_RULES = ("aspects/1",)
THINGS = frozenset(
    """cause symptom sign diagnosis treatment therapy prevention prognosis prevalence aetiology etiology risk benefit advantage
    disadvantage drawback effect side-effect dosage dose cost price fee fare duration length height width depth weight size
    age name address author title date year place location purpose function definition meaning origin history requirement
    deadline penalty population area capital currency language""".split()
)
"""Things that are asked for side by side, in the singular."""

_MARKS = re.compile(r"(?<=[?？؟])\s*(?=\S)|\n+|(?:^|(?<=\s))(?:\(?[a-h1-9]\)|[1-9]\.)\s+")
_WH = r"(?:what|how|when|where|why|who|whom|whose|which)"
_AUX = r"(?:is|are|was|were|do|does|did|can|could|may|might|must|should|will|would|has|have)"
_SUBJECT = r"(?:i|we|you|it|they|he|she|there|this|these|that|the|a|an|my|our|your|their|its|any)"
_ASKS = rf"(?:(?:if (?:so|not|yes),? )?(?:(?:in|at|on|by|for|to|from|with|under) )?{_WH}\b|{_AUX} {_SUBJECT}\b)"
_CLAUSES = re.compile(
    rf"(?:\s*[,;]\s*|\s+)(?:and|or|but)(?: also| then)?,?\s+(?={_ASKS})|\s*[,;]\s*(?={_WH}\b)", re.IGNORECASE
)
_EMBEDDED = re.compile(rf"^.*?\b(?:tell me|know|explain|describe|say|show me|find out|understand|learn)\s+(?={_WH}\b)", re.I)
_BARE = re.compile(rf"^(?:if (?:so|not|yes),? )?(?:(?:in|at|on|by|for|to|from|with) )?{_WH}(?: (?:much|many|long|often|far))?$", re.I)
_LIST = re.compile(
    r"^(?P<head>(?:what|which) (?:is|are|was|were)|(?:please )?(?:describe|explain|list|give(?: me)?|name|state|summari[sz]e|outline|discuss))"
    r" (?P<list>.+?) (?P<tail>(?:of|for|in|to|from) .+)$",
    re.I,
)
_COMMAS = re.compile(r"\s*,\s*(?:and |or |as well as )?|\s+(?:and|or|as well as)\s+", re.I)
_PARTICIPLES = re.compile(
    r"^(?P<head>(?:how|when|where|why|by whom|by what)\b.*\b(?:is|are|was|were|be|been|being|get|gets)\b.*?) (?P<first>\w+(?:ed|en|ade|uilt|ught|old|unk|ut))"
    r",? (?:and|or|as well as) (?:(?:later|then|also) )?(?P<second>\w+(?:ed|en|ade|uilt|ught|old|unk|ut))"
    r"(?P<tail>(?: (?:in|on|at|for|by|with|from|to|during|after|before|when|if|under|into|over|within|without|today|there)\b.*)?)$",
    re.I,
)
_TWICE = re.compile(
    r"^(?P<head>.+?) (?P<first>(?P<by>for|in|by|on|at|with|during|after|before|without) .+?),? (?:and|or|as well as) (?P<second>(?P=by) .+)$", re.I
)
_POINTS = re.compile(r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b|\b(?:this|that|these|those|there|so)$", re.I)
_OPENING = re.compile(rf"^(?:{_WH}(?: (?:much|many|long|often|far|old|big|high|kind of|type of))?|please|if so,?|if not,?)\s+", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_SMALL = frozenset(
    """a an the and or of to in on at for from by with is are was were be been being do does did can could may might must
    should will would has have had i we you he she it they them my our your his her its their this that these those there
    what how when where why who whom whose which much many long often far if so not no yes any some also then me us please
    about as into than per""".split()
)
_CUTS = frozenset("for in on at from by with during after before when if to under into over than".split())


def parts(question: str) -> tuple[str, ...]:
    """The parts of a question, in its order, each to be searched by itself.

    Returns:
        At least one text for a question that is not blank; the trimmed question itself where it has one part.
    """
    whole = " ".join(question.split())
    found = [piece for mark in _MARKS.split(question) for piece in _pieces(" ".join(mark.split()).strip(" ?？؟.;,"))]
    if len(found) < 2:
        return (whole,) if whole else ()
    subject = _subject(found[0])
    return (found[0], *(_carried(piece, found[0], subject) for piece in found[1:]))


def _pieces(text: str) -> list[str]:
    if not text:
        return []
    clauses = [text]
    cut = [piece.strip(" ,;") for piece in _CLAUSES.split(text)]
    if len(cut) > 1 and not _relative(cut):
        clauses = [piece for piece in cut if piece]
        if _BARE.match(clauses[0]):  # "When and where does it open": the first has its tail in the last
            tail = re.sub(rf"^{_WH}\s*", "", clauses[-1], flags=re.I)
            clauses = [f"{piece} {tail}" if _BARE.match(piece) else piece for piece in clauses]
    return [part for clause in clauses for part in _shared(clause)]


def _relative(cut: list[str]) -> bool:
    """Whether the question words after the cut go on with a relative clause (*people who came and who stayed*)."""
    first = _EMBEDDED.sub("", cut[0])
    for piece in cut[1:]:
        word = piece.split()[0].casefold()
        if word in ("who", "which", "where", "when", "whose", "whom") and re.search(rf"\S\s+{word}\b", first, re.I):
            return True
    return False


def _shared(clause: str) -> list[str]:
    """The parts of one clause that share what stands before or after a list."""
    if re.search(r"\b(?:between|both|compare|differ|difference|versus|vs)\b", clause, re.I):
        return [clause]
    if found := _LIST.match(clause):
        items = [item for item in _COMMAS.split(found["list"]) if item]
        if _asked_apart(items):
            return [f"{found['head']} {item} {found['tail']}" for item in items]
    if found := _PARTICIPLES.match(clause):
        return [f"{found['head']} {found[name]}{found['tail']}" for name in ("first", "second")]
    if (found := _TWICE.match(clause)) and len(found["first"].split()) < 6 and len(found["second"].split()) < 6:
        return [f"{found['head']} {found[name]}" for name in ("first", "second")]
    return [clause]


def _asked_apart(items: list[str]) -> bool:
    if len(items) < 2 or any(len(item.split()) > 4 for item in items):
        return False
    if len(items) > 2:
        return True
    again = items[1].split()[0].casefold() in ("the", "a", "an", "its", "their")
    return again or all(_singular(item.split()[-1].casefold()) in THINGS for item in items)


def _singular(word: str) -> str:
    for plural, one in (("ses", "sis"), ("ies", "y"), ("s", "")):
        if word.endswith(plural) and (found := word.removesuffix(plural) + one) in THINGS:
            return found
    return word


def _subject(first: str) -> str:
    """What the first part is about: the words after its auxiliary, without the predicate."""
    opening = _OPENING.match(first)
    words = _WORD.findall(first[opening.end() :] if opening else first)
    what = bool(opening and re.match(r"(?:what|who|which)\b", first, re.I))
    copula = bool(words) and words[0].casefold() in ("is", "are", "was", "were")
    run: list[str] = []
    for word in words[1:] if words and re.fullmatch(_AUX, words[0], re.I) else words:
        if word.casefold() in _CUTS and run and not (what and copula):
            break
        run.append(word)
    kept = [word for word in run if word.casefold() not in _SMALL]
    return " ".join(kept if len(kept) < 2 or (what and copula) else kept[:-1])


def _carried(piece: str, first: str, subject: str) -> str:
    if _BARE.match(piece):
        carried = " ".join(word for word in _WORD.findall(first) if word.casefold() not in _SMALL)
    elif _POINTS.search(piece):
        carried = subject
    else:
        return piece
    return f"{piece} ({carried})" if carried else piece
