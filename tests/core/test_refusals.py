"""Outcomes, splits, one text for all, sources of noise: against an independent oracle, with properties and edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from audit_core import explore
from audit_core.estimators import binomial, outcomes
from audit_core.estimators.groups import GROUPS
from audit_core.estimators.refusals import MEASURES, alarms
from audit_core.model import Cell, Dossier, Estimate, JudgedOutcome, Question
from audit_core.protocol import Protocol
from audit_core.results import as_row, estimate_all, newer
from audit_core.tensors import OUTCOMES, Answers, Builder, build
from tests.support import oracle, oracle_refusals
from tests.support.refusing import STATES, WORDS, study
from tests.support.simulator import StudySimulator

cell = st.one_of(
    st.none(),
    st.sampled_from([(text, kind) for kind, texts in WORDS.items() for text in texts]),
)
evidence = st.one_of(st.none(), st.sampled_from("abc"))
question = st.tuples(
    *[st.tuples(st.lists(st.tuples(cell, evidence), max_size=4), st.booleans()) for _ in STATES], st.integers(0, 2**20)
)


def arrays(dossiers: Sequence[Dossier], **values: object) -> Answers:
    given_values: dict[str, object] = {
        "states": STATES, "closed_book": (False, False), "rule": "nq_open/1", "unknown_texts": ("UNKNOWN",),
        "primary": "primary",
    }  # fmt: skip
    return build(dossiers, Builder(**{**given_values, **values}))  # type: ignore[arg-type]


def estimates(answers: Answers) -> dict[str, Estimate]:
    found = [e for state in answers.states for e in explore.state_estimates(answers, state)]
    found += [e for e in explore.pair_estimates(answers, *answers.states[:2]) if e.measure in MEASURES]
    assert len({e.name for e in found}) == len(found)
    return {e.name: e for e in found}


@settings(max_examples=150, deadline=None)
@given(st.lists(question, min_size=1, max_size=8))
def test_all_estimates_against_the_oracle(rows: list) -> None:
    dossiers = study(rows)
    answers = arrays(dossiers)
    found = estimates(answers)
    for state in STATES:
        for word in OUTCOMES:
            assert found[f"outcome_rate[{word}]@{state}"].value == oracle_refusals.rate(dossiers, state, word)
        for measure, same in (("outcome_split", True), ("outcome_split_any", False)):
            count, size = oracle_refusals.splits(dossiers, state, same=same)
            made = found[f"{measure}@{state}"]
            assert (made.numerator, made.denominator) == ((count, size) if size else (None, None))
            assert made.population == size
            assert made.population + made.excluded == len(dossiers)
        for kernel in ("exact", "semantic"):
            assert found[f"split_share[{kernel}]@{state}"].value == oracle_refusals.split_share(
                dossiers, kernel, state
            )
            parts = []
            for words, same in (("same evidence", True), ("other evidence", False)):
                rate, part, size = oracle_refusals.noise(dossiers, kernel, state, same=same)
                assert found[f"noise[{kernel}, {words}]@{state}"].value == rate
                made = found[f"noise_contribution[{kernel}, {words}]@{state}"]
                assert (made.value, made.population) == (part, size)
                parts.append(part)
            known = [
                d for d in dossiers
                if oracle_refusals.disagreeing(d, kernel, state)
                and None not in [oracle_refusals.evidence_of(d, c) for c in oracle_refusals.answered_cells(d, state)]
            ]  # fmt: skip
            if known:
                lost = [
                    Fraction(sum(differ for *_, differ in pairs), len(pairs))
                    for d in known for pairs in [oracle_refusals.disagreeing(d, kernel, state)]
                ]  # fmt: skip
                assert sum(parts) == sum(lost, Fraction(0)) / len(known), "the parts are all of the disagreement"
        columns = explore.outcome_columns(answers, state)
        assert columns["split"] == [oracle_refusals.split(d, state) for d in dossiers]
        assert columns["refusal_split"] == [oracle_refusals.refusal_split(d, state) for d in dossiers]
        assert columns["same_evidence"] == [oracle_refusals.same_evidence(d, state) for d in dossiers]
        assert columns["answered"] == [oracle_refusals.outcomes(d, state).count("answered") for d in dossiers]
    moved = oracle_refusals.moves(dossiers, "L", "H")
    flows = explore.outcome_flows(answers, "L", "H")
    assert {(a, b): n for a, row in flows.items() for b, n in row.items() if n} == moved
    for way, kind in itertools.product(("to", "from"), ("refused", "partial")):
        want = sum(n for (a, b), n in moved.items() if a != b and kind == (b if way == "to" else a))
        made = found[f"outcome_transitions[{way}_{kind}]@L-H"]
        assert made.numerator == (want if moved else None)
        assert made.denominator == (sum(moved.values()) or None)
    kept = [d for d in dossiers if not any("refused" in oracle_refusals.outcomes(d, s) for s in STATES)]
    for kernel in ("exact", "semantic"):
        values = [v for d in kept if (v := oracle.contrast(d, kernel, "nq_open/1", "L", "H")) is not None]
        made = found[f"excess_churn[{kernel}, without refusals]@L-H"]
        assert made.value == (sum(values, Fraction(0)) / len(values) if values else None)
        assert made.population == len(values)
        assert made.status == "exploratory"


def values(answers: Answers) -> dict[str, tuple]:
    return {
        name: (e.value, e.lower, e.interval, e.population, e.excluded)
        for name, e in estimates(answers).items()
    }


def renamed(dossier: Dossier, number: int) -> Dossier:
    return replace(dossier, question=Question(f"twin{number}"))


@settings(max_examples=60, deadline=None)
@given(st.lists(question, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_repeats_means_nothing_within_a_state(rows: list, draw) -> None:  # type: ignore[no-untyped-def]
    """Repeats shuffled with their evidence: everything about one state stays as it was (exact kernel; no labels)."""
    shuffled = []
    for *states, labels in rows:
        turned = [(draw.sample(held, len(held)), shared) for held, shared in states]
        shuffled.append((*turned, labels))
    before, after = (values(arrays(study(r, judged=False), primary=None)) for r in (rows, shuffled))
    for name in before:
        if not name.startswith("outcome_transitions"):
            assert before[name] == after[name], name


@settings(max_examples=60, deadline=None)
@given(st.lists(question, min_size=1, max_size=6))
def test_states_swapped_and_questions_doubled(rows: list) -> None:
    dossiers = study(rows)
    found = values(arrays(dossiers))
    swapped = values(arrays(dossiers, states=STATES[::-1]))
    for state in STATES:
        assert {n: v for n, v in found.items() if n.endswith(f"@{state}")} == {
            n: v for n, v in swapped.items() if n.endswith(f"@{state}")
        }
    for kind in ("refused", "partial"):
        assert found[f"outcome_transitions[to_{kind}]@L-H"] == swapped[f"outcome_transitions[from_{kind}]@H-L"]
    for kernel in ("exact", "semantic"):
        name = f"excess_churn[{kernel}, without refusals]@"
        assert found[name + "L-H"] == swapped[name + "H-L"]
    doubled = values(arrays([*dossiers, *(renamed(d, n) for n, d in enumerate(dossiers))]))
    for name, (value, *_, population, excluded) in found.items():
        assert doubled[name][0] == value, name
        if name.split("@")[0] != "one_answer":
            assert doubled[name][3:] == (2 * population, 2 * excluded), name


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([20, 40, 200]))
def test_the_exact_interval_is_the_widest_that_its_definition_allows(case: tuple[int, int], part: int) -> None:
    count, size = case
    tail = Fraction(1, part)

    def above(share: Fraction) -> Fraction:
        return sum(
            (comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(count, size + 1)), Fraction(0)
        )

    low, high = binomial.lower(count, size, tail), binomial.upper(count, size, tail)
    step = Fraction(1, binomial.PLACES)
    if count:
        assert above(low) <= tail < above(low + step)
    else:
        assert low == 0
    assert high == 1 - binomial.lower(size - count, size, tail)
    assert low <= Fraction(count, size) <= high


@pytest.mark.parametrize(
    ("count", "size"), [(0, 400), (3, 400), (400, 400), (17, 10_000), (5_000, 100_000), (3, 1_000_000)]
)
def test_the_exact_interval_is_the_one_of_scipy(count: int, size: int) -> None:
    want = binomtest(count, size).proportion_ci(0.95, "exact")
    assert float(binomial.lower(count, size, Fraction(1, 40))) == pytest.approx(want.low, abs=2e-12)
    assert float(binomial.upper(count, size, Fraction(1, 40))) == pytest.approx(want.high, abs=2e-12)


def test_a_state_that_refuses_everything_is_an_alarm() -> None:
    """Twenty of twenty questions get one refusal in both repeats: within agreement is 1, and it means nothing."""
    refusals = {
        (f"q{q:05d}", "n7", r): "I cannot answer." if r == 1 else " i cannot  answer" for q in range(20) for r in (1, 2)
    }
    simulator = StudySimulator(questions=20, answers=refusals)
    protocol, dossiers = simulator.protocol(), simulator.dossiers()
    answers = arrays(dossiers, states=("n1", "n7"))
    found = {e.name: e for e in estimate_all(protocol, answers)}
    assert found["within_agreement[exact]@n7"].value == 1
    assert found["outcome_rate[refused]@n7"].value == 1
    one = found["one_answer@n7"]
    assert (one.numerator, one.denominator, one.detail) == (40, 40, {"texts": "1", "text": "I cannot answer."})
    (alarm,) = alarms(map(as_row, found.values()))
    assert alarm.state == "n7"
    assert alarm.sentence.startswith("40 of 40 answers in n7 are one and the same (“I cannot answer.”)")
    few = replace(simulator, questions=9)
    assert not alarms(
        as_row(e) for e in explore.state_estimates(arrays(few.dossiers(), states=("n1", "n7")), "n7")
    ), "18 answers say nothing"
    assert found["outcome_transitions[to_refused]@n1-n7"].value == 1
    lost = found["excess_churn[exact, without refusals]@n1-n7"]
    assert lost.value is None
    assert "has a refusal" in lost.reason


@pytest.mark.parametrize(("others", "alarmed"), [(1, True), (2, False)])
def test_an_alarm_begins_at_95_per_cent(others: int, alarmed: bool) -> None:
    texts = ["UNKNOWN"] * (20 - others) + [f"another {n}" for n in range(others)]
    cells = [Cell(f"q{n}", "L", 1, "ok", text) for n, text in enumerate(texts[::-1])]
    dossiers = [Dossier(Question(c.question_id), (c,), {}, (), None) for c in cells]
    answers = arrays(dossiers, primary=None)
    found = alarms(as_row(e) for e in explore.state_estimates(answers, "L"))
    assert [a.state for a in found] == ["L"] * alarmed


def test_refusals_agree_with_refusals_and_differ_from_answers() -> None:
    row = ([(("UNKNOWN", "refused"), None), (("UNKNOWN", "refused"), None)], False)
    other = ([(("UNKNOWN", "refused"), None), (("Paris", "answered"), None)], False)
    answers = arrays(study([(row, other, 0)], judged=False), primary=None)
    matrix = explore.agreement_matrix(answers, "exact")
    assert (matrix[0][0], matrix[1][1]) == (1, 0)
    found = estimates(answers)
    assert found["split_share[exact]@H"].value == 1
    assert found["split_share[exact]@L"].reason.startswith("All repeats of a question agree")


def test_evidence_of_a_state_is_that_of_all_repeats_and_no_retrieval_is_the_same_for_all() -> None:
    held = [(("Paris", "answered"), None), (("UNKNOWN", "refused"), None)]
    dossiers = study([((held, True), (held, False), 0)])
    answers = arrays(dossiers)
    assert answers.evidence.tolist() == [[[0, 0], [-1, -1]]]
    found = estimates(answers)
    assert (found["outcome_split@L"].value, found["outcome_split@H"].value) == (1, None)
    assert found["outcome_split_any@H"].value == 1
    assert "not known which evidence" in found["noise[exact, same evidence]@H"].reason
    assert "none of the disagreement is retrieval's" in found["noise[exact, other evidence]@L"].reason
    assert found["noise_contribution[exact, other evidence]@L"].value == 0
    closed = arrays(dossiers, closed_book=(False, True))
    assert closed.evidence.tolist() == [[[0, 0], [1, 1]]]
    assert estimates(closed)["outcome_split@H"].value == 1


def test_what_was_left_out_of_the_split_rate_is_counted() -> None:
    two = [("Paris", "answered"), ("UNKNOWN", "refused")]
    rows = [
        (([(c, "a") for c in two], False), ([], False), 0),  # the same evidence
        (([(c, k) for c, k in zip(two, "ab", strict=True)], False), ([], False), 0),  # another order
        (([(c, k) for c, k in zip(two, "ac", strict=True)], False), ([], False), 0),  # another score
        (([(two[0], "a"), (two[1], None)], False), ([], False), 0),  # known of one repeat only
        (([(two[0], "a")], False), ([], False), 0),
    ]
    made = estimates(arrays(study(rows)))["outcome_split@L"]
    assert (made.numerator, made.denominator, made.excluded) == (1, 1, 4)
    assert {k: made.detail[k] for k in ("other_evidence", "unknown_evidence", "fewer_answers", "refusal_splits")} == {
        "other_evidence": "2", "unknown_evidence": "1", "fewer_answers": "1", "refusal_splits": "1",
    }  # fmt: skip


def test_structured_output_goes_before_the_rule_and_the_judge_is_heard_where_the_rule_is_not_certain() -> None:
    texts = {1: "UNKNOWN", 2: "It opens at nine; the passages do not mention when it closes.",
             3: "I do not know. It may be at nine.", 4: "I do not know. It may be at ten."}  # fmt: skip
    cells = [Cell("q", "L", r, "ok", text, outcome="answered" if r == 1 else None) for r, text in texts.items()]
    judged = [JudgedOutcome("q", "L", r, "refused") for r in (1, 2, 3)]
    builder = Builder(states=STATES, closed_book=(False, False), rule="nq_open/1", unknown_texts=("UNKNOWN",),
                      primary="primary")  # fmt: skip
    found = builder.add(Dossier(Question("q"), tuple(cells), {}, (), None, outcomes=tuple(judged)))
    taken = [one[0] for one in found if one is not None]
    assert [(t.reading.outcome, t.by, t.reading.certain) for t in taken] == [
        ("answered", "output", True), ("partial", "rule", True), ("refused", "judge", True), ("partial", "rule", False),
    ]  # fmt: skip
    assert taken[0].unknown == 1
    assert taken[1].reading.reason
    assert builder.finish().outcome[0, 0].tolist() == [0, 1, 2, 1]


def test_texts_are_numbered_over_the_whole_study() -> None:
    cells = [("q0", ["Paris", "the paris"]), ("q1", ["Rome", "Paris."])]
    dossiers = [
        Dossier(Question(q), tuple(Cell(q, "L", r, "ok", t) for r, t in enumerate(texts)), {}, (), None)
        for q, texts in cells
    ]
    answers = arrays(dossiers, primary=None)
    assert answers.text[:, 0].tolist() == [[0, 0], [1, 0]]
    assert answers.common == ((0, "Paris"), (-1, ""))


def test_no_estimate_of_this_kind_is_confirmatory_and_all_are_one_group() -> None:
    simulator = StudySimulator(states=("n0", "n1", "n3", "n7"))
    protocol: Protocol = simulator.protocol()
    answers = arrays(simulator.dossiers(), states=simulator.states, closed_book=(True, False, False, False))
    made = estimate_all(protocol, answers)
    group = [e for e in made if e.measure in MEASURES]
    assert {e.status for e in group} == {"supportive"}
    late = newer(protocol, answers, GROUPS[:1])
    assert [e.name for e in late] == [e.name for e in group]
    assert {e.status for e in late} == {"exploratory"}
    assert {e.measure for e in group} == MEASURES


def test_moves_follow_the_repeat_and_not_the_slot() -> None:
    outcome = np.array([[[0, 2, -1], [2, 0, 1]]], np.int8)
    matched = np.array([[1, 0, -1]])
    moved = outcomes.moves(outcome, 0, 1, matched)
    assert moved[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
