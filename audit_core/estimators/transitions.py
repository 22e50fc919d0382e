"""EM transitions over matched repeats: repeat r at the old state with repeat r at the new one.

Diagnostic and not noise-corrected. With unequal numbers of repeats the first min(k, k′) of each state are matched.
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


def transitions(
    em: npt.NDArray[np.int8], unknown: npt.NDArray[np.int8], kernel: Kernel, old: int, new: int
) -> Transitions:
    """Classes of the matched pairs of two states.

    Args:
        em: (Q, S, R) 1 match, 0 nonmatch, -1 no gold or absent.
        unknown: (Q, S, R) 1 UNKNOWN, 0 another answer, -1 absent.
        kernel: Decides whether two nonmatching answers are different.
    """
    a, b = em[:, old], em[:, new]
    label = np.diagonal(kernel.block(old, new), axis1=1, axis2=2)
    p, q = unknown[:, old], unknown[:, new]
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
