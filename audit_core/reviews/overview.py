"""How far the review of some questions is, as one person may know it, so that each number can open its questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from audit_core.reviews.fold import Fold, Pair, Progress, progress
from audit_core.reviews.team import Person


@dataclass(frozen=True, slots=True)
class Overview:
    """Review progress for a person.

    Attributes:
        everyone: Over all questions.
        known: Over those whose verdicts the person may know; a reviewer knows them where they have judged themselves.
        partial: Whether those are fewer.
        disputed: Disputed questions among those known that are not set aside.
        waiting: Questions whose verdict does not count yet and that are not set aside.
        aside: Questions that are set aside.
    """

    everyone: Progress
    known: Progress
    partial: bool
    disputed: int
    waiting: int
    aside: int


def overview(
    fold: Fold, study_id: str, questions: Sequence[str], pair: Pair, person: Person, needed: int, aside: Collection[str]
) -> Overview:
    """Review progress over given questions.

    Args:
        questions: The population, such as the repeat-stable flips.
        person: Who looks.
        needed: Independent verdicts that a question needs.
        aside: Those of them that are set aside.
    """

    def of(some: Sequence[str]) -> Progress:
        return progress(fold, study_id, some, pair, needed)

    everyone, known = of(questions), questions
    if person.independent:
        known = [q for q in questions if fold.standing(study_id, q, person.name, pair).verdict is not None]
    hidden = set(aside)
    return Overview(
        everyone,
        of(known),
        len(known) < len(questions),
        of([question for question in known if question not in hidden]).disputed,
        of([question for question in questions if question not in hidden]).unreviewed,
        len(hidden & set(questions)),
    )
