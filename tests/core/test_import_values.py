"""Gold, evidence, tags, weights and states: what each may look like, and what is never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit_core.digests import sha256
from tests.support.tables import (
    answers,
    dossiers,
    imported,
    problems,
    rows,
    write_csv,
    write_jsonl,
    write_parquet,
    write_text,
)


def aliases(
    tmp_path: Path, gold: Any, write=write_jsonl, **options: Any
) -> tuple[tuple[str, ...] | None, dict[str, int]]:
    name = {"write_csv": "t.csv", "write_jsonl": "t.jsonl", "write_parquet": "t.parquet"}[write.__name__]
    table = [{**row, "gold": gold} for row in rows(1, ["A"])]
    report, study = imported(tmp_path, write(tmp_path / name, table), **options)
    found = dossiers(study)["q0"].gold
    return found and found.aliases, problems(report)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["Montreal", "City of Montreal"], ("Montreal", "City of Montreal")),
        (["x", "x", "X"], ("x", "X")),
        ('["x", "y"]', ("x", "y")),
        ("AC/DC", ("AC/DC",)),
        ("1976/2017/18", ("1976/2017/18",)),
        ("Super Bowl LII,/2017", ("Super Bowl LII,/2017",)),
        ("[x", ("[x",)),
        ("no", ("no",)),
        (" padded ", (" padded ",)),
        ("", None),
        ("[]", None),
    ],
)
def test_gold_is_a_list_or_one_text_and_never_split(
    tmp_path: Path, gold: Any, expected: tuple[str, ...] | None
) -> None:
    assert aliases(tmp_path, gold)[0] == expected


def test_gold_is_split_only_where_a_separator_is_given_and_examples_are_shown(tmp_path: Path) -> None:
    found, counts = aliases(tmp_path, "AC/DC", write_csv, gold_separator="/")
    assert found == ("AC", "DC")
    assert counts["gold_split"] == 1


def test_gold_in_several_columns(tmp_path: Path) -> None:
    text = "question_id,state,repeat,answer,gold,gold,other\nq,A,1,x,one,,three\nq,A,2,x,one,,three\n"
    table = write_text(tmp_path / "t.csv", text)
    _, study = imported(tmp_path, table)
    assert dossiers(study)["q"].gold.aliases == ("one",)
    (tmp_path / "more").mkdir()
    _, study = imported(tmp_path / "more", table, mapping=("gold=gold", "gold=other"))
    assert dossiers(study)["q"].gold.aliases == ("one", "three")


def test_blank_aliases_and_other_notations_are_counted(tmp_path: Path) -> None:
    assert aliases(tmp_path, ["x", " ", ""])[1]["blank_aliases"] == 2
    (tmp_path / "b").mkdir()
    found, counts = aliases(tmp_path / "b", "['x', 'y']", write_csv)
    assert found == ("['x', 'y']",)
    assert counts["gold_in_other_notation"] == 1


def test_evidence_that_is_nearly_a_list_is_said(tmp_path: Path) -> None:
    table = [{**row, "evidence": '["d1", "d2"'} for row in rows(1, ["A"])]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert len(dossiers(study)["q0"].evidence[0].documents) == 1
    kinds = {problem["kind"]: problem["count"] for problem in report.as_json()["problems"]}
    assert kinds["evidence_in_other_notation"] == len(table)


def test_gold_and_evidence_lists_in_parquet(tmp_path: Path) -> None:
    table = [
        {**row, "gold": ["x", "y"], "evidence": [{"document_id": "d1", "text": "t", "score": 0.5}], "weight": 3}
        for row in rows(1, ["A"])
    ]
    _, study = imported(tmp_path, write_parquet(tmp_path / "t.parquet", table))
    found = dossiers(study)["q0"]
    assert found.gold.aliases == ("x", "y")
    assert found.evidence[0].documents[0].score == "0.5"
    assert found.question.weight == 3


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (["d2", "d1", 7], [("d2", None, None, ""), ("d1", None, None, ""), ("7", None, None, "")]),
        ('["d2", "d1"]', [("d2", None, None, ""), ("d1", None, None, "")]),
        (
            [{"document_id": "d1", "text": "words", "score": 0.10, "title": "T"}, {"id": 5, "content": "more"}],
            [("d1", "words", "0.1", "T"), ("5", "more", None, "")],
        ),
        ([{"text": "only text"}], [("text-" + sha256(b"only text")[:16], "only text", None, "")]),
        ("one passage, no list", [("text-" + sha256(b"one passage, no list")[:16], "one passage, no list", None, "")]),
        (["w " * 200], [("text-" + sha256(b"w " * 200)[:16], "w " * 200, None, "")]),
        ([], []),
        (None, None),
        ("", None),
    ],
)
def test_evidence_forms(tmp_path: Path, evidence: Any, expected: list[tuple[str, Any, Any, str]] | None) -> None:
    table = [{**row, "evidence": evidence} for row in rows(1, ["A"], 1)]
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    texts = dict(study.passages())
    found = [
        [(d.document_id, texts.get(d.passage or ""), d.score, d.title) for d in evidence.documents]
        for evidence in dossiers(study)["q0"].evidence
    ]
    assert found == ([] if expected is None else [expected])
    assert ("no_evidence" in problems(report)) == (expected is None)


def test_equal_evidence_is_kept_once_for_all_repeats(tmp_path: Path) -> None:
    table = [{**row, "evidence": ["d1", "d2"]} for row in rows(1, ["A"], 3)]
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    (evidence,) = dossiers(study)["q0"].evidence
    assert evidence.repeat is None
    assert study.protocol.retrieval_depth == 2
    assert "evidence_differs_between_repeats" not in problems(report)


def test_evidence_of_one_repeat_does_not_stand_for_repeats_that_name_none(tmp_path: Path) -> None:
    table = [{**row, "evidence": ["d1"]} if row["repeat"] == "1" else row for row in rows(1, ["A"], 3)]
    _, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    (evidence,) = dossiers(study)["q0"].evidence
    assert evidence.repeat == 1


def test_repeats_that_failed_need_no_evidence_of_their_own(tmp_path: Path) -> None:
    table = [{**row, "evidence": ["d1"]} for row in rows(1, ["A"], 3)]
    table[1] = {k: v for k, v in table[1].items() if k not in ("answer", "evidence")} | {"error": "503"}
    _, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    (evidence,) = dossiers(study)["q0"].evidence
    assert evidence.repeat is None


def test_documents_named_twice_and_ids_with_several_texts_are_noticed(tmp_path: Path) -> None:
    table = [
        {**row, "evidence": [{"id": "1", "text": row["state"]}, {"id": "1", "text": row["state"]}]} for row in rows(1)
    ]
    report, _ = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    assert problems(report)["documents_repeated"] == 2
    assert problems(report)["document_ids_with_several_texts"] == 1


@pytest.mark.parametrize("evidence", [True, {"id": "d"}, [True], [{"score": 1}], [["d"]]])
def test_evidence_that_cannot_be_meant_leaves_the_record_out(tmp_path: Path, evidence: Any) -> None:
    table = rows(1, ["A"])
    table[1]["evidence"] = evidence
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    assert list(answers(study)) == [("q0", "A", 1)]
    assert problems(report)["unreadable_values"] == 1


def test_tags_and_weights_of_any_row_belong_to_the_question(tmp_path: Path) -> None:
    extra = [{"tags": '["b", "a"]', "weight": "12"}, {"tags": "a, c,", "weight": "12.0"}, {"tags": "", "weight": "13"}]
    table = [{**row, **more} for row, more in zip(rows(1, ["A"], 3), extra, strict=True)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    question = next(study.questions())
    assert (question.tags, question.weight) == (("a", "b", "c"), 12)
    assert problems(report)["different_weights"] == 1


@pytest.mark.parametrize(
    ("repeat", "expected"),
    [("1", 1), ("0", 0), ("1.0", 1), (" 2 ", 2), ("1e0", None), ("-1", None), ("one", None), ("1.5", None)],
)
def test_repeats_are_whole_numbers(tmp_path: Path, repeat: str, expected: int | None) -> None:
    table = [*rows(1, ["A"], 1), {"question_id": "q9", "state": "A", "repeat": repeat, "answer": "x"}]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert [key[2] for key in answers(study) if key[0] == "q9"] == ([] if expected is None else [expected])
    assert problems(report).get("unreadable_values", 0) == (expected is None)


@pytest.mark.parametrize("value", [True, ["x"], {"text": "x"}])
@pytest.mark.parametrize("column", ["question_id", "answer", "state", "question"])
def test_values_of_another_kind_are_never_turned_into_text(tmp_path: Path, column: str, value: Any) -> None:
    table: list[dict[str, Any]] = rows(1, ["A"])
    table[1][column] = value
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    assert list(answers(study)) == [("q0", "A", 1)]
    assert report.problems[0].kind == "unreadable_values"
    assert "t.jsonl: line 2" in report.problems[0].where


def test_states_from_files_and_folders(tmp_path: Path) -> None:
    header = ("question_id", "answer")
    for folder in ("old", "new", "empty"):
        (tmp_path / "in" / folder).mkdir(parents=True)
    for path in ("old/a-0.csv", "old/a-1.csv", "new/a-0.csv", "new/a-1.csv"):
        write_csv(tmp_path / "in" / path, [{"question_id": "q", "answer": path}], header)
    (tmp_path / "in" / "old" / "._a-0.csv").write_bytes(b"\x00\x05\x16\x07")
    (tmp_path / "in" / "notes.md").write_text("not a table")
    report, study = imported(tmp_path, tmp_path / "in", state_from="folder", number_repeats=True, states=("old", "new"))
    assert answers(study) == {
        ("q", "old", 1): "old/a-0.csv", ("q", "old", 2): "old/a-1.csv",
        ("q", "new", 1): "new/a-0.csv", ("q", "new", 2): "new/a-1.csv",
    }  # fmt: skip
    skipped = next(finding for finding in report.problems if finding.kind == "skipped_files")
    assert skipped.count == 3
    for name in ("._a-0.csv", "notes.md", "empty"):
        assert name in skipped.where
    assert [file["name"] for file in report.files] == ["new/a-0.csv", "new/a-1.csv", "old/a-0.csv", "old/a-1.csv"]


def test_saved_row_numbers_are_no_columns(tmp_path: Path) -> None:
    text = ",Unnamed: 0,Unnamed: 0.1,question_id,state,repeat,answer,note\n0,0,0,q,A,1,x,n\n1,1,1,q,A,2,y,n\n"
    report, study = imported(tmp_path, write_text(tmp_path / "t.csv", text))
    assert len(answers(study)) == 2
    assert problems(report)["ignored_columns"] == 1


def test_a_file_without_a_state_is_a_state(tmp_path: Path) -> None:
    files = [write_csv(tmp_path / name, rows(2, ["x"]), ("question_id", "repeat", "answer"), extrasaction="ignore")
             for name in ("old.csv", "new.csv")]  # fmt: skip
    report, study = imported(tmp_path, *files)
    assert study.protocol.endpoints == ("old", "new")
    assert len(answers(study)) == 8
    assert problems(report)["states_named_after_files"] == 2


def test_a_file_without_repeats_holds_one_of_each(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "a.csv", [{"question_id": f"q{n}", "answer": "x"} for n in range(2)])
    report, study = imported(tmp_path, table, state_from="file")
    assert list(answers(study)) == [("q0", "a", 1), ("q1", "a", 1)]
    assert problems(report)["no_repeat_column"] == 1


@pytest.mark.parametrize(
    "mapping", [("question_id=qid", "answer=out"), ("qid=question_id", "out=answer"), ("answer=out", "qid=question_id")]
)
def test_columns_are_mapped_in_either_direction(tmp_path: Path, mapping: tuple[str, ...]) -> None:
    table = write_text(tmp_path / "t.csv", "qid,state,repeat,out,answer2\nq,A,1,x,no\n")
    _, study = imported(tmp_path, table, mapping=mapping)
    assert answers(study) == {("q", "A", 1): "x"}


def test_a_mapping_outranks_a_column_of_the_same_name(tmp_path: Path) -> None:
    table = write_text(tmp_path / "t.csv", "question_id,state,repeat,answer,raw\nq,A,1,cleaned,to the letter\n")
    _, study = imported(tmp_path, table, mapping=("answer=raw",))
    assert answers(study) == {("q", "A", 1): "to the letter"}


def test_ladder_endpoints_and_closed_book(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(1, ["n3", "n1", "n0", "a,b"]))
    _, study = imported(tmp_path, table, states=("n0,n1", "n3,a,b"), endpoints=("n1,n3",), closed_book="n0")
    assert [(s.name, s.closed_book) for s in study.protocol.states] == [
        ("n0", True), ("n1", False), ("n3", False), ("a,b", False),
    ]  # fmt: skip
    assert study.protocol.endpoints == ("n1", "n3")
    (tmp_path / "more").mkdir()
    _, study = imported(tmp_path / "more", table, endpoints=("n1", "n3"))
    assert [s.name for s in study.protocol.states] == ["n1", "n0", "a,b", "n3"]


def test_title_rule_and_unknown_texts(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(1))
    _, study = imported(tmp_path, table, title="A title", rule="triviaqa/1", unknown=("UNKNOWN", "I don't know"))
    assert (study.protocol.title, study.protocol.normalization) == ("A title", "triviaqa/1")
    assert study.protocol.unknown_texts == ("UNKNOWN", "I don't know")


@pytest.mark.parametrize(
    ("name", "study_id"), [("My Study!", "my-study"), ("ü", "imported"), ("..a..", "a"), ("x" * 99, "x" * 64)]
)
def test_any_folder_name_gives_an_identifier(tmp_path: Path, name: str, study_id: str) -> None:
    from audit_core.importers.table import import_table
    from audit_core.study import Study

    import_table([write_csv(tmp_path / "t.csv", rows(1))], tmp_path / "in" / name)
    assert Study(tmp_path / "in" / name).protocol.study_id == study_id


def test_separated_by_semicolons_and_tabs(tmp_path: Path) -> None:
    for number, (name, mark, options) in enumerate(
        [("t.csv", ";", {"delimiter": ";"}), ("t.tsv", "\t", {}), ("t.txt", "\t", {"delimiter": "\\t"})]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        _, study = imported(folder, write_csv(folder / name, rows(1), delimiter=mark), **options)
        assert len(answers(study)) == 4


def test_large_reports_put_equal_questions_together(tmp_path: Path) -> None:
    table = [row for row in rows(100) if row["question_id"] != "q7" or row["state"] == "A"]
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert report.coverage["grid"] == [
        {"questions": 99, "examples": ["q0", "q1", "q2"], "cells": ["●●", "●●"]},
        {"questions": 1, "examples": ["q7"], "cells": ["●●", "··"]},
    ]
    assert json.loads(json.dumps(report.as_json())) == report.as_json()


def test_more_files_than_may_be_open_at_once(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    files = [write_jsonl(tmp_path / f"{n}.jsonl", [{"question_id": f"q{n}", "state": "A", "repeat": 1, "answer": "x"}])
             for n in range(120)]  # fmt: skip
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        report, _ = imported(tmp_path, *files)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert report.questions == 120
