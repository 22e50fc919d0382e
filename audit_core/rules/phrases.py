"""Texts that a rule looks for, as a person writes them in a protocol.

A text is looked for as whole words, ignoring case, quotes and *n't* for *not*. ``*`` stands for up to three words,
``[a|b]`` for either and ``[a|b]?`` for either or none, ``{source}`` for a word of `SOURCES`; a ``^`` before it binds it
to the beginning of a clause or a comma or colon in it (after *but*, *so* and the like), a ``$`` after it to the end of
a clause. All else stands for itself, also brackets that are not closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SOURCES = (
    "passages", "passage", "context", "contexts", "documents", "document", "sources", "source", "texts", "text",
    "excerpts", "excerpt", "evidence", "materials", "material", "articles", "article", "snippets", "chunks",
    "search results", "results", "knowledge base", "provided information", "given information", "information provided",
)  # fmt: skip
"""What a text means by ``{source}``."""

_CONTRACTED = (("can't", "cannot"), ("won't", "will not"), ("n't", " not"), ("i'm", "i am"), ("i've", "i have"))
_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"'})
_LEADS = "(?:but|so|and|therefore|thus|hence|unfortunately|however|sorry|then)"
_PIECE = re.compile(r"\[|\]\? |\]\??|\||\* |[^][|*]+|.")
_SYNTAX = {"[": "(?:(?:", "]? ": ") )?", "]": "))", "]?": "))?", "|": "|", "* ": r"(?:\S+ ){0,3}?"}
_WORD = re.compile(r"\w+")


def folded(text: str) -> str:
    """Case, quotes, *n't* and runs of spaces made one; line ends kept, because they end clauses."""
    text = text.translate(_QUOTES).casefold()
    for short, long in _CONTRACTED:
        text = text.replace(short, long)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def usable(text: str) -> bool:
    """Whether a text says something: there is a word that it needs."""
    return bool(needed(text))


def pattern(texts: Iterable[str]) -> re.Pattern[str]:
    """The texts as one expression for a folded clause; unusable ones are left out."""
    return re.compile("|".join(_expression(folded(text)) for text in texts if usable(text)) or r"(?!)")


def needed(text: str) -> list[str]:
    """Words of which a folded answer holds at least one where it holds the text; the list with the longest words."""
    body = _body(folded(text))
    lists: list[list[str]] = []
    either: list[str] = []
    depth = 0
    for piece in _PIECE.findall(body) if _balanced(body) else [body]:
        if piece == "[":
            either, depth = either if depth else [], depth + 1
        elif piece.startswith("]"):
            depth -= 1
            if not depth and piece == "]":
                lists.append(either)
        elif depth:
            either = [*either, *_longest(piece)]
        else:
            lists += [[word] for word in _WORD.findall(piece)]
    return max(filter(None, lists), key=lambda words: min(map(len, words)), default=[])


def _longest(text: str) -> list[str]:
    return sorted(_WORD.findall(text), key=len, reverse=True)[:1]


def _expression(text: str) -> str:
    start = rf"(?:^|[,:] )(?:{_LEADS},? )*" if text.startswith("^") else r"(?<!\w)"
    end = "$" if text.endswith("$") else r"(?!\w)"
    body = _body(text)
    pieces = _PIECE.findall(body) if _balanced(body) else [body]
    return start + "".join(_SYNTAX.get(piece) or re.escape(piece) for piece in pieces) + end


def _body(text: str) -> str:
    return text.removeprefix("^").removesuffix("$").replace("{source}", f"[{'|'.join(SOURCES)}]")


def _balanced(text: str) -> bool:
    """Whether brackets are closed and hold something before and after each bar."""
    depth, before = 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0 or (character == "|" and not depth) or (character in "|]" and before in ("[", "|")):
            return False
        before = character
    return not depth
