"""What the Import page stands on: the first look at a file, what is remembered, the job, and one study more."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import job, main
from audit_core.errors import InputError
from audit_core.importers import remembered
from audit_core.importers.options import Options
from audit_core.importers.peek import guess_kind, peek
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.verify import verify
from tests.support.logs import promptfoo
from tests.support.shared import shared

KINDS = {
    "inspect": ["2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", "log_formats.json"],
    "llm-comparator": ["example_tiny.json"],
    "open-rag-eval": ["test_csv_connector.csv"],
    "table": ["answers.jsonl", "NQ-open.dev.jsonl"],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_the_tool_is_guessed(kind: str, name: str) -> None:
    path = next((shared() / "field").rglob(name))
    assert guess_kind(path) == kind
    found = peek([path], Options(kind=None if kind == "table" else kind))
    assert found.rows
    assert set(found.columns) >= {"question", "answer"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"results": {"results": [{"promptIdx": 0, "testIdx": 1}]}}', "promptfoo"),
        ('{"testCases": [{"actualOutput": "x"}]}', "deepeval"),
        ('{"doc_id": 0, "resps": [["x"]]}', "lm-eval"),
        ("example_id,repetition_number,output\n", "phoenix"),
        ('{"results": [{"query_id": "1", "gt_answer": "a", "response": "b"}]}', "ragchecker"),
        ('{"user_input": "q", "response": "a"}', "ragas"),
        ("question;contexts;answer;ground_truth\n", "ragas"),
        ('[{"experimentId": "e", "experimentItemId": "i"}]', "langfuse"),
        ("question_id,state,repeat,answer\n", "table"),
        ("", "table"),
        ("\x00\x01\x02", "table"),
    ],
)
def test_signs_of_tools(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "file").write_text(text)
    assert guess_kind(tmp_path / "file") == kind


def test_columns_are_guessed_once_each_and_remembered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("qid,query,system,run,response,notes\n1,Who?,old,1,Ada,x\n")
    found = peek([tmp_path / "a.csv"], Options())
    assert found.guess == {"question_id": "qid", "question": "query", "state": "system", "repeat": "run",
                           "answer": "response"}  # fmt: skip
    assert found.rows[0]["response"] == "Ada"
    database = tmp_path / "audit.db"
    assert remembered.known(database, found.columns) == {}
    remembered.keep(database, found.columns, {"answer": "notes", "nonsense": "qid"})
    assert remembered.known(database, found.columns) == {"answer": "notes"}
    assert remembered.known(database, [*found.columns, "more"]) == {}
    for broken in ("[broken", "[" * 100_000):
        (tmp_path / remembered.NAME).write_text(broken)
        assert remembered.known(database, found.columns) == {}


def run(order: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    told = io.StringIO()
    code = job.main(io.StringIO(json.dumps(order)), told)
    return code, [json.loads(line) for line in told.getvalue().splitlines()]


def test_a_job_checks_then_creates_and_adds_to_what_is_there(tmp_path: Path, studies: Path) -> None:
    db = tmp_path / "audit.db"
    load([studies / "nq-400"], db, verifier=verify)
    before = read.estimates(db, "nq-400")
    files = [str(path) for path in promptfoo(tmp_path)]
    options: dict[str, Any] = {"kind": "promptfoo", "endpoints": ["may,june"]}
    code, told = run({"files": files, "study": str(tmp_path / "s"), "options": options | {"dry_run": True}, "db": None})
    assert code == 0
    assert told[-1]["report"]["questions"] == 12
    assert not (tmp_path / "s").exists()
    code, told = run({"files": files, "study": str(tmp_path / "fees"), "options": options, "db": str(db)})
    assert code == 0, told[-1]
    assert told[-1]["report"]["written"]
    assert [study["study_id"] for study in read.studies(db)] == ["nq-400", "fees"]
    assert read.estimates(db, "nq-400") == before
    flips = read.columns(db, "fees", "exact", "may", "june")
    assert flips is not None
    assert sum(flips["flip"]) == 3
    code, told = run({"files": files, "study": str(tmp_path / "fees"), "options": options, "db": str(db)})
    assert code == 2
    assert "already" in told[-1]["errors"][0]["text"]


def test_a_job_says_what_is_wrong_in_four_parts(tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    code, told = run({"files": [str(tmp_path / "wrong.csv")], "study": str(tmp_path / "s"), "options": {}, "db": None})
    assert code == 2
    assert {error["what"] for error in told[-1]["errors"]} == {"no column question_id", "no column answer"}
    assert all(error["action"] for error in told[-1]["errors"])
    assert list(tmp_path.iterdir()) == [tmp_path / "wrong.csv"]


def test_a_job_that_fails_late_leaves_nothing_and_can_be_tried_again(tmp_path: Path, studies: Path) -> None:
    (tmp_path / "in").mkdir()
    files = [str(path) for path in promptfoo(tmp_path / "in")]
    db = tmp_path / "audit.db"
    load([studies / "v4pro-100"], db, verifier=verify)
    order = {"files": files, "study": str(tmp_path / "made" / "v4pro-100"), "options": {"kind": "promptfoo"},
             "db": str(db), "judge": True}  # fmt: skip
    code, told = run(order)  # the database holds a study of that id already, which is seen last
    assert code == 2
    assert "one id" in told[-1]["errors"][0]["what"]
    assert list((tmp_path / "made").iterdir()) == []
    code, told = run({**order, "study": str(tmp_path / "made" / "fees")})
    assert code == 0, told[-1]
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["fees", "fees.answers"]
    assert {study["title"] for study in read.studies(db)} >= {"fees"}


def test_two_that_add_at_once_lose_neither(tmp_path: Path, studies: Path) -> None:
    db = tmp_path / "audit.db"
    names = ("v4pro-100", "triviaqa-200", "nq-400")
    command = [sys.executable, "-P", "-c", "import sys; from audit_core.cli import main; sys.exit(main())"]
    started = [
        subprocess.Popen([*command, "load", str(studies / name), "--db", str(db), "--add"], stdout=subprocess.DEVNULL)
        for name in names
    ]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    assert {study["study_id"] for study in read.studies(db)} == set(names)


def test_one_study_more(tmp_path: Path, studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "audit.db"
    for name in ("v4pro-100", "triviaqa-200"):
        assert main(["load", str(studies / name), "--db", str(db), "--add"]) == 0
    assert [study["study_id"] for study in read.studies(db)] == ["v4pro-100", "triviaqa-200"]
    whole = tmp_path / "whole.db"
    load([studies / "v4pro-100", studies / "triviaqa-200"], whole, verifier=verify)
    for study in ("v4pro-100", "triviaqa-200"):
        assert read.estimates(db, study) == read.estimates(whole, study)
    size = db.stat().st_mtime_ns
    with pytest.raises(InputError, match="one id"):
        load([studies / "v4pro-100"], db, verifier=verify, add=True)
    assert db.stat().st_mtime_ns == size
    capsys.readouterr()


def test_a_database_that_cannot_be_written_is_found_before_a_study_is(tmp_path: Path) -> None:
    files = [str(path) for path in promptfoo(tmp_path)]
    (tmp_path / "other.db").write_text("no database")
    order = {"files": files, "study": str(tmp_path / "study"), "options": {"kind": "promptfoo"}}
    for db in (tmp_path, tmp_path / "other.db"):
        code, lines = run({**order, "db": str(db)})
        assert (code, list(lines[-1])) == (2, ["errors"])
        assert not (tmp_path / "study").exists()


def test_a_stopped_import_gives_its_scratch_space_back(tmp_path: Path) -> None:
    scratch, file = tmp_path / "scratch", tmp_path / "a.json"
    scratch.mkdir()
    rows = [
        {
            "promptIdx": 0,
            "testIdx": n,
            "vars": {"question": f"Question {n // 2}?"},
            "response": {"output": f"{n} " * 99},
        }
        for n in range(40_000)
    ]
    file.write_text(json.dumps({"results": {"results": rows}}))
    order = {"files": [str(file)], "study": str(tmp_path / "study"), "options": {"kind": "promptfoo"}, "db": None}
    process = subprocess.Popen(
        [sys.executable, "-m", "audit_core.cli.job"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    json.dump(order, process.stdin)
    process.stdin.close()
    assert json.loads(process.stdout.readline())["stage"] == "reading"
    assert list(scratch.iterdir())
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    assert process.wait() == 128 + signal.SIGTERM
    assert not list(scratch.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "scratch"]
