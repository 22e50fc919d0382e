"""An assumed population of questions for planning, and the exact law of a question's contrasts under it.

A share of the questions moves: no new answer means what an old one meant. Of the others a share is reworded: the
meaning stays, no new answer has the words of an old one. Beside this there is noise of two kinds. An *unsettled*
question draws each answer's meaning from two, at odds that are the same for all of them; a settled one has one
meaning. And given its meaning an answer has always the same words (*fixed*), one of two with equal chance (*mixed*) or
words of its own (*varied*). What a question is in one respect is independent of what it is in the others.

From this follows everything that a plan needs: for each kind of question the probability of every pair of contrasts
(exact, semantic), counted over the possible answers and not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, gcd, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RARE = 0.1
"""Chance of an unsettled question's rarer meaning, as long as that makes enough disagreement."""
MIXED = 0.8
"""Share of mixed questions by the most that the agreement of wordings allows."""
FINEST = 1 << 20
"""Largest denominator of a lattice's step."""
WORDINGS = ("fixed", "mixed", "varied")


@dataclass(frozen=True, slots=True)
class Law:
    """Joint law of the contrasts of one question, of one kind or of all.

    Attributes:
        exact: Values of D under the exact kernel, in [-1, 1].
        semantic: Values of D under the semantic kernel, of the same length.
        probability: Of each pair of values; sums to 1.
        step: Distance of neighbouring values on the lattice that holds them; 0 where they lie on none.
    """

    exact: Floats
    semantic: Floats
    probability: Floats
    step: float = 0.0

    def mean(self) -> tuple[float, float]:
        """Expected D, exact and semantic."""
        return float(self.exact @ self.probability), float(self.semantic @ self.probability)

    def variance(self) -> tuple[float, float]:
        """Var D, exact and semantic."""
        first, second = (self.moments(kernel) for kernel in (0, 1))
        return first[1] - first[0] ** 2, second[1] - second[0] ** 2

    def moments(self, kernel: int) -> tuple[float, float, float]:
        """E D, E D² and E D³; kernel 0 is exact, 1 semantic."""
        values = (self.exact, self.semantic)[kernel]
        first, second, third = (float(values**power @ self.probability) for power in (1, 2, 3))
        return first, second, third

    def product(self) -> float:
        """E of exact D times semantic D."""
        return float(self.probability @ (self.exact * self.semantic))

    def correlation(self) -> float:
        """Of exact and semantic D; 0 where one of them never varies."""
        (a, b), (v, w) = self.mean(), self.variance()
        return (self.product() - a * b) / sqrt(v * w) if v * w > 0 else 0.0

    def centred(self) -> Law:
        """The same deviations around means of 0; on no lattice unless the means were 0."""
        a, b = self.mean()
        if abs(a) + abs(b) < 1e-12:
            return self
        return Law(self.exact - a, self.semantic - b, self.probability)

    def scaled(self, factor: float) -> Law:
        """The same means with all deviations times `factor`."""
        a, b = self.mean()
        return Law(a + factor * (self.exact - a), b + factor * (self.semantic - b), self.probability)

    def joined(self, other: Law, share: float) -> Law:
        """The mixture with `share` of this law and the rest of another one."""
        pairs = ((self.exact, other.exact), (self.semantic, other.semantic))
        exact, semantic = (np.concatenate(pair) for pair in pairs)
        chance = np.concatenate((share * self.probability, (1 - share) * other.probability))
        return Law(exact, semantic, chance, _common(self.step, other.step))


def _common(first: float, second: float) -> float:
    """The finest lattice that holds both; steps are fractions with small denominators."""
    a, b = (Fraction(step).limit_denominator(FINEST) for step in (first, second))
    return float(Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator))


@dataclass(frozen=True, slots=True)
class Population:
    """What is assumed about the questions.

    Attributes:
        flips: Share of questions that move, in [0, 1].
        noise: Chance that two answers of one state to one question differ in meaning, in [0, 0.5].
        alike: Chance that two answers of one state that mean the same have the same words, in [0, 1].
        reworded: Share of the questions that do not move whose words change all the same, in [0, 1].
    """

    flips: float
    noise: float
    alike: float
    reworded: float = 0.0

    @property
    def rare(self) -> float:
        """Chance of the rarer meaning of an unsettled question."""
        most = 2 * RARE * (1 - RARE)
        return RARE if self.noise <= most else (1 - sqrt(max(1 - 2 * self.noise, 0))) / 2

    @property
    def unsettled(self) -> float:
        """Share of unsettled questions."""
        return min(self.noise / (2 * self.rare * (1 - self.rare)), 1.0)

    @property
    def wordings(self) -> tuple[float, float, float]:
        """Shares of fixed, mixed and varied questions."""
        mixed = MIXED * min(self.alike, 1 - self.alike)
        return self.alike - mixed / 2, mixed, 1 - self.alike - mixed / 2

    def law(self, repeats: int) -> tuple[Law, Law]:
        """Law of a question that moves, and of one that does not.

        Args:
            repeats: k ≥ 2, answers in each of the two states.
        """
        noise = replace(self, flips=0.0, reworded=0.0)  # one entry of the cache whatever moves
        moved, still = (_law(noise, repeats, movement) for movement in ("moved", "still"))
        return moved, _law(noise, repeats, "reworded").joined(still, self.reworded) if self.reworded else still

    def zeta(self, kernel: str) -> float:
        """Mean of ζ = S₂ − 2·S₃ + S₂² over the questions: repeat noise alone gives D the variance ζ·h(k)."""
        found = 0.0
        for settled, wording, chance in self.kinds():
            meaning = np.array([1.0]) if settled else np.array([1 - self.rare, self.rare])
            if kernel == "exact" and wording == "varied":
                continue
            q = np.repeat(meaning / 2, 2) if kernel == "exact" and wording == "mixed" else meaning
            found += chance * float((q**2).sum() - 2 * (q**3).sum() + (q**2).sum() ** 2)
        return found

    def kinds(self) -> list[tuple[bool, str, float]]:
        """(settled, wording, share) of each kind of question, whether it moves or not."""
        settled = ((True, 1 - self.unsettled), (False, self.unsettled))
        words = zip(WORDINGS, self.wordings, strict=True)
        return [(s, w, a * b) for (s, a), (w, b) in product(settled, words) if a * b > 0]


def noise_factor(old: int, new: int | None = None) -> float:
    """h: variance of D under no change by ζ; h(k) = (2k−1)/(k²(k−1)), h(2) = 3/4.

    Args:
        old: Answers in the old state, 2 or more.
        new: Answers in the new one; as many when None.

    With unequal numbers it is ½/(k(k−1)) + ½/(k′(k′−1)) + 1/(k·k′), from the same decomposition.
    """
    other = old if new is None else new
    return 0.5 / (old * (old - 1)) + 0.5 / (other * (other - 1)) + 1 / (old * other)


@lru_cache(maxsize=512)
def _law(population: Population, k: int, movement: str) -> Law:
    """Law of the contrasts of questions with one kind of movement, over all kinds of noise.

    With denominator k²(k−1), D is (agreeing pairs within both states)·k − (agreeing cross pairs)·(k−1).
    """
    exact, semantic, chance = [], [], []
    for settled, wording, share in population.kinds():
        counts, probability = _answers(k, 1.0 if settled else 1 - population.rare, wording)
        words = counts.reshape(len(counts), -1)
        meanings = counts.sum(2)
        alike = (words * (words - 1) // 2).sum(1) if wording != "varied" else np.zeros(len(counts), np.int64)
        agree = (meanings * (meanings - 1) // 2).sum(1)
        crossing = meanings @ meanings.T if movement != "moved" else 0
        shared = words @ words.T if movement == "still" and wording != "varied" else 0
        exact.append(((alike[:, None] + alike) * k - shared * (k - 1)).ravel())
        semantic.append(((agree[:, None] + agree) * k - crossing * (k - 1)).ravel())
        chance.append(share * np.outer(probability, probability).ravel())
    return collapsed(np.concatenate(exact), np.concatenate(semantic), np.concatenate(chance), k * k * (k - 1))


def _answers(k: int, common: float, wording: str) -> tuple[npt.NDArray[np.int64], Floats]:
    """Possible answers of one state: how many have each of two meanings and, in it, each of two wordings."""
    rows, chances = [], []
    halves = range(k + 1) if wording == "mixed" else (0,)
    for first in range(k + 1):
        chance = comb(k, first) * common**first * (1 - common) ** (k - first)
        if chance == 0:
            continue
        for a, b in product(halves, halves):
            if a > first or b > k - first:
                continue
            part = comb(first, a) * comb(k - first, b) / 2**k if wording == "mixed" else 1.0
            rows.append([[first - a, a], [k - first - b, b]])
            chances.append(chance * part)
    return np.array(rows), np.array(chances)


def collapsed(exact: npt.NDArray[np.int64], semantic: npt.NDArray[np.int64], chance: Floats, denominator: int) -> Law:
    """A law with each pair of values once.

    Args:
        exact, semantic: Integers; D is the integer by `denominator`.
        chance: Weight of each pair; need not sum to 1.
    """
    pairs, where = np.unique(np.stack((exact, semantic), axis=1), axis=0, return_inverse=True)
    weight = np.bincount(where.ravel(), weights=chance, minlength=len(pairs))
    step = int(np.gcd.reduce(pairs.ravel()))
    return Law(pairs[:, 0] / denominator, pairs[:, 1] / denominator, weight / weight.sum(), step / denominator)
