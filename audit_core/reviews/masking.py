"""Which of two answers a reviewer sees as A, where old and new are not to be known before the verdict."""

from __future__ import annotations

import hashlib

from audit_core.reviews.fold import Pair

BETTER = {"regression": "A is better", "improvement": "B is better"}
"""Words of the two verdicts that need a direction, as a person reads them while answers are masked."""


def sides(study_id: str, question_id: str, reviewer: str, pair: Pair) -> Pair:
    """The states of a pair in the order A, B: drawn per question and reviewer, the same at every look."""
    text = "\n".join(("sides", study_id, question_id, reviewer, *pair)).encode("utf-8", "surrogatepass")
    return pair if hashlib.sha256(text).digest()[0] % 2 == 0 else (pair[1], pair[0])


def meant(pressed: str, first: str, pair: Pair) -> str:
    """The verdict that a press on masked answers stands for.

    Args:
        pressed: ``regression`` for *A is better*, ``improvement`` for *B is better*, or another verdict.
        first: State that was A.
        pair: Old and new state.
    """
    if pressed not in BETTER or first == pair[0]:
        return pressed
    return "improvement" if pressed == "regression" else "regression"
