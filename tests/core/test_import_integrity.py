"""What an import must notice about its answers, and what it must not cry wolf about."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit_core.importers.findings import KINDS, findings
from audit_core.importers.integrity import TRANSPORT
from audit_core.importers.report import ImportReport
from audit_core.importers.tally import Tally
from audit_core.model import Finding
from audit_core.results import arrays_of, estimate_all
from audit_core.study import Study
from tests.support.tables import answers, cells, imported, problems, rows, write_csv, write_jsonl, write_text

PROSE = "The treaty was signed by all parties in spring, number {}."


def finding(report: ImportReport, kind: str) -> Finding:
    return next(found for found in report.problems if found.kind == kind)


def estimates(study: Study) -> dict[str, object]:
    found = estimate_all(study.protocol, arrays_of(study.protocol, study.dossiers()))
    return {estimate.name: estimate for estimate in found}


def prose(questions: int, copied: int, states: tuple[str, ...] = ("A", "B")) -> list[dict[str, str]]:
    """Prose answers; in state A the second repeat is a copy for the first so many questions."""
    table = rows(questions, states)
    for row in table:
        copy = row["state"] == "A" and int(row["question_id"][1:]) < copied
        row["answer"] = PROSE.format(row["question_id"] + row["state"] + ("" if copy else row["repeat"]))
    return table


@pytest.mark.parametrize(
    ("questions", "copied", "warned"), [(20, 20, True), (40, 39, True), (40, 30, False), (19, 19, False)]
)
def test_repeats_that_are_copies(tmp_path: Path, questions: int, copied: int, warned: bool) -> None:
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", prose(questions, copied)))
    assert ("repeats_look_cached" in problems(report)) == warned
    if warned:
        found = finding(report, "repeats_look_cached")
        assert (found.severity, found.count) == ("warning", copied)
        assert f"A: {copied} of {questions} repeat pairs" in found.where
        assert "excess churn is overstated" in found.sentence


def test_short_answers_are_copies_only_when_all_are_equal(tmp_path: Path) -> None:
    table = [{**row, "answer": row["question_id"]} for row in rows(30, ["A", "B"], 2)]
    table[0]["answer"] = "another"
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert finding(report, "repeats_look_cached").where == "B: 30 of 30 repeat pairs"


def test_equal_response_ids_and_times_and_cache_flags_are_evidence_of_copies(tmp_path: Path) -> None:
    table = [
        {
            **row,
            "response_id": f"r{row['question_id']}{row['state']}",
            "time": row["question_id"] + row["state"],
            "cached": flag,
        }
        for row, flag in zip(
            rows(3), [True, "false", 1, "no", None, "", "yes", 0, "?", "TRUE", "False", "n"], strict=True
        )
    ]
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    found = problems(report)
    assert (found["equal_response_ids"], found["equal_times"], found["cached_answers"]) == (6, 6, 4)
    assert found["unusable_cache_flags"] == 1
    assert [cell.cached for cell in cells(study).values()] == [
        True, False, True, False, None, None, True, False, None, True, False, False,
    ]  # fmt: skip
    assert cells(study)["q1", "B", 2].response_id == "rq1B"


def test_response_ids_of_their_own_are_no_copies(tmp_path: Path) -> None:
    table = [{**row, "response_id": str(number), "time": str(number)} for number, row in enumerate(rows(3))]
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert not {"equal_response_ids", "equal_times"} & problems(report).keys()


@pytest.mark.parametrize(("same", "alarm"), [(40, True), (38, True), (37, False)])
def test_one_answer_for_everything_raises_an_alarm(tmp_path: Path, same: int, alarm: bool) -> None:
    table = rows(20)
    for number, row in enumerate([row for row in table if row["state"] == "B"]):
        if number >= 40 - same:
            row["answer"] = "I couldn't find relevant information"
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert ("one_answer_everywhere" in problems(report)) == alarm
    if alarm:
        assert finding(report, "one_answer_everywhere").where.startswith(f"B: {same} of 40 answers are \"I couldn't")


def test_refusals_agree_with_one_another_and_with_nothing_else(tmp_path: Path) -> None:
    table = [{**row, "answer": "UNKNOWN" if row["state"] == "B" else row["question_id"]} for row in rows(20)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert "one_answer_everywhere" in problems(report)
    named = estimates(study)
    assert named["within_agreement[exact]@B"].value == 1
    assert named["cross_agreement[exact]@A-B"].value == 0
    assert named["unknown_rate@B"].value == 1
    assert named["unknown_transitions[in]@A-B"].value == 1


def test_errors_are_cells_outside_every_denominator(tmp_path: Path) -> None:
    table = rows(4, ["A", "B"])
    lines = [dict(row) for row in table]
    lines[2] = {**lines[2], "answer": "", "error": "503 Server Error"}
    lines[3] = {"question_id": "q0", "state": "B", "repeat": 2, "status": "error", "error": {"code": 429}}
    lines[5] = {**lines[5], "status": "failed"}
    lines[6] = {**lines[6], "status": "odd"}
    lines[7] = {**lines[7], "status": "OK", "error": "retried once"}
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", lines))
    found = cells(study)
    assert {key: (cell.status, cell.error) for key, cell in found.items() if cell.error} == {
        ("q0", "B", 1): ("error", "503 Server Error"),
        ("q0", "B", 2): ("error", '{"code": "429"}'),
        ("q1", "A", 2): ("error", "answer 1 A 2"),
        ("q1", "B", 1): ("error", "answer 1 B 1"),
        ("q1", "B", 2): ("ok", "retried once"),
    }
    counts = problems(report)
    assert (counts["failed_cells"], counts["unknown_statuses"], counts["answers_of_failed_calls"]) == (4, 1, 2)
    assert counts["answers_with_an_error_text"] == 1
    assert [state["errors"] for state in report.coverage["states"]] == [1, 3]
    churn = estimates(study)["excess_churn[exact]@A-B"]
    assert (churn.population, churn.excluded) == (2, 2)


def test_a_state_that_failed_as_a_whole_is_not_measurable(tmp_path: Path) -> None:
    table = [
        {**row, "answer": None, "error": "503 Server Error"} if row["state"] == "B" else row
        for row in rows(20, ["A", "B"])
    ]
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    assert finding(report, "states_without_answers").where == "B"
    churn = estimates(study)["excess_churn[exact]@A-B"]
    assert churn.value is None
    assert churn.reason


@pytest.mark.parametrize(
    "answer",
    [
        "Error code: 429 - rate limit", "429 Too Many Requests", "503 Server Error: unavailable", "HTTP 502",
        "Request timed out.", "APIConnectionError: Connection error.",
        "Traceback (most recent call last):\n  File", '{"type": "error", "error": {}}', "Internal Server Error",
        "Rate limit reached for requests",
        "Error: the model is overloaded", "ReadTimeout error",
    ],
)  # fmt: skip
def test_answers_that_read_like_transport_errors_are_listed(tmp_path: Path, answer: str) -> None:
    table = [{**row, "answer": answer if row["question_id"] == "q1" else row["answer"]} for row in rows(2, ["A"], 1)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert finding(report, "errors_as_answers").where.startswith("q1 / A / repeat 1: ")
    assert answers(study)["q1", "A", 1] == answer


@pytest.mark.parametrize(
    "answer",
    ["429 BC", "500 Days of Summer", "The Comedy of Errors", "404", "503", "Error Analysis", "connection", "An API",
     "1984",     "Server, Michael", "Traceback", "the error bars", "502 people", "{}", "HTTP", "timeout"],
)  # fmt: skip
def test_real_answers_are_no_transport_errors(answer: str) -> None:
    assert not TRANSPORT.match(answer)


def test_one_repeat_has_no_noise_floor(tmp_path: Path) -> None:
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", rows(30, ["A", "B"], 1)))
    found = finding(report, "no_noise_floor")
    assert (found.severity, found.count, found.where) == ("warning", 2, "A; B")
    named = estimates(study)
    assert named["excess_churn[exact]@A-B"].value is None
    assert "noise floor" in named["excess_churn[exact]@A-B"].reason
    assert named["cross_agreement[exact]@A-B"].value == 0


def test_a_study_says_what_it_cannot_prove(tmp_path: Path) -> None:
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", rows(2)))
    assert study.protocol.origin == "imported"
    assert study.protocol.decision is None
    assert "t.csv" in study.protocol.provenance
    limits = " ".join(study.protocol.limits)
    for word in ("protocol", "Attempts", "judge", "evidence", "accepted answers"):
        assert word in limits
    assert finding(report, "no_semantic_labels").severity == "warning"
    assert [f.kind for f in study.findings()] == [f.kind for f in report.problems]
    assert study.protocol.kernels == ("exact",)


def test_forms_that_a_rule_empties_are_flagged(tmp_path: Path) -> None:
    table = [
        {**row, "answer": text, "gold": ["A+", "AB+"]} for row, text in zip(rows(1, ["A"]), ["", "the"], strict=True)
    ]
    report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", table))
    counts = problems(report)
    assert (counts["empty_golds"], counts["empty_answers"], counts["blank_answers"]) == (1, 1, 1)
    assert estimates(study)["exact_match@A"].value == 0


def test_every_kind_has_a_sentence_for_one_and_for_many() -> None:
    for count in (1, 2_000):
        tally = Tally()
        for kind in KINDS:
            tally.add(kind, "somewhere", count=count)
        for found in findings(tally):
            assert found.sentence[0].isupper() or found.sentence[0].isdigit()
            assert found.sentence.endswith(".")
            assert not set("{}|#") & set(found.sentence)
    assert [f.severity for f in findings(tally)] == sorted(
        (f.severity for f in findings(tally)), key=["error", "warning", "notice"].index
    )


def test_where_names_the_first_places_and_how_many_more() -> None:
    tally = Tally()
    for number in range(8):
        tally.add("blank_ids", f"t.csv: line {number}\x1b[31m")
    (found,) = findings(tally)
    assert found.where.count(";") == 4
    assert found.where.endswith(" and 3 more")
    assert "\x1b" not in found.where


def test_hostile_text_changes_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from audit_core.cli import main

    table = write_text(
        tmp_path / "t.csv",
        "question_id,state,repeat,answer\n\x1b]0;owned\x07,A\x1b[2J,1,Error code: 429 \u202etxt\nq,A\x1b[2J,1,x\n",
    )
    assert main(["import", "table", str(table), "--study", str(tmp_path / "study")]) == 0
    output = capsys.readouterr()
    assert not {"\x1b", "\x07", "\u202e"} & set(output.out + output.err)
    assert "\\u001b" in output.out


def redrawn(outcome: str, again: range, questions: int = 40) -> list[dict[str, str]]:
    """Two repeats of each question, of which some failed, agree or differ; those of ``again`` have a third."""
    table = []
    for q in range(questions):
        special = q in again
        for repeat in range(1, 4 if special else 3):
            alike = (outcome == "agreed") == special
            row = {
                "question_id": f"q{q}",
                "state": "A",
                "repeat": str(repeat),
                "answer": f"an answer of some length to {q}" + ("" if alike else f" {repeat}"),
                "error": "",
            }
            if outcome == "failed" and special and repeat == 1:
                row |= {"answer": "", "error": "503"}
            table.append(row)
    return table


@pytest.mark.parametrize("outcome", ["agreed", "differed", "failed"])
def test_repeats_asked_again_by_choice(tmp_path: Path, outcome: str) -> None:
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", redrawn(outcome, range(12))))
    (found,) = [finding for finding in report.problems if finding.kind == "selective_redraw"]
    assert f"12 of 12 questions with more than 2 repeats had {outcome}" in found.where
    assert found.severity == "warning"


def test_repeats_asked_again_of_no_choice(tmp_path: Path) -> None:
    """A third repeat for every third question, whatever it had answered."""
    table = redrawn("agreed", range(20))
    table = [row for row in table if row["repeat"] != "3"]
    table += [{**row, "repeat": "3"} for row in table if row["repeat"] == "2" and int(row["question_id"][1:]) % 3 == 0]
    report, _ = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert "selective_redraw" not in problems(report)
    assert "missing_cells" in problems(report)
