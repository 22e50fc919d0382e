"""The planner: laws against enumeration, power against an oracle and against simulated audits, and its way back."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from audit_core import bundled
from audit_core.estimators import betting, normal, pilot, planner
from audit_core.estimators.compatibility import compatible
from audit_core.estimators.planner import Expected, Rule
from audit_core.estimators.population import Law, Population, noise_factor
from audit_core.results import arrays_of
from audit_core.study import Study
from benchmarks import planner as simulated

RULE = Rule()
SURE = Law(np.ones(1), np.ones(1), np.ones(1), 1.0)
"""A flip that every answer shows, in both kernels."""
noises = st.floats(0.01, 0.45)
wordings = st.floats(0.05, 0.95)


def expected(flips: float, noise: float, alike: float, k: int = 2, reworded: float = 0.0) -> Expected:
    return Expected(flips, *Population(flips, noise, alike, reworded).law(k))


def test_noise_falls_with_repeats_as_published() -> None:
    for k, value in ((2, Fraction(3, 4)), (3, Fraction(5, 18)), (4, Fraction(7, 48)), (5, Fraction(9, 100))):
        assert noise_factor(k) == pytest.approx(float(value), abs=1e-15)
        assert Fraction(2 * k - 1, k * k * (k - 1)) == value
    assert noise_factor(2, 5) == noise_factor(5, 2)


# the oracle: every sequence of answers, in fractions and plain loops, from the sentence that defines the population


def _oracle_law(population: Population, k: int, moved: bool, reworded: bool) -> dict[tuple[Fraction, Fraction], float]:
    found: dict[tuple[Fraction, Fraction], float] = defaultdict(float)
    for settled, wording, share in population.kinds():
        meanings = [(0, 1.0)] if settled else [(0, 1 - population.rare), (1, population.rare)]
        words = [(0, 0.5), (1, 0.5)] if wording == "mixed" else [(0, 1.0)]
        for drawn in itertools.product(itertools.product(meanings, words), repeat=2 * k):
            chance, answers = share, []
            for place, ((meaning, p), (word, q)) in enumerate(drawn):
                chance *= p * q
                new = place >= k
                own = place if wording == "varied" else word
                answers.append((meaning + 2 * (moved and new), (own, new and (moved or reworded))))
            found[_contrast(answers, k, lambda a, b: a == b), _contrast(answers, k, lambda a, b: a[0] == b[0])] += (
                chance
            )
    return found


def _contrast(answers: list, k: int, agree) -> Fraction:
    states = (answers[:k], answers[k:])
    within = [Fraction(sum(agree(a, b) for a, b in itertools.combinations(s, 2)), k * (k - 1) // 2) for s in states]
    return sum(within) / 2 - Fraction(sum(agree(a, b) for a in states[0] for b in states[1]), k * k)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("movement", ["still", "moved", "reworded"])
def test_the_law_is_what_enumeration_of_all_answers_gives(k: int, movement: str) -> None:
    population = Population(0.3, 0.11, 0.4, reworded=1.0 if movement == "reworded" else 0.0)
    law = population.law(k)[0 if movement == "moved" else 1]
    oracle = _oracle_law(population, k, movement == "moved", movement == "reworded")
    mine: dict[tuple[Fraction, Fraction], float] = defaultdict(float)
    for *pair, p in zip(law.exact.tolist(), law.semantic.tolist(), law.probability.tolist(), strict=True):
        mine[tuple(Fraction(value).limit_denominator(100) for value in pair)] += p
    for pair in mine.keys() | oracle.keys():
        assert mine.get(pair, 0) == pytest.approx(oracle.get(pair, 0), abs=1e-12)


@given(noise=noises, alike=wordings, k=st.integers(2, 5))
@settings(deadline=None, max_examples=40)
def test_noise_has_mean_zero_and_the_published_variance(noise: float, alike: float, k: int) -> None:
    population = Population(0.1, noise, alike)
    moved, still = population.law(k)
    assert still.mean() == pytest.approx((0, 0), abs=1e-12)
    zeta = (population.zeta("exact"), population.zeta("semantic"))
    assert still.variance() == pytest.approx([z * noise_factor(k) for z in zeta], abs=1e-12)
    assert moved.mean() == pytest.approx((alike * (1 - noise), 1 - noise), abs=1e-9)


@given(a=st.floats(-5, 5), b=st.floats(-5, 5), rho=st.floats(-0.95, 0.95))
@settings(deadline=None, max_examples=60)
def test_the_bivariate_normal_is_that_of_scipy(a: float, b: float, rho: float) -> None:
    oracle = stats.multivariate_normal.cdf([-a, -b], cov=[[1, rho], [rho, 1]], abseps=1e-10, releps=1e-10)
    assert float(normal.both_above(a, b, rho)) == pytest.approx(float(oracle), abs=1e-7)


def test_the_bivariate_normal_at_its_ends() -> None:
    assert float(normal.both_above(0.3, -0.2, 1)) == pytest.approx(1 - stats.norm.cdf(0.3), abs=1e-4)
    assert float(normal.both_above(0.3, -0.2, 0)) == pytest.approx(stats.norm.sf(0.3) * stats.norm.sf(-0.2), abs=1e-12)
    assert normal.quantile(0.95) == pytest.approx(stats.norm.ppf(0.95), abs=1e-12)


def _oracle_power(laws: list[Law], shares: list[float], step: float, n: int, rule: Rule) -> float:
    """The same approximation by scipy: loops over how many are of each kind, roots found, moments summed."""
    z, total = stats.norm.ppf(rule.level), 0.0

    def moment(kernel: int, power: int, other: int = 0) -> list[float]:
        out = []
        for law in laws:
            pairs = zip(law.exact.tolist(), law.semantic.tolist(), law.probability.tolist(), strict=True)
            out.append(sum(p * (v[kernel] ** power) * (v[1 - kernel] ** other) for *v, p in pairs))
        return out

    raw = [[moment(kernel, power) for power in (1, 2, 3)] for kernel in (0, 1)]
    both = moment(0, 1, 1)
    for counts in itertools.product(*(range(n + 1) for _ in laws[:-1])):
        last = n - sum(counts)
        if last < 0 or (chance := stats.multinomial.pmf([*counts, last], n, shares)) < 1e-7:
            continue
        weights = [c / n for c in (*counts, last)]
        ends, means, spreads = [], [], []
        for one, two, three in raw:
            mix = [sum(w * v for w, v in zip(weights, values, strict=True)) for values in (one, two, three)]
            inner = sum(w * (b - a * a) for w, a, b in zip(weights, one, two, strict=True))
            lean = sum(w * (c - a * b) for w, a, b, c in zip(weights, one, two, three, strict=True)) / max(inner, 1e-12)

            def below(x: float, mix=mix, lean=lean) -> float:
                variance = max(mix[1] + lean * (x - mix[0]) - x * x, 1e-12)
                skew = (mix[2] - 3 * (variance + x * x) * x + 2 * x**3) / variance**1.5
                bar = max(z - min(max(skew, -5), 5) * (z * z - 1) / (6 * math.sqrt(n)), 0)
                return (x - step / (2 * n)) * math.sqrt(n) - bar * math.sqrt(variance)

            ends.append(optimize.brentq(below, step / (2 * n), 1) if below(1) > 0 else 1.0)
            means.append(mix[0])
            spreads.append(math.sqrt(max(inner, 1e-12) / n))
        least = math.ceil(rule.margin * n / step - 1e-9) * step / n - step / (2 * n)
        a = (max(ends[0], least) - means[0]) / spreads[0]
        b = (ends[1] - means[1]) / spreads[1]
        covariance = sum(w * (c - x * y) for w, c, x, y in zip(weights, both, raw[0][0], raw[1][0], strict=True)) / n
        rho = covariance / spreads[0] / spreads[1]
        cov = [[1, rho], [rho, 1]]
        total += chance * float(stats.multivariate_normal.cdf([-min(a, 38), -min(b, 38)], cov=cov, allow_singular=True))
    return total


def test_power_is_that_of_the_oracle() -> None:
    # many flips, so that only their number is summed over; then few, told apart by whether all their words move
    e = expected(0.2, 0.11, 0.4)
    oracle = _oracle_power([e.moved, e.still], [0.2, 0.8], e.law.step, 320, RULE)
    assert planner.power(e, 320, RULE) == pytest.approx(oracle, abs=2e-4)
    for k, n in ((2, 60), (3, 50)):
        e = expected(0.08, 0.06, 0.4, k)
        full = e.moved.exact == 1
        part = float(e.moved.probability[full].sum())
        clear, rest = (
            Law(e.moved.exact[rows], e.moved.semantic[rows], e.moved.probability[rows] / weight)
            for rows, weight in ((full, part), (~full, 1 - part))
        )
        shares = [0.08 * part, 0.08 * (1 - part), 0.92]
        oracle = _oracle_power([clear, rest, e.still], shares, e.law.step, n, RULE)
        assert planner.power(e, n, RULE) == pytest.approx(oracle, abs=2e-4)


CELLS = [
    (100, 2, 0.0, (0.25, 0.45)), (100, 2, 0.1, (0.03, 0.6)), (100, 3, 0.1, (0.11, 0.3)), (200, 2, 0.1, (0.03, 0.6)),
    (200, 2, 0.2, (0.11, 0.3)), (400, 2, 0.1, (0.11, 0.3)), (400, 2, 0.05, (0.03, 0.6)), (50, 3, 0.2, (0.11, 0.3)),
]  # fmt: skip


@pytest.mark.parametrize("cell", CELLS)
def test_power_agrees_with_simulated_audits(cell: tuple) -> None:
    row = simulated.cell(*cell, audits=400)
    assert row.agrees, row


def test_the_comparison_with_simulation_catches_wrong_planners() -> None:
    row = simulated.cell(100, 2, 0.1, (0.03, 0.6), audits=400)
    e = expected(0.1, 0.03, 0.6)
    wrong = {
        "another number of repeats": planner.power(expected(0.1, 0.03, 0.6, 3), 100, RULE),
        "no bound on exact churn": float(1 - stats.norm.cdf((0.03 - e.law.mean()[0]) / e.standard_errors(100)[0])),
        "two-sided bound": planner.power(e, 100, Rule(level=0.975)),
        "half the questions": planner.power(e, 50, RULE),
    }
    for name, value in wrong.items():
        assert not simulated.Row((name,), 100, value, row.confirmed, row.audits).agrees, name


def test_audits_drawn_anew_from_a_pilot_agree() -> None:
    assert all(row.agrees for row in simulated.redrawn("nq-400", (100,), 400))
    assert all(row.agrees for row in simulated.redrawn("triviaqa-200", (200,), 400))


@pytest.mark.parametrize(
    ("n", "share", "power"),
    [(50, 0.122, 0.89), (100, 0.069, 0.88), (200, 0.04, 0.86), (400, 0.0235, 0.85), (800, 0.0145, 0.84),
     (1600, 0.0092, 0.81)],
)  # fmt: skip
def test_the_table_of_smallest_shares_of_the_design_notes(n: int, share: float, power: float) -> None:
    """Var(D) of a question that does not move is 0.013; the table's formula has f·(1 − f) as the variance of a flip."""
    q, v0 = stats.norm.ppf(0.95) + stats.norm.ppf(0.8), 0.013
    f = (q**2 + math.sqrt(q**4 + 4 * (n + q**2) * q**2 * v0)) / (2 * (n + q**2))
    assert f == pytest.approx(share, abs=6e-4)
    still = Population(0, 0.013 / 0.75 / 0.18, 0.4).law(2)[1]
    assert still.variance()[1] == pytest.approx(v0)
    # their 500 simulated studies have a standard error of 0.016
    assert planner.detection(Expected(share, SURE, still), n, 0.95) == pytest.approx(power, abs=0.03)


@given(noise=st.floats(0.02, 0.3), alike=wordings, flips=st.floats(0.02, 0.5), k=st.integers(2, 4))
@settings(deadline=None, max_examples=30)
def test_power_grows_with_questions_where_the_margin_is_in_reach(
    noise: float, alike: float, flips: float, k: int
) -> None:
    e = expected(flips, noise, alike, k)
    found = [planner.power(e, n, RULE) for n in (100, 200, 400, 800, 1600)]
    assert all(0 <= p <= 1 for p in found)
    if e.law.mean()[0] >= 0.05:
        assert all(b >= a - 1e-6 for a, b in itertools.pairwise(found)), found


@given(noise=st.floats(0.02, 0.3), alike=wordings, flips=st.floats(0.05, 0.5), n=st.sampled_from([100, 300, 700]))
@settings(deadline=None, max_examples=30)
def test_noise_and_confidence_cost_power(noise: float, alike: float, flips: float, n: int) -> None:
    e, louder = expected(flips, noise, alike), expected(flips, noise + 0.1, alike)
    assert planner.detection(louder, n, 0.95) <= planner.detection(e, n, 0.95) + 1e-6
    if louder.law.mean()[0] >= 0.03:
        assert planner.power(louder, n, RULE) <= planner.power(e, n, RULE) + 1e-6
    assert planner.power(e, n, Rule(level=0.99)) <= planner.power(e, n, RULE) + 1e-9
    assert planner.power(e, n, Rule(margin=0.05)) <= planner.power(e, n, RULE) + 1e-9
    assert planner.power(e, n, RULE) <= planner.power(e, n, Rule(semantic=False)) + 1e-9


@given(flips=st.floats(0.1, 0.5), alike=st.floats(0.5, 0.95), wanted=st.sampled_from([0.5, 0.8, 0.9]))
@settings(deadline=None, max_examples=20)
def test_the_questions_needed_give_the_power_and_fewer_do_not(flips: float, alike: float, wanted: float) -> None:
    e = expected(flips, 0.11, alike)
    n = planner.questions_needed(lambda n: planner.power(e, n, RULE), wanted)
    assert n is not None
    assert n % planner.STEP == 0
    assert planner.power(e, n, RULE) >= wanted
    assert n == planner.LEAST or planner.power(e, n - planner.STEP, RULE) < wanted


@given(n=st.sampled_from([100, 200, 400, 1000]), alike=st.floats(0.2, 0.9))
@settings(deadline=None, max_examples=20)
def test_the_smallest_share_gives_the_power_and_a_smaller_one_does_not(n: int, alike: float) -> None:
    moved, still = Population(0, 0.11, alike).law(2)

    def chance(share: float) -> float:
        return planner.power(Expected(share, moved, still), n, RULE)

    share = planner.smallest_share(chance, 0.8)
    assert share is not None
    assert chance(share) >= 0.8 > chance(share - 0.0001)


def test_what_cannot_be_reached_is_none() -> None:
    e = expected(0.05, 0.11, 0.3)  # exact D̂ of 1.3 pp under a margin of 3
    assert planner.questions_needed(lambda n: planner.power(e, n, RULE), 0.8) is None
    moved, still = Population(0, 0.11, 0.02).law(2)
    assert planner.smallest_share(lambda f: planner.power(Expected(f, moved, still), 1000, RULE), 0.8) is None


@given(noise=noises, alike=wordings, n=st.integers(50, 2000), k=st.integers(2, 4))
@settings(deadline=None, max_examples=30)
def test_nothing_is_confirmed_where_nothing_moves(noise: float, alike: float, n: int, k: int) -> None:
    nothing = expected(0.2, noise, alike, k).nothing
    assert planner.power(nothing, n, RULE) < 0.05
    assert planner.detection(nothing, n, 0.95) < 0.05


def test_all_questions_may_move() -> None:
    assert planner.power(expected(1.0, 0.05, 0.6), 200, RULE) == pytest.approx(1)
    assert planner.power(expected(0.1, 0.11, 0.4), planner.MOST, RULE) == pytest.approx(1)


# compatible


@pytest.mark.parametrize(
    ("flips", "noise", "n", "tolerance", "kernel", "low"),
    [(0.0, 0.25, 200, 0.05, 1, -1.0), (0.01, 0.11, 400, 0.03, 1, -1.0), (0.02, 0.03, 200, 0.05, 1, -1.0),
     (0.0, 0.11, 200, 0.05, 0, -0.5), (0.05, 0.11, 200, 0.05, 1, -1.0)],
)  # fmt: skip
def test_the_chance_of_compatible_agrees_with_simulated_bets(
    flips: float, noise: float, n: int, tolerance: float, kernel: int, low: float
) -> None:
    e, rng, studies = expected(flips, noise, 0.45), np.random.default_rng([n, kernel]), 600
    values = np.rint((e.law.exact, e.law.semantic)[kernel] * 4).astype(np.int64)
    tail, span = Fraction(1, 20), (Fraction(low), Fraction(1))
    drawn = (rng.choice(values, n, p=e.law.probability) for _ in range(studies))
    hits = sum(betting.upper(some, 4, *span, tail) < Fraction(tolerance) for some in drawn)
    found = compatible(e, n, tolerance, 0.95, kernel, low)
    error = math.sqrt(max(found * (1 - found), 1 / studies) / studies)
    assert abs(found - hits / studies) <= 3 * error + 0.02


@given(n=st.integers(50, 2000), tolerance=st.floats(0.02, 0.5))
@settings(deadline=None, max_examples=30)
def test_compatible_grows_with_tolerance_and_is_rare_beyond_it(n: int, tolerance: float) -> None:
    e = expected(0.02, 0.11, 0.4)
    assert compatible(e, n, tolerance, 0.95) <= compatible(e, n, tolerance + 0.1, 0.95) + 1e-9
    at = expected(0.3, 0.11, 0.4)
    assert compatible(at, n, at.law.mean()[1], 0.95) <= 0.07


# a pilot


def _pilot(name: str) -> pilot.Pilot:
    study = Study(bundled.resolve(name))
    assert study.protocol.endpoints is not None
    found = pilot.from_answers(arrays_of(study.protocol, study.dossiers()), *study.protocol.endpoints)
    assert found is not None
    return found


def test_a_pilot_says_what_its_study_found() -> None:
    found = _pilot("nq-400")
    assert (found.questions, found.flips, found.excluded, found.semantic) == (400, 40, 0, True)
    assert found.factor == 0.75
    # variance of the questions that do not flip: 0.0128 and 0.0415 by the design notes
    assert [z * 0.75 for z in found.zeta] == pytest.approx([239 / 5760, 37 / 2880], abs=1e-12)
    assert found.expected(None, 2).law.mean() == pytest.approx((0.064375, 0.1025), abs=1e-12)
    assert found.moved is not None
    assert found.moved.mean() == pytest.approx((0.275, 1.0))
    more = found.expected(0.2, 3)
    assert more.flips == 0.2
    assert more.still.mean() == pytest.approx(found.still.mean(), abs=1e-12)
    ratio = noise_factor(3) / 0.75
    assert more.still.variance() == pytest.approx([v * ratio for v in found.still.variance()])
    assert found.expected(None, 2).nothing.law.mean() == pytest.approx((0, 0), abs=1e-12)


def test_a_pilot_without_a_flip_gets_an_assumed_one() -> None:
    found = _pilot("borderline-refusal")
    assert (found.flips, found.moved, found.factor) == (0, None, pytest.approx(noise_factor(4)))
    moved = found.expected(0.5, 4).moved
    assert moved.mean() == pytest.approx((found.alike, 1.0))


def test_a_pilot_of_few_questions_is_none() -> None:
    study = Study(bundled.resolve("nq-400"))
    answers = arrays_of(study.protocol, study.dossiers())
    old, new = study.protocol.endpoints or ("", "")
    assert pilot.from_answers(answers.take(np.arange(1)), old, new) is None
    bare = _bare(answers)
    found = pilot.from_answers(bare, old, new)
    assert found is not None
    assert not found.semantic
    assert (found.still.exact == found.still.semantic).all()


def _bare(answers):
    return replace(answers, primary=None, labels={}, labelled={}, supplementary=())
