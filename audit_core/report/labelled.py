"""The questions that people check a judge on, and a drawn sample of them as arrays with everyone's labels in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from audit_core.errors import NotMeasurableError, Problem
from audit_core.estimators import churn
from audit_core.estimators.bounds import Settings
from audit_core.kernels.semantic import SemanticKernel
from audit_core.model import Estimate
from audit_core.reviews.events import Event
from audit_core.reviews.labels import DRAWN, IDENTICAL, MOVED, STILL, Asked, Place
from audit_core.tensors import Answers

Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int8]

CANNOT, OPEN = -2, -1
"""In arrays of people's labels, beside 1 same and 0 different."""
WORDS = {MOVED: "that the judge sees move", STILL: "that the judge sees stay", IDENTICAL: "with a single answer"}


@dataclass(frozen=True)
class Frame:
    """All questions of a pair of states that a sample can be drawn from.

    Attributes:
        judge: Name of the study's primary judge.
        contrast: By its labels.
        strata: Ids by stratum, in question order.
    """

    answers: Answers
    old: str
    new: str
    judge: str
    contrast: churn.Contrast
    strata: dict[str, list[str]]

    @property
    def size(self) -> int:
        """Questions inside the estimand."""
        return int(self.contrast.eligible.sum())

    @property
    def judge_mean(self) -> Fraction:
        """Excess churn by the judge."""
        top, denominator = self.contrast.total
        return Fraction(top, denominator * self.size)

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of a question among all."""
        return {question: i for i, question in enumerate(self.answers.question_ids)}

    def judged(self, question: str) -> Fraction:
        """Contrast of a question by the judge."""
        return Fraction(int(self.contrast.values[self.place[question]]), self.contrast.denominator)


def frame(answers: Answers, old: str, new: str) -> Frame:
    """The questions of a pair of states by what the judge says about them.

    Raises:
        NotMeasurableError: No judge, or no question with all its pairs labelled.
    """
    if answers.primary is None:
        raise NotMeasurableError(_nothing("there is no judge to check", "a study with semantic labels"))
    o, n = answers.index(old), answers.index(new)
    found = churn.contrast(answers.kernel("semantic"), answers.repeats, o, n)
    if not found.eligible.any():
        raise NotMeasurableError(_nothing("there is nothing to check", "questions with all their pairs labelled"))
    texts = answers.raw[:, [o, n]].reshape(len(answers), -1)
    same = np.where(texts < 0, texts.max(1, keepdims=True), texts)
    identical = (same == same[:, :1]).all(1)
    moved = found.values != 0
    masks = {MOVED: moved & ~identical, STILL: ~moved & ~identical, IDENTICAL: identical}
    strata = {
        name: [answers.question_ids[i] for i in np.flatnonzero(mask & found.eligible)] for name, mask in masks.items()
    }
    return Frame(answers, old, new, answers.primary, found, strata)


def _nothing(what: str, expected: str) -> Problem:
    return Problem(what, expected, "none", action="Choose a study, and a pair of its states, that a judge labelled.")


class Joined:
    """The drawn questions as arrays, with everyone's labels in their places.

    Args:
        found: All questions.
        drawn: Drawn ids by stratum, in the order of the draw.
        pairs: Pairs of each drawn question.
        given: Newest label by reviewer and pair.

    Attributes:
        part: Arrays of the drawn questions.
        asked: (n, P, P) pairs whose texts differ, upper triangle.
        pairs: Pairs that people are asked; each stands for all of its question with the same two texts.
        where: Their places in the arrays.
        said: By person, (n, P, P) symmetric.
        outdated: By person, labels of other answers.
    """

    def __init__(
        self,
        found: Frame,
        drawn: Mapping[str, Sequence[str]],
        pairs: Mapping[str, Sequence[Asked]],
        given: Mapping[str, Mapping[Place, Event]],
    ) -> None:
        self.frame = found
        self.ids = [question for ids in drawn.values() for question in ids]
        self.stratum = [name for name, ids in drawn.items() for _ in ids]
        self.part = found.answers.take(np.array([found.place[q] for q in self.ids], np.intp))
        p = self.part.labels[found.judge].shape[1]
        shape = (len(self.ids), p, p)
        self.asked = np.zeros(shape, np.bool_)
        same = np.full(shape, OPEN, np.int8)
        self.where: dict[Place, list[tuple[int, int, int]]] = {}
        self.pairs: dict[Place, Asked] = {}
        for row, question in enumerate(self.ids):
            for pair in pairs[question]:
                at = row, self._slot(pair.first.state, pair.first.slot), self._slot(pair.second.state, pair.second.slot)
                if pair.identical:
                    same[at] = same[row, at[2], at[1]] = 1
                else:
                    self.asked[at] = True
                    self.where.setdefault(pair.place, []).append(at)
                    self.pairs.setdefault(pair.place, pair)
        self.said: dict[str, Labels] = {}
        self.outdated: dict[str, int] = {}
        self.values: dict[str, dict[Place, str]] = {}
        for who, own in given.items():
            kept = {place: e for place, e in own.items() if place in self.pairs}
            values = {place: str(e.verdict) for place, e in kept.items() if e.item_sha256 == self.pairs[place].sha256}
            self.outdated[who] = len(kept) - len(values)
            if not kept:
                continue
            table = same.copy()
            for at_place, value in values.items():
                for row, a, b in self.where[at_place]:
                    table[row, a, b] = table[row, b, a] = {"same": 1, "different": 0}.get(value, CANNOT)
            self.said[who], self.values[who] = table, values

    def _slot(self, state: str, slot: int) -> int:
        return self.part.index(state) * int(self.part.exact.shape[2]) + slot

    def finished(self, who: str) -> Flags:
        """Drawn questions with all their pairs labelled."""
        return ~((self.said[who] == OPEN) & self.asked).any((1, 2))

    def counted(self, finished: Flags) -> Flags:
        """Finished questions that no open one of their stratum stands before."""
        out = np.zeros(len(self.ids), np.bool_)
        for name in DRAWN:
            mine = [i for i, stratum in enumerate(self.stratum) if stratum == name]
            out[mine] = np.logical_and.accumulate(finished[mine])
        return out

    def contrasts(self, who: str, cannot: int = OPEN) -> list[Fraction | None]:
        """Contrast of each drawn question by a person's labels; None where one is missing.

        Args:
            who: The person.
            cannot: What *cannot tell* stands for.
        """
        labels = self.said[who]
        labels = np.where(labels == CANNOT, np.int8(cannot), labels)
        kernel = SemanticKernel("people", labels, int(self.part.exact.shape[2]))
        places = (self.part.index(state) for state in (self.frame.old, self.frame.new))
        found = churn.contrast(kernel, self.part.repeats, *places)
        return [
            Fraction(int(v), found.denominator) if e else None
            for v, e in zip(found.values, found.eligible, strict=True)
        ]

    def by_stratum(self, mask: Flags) -> dict[str, list[int]]:
        """Drawn questions of a mask by stratum."""
        return {
            name: [i for i, (on, own) in enumerate(zip(mask, self.stratum, strict=True)) if on and own == name]
            for name in DRAWN
        }


def blank(joined: Joined, index: str, settings: Settings) -> Estimate:
    """An estimate about people's labels, still without measure and value."""
    found = joined.frame
    return Estimate(
        f"[{index}]@{found.old}-{found.new}",
        "",
        None,
        None,
        "pairs of answers",
        settings.status("other", "judge"),
        "semantic",
        found.old,
        found.new,
        detail={"engine": f"{settings.draws} draws"},
    )
