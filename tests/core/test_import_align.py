"""Rows meet by id, state and repeat; what cannot be one study is an error that names the ids."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from audit_core.errors import InputError
from tests.support.tables import answers, dossiers, imported, problems, rows, write_csv, write_jsonl, write_text


def refused(tmp_path: Path, *files: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, *files, **options)
    assert not (tmp_path / "study").exists()
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*.partial"))
    for problem in caught.value.problems:
        assert problem.what
        assert problem.where or problem.found or problem.expected
    return str(caught.value)


def test_row_order_changes_nothing_but_the_order_of_questions(tmp_path: Path) -> None:
    table = rows(8, ["A", "B"], 3)
    _, straight = imported(tmp_path, write_csv(tmp_path / "a.csv", table))
    shuffled = list(table)
    random.Random(5).shuffle(shuffled)
    other = tmp_path / "other"
    other.mkdir()
    _, mixed = imported(other, write_csv(other / "a.csv", shuffled), states=("A,B",))
    assert answers(straight) == answers(mixed)


def test_states_in_files_of_their_own_meet_by_id(tmp_path: Path) -> None:
    new = rows(3, ["B"])
    _, study = imported(
        tmp_path, write_csv(tmp_path / "a.csv", rows(3, ["A"])), write_jsonl(tmp_path / "b.jsonl", reversed(new))
    )
    assert [s.name for s in study.protocol.states] == ["A", "B"]
    assert study.protocol.endpoints == ("A", "B")
    assert answers(study)["q1", "B", 2] == "answer 1 B 2"


def test_integer_and_text_ids_are_one_documented_form(tmp_path: Path) -> None:
    old = write_text(
        tmp_path / "a.jsonl",
        "".join(f'{{"question_id":{i},"state":"A","repeat":1,"answer":"x"}}\n' for i in range(224)),
    )
    new = write_text(
        tmp_path / "b.jsonl",
        "".join(f'{{"question_id":"{i}","state":"B","repeat":1,"answer":"y"}}\n' for i in range(224)),
    )
    report, study = imported(tmp_path, old, new)
    assert (report.questions, len(answers(study))) == (224, 448)
    sentences = {finding.kind: finding.sentence for finding in report.problems}
    assert sentences["number_ids"] == "224 integer ids were read as text."


@pytest.mark.parametrize("answer", ["y", "x"])
def test_an_integer_and_a_text_id_in_one_cell_are_refused(tmp_path: Path, answer: str) -> None:
    table = write_text(
        tmp_path / "t.jsonl",
        '{"question_id":1,"state":"A","repeat":1,"answer":"x"}\n'
        f'{{"question_id":"1","state":"A","repeat":1,"answer":"{answer}"}}\n',
    )
    message = refused(tmp_path, table)
    assert "1 / A / repeat 1" in message
    assert "line 1" in message
    assert "line 2" in message


def test_two_answers_for_one_cell_are_refused_and_named(tmp_path: Path) -> None:
    table = [*rows(2), {"question_id": "q1", "state": "B", "repeat": "2", "answer": "another"}]
    message = refused(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert "q1 / B / repeat 2" in message
    assert "'another'" in message
    assert "t.csv: line 9; t.csv: line 10" in message


def test_rows_that_repeat_one_another_are_kept_once_and_counted(tmp_path: Path) -> None:
    table = rows(3)
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table + table[:4] + table[:1]))
    assert problems(report)["duplicate_rows"] == 5
    assert report.rows == len(table) + 5
    assert len(answers(study)) == len(table)


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(1))
    assert "same file twice" in refused(tmp_path, table, tmp_path / "." / "t.csv")


def test_another_question_under_an_id_is_refused_before_any_statistic(tmp_path: Path) -> None:
    old = write_csv(tmp_path / "a.csv", [{**row, "question": "who won in 2022"} for row in rows(1, ["A"])])
    new = write_csv(tmp_path / "b.csv", [{**row, "question": "who won in 2023"} for row in rows(1, ["B"])])
    message = refused(tmp_path, old, new)
    assert "'q0' has two questions" in message
    assert "2022" in message
    assert "2023" in message


def test_another_layout_of_a_question_is_a_notice(tmp_path: Path) -> None:
    table = [{**row, "question": text} for row, text in zip(rows(1, ["A"]), ["who  won?", "who won? "], strict=True)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert problems(report)["questions_laid_out_differently"] == 1
    assert next(study.questions()).text == "who  won?"


def test_another_gold_under_an_id_is_refused(tmp_path: Path) -> None:
    table = [{**row, "gold": gold} for row, gold in zip(rows(1, ["A"]), [["Oslo"], ["Bergen"]], strict=True)]
    assert "'q0' has two golds" in refused(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))


def test_the_same_gold_in_another_order_is_the_same(tmp_path: Path) -> None:
    table = [{**row, "gold": gold} for row, gold in zip(rows(1, ["A"]), [["x", "y"], ["y", "x"]], strict=True)]
    _, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    assert dossiers(study)["q0"].gold.aliases == ("x", "y")


def test_a_gold_table_is_joined_one_to_one(tmp_path: Path) -> None:
    gold = [{"question_id": f"q{n}", "gold": json.dumps([f"gold {n}"]), "tags": "x,y", "weight": 5} for n in range(4)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", rows(3)), write_csv(tmp_path / "gold.csv", gold))
    assert len(answers(study)) == 12
    assert dossiers(study)["q2"].gold.aliases == ("gold 2",)
    assert dossiers(study)["q2"].question.tags == ("x", "y")
    assert dossiers(study)["q2"].question.weight == 5
    assert report.questions == 3
    assert problems(report)["gold_of_unknown_questions"] == 1


def test_an_id_that_a_gold_table_holds_twice_multiplies_nothing(tmp_path: Path) -> None:
    table = write_text(tmp_path / "t.csv", "question_id,state,repeat,answer\nq1,A,1,x\nq1,A,2,y\n")
    gold = write_text(tmp_path / "gold.csv", "question_id,gold\nq1,x\nq1,X!\n")
    assert "'q1' has two golds" in refused(tmp_path, table, gold)
    gold.write_text("question_id,gold\nq1,x\nq1,x\n")
    report, study = imported(tmp_path, table, gold)
    assert len(answers(study)) == 2
    assert report.rows == 4


def test_missing_cells_and_uneven_repeats_are_listed(tmp_path: Path) -> None:
    table = [row for row in rows(4, ["A"], 3) + rows(4, ["B"], 2) if (row["question_id"], row["repeat"]) != ("q2", "1")]
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert report.repeats == {"A": 3, "B": 2}
    missing = next(finding for finding in report.problems if finding.kind == "missing_cells")
    assert (missing.count, missing.where) == (2, "q2 / A / repeat 1; q2 / B / repeat 1")
    assert problems(report)["uneven_repeats"] == 1
    assert problems(report)["too_few_repeats"] == 1
    assert [line["cells"] for line in report.coverage["grid"]] == [["●●●", "●●"]] * 2 + [["·●●", "·●"], ["●●●", "●●"]]


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    table = rows(30, ["A", "B"], 2)
    dirty = [
        *table,
        *table[:7],
        {**table[0], "question_id": ""},
        {**table[0], "repeat": "two"},
        {**table[0], "state": " "},
    ]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", dirty))
    found = problems(report)
    left_out = found["blank_ids"] + found["unreadable_values"] + found["blank_states"]
    assert report.rows == len(dirty) == len(answers(study)) + found["duplicate_rows"] + left_out


def test_ids_come_from_the_questions_where_there_is_no_such_column(tmp_path: Path) -> None:
    text = "question,state,repeat,answer\nWho won?,A,1,x\n who  WON? ,A,2,y\nWho lost?,A,1,z\n,A,1,lost\n"
    report, study = imported(tmp_path, write_text(tmp_path / "t.csv", text))
    assert sorted(answers(study).values()) == ["x", "y", "z"]
    assert report.questions == 2
    found = problems(report)
    assert (found["ids_made_from_questions"], found["blank_questions"]) == (1, 1)


def test_equal_texts_under_two_ids_and_twins_of_ids_are_reported_not_merged(tmp_path: Path) -> None:
    table = [
        {"question_id": name, "question": text, "state": "A", "repeat": "1", "answer": name}
        for name, text in [("q1", "How many?"), ("Q1", "Who?"), ("q2", "how many? "), ("ｑ2", "When?")]
    ]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert len(answers(study)) == 4
    assert (problems(report)["lookalike_ids"], problems(report)["identical_questions"]) == (2, 1)


def test_one_row_a_passage_is_one_cell_with_its_evidence_in_order(tmp_path: Path) -> None:
    text = (
        "query_id,query,query_run,passage_id,passage,generated_answer\n"
        "q6,How many?,1,[1],a,Seven [1]\nq6,How many?,2,[1],a,There are seven [1]\nq6,How many?,2,[2],b,\n"
        "q3,How many?,1,[2],a,Seven [2]\n"
    )
    mapping = ("question_id=query_id", "question=query", "repeat=query_run", "answer=generated_answer")
    report, study = imported(tmp_path, write_text(tmp_path / "t.csv", text), mapping=mapping, state="all")
    assert answers(study) == {
        ("q6", "all", 1): "Seven [1]",
        ("q6", "all", 2): "There are seven [1]",
        ("q3", "all", 1): "Seven [2]",
    }
    shown = {e.repeat: [d.document_id for d in e.documents] for e in dossiers(study)["q6"].evidence}
    assert shown == {1: ["[1]"], 2: ["[1]", "[2]"]}
    assert sorted(text for _, text in study.passages()) == ["a", "b"]
    found = problems(report)
    assert (found["identical_questions"], found["evidence_differs_between_repeats"]) == (1, 1)
    assert "blank_answers" not in found


def test_a_passage_row_with_another_answer_is_refused(tmp_path: Path) -> None:
    text = "question_id,state,repeat,passage,answer\nq,A,1,a,x\nq,A,1,b,y\n"
    assert "q / A / repeat 1" in refused(tmp_path, write_text(tmp_path / "t.csv", text))


def test_a_cell_of_blank_passage_rows_has_a_blank_answer(tmp_path: Path) -> None:
    text = "question_id,state,repeat,evidence,answer\nq,A,1,some words,\nq,A,1,other words,\n"
    report, study = imported(tmp_path, write_text(tmp_path / "t.csv", text))
    assert answers(study) == {("q", "A", 1): ""}
    assert [d.rank for d in dossiers(study)["q"].evidence[0].documents] == [1, 2]
    assert problems(report)["blank_answers"] == 1


def test_states_that_share_no_question_are_named(tmp_path: Path) -> None:
    other = [{**row, "question_id": "x" + row["question_id"]} for row in rows(3, ["B"])]
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", rows(3, ["A"]) + other + rows(1, ["C"])))
    found = next(finding for finding in report.problems if finding.kind == "states_without_common_questions")
    assert (found.count, found.where) == (2, "A and B; B and C")


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("x/in", "y/in", "z"):
        (tmp_path / folder).mkdir(parents=True)
        write_csv(tmp_path / folder / "t.csv", rows(1, [folder]))
    report, _ = imported(tmp_path, *(tmp_path / folder / "t.csv" for folder in ("x/in", "y/in", "z")))
    assert [file["name"] for file in report.files] == ["x/in/t.csv", "y/in/t.csv", "z/t.csv"]
