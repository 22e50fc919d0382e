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
    return np.stack([(outcome[:, state] == kind).sum(1, dtype=np.int64) for kind in range(3)], 1)


def split(outcome: Outcomes, state: int) -> Flags:
    """Questions whose repeats do not all have the same outcome."""
    return (counts(outcome, state) > 0).sum(1) > 1


def refusal_split(outcome: Outcomes, state: int) -> Flags:
    """Questions of which one repeat refuses and another does not, be it in full or in part."""
    found = counts(outcome, state)
    return (found[:, REFUSED] > 0) & (found[:, REFUSED] < found.sum(1))


def same_evidence(evidence: npt.NDArray[np.int32], repeats: npt.NDArray[np.int32], state: int) -> Outcomes:
    """Whether all repeats of a state saw the same evidence, to the byte.

    Args:
        evidence: (Q, S, R) class numbers within a question, -1 absent or unknown.
        repeats: (Q, S) answers.

    Returns:
        Length Q: 1 all the same; 0 two of them saw different evidence; -1 without an answer, or not known of all.
    """
    seen = evidence[:, state]
    known = seen >= 0
    highest = seen.max(1, initial=-1)
    lowest = np.where(known, seen, np.iinfo(np.int32).max).min(1, initial=np.iinfo(np.int32).max)
    every = (known.sum(1) == repeats[:, state]) & (repeats[:, state] > 0)
    return np.where(known.any(1) & (lowest < highest), 0, np.where(every, 1, -1)).astype(np.int8)


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
    rows = [[((before == a) & (after == b)).sum(1, dtype=np.int64) for b in range(3)] for a in range(3)]
    return np.stack([np.stack(row, 1) for row in rows], 1)
