"""Bias-corrected and accelerated bounds of a mean (Efron 1987), read from the exact bootstrap distribution.

With z0 = Φ⁻¹(P(mean* < mean) + P(mean* = mean) / 2) and a = Σ e³ / (6 (Σ e²)^1.5), e the deviations from the mean, the
level α becomes Φ(z0 + (z0 + z_α) / (1 - a (z0 + z_α))). A sensitivity of the percentile bounds, nothing more: in
simulation its lower bound misses 5 % where 5 % is nominal, and 6 to 7 % under no change with 200 questions or fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from audit_core.estimators.bootstrap import Distribution

NORMAL = NormalDist()


def quantiles(
    values: npt.NDArray[np.int64], distribution: Distribution, levels: Sequence[Fraction]
) -> list[Fraction] | None:
    """Corrected quantiles of a mean; None where the correction is undefined.

    Args:
        values: One integer per question, the values of which `distribution` is the bootstrap distribution.
        levels: In (0, 1).
    """
    n = len(values)
    distinct, counts = (found.tolist() for found in np.unique(values, return_counts=True))
    total = sum(v * c for v, c in zip(distinct, counts, strict=True))
    second, third = (sum(c * (n * v - total) ** k for v, c in zip(distinct, counts, strict=True)) for k in (2, 3))
    mean = Fraction(total, n * distribution.denominator)
    step = Fraction(distribution.step, n * distribution.denominator)
    at, below = distribution.at_most(mean), distribution.at_most(mean - step)
    middle = (at + below) / 2
    if not second or not 0 < middle < 1:
        return None
    bias, skew = NORMAL.inv_cdf(middle), third / (6 * float(second) ** 1.5)
    out = []
    for level in levels:
        shifted = bias + NORMAL.inv_cdf(float(level))
        if skew * shifted >= 1:
            return None
        out.append(distribution.quantile(NORMAL.cdf(bias + shifted / (1 - skew * shifted))))
    return out
