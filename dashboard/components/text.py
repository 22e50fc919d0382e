"""Study text made safe and honest for `st.html`: escaped, hidden characters visible, direction kept to itself."""

from __future__ import annotations

import html
import re

LONGEST = 20_000
"""Characters of one text that are shown before *show all*."""

_NAMES = {
    0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0B: "VT", 0x0C: "FF", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL", 0x85: "NEL",
    0xAD: "SHY", 0x061C: "ALM", 0x180E: "MVS", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM",
    0x200F: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO",
    0x202E: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def escaped(text: str) -> str:
    """Markup that shows a text to the letter; control, bidirectional and zero-width characters appear as marks."""
    return _HIDDEN.sub(_mark, html.escape(text))


def shown(text: str, *, tag: str = "span", classes: str = "") -> str:
    """A text in its own element: line breaks kept, its direction isolated from what stands around it."""
    return f'<{tag} dir="auto" class="sa-text {classes}">{escaped(text)}</{tag}>'


def clipped(text: str, length: int) -> str:
    """The first characters of a text on one line, with an ellipsis where it goes on."""
    line = " ".join(text[: length * 4].split())
    return line if len(line) <= length and len(text) <= length * 4 else line[: length - 1].rstrip() + "…"


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    name = _NAMES.get(code, f"U+{code:04X}")
    return f'<mark class="sa-hidden" title="U+{code:04X}">{name}</mark>'
