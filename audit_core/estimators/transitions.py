"""EM transitions over matched repeats: repeat r at the old state with repeat r at the new one.

Diagnostic and not noise-corrected. Repeats that only one of the two states has (a failed cell, unequal numbers) are
matched in their order among themselves, so that min(k, k′) pairs come out of every question.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from audit_core.kernels import Kernel

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Transitions:
    """Matched pairs per question by class; the first five partition the matched pairs.

    Attributes:
        lost: EM-match, then nonmatch.
        gained: EM-nonmatch, then match.
        both_match: EM-match twice.
        different_nonmatch: EM-nonmatch twice, answers that the kernel calls different.
        same_nonmatch: EM-nonmatch twice, answers that the kernel calls the same.
        matched: All matched pairs with gold and a known label.
        unknown_in: Another answer, then UNKNOWN.
        unknown_out: UNKNOWN, then another answer.
        lost_known, gained_known, different_known: The part of each flow between answers that are not UNKNOWN.
        answered: Matched pairs, gold or not.
    """

    lost: Counts
    gained: Counts
    both_match: Counts
    different_nonmatch: Counts
    same_nonmatch: Counts
    matched: Counts
    unknown_in: Counts
    unknown_out: Counts
    lost_known: Counts
    gained_known: Counts
    different_known: Counts
    answered: Counts

    def totals(self) -> dict[str, int]:
        """Sum of each class over questions."""
        return {field.name: int(getattr(self, field.name).sum()) for field in fields(self)}


def partners(
    numbers: npt.NDArray[np.int32], repeats: npt.NDArray[np.int32], old: int, new: int
) -> npt.NDArray[np.intp]:
    """For each answer at the old state its matched answer at the new one.

    Args:
        numbers: (Q, S, R) which repeat each slot holds, -1 absent.
        repeats: (Q, S) answers.
        old: Position of a state; likewise `new`.

    Returns:
        (Q, R) slots at the new state, -1 without a partner.
    """
    a, b = numbers[:, old], numbers[:, new]
    slots = np.broadcast_to(np.arange(a.shape[1]), a.shape)
    both = slots < np.minimum(repeats[:, old], repeats[:, new])[:, None]
    out = np.where(both, slots, -1)
    for q in np.flatnonzero((both & (a != b)).any(1)):
        x, y = a[q, : repeats[q, old]].tolist(), b[q, : repeats[q, new]].tolist()
        place = {number: slot for slot, number in enumerate(y)}
        row = [place.pop(number, -1) for number in x]
        left = sorted(place.values())
        out[q] = -1
        out[q, : len(row)] = [slot if slot >= 0 else left.pop(0) if left else -1 for slot in row]
    return out


def transitions(
    em: npt.NDArray[np.int8], unknown: npt.NDArray[np.int8], kernel: Kernel, old: int, new: int,
    matched: npt.NDArray[np.intp],
) -> Transitions:  # fmt: skip
    """Classes of the matched pairs of two states.

    Args:
        em: (Q, S, R) 1 match, 0 nonmatch, -1 no gold or absent.
        unknown: (Q, S, R) 1 UNKNOWN, 0 another answer, -1 absent.
        kernel: Decides whether two nonmatching answers are different.
        old: Position of a state; likewise `new`.
        matched: From `partners`.
    """
    at = np.maximum(matched, 0)
    alone = matched < 0

    def partner(values: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        return np.where(alone, np.int8(-1), np.take_along_axis(values[:, new], at, 1))

    a, b = em[:, old], partner(em)
    p, q = unknown[:, old], partner(unknown)
    label = np.take_along_axis(kernel.block(old, new), at[:, :, None], 2)[:, :, 0]
    answered = (p >= 0) & (q >= 0)
    # A pair of nonmatches without a label cannot be told different from same, so it is outside the classes.
    scored = (a >= 0) & (b >= 0) & ((label >= 0) | (a == 1) | (b == 1))
    plain = (p == 0) & (q == 0)
    lost, gained = scored & (a == 1) & (b == 0), scored & (a == 0) & (b == 1)
    different = scored & (a == 0) & (b == 0) & (label == 0)

    def count(mask: npt.NDArray[np.bool_]) -> Counts:
        return mask.sum(1, dtype=np.int64)

    return Transitions(
        count(lost),
        count(gained),
        count(scored & (a == 1) & (b == 1)),
        count(different),
        count(scored & (a == 0) & (b == 0) & (label == 1)),
        count(scored),
        count((p == 0) & (q == 1)),
        count((p == 1) & (q == 0)),
        count(lost & plain),
        count(gained & plain),
        count(different & plain),
        count(answered),
    )
