"""The other kinds of logs, each with its own shape, and what is refused or asked about in it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.results import arrays_of, estimate_all
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.made_logs import QUESTIONS, langfuse_items, phoenix_records, taken, told, write, write_lines
from tests.support.shared import shared
from tests.support.tables import answers, cells, dossiers, problems, write_csv

CELLS = {(text, repeat): told(number, repeat) for number, text in enumerate(QUESTIONS) for repeat in (1, 2)}


def by_question(study: Study) -> dict[tuple[str, int], str | None]:
    return {(d.question.text or "", c.repeat): c.answer for d in study.dossiers() for c in d.cells}


def checked(study: Study) -> Study:
    assert not [check for check in verify(study.path) if check.result == "failed"]
    return study


RAGAS = [
    {
        "user_input": question,
        "retrieved_contexts": [f"text {number}", f"more {number}"],
        "retrieved_context_ids": [f"d{number}", "m"],
        "reference": f"gold {number}",
        "multi_responses": [told(number, 1), told(number, 2)],
        "faithfulness": float("nan"),
    }
    for number, question in enumerate(QUESTIONS)
]


def test_ragas_responses_of_one_record_are_repeats(tmp_path: Path) -> None:
    report, study = taken(tmp_path, "ragas", write_lines(tmp_path / "n1.jsonl", RAGAS))
    assert (report.rows, report.repeats) == (3, {"n1": 2})
    assert by_question(checked(study)) == CELLS
    found = next(iter(dossiers(study).values()))
    assert [document.document_id for document in found.evidence[0].documents] == ["d0", "m"]
    assert found.gold.aliases == ("gold 0",)


def test_ragas_files_of_old_names_with_lists_in_cells_are_repeats_by_file(tmp_path: Path) -> None:
    files = [
        write_csv(
            tmp_path / f"run{repeat}.csv",
            [
                {
                    "question": question,
                    "answer": told(number, repeat),
                    "contexts": str([f"text's {number}", f'"more" {number}']),
                    "ground_truths": json.dumps([f"gold {number}", "other"]),
                    "faithfulness": "",
                }
                for number, question in enumerate(QUESTIONS)
            ],
        )
        for repeat in (1, 2)
    ]
    report, study = taken(tmp_path, "ragas", *files, state="n1")
    assert report.repeats == {"n1": 2}
    assert by_question(checked(study)) == CELLS
    found = next(iter(dossiers(study).values()))
    texts = dict(study.passages())
    assert [texts[d.passage] for d in found.evidence[0].documents] == ["text's 0", '"more" 0']
    assert found.gold.aliases == ("gold 0", "other")


def test_an_array_as_it_prints_itself_is_no_list(tmp_path: Path) -> None:
    """Python would read ['a' 'b'] as the one text ab; two passages would silently become another one."""
    row = {"question": QUESTIONS[0], "answer": "x", "contexts": "['first passage' 'second passage']"}
    report, study = taken(tmp_path, "ragas", write_csv(tmp_path / "n1.csv", [row]))
    assert problems(report)["evidence_in_other_notation"] == 1
    assert [text for _, text in study.passages()] == ["['first passage' 'second passage']"]


def test_ragas_messages_and_a_foreign_file(tmp_path: Path) -> None:
    talk = [
        {"content": "Hello", "type": "human"},
        {"content": "Hi", "type": "ai"},
        {"content": "And?", "type": "human"},
    ]
    _, study = taken(tmp_path, "ragas", write_lines(tmp_path / "a.jsonl", [{"user_input": talk, "response": "x"}]))
    assert next(iter(dossiers(study).values())).question.text == "And?"
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="no question in the record"):
        taken(tmp_path / "b", "ragas", write_lines(tmp_path / "b.jsonl", [{"foo": 1}]))


def test_ragchecker(tmp_path: Path) -> None:
    def file(repeat: int) -> Path:
        records = [
            {
                "query_id": f"q{number}",
                "query": question,
                "gt_answer": f"gold {number}",
                "response": told(number, repeat),
                "retrieved_context": [{"doc_id": f"d{number}", "text": "t"}, {"doc_id": None, "text": "u"}],
                "metrics": {},
            }
            for number, question in enumerate(QUESTIONS)
        ]
        return write(tmp_path / f"r{repeat}.json", {"results": records, "metrics": {"overall_metrics": {}}})

    report, study = taken(tmp_path, "ragchecker", file(1), file(2), state="n1")
    assert report.repeats == {"n1": 2}
    assert by_question(checked(study)) == CELLS
    documents = dossiers(study)["q1"].evidence[0].documents
    assert documents[0].document_id == "d1"
    assert documents[1].document_id.startswith("text-")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_phoenix_counts_repetitions_itself(tmp_path: Path, form: str) -> None:
    records = phoenix_records(2)
    records[0] |= {"error": "timed out", "output": None}
    if form == "csv":
        with (tmp_path / "n1.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [name for name in records[0] if name != "annotations"])
            writer.writeheader()
            for record in records:
                writer.writerow(
                    {
                        name: json.dumps(value) if isinstance(value, dict) else value
                        for name, value in record.items()
                        if name != "annotations"
                    }
                )
        file = tmp_path / "n1.csv"
    else:
        file = write(tmp_path / "n1.json", records)
    report, study = taken(tmp_path, "phoenix", file)
    assert report.repeats == {"n1": 2}
    assert by_question(checked(study)) == CELLS | {(QUESTIONS[0], 1): None}
    assert dossiers(study)["example-1"].gold.aliases == ("gold 1",)
    assert dossiers(study)["example-1"].evidence[0].documents
    assert report.coverage["states"][0]["errors"] == 1


def test_deepeval(tmp_path: Path) -> None:
    def file(repeat: int) -> Path:
        cases = [
            {
                "name": f"test_case_{number}",
                "input": question,
                "actualOutput": told(number, repeat),
                "expectedOutput": f"gold {number}",
                "retrievalContext": [f"text {number}"],
                "order": number,
                "metricsData": [],
            }
            for number, question in enumerate(QUESTIONS)
        ]
        return write(
            tmp_path / f"run_{repeat}.json", {"testCases": cases[:: -1 if repeat == 2 else 1], "metricsScores": []}
        )

    report, study = taken(tmp_path, "deepeval", file(1), file(2), state="n1")
    assert report.repeats == {"n1": 2}
    assert by_question(checked(study)) == CELLS


def lm_eval_records(**more: Any) -> list[dict[str, Any]]:
    return [
        {
            "doc_id": number,
            "doc": {"question": question, "answer": [f"gold {number}"]},
            "target": str([f"gold {number}", "other"]),
            "arguments": {"gen_args_0": {"arg_0": f"Q: {question}"}},
            "resps": [[told(number, 1), told(number, 2)]],
            "filtered_resps": [told(number, 1)],
            "filter": name,
            "doc_hash": "x",
            **more,
        }
        for name in ("strict", "flexible")
        for number, question in enumerate(QUESTIONS)
    ]


def test_lm_eval_responses_are_repeats_and_filters_are_not(tmp_path: Path) -> None:
    report, study = taken(tmp_path, "lm-eval", write_lines(tmp_path / "samples_t_1.jsonl", lm_eval_records()))
    assert (report.rows, report.repeats) == (6, {"samples_t_1": 2})
    assert by_question(checked(study)) == CELLS
    assert problems(report)["other_filters"] == 3
    assert dossiers(study)["1"].gold.aliases == ("gold 1", "other")


def test_lm_eval_choices_are_no_answers(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "s.jsonl", lm_eval_records(resps=[[["-1.2", "False"]], [["-3.0", "True"]]]))
    with pytest.raises(InputError, match="no generated answers"):
        taken(tmp_path, "lm-eval", file)


def test_langfuse_runs_are_states_and_may_be_repeats_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = {"data": langfuse_items("monday") + langfuse_items("tuesday", repeat=2) + langfuse_items("new")}
    file = write(tmp_path / "items.json", items)
    report, _ = taken(tmp_path, "langfuse", file)
    assert report.repeats == {"monday": 1, "tuesday": 1, "new": 1}
    states = ["--state", "old=monday", "--state", "old=tuesday"]
    assert main(["import", "langfuse", str(file), *states, "--study", str(tmp_path / "s"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeats"] == {"old": 2, "new": 1}
    found = {key: cell.answer for key, cell in cells(Study(tmp_path / "s")).items() if key[1] == "old"}
    assert found == {(f"item-{n}", "old", r): told(n, r) for n in range(3) for r in (1, 2)}


def test_langfuse_run_items_hold_no_answers(tmp_path: Path) -> None:
    items = [{"id": "x", "datasetRunId": "r", "datasetItemId": "i", "traceId": "t"}]
    with pytest.raises(InputError, match="the items hold no answers"):
        taken(tmp_path, "langfuse", write(tmp_path / "items.json", items))


def test_open_rag_eval_as_it_comes(tmp_path: Path) -> None:
    file = shared("field", "open-rag-eval", "test_csv_connector.csv")
    report, study = taken(tmp_path, "open-rag-eval", file, state="today")
    assert (report.rows, report.questions, len(answers(study)), report.states) == (16, 6, 7, ["today"])
    assert all(answers(study).values())
    lengths = {q: [len(e.documents) for e in d.evidence] for q, d in dossiers(study).items()}
    assert lengths == {
        "query_1": [3], "query_2": [1], "query_3": [2], "query_4": [2], "query_5": [5], "query_6": [1, 2],
    }  # fmt: skip
    assert problems(report)["identical_questions"] == 1
    assert "blank_answers" not in problems(report)
    checked(study)


def test_open_rag_eval_small(tmp_path: Path) -> None:
    """Marks such as [1] are places in a list: the same mark before another passage is another document."""
    head = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")
    table = [
        ("q6", "How many?", "1", "[1]", "a", "Seven [1]"),
        ("q6", "How many?", "2", "[1]", "a", "There are seven [1]"),
        ("q6", "How many?", "2", "[2]", "b", ""),
        ("q3", "How many?", "1", "[1]", "c", "Seven [2]"),
    ]
    file = write_csv(tmp_path / "n1.csv", [dict(zip(head, row, strict=True)) for row in table])
    report, study = taken(tmp_path, "open-rag-eval", file)
    assert answers(study) == {
        ("q6", "n1", 1): "Seven [1]", ("q6", "n1", 2): "There are seven [1]", ("q3", "n1", 1): "Seven [2]",
    }  # fmt: skip
    assert problems(report)["identical_questions"] == 1
    first = {d.evidence[0].documents[0].document_id for d in dossiers(study).values()}
    assert len(first) == 2


def test_llm_comparator_is_for_looking_only(tmp_path: Path) -> None:
    file = shared("field", "llm-comparator", "example_tiny.json")
    count = len(json.loads(file.read_text())["examples"])
    report, study = taken(tmp_path, "llm-comparator", file)
    assert (report.rows, report.questions, len(report.states)) == (count, count, 2)
    assert set(report.repeats.values()) == {1}
    assert problems(report)["no_noise_floor"] == 2
    found = estimate_all(study.protocol, arrays_of(study.protocol, study.dossiers()))
    (churn,) = [e for e in found if e.name.startswith("excess_churn[exact]@")]
    assert churn.value is None
    assert "noise floor" in churn.reason
    checked(study)


def test_ids_that_only_one_state_has_are_listed(tmp_path: Path) -> None:
    one = write(tmp_path / "a.json", phoenix_records(2))
    two = write(
        tmp_path / "b.json",
        [r for r in phoenix_records(2, lambda q, r: f"new {q} {r}") if r["example_id"] != "example-1"],
    )
    report, _ = taken(tmp_path, "phoenix", one, two)
    (found,) = [f for f in report.problems if f.kind == "questions_of_one_state"]
    assert (found.count, found.where) == (1, "example-1: a")


def test_a_folder_of_logs_says_what_it_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "a.json", phoenix_records(2))
    (folder / "._a.json").write_text("{}")
    (folder / "notes.txt").write_text("x")
    report, _ = taken(tmp_path, "phoenix", folder)
    assert (report.states, problems(report)["skipped_files"]) == (["a"], 2)


def test_surrogates_in_a_log(tmp_path: Path) -> None:
    text = json.dumps(phoenix_records(1)).replace("answer 0 in", "\\ud83d in")
    (tmp_path / "a.json").write_text(text)
    report, study = taken(tmp_path, "phoenix", tmp_path / "a.json")
    assert answers(study)["example-0", "a", 1] == "\ufffd in repeat 1"
    assert problems(report)["surrogates"] >= 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--state", "=x.json"],
        ["--state", "a", "--state", "b"],
        ["--state", "new=nowhere.json"],
        ["--map", "foo"],
        ["--state-from", "nothing.here"],
    ],
)
def test_options_that_cannot_be_meant(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.json", phoenix_records(2))
    assert main(["import", "phoenix", str(file), "--study", str(tmp_path / "s"), *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.json", phoenix_records(2))
    assert main(["import", "phoenix", str(file), "--study", str(tmp_path / "s"), "--dry-run"]) == 0
    assert "question is" not in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_what_was_only_guessed_never_costs_the_answer(tmp_path: Path) -> None:
    records = phoenix_records(2)
    for record in records:
        record["reference_output"] = {"correct": True, "score": 0.5}
        record["output"]["documents"] = [{"foo": 1}, 7]
    file = write(tmp_path / "n1.json", records)
    report, study = taken(tmp_path, "phoenix", file)
    assert by_question(study) == CELLS
    counts = problems(report)
    assert (counts["unusable_golds"], counts["unusable_evidence"]) == (6, 6)
    assert all(d.gold is None and not d.evidence for d in study.dossiers())
    with pytest.raises(InputError, match="unusable gold"):
        taken(tmp_path / "x", "phoenix", file, mapping=("gold=reference_output.correct",))


def test_paths_lead_into_cells_that_hold_json(tmp_path: Path) -> None:
    rows = [
        {
            "example_id": f"e{n}",
            "repetition_number": repeat,
            "input": json.dumps({"topic": question, "style": "short"}),
            "output": json.dumps({"parts": {"final": told(n, repeat)}, "half": "\ud83d"}),
            "reference_output": "",
        }
        for n, question in enumerate(QUESTIONS)
        for repeat in (1, 2)
    ]
    file = write_csv(tmp_path / "n1.csv", rows)
    mapping = ("question=input.topic", "answer=output.parts.final")
    report, study = taken(tmp_path, "phoenix", file, mapping=mapping)
    assert by_question(checked(study)) == CELLS
    assert "object_answers" not in problems(report)


def test_all_repeats_alike_are_named(tmp_path: Path) -> None:
    records = [
        {**record, "example_id": f"{record['example_id']}-{n}", "trace_id": "one", "start_time": "2026-01-01T00:00:00Z"}
        for n in range(8)
        for record in phoenix_records(2, lambda q, r: f"a long enough answer in prose to {q}")
    ]
    report, _ = taken(tmp_path, "phoenix", write(tmp_path / "n1.json", records))
    counts = problems(report)
    assert counts["repeats_look_cached"] == 24
    assert counts["equal_response_ids"] == 24
    assert counts["equal_times"] == 24


def test_states_are_not_mapped_and_weights_are(tmp_path: Path) -> None:
    records = [{**record, "metadata": {"traffic": 7, "index": "may"}} for record in phoenix_records(2)]
    file = write(tmp_path / "n1.json", records)
    with pytest.raises(InputError, match=r"--state-from metadata\.index"):
        taken(tmp_path, "phoenix", file, mapping=("state=metadata.index",))
    report, study = taken(
        tmp_path, "phoenix", file, mapping=("weight=metadata.traffic",), state_parts=("metadata.index",)
    )
    assert report.states == ["may"]
    assert {d.question.weight for d in study.dossiers()} == {7}
