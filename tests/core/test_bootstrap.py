"""The exact bootstrap distribution, the locked stream, and the two held together."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core.estimators import bootstrap, stream
from tests.support.oracle import convolved


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=25))
def test_equals_a_convolution_of_fractions(values: list[int]) -> None:
    found = bootstrap.of_mean(np.array(values), 4)
    assert found is not None
    exact = convolved(values)
    for position, probability in enumerate(found.probability):
        assert float(exact.get(found.start + found.step * position, Fraction(0))) == pytest.approx(
            probability, abs=1e-12
        )
    for level in (Fraction(1, 20), Fraction(1, 40), Fraction(1, 2), Fraction(39, 40)):
        total, want = Fraction(0), None
        for value in sorted(exact):
            total += exact[value]
            if total >= level:
                want = value
                break
        assert want is not None
        margin = min(abs(total - level), abs(total - exact[want] - level))
        if margin > Fraction(1, 10**9):
            assert found.quantile(level) == Fraction(want, 4 * len(values))


@pytest.mark.parametrize("n", [3_000, 20_000, 200_000])
def test_the_fourier_way_equals_the_direct_one(n: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([-2, -1, 0, 4], n, p=[0.01, 0.04, 0.85, 0.1])
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    means, probability = found.points()
    assert float(probability @ means) == pytest.approx(values.mean() / 4, abs=1e-9)
    assert float(probability @ (means - values.mean() / 4) ** 2) == pytest.approx(values.var() / 16 / n, rel=1e-6)
    if n == 3_000:
        single = np.bincount(values + 2) / n
        direct = bootstrap._power(single, n)
        first = found.start + 2 * n
        held = direct[first : first + len(found.probability)]
        assert np.abs(np.cumsum(held) - np.cumsum(found.probability)[: len(held)]).max() < 1e-10


@pytest.mark.parametrize("share", [0.00001, 0.0005])
def test_rare_flips_keep_their_whole_distribution(share: float) -> None:
    n = 200_000
    values = np.zeros(n, np.int64)
    values[: int(n * share)] = 4
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    count = int(n * share)
    assert found.at_most(Fraction(0)) == pytest.approx((1 - count / n) ** n, abs=1e-9)
    assert found.quantile(Fraction(1, 2)) == Fraction(count, n)


def test_all_equal_values_give_that_value() -> None:
    found = bootstrap.of_mean(np.full(50, 3), 4)
    assert found is not None
    assert {found.quantile(level) for level in (0.025, 0.05, 0.5, 0.975)} == {Fraction(3, 4)}


def test_too_fine_a_lattice_is_left_to_draws() -> None:
    values = np.random.default_rng(1).integers(0, 10**9, 500)
    assert bootstrap.of_mean(values, 1) is None


@pytest.mark.parametrize("chunk", [1, 97, 4096, 1 << 20])
def test_the_stream_does_not_depend_on_the_chunk(chunk: int) -> None:
    rows = np.concatenate(list(stream.indexes(37, 60, "seed", chunk)))
    assert rows.shape == (60, 37)
    assert hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest() == (
        hashlib.sha256(np.concatenate(list(stream.indexes(37, 60, "seed"))).astype("<i8").tobytes()).hexdigest()
    )
    assert rows.min() >= 0
    assert rows.max() < 37


def test_the_stream_follows_its_definition() -> None:
    """Word for word from Philox and integers of unlimited size."""
    n, draws, seed = 7, 5, "by hand"
    text = json.dumps(
        {"stream": "sca-bootstrap/1", "N": n, "B": draws, "seed": seed}, sort_keys=True, separators=(",", ":")
    )
    key = hashlib.sha256(text.encode()).digest()
    bits = np.random.Philox(
        key=np.array([int.from_bytes(key[:8], "little"), int.from_bytes(key[8:16], "little")], np.uint64),
        counter=np.zeros(4, np.uint64),
    )
    want = [[int(bits.random_raw()) * n >> 64 for _ in range(n)] for _ in range(draws)]
    assert np.concatenate(list(stream.indexes(n, draws, seed))).tolist() == want


def test_published_digests(studies) -> None:  # type: ignore[no-untyped-def]
    """The sums of the 50,000 preregistered draws of the three studies, by digest."""
    want = {
        "nq-400": ("4e108f3ca4d2ce1b", "e1ffd22cc168786f"),
        "triviaqa-200": ("f1461cc329cc7ee8", "58e6b3bbee6b36c5"),
        "v4pro-100": ("5bf2179fbfa5e60f", "cc7e3bdd1b42950a"),
    }
    for study, digests in want.items():
        record = json.loads((studies / study / "results" / "results.json").read_text())["stream"]
        assert tuple(s["sha256"][:16] for s in record["statistics"]) == digests


@pytest.mark.parametrize("n", [50, 400, 25_000])
def test_draws_and_exact_distribution_agree_within_monte_carlo_error(n: int) -> None:
    rng = np.random.default_rng(9)
    values = rng.choice([-2, -1, 0, 2, 4], n, p=[0.02, 0.08, 0.7, 0.1, 0.1]).astype(np.int64)
    found = bootstrap.of_mean(values, 4)
    assert found is not None
    draws = 50_000 if n <= 400 else 4_000
    sums = stream.sums(values[:, None], np.arange(n), draws, "both")[:, 0]
    grid = found.start + found.step * np.arange(len(found.probability))
    exact = np.cumsum(found.probability)
    drawn = np.searchsorted(np.sort(sums), grid, side="right") / draws
    # Kolmogorov distance at a level that one run in a million exceeds
    assert np.abs(exact - drawn).max() < 2.7 / draws**0.5


def test_type_one_quantile_of_draws() -> None:
    values = np.arange(1, 50_001)
    assert [bootstrap.quantile(level, values) for level in (Fraction(1, 20), Fraction(1, 40), Fraction(39, 40))] == [
        2_500,
        1_250,
        48_750,
    ]
