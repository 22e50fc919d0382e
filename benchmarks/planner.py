"""The planner's power against simulated audits: ``python -m benchmarks planner``.

Each audit is drawn answer by answer from the assumed population; its contrasts, bounds and decision are those of the
program: `churn.contrast`, the exact bootstrap and `gate.decide`. Audits drawn anew from a bundled study, question by
question, check what the planner says from a pilot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audit_core import bundled
from audit_core.estimators import bootstrap, churn, gate, pilot, planner
from audit_core.estimators.population import Law, Population
from audit_core.kernels.exact import ExactKernel
from audit_core.results import arrays_of
from audit_core.study import Study

PAGE = Path(__file__).parents[1] / "docs" / "plan.md"
AUDITS = 2000
ALLOWANCE = 0.01
"""How far the approximation may be off beside Monte Carlo error; double below 100 questions."""
RULE = planner.Rule()
MARGIN, TAIL = Fraction(3, 100), Fraction(1, 20)
NOISES = ((0.11, 0.3), (0.03, 0.6), (0.25, 0.45))
"""(how often repeats differ in meaning, how often equal meanings have equal words)."""
GRID = [
    *product((100, 200, 400), (2, 3), (0.0, 0.05, 0.1, 0.2), NOISES[:2]),
    *product((100, 400), (2,), (0.0, 0.05, 0.1, 0.2), NOISES[2:]),
    *product((50,), (2, 3), (0.1, 0.2), NOISES[:1]),
]
"""Questions, repeats, share that moves, noise."""
PILOTS = (("nq-400", (100, 200, 400)), ("triviaqa-200", (100, 200, 400)), ("v4pro-100", (50, 100)))
WORDS = 1 << 20
"""Above all numbers of wordings that questions share."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One cell of the grid: what was predicted, and how many of the simulated audits confirmed."""

    name: tuple[str, ...]
    questions: int
    predicted: float
    confirmed: int
    audits: int

    @property
    def share(self) -> float:
        return self.confirmed / self.audits

    @property
    def error(self) -> float:
        """Monte Carlo standard error; by the predicted power, which is not zero where no audit confirmed."""
        p = min(max(self.predicted, 1 / self.audits), 1 - 1 / self.audits)
        return sqrt(p * (1 - p) / self.audits)

    @property
    def agrees(self) -> bool:
        allowance = ALLOWANCE * (2 if self.questions < 100 else 1)
        return abs(self.predicted - self.share) <= 3 * self.error + allowance


def answers(population: Population, questions: int, k: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Classes of meaning and of text, shape (questions, 2, k), drawn from the population."""
    kinds = population.kinds()
    kind = rng.choice(len(kinds), questions, p=[share for _, _, share in kinds])
    settled = np.array([s for s, _, _ in kinds])[kind]
    wording = np.array([w for _, w, _ in kinds])[kind]
    moved = rng.random(questions) < population.flips
    reworded = ~moved & (rng.random(questions) < population.reworded)
    shape = (questions, 2, k)
    meaning = ((rng.random(shape) < population.rare) & ~settled[:, None, None]).astype(np.int64)
    meaning[moved, 1] += 2
    words = np.where((wording == "mixed")[:, None, None], rng.integers(0, 2, shape), 0)
    words[moved | reworded, 1] += 2
    own = WORDS + np.arange(questions * 2 * k).reshape(shape)
    words = np.where((wording == "varied")[:, None, None], own, words)
    return meaning, np.unique(words * 4 + meaning, return_inverse=True)[1].reshape(shape)


def confirmed(exact: Ints, semantic: Ints, denominator: int) -> bool:
    """Whether the gate confirms on the contrasts of one audit."""
    found = [bootstrap.of_mean(values, denominator) for values in (exact, semantic)]
    lower = [
        (name, None if f is None else f.quantile(TAIL), False)
        for name, f in zip(("exact", "semantic"), found, strict=True)
    ]
    value = Fraction(int(exact.sum()), denominator * len(exact))
    return gate.decide(MARGIN, value, lower, 0)[0] == "churn confirmed"


def audit(population: Population, questions: int, k: int, rng: np.random.Generator) -> bool:
    """Whether one simulated audit confirms."""
    meaning, text = answers(population, questions, k, rng)
    repeats = np.full((questions, 2), k, np.int32)
    exact, semantic = (
        churn.contrast(ExactKernel(name, classes.astype(np.int32)), repeats, 0, 1)
        for name, classes in (("exact", text), ("semantic", meaning))
    )
    return confirmed(exact.scaled, semantic.scaled, exact.denominator)


def expected(population: Population, k: int) -> planner.Expected:
    return planner.Expected(population.flips, *population.law(k))


def cell(questions: int, k: int, flips: float, noise: tuple[float, float], audits: int) -> Row:
    """Predicted and simulated power of one cell; the same draws whenever it is run."""
    population = Population(flips, *noise)
    seed = [questions, k, *(round(v * 1000) for v in (flips, *noise))]
    rng = np.random.default_rng(seed)
    number = sum(audit(population, questions, k, rng) for _ in range(audits))
    name = (f"{questions}", f"{k}", f"{flips:.0%}", f"{noise[0]:.0%}", f"{noise[1]:.0%}")
    return Row(name, questions, planner.power(expected(population, k), questions, RULE), number, audits)


def redrawn(study: str, sizes: Sequence[int], audits: int) -> list[Row]:
    """Power from a pilot, against audits whose questions are drawn from it with replacement."""
    found = Study(bundled.resolve(study))
    source = pilot.from_answers(arrays_of(found.protocol, found.dossiers()), *(found.protocol.endpoints or ("", "")))
    assert source is not None
    expectation, denominator = source.expected(None, 2), 4
    law: Law = expectation.law
    exact, semantic = (np.rint(values * denominator).astype(np.int64) for values in (law.exact, law.semantic))
    rows = []
    for n in sizes:
        rng = np.random.default_rng([n, len(exact)])
        number = 0
        for _ in range(audits):
            drawn = rng.choice(len(exact), n, p=law.probability)
            number += confirmed(exact[drawn], semantic[drawn], denominator)
        rows.append(Row((study, f"{n}"), n, planner.power(expectation, n, RULE), number, audits))
    return rows


def measure(say: Callable[[str], None], audits: int = AUDITS) -> tuple[list[Row], list[Row]]:
    """Both grids."""
    rows = []
    for place in GRID:
        rows.append(cell(*place, audits))
        say(f"planner: {len(rows)} of {len(GRID)}: {' '.join(rows[-1].name)}")
    return rows, [row for study, sizes in PILOTS for row in redrawn(study, sizes, audits)]


def written(rows: Sequence[Row], pilots: Sequence[Row]) -> list[str]:
    """The section for the benchmarks' page."""
    agreeing = sum(row.agrees for row in (*rows, *pilots))
    return [
        "## Planner",
        "",
        f"{rows[0].audits:,} simulated audits a cell: predicted and simulated power agree within 3 Monte Carlo "
        f"standard errors and {ALLOWANCE:.0%} ({2 * ALLOWANCE:.0%} below 100 questions) in {agreeing} of "
        f"{len(rows) + len(pilots)} cells. The grid is in [plan.md](plan.md#checked-by-simulation).",
    ]  # fmt: skip


def tables(rows: Sequence[Row], pilots: Sequence[Row]) -> str:
    """The grids as docs/plan.md shows them."""
    agreeing = sum(row.agrees for row in (*rows, *pilots))
    worst = max(abs(row.predicted - row.share) for row in (*rows, *pilots))
    lines = [
        f"{rows[0].audits:,} simulated audits a cell; rule: exact D̂ ≥ 3 pp and both 95 % lower bounds above 0. "
        f"{agreeing} of {len(rows) + len(pilots)} cells agree; the largest difference is {worst:.3f}.",
        "",
        "| questions | repeats | flips | repeats differ in meaning | same words | predicted | simulated | ± | SEs |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(_line, rows),
        "",
        "| pilot | questions | predicted | simulated | ± | SEs |",
        "|---|---:|---:|---:|---:|---:|",
        *map(_line, pilots),
    ]
    return "\n".join(lines)


def _line(row: Row) -> str:
    apart = (row.predicted - row.share) / row.error
    sign = "" if row.agrees else " ✗"
    cells = (*row.name, f"{row.predicted:.3f}", f"{row.share:.3f}", f"{row.error:.3f}", f"{apart:+.1f}{sign}")
    return f"| {' | '.join(cells)} |"
