"""A judge against a reader's sheet: the numbers by another way, and every faulty sheet refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
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
from tests.support.files import NOT_READ, not_read

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
    found = handlabels.check(study, [handlabels.read_sheet(filled(study, tmp_path / "s", by_length), study)])
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
    (compared,) = found.compared
    assert (compared.first, compared.second) == ("judge", "reader-1")
    same = [counts[f"{a}/{b}"] for a, b in (("same", "same"), ("same", "different"), ("different", "same"))]
    assert compared.confusion == (*same, counts["different/different"])
    assert compared.different.pairs == sum(counts.values())
    pairs = sum(everything.values())
    agreeing = everything["same/same"] + everything["different/different"]
    assert (compared.everything.agreeing, compared.everything.pairs) == (agreeing, pairs)
    judge = everything["same/same"] + everything["same/different"]
    reader = everything["same/same"] + everything["different/same"]
    chance = Fraction(judge * reader + (pairs - judge) * (pairs - reader), pairs**2)
    assert compared.everything.kappa == (Fraction(agreeing, pairs) - chance) / (1 - chance)


def test_a_reader_to_whom_all_differ_agrees_only_where_the_judge_says_so(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with path.open("w") as stream:
        for line in handlabels.sheet(study):
            stream.write(json.dumps({**line, "meanings": [i + 1 for i in range(len(line["answers"]))]}) + "\n")
    (compared,) = handlabels.check(study, [handlabels.read_sheet(path, study)]).compared
    both, _, reader_only, neither = compared.confusion
    assert both == reader_only == 0
    assert compared.different.agreeing == neither > 0


def test_two_readers_are_compared_with_the_judge_and_with_each_other(study: Study, tmp_path: Path) -> None:
    one = handlabels.read_sheet(filled(study, tmp_path / "1", by_length), study)
    two = handlabels.read_sheet(filled(study, tmp_path / "2", lambda text: by_length(text) + 5), study)
    found = handlabels.check(study, [one, two])
    names = [(item.first, item.second) for item in found.compared]
    assert names == [("judge", "reader-1"), ("judge", "reader-2"), ("reader-1", "reader-2")]
    assert found.compared[0].confusion == found.compared[1].confusion
    assert found.compared[2].everything.kappa == found.compared[2].different.kappa == 1


def test_a_byte_order_mark_and_blank_lines_say_nothing(study: Study, tmp_path: Path) -> None:
    path = filled(study, tmp_path / "s", by_length)
    plain = handlabels.read_sheet(path, study)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert handlabels.read_sheet(path, study) == plain


@pytest.mark.parametrize("what", NOT_READ)
def test_a_sheet_that_may_not_be_read_is_refused(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    told = not_read(tmp_path / "it", what)
    assert main(["check-judge", str(study.path), str(tmp_path / "it")]) == 2
    assert told in capsys.readouterr().err


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
    (compared,) = facts["compared"]
    assert compared["pairs_with_different_texts"]["pairs"] == sum(compared["same_by"].values())
    assert main(["check-judge", "v4pro-100", str(path)]) == 2
