"""Permutation test, joint intervals, other bounds, parts, single questions: oracles, properties, published figures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap

from audit_core import bundled
from audit_core.estimators import bca, bootstrap, churn, influence, permutation, robustness, simultaneous, stream
from audit_core.estimators.groups import GROUPS, lacking
from audit_core.kernels.semantic import SemanticKernel
from audit_core.model import Estimate
from audit_core.results import arrays_of, compute, differences, estimate_all, newer
from audit_core.results import robustness as robust_estimates
from audit_core.study import Study
from tests.support import oracle, oracle_robustness
from tests.support.simulator import StudySimulator

TAIL = Fraction(1, 20)


def named(found: Sequence[Estimate]) -> dict[str, Estimate]:
    assert len({e.name for e in found}) == len(found)
    return {e.name: e for e in found}


@st.composite
def question(draw: st.DrawFn, low: int = 2, high: int = 3) -> tuple[list[list[int]], int]:
    """A symmetric 0/1 matrix that need not be transitive, and the number of old answers."""
    k, m = draw(st.integers(low, high)), draw(st.integers(low, high))
    agree = [[1] * (k + m) for _ in range(k + m)]
    for i, j in itertools.combinations(range(k + m), 2):
        agree[i][j] = agree[j][i] = draw(st.integers(0, 1))
    return agree, k


def arrays(questions: Sequence[tuple[list[list[int]], int]]) -> tuple[SemanticKernel, np.ndarray]:
    """Questions as a kernel of two states and their numbers of repeats."""
    r = max(max(k, len(agree) - k) for agree, k in questions)
    labels = np.full((len(questions), 2 * r, 2 * r), -1, np.int8)
    repeats = np.array([[k, len(agree) - k] for agree, k in questions], np.int32)
    for q, (agree, k) in enumerate(questions):
        place = [*range(k), *range(r, r + len(agree) - k)]
        labels[q][np.ix_(place, place)] = agree
    return SemanticKernel("semantic", labels, r), repeats


def p_of(questions: Sequence[tuple[list[list[int]], int]], seed: str = "s") -> permutation.Permutation:
    kernel, repeats = arrays(questions)
    keep = np.ones(len(questions), np.bool_)
    return permutation.permutation(kernel, repeats, keep, 0, 1, np.arange(len(questions)), seed)


def six(p: Fraction) -> Fraction:
    return permutation.rounded(float(p))


@settings(max_examples=120, deadline=None)
@given(st.lists(question(2, 2), min_size=1, max_size=5))
def test_permutation_with_two_repeats_is_the_share_of_all_joint_splits(questions: list) -> None:
    found = p_of(questions)
    assert found.p == six(oracle_robustness.permutation_p(questions))
    assert (found.engine, found.questions) == ("exact", len(questions))


@settings(max_examples=40, deadline=None)
@given(st.lists(question(2, 4), min_size=1, max_size=2))
def test_permutation_with_any_repeats_is_the_share_of_all_joint_splits(questions: list) -> None:
    assert p_of(questions).p == six(oracle_robustness.permutation_p(questions))


@settings(max_examples=25, deadline=None)
@given(st.lists(question(2, 3), min_size=1, max_size=12))
def test_draws_of_splits_agree_with_the_exact_p(questions: list) -> None:
    exact = p_of(questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "MOST_SPLITS", 1)
        drawn, again = p_of(questions), p_of(questions)
    assert drawn == again
    assert drawn.informative == exact.informative
    assert exact.p is not None
    assert drawn.p is not None
    error = (float(exact.p) * (1 - float(exact.p)) / permutation.DRAWS) ** 0.5
    assert abs(float(drawn.p - exact.p)) < 5 * error + 2 / permutation.DRAWS


@settings(max_examples=40, deadline=None)
@given(st.lists(question(2, 2), min_size=1, max_size=30), st.integers(0, 2**20))
def test_permutation_does_not_depend_on_order_or_direction(questions: list, number: int) -> None:
    found = p_of(questions)
    shuffled = [questions[i] for i in np.random.default_rng(number).permutation(len(questions))]
    assert p_of(shuffled).p == found.p
    turned = [([row[k:] + row[:k] for row in agree[k:] + agree[:k]], len(agree) - k) for agree, k in questions]
    assert p_of(turned).p == found.p


def test_permutation_where_nothing_can_change_and_where_everything_did() -> None:
    same = ([[1] * 4] * 4, 2)
    assert p_of([same] * 3) == permutation.Permutation(Fraction(1), 3, 0, "exact")
    flip = ([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], 2)
    assert p_of([flip] * 40).p == six(Fraction(1, 3**40))
    assert p_of([flip] * 2_000).p == permutation.rounded(0)  # 3 ** -2000 is below what a double holds


def test_too_many_answers_are_said_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "WORDS", 1)
    monkeypatch.setattr(permutation, "MOST_SPLITS", 1)
    flip = ([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], 2)
    assert p_of([flip]).p is None


def test_published_studies_have_the_known_p_values() -> None:
    known = {
        "nq-400": ("8.0e-16", "8.0e-12"), "triviaqa-200": ("1.8e-02", "2.7e-02"), "v4pro-100": ("9.4e-06", "7.6e-04"),
    }  # fmt: skip
    for name, expected in known.items():
        study = Study(bundled.resolve(name))
        answers = arrays_of(study.protocol, study.dossiers())
        found = named(robust_estimates(study.protocol, answers))
        values = [found[f"permutation_p[{kernel}]@n1-n7"].value for kernel in ("semantic", "exact")]
        assert tuple(f"{float(value):.1e}" for value in values) == expected  # type: ignore[arg-type]


numbers = st.lists(st.integers(-2, 4), min_size=2, max_size=14)


@settings(max_examples=150, deadline=None)
@given(numbers, st.sampled_from([Fraction(3, 100), Fraction(1, 4), Fraction(0)]))
def test_influence_and_drops_against_the_oracle(values: list[int], margin: Fraction) -> None:
    column, fractions = np.array(values, np.int64), [Fraction(v, 4) for v in values]
    found = influence.largest(column, 4, np.arange(len(values))[::-1])
    assert abs(Fraction(*found.change)) == oracle_robustness.largest_change(fractions)
    assert found.ties >= 1
    assert found.row in range(len(values))
    assert influence.until_below(column, 4, margin) == oracle_robustness.until_below(fractions, margin)
    dropped = influence.until_zero(column, 4, TAIL)
    bounds = oracle_robustness.bounds_as_largest_go(values, 4, TAIL)
    assert (dropped == 0) == (bounds[0] <= 0)
    if dropped is None:
        assert bounds[-1] > 0
    elif dropped:
        assert bounds[dropped] <= 0 < bounds[dropped - 1]


@given(st.integers(0, 40), st.integers(0, 50), st.integers(0, 40))
def test_a_crossing_is_found_from_anywhere(first: int, start: int, last: int) -> None:
    found = influence._crossing(lambda number: number >= first, start, last)
    assert found == (first if first <= last else None)


def test_bca_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    values = rng.choice([-2, -1, 0, 2, 4], p=[0.05, 0.05, 0.7, 0.1, 0.1], size=300)
    distribution = bootstrap.of_mean(values, 4)
    assert distribution is not None
    found = bca.quantiles(values, distribution, [TAIL / 2, 1 - TAIL / 2])
    assert found is not None
    other = scipy_bootstrap((values / 4,), np.mean, n_resamples=60_000, method="BCa", rng=4).confidence_interval
    assert [float(v) for v in found] == pytest.approx([other.low, other.high], abs=0.004)


def test_bca_is_undefined_where_nothing_varies() -> None:
    values = np.full(5, 2)
    distribution = bootstrap.of_mean(values, 4)
    assert distribution is not None
    assert bca.quantiles(values, distribution, [TAIL]) is None


def test_max_t_against_plain_loops() -> None:
    rng = np.random.default_rng(5)
    columns = rng.choice([-2, -1, 0, 4], p=[0.1, 0.1, 0.6, 0.2], size=(40, 3))
    columns[:, 2] = 4
    order = rng.permutation(40)
    (found,) = simultaneous.max_t([(columns, [4, 4, 4])], order, TAIL, "seed", 500)
    rows, largest = columns[order][:, :2] / 4, []
    error = columns[:, :2].std(0) / 4 / 40**0.5
    for index in np.concatenate(list(stream.indexes(40, 500, "seed/steps"))):
        sample = rows[index]
        largest.append((abs(sample.mean(0) - rows.mean(0)) / (sample.std(0) / 40**0.5)).max())
    critical = sorted(largest)[475 - 1]
    assert found.critical == pytest.approx(critical, rel=1e-9)
    assert found.intervals[2] is None
    for interval, middle, se in zip(found.intervals[:2], rows.mean(0), error, strict=True):
        assert interval is not None
        assert [float(end) for end in interval] == pytest.approx([middle - critical * se, middle + critical * se])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_joint_intervals_hold_the_estimate_and_are_wider_for_more_steps(number: int, steps: int) -> None:
    columns = np.random.default_rng(number).choice([-1, 0, 0, 4], size=(50, steps))
    order = np.arange(50)
    every, one = simultaneous.max_t([(columns, [4] * steps), (columns[:, :1], [4])], order, TAIL, "s", 400)
    assert every.critical is not None
    assert one.critical is not None
    assert every.critical >= one.critical
    for interval, column in zip(every.intervals, columns.T, strict=True):
        assert interval is not None
        assert interval[0] < Fraction(int(column.sum()), 200) < interval[1]
    assert simultaneous.max_t([(columns, [4] * steps)], order, TAIL, "s", 400)[0] == every


def test_a_step_without_variation_takes_no_part() -> None:
    columns = np.zeros((10, 2), np.int64)
    assert simultaneous.max_t([(columns, [4, 4])], np.arange(10), TAIL, "s", 50)[0] == (
        simultaneous.Simultaneous(None, (None, None))
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from([2, 3]))
def test_estimates_of_a_study_against_the_oracle(seed: int, repeats: int) -> None:
    simulator = StudySimulator(questions=7, repeats=repeats, seed=seed, tags=("a", "b", "only"), flips=0.4)
    protocol, dossiers = simulator.protocol(), simulator.dossiers()
    answers = arrays_of(protocol, dossiers)
    found = named(robust_estimates(protocol, answers))
    for kernel in ("exact", "semantic"):
        values = {
            d.question.question_id: oracle.contrast(d, kernel, protocol.normalization, "n1", "n7") for d in dossiers
        }
        assert all(value is not None for value in values.values())
        mean = sum(values.values()) / 7  # type: ignore[arg-type]
        bounds = found[f"bca_excess_churn[{kernel}]@n1-n7"]
        assert bounds.value == mean
        for tag in ("a", "b", "only"):
            rest = [values[d.question.question_id] for d in dossiers if tag not in d.question.tags]
            assert found[f"excess_churn[{kernel}, without tag {tag}]@n1-n7"].value == sum(rest) / len(rest)  # type: ignore[arg-type]
        most = found[f"largest_influence[{kernel}]@n1-n7"]
        assert abs(most.value) == oracle_robustness.largest_change(list(values.values()))  # type: ignore[arg-type]
        if repeats == 2:
            matrices = [
                oracle_robustness.agreement(d, kernel, protocol.normalization, "n1", "n7") for d in dossiers[:7]
            ]
            assert found[f"permutation_p[{kernel}]@n1-n7"].value == six(oracle_robustness.permutation_p(matrices))
    other = replace(protocol, normalization="triviaqa/1")
    values = {d.question.question_id: oracle.contrast(d, "exact", other.normalization, "n1", "n7") for d in dossiers}
    assert found["excess_churn[exact:triviaqa/1]@n1-n7"].value == sum(values.values()) / 7  # type: ignore[arg-type]


def of(study: StudySimulator) -> dict[str, Estimate]:
    protocol = study.protocol()
    return named(robust_estimates(protocol, arrays_of(protocol, study.dossiers())))


def test_names_statuses_and_the_group() -> None:
    simulator = StudySimulator(questions=40, states=("n0", "n1", "n3", "n7"))
    protocol = simulator.protocol()
    answers = arrays_of(protocol, simulator.dossiers())
    made = estimate_all(protocol, answers)
    group = [e for e in made if e.measure in robustness.MEASURES]
    assert made[-len(group) :] == group == robust_estimates(protocol, answers)
    assert {e.measure for e in group} == robustness.MEASURES
    chosen = {"excess_churn_without_tag", "largest_influence", "dropped_to_margin", "dropped_to_zero"}
    assert all(e.status == ("exploratory" if e.measure in chosen else "supportive") for e in group)
    assert {e.status for e in robust_estimates(replace(protocol, origin="imported"), answers)} == {"exploratory"}
    steps = [e.name for e in group if e.measure == "simultaneous_excess_churn"]
    assert steps == [f"simultaneous_excess_churn[{k}]@{s}" for k in ("exact", "semantic")
                     for s in ("n0-n1", "n1-n3", "n3-n7")]  # fmt: skip
    assert [e.name for e in made if e.measure == "dropped_to_margin"] == ["dropped_to_margin[exact]@n1-n7"]


def test_without_a_noise_floor_everything_is_undefined_and_says_why() -> None:
    found = of(StudySimulator(questions=5, repeats=1, states=("n1", "n3", "n7")))
    assert {e.value for e in found.values()} == {None}
    assert all(e.reason and e.population == 0 and e.excluded == 5 for e in found.values())
    assert not any(e.measure == "excess_churn_without_tag" for e in found.values())


def test_a_single_question_has_no_influence_and_a_study_of_one_answer_has_no_spread() -> None:
    single = of(StudySimulator(questions=1))
    assert single["largest_influence[exact]@n1-n7"].value is None
    assert single["dropped_to_zero[exact]@n1-n7"].reason == "There is a single question."
    still = of(StudySimulator(questions=6, flips=0, noise=0, states=("n1", "n3", "n7")))
    assert still["permutation_p[semantic]@n1-n7"].value == 1
    assert "nothing to test" in still["permutation_p[semantic]@n1-n7"].reason
    assert "degenerate" in still["simultaneous_excess_churn[semantic]@n1-n3"].detail
    assert still["bca_excess_churn[semantic]@n1-n7"].interval is None
    assert still["dropped_to_zero[semantic]@n1-n7"].value == 0


def test_groups_are_lacking_one_by_one_and_differences_want_all_or_none() -> None:
    simulator = StudySimulator(questions=8, states=("n1", "n3", "n7"))
    protocol = simulator.protocol()
    answers = arrays_of(protocol, simulator.dossiers())
    made = compute(protocol, answers)
    assert lacking(e["measure"] for e in made["estimates"]) == ()
    for group in GROUPS:
        older = {**made, "estimates": [e for e in made["estimates"] if e["measure"] not in group.measures]}
        assert lacking(e["measure"] for e in older["estimates"]) == (group,)
        faults, absent = differences(older, made)
        assert faults == []
        assert absent == {e["name"] for e in made["estimates"] if e["measure"] in group.measures}
        assert [e.name for e in newer(protocol, answers, (group,))] == [
            e["name"] for e in made["estimates"] if e["name"] in absent
        ]
        assert compute(protocol, answers, without=(group,))["estimates"] == older["estimates"]
        partly = {**made, "estimates": [*older["estimates"], next(
            e for e in made["estimates"] if e["measure"] in group.measures)]}  # fmt: skip
        faults, absent = differences(partly, made)
        assert len(faults) == len(made["estimates"]) - len(partly["estimates"])
        assert absent == set()


def test_contrasts_of_the_test_are_those_of_the_estimate() -> None:
    simulator = StudySimulator(questions=20, repeats=3, noise=0.3)
    answers = arrays_of(simulator.protocol(), simulator.dossiers())
    kernel = answers.kernel("semantic")
    found = churn.contrast(kernel, answers.repeats, 0, 1)
    (group,) = permutation._groups(kernel, answers.repeats, found.eligible, 0, 1)
    happened = np.zeros((1, 6))
    happened[:, :3] = 1
    values = group.contrasts(group.agree, happened, found.denominator)[:, 0]
    assert values.tolist() == found.values[group.rows].tolist()
