"""The betting limits: against plain loops in decimals, exact miss rates by enumeration, their promises."""

from __future__ import annotations

import hashlib
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.estimators import betting, bootstrap

TAIL = Fraction(1, 20)
STEP = Fraction(1, betting.RESOLUTION)
TRANSITIVE = (Fraction(-1, 2), 1)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def refuted(values: list[Fraction], low: Fraction, high: Fraction, tail: Fraction, mean: Fraction) -> bool:
    """Whether betting against "at least `mean`" ever reaches 1 / tail; from the formulas, value by value."""
    with localcontext() as context:
        context.prec = 60
        constant = Decimal(round(2 * math.log(1 / tail) * 2**20)) / Decimal(2**20)
        m = decimal((mean - low) / (high - low))
        capital, total, squares, count = Decimal(1), Decimal(0), Decimal(0), 0
        for value in values:
            x = decimal((value - low) / (high - low))
            variance = (Decimal("0.25") + squares) / (count + 1)
            bet = min((constant / (len(values) * variance)).sqrt(), Decimal("0.75") / (1 - m))
            capital *= 1 - bet * (x - m)
            if capital >= decimal(1 / tail) * (1 + Decimal("1e-9")):
                return True
            total, count = total + x, count + 1
            squares += (x - (Decimal("0.5") + total) / (count + 1)) ** 2
        return False


samples = st.lists(st.integers(-2, 4), min_size=1, max_size=60)


@given(samples, st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 100)]), st.booleans())
def test_the_limit_is_the_first_step_that_plain_betting_refuses(
    values: list[int], tail: Fraction, transitive: bool
) -> None:
    low, high = map(Fraction, TRANSITIVE if transitive else (-1, 1))
    found = betting.upper(np.array(values, np.int64), 4, low, high, tail)
    exact = [Fraction(value, 4) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    assert mean <= found <= high
    assert found % STEP == 0
    if found > mean + STEP:  # else the mean of the sample itself is the limit
        assert found == high or refuted(exact, low, high, tail, found)
        assert not refuted(exact, low, high, tail, found - STEP)


@given(samples)
def test_lower_is_the_mirror_image_and_the_two_enclose_the_mean(values: list[int]) -> None:
    some = np.array(values, np.int64)
    low = betting.lower(some, 4, *TRANSITIVE, TAIL)
    assert low == -betting.upper(-some, 4, -1, Fraction(1, 2), TAIL)
    assert low <= Fraction(sum(values), 4 * len(values)) <= betting.upper(some, 4, *TRANSITIVE, TAIL)


@given(samples, st.integers(2, 9))
def test_the_denominator_does_not_matter(values: list[int], by: int) -> None:
    some = np.array(values, np.int64)
    assert betting.upper(some * by, 4 * by, -1, 1, TAIL) == betting.upper(some, 4, -1, 1, TAIL)
    assert betting.upper(some.astype(object) * 3**40, 4 * 3**40, -1, 1, TAIL) == betting.upper(some, 4, -1, 1, TAIL)


@given(samples)
def test_less_confidence_never_widens(values: list[int]) -> None:
    """Another level bets otherwise, so only far apart levels are ordered for certain."""
    some = np.array(values, np.int64)
    assert betting.upper(some, 4, -1, 1, Fraction(1, 2)) <= betting.upper(some, 4, -1, 1, Fraction(1, 10**6))


@pytest.mark.parametrize("chances", [(1, 18, 1), (0, 19, 1), (10, 0, 10), (0, 1, 19), (6, 8, 6), (0, 199, 1)])
@pytest.mark.parametrize("tail", [Fraction(1, 20), Fraction(1, 4)])
def test_the_exact_chance_of_a_miss_is_within_the_level(chances: tuple[int, int, int], tail: Fraction) -> None:
    """Every sequence of seven values with its exact probability: no simulation, no luck."""
    points, n = (-2, 0, 4), 7
    share = [Fraction(c, sum(chances)) for c in chances]
    truth = sum((p * Fraction(v, 4) for p, v in zip(share, points, strict=True)), Fraction(0))
    above = below = Fraction(0)
    for drawn in itertools.product(range(3), repeat=n):
        chance = math.prod(share[i] for i in drawn)
        if not chance:
            continue
        values = np.array([points[i] for i in drawn], np.int64)
        above += chance * (betting.upper(values, 4, *TRANSITIVE, tail) < truth)
        below += chance * (betting.lower(values, 4, *TRANSITIVE, tail) > truth)
    assert above <= tail
    assert below <= tail


def test_the_percentile_bootstrap_breaks_the_promise_that_betting_keeps() -> None:
    """One flip in two hundred, seven questions: the bootstrap's upper bound is 0 whenever none was drawn."""
    values = np.zeros(7, np.int64)
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    assert found.quantile(1 - TAIL) == 0
    assert Fraction(199, 200) ** 7 > TAIL
    assert betting.upper(values, 4, *TRANSITIVE, TAIL) > Fraction(1, 200)


def test_limits_known_in_full() -> None:
    """Digits that must not move with numpy, processor or platform."""
    some = np.array(([4, 0, -1, 0, 0, 2, 0, 0, 0, 0] * 40), np.int64)
    assert betting.upper(some, 4, -1, 1, TAIL) == Fraction(170707, betting.RESOLUTION)
    assert betting.lower(some, 4, -1, 1, TAIL) == Fraction(87682, betting.RESOLUTION)
    assert betting.upper(np.zeros(400, np.int64), 4, -1, 1, TAIL) == Fraction(10237, betting.RESOLUTION)


def test_a_million_questions_do_not_overflow() -> None:
    values = np.tile(np.array([-2, 0, 4, 4], np.int64), 250_000)
    assert Fraction(3, 8) < betting.upper(values, 4, -1, 1, TAIL) < Fraction(377, 1000)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=20, unique=True), st.text(max_size=3), st.randoms())
def test_the_order_is_that_of_the_ids_and_the_seed(ids: list[str], seed: str, draw) -> None:
    shuffled = draw.sample(ids, len(ids))
    first = [ids[i] for i in betting.order_of(ids, seed)]
    assert first == [shuffled[i] for i in betting.order_of(shuffled, seed)]
    digest = {
        q: hashlib.sha256(f"sca-betting/1\0{seed}\0{q}".encode("utf-8", "surrogatepass")).hexdigest() for q in ids
    }
    assert first == sorted(ids, key=digest.__getitem__)
