"""One-sided limits of a bounded mean by betting, for any distribution and any number of questions.

Source: Waudby-Smith and Ramdas, *Estimating means of bounded random variables by betting*, JRSS B 86 (2024). For
values X_t in [0, 1] and a candidate mean m, somebody who bets against "the mean is at least m" has the capital
K_t(m) = Π (1 − λ_t(m) (X_t − m)), where λ_t is fixed before X_t is seen. If the mean is at least m, K is a
supermartingale, so it ever reaches 1/α with probability at most α (Ville), whatever the distribution and the number of
questions. The upper limit is the least m that is refused: K_t(m) ≥ 1/α for some t. Unlike a bootstrap it needs no
spread in the sample, so it holds where flips are rare or none was seen.

λ_t(m) = min(√(2 ln(1/α) / (n σ²_{t−1})), ¾ / (1 − m)), σ²_t = (¼ + Σ_{i≤t} (X_i − μ_i)²) / (t + 1),
μ_t = (½ + Σ_{i≤t} X_i) / (t + 1): the paper's predictable plug-in, one-sided. K(m) never falls in m, so bisection finds
the limit. It is a multiple of 1/`RESOLUTION`, rounded outward. Only additions, multiplications, divisions and square
roots of doubles are used, one after the other, all of which IEEE 754 defines to the last bit: every machine gets the
same limit. Their rounding errors stay below `SLACK`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, log

import numpy as np
import numpy.typing as npt

NAME = "sca-betting/1"
RESOLUTION = 10**6
"""Limits are multiples of one over this: a ten-thousandth of a percentage point."""
SLACK = 1e-9
"""Relative; capital must exceed 1/α by it, more than a million rounded factors can err."""
_MOST = 0.75
"""Largest share of the capital that can be lost by one value."""

Ints = npt.NDArray[np.int64]


def order_of(question_ids: Sequence[str], seed: str) -> npt.NDArray[np.intp]:
    """Rows in the order in which they are bet on: by SHA-256 of name, seed and id.

    The limit depends on the order, so it is fixed by what the protocol fixes, and neither files nor names choose it.
    """
    return np.array(sorted(range(len(question_ids)), key=lambda row: key_of(question_ids[row], seed)), np.intp)


def key_of(question_id: str, seed: str) -> bytes:
    """SHA-256 by which a question finds its place among the bets."""
    parts = (NAME, seed, question_id)
    return hashlib.sha256(b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)).digest()


def upper(values: Ints, denominator: int, low: int | Fraction, high: int | Fraction, tail: Fraction) -> Fraction:
    """Upper limit of the mean of values / denominator: below the true mean with probability at most `tail`.

    Args:
        values: One integer per question in the order of `order_of`; at least one.
        denominator: Common denominator, above 0.
        low: Least value possible; likewise `high`.
        tail: Above 0, below 1.

    Returns:
        At least the mean of the sample and at most `high`.
    """
    n, low, width = len(values), Fraction(low), Fraction(high) - Fraction(low)
    # (v / d − low) / width as one division of integers, exact below 2^53
    above = (values * low.denominator - low.numerator * denominator) * width.denominator
    x = (above / (width.numerator * low.denominator * denominator)).astype(np.float64)
    bets = _bets(x, tail)
    wanted = float(1 / tail) * (1 + SLACK)

    def refused(candidate: int) -> bool:
        m = float((Fraction(candidate, RESOLUTION) - low) / width)
        stake = np.minimum(bets, _MOST / (1 - m))
        with np.errstate(over="ignore", under="ignore"):  # endless capital refuses, none keeps
            return bool(np.multiply.accumulate(1 - stake * (x - m)).max() >= wanted)

    kept, first = floor(low * RESOLUTION), ceil(high * RESOLUTION)
    while first - kept > 1:
        middle = (kept + first) // 2
        kept, first = (kept, middle) if refused(middle) else (middle, first)
    mean = Fraction(int(values.sum(dtype=object)), denominator * n)
    return Fraction(max(first, ceil(mean * RESOLUTION)), RESOLUTION)


def lower(values: Ints, denominator: int, low: int | Fraction, high: int | Fraction, tail: Fraction) -> Fraction:
    """Lower limit of the mean, the mirror image of `upper`: above the true mean with probability at most `tail`."""
    return -upper(-values, denominator, -high, -low, tail)


def _bets(x: npt.NDArray[np.float64], tail: Fraction) -> npt.NDArray[np.float64]:
    """λ_t before its cut: each from the values before t alone."""
    count = np.arange(1, len(x) + 1)
    means = (0.5 + np.add.accumulate(x)) / (count + 1)
    variances = (0.25 + np.add.accumulate((x - means) ** 2)) / (count + 1)
    before = np.concatenate(([0.25], variances[:-1]))
    # any constant is a valid bet; this one is cut to a few bits because a logarithm is not the same on every machine
    constant = round(2 * log(1 / tail) * 2**20) / 2**20
    return np.sqrt(constant / (len(x) * before))
