"""What happened to the evidence between two states: kept, moved, lost, gained, by rank, with the passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dashboard.components.text import LONGEST, escaped
from dashboard.components.words import excerpt, marked, mentions

Fate = Literal["kept", "moved", "lost", "gained"]
FOLDED = 6
"""Documents shown for each state before the rest is folded."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One document of a state.

    Attributes:
        fate: What became of it towards the other state.
        elsewhere: Its rank in the other state; None where it is not there.
        twice: True where the same document stands higher in this list already; overlap counts it once.
    """

    document: dict[str, Any]
    fate: Fate
    elsewhere: int | None
    twice: bool


def compared(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> tuple[list[Ranked], list[Ranked]]:
    """Both lists in rank order, each document with its fate."""
    return _side(old, _ranks(new), "lost"), _side(new, _ranks(old), "gained")


def _ranks(documents: Sequence[dict[str, Any]]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for document in documents:
        ranks.setdefault(document["document_id"], document["rank"])
    return ranks


def _side(documents: Sequence[dict[str, Any]], other: dict[str, int], absent: Fate) -> list[Ranked]:
    own = _ranks(documents)
    side = []
    for document in documents:
        rank = other.get(document["document_id"])
        fate: Fate = absent if rank is None else "kept" if rank == document["rank"] else "moved"
        side.append(Ranked(document, fate, rank, own[document["document_id"]] != document["rank"]))
    return side


Names = tuple[str, str]
"""What the two states are called: old and new, or A and B while a question is masked."""


def sentence(old: Sequence[Ranked], new: Sequence[Ranked], names: Names = ("old", "new")) -> str:
    """The comparison in words."""
    if not old and not new:
        return "No documents were retrieved in either state."
    number = {fate: sum(r.fate == fate and not r.twice for r in side) for side, fate in
              ((old, "kept"), (old, "moved"), (old, "lost"), (new, "gained"))}
    if not number["moved"] + number["lost"] + number["gained"]:
        return f"The same {number['kept']} documents in the same order."
    if not number["lost"] + number["gained"]:
        return f"The same {number['kept'] + number['moved']} documents, {number['moved']} of them at another rank."
    return (f"{number['kept'] + number['moved']} in both ({number['moved']} moved), "
            f"{number['lost']} only in {names[0]}, {number['gained']} only in {names[1]}.")


def table(side: Sequence[Ranked], answers: Sequence[str], names: Names, which: int, *, full: bool) -> str:
    """One state's documents as an HTML table; passages as excerpts around a mention, or in full.

    Args:
        side: The documents.
        answers: Texts to look for.
        names: What the two states are called.
        which: Position of this one.
        full: Passages in full.
    """
    if not side:
        return f'<p class="mut">No documents in the {names[which]} state.</p>'
    scored = any(r.document["score"] is not None for r in side)
    head = ('<thead><tr><th scope="col">rank</th><th scope="col">document</th>'
            + ('<th scope="col" class="n">score</th>' if scored else "") + "</tr></thead>")
    rows = [_row(r, answers, names, which, scored, full) for r in side]
    caption = f'<caption class="sa-sr">Evidence of the {names[which]} state by rank</caption>'
    body = "".join(rows[:FOLDED])
    tail = ""
    if len(rows) > FOLDED:
        rest = "".join(rows[FOLDED:])
        tail = (f"<details{' open' if full else ''}><summary>{len(rows) - FOLDED} more</summary>"
                f'<table class="sa-ev">{caption}<tbody>{rest}</tbody></table></details>')
    return f'<table class="sa-ev">{caption}{head}<tbody>{body}</tbody></table>{tail}'


def _row(ranked: Ranked, answers: Sequence[str], names: Names, which: int, scored: bool, full: bool) -> str:
    document = ranked.document
    words = {
        "kept": "in both · same rank",
        "moved": f"in both · {names[1 - which]} rank {ranked.elsewhere}",
        "lost": f"only in {names[0]}",
        "gained": f"only in {names[1]}",
    }[ranked.fate]
    colour = "" if names == ("A", "B") else ranked.fate
    if ranked.twice:
        words += " · listed before"
    name = escaped(document["title"] or document["document_id"])
    under = f'<span class="mut mono"> {escaped(document["document_id"])}</span>' if document["title"] else ""
    score = f'<td class="n">{escaped(document["score"] or "")}</td>' if scored else ""
    passage = _passage(document["passage_text"], answers, full)
    return (f'<tr><td>{document["rank"]}</td><td><b dir="auto">{name}</b>{under} '
            f'<span class="sa-fate {colour}">{words}</span>{passage}</td>{score}</tr>')


def _passage(text: str | None, answers: Sequence[str], full: bool) -> str:
    if text is None:
        return ""
    text = text[:LONGEST]
    places = mentions(text, answers)
    badge = ' <span class="sa-mention">mentions an answer</span>' if places else ""
    content = marked(text, places) if full else excerpt(text, places)
    return f'{badge}<div class="sa-passage{" full" if full else ""}" dir="auto">{content}</div>'
