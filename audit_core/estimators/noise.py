"""Where repeats disagree: in questions with a refusal split, between repeats with the same or with other evidence.

All shares weight a pair as the within mean does, by one over the pairs of its question, so that the parts of a state
add up to one minus its within agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

import numpy as np
import numpy.typing as npt

from audit_core.estimators.churn import Counts, Flags
from audit_core.kernels import Kernel


@dataclass(frozen=True)
class Disagreement:
    """Pairs of different repeats of one state.

    Attributes:
        pairs: Length Q, pairs that exist.
        differ: Length Q, pairs on which the kernel is 0.
        defined: Length Q, questions with a pair, all of them known to the kernel.
        chosen: Length Q, pairs of the kind that was asked for.
        chosen_differ: Length Q, those of them on which the kernel is 0.
    """

    pairs: Counts
    differ: Counts
    defined: Flags
    chosen: Counts
    chosen_differ: Counts


def disagreement(
    kernel: Kernel, repeats: npt.NDArray[np.int32], state: int, kind: npt.NDArray[np.bool_]
) -> Disagreement:
    """Pairs of one state, and those of one kind among them.

    Args:
        kernel: Agreement of two answers.
        repeats: (Q, S) accepted answers.
        kind: (Q, R, R) which pairs of slots are of the kind, symmetric.
    """
    block = kernel.block(state, state)
    count = repeats[:, state]
    pairs, differ, known, chosen, chosen_differ = np.zeros((5, len(repeats)), np.int64)
    for first, second in combinations(range(block.shape[1]), 2):
        cells, wanted = block[:, first, second], kind[:, first, second]
        there, unlike = count > second, cells == 0
        pairs += there
        differ += unlike
        known += cells >= 0
        chosen += there & wanted
        chosen_differ += unlike & wanted
    return Disagreement(pairs, differ, (pairs > 0) & (known == pairs), chosen, chosen_differ)


def weighted(values: Sequence[Counts], pairs: Counts, keep: Flags) -> list[int]:
    """Σ values / pairs over kept questions for several values, as integers over one common denominator.

    Where all questions have equally many pairs, the integers count pairs.
    """
    shapes, inverse = np.unique(pairs[keep], return_inverse=True)
    sums = [
        sum(
            (
                Fraction(int(part), int(size))
                for part, size in zip(
                    np.bincount(inverse, weights=value[keep].astype(float), minlength=len(shapes)), shapes, strict=True
                )
            ),
            Fraction(0),
        )
        for value in values
    ]
    common = lcm(*shapes.tolist())
    return [int(total * common) for total in sums]
