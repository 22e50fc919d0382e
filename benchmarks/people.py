"""How often the intervals cover the truth when people check a judge: ``python -m benchmarks.people``.

Each study is drawn from a population of questions whose excess churn is known. People label without error, so their
value of a question is the truth about it; the judge merges meanings and splits them at known rates, either pair by
pair or, which is harder to see in a sample, two meanings of a question in all their pairs at once. The draw, the
estimates and the intervals are those of the program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bootstrap, people
from audit_core.reviews import labels
from benchmarks.pages import publish

METHOD = Path(__file__).parents[1] / "docs" / "method.md"
TAIL = Fraction(1, 20)
DESIGNS = ((400, 50), (400, 100), (400, 200), (2000, 100))
STUDIES = 3000
FLIPS, NOISE, MERGES, SPLITS = 0.0915, 0.1, 0.096, 0.003
"""Share of questions that move; chance of an answer of its own meaning; the judge's errors by meaning and by pair."""
TRUTH = FLIPS * (1 - NOISE) ** 2
JUDGED = TRUTH * (1 - SPLITS - MERGES)
JUDGES = {"pair by pair": False, "whole meanings": True}
"""How the judge errs, and whether it does so in all pairs of two meanings at once."""
WAYS = ("judge alone", "people alone", "corrected", "corrected, floor")
PAIRS = list(combinations(range(4), 2))
WITHIN = np.array([pair in ((0, 1), (2, 3)) for pair in PAIRS])


def drawn(n: int, whole: bool, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Four times the contrast of each question by people and by the judge; two repeats in two states."""
    meaning = np.zeros((n, 4), int)
    meaning[rng.random(n) < FLIPS, 2:] = 1
    meaning = np.where(rng.random((n, 4)) < NOISE, np.arange(2, 6), meaning)
    merged = rng.random((n, 6, 6)) < MERGES
    truth, judged = np.empty((n, 6), bool), np.empty((n, 6), bool)
    for column, (i, j) in enumerate(PAIRS):
        a, b = np.minimum(meaning[:, i], meaning[:, j]), np.maximum(meaning[:, i], meaning[:, j])
        truth[:, column] = a == b
        wrong = merged[np.arange(n), a, b] if whole else rng.random(n) < MERGES
        judged[:, column] = np.where(a == b, rng.random(n) >= SPLITS, wrong)
    sign = np.where(WITHIN, 2, -1)
    return (truth * sign).sum(1), (judged * sign).sum(1)


@dataclass
class Tally:
    """Studies whose interval covered the truth, sum of widths, studies without an interval."""

    covered: int = 0
    width: float = 0.0
    without: int = 0
    studies: int = field(default=0)

    def add(self, interval: tuple[Fraction, Fraction] | None) -> None:
        self.studies += 1
        if interval is None:
            self.without += 1
            return
        low, high = map(float, interval)
        self.covered += low <= TRUTH <= high
        self.width += high - low

    @property
    def share(self) -> float:
        return self.covered / max(self.studies - self.without, 1)

    @property
    def error(self) -> float:
        return sqrt(self.share * (1 - self.share) / max(self.studies - self.without, 1))


def _resampled(values: npt.NDArray[np.int64]) -> tuple[Fraction, Fraction]:
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    return found.quantile(TAIL / 2), found.quantile(1 - TAIL / 2)


def study(n: int, size: int, whole: bool, number: int) -> tuple[tuple[Fraction, Fraction] | None, ...]:
    """Intervals of one study, in the order of `WAYS`."""
    rng = np.random.default_rng([n, size, whole, number])
    truth, judged = drawn(n, whole, rng)
    ids = [f"q{i}" for i in range(n)]
    strata = {
        labels.MOVED: [q for q, j in zip(ids, judged, strict=True) if j],
        labels.STILL: [q for q, j in zip(ids, judged, strict=True) if not j],
        labels.IDENTICAL: [],
    }
    found = labels.drawn(strata, ("old", "new"), "judge", str(number), size).questions(strata)
    assert found is not None
    place = {q: i for i, q in enumerate(ids)}
    parts = []
    for name, chosen in found.items():
        rows = [place[q] for q in chosen]
        values = (tuple(Fraction(int(v), 4) for v in source[rows]) for source in (judged, truth))
        parts.append(people.Stratum(name, len(strata[name]), *values, floored=name == labels.STILL))
    result = people.corrected(Fraction(int(judged.sum()), 4 * n), parts)
    value = result.value
    both: Sequence[tuple[Fraction, Fraction] | None] = (
        (None, None)
        if value is None
        else [people.interval(value, variance, TAIL) for variance in (result.variance, result.floored)]
    )
    return _resampled(judged), _resampled(truth[rng.permutation(n)[:size]]), *both


Found = dict[tuple[str, int, int], list[Tally]]


def measure(studies: int, designs: Sequence[tuple[int, int]] = DESIGNS) -> Found:
    """Coverage and width of each way by the judge's errors, questions and labelled questions."""
    out = {}
    for errs, whole in JUDGES.items():
        for n, size in designs:
            tallies = [Tally() for _ in WAYS]
            for number in range(studies):
                for tally, interval in zip(tallies, study(n, size, whole, number), strict=True):
                    tally.add(interval)
            out[errs, n, size] = tallies
            print(f"{errs}, {n} questions, {size} labelled: done", file=sys.stderr, flush=True)
    return out


def written(found: Found, studies: int) -> str:
    """The table and what it is about."""
    lines = [
        f"{studies:,} simulated studies a row, nominal 95 %: coverage of the truth, and mean width of the interval in "
        f"pp. The truth is {100 * TRUTH:.2f} pp; the judge, which merges {100 * MERGES:.1f} % of meanings and splits "
        f"{100 * SPLITS:.1f} % of pairs, makes it {100 * JUDGED:.2f} pp on average. Monte Carlo error of a coverage: "
        f"at most {max(t.error for row in found.values() for t in row):.3f}.",
        "",
        f"| the judge errs | questions, labelled | {' | '.join(WAYS)} |",
        f"|---|---|{'---|' * len(WAYS)}",
    ]
    for (errs, n, size), row in found.items():
        cells = (f"{t.share:.3f} ({100 * t.width / max(t.studies - t.without, 1):.1f})" for t in row)
        lines.append(f"| {errs} | {n:,}, {size} | {' | '.join(cells)} |")
    without = sum(t.without for row in found.values() for t in row)
    if without:
        lines += ["", f"{without} intervals could not be given and are left out."]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few studies, to try the benchmark; writes nothing")
    studies = 20 if parser.parse_args().small else STUDIES
    text = written(measure(studies), studies)
    print(text)
    if studies == STUDIES:
        publish(METHOD, "people", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
