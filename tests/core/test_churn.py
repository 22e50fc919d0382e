"""Agreement, contrasts and flips: handed values, an independent oracle, properties, and wrong variants."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core.estimators import churn
from audit_core.kernels.exact import ExactKernel
from audit_core.model import Cell, Dossier, Gold, Judgment, Question
from audit_core.results import arrays_of
from audit_core.study import Study
from audit_core.tensors import Builder, build
from tests.support import oracle
from tests.support.shared import shared
from tests.support.simulator import StudySimulator


def mini() -> tuple[list[Dossier], dict]:
    folder = shared("oracle")
    dossiers = []
    for line in (folder / "mini.jsonl").read_text().splitlines():
        row = json.loads(line)
        slots = tuple((a["state"], a["repeat"]) for a in row["answers"])
        dossiers.append(
            Dossier(
                Question(row["qid"]),
                tuple(Cell(row["qid"], a["state"], a["repeat"], "ok", a["text"]) for a in row["answers"]),
                {"primary": Judgment(row["qid"], slots, tuple(map(tuple, row["sem_pairs"])))},
                (),
                Gold(row["qid"], tuple(row["gold_aliases"])),
            )
        )
    return dossiers, json.loads((folder / "mini_expected.json").read_text())


@pytest.mark.parametrize(("kernel", "key"), [("exact", "exact"), ("semantic", "sem")])
def test_mini_set(kernel: str, key: str) -> None:
    dossiers, expected = mini()
    answers = build(
        dossiers,
        Builder(
            states=("L", "H"),
            closed_book=(False, False),
            rule="nq_open/1",
            unknown_texts=("UNKNOWN",),
            primary="primary",
        ),
    )
    found = churn.contrast(answers.kernel(kernel), answers.repeats, 0, 1)
    seen = 0
    for i, question in enumerate(answers.question_ids):
        if question not in expected[key]:
            assert not found.eligible[i], f"{question} has a single answer and must stay outside"
            continue
        want = expected[key][question]
        assert Fraction(int(found.old.agree[i]), int(found.old.pairs[i])) == Fraction(want["wL"])
        assert Fraction(int(found.new.agree[i]), int(found.new.pairs[i])) == Fraction(want["wH"])
        assert Fraction(int(found.crossing.agree[i]), int(found.crossing.pairs[i])) == Fraction(want["c"])
        assert Fraction(int(found.values[i]), found.denominator) == Fraction(want["D"])
        assert bool(found.flips[i]) is want["flip"]
        seen += 1
    assert seen >= 11
    total, denominator = found.total
    assert Fraction(total, denominator * seen) == Fraction(expected[key]["_mean"]["D"])


repeats = st.integers(0, 4)
classes = st.lists(
    st.tuples(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4)), min_size=1, max_size=12
)


def arrays(rows: list[tuple[list[int], list[int]]]) -> tuple[ExactKernel, np.ndarray]:
    table = np.full((len(rows), 2, 4), -1, np.int32)
    for i, row in enumerate(rows):
        for s, values in enumerate(row):
            table[i, s, : len(values)] = values
    return ExactKernel("exact", table), (table >= 0).sum(2).astype(np.int32)


def by_hand(old: list[int], new: list[int]) -> Fraction:
    def within(values: list[int]) -> Fraction:
        pairs = list(itertools.combinations(values, 2))
        return Fraction(sum(a == b for a, b in pairs), len(pairs))

    crossing = Fraction(sum(a == b for a in old for b in new), len(old) * len(new))
    return (within(old) + within(new)) / 2 - crossing


@given(classes)
def test_any_ragged_repeats_equal_the_definition(rows: list[tuple[list[int], list[int]]]) -> None:
    found = churn.contrast(*arrays(rows), 0, 1)
    for i, (old, new) in enumerate(rows):
        assert found.eligible[i] == (len(old) >= 2 and len(new) >= 2)
        if found.eligible[i]:
            assert Fraction(int(found.values[i]), found.denominator) == by_hand(old, new)
            assert -1 <= by_hand(old, new) <= 1


@given(classes)
def test_swapping_states_changes_nothing_and_flips_are_the_value_one(rows: list[tuple[list[int], list[int]]]) -> None:
    kernel, counts = arrays(rows)
    one, other = churn.contrast(kernel, counts, 0, 1), churn.contrast(kernel, counts, 1, 0)
    assert (one.values == other.values).all()
    assert (one.flips == other.flips).all()
    assert (one.flips == (one.eligible & (one.values == one.denominator))).all()


@given(classes, st.randoms())
def test_order_of_repeats_and_questions_does_not_matter(
    rows: list[tuple[list[int], list[int]]], random: object
) -> None:
    shuffled = [(random.sample(a, len(a)), random.sample(b, len(b))) for a, b in rows]  # type: ignore[attr-defined]
    one, other = churn.contrast(*arrays(rows), 0, 1), churn.contrast(*arrays(shuffled), 0, 1)
    assert (one.values == other.values).all()
    assert churn.contrast(*arrays(rows[::-1]), 0, 1).total == one.total


def test_many_different_numbers_of_repeats_stay_exact() -> None:
    rng = np.random.default_rng(3)
    table = np.full((40, 2, 40), -1, np.int32)
    for i in range(40):
        for s in range(2):
            k = int(rng.integers(2, 41))
            table[i, s, :k] = rng.integers(0, 4, k)
    found = churn.contrast(ExactKernel("exact", table), (table >= 0).sum(2).astype(np.int32), 0, 1)
    for i in range(40):
        rows = [table[i, s][table[i, s] >= 0].tolist() for s in range(2)]
        assert Fraction(int(found.values[i]), found.denominator) == by_hand(*rows)


@pytest.mark.parametrize("kernel", ["exact", "semantic"])
@pytest.mark.parametrize("repeats", [2, {"n0": 2, "n1": 3, "n7": 4}])
@pytest.mark.parametrize("pair", [("n0", "n1"), ("n1", "n7"), ("n0", "n7")])
def test_simulated_studies_equal_the_oracle(kernel: str, repeats: object, pair: tuple[str, str]) -> None:
    simulator = StudySimulator(
        states=("n0", "n1", "n7"),
        repeats=repeats,
        noise=0.3,  # type: ignore[arg-type]
        answers={("q00001", "n1", 1): None},
    )
    dossiers = simulator.dossiers()
    answers = arrays_of(simulator.protocol(), dossiers)
    found = churn.contrast(answers.kernel(kernel), answers.repeats, *(answers.index(s) for s in pair))
    for i, dossier in enumerate(dossiers):
        want = oracle.contrast(dossier, kernel, "nq_open/1", *pair)
        assert bool(found.eligible[i]) is (want is not None)
        if want is not None:
            assert Fraction(int(found.values[i]), found.denominator) == want


def test_known_churn_is_recovered_and_noise_alone_is_not() -> None:
    """Over many questions the mean comes close to the share of flips, and to nothing without them."""
    for flips, low, high in ((0.0, -0.02, 0.02), (0.3, 0.2, 0.3)):
        simulator = StudySimulator(questions=3_000, flips=flips, noise=0.15, seed=5)
        answers = arrays_of(simulator.protocol(), simulator.dossiers())
        found = churn.contrast(answers.kernel("semantic"), answers.repeats, 0, 1)
        total, denominator = found.total
        assert low <= total / denominator / 3_000 <= high


def test_an_unlabelled_pair_takes_the_question_out_not_the_study() -> None:
    simulator = StudySimulator(questions=5)
    answers = arrays_of(simulator.protocol(), simulator.dossiers())
    answers.labels["primary"][2, 0, 1] = answers.labels["primary"][2, 1, 0] = -1
    found = churn.contrast(answers.kernel("semantic"), answers.repeats, 0, 1)
    assert found.eligible.tolist() == [True, True, False, True, True]


class TestWrongVariants:
    """Numbers that tempting but wrong formulas give on the Natural Questions reconstruction; none may come out."""

    @pytest.fixture(scope="class")
    def answers(self, studies):  # type: ignore[no-untyped-def]
        study = Study(studies / "nq-400")
        return arrays_of(study.protocol, study.dossiers())

    def test_values(self, answers) -> None:  # type: ignore[no-untyped-def]
        o, n = answers.index("n1"), answers.index("n7")
        kernel = answers.kernel("semantic")
        found = churn.contrast(kernel, answers.repeats, o, n)
        d = Fraction(found.total[0], found.total[1] * 400)
        block = kernel.block(o, n)
        within = [Fraction(int(p.agree.sum()), 400) for p in (found.old, found.new)]
        cross = Fraction(int(found.crossing.agree.sum()), 1600)
        with_self = sum((1 + w) / 2 for w in within) / 2 - cross
        clipped = Fraction(int(np.clip(found.values, 0, None).sum()), 1600)
        matched = sum(within) / 2 - Fraction(int(block[:, [0, 1], [0, 1]].sum()), 800)
        assert d == Fraction(41, 400)
        assert with_self == Fraction("0.156875")
        assert 1 - cross == Fraction("0.21125")
        assert clipped == Fraction("0.115")
        assert within[0] - cross == Fraction("0.09625")
        assert (matched, d) != (d, matched)
        per_question = block[:, [0, 1], [0, 1]].sum(1) * 2 != found.crossing.agree
        assert per_question.any(), "matched repeats and all pairs differ question by question"
        assert d not in (with_self, 1 - cross, clipped, within[0] - cross)

    def test_flips_need_both_states_stable_and_the_judges_pairs(self, answers) -> None:  # type: ignore[no-untyped-def]
        o, n = answers.index("n1"), answers.index("n7")
        found = churn.contrast(answers.kernel("semantic"), answers.repeats, o, n)
        assert int(found.flips.sum()) == 40
        assert int((found.crossing.agree == 0).sum()) == 52
        first = answers.kernel("semantic").block(o, n)[:, 0, 0] == 0
        assert int(first.sum()) == 84


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30
    )
)
def test_expected_noise_flips_count_the_crossed_arrangement(rows: list[tuple[int, int, int, int]]) -> None:
    table = [([a, b], [c, d]) for a, b, c, d in rows]
    kernel, counts = arrays(table)
    found = churn.contrast(kernel, counts, 0, 1)
    want = sum(a != b and c != d and {a, b} == {c, d} for (a, b), (c, d) in table)
    assert churn.noise_arrangements(kernel, counts, found, 0, 1) == want
