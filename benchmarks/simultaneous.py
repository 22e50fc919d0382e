"""How often intervals of all steps hold together: ``python -m benchmarks.simultaneous``.

Each study is a ladder of five states, drawn from a population whose excess churn per step is known: a meaning changes
at a step with a fixed chance, and an answer is a one-off of its own with another. Two repeats, so that the answers of a
state enter two steps and the steps are dependent. Intervals are those of the program, with fewer draws.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bootstrap
from audit_core.estimators.simultaneous import max_t
from benchmarks.pages import publish

METHOD = Path(__file__).parents[1] / "docs" / "method.md"
TAIL = Fraction(1, 20)
STUDIES, DRAWS, STEPS = 2_000, 2_000, 4
DESIGNS = ((100, 0.10, 0.1), (400, 0.10, 0.1), (400, 0.02, 0.1), (400, 0.10, 0.3), (1_600, 0.10, 0.1))
"""Questions, chance of a change of meaning per step, chance of an answer of its own."""
WAYS = ("each step alone", "Bonferroni", "max-t")

Interval = tuple[Fraction, Fraction]


def truth(flips: float, noise: float) -> float:
    """Excess churn of a step: two answers that are not one-offs agree within a state and differ after a change."""
    return flips * (1 - noise) ** 2


def drawn(n: int, flips: float, noise: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Four times the contrast of each question at each step; shape (n, steps)."""
    meaning = np.cumsum(rng.random((n, STEPS + 1)) < flips, 1)
    answers = np.repeat(meaning[:, :, None], 2, 2)
    alone = rng.random(answers.shape) < noise
    answers[alone] = -1 - np.arange(int(alone.sum()))
    within = (answers[:, :, 0] == answers[:, :, 1]).astype(np.int64)
    cross = np.stack(
        [sum((answers[:, s, i] == answers[:, t, j]).astype(np.int64) for i in (0, 1) for j in (0, 1))
         for s, t in pairwise(range(STEPS + 1))], 1,
    )  # fmt: skip
    return np.asarray(2 * (within[:, :-1] + within[:, 1:]) - cross)


def study(n: int, flips: float, noise: float, number: int) -> list[list[Interval] | None]:
    """Intervals of all steps, by each way in the order of `WAYS`; None where one of them is missing."""
    values = drawn(n, flips, noise, np.random.default_rng([n, int(flips * 1000), int(noise * 1000), number]))
    alone, divided = [], []
    for column in values.T:
        found = bootstrap.of_mean(column, 4)
        assert found is not None
        for out, tail in ((alone, TAIL), (divided, TAIL / STEPS)):
            out.append((found.quantile(tail / 2), found.quantile(1 - tail / 2)))
    (joint,) = max_t([(values, [4] * STEPS)], np.arange(n), TAIL, str(number), DRAWS)
    together = [interval for interval in joint.intervals if interval is not None]
    return [alone, divided, together if len(together) == STEPS else None]


def row(n: int, flips: float, noise: float, studies: int) -> tuple[list[float], list[float], int]:
    """Joint coverage and mean width in percentage points of each way, and studies without max-t intervals."""
    real, without = truth(flips, noise), 0
    covered, width, counted = [0] * len(WAYS), [0.0] * len(WAYS), [0] * len(WAYS)
    for number in range(studies):
        for way, intervals in enumerate(study(n, flips, noise, number)):
            if intervals is None:
                without += 1
                continue
            counted[way] += 1
            covered[way] += all(low <= real <= high for low, high in intervals)
            width[way] += float(sum(high - low for low, high in intervals)) / STEPS
    return (
        [c / max(m, 1) for c, m in zip(covered, counted, strict=True)],
        [100 * w / max(m, 1) for w, m in zip(width, counted, strict=True)],
        without,
    )


def written(studies: int) -> str:
    """The table and what it is about."""
    lines = [
        f"{studies:,} simulated ladders of {STEPS} steps a row, two repeats, nominal 95 %: share of studies in which "
        f"*all* intervals hold the truth, and mean width of one in pp. Monte Carlo error of a coverage near 0.92: "
        f"{sqrt(0.92 * 0.08 / studies):.3f}.",
        "",
        f"| questions | a meaning changes | an answer is a one-off | D per step, pp | {' | '.join(WAYS)} |",
        f"|---|---|---|---|{'---|' * len(WAYS)}",
    ]
    for n, flips, noise in DESIGNS:
        shares, widths, without = row(n, flips, noise, studies)
        cells = " | ".join(f"{s:.3f} ({w:.1f})" for s, w in zip(shares, widths, strict=True))
        note = f"; {without} without max-t" if without else ""
        design = f"| {n:,} | {100 * flips:.0f} % | {100 * noise:.0f} % | {100 * truth(flips, noise):.2f}"
        lines.append(f"{design} | {cells}{note} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simultaneous", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few studies, to try the benchmark; writes nothing")
    studies = 20 if parser.parse_args().small else STUDIES
    text = written(studies)
    print(text)
    if studies == STUDIES:
        publish(METHOD, "simultaneous", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
