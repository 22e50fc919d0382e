"""What happened to the evidence between two states: kept, moved, lost, gained, by rank, with the passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from audit_core.diagnosis import Names, Ranked, sentence
from audit_core.diagnosis import compared as compared_lists
from audit_core.rules.shown import Shown
from dashboard.components.text import LONGEST, escaped
from dashboard.components.words import excerpt, marked, mentions

__all__ = ["compared", "sentence", "table"]
FOLDED = 6
"""Documents shown for each state before the rest is folded."""


def compared(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> tuple[Sequence[Ranked], Sequence[Ranked]]:
    """Both lists of rows in rank order, each document with its fate."""
    return compared_lists(_shown(old), _shown(new))


def _shown(rows: Sequence[dict[str, Any]]) -> list[Shown]:
    return [Shown(row["document_id"], row["rank"], row["passage_text"], row["title"], row["score"]) for row in rows]


def table(
    side: Sequence[Ranked],
    answers: Sequence[str],
    names: Names,
    which: int,
    *,
    full: bool,
    badges: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One state's documents as an HTML table; passages as excerpts around a mention, or in full.

    Args:
        side: The documents.
        answers: Texts to look for.
        names: What the two states are called.
        which: Position of this one.
        full: Passages in full.
        badges: Markup beside the name of a document, by its id.
    """
    if not side:
        return f'<p class="mut">No documents in the {names[which]} state.</p>'
    scored = any(r.passage.score is not None for r in side)
    head = ('<thead><tr><th scope="col">rank</th><th scope="col">document</th>'
            + ('<th scope="col" class="n">score</th>' if scored else "") + "</tr></thead>")
    rows = [_row(r, answers, names, which, scored, full, badges.get(r.passage.document_id, "")) for r in side]
    caption = f'<caption class="sa-sr">Evidence of the {names[which]} state by rank</caption>'
    body = "".join(rows[:FOLDED])
    tail = ""
    if len(rows) > FOLDED:
        rest = "".join(rows[FOLDED:])
        tail = (f"<details{' open' if full else ''}><summary>{len(rows) - FOLDED} more</summary>"
                f'<table class="sa-ev">{caption}<tbody>{rest}</tbody></table></details>')
    return f'<table class="sa-ev">{caption}{head}<tbody>{body}</tbody></table>{tail}'


def _row(
    ranked: Ranked, answers: Sequence[str], names: Names, which: int, scored: bool, full: bool, badge: str
) -> str:
    document = ranked.passage
    words = {
        "kept": "in both · same rank",
        "moved": f"in both · {names[1 - which]} rank {ranked.elsewhere}",
        "lost": f"only in {names[0]}",
        "gained": f"only in {names[1]}",
    }[ranked.fate]
    colour = "" if names == ("A", "B") else ranked.fate
    if ranked.twice:
        words += " · listed before"
    name = escaped(document.name)
    under = f'<span class="mut mono"> {escaped(document.document_id)}</span>' if document.title else ""
    score = f'<td class="n">{escaped(document.score or "")}</td>' if scored else ""
    passage = _passage(document.text, answers, full)
    return (f'<tr><td>{document.rank}</td><td><b dir="auto">{name}</b>{under} '
            f'<span class="sa-fate {colour}">{words}</span> {badge}{passage}</td>{score}</tr>')


def _passage(text: str | None, answers: Sequence[str], full: bool) -> str:
    if text is None:
        return ""
    text = text[:LONGEST]
    places = mentions(text, answers)
    badge = ' <span class="sa-mention">mentions an answer</span>' if places else ""
    content = marked(text, places) if full else excerpt(text, places)
    return f'{badge}<div class="sa-passage{" full" if full else ""}" dir="auto">{content}</div>'
