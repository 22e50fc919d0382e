"""Two studies on the same questions: paired differences, whole questions resampled together. Never pooled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np
import numpy.typing as npt

from audit_core.estimators import churn, utility
from audit_core.estimators.bounds import Settings, bounded
from audit_core.model import Estimate
from audit_core.tensors import Answers

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
WHERE = ("both", "first only", "second only")
"""In which of the two studies a question flips."""


@dataclass(frozen=True)
class Common:
    """The questions of two studies with the same ids, in the first study's order.

    Attributes:
        first, second: Their answers, row by row the same question.
        left_out: Questions of the first study that the second does not have.
    """

    first: Answers
    second: Answers
    left_out: int

    def descriptive(self, kernel: str) -> str:
        """Why a difference under a kernel describes and does not compare; empty where nothing stands in the way."""
        if kernel == "exact":
            if self.first.rule == self.second.rule:
                return ""
            return f"Descriptive: the texts were normalized by {self.first.rule} and by {self.second.rule}."
        judges = (self.first.primary, self.second.primary)
        labelled = [(a.labels[j] >= 0).sum((1, 2)) for a, j in zip((self.first, self.second), judges, strict=True) if j]
        if len(labelled) == 2 and (labelled[0] == labelled[1]).all():
            return ""
        return "Descriptive: the judge saw packets of different make-up."


def common(first: Answers, second: Answers) -> Common:
    """The questions that two studies share, matched by id."""
    place = {question: i for i, question in enumerate(second.question_ids)}
    rows = [i for i, question in enumerate(first.question_ids) if question in place]
    a = first.take(np.array(rows, np.intp))
    b = second.take(np.array([place[first.question_ids[i]] for i in rows], np.intp))
    return Common(a, b, len(first) - len(rows))


def paired_estimates(both: Common, old: str, new: str, settings: Settings) -> Iterator[Estimate]:
    """Excess churn, flips and the change of exact match of two studies, side by side and as paired differences.

    Args:
        both: From `common`.
        old, new: States that both studies have.
    """
    for kernel in both.first.kernels:
        if kernel in both.second.kernels:
            yield from _churn(both, kernel, old, new, settings)
            yield from _flips(both, kernel, old, new, settings)
    yield from _accuracy(both, old, new, settings)


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
    return _churn(common(first, second), kernel, old, new, settings)


def flips(both: Common, kernel: str, old: str, new: str) -> tuple[Flags, dict[str, Flags]]:
    """Common questions eligible in both studies, and which of them flip in both, or in one alone."""
    x, y = _contrasts(both, kernel, old, new)
    keep = x.eligible & y.eligible
    masks = (x.flips & y.flips, x.flips & ~y.flips, y.flips & ~x.flips)
    return keep, {where: keep & mask for where, mask in zip(WHERE, masks, strict=True)}


def _contrasts(both: Common, kernel: str, old: str, new: str) -> tuple[churn.Contrast, churn.Contrast]:
    a, b = (
        churn.contrast(answers.kernel(kernel), answers.repeats, answers.index(old), answers.index(new))
        for answers in (both.first, both.second)
    )
    return a, b


def _churn(both: Common, kernel: str, old: str, new: str, settings: Settings) -> list[Estimate]:
    x, y = _contrasts(both, kernel, old, new)
    at = f"[{kernel}]@{old}-{new}"
    base = Estimate("", "excess_churn", None, None, "agreement", settings.status("other", "paired"), kernel, old, new)
    names = (f"excess_churn{at} (first)", f"excess_churn{at} (second)", f"paired_difference{at}")
    parts = ((x.values, x.denominator), (y.values, y.denominator))
    return _side_by_side(both, base, names, parts, x.eligible & y.eligible, both.descriptive(kernel), settings)


def _accuracy(both: Common, old: str, new: str, settings: Settings) -> list[Estimate]:
    parts = [
        utility.difference(answers.em, answers.index(old), answers.index(new))
        for answers in (both.first, both.second)
    ]  # fmt: skip
    at, measure = f"@{old}-{new}", "exact_match_difference"
    base = Estimate("", measure, None, None, "answers", settings.status("other", "paired"), old=old, new=new)
    names = (f"{measure}{at} (first)", f"{measure}{at} (second)", f"paired_{measure}{at}")
    keep = parts[0][2] & parts[1][2]
    return _side_by_side(both, base, names, [part[:2] for part in parts], keep, both.descriptive("exact"), settings)


def _side_by_side(
    both: Common, base: Estimate, names: tuple[str, str, str], parts: Sequence[tuple[Ints, int]], keep: Flags,
    reason: str, settings: Settings,
) -> list[Estimate]:  # fmt: skip
    """Means of two columns over kept questions and of their difference."""
    size = int(keep.sum())
    base = replace(base, population=size, excluded=both.left_out + len(keep) - size)
    if not size:
        missing = "The two studies have no eligible question in common."
        return [replace(base, name=name, reason=missing) for name in names]
    denominator = lcm(*(below for _, below in parts))
    left, right = (values[keep] * (denominator // below) for values, below in parts)
    out = []
    for name, values in zip(names, (left, right, left - right), strict=True):
        estimate = replace(base, name=name, numerator=int(values.sum(dtype=object)), denominator=denominator * size)
        if name.startswith("paired"):
            estimate = replace(estimate, measure=name.split("@")[0].split("[")[0], reason=reason)
        out.append(bounded(estimate, values, denominator, settings))
    return out


def _flips(both: Common, kernel: str, old: str, new: str, settings: Settings) -> Iterator[Estimate]:
    keep, found = flips(both, kernel, old, new)
    size = int(keep.sum())
    base = Estimate("", "common_flips", None, None, "questions", settings.status("other", "paired"), kernel, old, new,
                    population=size, excluded=both.left_out + len(keep) - size)  # fmt: skip
    for where, mask in found.items():
        name = f"common_flips[{kernel}, {where}]@{old}-{new}"
        if size:
            yield replace(base, name=name, numerator=int(mask.sum()), denominator=size)
        else:
            yield replace(base, name=name, reason="The two studies have no eligible question in common.")
