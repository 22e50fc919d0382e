"""The parts of a question that asks for several things: the rule ``aspects/1``, for English.

A question is cut, in this order and again in each piece, at

1. question marks, bullets at the beginning of a line and counters such as ``(a)`` or ``2)``;
2. *and*, *or*, *but*, a comma or a semicolon before a question word (*how is it treated*, *if so, where*) or before an
   auxiliary with its subject (*can I*, *is there*), unless the word goes on with a relative clause (*people who stayed
   and who left*);
3. a list before *of*, *for*, *in*, *to* or *from*: three things or more (*causes, diagnosis and treatment of X*), or
   two where the article is said again or both are in `THINGS`;
4. two participles after one subject (*how is X diagnosed and treated*), and a preposition said twice (*for adults and
   for children*).

What all parts share stands in each of them: the words around a list, and, in brackets, the subject of the first part
where a later one only points to it (*it*, *their*), or the whole first part where a later one is a bare question word.
Nothing that the question says is rewritten. *and* inside a name (*terms and conditions*), after *between* and before
a noun never cuts. A question of one part is that part, and one longer than `LONGEST` is not cut.
"""

from __future__ import annotations

import re

ASPECT_RULES = ("aspects/1",)
LONGEST = 2_000
"""Characters of a question; a longer one is not cut."""
THINGS = frozenset({
    "cause", "symptom", "sign", "diagnosis", "treatment", "therapy", "prevention", "prognosis", "prevalence",
    "aetiology", "etiology", "risk", "benefit", "advantage", "disadvantage", "drawback", "effect", "dosage", "dose",
    "cost", "price", "fee", "fare", "duration", "length", "height", "width", "depth", "weight", "size", "age", "name",
    "address", "author", "title", "date", "year", "place", "location", "purpose", "function", "definition", "meaning",
    "origin", "history", "requirement", "deadline", "penalty", "population", "area", "capital", "currency", "language",
})  # fmt: skip
"""Things that are asked for side by side, in the singular."""

_SMALL = frozenset({
    "a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "for", "from", "by", "with", "is", "are", "was",
    "were", "be", "been", "being", "do", "does", "did", "can", "could", "may", "might", "must", "should", "will",
    "would", "has", "have", "had", "i", "we", "you", "he", "she", "it", "they", "them", "my", "our", "your", "his",
    "her", "its", "their", "this", "that", "these", "those", "there", "what", "how", "when", "where", "why", "who",
    "whom", "whose", "which", "much", "many", "long", "often", "far", "if", "so", "not", "no", "yes", "any", "some",
    "also", "then", "me", "us", "please", "about", "as", "into", "than", "per", "tell", "know", "explain", "describe",
    "say", "show", "between",
})  # fmt: skip
"""Words that a search does without."""
_CUTS = frozenset({
    "for", "in", "on", "at", "from", "by", "with", "during", "after", "before", "when", "if", "to", "under", "into",
    "over", "than", "who", "which", "that",
})  # fmt: skip
"""Words that end the subject of a part."""
_BE = frozenset({"is", "are", "was", "were"})
_HAVERS = frozenset({"i", "we", "you", "one"})

_WH = r"(?:what|how|when|where|why|who|whom|whose|which)"
_AUX = r"(?:is|are|was|were|do|does|did|can|could|may|might|must|should|will|would|has|have)"
_PERSON = r"(?:i|we|you|it|they|he|she)"
_TO = r"(?:(?:in|at|on|by|for|to|from|with|under) )?"
_IF = r"(?:if (?:so|not|yes),? )?"
_MANY = r"(?: (?:much|many|long|often|far|old|big|high|year|time|day|month|place|kind|type))?"
_SUBJECT = rf"(?:{_PERSON}|there|this|these|that|the|my|our|your|their|its|any)"
_TELL = r"(?:describe|explain|list|give|name|state|outline|discuss|summari[sz]e|tell|show)"
_ASKS = rf"(?:{_IF}{_TO}{_WH}\b|(?!ha[sv]){_AUX} {_SUBJECT}\b|(?:has|have) {_PERSON}\b)"
_MARKS = re.compile(r"(?:^|\n)\s*[-*•]\s+|(?<=[?？؟])\s*(?=\S)|(?:^|(?<=\s))(?:\(?[a-h1-9]\)|[1-9]\.)\s+")
_CLAUSES = re.compile(
    rf"(?:\s*[,;]\s*|\s+)(?:and|or|but)(?: also| then)?,?\s+(?={_ASKS})"
    rf"|\s*(?<!if so)(?<!if not)[,;]\s*(?={_ASKS})",
    re.I,
)
_COMMA = re.compile(rf"[^,;]+[,;]\s+(?={_ASKS})", re.I)
_QUESTION = re.compile(rf"{_IF}{_TO}{_WH}\b|{_AUX}\b|please\b|{_TELL}\b", re.I)
_EMBEDDED = re.compile(rf"^.*?\b(?:tell me|know|explain|describe|say|show me|find out|understand)\s+(?={_WH}\b)", re.I)
_BARE = re.compile(rf"^{_IF}{_TO}{_WH}{_MANY}$", re.I)
_LIST = re.compile(
    rf"^(?P<head>(?:what|which) (?:is|are|was|were)|(?:please )?{_TELL}(?: me)?)"
    r" (?P<list>.+?) (?P<tail>(?:of|for|in|to|from) .+)$",
    re.I,
)
_COMMAS = re.compile(r"\s*,\s*(?:and |or |as well as )?|\s+(?:and|or|as well as)\s+", re.I)
_DONE = r"\w+(?:ed|en|ade|uilt|ught|old|unk|ut)"
_PARTICIPLES = re.compile(
    rf"^(?P<head>(?:how|when|where|why|by whom|by what)\b.*\b(?:is|are|was|were|be|been|being|get|gets)\b.*?) "
    rf"(?P<first>{_DONE}),? (?:and|or|as well as) (?:(?:later|then|also) )?(?P<second>{_DONE})"
    r"(?P<tail>(?: (?:in|on|at|for|by|with|from|to|during|after|before|when|if|under|into|over|within|without)\b.*)?)$",
    re.I,
)
_TWICE = re.compile(
    r"^(?P<head>.+?) (?P<first>(?P<by>for|in|by|on|at|with|during|after|before|without) .+?),? "
    r"(?:and|or|as well as) (?P<second>(?P=by) .+)$",
    re.I,
)
_TOGETHER = re.compile(r"\b(?:between|both|compare|differ|differs|difference|differences|versus|vs)\b", re.I)
_POINTS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b|\b(?:this|that|these|those|there|so)$", re.I
)
_OPENING = re.compile(rf"^(?:{_IF}{_TO}{_WH}{_MANY}(?: of)?|please)\s+", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def parts(question: str) -> tuple[str, ...]:
    """The parts of a question, in its order, each to be searched by itself.

    Returns:
        At least one text for a question that is not blank; the trimmed question itself where it has one part.
    """
    whole = " ".join(question.split())
    if len(question) > LONGEST:
        return (whole,)
    found = [piece for text in _MARKS.split(question) for piece in _pieces(" ".join(text.split()).strip(" ?？؟.;,"))]
    if len(found) < 2:
        return (whole,) if whole else ()
    return (found[0], *(_carried(piece, found[0]) for piece in found[1:]))


def content(text: str) -> list[str]:
    """Words of a question that a search needs, in its order."""
    return [word for word in _WORD.findall(text) if word.casefold() not in _SMALL]


def _pieces(text: str) -> list[str]:
    if (opening := _COMMA.match(text)) and not _QUESTION.match(text):
        # "In Django, what is …": what stands before a comma and asks nothing belongs to what follows.
        first, *others = _pieces(text[opening.end() :])
        return [opening[0] + first, *others]
    cut = [piece for part in _CLAUSES.split(text) if (piece := part.strip(" ,;"))]
    if len(cut) > 1 and _relative(cut):
        cut = [text]
    if len(cut) > 1 and all(map(_BARE.match, cut[:-1])) and not _BARE.match(cut[-1]):
        # "When and where does it open": the first has its tail in the last.
        tail = re.sub(rf"^{_TO}{_WH}\s*", "", cut[-1], flags=re.I)
        cut = [*(f"{piece} {tail}" for piece in cut[:-1]), cut[-1]]
    elif len(cut) == 2 and re.match(rf"{_TO}which\b|between\b", cut[0], re.I) and not content(cut[0])[1:]:
        cut = [text]
    return [part for clause in cut for part in _shared(clause)]


def _relative(cut: list[str]) -> bool:
    """Whether a question word after the cut goes on with a relative clause (*people who came and who stayed*)."""
    first = _EMBEDDED.sub("", cut[0])
    for piece in cut[1:]:
        word = piece.split()[0].casefold()
        if word in ("who", "which", "where", "when", "whose", "whom") and re.search(rf"\S\s+{word}\b", first, re.I):
            return True
    return False


def _shared(clause: str) -> list[str]:
    """The parts of one clause that share what stands before or after a list."""
    if _TOGETHER.search(clause):
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
    again = items[1].split()[0].casefold() in ("the", "a", "an", "its", "their")
    return len(items) > 2 or again or all(_singular(item.split()[-1].casefold()) in THINGS for item in items)


def _singular(word: str) -> str:
    for plural, one in (("ses", "sis"), ("ies", "y"), ("s", "")):
        if word.endswith(plural) and (found := word.removesuffix(plural) + one) in THINGS:
            return found
    return word


def _carried(piece: str, first: str) -> str:
    if not _BARE.match(piece) and not _POINTS.search(piece):
        return piece
    words = content(first) if _BARE.match(piece) else _subject(first)
    return f"{piece} ({' '.join(words)})" if words else piece


def _subject(first: str) -> list[str]:
    """What the first part is about, from the words around its verb."""
    first = _EMBEDDED.sub("", first)
    opening = _OPENING.match(first)
    words = _WORD.findall(first[opening.end() :] if opening else first)
    word, wh = words[0].casefold() if words else "", opening[0].split()[0].casefold() if opening else ""
    if word in _BE and wh in ("what", "who", "which", "where"):
        return content(" ".join(words))  # "What is the group discount": all of it
    if wh == "who" and not re.fullmatch(_AUX, word):
        return content(" ".join(words[1:]))  # "Who founded the Meridian line": what follows the verb
    if wh in ("which", "what") and not re.fullmatch(_AUX, word):
        end = next((i for i, word in enumerate(words) if re.fullmatch(_AUX, word, re.I)), 1)
        return content(" ".join(words[:end]))  # "Which trams stop at Stannock": the noun
    if re.fullmatch(_AUX, word):
        words = words[1:]
    if words and words[0].casefold() in _HAVERS:
        return content(" ".join(_run(words[2:])))  # "Can I cancel my booking": what follows the verb
    run = content(" ".join(_run(words)))
    return run if len(run) < 2 else run[:-1]


def _run(words: list[str]) -> list[str]:
    end = next((i for i, word in enumerate(words) if i and word.casefold() in _CUTS), len(words))
    return words[:end]
