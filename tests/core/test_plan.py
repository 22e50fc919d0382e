"""The command `plan`: the short answer first, what is out of reach, costs, and the protocol it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.collect.costs import Price, Tokens, answer_tokens, costs
from audit_core.collect.draft import draft
from audit_core.collect.plan import Charges, Wish, least, plan, share
from audit_core.collection import TEMPLATE, read_toml
from audit_core.estimators.planner import Rule
from audit_core.estimators.population import Population

WISH = Wish(400, 2, None, Rule(), Population(0.1, 0.11, 0.4))


def said(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    assert main(["plan", *options, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_short_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--questions", "400"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("400 questions, 2 repeats: the chance to confirm churn is ")
    assert first.endswith("%, if 10% of the questions flip.")
    assert main(["plan"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == first
    assert main(["plan", "--power", "0.8", "--flips", "0.2"]) == 0
    assert "give a chance of 80% to confirm churn, if 20% of the questions flip." in capsys.readouterr().out


def test_questions_and_power_are_two_ways_of_one_road(capsys: pytest.CaptureFixture[str]) -> None:
    there = said(capsys, "--power", "0.8", "--flips", "0.2")
    back = said(capsys, "--questions", str(there["questions"]), "--flips", "0.2")
    assert there["needed"] == there["questions"]
    assert back["power"] == there["power"] >= 0.8
    fewer = said(capsys, "--questions", str(there["questions"] - 10), "--flips", "0.2")
    assert fewer["power"] < 0.8
    smallest = back["smallest"]["flips"]
    assert smallest <= 0.2
    assert said(capsys, "--questions", str(there["questions"]), "--flips", str(smallest))["power"] >= 0.8


def test_what_is_out_of_reach_is_said_with_exit_code_4(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "protocol.toml"
    facts = said(capsys, "--power", "0.8", "--flips", "0.05", "--out", str(out), code=4)
    assert (facts["questions"], facts["needed"]) == (None, None)
    assert "out of reach" in facts["answer"][0]
    assert "below the margin of 3.0 pp" in " ".join(facts["answer"])
    assert not out.exists()
    # without a power that was asked for, the sentence stands and the command has done its work
    facts = said(capsys, "--flips", "0.05", "--questions", "400")
    assert "below the margin" in " ".join(facts["answer"])
    facts = said(capsys, "--flips", "0.05", "--questions", "400", "--power", "0.8", code=4)
    assert facts["questions"] == 400


def test_every_wrong_option_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["--flips", "7", "--noise", "x", "--repeats", "1", "--level", "0.4", "--answer-price", "3", "-1"]
    wrong += ["--questions", "49", "--tolerance", "٠.١"]
    facts = said(capsys, *wrong, code=2)
    assert [error["where"] for error in facts["errors"]] == [
        "--flips", "--noise", "--level", "--tolerance", "--questions", "--repeats", "--answer-price",
    ]  # fmt: skip
    assert all(error[part] for error in facts["errors"] for part in ("what", "expected", "found", "action"))
    facts = said(capsys, "--pilot", "nq-400", "--noise", "0.1", code=2)
    assert facts["errors"][0]["found"] == "--noise and --pilot"
    assert said(capsys, "--pilot", "no-such-study", code=2)["errors"]


def test_a_pilot_gives_what_its_study_found(capsys: pytest.CaptureFixture[str]) -> None:
    facts = said(capsys, "--pilot", "nq-400", "--questions", "400")
    assert facts["pilot"] == "nq-400"
    assert facts["assumed"]["pilot"] == {"questions": 400, "flips": 40, "excluded": 0}
    assert facts["expected"] == {"flips": 0.1, "exact": pytest.approx(0.064375), "semantic": pytest.approx(0.1025)}
    assert facts["power"] > 0.99
    fewer = said(capsys, "--pilot", "nq-400", "--questions", "400", "--flips", "0.02")
    assert fewer["power"] < facts["power"]
    assert fewer["expected"]["flips"] == 0.02


def test_tokens_are_the_pilots_where_its_calls_were_counted(capsys: pytest.CaptureFixture[str]) -> None:
    facts = said(capsys, "--pilot", "help-centre", "--questions", "100", "--answer-price", "3", "15")
    answers = facts["cost"]["answers"]
    assert answers["tokens"] == "mean of 640 calls of help-centre"
    assert answers["calls"] == 100 * 2 * 2
    assert float(answers["cost"]) == pytest.approx(
        (3 * answers["input_tokens"] + 15 * answers["output_tokens"]) / 1e6, abs=1e-4
    )
    assert "cost" not in facts["cost"]["judging"]
    assert facts["cost"]["cost"] == answers["cost"]


def test_tolerance_gives_the_chance_of_compatible(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "--questions", "400", "--flips", "0.01", "--tolerance", "0.05")["compatible"]
    assert found["if nothing moves"] > found["as expected"] > 0.5
    assert "compatible" not in said(capsys, "--questions", "400")


def test_without_a_judge_the_exact_kernel_decides_alone(capsys: pytest.CaptureFixture[str]) -> None:
    facts = said(capsys, "--questions", "400", "--exact-only")
    assert facts["detection"] is None
    assert "judging" not in facts["cost"]
    assert facts["power"] >= said(capsys, "--questions", "400")["power"]
    assert "semantic" not in " ".join(facts["answer"])


@pytest.mark.parametrize("options", [[], ["--exact-only"]])
def test_the_protocol_it_writes_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / "new" / "protocol.toml"
    asked = ["--questions", "350", "--repeats", "3", "--margin", "0.025", "--level", "0.9", *options]
    assert said(capsys, *asked, "--out", str(out))["protocol"] == str(out)
    protocol, collection = read_toml(out)
    kernels = ("exact",) if options else ("exact", "semantic")
    assert (collection.count, collection.repeats, protocol.level) == (350, 3, "0.9")
    assert protocol.decision is not None
    assert (protocol.decision.margin, protocol.decision.lower_above_zero) == ("0.025", kernels)
    assert out.read_text().startswith("# Planned:\n# 350 questions, 3 repeats: ")
    before = out.read_bytes()
    facts = said(capsys, *asked, "--out", str(out), code=2)
    assert facts["errors"][0]["what"] == "a protocol is there already"
    assert out.read_bytes() == before


def test_a_tolerance_becomes_a_release_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "protocol.toml"
    said(capsys, "--questions", "400", "--tolerance", "0.025", "--out", str(out))
    protocol, _ = read_toml(out)
    assert protocol.release is not None
    assert protocol.release.tolerance == "0.025"
    facts = said(capsys, "--questions", "400", "--tolerance", "0.05", "--out", str(tmp_path / "other.toml"), code=2)
    assert facts["errors"][0]["expected"] == "at most the margin, 0.03"


def test_a_draft_with_the_templates_numbers_is_the_template() -> None:
    text = draft(20, 2, "0.03", "0.95", False, ["Nothing."])
    assert text == "# Planned:\n# Nothing.\n\n" + TEMPLATE


def test_costs_count_every_call() -> None:
    found = costs(100, 3, 4, Tokens(500, 20), Tokens(300, 50), Price("2", "10"), Price("1", "5"))
    assert found["retrieval"]["searches"] == 800
    assert found["answers"] == {"calls": 1200, "input_tokens": 600_000, "output_tokens": 24_000, "tokens": "given",
                                "cost": "1.4400"}  # fmt: skip
    assert found["judging"]["calls"] == 100
    assert found["judging"]["cost"] == "0.0550"
    assert found["cost"] == "1.4950"
    assert "cost" not in costs(100, 3, 4, Tokens(1, 1), None, Price(), Price())
    assert answer_tokens().read > 2_000


def test_alternatives_hold_the_plan_itself() -> None:
    facts = plan(replace(WISH, questions=330), Charges())
    rows = {(row["questions"], row["repeats"]): row for row in facts["alternatives"]}
    assert rows[330, 2]["power"] == facts["power"]
    assert rows[330, 2]["smallest_flips"] == facts["smallest"]["flips"]
    assert rows[330, 2]["answers"] == facts["cost"]["answers"]["calls"]
    assert facts["null"] < 0.01


def test_shares_are_never_quite_none_or_all() -> None:
    assert [share(v) for v in (0, 0.0001, 0.1, 0.123, 0.9999, 1)] == [
        "0%", "under 0.1%", "10%", "12.3%", "over 99.9%", "100%",
    ]  # fmt: skip
    assert [least(v) for v in (None, 0.0001, 0.02)] == ["none", "any", "2%"]
