"""How often one-sided limits miss the truth, betting beside the percentile bootstrap: ``python -m benchmarks.betting``.

Each sample draws N questions with two repeats in two states from a population whose excess churn is known, and asks
for its 95 % limits. What the bootstrap gets wrong when flips are rare is why "compatible" rests on betting.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audit_core.estimators import betting, bootstrap
from benchmarks.pages import publish

METHOD = Path(__file__).parents[1] / "docs" / "method.md"
TAIL = Fraction(1, 20)
SAMPLES = 4000
VALUES = np.array([4, 2, 0, -1, -2])
"""Four times D of a question with two repeats: aa|bb, aa|bc, nothing, ab|ac, ab|ab."""
POPULATIONS: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "10 % flips, some noise": ((0.10, 0.02, 0.86, 0.01, 0.01), (100, 400)),
    "2 % flips, some noise": ((0.02, 0.01, 0.96, 0.005, 0.005), (200, 400)),
    "no change, much noise": ((0.02, 0.06, 0.76, 0.12, 0.04), (100, 400)),
    "1 % flips, no noise": ((0.01, 0.0, 0.99, 0.0, 0.0), (100, 400)),
    "0.3 % flips, no noise": ((0.003, 0.0, 0.997, 0.0, 0.0), (400, 1000)),
}
"""Chances of `VALUES`, and numbers of questions."""


def measure(say: Callable[[str], None], samples: int = SAMPLES) -> list[str]:
    """Rows of the table: shares of samples whose limit is on the wrong side of the truth, and the mean upper limit."""
    rng = np.random.Generator(np.random.PCG64(20261130))
    rows = []
    for name, (chances, sizes) in POPULATIONS.items():
        truth = sum((Fraction(int(v), 4) * Fraction(str(p)) for v, p in zip(VALUES, chances, strict=True)), Fraction(0))
        for n in sizes:
            say(f"{name}, {n} questions")
            missed, reach = np.zeros(4), np.zeros(2)
            for _ in range(samples):
                low, high = _limits(rng.choice(VALUES, n, p=chances))
                missed += [low[0] > truth, high[0] < truth, low[1] > truth, high[1] < truth]
                reach += [float(bound - truth) for bound in high]
            shares = [f"{share:.3f}" for share in missed / samples]
            width = " / ".join(f"{100 * mean:.2f}" for mean in reach / samples)
            rows.append(
                f"| {name} ({float(100 * truth):.2f} pp) | {n:,} | {shares[0]} / {shares[1]} | "
                f"{shares[2]} / {shares[3]} | {width} |"
            )
    return rows


def _limits(values: npt.NDArray[np.int64]) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Lower limits by percentile and betting, and upper ones."""
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    low, high = Fraction(-1, 2), 1
    return (
        (found.quantile(TAIL), betting.lower(values, 4, low, high, TAIL)),
        (found.quantile(1 - TAIL), betting.upper(values, 4, low, high, TAIL)),
    )


def written(rows: list[str], samples: int = SAMPLES) -> str:
    """The table with its caption."""
    return "\n".join([
        f"{samples:,} samples a row, one-sided, nominal 5 %: share of samples whose lower limit lies above the truth / "
        "whose upper limit lies below it. Monte Carlo error of a share near 0.05: 0.0035.",
        "",
        "| population (true D) | questions | percentile | betting | upper limit above the truth on average, pp |",
        "|---|---|---|---|---|",
        *rows,
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.betting", description=__doc__)
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, help="a row (default: %(default)s; fewer write nothing)"
    )
    samples = parser.parse_args().samples
    text = written(measure(lambda what: print(what, file=sys.stderr, flush=True), samples), samples)
    print(text)
    if samples == SAMPLES:
        publish(METHOD, "betting", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
