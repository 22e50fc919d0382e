"""What a dry run says, against what the run then does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collect.outlook import outlook
from audit_core.study import Study
from tests.support.collecting import prepare

NOW = "2026-01-01T00:00:00Z"
PRICES = 'input_price = "3"\noutput_price = "15"\nmax_tokens = 50\n'


def frozen(folder: Path, judging: str = "") -> Study:
    toml = prepare(folder, questions=5, judging=judging)
    text = toml.read_text().replace('model = "…"', 'model = "named"')
    text = text.replace('adapter = "extractive"', 'adapter = "messages"\nmodel = "m"\nbase_url = "http://127.0.0.1:9"\n'
                        + PRICES).replace("\nmax_tokens = 64", "")  # fmt: skip
    toml.write_text(text)
    return stages.freeze(toml, folder / "study", NOW)


def test_before_retrieval_the_tokens_are_an_upper_bound(tmp_path: Path) -> None:
    study = frozen(tmp_path)
    collection = stages.collection_of(study)
    before = outlook(study, collection)["answers"]
    stages.select_questions(study, tmp_path, NOW)
    stages.retrieve_evidence(study, tmp_path, NOW)
    after = outlook(study, collection)["answers"]
    assert before["calls"] == after["calls"] == 5 * 3 * 2
    assert before["input_tokens"] > after["input_tokens"] > 0
    assert after["output_tokens"] == 30 * 50
    expected = (after["input_tokens"] * 3 + after["output_tokens"] * 15) / 1_000_000
    assert float(after["cost"]) == pytest.approx(expected, abs=5e-5)


def test_calls_left_are_the_calls_that_the_run_makes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = prepare(tmp_path, questions=5, judging='adapter = "lexical"', decision=False)
    study = stages.freeze(toml, tmp_path / "study", NOW)
    files = {path: path.read_bytes() for path in (tmp_path / "study").rglob("*") if path.is_file()}
    assert main(["run", str(study.path), "--inputs", str(tmp_path), "--dry-run", "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["left"]
    assert {path: path.read_bytes() for path in (tmp_path / "study").rglob("*") if path.is_file()} == files
    assert left == {
        "answers": {"calls": 30, "input_tokens": 0, "output_tokens": 0},
        "judging": {"calls": 5, "input_tokens": 0, "output_tokens": 0},
    }
    assert main(["run", str(study.path), "--inputs", str(tmp_path)]) == 0
    counts = {lock.gate: lock.counts for lock in Study(study.path).chain}
    assert counts["answers"]["attempts"] == left["answers"]["calls"]
    assert counts["judgments"]["attempts"] == left["judging"]["calls"]
    assert outlook(Study(study.path), stages.collection_of(Study(study.path))) == {}
