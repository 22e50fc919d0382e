"""A judge against a reader's sheet: the numbers by another way, and every faulty sheet refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.collect import stages
from audit_core.errors import InputError
from audit_core.report import handlabels
from audit_core.study import Study
from tests.support.collecting import prepare

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("judged")
    toml = prepare(folder, questions=8, judging='adapter = "lexical"', decision=False)
    made = stages.freeze(toml, folder / "study", NOW)
    stages.run(made, folder, lambda: NOW)
    return Study(made.path)


def filled(study: Study, path: Path, meaning: Callable[[str], int]) -> Path:
    with path.open("w") as stream:
        for line in handlabels.sheet(study):
            stream.write(json.dumps({**line, "meanings": [meaning(text) for text in line["answers"]]}) + "\n")
    return path


def by_length(text: str) -> int:
    return 1 + len(text) % 3


def test_a_sheet_is_blind(study: Study) -> None:
    lines = list(handlabels.sheet(study))
    assert lines
    for line in lines:
        assert set(line) == {"question_id", "question", "answers", "meanings"}
        assert len(set(line["answers"])) == len(line["answers"]) > 1
    assert any(line["answers"] != sorted(line["answers"]) for line in lines)


def test_agreement_and_kappa_are_those_counted_by_hand(study: Study, tmp_path: Path) -> None:
    found = handlabels.check(study, handlabels.read_sheet(filled(study, tmp_path / "s", by_length), study))
    counts = {"same/same": 0, "same/different": 0, "different/same": 0, "different/different": 0}
    everything = dict(counts)
    for dossier in study.dossiers():
        judgment = dossier.judgments["primary"]
        text = {(cell.state, cell.repeat): cell.answer or "" for cell in dossier.cells}
        labels = {(i, j): same for i, j, same in judgment.labels}
        for i, j in combinations(range(len(judgment.slots)), 2):
            a, b = text[judgment.slots[i]], text[judgment.slots[j]]
            key = f"{'same' if labels[i, j] else 'different'}/{'same' if by_length(a) == by_length(b) else 'different'}"
            everything[key] += 1
            if a != b:
                counts[key] += 1
    assert found["confusion"] == counts
    named = {estimate.measure: estimate for estimate in found["estimates"]}
    pairs = sum(everything.values())
    agreeing = everything["same/same"] + everything["different/different"]
    agreement = named["judge_agreement"]
    assert (agreement.numerator, agreement.denominator) == (agreeing, pairs)
    judge, reader = (
        everything["same/same"] + everything["same/different"],
        everything["same/same"] + everything["different/same"],
    )
    chance = (judge * reader + (pairs - judge) * (pairs - reader)) / pairs**2
    kappa = named["judge_kappa"]
    assert kappa.numerator / kappa.denominator == pytest.approx((agreeing / pairs - chance) / (1 - chance))


def test_a_reader_to_whom_all_differ_agrees_only_where_the_judge_says_so(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with path.open("w") as stream:
        for line in handlabels.sheet(study):
            stream.write(json.dumps({**line, "meanings": [i + 1 for i in range(len(line["answers"]))]}) + "\n")
    found = handlabels.check(study, handlabels.read_sheet(path, study))
    assert found["confusion"]["same/same"] == found["confusion"]["different/same"] == 0
    assert found["different"].agreeing == found["confusion"]["different/different"] > 0


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda line: {**line, "meanings": [0] * len(line["meanings"])}, "not filled in"),
        (lambda line: {**line, "meanings": line["meanings"][1:]}, "not filled in"),
        (lambda line: {**line, "meanings": [True] * len(line["meanings"])}, "not filled in"),
        (lambda line: {**line, "answers": line["answers"][::-1]}, "not the study's"),
        (lambda line: {**line, "question_id": "another"}, "another study"),
        (lambda _line: [1], "another study"),
        (lambda _line: "not json", "another study"),
    ],
)
def test_a_faulty_sheet_is_refused_with_its_line(
    study: Study, tmp_path: Path, change: Callable[[dict[str, Any]], Any], what: str
) -> None:
    path = filled(study, tmp_path / "s", by_length)
    lines = path.read_text().splitlines()
    lines[1] = json.dumps(change(json.loads(lines[1])))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"{what}.*:2"):
        handlabels.read_sheet(path, study)


def test_a_question_twice_is_refused(study: Study, tmp_path: Path) -> None:
    path = filled(study, tmp_path / "s", by_length)
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="twice"):
        handlabels.read_sheet(path, study)


def test_the_command_writes_a_sheet_once_and_reads_it(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sheet.jsonl"
    assert main(["check-judge", str(study.path), "--sheet", str(path)]) == 0
    assert main(["check-judge", str(study.path), "--sheet", str(path)]) == 2
    assert main(["check-judge", str(study.path), str(path)]) == 2, "a blank sheet is no answer"
    assert main(["check-judge", str(study.path)]) == 2
    filled(study, path, by_length)
    capsys.readouterr()
    assert main(["check-judge", str(study.path), str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pairs_with_different_texts"]["pairs"] == sum(
        facts["pairs_with_different_texts"]["confusion"].values()
    )
    assert main(["check-judge", "v4pro-100", str(path)]) == 2
