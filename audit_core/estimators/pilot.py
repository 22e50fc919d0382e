"""What a study that exists tells the planner: its own contrasts in place of an assumed population.

The repeat-stable flips stand for questions that move, all other questions for those that do not. Both keep the
contrasts they have, also where the mean of the others is not zero: a question can move in part. With another number of
repeats the deviations of the questions that do not move shrink as repeat noise does, by √(h(k)/h(k′)); those of the
questions that move are kept, because with two repeats nothing tells their noise from how much they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from audit_core.estimators import churn
from audit_core.estimators.planner import Expected
from audit_core.estimators.population import Law, collapsed, noise_factor
from audit_core.tensors import Answers


@dataclass(frozen=True, slots=True)
class Pilot:
    """What was read from a study.

    Attributes:
        questions: Inside the estimand of all its kernels.
        flips: Of these, repeat-stable under the main kernel.
        excluded: Questions outside.
        semantic: Whether it has semantic labels; without them the exact kernel stands for both.
        factor: Mean of h over its questions; that of its k where all have as many repeats.
        zeta: Mean ζ over questions that do not move, exact and semantic; an upper value where some move in part.
        moved: Law of a flip; None without one.
        still: Law of the other questions.
        alike: Chance that two answers of one state have the same words, given the same meaning.
    """

    questions: int
    flips: int
    excluded: int
    semantic: bool
    factor: float
    zeta: tuple[float, float]
    moved: Law | None
    still: Law
    alike: float

    @property
    def share(self) -> float:
        """Of its questions, those that flip."""
        return self.flips / self.questions

    def expected(self, flips: float | None, repeats: int) -> Expected:
        """The population that a study of such questions would meet.

        Args:
            flips: Share of questions that move; as in the pilot when None.
            repeats: Of the study that is planned, 2 or more.
        """
        ratio = noise_factor(repeats) / self.factor
        still = self.still if abs(ratio - 1) < 1e-9 else self.still.scaled(sqrt(ratio))
        moved = self.moved or _assumed(self.alike)
        return Expected(self.share if flips is None else flips, moved, still)


def from_answers(answers: Answers, old: str, new: str) -> Pilot | None:
    """The pilot that a study's answers at two states are.

    Returns:
        None where fewer than two questions have two answers in both states and all their labels, or all flip.
    """
    o, n = answers.index(old), answers.index(new)
    names = ("exact", answers.kernels[-1])
    exact, main = (churn.contrast(answers.kernel(name), answers.repeats, o, n) for name in names)
    keep = exact.eligible & main.eligible & np.array([c.values.dtype != object for c in (exact, main)]).all()
    flips = main.flips & keep
    rest = keep & ~flips
    if keep.sum() < 2 or not rest.any():
        return None
    denominator = int(np.lcm(exact.denominator, main.denominator))
    values = [c.values.astype(np.int64) * (denominator // c.denominator) for c in (exact, main)]

    def law(rows: churn.Flags) -> Law:
        return collapsed(values[0][rows], values[1][rows], np.ones(int(rows.sum())), denominator)

    factor = [noise_factor(int(a), int(b)) for a, b in answers.repeats[rest][:, [o, n]]]
    still = law(rest)
    mean = sum(factor) / len(factor)
    return Pilot(
        int(keep.sum()), int(flips.sum()), len(answers) - int(keep.sum()), len(answers.kernels) > 1, mean,
        (still.moments(0)[1] / mean, still.moments(1)[1] / mean), law(flips) if flips.any() else None, still,
        _alike(exact, main, keep),
    )  # fmt: skip


def _alike(exact: churn.Contrast, main: churn.Contrast, keep: churn.Flags) -> float:
    words, meaning = (sum(float((p.agree[keep] / p.pairs[keep]).sum()) for p in (c.old, c.new)) for c in (exact, main))
    return min(1.0, words / meaning) if meaning else 0.0


def _assumed(alike: float) -> Law:
    """A flip where none was seen: the meaning moves, and the words are fixed or varied."""
    return Law(np.array([1.0, 0.0]), np.ones(2), np.array([alike, 1 - alike]), 1.0)
