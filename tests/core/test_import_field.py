"""Real files that nobody of this project wrote, and the numbers that must come out of them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.model import Estimate
from audit_core.normalize import RULES
from audit_core.results import arrays_of, estimate_all
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.shared import shared
from tests.support.tables import answers, dossiers, imported, problems, write_text


@pytest.fixture(scope="module")
def stability(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, dict[str, Estimate], dict[str, int]]:
    report, study = imported(tmp_path_factory.mktemp("t"), shared("field", "llm-stability", "answers.jsonl"))
    assert (report.rows, report.questions) == (1_260, 60)
    assert report.repeats == {"gpt35_base": 10, "gpt35_finetuned": 6, "gpt4o_json": 5}
    assert [state["missing"] for state in report.coverage["states"]] == [0, 0, 0]
    found = estimate_all(study.protocol, arrays_of(study.protocol, study.dossiers()))
    return study, {estimate.name: estimate for estimate in found}, problems(report)


@pytest.mark.parametrize(
    ("old", "new", "within_old", "within_new", "cross", "churn", "flips"),
    [
        ("gpt35_base", "gpt35_finetuned", "0.984815", "1.000000", "0.000000", "0.992407", 57),
        ("gpt35_base", "gpt4o_json", "0.984815", "0.810000", "0.000000", "0.897407", 36),
        ("gpt35_finetuned", "gpt4o_json", "1.000000", "0.810000", "0.000000", "0.905000", 38),
    ],
)
def test_true_repeats(stability, old, new, within_old, within_new, cross, churn, flips) -> None:
    _, named, _ = stability
    pair = f"{old}-{new}"
    for name, printed in (
        (f"within_agreement[exact]@{old}", within_old),
        (f"within_agreement[exact]@{new}", within_new),
        (f"cross_agreement[exact]@{pair}", cross),
        (f"excess_churn[exact]@{pair}", churn),
    ):
        value = named[name].value
        assert value is not None
        assert round(value, 6) == Fraction(printed), name
    assert named[f"repeat_stable_flips[exact]@{pair}"].numerator == flips
    assert named[f"repeat_stable_flips[exact]@{pair}"].denominator == 60


def test_true_repeats_carry_their_warnings_and_verify(stability) -> None:
    study, _, counts = stability
    assert {"no_semantic_labels", "uneven_repeats"} <= counts.keys()
    assert not [check for check in verify(study.path) if check.result == "failed"]


@pytest.fixture(scope="module")
def retrievers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Estimate], dict[str, int]]:
    report, study = imported(
        tmp_path_factory.mktemp("t"), shared("field", "nq-open", "six-retrievers-one-repeat.jsonl")
    )
    assert (report.rows, report.questions, len(report.states)) == (2_400, 400, 6)
    found = estimate_all(study.protocol, arrays_of(study.protocol, study.dossiers()))
    return {estimate.name: estimate for estimate in found}, problems(report)


@pytest.mark.parametrize(
    ("state", "matches"),
    [
        ("FiD", 203),
        ("FiD-KD", 209),
        ("Contriever_FiD", 202),
        ("ANCE-plus_FiD", 196),
        ("Rocketv2_FiD", 203),
        ("GAR-plus_FiD", 210),
    ],
)
def test_one_repeat_still_has_exact_matches(retrievers, state: str, matches: int) -> None:
    estimate = retrievers[0][f"exact_match@{state}"]
    assert (estimate.numerator, estimate.denominator) == (matches, 400)


def test_one_repeat_refuses_excess_churn_and_shows_the_rest_uncorrected(retrievers) -> None:
    named, counts = retrievers
    churn = [estimate for name, estimate in named.items() if name.startswith("excess_churn[exact]@")]
    assert len(churn) == 15
    assert all(estimate.value is None and "noise floor" in estimate.reason for estimate in churn)
    assert counts["no_noise_floor"] == 6
    shown = {
        kind: named[f"transitions[{kind}]@FiD-FiD-KD"].numerator for kind in ("lost", "gained", "different_nonmatch")
    }
    assert shown == {"lost": 17, "gained": 23, "different_nonmatch": 76}
    assert named["cross_agreement[exact]@FiD-FiD-KD"].value == Fraction("0.6975")


def test_one_row_a_passage(tmp_path: Path) -> None:
    file = shared("field", "open-rag-eval", "test_csv_connector.csv")
    mapping = ("question_id=query_id", "question=query", "repeat=query_run", "answer=generated_answer")
    report, study = imported(tmp_path, file, mapping=mapping, state="snapshot")
    assert (report.rows, report.questions, len(answers(study))) == (16, 6, 7)
    assert all(answers(study).values())
    lengths = {q: [len(e.documents) for e in dossier.evidence] for q, dossier in dossiers(study).items()}
    assert lengths == {
        "query_1": [3], "query_2": [1], "query_3": [2], "query_4": [2], "query_5": [5], "query_6": [1, 2],
    }  # fmt: skip
    counts = problems(report)
    assert counts["identical_questions"] == 1
    assert "blank_answers" not in counts
    assert not [check for check in verify(study.path) if check.result == "failed"]


@pytest.mark.parametrize(
    ("name", "answered"), [("C15_surrogate.jsonl", 2), ("C17_carriage_return.jsonl", 2), ("C45_ids.csv", 40)]
)
def test_handed_files_whose_bytes_matter(tmp_path: Path, name: str, answered: int) -> None:
    _, study = imported(tmp_path, shared("cases", "repro", name))
    assert len(answers(study)) == answered
    assert not [check for check in verify(study.path) if check.result == "failed"]


def test_handed_ids_are_ten_questions(tmp_path: Path) -> None:
    report, _ = imported(tmp_path, shared("cases", "repro", "C45_ids.csv"))
    assert report.questions == 10
    assert problems(report)["lookalike_ids"] == 3


def test_golds_that_normalize_to_nothing(tmp_path: Path) -> None:
    """Four real questions have such a gold; an empty answer must not match any of them."""
    lines = [
        json.loads(line) for line in shared("field", "nq-open", "NQ-open.dev.jsonl").read_text("utf-8").splitlines()
    ]
    rule = RULES["nq_open/1"]
    hit = {n for n, line in enumerate(lines) for gold in line["answer"] if not rule.normalize(gold)}
    assert len(hit) == 4
    text = "".join(
        json.dumps({"question_id": str(n), "state": "A", "repeat": 1, "answer": "", "gold": lines[n]["answer"]}) + "\n"
        for n in sorted(hit)
    )
    report, study = imported(tmp_path, write_text(tmp_path / "t.jsonl", text))
    assert problems(report)["empty_golds"] >= 4
    found = estimate_all(study.protocol, arrays_of(study.protocol, study.dossiers()))
    assert next(e for e in found if e.name == "exact_match@A").numerator == 0


def test_the_command_on_a_real_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shared("field", "llm-stability", "answers.jsonl")
    study = tmp_path / "study"
    assert main(["import", "table", str(file), "--study", str(study), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["study"] == str(study)
    assert (facts["rows"], facts["questions"]) == (1_260, 60)
    assert facts["states"] == ["gpt35_base", "gpt35_finetuned", "gpt4o_json"]
    assert facts["repeats"] == {"gpt35_base": 10, "gpt35_finetuned": 6, "gpt4o_json": 5}
    assert all(set(p) == {"severity", "kind", "count", "where", "sentence"} for p in facts["problems"])
    assert main(["estimate", str(study), "--json"]) == 0
    named = {row["name"]: row for row in json.loads(capsys.readouterr().out)["estimates"]}
    assert named["excess_churn[exact]@gpt35_base-gpt35_finetuned"]["value"] == pytest.approx(0.992407, abs=1e-6)
    assert main(["verify", str(study), "--json"]) == 0
