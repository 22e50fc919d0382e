"""Two studies on the same questions: the paired difference of their contrasts, whole questions resampled together."""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from audit_core.estimators import churn
from audit_core.estimators.bounds import Settings, bounded
from audit_core.model import Estimate
from audit_core.tensors import Answers


def paired_churn(
    first: Answers, second: Answers, kernel: str, old: str, new: str, settings: Settings
) -> list[Estimate]:
    """Excess churn of each study on the common questions, and first minus second with its interval.

    Args:
        first, second: Two studies; only questions in both and eligible in both enter, matched by id.
        kernel: ``exact`` or ``semantic``.
        old, new: States that both studies have.

    Returns:
        Three estimates: ``excess_churn[k]@old-new (first)``, the same for the second, and ``paired_difference``.
        Labels from packets of different make-up are comparable only descriptively, which the reason says.
    """
    place = {question: i for i, question in enumerate(second.question_ids)}
    common = [i for i, question in enumerate(first.question_ids) if question in place]
    a = first.take(np.array(common, np.intp))
    b = second.take(np.array([place[first.question_ids[i]] for i in common], np.intp))
    x = churn.contrast(a.kernel(kernel), a.repeats, a.index(old), a.index(new))
    y = churn.contrast(b.kernel(kernel), b.repeats, b.index(old), b.index(new))
    keep = x.eligible & y.eligible
    size, excluded = int(keep.sum()), len(first) - int(keep.sum())
    at = f"[{kernel}]@{old}-{new}"
    base = Estimate(
        "", "excess_churn", None, None, "agreement", "supportive", kernel, old, new, population=size, excluded=excluded
    )
    names = (f"excess_churn{at} (first)", f"excess_churn{at} (second)", f"paired_difference{at}")
    if not size:
        return [
            replace(base, name=name, reason="The two studies have no eligible question in common.") for name in names
        ]
    denominator = lcm(x.denominator, y.denominator)
    left, right = (c.values[keep] * (denominator // c.denominator) for c in (x, y))
    different = kernel != "exact" and len(a.states) != len(b.states)
    out = []
    for name, values in zip(names, (left, right, left - right), strict=True):
        estimate = replace(base, name=name, numerator=int(values.sum(dtype=object)), denominator=denominator * size)
        if name.startswith("paired"):
            estimate = replace(
                estimate,
                measure="paired_difference",
                reason="Descriptive: the judge saw packets of different make-up." if different else "",
            )
        out.append(bounded(estimate, values, denominator, settings))
    return out
