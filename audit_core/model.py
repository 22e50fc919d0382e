"""Identifiers and frozen records: what a study consists of, independent of how it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

CellStatus = Literal["ok", "error"]
Severity = Literal["error", "warning", "notice"]
EstimateStatus = Literal["confirmatory", "supportive", "post-hoc", "exploratory"]
AnswerOutcome = Literal["answered", "partial", "refused"]
"""What an answer does: answers, answers what it can and notes the gap, or refuses (UNKNOWN is refused)."""
CheckOutcome = Literal["passed", "failed", "could not check"]
Origin = Literal["collected", "imported", "reconstructed"]


@dataclass(frozen=True, slots=True)
class State:
    """A rung of the ladder.

    Attributes:
        name: Short name, unique in the study, such as ``n7``.
        label: Words for people, such as ``seven shards``; may be empty.
        closed_book: True where nothing is retrieved (the anchor).
        settings: What is set in this state and may differ from another one, as (name, value) by name; empty where only
            the snapshot differs, or nothing is known.
    """

    name: str
    label: str = ""
    closed_book: bool = False
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The unit of selection, resampling and review.

    Attributes:
        question_id: Text kept to the letter, never parsed as a number.
        text: The question itself; None where a study holds ids only.
        tags: Slices this question belongs to.
        weight: Traffic weight for ordering the review queue; None where unknown. Never used by an estimate.
        parts: Parts of a question that asks for several things, where a model or its author has cut it; empty where the
            rule ``aspects/1`` has to.
    """

    question_id: str
    text: str | None = None
    tags: tuple[str, ...] = ()
    weight: int | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A verbatim excerpt that an answer carries.

    Attributes:
        text: As the answer has it.
        document_id: Document that it is said to come from; None where the answer names none.
        rank: Rank of the passage that it is said to come from; None where the answer names none.
    """

    text: str
    document_id: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One question in one state, asked once: an accepted answer or an error.

    Attributes:
        repeat: Index of the independent call, as the source numbers it (0 or more).
        status: ``ok`` for an answer (the empty text is one), ``error`` where none came back.
        answer: Text to the letter; None only with status ``error``.
        error: What went wrong, where the source says.
        attempts: External calls it took, accepted or not.
        order: Position in the collection order of the question, where known.
        source: Index into the protocol's list of source files; None for a collected study.
        record: Position of the record in that file, from 1.
        cached: True where the source says that a cache answered; None where it does not say.
        response_id: Identifier of the model's response, where the source has one.
        outcome: Where structured output says it; None where a rule or a judge has to.
        excerpts: Verbatim excerpts, where structured output has them.
    """

    question_id: str
    state: str
    repeat: int
    status: CellStatus
    answer: str | None
    error: str | None = None
    attempts: int | None = None
    order: int | None = None
    source: int | None = None
    record: int | None = None
    cached: bool | None = None
    response_id: str | None = None
    outcome: AnswerOutcome | None = None
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One ranked document of the evidence.

    Attributes:
        document_id: Identifier to the letter.
        rank: From 1.
        score: Decimal text as the retriever gave it; None where unknown.
        title: Words for people; may be empty.
        passage: SHA-256 of the rendered passage, stored once; None where the text is not kept.
        family: Key that versions and near-duplicates of one document share; empty where unknown.
    """

    document_id: str
    rank: int
    score: str | None = None
    title: str = ""
    passage: str | None = None
    family: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The ordered documents shown to the generator for one question in one state."""

    question_id: str
    state: str
    documents: tuple[Document, ...]
    repeat: int | None = None


@dataclass(frozen=True, slots=True)
class Sibling:
    """A passage of the accessible corpus that was not shown, although it belongs to one that was.

    Attributes:
        document_id: Identifier to the letter.
        family: Key that it shares with a shown document; empty where both are passages of one document.
        of: Shown document that it is a sibling of.
        rank: Its rank in the whole list of the retriever, from 1; None where unknown or unranked.
        score: Decimal text; None where unknown.
        title: Words for people; may be empty.
        passage: SHA-256 of the rendered passage; None where the text is not kept.
    """

    document_id: str
    family: str
    of: str
    rank: int | None = None
    score: str | None = None
    title: str = ""
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Siblings:
    """Siblings of the evidence of one question in one state, best rank first, unranked last."""

    question_id: str
    state: str
    documents: tuple[Sibling, ...]


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judge's labels for the answers of one question.

    Attributes:
        slots: The labelled cells as ``(state, repeat)``, in the order that the labels refer to.
        labels: ``(i, j, same)`` with ``i < j`` positions in ``slots`` and ``same`` 0 or 1, as labelled (no closure).
        attempts: Calls it took; None where unknown.
    """

    question_id: str
    slots: tuple[tuple[str, int], ...]
    labels: tuple[tuple[int, int, int], ...]
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class JudgedOutcome:
    """What an answer does, as a judge says that saw it alone with its question; only where the rule is not certain."""

    question_id: str
    state: str
    repeat: int
    outcome: AnswerOutcome


@dataclass(frozen=True, slots=True)
class Gold:
    """Accepted answers of one question; every alias is kept."""

    question_id: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dossier:
    """All that a study holds about one question.

    Attributes:
        cells: In ladder and repeat order, errors included.
        judgments: By judge; absent where a judge did not label this question.
        evidence: In ladder and repeat order.
        siblings: In ladder order; empty where the study does not keep them.
        outcomes: That the primary judge gave, in ladder and repeat order.
    """

    question: Question
    cells: tuple[Cell, ...]
    judgments: Mapping[str, Judgment]
    evidence: tuple[Evidence, ...]
    gold: Gold | None
    siblings: tuple[Siblings, ...] = ()
    outcomes: tuple[JudgedOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something noticed about the data that stays with the study and is shown wherever it matters.

    Attributes:
        kind: Stable name, such as ``repeats_look_cached``.
        count: How many records, cells or questions it concerns.
        where: First few places, as text.
        sentence: What it is and what it does to the estimates.
    """

    severity: Severity
    kind: str
    count: int
    where: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A named number with bounds and a status.

    Attributes:
        name: ``measure[kernel]@old-new`` or ``measure@state``; the only name this number has anywhere.
        numerator: Integer; together with ``denominator`` the exact value. None where undefined.
        denominator: Integer greater than 0, in the estimate's natural unit (pairs, cells, questions), not reduced.
        lower: One-sided 95 % lower bound.
        interval: Two-sided 95 % interval.
        unit: What the number is a share or mean of.
        status: Confirmatory, supportive, post-hoc or exploratory.
        reason: Why it is undefined, or what must be read with it; empty otherwise.
        population: Number of questions that enter.
        excluded: Number of questions that do not.
        detail: Further exact facts (engine of the bounds, degenerate flag, …) as text values.
    """

    name: str
    measure: str
    numerator: int | None
    denominator: int | None
    unit: str
    status: EstimateStatus
    kernel: str | None = None
    old: str | None = None
    new: str | None = None
    lower: Fraction | None = None
    interval: tuple[Fraction, Fraction] | None = None
    reason: str = ""
    population: int = 0
    excluded: int = 0
    detail: dict[str, str] = field(default_factory=dict)

    @property
    def value(self) -> Fraction | None:
        """The exact value, or None where undefined."""
        if self.numerator is None or not self.denominator:
            return None
        return Fraction(self.numerator, self.denominator)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of one numbered check."""

    check_id: str
    title: str
    result: CheckOutcome
    detail: str
