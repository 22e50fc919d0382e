"""Outcomes of answers: splits among the repeats of a state, and what becomes of an outcome in another state.

Outcomes are numbered as in `tensors.OUTCOMES`: 0 answered, 1 partial, 2 refused, -1 where there is no answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Outcomes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
ANSWERED, PARTIAL, REFUSED = range(3)


def counts(outcome: Outcomes, state: int) -> npt.NDArray[np.int64]:
    """(Q, 3) answers of a state by outcome."""
    found = np.zeros((3, len(outcome)), np.int64)
    for slot in range(outcome.shape[2]):  # along the questions: a sum over a few repeats each takes far longer
        for kind in range(3):
            found[kind] += outcome[:, state, slot] == kind
    return found.T


def split(outcome: Outcomes, state: int) -> Flags:
    """Questions whose repeats do not all have the same outcome."""
    answered, partial, refused = (counts(outcome, state) > 0).T
    return (answered & partial) | (answered & refused) | (partial & refused)


def refusal_split(outcome: Outcomes, state: int) -> Flags:
    """Questions of which one repeat refuses and another does not, be it in full or in part."""
    answered, partial, refused = (counts(outcome, state) > 0).T
    return (answered | partial) & refused


def same_evidence(evidence: npt.NDArray[np.int32], repeats: npt.NDArray[np.int32], state: int) -> Outcomes:
    """Whether all repeats of a state saw the same evidence, to the byte.

    Args:
        evidence: (Q, S, R) class numbers within a question, -1 absent or unknown.
        repeats: (Q, S) answers.

    Returns:
        Length Q: 1 all the same; 0 two of them saw different evidence; -1 without an answer, or not known of all.
    """
    differ, known = np.zeros(len(evidence), np.bool_), np.zeros(len(evidence), np.int32)
    first = np.full(len(evidence), -1, np.int32)
    for slot in range(evidence.shape[2]):
        seen = evidence[:, state, slot]
        there = seen >= 0
        differ |= there & (first >= 0) & (seen != first)
        first = np.where(there & (first < 0), seen, first)
        known += there
    every = (known == repeats[:, state]) & (known > 0)
    return np.where(differ, 0, np.where(every, 1, -1)).astype(np.int8)


def moves(outcome: Outcomes, old: int, new: int, matched: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Matched repeats by outcome at both states.

    Args:
        old: Position of a state; likewise `new`.
        matched: From `transitions.partners`.

    Returns:
        (Q, 3, 3): by outcome at the old state, then at the new one.
    """
    after = np.where(matched < 0, np.int8(-1), np.take_along_axis(outcome[:, new], np.maximum(matched, 0), 1))
    before = outcome[:, old]
    found = np.zeros((3, 3, len(outcome)), np.int64)
    for slot in range(outcome.shape[2]):
        for a in range(3):
            for b in range(3):
                found[a, b] += (before[:, slot] == a) & (after[:, slot] == b)
    return np.moveaxis(found, 2, 0)
