"""Studies whose churn is known: every question draws its answers from stated distributions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from audit_core.digests import sha256
from audit_core.model import Cell, Document, Dossier, Evidence, Gold, Judgment, Question, State
from audit_core.protocol import Judge, Protocol, Rule
from audit_core.study import Study, create_study

CREATED = "2026-01-31T09:00:00Z"


@dataclass
class StudySimulator:
    """A made-up study.

    Attributes:
        questions: How many.
        states: Ladder; a name beginning with ``n0`` is closed-book.
        repeats: Answers per state, one number or one per state.
        flips: Share of questions whose meaning changes at the last state.
        noise: Chance that an answer is a one-off of its own.
        seed: Of the draws.
    """

    questions: int = 30
    states: Sequence[str] = ("n1", "n7")
    repeats: int | Mapping[str, int] = 2
    flips: float = 0.2
    noise: float = 0.1
    seed: int = 1
    labels: bool = True
    gold: bool = True
    evidence: bool = True
    passages: bool = False
    decision: bool = True
    study_id: str = "simulated"
    text: str | None = "What is asked in {0}?"
    ids: Sequence[str] | None = None
    answers: Mapping[tuple[str, str, int], str | None] = field(default_factory=dict)
    tags: Sequence[str] = ("even", "odd")

    def protocol(self, **changes: object) -> Protocol:
        values: dict[str, object] = {
            "study_id": self.study_id,
            "title": "Simulated study",
            "origin": "collected",
            "provenance": "",
            "generator": "simulator",
            "states": tuple(State(s, f"state {s}", s.startswith("n0")) for s in self.states),
            "endpoints": (self.endpoint(0), self.states[-1]),
            "normalization": "nq_open/1",
            "draws": 2_000,
            "judges": (Judge("primary", "primary", True, "simulated judge"),) if self.labels else (),
            "decision": Rule("0.03", ("exact", "semantic")) if self.labels and self.decision else None,
        }
        return Protocol(**{**values, **changes})  # type: ignore[arg-type]

    def endpoint(self, position: int) -> str:
        return [s for s in self.states if not s.startswith("n0")][position]

    def dossiers(self) -> list[Dossier]:
        rng = np.random.default_rng(self.seed)
        out = []
        for q in range(self.questions):
            question_id = self.ids[q] if self.ids else f"q{q:05d}"
            flipped = rng.random() < self.flips
            cells, meaning = [], {}
            for state in self.states:
                for repeat in range(1, (self.repeats if isinstance(self.repeats, int) else self.repeats[state]) + 1):
                    fixed = self.answers.get((question_id, state, repeat), "")
                    word = "new" if flipped and state == self.states[-1] else "old"
                    answer = f"Answer {word} {q}"
                    if rng.random() < self.noise:
                        answer = f"Another {state} {repeat} {q}"
                    if fixed is None:
                        cells.append(Cell(question_id, state, repeat, "error", None, "503 from the service"))
                        continue
                    answer = fixed or answer
                    meaning[state, repeat] = answer.lower().rstrip(".")
                    cells.append(Cell(question_id, state, repeat, "ok", answer, attempts=1))
            slots = tuple((c.state, c.repeat) for c in cells if c.status == "ok")
            judgments = {}
            if self.labels and slots:
                judgments["primary"] = Judgment(
                    question_id,
                    slots,
                    tuple(
                        (i, j, int(meaning[slots[i]] == meaning[slots[j]]))
                        for i, j in itertools.combinations(range(len(slots)), 2)
                    ),
                    1,
                )
            shown = []
            for s, state in enumerate(self.states):
                if self.evidence and not state.startswith("n0"):
                    documents = tuple(
                        Document(
                            f"d{q}-{(s * 3 * (q % 2) + k)}",
                            k + 1,
                            f"{9 - k}.5",
                            f"Title {k}",
                            sha256(self.passage(q, k).encode()) if self.passages else None,
                        )
                        for k in range(4)
                    )
                    shown.append(Evidence(question_id, state, documents))
            gold = Gold(question_id, (f"answer old {q}",)) if self.gold else None
            out.append(
                Dossier(
                    Question(
                        question_id,
                        self.text.format(question_id) if self.text else None,
                        (self.tags[q % len(self.tags)],) if self.tags else (),
                    ),
                    tuple(cells),
                    judgments,
                    tuple(shown),
                    gold,
                )
            )
        return out

    @staticmethod
    def passage(q: int, k: int) -> str:
        return f"Passage {k} for question {q}: Answer old {q} stands here."

    def build(self, path: Path, **changes: object) -> Study:
        dossiers = self.dossiers()
        return create_study(
            path,
            self.protocol(**changes),
            questions=[d.question for d in dossiers],
            cells=[c for d in dossiers for c in d.cells],
            evidence=[e for d in dossiers for e in d.evidence],
            passages={
                sha256(self.passage(q, k).encode()): self.passage(q, k) for q in range(self.questions) for k in range(4)
            }
            if self.passages and self.evidence
            else None,
            judgments={"primary": [d.judgments["primary"] for d in dossiers if d.judgments]} if self.labels else None,
            gold=[d.gold for d in dossiers if d.gold],
            created=CREATED,
        )
