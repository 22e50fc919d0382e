"""Answers out of a study and in again: nothing is lost on the way."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.importers.options import Options
from audit_core.importers.table import import_table
from audit_core.report import answers
from audit_core.study import Study


def test_what_goes_out_comes_in_again(tmp_path: Path, studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = Study(studies / "help-centre")
    out = tmp_path / "answers.jsonl"
    assert main(["export", str(source.path), "--out", str(out)]) == 0
    states = tuple(state.name for state in source.protocol.states)
    options = Options(states=states, endpoints=("n1,n7",), closed_book="n0")
    import_table([out], tmp_path / "again", options)
    again = Study(tmp_path / "again")
    before = {d.question.question_id: d for d in source.dossiers()}
    after = {d.question.question_id: d for d in again.dossiers()}
    assert before.keys() == after.keys()
    for question_id, old in before.items():
        new = after[question_id]
        assert (old.question.text, set(old.question.tags)) == (new.question.text, set(new.question.tags))
        assert [(c.state, c.repeat, c.status, c.answer) for c in old.cells] == [
            (c.state, c.repeat, c.status, c.answer) for c in new.cells
        ]
        assert old.gold is not None
        assert new.gold is not None
        assert set(old.gold.aliases) == set(new.gold.aliases)
        lists = [{e.state: [(d.document_id, d.rank, d.passage) for d in e.documents] for e in dossier.evidence
                  if e.documents} for dossier in (old, new)]  # fmt: skip
        assert lists[0] == lists[1]
    assert dict(source.passages()) == dict(again.passages())
    assert main(["export", str(source.path), "--out", str(out)]) == 2
    assert "there already" in capsys.readouterr().err


def test_a_spreadsheet_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text(
        "question_id,question,state,repeat,answer\nq1,=1+1,a,1,@x\nq1,=1+1,a,2,+y\nq1,=1+1,b,1,-z\nq1,=1+1,b,2,ok\n"
    )
    import_table([tmp_path / "in.csv"], tmp_path / "s")
    assert main(["export", str(tmp_path / "s"), "--format", "csv", "--out", str(tmp_path / "out.csv")]) == 0
    text = (tmp_path / "out.csv").read_bytes().decode("utf-8-sig")
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["answer"] for row in found] == ["'@x", "'+y", "'-z", "ok"]
    assert {row["question"] for row in found} == {"'=1+1"}
    capsys.readouterr()


def test_a_run_of_one_state(tmp_path: Path, studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, out = studies / "help-centre", tmp_path / "n7.run"
    command = ["export", str(study), "--format", "trec", "--out", str(out), "--state"]
    assert main([*command, "n7"]) == 0
    lines = [line.split(" ") for line in out.read_text().splitlines()]
    first = next(iter(Study(study).dossiers()))
    shown = next(item for item in first.evidence if item.state == "n7")
    assert [line[2] for line in lines[: len(shown.documents)]] == [d.document_id for d in shown.documents]
    assert all(len(line) == 6 and line[1] == "Q0" for line in lines)
    assert len({line[0] for line in lines}) == 80
    out.unlink()
    assert main([*command, "n0"]) == 4
    assert main([*command, "n9"]) == 2
    assert main(command[:-1]) == 2
    assert not out.exists()
    assert list(tmp_path.iterdir()) == []
    capsys.readouterr()


def test_columns_are_those_of_the_import() -> None:
    from audit_core.importers.columns import COLUMNS

    assert set(answers.COLUMNS) <= set(COLUMNS)
