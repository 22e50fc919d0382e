"""Answers as labelled arrays: question × state × repeat, built from dossiers in one pass.

Repeats are compacted: slot r of a question and state holds its r-th accepted answer, so that errors and gaps leave no
holes and matched repeats are the first min(k, k′) of each state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from audit_core.kernels.exact import ExactKernel
from audit_core.kernels.semantic import SemanticKernel
from audit_core.model import Dossier
from audit_core.normalize import RULES, Rule, exact_key, exact_match, token_f1

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass
class Answers:
    """One study as arrays. Shapes: Q questions, S states, R the most repeats of any cell, K documents.

    Attributes:
        question_ids: Length Q.
        tags: Length Q.
        states: Names in ladder order.
        closed_book: Length S.
        repeats: (Q, S) accepted answers of each question and state.
        exact, raw: (Q, S, R) class numbers within a question, -1 absent; ``exact`` after the named rule.
        em: (Q, S, R) 1 match, 0 nonmatch, -1 no gold or absent.
        f1: (Q, S, R, 2) numerator and denominator of token F1; denominator 0 where not measured.
        unknown: (Q, S, R) 1 UNKNOWN, 0 another answer, -1 absent.
        flagged: (Q, S, R) normalized form is empty, so the raw text was compared.
        labels: By judge, (Q, S·R, S·R) 1 same, 0 different, -1 unlabelled.
        labelled: By judge, (Q,) whether the judge was asked about the question at all.
        documents: (Q, S, K) document numbers within a question by rank, distinct ids only, -1 none.
        repeated_documents: (Q,) whether a list named a document twice.
        errors: (Q, S) cells without an answer.
    """

    question_ids: list[str]
    tags: list[tuple[str, ...]]
    states: tuple[str, ...]
    closed_book: tuple[bool, ...]
    repeats: Ints
    exact: Ints
    raw: Ints
    em: npt.NDArray[np.int8]
    f1: Ints
    unknown: npt.NDArray[np.int8]
    flagged: Flags
    labels: dict[str, npt.NDArray[np.int8]]
    labelled: dict[str, Flags]
    documents: Ints
    repeated_documents: Flags
    errors: Ints
    primary: str | None
    supplementary: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.question_ids)

    def index(self, state: str) -> int:
        """Position of a state in the ladder."""
        return self.states.index(state)

    def kernel(self, name: str) -> ExactKernel | SemanticKernel:
        """A kernel by name: exact, raw, em, unknown, semantic, or ``semantic:JUDGE``."""
        if name == "exact":
            return ExactKernel(name, self.exact)
        if name == "raw":
            return ExactKernel(name, self.raw)
        if name in ("em", "unknown"):
            return ExactKernel(name, (self.em if name == "em" else self.unknown).astype(np.int32))
        judge = self.primary if name == "semantic" else name.removeprefix("semantic:")
        if judge is None or judge not in self.labels:
            raise KeyError(name)
        return SemanticKernel(name, self.labels[judge], self.exact.shape[2])

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels with their own published estimates."""
        return ("exact", "semantic") if self.primary else ("exact",)

    def take(self, questions: npt.NDArray[np.intp]) -> Answers:
        """The same arrays for some questions, in the given order."""
        rows = questions
        return Answers(
            [self.question_ids[i] for i in rows],
            [self.tags[i] for i in rows],
            self.states,
            self.closed_book,
            self.repeats[rows],
            self.exact[rows],
            self.raw[rows],
            self.em[rows],
            self.f1[rows],
            self.unknown[rows],
            self.flagged[rows],
            {name: labels[rows] for name, labels in self.labels.items()},
            {name: asked[rows] for name, asked in self.labelled.items()},
            self.documents[rows],
            self.repeated_documents[rows],
            self.errors[rows],
            self.primary,
            self.supplementary,
        )


def build(
    dossiers: Iterable[Dossier],
    *,
    states: Sequence[str],
    closed_book: Sequence[bool],
    rule: str,
    unknown_texts: Sequence[str],
    primary: str | None,
    supplementary: Sequence[str] = (),
) -> Answers:
    """Arrays of a study.

    Args:
        dossiers: Question by question; only one is held at a time.
        rule: Key of `normalize.RULES`.
        unknown_texts: Stripped answers that count as UNKNOWN, ignoring case.
    """
    named = RULES[rule]
    unknowns = {text.strip().casefold() for text in unknown_texts}
    place = {name: number for number, name in enumerate(states)}
    parts: list[_Row] = [_row(dossier, place, named, unknowns) for dossier in dossiers]
    q, s = len(parts), len(states)
    r = max((max(part.counts, default=0) for part in parts), default=0) or 1
    k = max((len(ranked) for part in parts for ranked in part.documents.values()), default=0)
    judges = ([primary] if primary else []) + list(supplementary)
    out = Answers(
        [p.question_id for p in parts],
        [p.tags for p in parts],
        tuple(states),
        tuple(closed_book),
        np.zeros((q, s), np.int32),
        np.full((q, s, r), -1, np.int32),
        np.full((q, s, r), -1, np.int32),
        np.full((q, s, r), -1, np.int8),
        np.zeros((q, s, r, 2), np.int32),
        np.full((q, s, r), -1, np.int8),
        np.zeros((q, s, r), np.bool_),
        {name: np.full((q, s * r, s * r), -1, np.int8) for name in judges},
        {name: np.zeros(q, np.bool_) for name in judges},
        np.full((q, s, k), -1, np.int32),
        np.zeros(q, np.bool_),
        np.zeros((q, s), np.int32),
        primary,
        tuple(supplementary),
    )
    for i, part in enumerate(parts):
        out.repeats[i], out.errors[i] = part.counts, part.errors
        out.repeated_documents[i] = part.repeated_documents
        for (state, slot), (exact, raw, em, f1, unknown, flagged) in part.answers.items():
            out.exact[i, state, slot], out.raw[i, state, slot] = exact, raw
            out.em[i, state, slot], out.f1[i, state, slot] = em, f1
            out.unknown[i, state, slot], out.flagged[i, state, slot] = unknown, flagged
        for state, ranked in part.documents.items():
            out.documents[i, state, : len(ranked)] = ranked
        for judge, labels in part.labels.items():
            table = out.labels[judge][i]
            for (s1, r1), (s2, r2), same in labels:
                table[s1 * r + r1, s2 * r + r2] = table[s2 * r + r2, s1 * r + r1] = same
            out.labelled[judge][i] = True
    return out


@dataclass(slots=True)
class _Row:
    question_id: str
    tags: tuple[str, ...]
    counts: list[int]
    errors: list[int]
    answers: dict[tuple[int, int], tuple[int, int, int, tuple[int, int], int, bool]]
    labels: dict[str, list[tuple[tuple[int, int], tuple[int, int], int]]]
    documents: dict[int, list[int]]
    repeated_documents: bool


def _row(dossier: Dossier, place: dict[str, int], rule: Rule, unknowns: set[str]) -> _Row:
    counts, errors = [0] * len(place), [0] * len(place)
    answers = {}
    slots: dict[tuple[str, int], tuple[int, int]] = {}
    exact_classes: dict[str, int] = {}
    raw_classes: dict[str, int] = {}
    aliases = dossier.gold.aliases if dossier.gold and dossier.gold.aliases else None
    scored: dict[str, tuple[int, tuple[int, int]]] = {}
    for cell in dossier.cells:
        state = place[cell.state]
        if cell.status != "ok" or cell.answer is None:
            errors[state] += 1
            continue
        slot = counts[state]
        counts[state] += 1
        slots[cell.state, cell.repeat] = (state, slot)
        text = cell.answer
        key, flagged = exact_key(rule, text)
        if aliases and text not in scored:
            f1 = token_f1(rule, text, aliases)
            scored[text] = (int(exact_match(rule, text, aliases)), (f1.numerator, f1.denominator))
        em, ratio = scored[text] if aliases else (-1, (0, 0))
        answers[state, slot] = (
            exact_classes.setdefault(key, len(exact_classes)),
            raw_classes.setdefault(text, len(raw_classes)),
            em,
            ratio,
            int(text.strip().casefold() in unknowns),
            flagged,
        )
    labels = {}
    for judge, judgment in dossier.judgments.items():
        at = [slots.get(slot) for slot in judgment.slots]
        labels[judge] = [
            (a, b, same) for i, j, same in judgment.labels if (a := at[i]) is not None and (b := at[j]) is not None
        ]
    documents: dict[int, list[int]] = {}
    numbers: dict[str, int] = {}
    repeated = False
    for evidence in dossier.evidence:
        state = place[evidence.state]
        if state in documents:
            continue  # a later repeat's own evidence; the first stands for the state and the importer has said so
        ranked = [
            numbers.setdefault(d.document_id, len(numbers)) for d in sorted(evidence.documents, key=lambda d: d.rank)
        ]
        documents[state] = list(dict.fromkeys(ranked))
        repeated |= len(documents[state]) < len(ranked)
    return _Row(
        dossier.question.question_id, dossier.question.tags, counts, errors, answers, labels, documents, repeated
    )
