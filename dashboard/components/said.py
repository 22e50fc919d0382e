"""What an answer does, and whether the excerpts that it carries are in the passages that it was shown."""

from __future__ import annotations

from typing import Any

from audit_core.model import Cell, Excerpt
from audit_core.rules.excerpts import Checked, ExcerptKind, check
from dashboard.components.diagnosed import passages
from dashboard.components.text import clipped, escaped

Row = dict[str, Any]
WORDS: dict[ExcerptKind, tuple[str, str]] = {
    "exact": ("ok", "to the letter"),
    "fold": ("ok", "but for white space, hyphens or quotes"),
    "spans two": ("warn", "over the border of two passages"),
    "elsewhere": ("warn", "not in the passage that it names, but in another one"),
    "absent": ("bad", "in no passage that was shown"),
    "not checked": ("mut", "cannot be checked: texts of passages are not kept"),
}
"""Tone and words of each class."""


def outcome(cell: Row) -> str:
    """A mark on an answer that refuses or answers a part, with whoever says so; nothing on an answer."""
    if cell["outcome"] in (None, "answered"):
        return ""
    source = escaped(clipped(cell["outcome_source"] or "", 160))
    doubt = ", not certain" if cell["outcome_certain"] == 0 else ""
    return f' <span class="sa-fate" title="{source}">{cell["outcome"]}{doubt}</span>'


def checked(question: Row, cell: Row) -> list[Checked]:
    """The excerpts of an answer against the evidence of its repeat."""
    own = question["evidence_by_repeat"].get(cell["state_name"], {})
    rows = own.get(cell["repeat"], own.get(-1, []))
    excerpts = tuple(Excerpt(**item) for item in cell["excerpts"])
    answer = Cell(question["question_id"], cell["state_name"], cell["repeat"], "ok", cell["answer"], excerpts=excerpts)
    return check(answer, passages(rows)) if cell["answer"] else []


def excerpts(question: Row, cell: Row) -> str:
    """Every excerpt of an answer with its class; nothing where it carries none."""
    rows = []
    for item in checked(question, cell):
        tone, words = WORDS[item.kind]
        ranks = " and ".join(map(str, item.places))
        place = f" · rank {ranks}" if ranks else ""
        cited = item.excerpt.document_id or (f"rank {item.excerpt.rank}" if item.excerpt.rank else "")
        names = f' <span class="mut small">· cites {escaped(clipped(cited, 60))}</span>' if cited else ""
        rows.append(f'<li><span class="{tone}">{item.kind}</span> '
                    f'<span class="mut small">· {words}{place}</span>{names}'
                    f'<br><q dir="auto">{escaped(clipped(item.excerpt.text, 240))}</q></li>')  # fmt: skip
    return f'<ul class="sa-excerpts" aria-label="Excerpts">{"".join(rows)}</ul>' if rows else ""
