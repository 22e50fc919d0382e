"""The bootstrap of a mean: the exact distribution and the locked draws against three ways to resample."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core import bundled
from audit_core.estimators import bootstrap, stream
from audit_core.results import arrays_of, compute
from audit_core.study import Study

DRAWS = 50_000
SIZES = (400, 10_000, 100_000, 1_000_000)
BUDGET = 100_000_000
"""Words that a resampling method may draw in one measurement; above it fewer draws are run and the time is scaled."""
LEVELS = (0.05, 0.025, 0.975)
Values = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Timing:
    """One method at one size.

    Attributes:
        seconds: For 50,000 draws (or the exact distribution).
        draws: How many were run; fewer than 50,000 where the time was scaled.
        quantiles: 5 %, 2.5 % and 97.5 % of the mean.
    """

    method: str
    n: int
    seconds: float
    draws: int
    quantiles: tuple[float, ...]


def contrasts(n: int) -> Values:
    """Values of D_i times 4 as a study has them: mostly 0, some flips, some noise of both signs."""
    generator = np.random.default_rng(7)
    return generator.choice(np.array([0, 4, 2, 1, -1, -2]), size=n, p=[0.78, 0.1, 0.05, 0.04, 0.02, 0.01])


def exact(values: Values, draws: int) -> tuple[float, ...]:
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    return tuple(float(found.quantile(Fraction(str(level)))) for level in LEVELS)


def locked(values: Values, draws: int) -> tuple[float, ...]:
    sums = stream.sums(values[:, None], np.arange(len(values)), draws, "1")[:, 0]
    return tuple(bootstrap.quantile(level, sums) / (4 * len(values)) for level in LEVELS)


def plain(values: Values, draws: int) -> tuple[float, ...]:
    """What one writes without a library: draw indexes, take, sum; in pieces of 8 MiB."""
    generator, n = np.random.default_rng(1), len(values)
    means = np.empty(draws)
    rows = max((1 << 20) // n, 1)
    for done in range(0, draws, rows):
        size = min(rows, draws - done)
        means[done : done + size] = values[generator.integers(0, n, size=(size, n))].sum(1) / (4 * n)
    return tuple(np.quantile(means, LEVELS, method="inverted_cdf").tolist())


def scipy_way(values: Values, draws: int) -> tuple[float, ...]:
    from scipy.stats import bootstrap as resample

    found = resample(
        (values / 4,), np.mean, n_resamples=draws, batch=max((1 << 20) // len(values), 1), method="percentile", rng=1
    )
    means = found.bootstrap_distribution
    return tuple(np.quantile(means, LEVELS, method="inverted_cdf").tolist())


def arch_way(values: Values, draws: int) -> tuple[float, ...]:
    from arch.bootstrap import IIDBootstrap

    means = IIDBootstrap(values / 4, seed=1).apply(np.mean, draws)[:, 0]
    return tuple(np.quantile(means, LEVELS, method="inverted_cdf").tolist())


METHODS: dict[str, tuple[Callable[[Values, int], tuple[float, ...]], bool]] = {
    "exact distribution (this package)": (exact, False),
    "locked draws (this package)": (locked, False),
    "plain index resampling": (plain, True),
    "scipy.stats.bootstrap": (scipy_way, True),
    "arch IIDBootstrap": (arch_way, True),
}
"""Each way, and whether it is scaled from fewer draws where 50,000 would take minutes."""


def measure(say: Callable[[str], None], sizes: tuple[int, ...] = SIZES) -> list[Timing]:
    """All methods at all sizes; the exact way is the best of three."""
    found = []
    for n in sizes:
        values = contrasts(n)
        for method, (run, scaled) in METHODS.items():
            draws = min(DRAWS, max(BUDGET // n, 50)) if scaled else DRAWS
            times = []
            quantiles: tuple[float, ...] = ()
            for _ in range(3 if run is exact else 1):
                start = time.perf_counter()
                quantiles = run(values, draws)
                times.append(time.perf_counter() - start)
            seconds = min(times) * DRAWS / draws
            found.append(Timing(method, n, seconds, draws, quantiles))
            say(f"{n:>9,} questions  {method:<34} {seconds:10.3f} s")
    return found


def memory(n: int = SIZES[-1]) -> dict[str, float]:
    """Peak extra memory of our two ways in MiB."""
    values = contrasts(n)
    found = {}
    for method in list(METHODS)[:2]:
        tracemalloc.start()
        METHODS[method][0](values, DRAWS)
        found[method] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return found


def whole_study(path: Path | None = None) -> tuple[str, float, int]:
    """All estimates of the bundled study of 400 questions and four states, draws included: id, seconds, estimates."""
    study = Study(path or next(p for p in bundled.studies() if p.name == "nq-400"))
    answers = arrays_of(study.protocol, study.dossiers())
    times = []
    record: dict[str, Any] = {}
    for _ in range(3):
        start = time.perf_counter()
        record = compute(study.protocol, answers)
        times.append(time.perf_counter() - start)
    return study.protocol.study_id, min(times), len(record["estimates"])


def written(timings: list[Timing], peaks: dict[str, float], study: tuple[str, float, int]) -> list[str]:
    """The section of the report."""
    sizes = sorted({timing.n for timing in timings})
    by = {(timing.method, timing.n): timing for timing in timings}
    ours = next(iter(METHODS))
    lines = [
        "## Estimation",
        "",
        f"Bounds of the mean contrast with {DRAWS:,} draws, or its exact bootstrap distribution. Seconds, and in "
        "brackets how many times as long as the exact distribution. *Scaled*: fewer draws were run, and the time was "
        "multiplied.",
        "",
        "| method | " + " | ".join(f"{n:,} questions" for n in sizes) + " |",
        "|---|" + "---:|" * len(sizes),
    ]
    for method in METHODS:
        cells = []
        for n in sizes:
            timing = by[method, n]
            ratio = timing.seconds / by[ours, n].seconds
            note = f" *scaled from {timing.draws:,}*" if timing.draws < DRAWS else ""
            cells.append(f"{_seconds(timing.seconds)}" + ("" if method == ours else f" ({ratio:,.0f}×)") + note)
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    gap = max(
        abs(a - b) for n in sizes for a, b in zip(by[ours, n].quantiles, by[list(METHODS)[1], n].quantiles, strict=True)
    )
    lines += [
        "",
        f"The bounds of the exact distribution and of the locked draws differ by at most {gap:.6f}.",
        "Above 5,000 questions the locked draws are made over distinct rows, which has the same distribution.",
        f"Peak extra memory at {sizes[-1]:,} questions: "
        + ", ".join(f"{method.split(' (')[0]} {peak:,.0f} MiB" for method, peak in peaks.items())
        + ".",
        f"All {study[2]} estimates of `{study[0]}` (400 questions, four states), draws included: {study[1]:.2f} s.",
        "",
    ]
    return lines


def _seconds(value: float) -> str:
    return f"{value * 1000:,.1f} ms" if value < 1 else f"{value:,.1f} s"
