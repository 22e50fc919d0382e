"""Ids and answers are kept to the letter, whatever other tools would make of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_core.importers.staging import Staging
from audit_core.readmodel.load import load
from audit_core.verify import verify
from tests.support.tables import (
    HEADER,
    answers,
    cells,
    imported,
    problems,
    rows,
    write_csv,
    write_jsonl,
    write_parquet,
    write_text,
)

LETTERS = [
    "None", "NA", "N/A", "null", "NULL", "nan", "NaN", "", "-", "#N/A", "inf", "True", "false",
    "007", "1e5", "1.10", "+1", "12:30:45", "2024-01-01", "1,000", " lead", "trail ", "\t",
    "=1+1", "'quoted'", '"', "a,b",
    "line\nbreak", "bare\rreturn", "both\r\n", "\u2028", "\u0085", "\x00nul", "\ufeff", "e\u0301", "🙂", "x" * 200_000,
]  # fmt: skip
IDS = [
    "-7013890438520559398", "7089015503030534342", "18446744073709551615", "007", "7", "7.0", "1e5", "None", "nan",
    "q 1", "q_1", "q/1", "q'1", '"q"', "[q1]", "Q1", "q1", "q1 ", "ｑ1", "a;DROP TABLE cell;--",
    "../up", "x" * 3_000, "é", "e\u0301",
]  # fmt: skip
WRITERS = pytest.mark.parametrize(
    "write", [write_csv, write_jsonl, write_parquet], ids=["table.csv", "table.jsonl", "table.parquet"]
)


def file_of(tmp_path: Path, write) -> Path:
    return tmp_path / ("table." + write.__name__.removeprefix("write_"))


@WRITERS
def test_answers_and_ids_survive_to_the_letter(tmp_path: Path, write) -> None:
    table = [
        {"question_id": question_id, "state": "A", "repeat": repeat, "answer": answer}
        for question_id in IDS
        for repeat, answer in enumerate(LETTERS)
    ]
    report, study = imported(tmp_path, write(file_of(tmp_path, write), table))
    assert answers(study) == {(r["question_id"], "A", r["repeat"]): r["answer"] for r in table}
    assert report.rows == len(table)
    assert [question.question_id for question in study.questions()] == IDS


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
CELL = st.tuples(
    st.sampled_from(["q1", "q2", "Q2", "q 2"]), st.sampled_from(["A", "B ", "ladder,c"]), st.integers(0, 3)
)


@WRITERS
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.dictionaries(CELL, TEXT, min_size=1))
def test_any_table_comes_back_as_it_was(tmp_path_factory, write, table: dict[tuple[str, str, int], str]) -> None:
    tmp_path = tmp_path_factory.mktemp("t")
    long = [dict(zip(HEADER, (q, s, str(r), answer), strict=True)) for (q, s, r), answer in table.items()]
    report, study = imported(tmp_path, write(file_of(tmp_path, write), long))
    assert answers(study) == table
    assert report.rows == len(table)
    assert report.questions == len({q for q, _, _ in table})
    assert list(report.states) == list(dict.fromkeys(s for _, s, _ in table))


def test_blank_the_word_none_null_and_an_absent_key_are_four_things(tmp_path: Path) -> None:
    table = write_text(
        tmp_path / "t.jsonl",
        '{"question_id":"q1","state":"A","repeat":1,"answer":""}\n'
        '{"question_id":"q1","state":"A","repeat":2,"answer":"None"}\n'
        '{"question_id":"q1","state":"B","repeat":1,"answer":null}\n'
        '{"question_id":"q1","state":"B","repeat":2}\n',
    )
    report, study = imported(tmp_path, table)
    assert answers(study) == {("q1", "A", 1): "", ("q1", "A", 2): "None", ("q1", "B", 1): None, ("q1", "B", 2): None}
    found = problems(report)
    assert {kind: found[kind] for kind in found if "answer" in kind and "states" not in kind} == {
        "blank_answers": 1,
        "answers_that_read_like_nothing": 1,
        "null_answers": 1,
        "absent_answers": 1,
    }


def test_words_that_table_tools_take_for_missing_are_text(tmp_path: Path) -> None:
    table = write_text(
        tmp_path / "t.csv", "question_id,state,repeat,answer\nq1,A,1,None\nq1,A,2,NA\nq1,B,1,null\nq1,B,2,\n"
    )
    report, study = imported(tmp_path, table)
    assert list(answers(study).values()) == ["None", "NA", "null", ""]
    assert problems(report)["answers_that_read_like_nothing"] == 3


def test_numbers_in_jsonl_keep_their_digits(tmp_path: Path) -> None:
    table = write_text(
        tmp_path / "t.jsonl",
        '{"question_id":18446744073709551615,"state":7,"repeat":1,"answer":1.10,"gold":[1.10,"x"]}\n'
        '{"question_id":18446744073709551615,"state":7,"repeat":2,"answer":100000000000000000000000}\n',
    )
    report, study = imported(tmp_path, table)
    (dossier,) = study.dossiers()
    assert dossier.question.question_id == "18446744073709551615"
    assert [cell.answer for cell in dossier.cells] == ["1.10", "100000000000000000000000"]
    assert [cell.state for cell in dossier.cells] == ["7", "7"]
    assert dossier.gold is not None
    assert dossier.gold.aliases == ("1.10", "x")
    assert problems(report)["number_ids"] == 2
    assert problems(report)["number_answers"] == 2


def test_parquet_integers_keep_their_digits(tmp_path: Path) -> None:
    table = [
        {"question_id": 2**63 - 1, "state": "A", "repeat": 1, "answer": "x"},
        {"question_id": -7013890438520559398, "state": "A", "repeat": 1, "answer": None},
    ]
    report, study = imported(tmp_path, write_parquet(tmp_path / "t.parquet", table))
    assert [q.question_id for q in study.questions()] == [str(2**63 - 1), "-7013890438520559398"]
    assert problems(report)["null_answers"] == 1


def test_a_record_without_an_id_is_named_and_harms_no_other(tmp_path: Path) -> None:
    table = write_text(
        tmp_path / "t.csv",
        "question_id,state,repeat,answer\n-7013890438520559398,A,1,x\n7089015503030534342,A,1,y\n,A,1,z\n  ,A,2,z\n",
    )
    report, study = imported(tmp_path, table)
    assert answers(study) == {("-7013890438520559398", "A", 1): "x", ("7089015503030534342", "A", 1): "y"}
    blank = next(finding for finding in report.problems if finding.kind == "blank_ids")
    assert (blank.severity, blank.count) == ("error", 2)
    assert blank.where == "t.csv: line 4; t.csv: line 5"


def test_a_lone_surrogate_is_replaced_and_counted(tmp_path: Path) -> None:
    table = write_text(
        tmp_path / "t.jsonl",
        '{"question_id":"q\\udc00","state":"A","repeat":1,"answer":"ok \\ud83d"}\n'
        '{"question_id":"q\\udc00","state":"A","repeat":2,"answer":"ok \\ud83d\\ude42"}\n',
    )
    report, study = imported(tmp_path, table)
    assert answers(study) == {("q\ufffd", "A", 1): "ok \ufffd", ("q\ufffd", "A", 2): "ok 🙂"}
    assert problems(report)["surrogates"] == 3


def test_line_ends_inside_answers_add_no_rows(tmp_path: Path) -> None:
    table = [
        dict(zip(HEADER, ("q1", "A", str(n), text), strict=True)) for n, text in enumerate(("p\rq", "x\r\ny", "z\n"))
    ]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert report.rows == 3
    assert list(answers(study).values()) == ["p\rq", "x\r\ny", "z\n"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_of_the_file_do_not_matter(tmp_path: Path, line_end: str, mark: str) -> None:
    text = mark + line_end.join(["question_id,state,repeat,answer", "q1,A,1,x", 'q1,A,2,"y\nz"', ""])
    _, study = imported(tmp_path, write_text(tmp_path / "t.csv", text))
    assert answers(study) == {("q1", "A", 1): "x", ("q1", "A", 2): "y\nz"}


def test_provenance_names_file_digest_and_record(tmp_path: Path) -> None:
    one = write_csv(tmp_path / "one.csv", rows(2, ["A"]))
    two = write_jsonl(tmp_path / "two.jsonl", rows(2, ["B"]))
    report, study = imported(tmp_path, one, two)
    assert [source.name for source in study.protocol.sources] == ["one.csv", "two.jsonl"]
    assert [file["sha256"] for file in report.files] == [source.sha256 for source in study.protocol.sources]
    assert {(c.source, c.record) for c in cells(study).values()} == {(s, n) for s in (0, 1) for n in range(1, 5)}


def test_the_scratch_space_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Staging():
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_the_database_holds_every_letter(tmp_path: Path) -> None:
    table = [
        {"question_id": question_id, "state": "A", "repeat": repeat, "answer": answer}
        for question_id in IDS
        for repeat, answer in enumerate(LETTERS[:-1])
    ]
    _, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    load([study.path], tmp_path / "audit.db", verifier=verify)
    connection = sqlite3.connect(tmp_path / "audit.db")
    found = connection.execute(
        "SELECT question_id, 'A', repeat, answer FROM cell JOIN question USING (question_key)"
    ).fetchall()
    connection.close()
    assert {row[:3]: row[3] for row in found} == answers(study)
    assert len(found) == len(table)
