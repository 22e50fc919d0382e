"""The release rule in a protocol, and its conditions on numbers: three outcomes each, decided on exact fractions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_core.codec import encode
from audit_core.collection import TEMPLATE, read_toml, release_of
from audit_core.errors import InputError
from audit_core.estimators import betting, bootstrap
from audit_core.estimators.limits import three_ways
from audit_core.model import Dossier, Judgment
from audit_core.protocol import Judge, Protocol, from_record, to_record
from audit_core.release import ReleaseRule
from audit_core.results import arrays_of, estimate_all
from audit_core.results import release_of as ledger_part
from tests.support import oracle
from tests.support.collecting import prepare
from tests.support.ruled import CALM, FEW, MOVED, NUMBERS
from tests.support.simulator import StudySimulator

TAIL = Fraction(1, 20)
FULL = (
    'tolerance = "0.02"\nem_loss = "0.05"\nrefusal_gain = "0.02"\nevery_flip_reviewed = true\n'
    "no_open_high_impact_regression = true\nsignoff = true\nneeded = 2\n"
)


def protocol_of(tmp_path: Path, table: str, **how: object) -> Protocol:
    file = prepare(tmp_path, **how)  # type: ignore[arg-type]
    file.write_text(file.read_text() + f"\n[release]\n{table}\n")
    return read_toml(file)[0]


def faults(tmp_path: Path, table: str, **how: object) -> str:
    with pytest.raises(InputError) as caught:
        protocol_of(tmp_path, table, **how)
    return str(caught.value)


def test_a_rule_is_read_with_its_margin_and_kernel_and_stored(tmp_path: Path) -> None:
    protocol = protocol_of(tmp_path, FULL, judging='adapter = "lexical"')
    assert protocol.release == ReleaseRule("semantic", "0.02", "0.03", "0.05", "0.02", True, True, True, 2)
    assert from_record(to_record(protocol)) == protocol
    assert to_record(protocol)["release"]["margin"] == "0.03"
    exact = protocol_of(tmp_path / "exact", 'tolerance = "0.02"')
    assert exact.release == ReleaseRule("exact", "0.02", "0.03")
    own = protocol_of(tmp_path / "own", 'tolerance = "0.02"\nmargin = "0.05"', decision=False)
    assert own.release == ReleaseRule("exact", "0.02", "0.05")


def test_a_protocol_without_a_rule_keeps_its_bytes() -> None:
    protocol = StudySimulator().protocol()
    assert "release" not in to_record(protocol)
    assert b"release" not in encode(to_record(protocol))


def test_the_template_shows_a_rule_that_holds_once_it_is_uncommented(tmp_path: Path) -> None:
    file = prepare(tmp_path)
    head, _, rest = TEMPLATE.partition("# [release]")
    shown = ("# [release]" + rest).partition("\n\n")[0]
    lines = [line.removeprefix("# ") for line in shown.splitlines() if line.startswith("# ")]
    assert "[release]" in lines[0]
    file.write_text(file.read_text() + "\n" + "\n".join(line for line in lines if "semantic" not in line))
    rule = read_toml(file)[0].release
    assert rule is not None
    assert len(rule.conditions) == 6


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "the release rule asks for nothing"),
        ("needed = 2", "the release rule asks for nothing"),
        ('tolerance = "0.04"', "the tolerance is above the margin"),
        ('tolerance = "0.02"\nmargin = "0.05"', "another margin than the decision"),
        ('margin = "0.03"\nsignoff = true', "tolerance and margin go together"),
        ('tolerance = "0"', "tolerance is not what it must be"),
        ("tolerance = 0.02", "tolerance is not what it must be"),
        ('tolerance = "1.5"', "tolerance is not what it must be"),
        ('tolerance = "٠.٠١"', "tolerance is not what it must be"),
        ('em_loss = "-0.1"', "em_loss is not what it must be"),
        ("signoff = 1", "signoff is not what it must be"),
        ("signoff = true\nneeded = true", "needed is not what it must be"),
        ("signoff = true\nneeded = 2", "needed counts verdicts"),
        ('kernel = "raw"\nsignoff = true', "kernel is not what it must be"),
        ('kernel = "semantic"\nsignoff = true', "needs a kernel that the study lacks"),
        ("sign_off = true", "there is a key too many"),
    ],
)
def test_contradictions_and_unknown_keys_are_faults_at_freeze(tmp_path: Path, table: str, said: str) -> None:
    assert said in faults(tmp_path, table)


def test_faults_that_depend_on_the_rest_of_the_protocol(tmp_path: Path) -> None:
    assert "em_loss needs gold" in faults(tmp_path / "a", 'em_loss = "0.1"', gold=False)
    assert "go together" in faults(tmp_path / "b", 'tolerance = "0.02"', decision=False)
    file = prepare(tmp_path / "c", decision=False)
    file.write_text(file.read_text().replace('endpoints = ["n1", "n3"]', "") + "\n[release]\nsignoff = true\n")
    with pytest.raises(InputError, match="the release rule needs endpoints"):
        read_toml(file)
    file.write_text("release = 3\n" + prepare(tmp_path / "d").read_text())
    with pytest.raises(InputError, match="release is not a table"):
        read_toml(file)


def test_a_rule_in_a_file_of_its_own(tmp_path: Path) -> None:
    file, protocol = tmp_path / "rule.toml", StudySimulator().protocol(decision=None)
    file.write_text('[release]\ntolerance = "0.020"\nmargin = "0.03"\n')
    found = release_of(file, protocol)
    assert found == ReleaseRule("semantic", "0.020", "0.03")
    assert found.same(ReleaseRule("semantic", "0.02", "0.030"))
    assert not found.same(ReleaseRule("semantic", "0.02", "0.03", signoff=True))
    for text, said in (("", "asks for nothing"), ("[release]\n[gold]\n", "a table too many"), ("[", "not TOML")):
        file.write_text(text)
        with pytest.raises(InputError, match=said):
            release_of(file, protocol)


def part(protocol: Protocol, dossiers: list[Dossier]) -> dict:
    answers = arrays_of(protocol, dossiers)
    found = ledger_part(protocol, answers, estimate_all(protocol, answers))
    assert found is not None
    return found


def met(protocol: Protocol, dossiers: list[Dossier]) -> dict[str, bool | None]:
    return {c["name"]: c["met"] for c in part(protocol, dossiers)["conditions"]}


def simulated(rule: ReleaseRule = NUMBERS, **how: object) -> tuple[Protocol, list[Dossier]]:
    simulator = StudySimulator(**how)  # type: ignore[arg-type]
    return simulator.protocol(release=rule), simulator.dossiers()


def test_three_outcomes() -> None:
    assert met(*simulated(**CALM)) == {"churn": True, "em_loss": True, "refusal_gain": True}
    assert met(*simulated(**MOVED)) == {"churn": False, "em_loss": False, "refusal_gain": None}
    assert met(*simulated(**FEW)) == {"churn": None, "em_loss": None, "refusal_gain": None}


def expected(protocol: Protocol, dossiers: list[Dossier]) -> dict[str, tuple[bool | None, Fraction, Fraction]]:
    """Outcome, lower and upper bound of each condition, by plain loops; bounds by `betting` on values ordered here."""
    rule, (old, new) = protocol.release, protocol.endpoints or ("", "")
    assert rule is not None
    ordered = [dossiers[i] for i in betting.order_of([d.question.question_id for d in dossiers], protocol.seed)]

    def share(dossier: Dossier, state: str, of: str) -> Fraction:
        answers = [c.answer or "" for c in dossier.cells if c.state == state and c.status == "ok"]
        hit = [a == "UNKNOWN" for a in answers]
        if of == "em":
            hit = [a.lower() in (dossier.gold.aliases if dossier.gold else ()) for a in answers]
        return Fraction(sum(hit), len(hit))

    rows = {
        "churn": [oracle.contrast(d, rule.kernel, protocol.normalization, old, new) for d in ordered],
        "em_loss": [share(d, old, "em") - share(d, new, "em") for d in ordered],
        "refusal_gain": [share(d, new, "unknown") - share(d, old, "unknown") for d in ordered],
    }
    out: dict[str, tuple[bool | None, Fraction, Fraction]] = {}
    for name, values in rows.items():
        exact = [value for value in values if value is not None]
        limit = Fraction(str(rule.tolerance if name == "churn" else getattr(rule, name)))
        low = Fraction(-1, 2) if (name, rule.kernel) == ("churn", "exact") else Fraction(-1)
        scaled = np.array([int(value * 12) for value in exact], np.int64)
        upper = betting.upper(scaled, 12, low, 1, TAIL)
        lower = betting.lower(scaled, 12, low, 1, TAIL)
        if name == "churn":
            total = 0
            for position, chance in sorted(oracle.convolved(scaled.tolist()).items()):
                total += chance
                if total >= TAIL:
                    lower = Fraction(position, 12 * len(exact))
                    break
        mean = sum(exact, Fraction(0)) / len(exact)
        margin = Fraction(str(rule.margin)) if name == "churn" else limit
        outcome = True if upper < limit else False if lower > 0 and mean >= margin else None
        if name == "churn" and outcome and len(set(exact)) == 1:
            outcome = None
        out[name] = (outcome, lower, upper)
    return out


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(2, 60),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([0.0, 0.1, 0.4]),
    st.integers(1, 1000),
    st.sampled_from(["exact", "semantic"]),
    st.sampled_from(["0.02", "0.1", "0.4", "0.9"]),
)
def test_conditions_are_those_of_an_oracle(
    questions: int, flips: float, noise: float, seed: int, kernel: str, limit: str
) -> None:
    rule = ReleaseRule(kernel, limit, "0.9", limit, limit)
    texts = {(f"q{q:05d}", "n7", 1): "UNKNOWN" for q in range(0, questions, 3)} if seed % 2 else {}
    protocol, dossiers = simulated(rule, questions=questions, flips=flips, noise=noise, seed=seed, answers=texts)
    protocol = replace(protocol, decision=None)
    found = part(protocol, dossiers)
    pairs = zip(found["conditions"], found["limits"], strict=True)
    assert {c["name"]: (c["met"], Fraction(x["lower"]), Fraction(x["upper"])) for c, x in pairs} == expected(
        protocol, dossiers
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=3), max_size=3), st.integers(0, 3), st.sampled_from([CALM, MOVED, FEW]))
def test_no_slice_and_no_second_judge_has_a_say(tags: list[str], labels: int, how: dict) -> None:
    protocol, dossiers = simulated(**{**how, "questions": 40})
    before = part(protocol, dossiers)
    changed = []
    for number, dossier in enumerate(dossiers):
        slots = dossier.judgments["primary"].slots
        pairs = itertools.combinations(range(len(slots)), 2)
        second = Judgment(
            dossier.question.question_id, slots, tuple((i, j, (number + labels) % 2) for i, j in pairs), 1
        )
        question = replace(dossier.question, tags=tuple(tags[: number % 4]))
        changed.append(replace(dossier, question=question, judgments={**dossier.judgments, "second": second}))
    other = replace(protocol, judges=(*protocol.judges, Judge("second", "supplementary", True, "contrary")))
    assert part(other, changed) == before


def test_the_percentile_bound_would_call_compatible_what_betting_does_not() -> None:
    """A rare flip: the bootstrap's upper bound is below the tolerance, the betting bound is not."""
    texts = {("q00000", "n7", r): "Answer new 0" for r in (1, 2)}
    protocol, dossiers = simulated(questions=120, flips=0.0, noise=0.0, answers=texts)
    values = np.array([1] + [0] * 119, np.int64)
    found = bootstrap.of_mean(values, 1)
    assert found is not None
    assert found.quantile(1 - TAIL) < Fraction(3, 100)
    assert betting.upper(values, 1, -1, 1, TAIL) > Fraction(3, 100)
    assert met(protocol, dossiers)["churn"] is None


def test_a_bound_equal_to_the_tolerance_is_not_below_it() -> None:
    protocol, dossiers = simulated(**CALM)
    upper = Fraction(part(protocol, dossiers)["limits"][0]["upper"])
    assert upper.denominator <= 10**6
    for text, outcome in ((f"{float(upper):.6f}", None), (f"{float(upper) + 1e-6:.6f}", True)):
        rule = replace(NUMBERS, tolerance=text)
        assert met(replace(protocol, release=rule), dossiers)["churn"] is outcome


def test_limits_are_compared_as_fractions_because_doubles_cannot_tell_them_apart() -> None:
    total = sum([0.1] * 3)
    assert total > 0.3, "doubles are on the wrong side"
    assert three_ways(Fraction(0), Fraction(-1), Fraction(3, 10), Fraction("0.3"), Fraction("0.3")) is None
    assert three_ways(Fraction(3, 10), Fraction(1, 10), Fraction(1), Fraction("0.1"), Fraction("0.3")) is False
    assert three_ways(Fraction(3, 10), Fraction(0), Fraction(1), Fraction("0.1"), Fraction("0.3")) is None
    near = Fraction("0.02") - Fraction(1, 10**30)
    assert three_ways(near, Fraction(1, 100), Fraction(1, 2), Fraction("0.01"), Fraction("0.02")) is None
    assert float(near) == 0.02, "doubles cannot tell the two"
    assert three_ways(Fraction(0), Fraction(-1), near, Fraction("0.02"), Fraction("0.02")) is True


def test_equal_contrasts_are_never_compatible_and_may_have_moved() -> None:
    found = part(*simulated(questions=400, flips=0.0, noise=0.0))
    assert {c["name"]: c["met"] for c in found["conditions"]} == {"churn": None, "em_loss": True, "refusal_gain": True}
    assert "no spread to judge by" in found["conditions"][0]["sentence"]
    assert met(*simulated(questions=100, flips=1.0, noise=0.0))["churn"] is False


def test_a_question_outside_leaves_everything_open_and_says_so() -> None:
    texts: dict = {("q00003", "n7", r): None for r in (1, 2)}
    found = part(*simulated(**CALM, answers=texts))
    assert [c["met"] for c in found["conditions"]] == [None, None, None]
    assert all("1 of 400 questions lacks" in c["sentence"] for c in found["conditions"])
    found = part(*simulated(**MOVED, answers=texts))
    assert found["conditions"][0]["met"] is None


def test_without_gold_or_repeats_nothing_is_met() -> None:
    found = part(*simulated(**CALM, gold=False))
    assert found["conditions"][1]["met"] is None
    assert "Every question lacks gold" in found["conditions"][1]["sentence"]
    found = part(*simulated(**{**CALM, "repeats": 1}))
    assert found["conditions"][0]["met"] is None
    assert "No noise floor" in found["conditions"][0]["sentence"]
    assert [limit["name"] for limit in found["limits"]] == ["em_loss@n1-n7", "refusal_gain@n1-n7"]
