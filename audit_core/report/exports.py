"""What people said, in the forms of other tools.

Inspect: the file that its scorer ``precomputed_scores`` reads (UKGovernmentBEIS/inspect_ai, version 0.3.259 and later,
``src/inspect_ai/scorer/_precomputed.py``): JSON Lines of records with ``id`` and ``value``, and ``explanation`` and
``metadata`` where there are any; an id stands once.

LLM Comparator: the JSON that PAIR-code/llm-comparator reads (its README, *JSON Data Format*; ``client/lib/types.ts``):
``metadata``, two ``models``, ``examples`` with a score between -1.5 (B is better) and 1.5 (A is better). It shows one
answer a side, so one repeat of each state is shown, and the file says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from audit_core import explore
from audit_core.digests import canonical
from audit_core.model import Cell, Dossier
from audit_core.protocol import Protocol
from audit_core.results import arrays_of
from audit_core.reviews.events import VERDICTS, Event
from audit_core.reviews.export import EXPORTED, export
from audit_core.reviews.fold import Fold, Pair, Review

COLUMNS = (*EXPORTED, "outcome", "outcome_verdict")
"""Columns of verdicts as a table."""
Row = dict[str, Any]
State = Literal["ruled", "settled", "disputed", "open"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question.

    Attributes:
        state: ``ruled`` by an adjudicator, ``settled`` by enough verdicts that agree, ``disputed``, or ``open`` while
            verdicts are missing.
        verdict: The event that counts; None where none does.
        review: What everyone has said.
    """

    state: State
    verdict: Event | None
    review: Review


def outcome(fold: Fold, study_id: str, question_id: str, pair: Pair, needed: int) -> Outcome:
    """What came of one question.

    Args:
        needed: Independent verdicts that a question needs.
    """
    review = fold.review(study_id, question_id, pair)
    counted = review.outcome(needed)
    if review.ruled:
        return Outcome("ruled", counted, review)
    if review.disputed:
        return Outcome("disputed", None, review)
    return Outcome("settled" if counted else "open", counted, review)


def rows(fold: Fold, study_id: str, needed: int) -> list[Row]:
    """All standing verdicts and rulings of everyone, each with what came of its question."""
    found = []
    for row in export(fold, study_id):
        came = outcome(fold, study_id, row["question_id"], (row["old"], row["new"]), needed)
        found.append({**row, "outcome": came.state, "outcome_verdict": came.verdict.verdict if came.verdict else None})
    return found


def inspect(fold: Fold, study_id: str, pair: Pair, needed: int) -> bytes:
    """Verdicts on a pair of states for Inspect's ``precomputed_scores``.

    A value holds the share of the verdicts by their kind, which is 1 for one of them where people agree or somebody
    ruled; ``metrics={"*": [mean()]}`` gives the rates. Everything that was said is in ``metadata``.
    """
    lines = []
    for question in fold.questions(study_id, pair):
        came = outcome(fold, study_id, question, pair, needed)
        voices = [came.verdict] if came.state == "ruled" and came.verdict else list(came.review.verdicts)
        if not voices:
            continue
        shares = {word: sum(v.verdict == word for v in voices) / len(voices) for word in VERDICTS}
        ruling = came.review.ruling
        lines.append(
            {
                "id": question,
                "value": shares,
                "explanation": _sentence(came),
                "metadata": {
                    "study_id": study_id,
                    "old": pair[0],
                    "new": pair[1],
                    "outcome": came.state,
                    "needed": needed,
                    "verdicts": [_said(event) for event in came.review.verdicts],
                    "ruling": _said(ruling) if ruling else None,
                },
            }
        )
    return b"".join(canonical(line) + b"\n" for line in lines)


def comparator(
    fold: Fold, protocol: Protocol, dossiers: Sequence[Dossier], pair: Pair, kernel: str, needed: int
) -> bytes:
    """A study's questions with what people said, for LLM Comparator: the old state is A, the new one B."""
    old, new = pair
    table = explore.columns(arrays_of(protocol, dossiers), kernel, old, new)
    facts = {question: i for i, question in enumerate(table["question_id"])}
    examples = []
    for dossier in dossiers:
        shown = [_first(dossier.cells, state) for state in pair]
        if None in shown:
            continue
        question = dossier.question
        i = facts[question.question_id]
        came = outcome(fold, protocol.study_id, question.question_id, pair, needed)
        top, bottom = table["numerator"][i], table["denominator"][i]
        cells = [cell for cell in shown if cell is not None]
        examples.append(
            {
                "input_text": question.text or question.question_id,
                "tags": list(question.tags),
                "output_text_a": cells[0].answer or "",
                "output_text_b": cells[1].answer or "",
                "score": _score(came.verdict) if came.verdict else None,
                "individual_rater_scores": [_rating(event, new) for event in came.review.verdicts],
                "rationale_list": [],
                "custom_fields": {
                    "question": question.question_id,
                    "excess churn": round(top / bottom, 6) if top is not None and bottom else None,
                    "repeat-stable flip": "yes" if table["flip"][i] else "no",
                    "verdict": VERDICTS[str(came.verdict.verdict)] if came.verdict else "none",
                    "outcome": came.state if came.review.verdicts or came.review.ruling else "not reviewed",
                    "impact": (came.verdict.impact or "none") if came.verdict else "none",
                    "shared documents": table["shared"][i],
                    "repeat": [cell.repeat for cell in cells],
                },
            }
        )
    schema = [
        {"name": "question", "type": "string"},
        {"name": "excess churn", "type": "number"},
        {"name": "repeat-stable flip", "type": "category", "domain": ["yes", "no"]},
        {"name": "verdict", "type": "category", "domain": [*VERDICTS.values(), "none"]},
        {"name": "outcome", "type": "category", "domain": ["ruled", "settled", "disputed", "open", "not reviewed"]},
        {"name": "impact", "type": "category", "domain": ["high", "medium", "low", "none"]},
        {"name": "shared documents", "type": "number"},
        {"name": "repeat", "type": "per_model_number"},
        {"name": "reviewer", "type": "per_rating_string"},
    ]
    source = (
        f"snapshot-audit, study {protocol.study_id}, {old} (A) to {new} (B), {kernel} kernel. The first repeat with an "
        "answer is shown of each state; the other repeats are in the study."
    )
    return canonical(
        {
            "metadata": {"source_path": source, "custom_fields_schema": schema},
            "models": [{"name": f"{old} (old)"}, {"name": f"{new} (new)"}],
            "examples": examples,
            "rationale_clusters": [],
        }
    )


def _first(cells: Iterable[Cell], state: str) -> Cell | None:
    answered = (cell for cell in cells if cell.state == state and cell.status == "ok")
    return min(answered, key=lambda cell: cell.repeat, default=None)


def _score(event: Event) -> float | None:
    """Above 0 where the old answer was better, below 0 where the new one is, larger with more impact."""
    size = {"high": 1.5, "medium": 1.0, "low": 0.5, None: 1.0}[event.impact]
    if event.verdict == "cannot_tell":
        return None
    return {"regression": size, "improvement": -size}.get(str(event.verdict), 0.0)


def _rating(event: Event, new: str) -> Row:
    return {
        "score": _score(event),
        "rating_label": VERDICTS[str(event.verdict)],
        "is_flipped": event.sides == new if event.sides else None,
        "rationale": event.note or None,
        "custom_fields": {"reviewer": event.reviewer},
    }


def _said(event: Event) -> Row:
    return {
        "reviewer": event.reviewer,
        "verdict": event.verdict,
        "impact": event.impact,
        "causes": list(event.causes),
        "note": event.note,
        "at": event.at,
        "sha256": event.sha256,
    }


def _sentence(came: Outcome) -> str:
    people = len(came.review.verdicts)
    counted = f"{people} verdict{'' if people == 1 else 's'}"
    word = VERDICTS[str(came.verdict.verdict)] if came.verdict else ""
    return {
        "ruled": f"{word}, ruled by {came.verdict.reviewer if came.verdict else ''}; {counted}.",
        "settled": f"{word}, {counted} that agree.",
        "disputed": f"Disputed: {counted} that differ.",
        "open": f"Open: {counted}, more are needed.",
    }[came.state]
