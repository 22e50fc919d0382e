"""Chance that a study shows *compatible*: that the upper betting limit of D̂ ends below the tolerance.

The limit is below the tolerance m once the capital of the bet against "the mean is at least m" reaches 1/α
(Waudby-Smith and Ramdas, JRSS B 86, 2024). Its logarithm is a sum over questions of log(1 − λ_t·(X_t − m)), where
X = (D + 1) / 2 for values in [−1, 1] and likewise for [−1/2, 1]. The stakes λ_t follow the predictable plug-in of the
variance. Here that variance is taken at its expectation, so each term has a known mean and variance, and their sum is
treated as a Brownian motion with drift, whose chance to reach a level within a time is known.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from audit_core.estimators import normal
from audit_core.estimators.planner import Expected

MOST = 0.75
"""Largest share of the capital that one value can lose."""
_STAKES = 400
"""Stakes that are looked at; those between are interpolated."""


def compatible(expected: Expected, questions: int, tolerance: float, level: float, kernel: int = 1,
               low: float = -1.0) -> float:  # fmt: skip
    """Chance that the upper limit of D̂ is below the tolerance, in [0, 1].

    Args:
        questions: N ≥ 1, all with all answers and labels.
        tolerance: In (0, 1).
        level: Confidence of the limit.
        kernel: 0 exact, 1 semantic.
        low: Least value that D can take by the rule: −1, or −1/2 for a kernel that is transitive.
    """
    law = expected.law
    x = ((law.exact, law.semantic)[kernel] - low) / (1 - low)
    m, goal = (tolerance - low) / (1 - low), log(1 / (1 - level))
    mean = float(law.probability @ x)
    variance = float(law.probability @ (x - mean) ** 2)
    t = np.arange(questions)
    # the running mean starts at 1/2, so the plug-in variance carries that start's distance from the truth
    start = ((0.5 - mean) ** 2) * np.concatenate(([0.0], np.cumsum(1 / (np.arange(1, questions) + 1.0) ** 2)))
    plugged = (0.25 + start + t * variance) / (t + 1)
    stakes = np.minimum(np.sqrt(2 * goal / (questions * plugged)), MOST / (1 - m))
    grid = np.linspace(stakes.min(), stakes.max(), _STAKES) if np.ptp(stakes) > 1e-12 else stakes[:1]
    gains = np.log1p(-grid[:, None] * (x - m))
    means = gains @ law.probability
    variances = np.maximum(gains**2 @ law.probability - means**2, 0)
    drift, spread = float(np.interp(stakes, grid, means).sum()), float(np.interp(stakes, grid, variances).sum())
    if spread < 1e-12:
        return float(drift >= goal)
    deviation = sqrt(spread)
    reached = float(normal.below((drift - goal) / deviation))
    exponent = 2 * drift * goal / spread
    again = float(normal.below((-goal - drift) / deviation))
    return min(1.0, reached + (exp(min(exponent, 700)) * again if again > 0 else 0.0))
