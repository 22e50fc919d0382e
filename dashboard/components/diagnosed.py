"""Evidence diagnosis of a question as markup: hints, parts of the question, passages that were not shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from audit_core.diagnosis import Diagnosis, Names, Unshown, diagnose, siblings_of
from audit_core.model import Document, Dossier, Evidence, Question, Sibling, Siblings
from audit_core.rules.coverage import Aspect, held
from audit_core.rules.shown import Shown
from dashboard.components.text import clipped, escaped, shown

Row = dict[str, Any]
BARE = ("part without support", "part lost")
"""Hints that a passage is missing."""


def passages(rows: Iterable[Row]) -> list[Shown]:
    """Rows of evidence, from `read.question`, as the rules read them."""
    return [
        Shown(r["document_id"], r["rank"], r["passage_text"], r["title"], r["score"], r["family"], r["passage"])
        for r in rows
    ]


def unshown(question: Row, states: Sequence[str]) -> tuple[Unshown, ...]:
    """Passages that were not shown in these states although they belong to a family or a document that was."""
    texts: dict[str, str] = {}

    def document(row: Row) -> Document:
        if row["passage"] is not None and row["passage_text"] is not None:
            texts[row["passage"]] = row["passage_text"]
        kept = row["passage"] if row["passage"] in texts else None
        return Document(row["document_id"], row["rank"], row["score"], row["title"], kept, row["family"])

    def sibling(row: Row) -> Sibling:
        found = document({**row, "rank": row["rank"] or 0})
        return Sibling(
            row["document_id"], row["family"], row["of"], row["rank"], row["score"], row["title"], found.passage
        )

    key = question["question_id"]
    evidence = tuple(
        Evidence(key, state, tuple(map(document, rows)), None if repeat < 0 else repeat)
        for state, repeats in question["evidence_by_repeat"].items()
        for repeat, rows in repeats.items()
    )
    siblings = tuple(Siblings(key, state, tuple(map(sibling, rows))) for state, rows in question["siblings"].items())
    dossier = Dossier(Question(key, question["text"]), (), {}, evidence, None, siblings)
    return siblings_of(dossier, states, texts.__getitem__)


def diagnosis(question: Row, old: Sequence[Row], new: Sequence[Row], states: Sequence[str], names: Names) -> Diagnosis:
    """What is known about two lists of evidence of a question.

    Args:
        question: From `read.question`.
        old: Rows of the first list; likewise `new`.
        states: In which passages count as not shown.
        names: What the lists are called.
    """
    text = question["text"] or question["question_id"]
    return diagnose(text, passages(old), passages(new), unshown(question, states), names, question["parts"])


def hints(found: Diagnosis) -> str:
    """The hints as a list; each with the rule and what decided."""
    if not found.hints:
        return '<p class="mut">No rule found anything remarkable about this evidence.</p>'
    items = "".join(
        f'<li>{escaped(hint.sentence)} <span class="mut small">{escaped(hint.reason)}</span></li>'
        for hint in found.hints
    )
    return f'<ul class="sa-hints">{items}</ul>'


def aspects(found: Diagnosis, labels: Names) -> str:
    """Parts of the question, and the ranks of the passages that hold their words, for each list.

    Args:
        found: The diagnosis.
        labels: What the lists are called, as markup.
    """
    same = found.old == found.new
    lists = found.aspects[:1] if same else found.aspects
    if not found.aspects[0]:
        return ""
    head = "".join(f'<th scope="col">passages in {label}</th>' for label in labels[: len(lists)])
    rows = []
    for i, first in enumerate(found.aspects[0]):
        cells = "".join(f"<td>{_support(part[i], side)}</td>"
                        for part, side in zip(lists, (found.old, found.new), strict=False))  # fmt: skip
        words = f'<br><span class="mut small">words: {escaped(", ".join(first.own))}</span>' if first.own else ""
        rows.append(f'<tr><td><span dir="auto">{escaped(first.part)}</span>{words}</td>{cells}</tr>')
    caption = '<caption class="sa-sr">Parts of the question and passages that speak of them</caption>'
    head = f'<th scope="col">part of the question</th>{head}'
    return f'<table>{caption}<thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _support(aspect: Aspect, side: Sequence[Any]) -> str:
    if not aspect.own:
        return '<span class="mut">cannot be told from the other parts by words</span>'
    ranks = ", ".join(str(side[s.passage].passage.rank) for s in aspect.supports)
    named = ", ".join(f"{side[s.passage].passage.rank} ({kind})" for s, kind in aspect.named)
    text = f"rank {ranks}" if ranks else '<b class="bad">none</b>'
    if named:
        text += f' <span class="mut small">only named: {escaped(named)}</span>'
    if aspect.unread:
        text += f' <span class="mut small">{aspect.unread} without text</span>'
    return text


def siblings(found: Diagnosis, most: int = 6) -> str:
    """Passages that exist and were not shown, best rank first; each opens to its text.

    Args:
        found: The diagnosis.
        most: Passages that are listed.
    """
    if not found.unshown:
        return ""
    bare = [aspect for aspect in found.aspects[0] if aspect.bare]
    helping = [item for item in found.unshown if _speaks(item, bare)]
    listed = [*helping, *(item for item in found.unshown if item not in helping)][:most]
    rows = "".join(_sibling(item, [a for a in bare if _speaks(item, [a])], i == 0) for i, item in enumerate(listed))
    more = len(found.unshown) - len(listed)
    rest = f'<p class="mut small">{more} more.</p>' if more > 0 else ""
    return f'<div class="sa-siblings">{rows}</div>{rest}'


def _speaks(item: Unshown, aspects_: Sequence[Aspect]) -> bool:
    text = f"{item.passage.title}\n{item.passage.text or ''}"
    return any(held(aspect.own, text) for aspect in aspects_)


def _sibling(item: Unshown, speaks: Sequence[Aspect], opened: bool) -> str:
    passage = item.passage
    rank = f"rank {passage.rank}" if passage.rank else "rank not known"
    of = f'sibling of <span class="mono">{escaped(clipped(item.of, 60))}</span>'
    badge = '<span class="sa-mention">speaks of a part without a passage</span>' if speaks else ""
    text = shown(passage.body, tag="div", classes="sa-passage") if passage.text else (
        '<p class="mut small">Its text is not kept in the study.</p>')  # fmt: skip
    name, how = escaped(clipped(passage.name, 120)), " open" if opened and speaks else ""
    return (f'<details{how}><summary><b dir="auto">{name}</b> '
            f'· not shown · {rank} · {of} · {escaped(item.seen)} {badge}</summary>{text}</details>')  # fmt: skip


def urgent(found: Diagnosis) -> bool:
    """Whether a part of a question of several parts has no passage that speaks of it."""
    return len(found.aspects[0]) > 1 and any(hint.kind in BARE for hint in found.hints)


def badges(found: Diagnosis) -> Mapping[str, str]:
    """What each passage is that is not body text, by document id, as markup."""
    return {key: f'<span class="sa-fate">{escaped(reading.kind)}</span>' for key, reading in found.kinds}
