"""Utility, transitions, overlap, trajectories, judges and the decision, each against an independent computation."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from audit_core.estimators import judges, overlap, trajectories, utility
from audit_core.estimators.gate import decide, points
from audit_core.estimators.transitions import partners, transitions
from audit_core.kernels.exact import ExactKernel
from audit_core.kernels.semantic import SemanticKernel
from audit_core.results import arrays_of
from tests.support.simulator import StudySimulator


def em_table(rows: list[list[list[int]]]) -> np.ndarray:
    width = max((len(cell) for row in rows for cell in row), default=1) or 1
    table = np.full((len(rows), 2, width), -1, np.int8)
    for i, row in enumerate(rows):
        for s, cell in enumerate(row):
            table[i, s, : len(cell)] = cell
    return table


cells = st.lists(st.integers(0, 1), max_size=4)
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=10)


@given(tables)
def test_rates_are_means_of_means(rows: list[tuple[list[int], list[int]]]) -> None:
    flags = em_table([list(row) for row in rows])
    for state in (0, 1):
        known = [row[state] for row in rows if row[state]]
        found = utility.rate(flags, state)
        if not known:
            assert found is None
            continue
        want = sum((Fraction(sum(cell), len(cell)) for cell in known), Fraction(0)) / len(known)
        assert found is not None
        assert Fraction(found[0], found[1]) == want
        assert int(found[2].sum()) == len(known)


@given(tables)
def test_difference_is_the_mean_of_paired_differences(rows: list[tuple[list[int], list[int]]]) -> None:
    values, denominator, keep = utility.difference(em_table([list(row) for row in rows]), 0, 1)
    both = [(a, b) for a, b in rows if a and b]
    assert int(keep.sum()) == len(both)
    want = sum((Fraction(sum(b), len(b)) - Fraction(sum(a), len(a)) for a, b in both), Fraction(0))
    assert Fraction(int(values.sum()), denominator) == want


def test_f1_mean_is_exact() -> None:
    f1 = np.array([[[[1, 2], [2, 3]]], [[[4, 7], [0, 0]]], [[[0, 0], [0, 0]]]], np.int32)
    found = utility.mean_f1(f1, 0)
    assert found is not None
    assert Fraction(found[0], found[1]) == (Fraction(7, 12) + Fraction(4, 7)) / 2


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=3),
            st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=3),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_transitions_partition_the_matched_repeats(rows: list) -> None:
    width = 3
    em, kinds = np.full((len(rows), 2, width), -1, np.int8), np.full((len(rows), 2, width), -1, np.int32)
    for i, row in enumerate(rows):
        for s, cell in enumerate(row):
            for r, (match, kind) in enumerate(cell):
                em[i, s, r], kinds[i, s, r] = match, kind
    unknown = np.where(kinds < 0, -1, kinds == 2).astype(np.int8)
    slots = np.where(kinds >= 0, np.arange(width), -1).astype(np.int32)
    matched_slots = partners(slots, (kinds >= 0).sum(2).astype(np.int32), 0, 1)
    total = transitions(em, unknown, ExactKernel("exact", kinds), 0, 1, matched_slots).totals()
    want = dict.fromkeys(("lost", "gained", "both_match", "different_nonmatch", "same_nonmatch"), 0)
    matched = moved_in = moved_out = 0
    for old, new in rows:
        for (a, x), (b, y) in zip(old, new, strict=False):
            matched += 1
            name = {(1, 0): "lost", (0, 1): "gained", (1, 1): "both_match"}.get((a, b)) or (
                "same_nonmatch" if x == y else "different_nonmatch"
            )
            want[name] += 1
            moved_in += x != 2 and y == 2
            moved_out += x == 2 and y != 2
    assert {name: total[name] for name in want} == want
    assert total["matched"] == matched == sum(want.values())
    assert (total["unknown_in"], total["unknown_out"]) == (moved_in, moved_out)


def test_all_pairs_are_not_transitions(studies) -> None:  # type: ignore[no-untyped-def]
    from audit_core.study import Study

    study = Study(studies / "nq-400")
    answers = arrays_of(study.protocol, study.dossiers())
    o, n = answers.index("n1"), answers.index("n7")
    every = ((answers.em[:, o, :, None] == 1) & (answers.em[:, n, None, :] == 0)).sum()
    assert int(every) == 99
    assert (
        transitions(
            answers.em,
            answers.unknown,
            answers.kernel("semantic"),
            o,
            n,
            partners(answers.numbers, answers.repeats, o, n),
        ).totals()["lost"]
        == 46
    )


numbered = st.lists(st.integers(0, 6), max_size=5, unique=True)


@given(st.lists(st.tuples(numbered, numbered), min_size=1, max_size=8))
def test_repeat_r_is_matched_with_repeat_r_and_the_rest_in_order(rows: list[tuple[list[int], list[int]]]) -> None:
    numbers = np.full((len(rows), 2, 5), -1, np.int32)
    for i, row in enumerate(rows):
        for s, held in enumerate(row):
            numbers[i, s, : len(held)] = sorted(held)
    found = partners(numbers, (numbers >= 0).sum(2).astype(np.int32), 0, 1)
    for i, row in enumerate(rows):
        old, new = sorted(row[0]), sorted(row[1])
        pairs = [(old[slot], new[found[i, slot]]) for slot in range(len(old)) if found[i, slot] >= 0]
        assert len(pairs) == min(len(old), len(new))
        assert len({b for _, b in pairs}) == len(pairs)
        common = set(old) & set(new)
        assert {(r, r) for r in common} <= set(pairs)
        rest = [(a, b) for a, b in pairs if a not in common]
        assert [b for _, b in rest] == [b for b in new if b not in common][: len(rest)]


def test_a_failed_cell_does_not_shift_the_match() -> None:
    """Repeat 2 at the old state is matched with repeat 2 at the new one, although repeat 1 failed."""
    simulator = StudySimulator(
        questions=1, flips=0, noise=0,
        answers={("q00000", "n1", 1): None, ("q00000", "n7", 1): "something else"},
    )  # fmt: skip
    answers = arrays_of(simulator.protocol(), simulator.dossiers())
    found = transitions(
        answers.em, answers.unknown, answers.kernel("semantic"), 0, 1, partners(answers.numbers, answers.repeats, 0, 1)
    )
    assert (found.totals()["both_match"], found.totals()["lost"], found.totals()["matched"]) == (1, 0, 1)


ranked = st.lists(st.integers(0, 6), max_size=6, unique=True)


def rank_biased(a: list[int], b: list[int], p: float = 0.9) -> float:
    """Extrapolated rank-biased overlap, from Eq. 32 with sets."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    if s == 0:
        return 0.0

    def x(d: int) -> int:
        return len(set(short[:d]) & set(long[:d]))

    total = sum(x(d) / d * p**d for d in range(1, n + 1))
    total += sum(x(s) * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((x(n) - x(s)) / n + x(s) / s) * p**n


@given(st.lists(st.tuples(ranked, ranked), min_size=1, max_size=8))
def test_overlap_equals_sets(rows: list[tuple[list[int], list[int]]]) -> None:
    table = np.full((len(rows), 2, 6), -1, np.int32)
    for i, row in enumerate(rows):
        for s, documents in enumerate(row):
            table[i, s, : len(documents)] = documents
    found = overlap.overlap(table, 0, 1)
    for i, (a, b) in enumerate(rows):
        assert bool(found.present[i]) is bool(a and b)
        assert found.shared[i] == len(set(a) & set(b))
        assert found.union[i] == len(set(a) | set(b))
        assert bool(found.same_set[i]) is bool(a and set(a) == set(b))
        assert bool(found.same_order[i]) is bool(a and a == b)
        assert found.rank_biased[i] == pytest.approx(rank_biased(a, b), abs=1e-12)


def test_rank_biased_overlap_of_equal_lists_is_one() -> None:
    table = np.array([[[3, 1, 2, -1], [3, 1, 2, -1]]], np.int32)
    assert overlap.overlap(table, 0, 1).rank_biased[0] == pytest.approx(1.0, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_fisher_equals_scipy(a: int, b: int, c: int, d: int) -> None:
    n = a + b + c + d
    if n == 0:
        return
    want = fisher_exact([[a, b], [c, d]]).pvalue
    assert overlap.fisher_two_sided(a, a + b, a + c, n) == pytest.approx(want, rel=1e-6)


labels = st.integers(0, 1)


def matrix(bits: list[int], size: int) -> np.ndarray:
    out = np.full((1, size, size), -1, np.int8)
    for bit, (i, j) in zip(bits, itertools.combinations(range(size), 2), strict=True):
        out[0, i, j] = out[0, j, i] = bit
    return out


@given(st.lists(labels, min_size=10, max_size=10))
def test_open_triangles_and_positive_semidefinite_are_one_question(bits: list[int]) -> None:
    table = matrix(bits, 5)
    found = int(judges.open_triangles(table)[0])
    want = sum(
        int(table[0, i, j]) + int(table[0, j, k]) + int(table[0, i, k]) == 2
        for i, j, k in itertools.combinations(range(5), 3)
    )
    assert found == want
    full = np.where(table[0] < 0, 1, table[0]).astype(float)
    assert (np.linalg.eigvalsh(full).min() < -1e-9) is np.True_ or found == 0 or np.linalg.eigvalsh(full).min() < 0
    assert bool(np.linalg.eigvalsh(full).min() < -1e-9) is (found > 0)


def test_kappa_against_hand_computation_and_its_undefined_case() -> None:
    assert judges.kappa(1400, 1340, 1180, 1172) == (
        (Fraction(1340, 1400) - (Fraction(1180 * 1172, 1400**2) + Fraction(220 * 228, 1400**2)))
        / (1 - (Fraction(1180 * 1172, 1400**2) + Fraction(220 * 228, 1400**2)))
    )
    assert judges.kappa(10, 10, 10, 10) is None
    assert judges.kappa(0, 0, 0, 0) is None
    assert judges.kappa(4, 0, 2, 2) == -1


def test_two_judges_with_one_label_in_use_have_no_kappa_and_no_nan() -> None:
    rows = np.array([[6, 6, 6, 6]] * 25)
    found = judges.agreement(rows, draws=200, seed="s", tail=Fraction(1, 20))
    assert found.kappa is None
    assert found.kappa_interval is None
    assert found.undefined_draws == 200
    assert found.agreement_interval == (1, 1)


def test_middle_states_are_told_apart_and_instability_comes_first() -> None:
    old, new, third = 0, 1, 2
    kinds = {
        "old": [[old, old], [old, old], [new, new]],
        "new": [[old, old], [new, new], [new, new]],
        "third": [[old, old], [third, third], [new, new]],
        "unstable": [[old, old], [old, new], [new, new]],
    }
    table = np.array(list(kinds.values()), np.int32)
    counts = np.full((4, 3), 2, np.int32)
    found = trajectories.sides(ExactKernel("exact", table), counts, 1, 0, 2)
    for row, kind in enumerate(kinds):
        assert [name for name, mask in found.items() if mask[row]] == [kind]


def test_mixed_needs_labels_that_are_not_transitive() -> None:
    table = np.full((1, 6, 6), 0, np.int8)
    for a, b in ((0, 1), (2, 3), (4, 5), (0, 2)):  # old stable, middle stable, new stable, one old-middle pair agrees
        table[0, a, b] = table[0, b, a] = 1
    found = trajectories.sides(SemanticKernel("semantic", table, 2), np.full((1, 3), 2, np.int32), 1, 0, 2)
    assert found["mixed"][0]


def test_returning_needs_all_pairs_of_the_outer_states_to_agree() -> None:
    table = np.array([[[0, 0], [1, 1], [0, 0]], [[0, 0], [1, 1], [2, 2]]], np.int32)
    both = np.array([True, True])
    kernel, counts = ExactKernel("exact", table), np.full((2, 3), 2, np.int32)
    assert trajectories.returning(kernel, counts, both, both, 0, 2).tolist() == [True, False]


MARGIN = Fraction(3, 100)


@pytest.mark.parametrize(
    ("exact", "bounds", "excluded", "outcome"),
    [
        (Fraction(6, 200), [Fraction(1, 200), Fraction(3, 800)], 0, "churn confirmed"),
        (Fraction(6, 200) - Fraction(1, 800), [Fraction(1, 200), Fraction(3, 800)], 0, "not confirmed"),
        (Fraction(1, 10), [Fraction(0), Fraction(1, 100)], 0, "not confirmed"),
        (Fraction(1, 10), [Fraction(1, 100), Fraction(-1, 100)], 0, "not confirmed"),
        (None, [None, None], 0, "cannot be decided"),
        (Fraction(1, 10), [Fraction(1, 100), Fraction(1, 100)], 1, "cannot be decided"),
        (Fraction(0), [Fraction(0), Fraction(0)], 0, "not confirmed"),
    ],
)
def test_decision(exact: Fraction | None, bounds: list, excluded: int, outcome: str) -> None:
    lower = [("exact", bounds[0], False), ("semantic", bounds[1], False)]
    assert decide(MARGIN, exact, lower, excluded)[0] == outcome


def test_the_threshold_is_compared_on_exact_values() -> None:
    """24 contrasts of 1/4 over 200 questions are exactly 3 pp, although their float sum falls below."""
    values = [Fraction(1, 4)] * 24
    assert sum(float(v) / 200 for v in values) < 0.03 or sum(values) / 200 == MARGIN
    assert (
        decide(MARGIN, sum(values, Fraction(0)) / 200, [("exact", Fraction(1, 200), False)], 0)[0] == "churn confirmed"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.89125", "89.13"),
        ("0.94625", "94.63"),
        ("-0.015", "−1.50"),
        ("0", "0.00"),
        ("-0.00001", "0.00"),
        ("1", "100.00"),
        ("-0.89125", "−89.13"),
    ],
)
def test_percentages_round_half_up(value: str, text: str) -> None:
    assert points(Fraction(value)) == text
