"""Names of people: what one may be, and when two spellings are one person."""

from __future__ import annotations

import unicodedata

LOCAL = "local:"
"""How the name of somebody begins who has chosen it rather than signed in."""
LONGEST = 60
LONGEST_ADDRESS = 254
"""Characters of a name that is chosen, and of one that a sign-in gives."""
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0}
"""Characters that are letters or marks by category and nothing to the eye."""


def fold(name: str) -> str:
    """What is left of a name where spellings that look alike are the same."""
    shown = "".join(c for c in unicodedata.normalize("NFKC", name) if not _hidden(c))
    return unicodedata.normalize("NFKC", " ".join(shown.casefold().split()))


def unfit(name: str, longest: int = LONGEST) -> str:
    """What a name lacks to be one, as a clause after *expected*; empty where it can."""
    if not name or len(name) > longest:
        return f"1 to {longest} characters"
    if any(_hidden(c) for c in name):
        return "only characters that can be seen"
    if name != unicodedata.normalize("NFC", name) or unicodedata.combining(name[0]):
        return "characters in their normal form (NFC)"
    if name != " ".join(name.split()):
        return "no space at an end and no two in a row"
    return ""


def _hidden(character: str) -> bool:
    """Controls, marks of direction, zero-width, unassigned and blank characters; every space but the plain one."""
    code, category = ord(character), unicodedata.category(character)
    return (
        category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or (category == "Zs" and character != " ")
        or code in _BLANK
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
    )
