"""Two studies on the same questions: against the oracle, swapped, with nothing in common, with other packets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core import explore
from audit_core.estimators import paired
from audit_core.model import Dossier, Estimate
from audit_core.normalize import RULES, exact_match
from audit_core.results import arrays_of
from audit_core.tensors import Answers
from tests.support import oracle
from tests.support.simulator import StudySimulator

NAMES = [f"q{i}" for i in range(12)]


def study(seed: int, ids: list[str], **values: object) -> tuple[Answers, list[Dossier]]:
    given_values = {"questions": len(ids), "ids": ids, "seed": seed, "flips": 0.4, "noise": 0.2, **values}
    simulator = StudySimulator(**given_values)  # type: ignore[arg-type]
    dossiers = simulator.dossiers()
    return arrays_of(simulator.protocol(), dossiers), dossiers


def named(first: Answers, second: Answers) -> dict[str, Estimate]:
    found = explore.paired_estimates(first, second, "n1", "n7")
    assert len({e.name for e in found}) == len(found)
    assert {e.status for e in found} == {"exploratory"}
    return {e.name: e for e in found}


def accuracy(dossier: Dossier) -> Fraction:
    assert dossier.gold is not None
    means = []
    for state in ("n1", "n7"):
        said = [c.answer for c in dossier.cells if c.state == state and c.answer is not None]
        matches = [exact_match(RULES["nq_open/1"], text, dossier.gold.aliases) for text in said]
        means.append(Fraction(sum(matches), len(matches)))
    return means[1] - means[0]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 500), st.integers(501, 1_000), st.sampled_from([2, 3]),
    st.sets(st.sampled_from(NAMES), min_size=2), st.sets(st.sampled_from(NAMES), min_size=2),
)  # fmt: skip
def test_paired_estimates_against_the_oracle(one: int, two: int, repeats: int, ids: set[str], others: set[str]) -> None:
    a, first = study(one, sorted(ids))
    b, second = study(two, sorted(others, reverse=True), repeats=repeats)
    found, both = named(a, b), sorted(ids & others)
    x, y = ({d.question.question_id: d for d in dossiers} for dossiers in (first, second))
    for kernel in ("exact", "semantic"):
        pairs = [[oracle.contrast(s[q], kernel, "nq_open/1", "n1", "n7") for s in (x, y)] for q in both]
        differences = [p - q for p, q in pairs]  # type: ignore[operator]
        made = found[f"paired_difference[{kernel}]@n1-n7"]
        assert (made.population, made.excluded) == (len(both), len(ids) - len(both))
        if not both:
            assert made.value is None
            continue
        assert made.value == sum(differences, Fraction(0)) / len(both)
        for side, word in enumerate(("first", "second")):
            mean = sum((p[side] for p in pairs), Fraction(0)) / len(both)  # type: ignore[misc]
            assert found[f"excess_churn[{kernel}]@n1-n7 ({word})"].value == mean
        flips = [{q for q, p in zip(both, pairs, strict=True) if p[side] == 1} for side in (0, 1)]
        expected = {
            "both": flips[0] & flips[1], "first only": flips[0] - flips[1], "second only": flips[1] - flips[0],
        }  # fmt: skip
        ids_of = explore.paired_flips(a, b, kernel, "n1", "n7")
        for where, members in expected.items():
            assert found[f"common_flips[{kernel}, {where}]@n1-n7"].numerator == len(members)
            assert sorted(ids_of[where]) == sorted(members)
    if both:
        change = [accuracy(x[q]) - accuracy(y[q]) for q in both]
        assert found["paired_exact_match_difference@n1-n7"].value == sum(change, Fraction(0)) / len(both)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 500), st.integers(501, 1_000))
def test_the_studies_swapped_change_the_sign(one: int, two: int) -> None:
    a, b = study(one, NAMES)[0], study(two, NAMES)[0]
    here, there = named(a, b), named(b, a)
    for name in ("paired_difference[exact]@n1-n7", "paired_difference[semantic]@n1-n7",
                 "paired_exact_match_difference@n1-n7"):  # fmt: skip
        assert here[name].value == -there[name].value  # type: ignore[operator]
    assert here["common_flips[exact, first only]@n1-n7"].value == there["common_flips[exact, second only]@n1-n7"].value


def test_a_study_against_itself_differs_by_nothing() -> None:
    a = study(1, NAMES)[0]
    found = named(a, a)
    assert found["paired_difference[semantic]@n1-n7"].value == 0
    assert "degenerate" in found["paired_difference[semantic]@n1-n7"].detail
    assert found["common_flips[semantic, first only]@n1-n7"].numerator == 0
    assert found["paired_difference[semantic]@n1-n7"].reason == ""


def test_nothing_in_common_is_undefined_and_says_so() -> None:
    found = named(study(1, ["a", "b"])[0], study(2, ["c", "d"])[0])
    assert {e.value for e in found.values()} == {None}
    assert {e.reason for e in found.values()} == {"The two studies have no eligible question in common."}


def test_other_packets_and_other_rules_are_descriptive_only() -> None:
    a = study(1, NAMES)[0]
    wide = study(2, NAMES, states=("n1", "n3", "n7"))[0]
    found = named(a, wide)
    assert found["paired_difference[semantic]@n1-n7"].reason.startswith("Descriptive: the judge saw packets")
    assert found["paired_difference[exact]@n1-n7"].reason == ""
    other = replace(study(2, NAMES)[0], rule="triviaqa/1")
    reasons = {name: e.reason for name, e in named(a, other).items() if name.startswith("paired")}
    assert reasons["paired_difference[exact]@n1-n7"].startswith("Descriptive: the texts were normalized by nq_open/1")
    assert reasons["paired_exact_match_difference@n1-n7"].startswith("Descriptive: the texts")
    assert reasons["paired_difference[semantic]@n1-n7"] == ""


def test_a_study_without_a_judge_is_compared_by_text_alone() -> None:
    found = named(study(1, NAMES)[0], study(2, NAMES, labels=False)[0])
    assert not any("semantic" in name for name in found)
    assert found["paired_difference[exact]@n1-n7"].value is not None


def test_a_question_that_one_study_cannot_measure_is_outside() -> None:
    gap = study(2, NAMES, answers={("q3", "n7", 1): None})[0]
    found = named(study(1, NAMES)[0], gap)
    assert (found["paired_difference[exact]@n1-n7"].population, found["paired_difference[exact]@n1-n7"].excluded) == (
        11, 1)  # fmt: skip
    keep, _ = paired.flips(paired.common(study(1, NAMES)[0], gap), "exact", "n1", "n7")
    assert keep.tolist() == [name != "q3" for name in NAMES]


@pytest.mark.parametrize("kernel", ["exact", "semantic"])
def test_published_pair(kernel: str) -> None:
    from audit_core import bundled
    from audit_core.study import Study

    a, b = (
        arrays_of(s.protocol, s.dossiers()) for s in map(Study, map(bundled.resolve, ("v4pro-100", "nq-400")))
    )  # fmt: skip
    assert named(a, b)[f"paired_difference[{kernel}]@n1-n7"].numerator == {"exact": 4, "semantic": -2}[kernel]
