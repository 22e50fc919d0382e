"""Answers as labelled arrays: question × state × repeat, built from dossiers in one pass.

Repeats are compacted: slot r of a question and state holds its r-th accepted answer, so that errors and gaps leave no
holes; `numbers` keeps which repeat a slot holds, so that repeat r can be matched with repeat r.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from audit_core.kernels.exact import ExactKernel
from audit_core.kernels.semantic import SemanticKernel
from audit_core.model import Dossier, Judgment
from audit_core.normalize import RULES, Score, exact_key, score
from audit_core.rules.outcome import OutcomeRule, Reading, reader

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

OUTCOMES = ("answered", "partial", "refused")
"""Outcomes of an answer in the order of their numbers."""
_OUTCOME = {name: number for number, name in enumerate(OUTCOMES)}


class Taken(NamedTuple):
    """What is known of an accepted answer once it is taken in.

    Attributes:
        score: Under the study's normalization.
        unknown: 1 where it is UNKNOWN.
        reading: Its outcome, with the text of the rule that decided.
        by: What says so: structured ``output``, the ``rule``, or the primary ``judge`` where the rule is not certain.
    """

    score: Score
    unknown: int
    reading: Reading
    by: Literal["output", "rule", "judge"] = "rule"


@dataclass
class Answers:
    """One study as arrays. Shapes: Q questions, S states, R the most repeats of any cell, K documents.

    Attributes:
        question_ids: Length Q.
        tags: Length Q.
        states: Names in ladder order.
        closed_book: Length S.
        repeats: (Q, S) accepted answers of each question and state.
        numbers: (Q, S, R) which repeat of the question each slot holds, as numbers within the question, -1 absent.
        exact, raw: (Q, S, R) class numbers within a question, -1 absent; ``exact`` after the named rule.
        em: (Q, S, R) 1 match, 0 nonmatch, -1 no gold or absent.
        f1: (Q, S, R, 2) numerator and denominator of token F1; denominator 0 where not measured.
        unknown: (Q, S, R) 1 UNKNOWN, 0 another answer, -1 absent.
        flagged: (Q, S, R) normalized form is empty, so the raw text was compared.
        outcome: (Q, S, R) position in `OUTCOMES`, -1 absent.
        evidence: (Q, S, R) class number within the question of the evidence that the repeat saw, equal where ids,
            order, passages and scores are all equal; -1 absent or unknown. Evidence that is stored once for a state
            is that of all its repeats; without retrieval all repeats saw the same, namely nothing.
        text: (Q, S, R) class number of the exact kernel's text over the whole study, -1 absent.
        labels: By judge, (Q, S·R, S·R) 1 same, 0 different, -1 unlabelled.
        labelled: By judge, (Q,) whether the judge was asked about the question at all.
        documents: (Q, S, K) document numbers within a question by rank, distinct ids only, -1 none.
        repeated_documents: (Q,) whether a list named a document twice.
        errors: (Q, S) cells without an answer.
        common: Of each state (number in `text`, stripped answer) of what more than half of its answers say; another
            text, or (-1, "") without an answer, where none is so frequent.
        rule: Name of the normalization.
        others: By the name of each other normalization (Q, S, R) class numbers as in ``exact``.
    """

    question_ids: list[str]
    tags: list[tuple[str, ...]]
    states: tuple[str, ...]
    closed_book: tuple[bool, ...]
    repeats: Ints
    numbers: Ints
    exact: Ints
    raw: Ints
    em: npt.NDArray[np.int8]
    f1: Ints
    unknown: npt.NDArray[np.int8]
    flagged: Flags
    outcome: npt.NDArray[np.int8]
    evidence: Ints
    text: Ints
    labels: dict[str, npt.NDArray[np.int8]]
    labelled: dict[str, Flags]
    documents: Ints
    repeated_documents: Flags
    errors: Ints
    common: tuple[tuple[int, str], ...]
    primary: str | None
    supplementary: tuple[str, ...] = field(default=())
    rule: str = ""
    others: dict[str, Ints] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.question_ids)

    def index(self, state: str) -> int:
        """Position of a state in the ladder."""
        return self.states.index(state)

    def kernel(self, name: str) -> ExactKernel | SemanticKernel:
        """A kernel by name: exact, raw, em, unknown, semantic, ``semantic:JUDGE``, ``exact:raw`` or ``exact:RULE``."""
        if name == "exact":
            return ExactKernel(name, self.exact)
        if name in ("raw", "exact:raw"):
            return ExactKernel(name, self.raw)
        if name.startswith("exact:"):
            return ExactKernel(name, self.others[name.removeprefix("exact:")])
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
            self.numbers[rows],
            self.exact[rows],
            self.raw[rows],
            self.em[rows],
            self.f1[rows],
            self.unknown[rows],
            self.flagged[rows],
            self.outcome[rows],
            self.evidence[rows],
            self.text[rows],
            {name: labels[rows] for name, labels in self.labels.items()},
            {name: asked[rows] for name, asked in self.labelled.items()},
            self.documents[rows],
            self.repeated_documents[rows],
            self.errors[rows],
            self.common,
            self.primary,
            self.supplementary,
            self.rule,
            {name: classes[rows] for name, classes in self.others.items()},
        )


class Builder:
    """Arrays of a study, question by question; what it holds grows with the answers as plain integers only.

    Args:
        states: Names in ladder order.
        closed_book: Of each state.
        rule: Key of `normalize.RULES`.
        unknown_texts: Stripped answers that count as UNKNOWN, ignoring case.
        primary: Name of the judge whose labels decide semantic agreement.
        supplementary: Names of the other judges.
        outcomes: How answers are read whose outcome the source does not say; the shipped rule where there is none.
            Where it is not certain, the primary judge's word counts.
    """

    def __init__(
        self,
        *,
        states: Sequence[str],
        closed_book: Sequence[bool],
        rule: str,
        unknown_texts: Sequence[str],
        primary: str | None,
        supplementary: Sequence[str] = (),
        outcomes: OutcomeRule | None = None,
    ) -> None:
        self._states, self._closed = tuple(states), tuple(closed_book)
        self._primary, self._supplementary = primary, tuple(supplementary)
        self._unretrieved = {number for number, closed in enumerate(closed_book) if closed}
        self._place = {name: number for number, name in enumerate(states)}
        self._rule = RULES[rule]
        self._others = [other for name, other in RULES.items() if name != rule]
        self._unknowns = {text.strip().casefold() for text in unknown_texts}
        self._read = reader(tuple(unknown_texts), outcomes or OutcomeRule())
        self._ids: list[str] = []
        self._tags: list[tuple[str, ...]] = []
        self._counts, self._errors = array("i"), array("i")
        # one row an answer: question, state, slot, exact, raw, em, F1 above and below, unknown, flagged, repeat,
        # outcome, evidence, then exact under each other rule
        self._answers = bytearray()
        # hashes of the texts of the exact kernel, question by question, and where those of each question begin
        self._hashes, self._starts = array("q"), array("i")
        self._leads = [_Lead() for _ in states]
        self._documents: list[tuple[int, int, list[int]]] = []
        self._repeated = bytearray()
        self._labels: dict[str, dict[_Layout, tuple[list[int], bytearray]]] = {
            judge: {} for judge in ((primary,) if primary else ()) + self._supplementary
        }

    def add(self, dossier: Dossier) -> list[tuple[Taken, int] | None]:
        """Take in a question.

        Returns:
            For each of its cells what is known of it, and the class number of the evidence that it saw, -1 where none
            is known; None for an error.
        """
        number = len(self._ids)
        self._ids.append(dossier.question.question_id)
        self._tags.append(dossier.question.tags)
        counts, errors = [0] * len(self._states), [0] * len(self._states)
        slots: dict[tuple[str, int], tuple[int, int]] = {}
        exact: dict[str, int] = {}
        raw: dict[str, int] = {}
        others_exact: list[dict[str, int]] = [{} for _ in self._others]
        others: dict[str, list[int]] = {}
        aliases = dossier.gold.aliases if dossier.gold else ()
        known: dict[str | tuple[str, str], Taken] = {}
        named: dict[int, int] = {}
        shown = self._evidence(number, dossier)
        judged = {(told.state, told.repeat): told.outcome for told in dossier.outcomes} if dossier.outcomes else {}
        out: list[tuple[Taken, int] | None] = []
        self._starts.append(len(self._hashes))
        for cell in dossier.cells:
            state = self._place[cell.state]
            text = cell.answer
            if text is None:
                errors[state] += 1
                out.append(None)
                continue
            said = text if cell.outcome is None else (text, cell.outcome)
            taken = known.get(said)
            if taken is None:
                taken = known[said] = Taken(
                    score(self._rule, text, aliases),
                    int(text.strip().casefold() in self._unknowns),
                    self._read(text) if cell.outcome is None else Reading(cell.outcome),
                    "rule" if cell.outcome is None else "output",
                )
            if not taken.reading.certain and (cell.state, cell.repeat) in judged:
                taken = Taken(taken.score, taken.unknown, Reading(judged[cell.state, cell.repeat]), "judge")
            seen = shown.get((state, cell.repeat), shown.get((state, None), -1)) if shown else -1
            out.append((taken, seen))
            made = taken.score
            key = exact.get(made.key)
            if key is None:
                key = exact[made.key] = len(exact)
                self._hashes.append(hash(made.key))
            elsewhere = others.get(text)
            if elsewhere is None:
                elsewhere = others[text] = [
                    classes.setdefault(exact_key(rule, text)[0], len(classes))
                    for rule, classes in zip(self._others, others_exact, strict=True)
                ]
            self._leads[state].vote(made.key, text)
            slot = counts[state]
            counts[state] += 1
            slots[cell.state, cell.repeat] = (state, slot)
            self._answers.extend(_PACK(
                number, state, slot, key, raw.setdefault(text, len(raw)),
                -1 if made.match is None else int(made.match), made.f1[0], made.f1[1], taken.unknown,
                int(made.flagged), named.setdefault(cell.repeat, len(named)), _OUTCOME[taken.reading.outcome], seen,
                *elsewhere,
            ))  # fmt: skip
        self._counts.extend(counts)
        self._errors.extend(errors)
        for judge, judgment in dossier.judgments.items():
            self._label(judge, number, judgment, slots)
        return out

    def _label(
        self, judge: str, number: int, judgment: Judgment, slots: dict[tuple[str, int], tuple[int, int]]
    ) -> None:
        at = [slots.get(slot) for slot in judgment.slots]
        labels = judgment.labels
        if None in at:
            labels = tuple(label for label in labels if at[label[0]] is not None and at[label[1]] is not None)
        layout = (tuple(at), tuple([(i, j) for i, j, _ in labels]))
        rows, values = self._labels[judge].setdefault(layout, ([], bytearray()))
        rows.append(number)
        values.extend([same for _, _, same in labels])

    def _evidence(self, number: int, dossier: Dossier) -> dict[tuple[int, int | None], int]:
        """Take in the documents, and number what the repeats of each state saw; repeat None stands for all of them."""
        numbers: dict[str, int] = {}
        classes: dict[tuple[tuple[str, str | None, str | None], ...], int] = {}
        shown: dict[tuple[int, int | None], int] = {}
        seen: set[int] = set()
        repeated = False
        for evidence in dossier.evidence:
            state = self._place[evidence.state]
            documents = sorted(evidence.documents, key=lambda d: d.rank)
            key = tuple([(d.document_id, d.passage, d.score) for d in documents])
            shown[state, evidence.repeat] = classes.setdefault(key, len(classes))
            if state in seen:
                continue  # a later repeat's own evidence; the first stands for the state and the importer has said so
            seen.add(state)
            ranked = [numbers.setdefault(d.document_id, len(numbers)) for d in documents]
            distinct = list(dict.fromkeys(ranked))
            repeated |= len(distinct) < len(ranked)
            self._documents.append((number, state, distinct))
        for state in self._unretrieved - seen if self._unretrieved else ():
            shown[state, None] = classes.setdefault((), len(classes))
        self._repeated.append(repeated)
        return shown

    def finish(self) -> Answers:
        """The arrays."""
        q, s = len(self._ids), len(self._states)
        counts = np.array(self._counts, np.int32).reshape(q, s)
        r = int(counts.max(initial=1))
        k = max((len(ranked) for _, _, ranked in self._documents), default=0)
        rows = np.frombuffer(self._answers, np.int32).reshape(-1, _ROW.size // 4)
        where = (rows[:, 0], rows[:, 1], rows[:, 2])

        def spread(column: int, kind: type, empty: int) -> npt.NDArray[Any]:
            table: npt.NDArray[Any] = np.full((q, s, r), empty, kind)
            table[where] = rows[:, column]
            return table

        f1 = np.zeros((q, s, r, 2), np.int32)
        f1[where] = rows[:, 6:8]
        documents = np.full((q, s, k), -1, np.int32)
        for number, state, ranked in self._documents:
            documents[number, state, : len(ranked)] = ranked
        texts = np.full((q, s, r), -1, np.int32)
        hashes, starts = np.frombuffer(self._hashes, np.int64), np.frombuffer(self._starts, np.int32)
        kinds, leading = _by_first(hashes, [hash(lead.key) for lead in self._leads])
        texts[where] = kinds[starts[rows[:, 0]] + rows[:, 3]]
        common = tuple(
            (number, lead.text) if lead.key is not None else (-1, "")
            for number, lead in zip(leading, self._leads, strict=True)
        )
        labels, labelled = {}, {}
        for judge, layouts in self._labels.items():
            table: npt.NDArray[np.int8] = np.full((q, s * r, s * r), -1, np.int8)
            labels[judge] = table
            asked = labelled[judge] = np.zeros(q, np.bool_)
            for (at, pairs), (numbers, values) in layouts.items():
                asked[numbers] = True
                place = [at[i][0] * r + at[i][1] if at[i] is not None else -1 for i in range(len(at))]  # type: ignore[index]
                a, b = (np.array([place[pair[side]] for pair in pairs], np.intp) for side in (0, 1))
                which = np.array(numbers)[:, None]
                same = np.frombuffer(values, np.int8).reshape(len(numbers), len(pairs))
                table[which, a, b] = same
                table[which, b, a] = same
        return Answers(
            self._ids, self._tags, self._states, self._closed, counts, spread(10, np.int32, -1),
            spread(3, np.int32, -1), spread(4, np.int32, -1),
            spread(5, np.int8, -1), f1, spread(8, np.int8, -1), spread(9, np.bool_, 0),
            spread(11, np.int8, -1), spread(12, np.int32, -1), texts, labels, labelled, documents,
            np.frombuffer(self._repeated, np.bool_), np.array(self._errors, np.int32).reshape(q, s), common,
            self._primary, self._supplementary, self._rule.name,
            {other.name: spread(13 + i, np.int32, -1) for i, other in enumerate(self._others)},
        )  # fmt: skip


_ROW = Struct(f"{13 + len(RULES) - 1}i")
_PACK = _ROW.pack


@dataclass(slots=True)
class _Lead:
    """The text that is still ahead after every other answer of a state has voted against it (Boyer and Moore)."""

    key: str | None = None
    text: str = ""
    ahead: int = 0

    def vote(self, key: str, text: str) -> None:
        if key == self.key:
            self.ahead += 1
        elif self.ahead:
            self.ahead -= 1
        else:
            self.key, self.text, self.ahead = key, text.strip(), 1


def _by_first(values: npt.NDArray[np.int64], wanted: Sequence[int]) -> tuple[npt.NDArray[np.intp], list[int]]:
    """Numbers of equal values in the order in which they first occur, and the numbers of some of them, else -1."""
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    number = np.empty(len(distinct), np.intp)
    number[np.argsort(first)] = np.arange(len(distinct))
    places = {int(value): int(np.searchsorted(distinct, value)) for value in wanted}
    found = {value: int(number[i]) for value, i in places.items() if i < len(distinct) and distinct[i] == value}
    return number[inverse.reshape(-1)], [found.get(value, -1) for value in wanted]


_Layout = tuple[tuple[tuple[int, int] | None, ...], tuple[tuple[int, int], ...]]
"""Where a judgment's cells stand in the arrays, and which pairs it labels: the same for most questions of a study."""


def build(dossiers: Iterable[Dossier], builder: Builder) -> Answers:
    """Arrays of all questions of a study."""
    for dossier in dossiers:
        builder.add(dossier)
    return builder.finish()
