"""A study in which repeats refuse once and answer once from the same evidence, with counts that are known.

Eight two-part questions. In state ``before`` the passage of the second half is ranked out and stands among the
siblings; in ``after`` it is shown. ``q1`` to ``q3`` refuse in one repeat of ``before``, ``q4`` answers a part there,
``q5`` refuses always before and answers after, ``q6`` saw other evidence in its second repeat and refused, ``q7`` and
``q8`` answer always. Nothing splits in ``after``.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from audit_core.digests import sha256
from audit_core.model import Cell, Document, Evidence, Excerpt, Gold, Judgment, Question, Sibling, Siblings, State
from audit_core.protocol import Judge, Protocol
from audit_core.study import Study, create_study
from tests.support.simulator import CREATED

IDS = [f"q{number}" for number in range(1, 9)]
ANSWER = "14 days, and the office at Varn"
PART = "14 days. Not in the passages: where to apply."
GIVEN = {  # answers of (state before, repeat 1), (before, 2), (after, 1), (after, 2)
    "q1": (ANSWER, "UNKNOWN", ANSWER, ANSWER), "q2": (ANSWER, "UNKNOWN", ANSWER, ANSWER),
    "q3": ("UNKNOWN", ANSWER, ANSWER, ANSWER), "q4": (ANSWER, PART, ANSWER, ANSWER),
    "q5": ("UNKNOWN", "UNKNOWN", ANSWER, ANSWER), "q6": (ANSWER, "UNKNOWN", ANSWER, ANSWER),
    "q7": (ANSWER, ANSWER, ANSWER, ANSWER), "q8": (ANSWER, ANSWER, ANSWER, ANSWER),
}  # fmt: skip
SLOTS = [("before", 1), ("before", 2), ("after", 1), ("after", 2)]


def question(number: int) -> str:
    return f"How long may a claim for a lost trunk of kind {number} be made, and which office receives it?"


def texts(number: int) -> dict[str, tuple[str, str, str]]:
    """Title, family and text of the passages by document id."""
    long = f"A claim for a lost trunk of kind {number} may be made within 14 days after the journey has ended."
    office = "The office at Varn receives every such form; the office opens at nine on weekdays."
    lists = "[1] Harl, B. (2011). Offices of claims. J. Lost Prop. 4(2), 11-19. [2] Varn, C. (2014). Offices, pp. 3-9."
    return {
        f"hb-{number}#1": ("Handbook: time limits", f"handbook-{number}", long),
        f"hb-{number}#2": ("Handbook: where to apply", f"handbook-{number}", office),
        "lit#1": ("Literature", "literature", lists),
        "far#1": ("Trunks in general", "trunks", "A trunk is lost when nobody has found it after a day."),
    }


def build(path: Path) -> Study:
    """The study, locked up to the gold."""
    passages: dict[str, str] = {}

    def document(number: int, key: str, rank: int, score: str) -> Document:
        title, family, text = texts(number)[key]
        digest = sha256(text.encode())
        passages[digest] = text
        return Document(key, rank, score, title, digest, family)

    cells, evidence, siblings, judgments = [], [], [], []
    for number, key in enumerate(IDS, 1):
        first, second = f"hb-{number}#1", f"hb-{number}#2"
        for (state, repeat), answer in zip(SLOTS, GIVEN[key], strict=True):
            excerpts: tuple[Excerpt, ...] = ()
            if state == "after" and key in ("q7", "q8"):
                text = texts(number)[second][2]
                excerpts = (Excerpt(text[:40], second), Excerpt(text[:40].replace("office at", "office  at"), second),
                            Excerpt("open every day and night of the year", second))  # fmt: skip
            cells.append(Cell(key, state, repeat, "ok", answer, excerpts=excerpts))
        shown = {"before": [first, "lit#1", "far#1"], "after": [first, second, "far#1"]}
        for state, ids in shown.items():
            lists = {None: ids} if (state, key) != ("before", "q6") else {1: ids, 2: ids[1:]}
            for repeat, listed in lists.items():
                scores = ("3.5", "2.5", "1.5")
                documents = tuple(document(number, d, rank, scores[rank - 1]) for rank, d in enumerate(listed, 1))
                evidence.append(Evidence(key, state, documents, repeat))
        held = document(number, second, 1, "0")
        siblings.append(Siblings(key, "before", (
            Sibling(second, f"handbook-{number}", first, 7, "0.9", held.title, held.passage),)))  # fmt: skip
        pairs = itertools.combinations(range(4), 2)
        labels = tuple((i, j, int(GIVEN[key][i] == GIVEN[key][j])) for i, j in pairs)
        judgments.append(Judgment(key, tuple(SLOTS), labels))
    protocol = Protocol(
        study_id=path.name, title="Refusals before and after", origin="imported", provenance="Made for a test.",
        generator="none", endpoints=("before", "after"), normalization="nq_open/1", draws=200,
        states=(State("before", "one search", settings=(("refusal rule", "strict"), ("search", "one"))),
                State("after", "two searches", settings=(("refusal rule", "loose"), ("search", "two")))),
        judges=(Judge("primary", "primary", True, "made for a test"),),
    )  # fmt: skip
    return create_study(
        path, protocol, questions=[Question(key, question(number)) for number, key in enumerate(IDS, 1)], cells=cells,
        evidence=evidence, passages=passages, siblings=siblings, judgments={"primary": judgments},
        gold=[Gold(key, ("14 days",)) for key in IDS], created=CREATED,
    )  # fmt: skip
