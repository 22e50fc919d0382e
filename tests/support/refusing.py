"""Made-up questions whose repeats refuse, answer in part or in full, each with evidence of its own or not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from audit_core.model import Cell, Document, Dossier, Evidence, Judgment, Question

STATES = ("L", "H")
WORDS = {"answered": ("Paris", "Rome", "paris."), "partial": ("Paris, in part",),
         "refused": ("UNKNOWN", "I cannot answer this.")}  # fmt: skip


def documents(kind: str) -> tuple[Document, ...]:
    """Three kinds of evidence: another order by rank, and another score."""
    first, second = ("d1", "d2") if kind != "b" else ("d2", "d1")
    return Document(first, 1, "2.5" if kind != "c" else "2.4"), Document(second, 2, "1.5")


def study(rows: Sequence, judged: bool = True) -> list[Dossier]:
    """Dossiers out of drawn cells; labels are drawn too, so they need not be transitive."""
    out = []
    for q, (*states, draw) in enumerate(rows):
        cells, shown = [], []
        for state, (held, shared) in zip(STATES, states, strict=True):
            for repeat, (found, kind) in enumerate(held, 1):
                text, word = found or (None, None)
                stated = word if word == "partial" else None
                cells.append(
                    Cell(f"q{q}", state, repeat, "ok" if found else "error", text, None if found else "503",
                         outcome=stated)  # type: ignore[arg-type]
                )  # fmt: skip
                if kind and not shared:
                    shown.append(Evidence(f"q{q}", state, documents(kind), repeat))
            if shared:
                shown.append(Evidence(f"q{q}", state, documents("a")))
        slots = tuple((c.state, c.repeat) for c in cells if c.status == "ok")
        pairs = list(itertools.combinations(range(len(slots)), 2))
        labels = tuple((i, j, draw >> n % 20 & 1) for n, (i, j) in enumerate(pairs))
        judgments = {"primary": Judgment(f"q{q}", slots, labels)} if judged and slots else {}
        out.append(Dossier(Question(f"q{q}"), tuple(cells), judgments, tuple(shown), None))
    return out
