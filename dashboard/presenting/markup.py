"""Pieces of slides. Markup of ours; every text of a study that goes in has been escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

LINES, WIDTH, LONGEST = 11, 92, 5
"""Lines of a list that fit a slide, characters of a line, and most lines of one item; the style clips at the last."""
_TAG = re.compile(r"<[^>]+>")


def heading(text: str, lead: str = "", *, small: str = "") -> str:
    """A slide's heading, which gets the focus when the slide comes, and a sentence under it; all markup."""
    above = f'<p class="sa-over">{small}</p>' if small else ""
    return f'{above}<h1 tabindex="-1">{text}</h1>' + (f'<p class="lead">{lead}</p>' if lead else "")


def body(content: str) -> str:
    """What stands between heading and foot, and is made smaller where it does not fit."""
    return f'<div class="sa-fit">{content}</div>'


def big(label: str, value: str, note: str, *, measured: bool = True) -> str:
    """A number that can be read from the back of a room, with what must be read beside it."""
    kind = "" if measured else " none"
    return f'<div class="sa-big"><p>{label}</p><b class="{kind.strip()}">{value}</b><p class="mut">{note}</p></div>'


def row(cards: Iterable[str]) -> str:
    """Numbers side by side."""
    return f'<div class="sa-bigs">{"".join(cards)}</div>'


def bullets(items: Iterable[str]) -> str:
    """A list; `items` are markup."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def pages(items: Sequence[str]) -> list[list[str]]:
    """Items of a list on as few slides as they fit on, in order; at least one slide."""
    found: list[list[str]] = [[]]
    used = 0.0
    for item in items:
        lines = min(math.ceil(len(_TAG.sub("", item)) / WIDTH), LONGEST) + 0.35
        if found[-1] and used + lines > LINES:
            found.append([])
            used = 0
        found[-1].append(item)
        used += lines
    return found
