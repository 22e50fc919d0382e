"""The slide of a flip: both answers, what differs, and on request evidence and gold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit_core.diagnosis import Ranked
from audit_core.reviews.events import IMPACTS, VERDICTS
from dashboard.comparison import Comparison
from dashboard.components import evidence
from dashboard.components.agreement import Classes, classes
from dashboard.components.card import View, chip, transition
from dashboard.components.desk import Desk, pairs_of
from dashboard.components.people import named
from dashboard.components.text import clipped, escaped, shown
from dashboard.components.words import difference_markup, excerpt, mentions
from dashboard.markup import pill
from dashboard.presenting.markup import body, heading
from dashboard.presenting.show import Content, Sight, Slide

Row = dict[str, Any]
QUESTION, ANSWER, BRIEF, WORDS = 300, 420, 150, 260
"""Most characters of a question, of an answer, of an answer beside its evidence, and of an answer compared by words."""
SHORT, MEDIUM = 48, 140
"""Longest answer in the largest type, and in the second largest."""
GROUPS, DOCUMENTS, GOLD = 3, 3, 6
"""Most different answers of a state, documents of a state and gold answers."""


def slide(comparison: Comparison, desk: Desk, question_id: str, place: str, rule: str) -> Slide:
    """The slide of one question.

    Args:
        place: Position among the questions that are presented, in words.
        rule: By what they were chosen.
    """

    def draw(sight: Sight) -> Content:
        question = desk.content(question_id)
        if question is None:
            return Content(heading("This question is no longer in the study.") + body(""))
        return Content(_markup(comparison, desk, question, place, rule, sight))

    return Slide(f"flip:{question_id}", f"{place}: {clipped(question_id, 60)}", draw, question_id)


def _markup(comparison: Comparison, desk: Desk, question: Row, place: str, rule: str, sight: Sight) -> str:
    question_id, what = question["question_id"], desk.what
    view = View(
        question, comparison.study, desk.table.row(question_id), what.old, what.new, what.kernel,
        desk.standing(question_id), None, "", None, "", None, False, (), False,
    )  # fmt: skip
    found = classes(view.cells, view.same, what.pair)
    text, name = question["text"], f'<span class="mono" dir="auto">{escaped(clipped(question_id, 70))}</span>'
    title = shown(clipped(question_id if text is None else text, QUESTION))
    small = f"{place} · {name if text is not None else 'ids only'} {_verdict(desk, question_id, sight)}"
    sides = "".join(_side(view, found, state, kind, sight) for state, kind in zip(what.pair, view.names, strict=True))
    under = _evidence(view) if sight.evidence else _words(view, found)
    fine = f'<p class="sa-fine">{escaped(rule)}</p>'
    return heading(title, small=small) + body(
        f'<div class="sa-sides">{sides}</div>{under}{_gold(view, sight)}{fine}'
    )  # fmt: skip


def _verdict(desk: Desk, question_id: str, sight: Sight) -> str:
    """The verdict that counts, as far as whoever presents may know it; who gave it only where names are chosen."""
    i, marks = desk.table.index[question_id], desk.marks
    verdict, impact = int(marks.outcome[i]), int(marks.outcome_impact[i])
    if verdict < 0:
        return pill("Disputed", "warn") if marks.to_settle[i] else ""
    key = list(VERDICTS)[verdict]
    words = VERDICTS[key] + (f", {list(IMPACTS)[impact]} impact" if impact >= 0 else "")
    tone = {"regression": "bad", "improvement": "ok"}.get(key, "")
    by = ""
    if sight.names:
        review = desk.review(question_id)
        events = [review.ruling] if review.ruled and review.ruling else review.verdicts
        by = ' <span class="sa-by">by ' + ", ".join(named(event.reviewer) for event in events) + "</span>"
    return pill(words, tone) + by


def _side(view: View, found: Classes, state: str, kind: str, sight: Sight) -> str:
    cells = [cell for cell in view.cells if cell["state_name"] == state]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for cell in cells:
        groups.setdefault((cell["status"], cell["answer"], found.letters[cell["cell_key"]]), []).append(cell)
    rows = "".join(_answer(found, group, len(groups), sight) for group in list(groups.values())[:GROUPS])
    more = f'<p class="mut">… and {len(groups) - GROUPS} other answers</p>' if len(groups) > GROUPS else ""
    title = f'<h2><b>{kind.capitalize()}</b> <span class="mut" dir="auto">{view.label(state)}</span></h2>'
    return f'<section class="sa-side is-{kind}">{title}{rows or "<p>No answers in this state.</p>"}{more}</section>'


def _answer(found: Classes, group: Sequence[Row], groups: int, sight: Sight) -> str:
    cell = group[0]
    repeats = ", ".join(f"r{c['repeat']}" for c in group[:4]) + ("…" if len(group) > 4 else "")
    if groups == 1 and len(group) > 1:
        repeats = "in both repeats" if len(group) == 2 else f"in all {len(group)} repeats"
    text = cell["answer"] if cell["status"] == "ok" else None
    if not text or not text.strip():
        words, size = f'<i class="mut">{"no answer came back" if text is None else "empty answer"}</i>', "is-medium"
    else:
        limit = BRIEF if sight.evidence or groups > 1 else ANSWER
        size = "is-short" if len(text) <= SHORT else "is-medium" if len(text) <= MEDIUM else "is-long"
        words = shown(clipped(text, limit))
    return f'<p class="sa-answer {size}">{chip(found, cell)} {words} <span class="sa-rep">{repeats}</span></p>'


def _words(view: View, found: Classes) -> str:
    pairs = [p for p in pairs_of(view.cells, view.old, view.new) if all(view.cells[i]["answer"] for i in p)]
    if not pairs:
        return ""
    a, b = (view.cells[i] for i in pairs[0])
    old, new = (clipped(cell["answer"], WORDS) for cell in (a, b))
    if a["answer"] == b["answer"]:
        return ""
    cut = " <span class='mut'>(only the beginning is compared)</span>" if old.endswith("…") or new.endswith("…") else ""
    return (
        f'<p class="sa-diff"><span class="mut">Words, {chip(found, a)} → {chip(found, b)}</span> '
        f'<span dir="auto" class="sa-text">{difference_markup(old, new)}</span>{cut}</p>'
    )


def _evidence(view: View) -> str:
    documents = view.question["documents"]
    old, new = evidence.compared(documents.get(view.old, []), documents.get(view.new, []))
    answers = list(dict.fromkeys(c["answer"] for c in view.cells if c["state_name"] in (view.old, view.new)
                                 and c["answer"] and not c["unknown"]))  # fmt: skip
    boxes = "".join(
        f'<div class="sa-box"><h3 class="is-{kind}">{kind.capitalize()} evidence</h3>{_documents(side, answers)}</div>'
        for kind, side in zip(view.names, (old, new), strict=True)
    )
    told = evidence.sentence(old, new, view.names)
    return f'<p class="sa-told">Documents: {told}</p><div class="sa-sides">{boxes}</div>'


def _documents(side: Sequence[Ranked], answers: Sequence[str]) -> str:
    """First what the other state lacks, by rank."""
    ordered = sorted(side, key=lambda ranked: (ranked.fate in ("kept", "moved"), ranked.passage.rank))
    rows = "".join(_document(ranked, answers) for ranked in ordered[:DOCUMENTS])
    more = f'<li class="mut">… and {len(side) - DOCUMENTS} more</li>' if len(side) > DOCUMENTS else ""
    return f'<ul class="sa-docs">{rows}{more}</ul>' if side else '<p class="mut">No documents.</p>'


def _document(ranked: Ranked, answers: Sequence[str]) -> str:
    document = ranked.passage
    fate = {"kept": "in both", "moved": "in both", "lost": "only here", "gained": "only here"}[ranked.fate]
    text = ""
    if document.text:
        line = " ".join(document.text[:20_000].split())
        text = f'<span class="sa-passage" dir="auto">{excerpt(line, mentions(line, answers), 90)}</span>'
    name = escaped(clipped(document.name, 60))
    return f'<li><b dir="auto">{document.rank}. {name}</b> <span class="sa-fate {ranked.fate}">{fate}</span>{text}</li>'


def _gold(view: View, sight: Sight) -> str:
    gold = view.question["gold"]
    if not sight.gold or gold is None:
        return ""
    aliases = " · ".join(shown(clipped(alias, 120)) for alias in gold[:GOLD])
    more = f" … and {len(gold) - GOLD} more" if len(gold) > GOLD else ""
    row = view.row or {}
    moved = f'<br><span class="mut">{transition(row)}</span>' if row.get("matched") else ""
    return f'<p class="sa-gold" id="stage-gold"><b>Gold:</b> {aliases}{more}{moved}</p>'
