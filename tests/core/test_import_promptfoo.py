"""promptfoo: repeats come from the order of equal tests, errors are no answers, doubtful rows are asked about."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.made_logs import QUESTIONS, promptfoo, promptfoo_rows, taken, told, write, write_lines
from tests.support.tables import answers, cells, dossiers, problems

ROOT = Path(__file__).resolve().parents[2]


def test_repeats_by_the_order_of_tests_whatever_the_order_of_rows(tmp_path: Path) -> None:
    rows = promptfoo_rows(3)
    report, study = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows[::-1])))
    assert (report.rows, report.questions, report.states, report.repeats) == (9, 3, ["n1"], {"n1": 3})
    assert {(d.question.text, c.repeat): c.answer for d in study.dossiers() for c in d.cells} == {
        (text, repeat): told(number, repeat) for number, text in enumerate(QUESTIONS) for repeat in (1, 2, 3)
    }
    found = dossiers(study)
    assert sorted(gold for d in found.values() for gold in d.gold.aliases) == ["gold 0", "gold 1", "gold 2"]
    assert all(len(d.evidence) == 1 and d.evidence[0].documents for d in found.values())
    assert {"repeats_numbered_here", "states_told_apart", "guessed_fields", "ids_made_from_questions"} <= set(
        problems(report)
    )
    assert not [check for check in verify(study.path) if check.result == "failed"]


def test_each_cell_names_its_record(tmp_path: Path) -> None:
    _, study = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(promptfoo_rows(2))))
    assert sorted(cell.record for cell in cells(study).values()) == [1, 2, 3, 4, 5, 6]
    assert [source.name for source in study.protocol.sources] == ["n1.json"]


def test_lines_are_the_same_rows(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    _, one = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    (tmp_path / "lines").mkdir()
    _, other = taken(tmp_path / "lines", "promptfoo", write_lines(tmp_path / "lines" / "n1.jsonl", rows))
    assert answers(one) == answers(other)


@pytest.mark.parametrize(
    ("providers", "prompts", "states"),
    [
        (("chat:a", "chat:b"), ("short",), ["chat:a", "chat:b"]),
        (("chat:a",), ("short", "long"), ["short", "long"]),
        (("a", "b"), ("short", "long"), ["a / short", "a / long", "b / short", "b / long"]),
    ],
)
def test_the_fewest_parts_that_tell_states_apart(tmp_path: Path, providers, prompts, states) -> None:
    file = write(tmp_path / "eval.json", promptfoo(promptfoo_rows(2, providers, prompts)))
    report, study = taken(tmp_path, "promptfoo", file)
    assert report.states == states
    assert len(answers(study)) == 3 * 2 * len(states)


def test_several_files_are_states_or_the_repeats_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "monday.json", promptfoo(promptfoo_rows(1, answer=lambda q, r: f"monday {q}")))
    two = write(tmp_path / "tuesday.json", promptfoo(promptfoo_rows(2, answer=lambda q, r: f"tuesday {q} {r}")))
    three = write(tmp_path / "friday.json", promptfoo(promptfoo_rows(2, answer=lambda q, r: f"friday {q} {r}")))
    files = [str(one), str(two), str(three)]
    assert main(["import", "promptfoo", *files, "--study", str(tmp_path / "s1"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeats"] == {"monday": 1, "tuesday": 2, "friday": 2}
    named = [f"--state=old={one}", f"--state=old={two}", f"--state=new={three}"]
    assert main(["import", "promptfoo", *named, "--study", str(tmp_path / "s2"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["repeats"] == {"old": 3, "new": 2}
    text = sorted(cell.answer or "" for cell in cells(Study(tmp_path / "s2")).values() if cell.state == "old")[:4]
    assert text == ["monday 0", "monday 1", "monday 2", "tuesday 0 1"]
    found = {(c.state, c.repeat): c.answer for c in cells(Study(tmp_path / "s2")).values() if c.answer.endswith(" 0")}
    assert found == {("old", 1): "monday 0"}


def test_a_failed_call_is_no_answer_and_a_failed_assertion_is_one(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    rows[0] |= {"failureReason": 2, "error": "429 too many requests", "response": {}, "success": False}
    rows[1] |= {"failureReason": 1, "error": "Expected output to contain x", "success": False}
    report, study = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    first = [c for c in cells(study).values() if c.record in (1, 2)]
    assert [(c.status, c.answer, c.error) for c in first] == [
        ("error", None, "429 too many requests"),
        ("ok", told(0, 2), None),
    ]
    assert report.coverage["states"][0]["errors"] == 1


def test_objects_are_compared_as_text_and_can_be_mapped(tmp_path: Path) -> None:
    rows = promptfoo_rows(2, answer=lambda q, r: {"text": f"a {q}", "cost": 1.10, "n": r})
    report, study = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    assert problems(report)["object_answers"] == 6
    assert '{"text": "a 0", "cost": 1.1, "n": 1}' in answers(study).values()
    (tmp_path / "b").mkdir()
    mapping = ("answer=response.output.text", "question=vars.question")
    report, study = taken(tmp_path / "b", "promptfoo", tmp_path / "n1.json", mapping=mapping)
    assert set(answers(study).values()) == {"a 0", "a 1", "a 2"}
    assert "object_answers" not in problems(report)


def test_cache_flags_are_read(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    for row in rows[1::2]:
        row["response"]["cached"] = True
    report, _ = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    assert problems(report)["cached_answers"] == 3


def refused(folder: Path, rows: list, config: dict | None = None, **options) -> InputError:
    with pytest.raises(InputError) as caught:
        taken(folder, "promptfoo", write(folder / "n1.json", promptfoo(rows, config)), **options)
    assert not (folder / "study").exists()
    return caught.value


def test_a_question_that_stands_twice_is_asked_about(tmp_path: Path) -> None:
    """Two copies of a question in the list of tests look like two more repeats of it."""
    rows = promptfoo_rows(2, questions=[*QUESTIONS, QUESTIONS[0]])
    for row in rows[-2:]:
        row["vars"] = rows[0]["vars"]
    error = refused(tmp_path, rows)
    assert "1 question(s) have more rows than repeats" in str(error)
    assert QUESTIONS[0] in str(error)
    assert "--duplicates" in str(error)
    report, _ = taken(tmp_path, "promptfoo", tmp_path / "n1.json", duplicates="repeats")
    assert report.repeats == {"n1": 4}


def test_every_question_twice_is_seen_where_the_file_says_how_often_it_asked(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    rows += [{**row, "testIdx": row["testIdx"] + len(rows)} for row in rows]
    error = refused(tmp_path, rows, {"evaluateOptions": {"repeat": 2}})
    assert "3 question(s) have more rows than repeats" in str(error)


def test_one_question_in_different_tests_is_asked_about_and_may_be_the_state(tmp_path: Path) -> None:
    rows = []
    for snapshot in ("old", "new"):
        for row in promptfoo_rows(2, answer=lambda q, r, s=snapshot: f"{s} {q} {r}"):
            rows.append({**row, "testIdx": len(rows), "vars": {**row["vars"], "snapshot": snapshot}})
    assert "stand in several tests" in str(refused(tmp_path, rows))
    report, study = taken(tmp_path, "promptfoo", tmp_path / "n1.json", state_parts=("vars.snapshot",))
    assert report.repeats == {"old": 2, "new": 2}
    assert all(answer.startswith(state) for (_, state, _), answer in answers(study).items())


def test_one_state_never_mixes_prompts(tmp_path: Path) -> None:
    rows = promptfoo_rows(2, ("a", "b"), ("short", "long"))
    error = refused(tmp_path, rows, state_parts=("provider",))
    assert "one state holds answers of several kinds: prompt" in str(error)
    report, _ = taken(tmp_path, "promptfoo", tmp_path / "n1.json", state_parts=("provider", "prompt"))
    assert len(report.states) == 4


def test_which_variable_is_the_question(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    for row in rows:
        row["vars"] = {"topic": row["vars"]["question"], "style": "short"}
    error = refused(tmp_path, rows)
    assert "which variable is the question?" in str(error)
    assert "topic, style" in str(error)
    report, _ = taken(tmp_path, "promptfoo", tmp_path / "n1.json", mapping=("question=topic",))
    assert report.questions == 3


def test_a_path_that_no_record_has(tmp_path: Path) -> None:
    error = refused(tmp_path, promptfoo_rows(2), mapping=("gold=vars.golden",))
    assert "--map gold=vars.golden" in str(error)
    assert "a mapping names no column of ours" in str(refused(tmp_path, promptfoo_rows(2), mapping=("foo=bar",)))


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    log = promptfoo(promptfoo_rows(2))
    log["results"]["version"] = 4
    with pytest.raises(InputError, match="unknown version"):
        taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", log))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"evalId": "e", "results": {"version": 3, "results": [{"vars": {"question": "q"', "it is cut"),
        ('{"evalId": "e", "results": {"version": 3, "results": [{"a": 1 "b"}]}}', "damaged JSON"),
        ('{"outputs": []}', "no records of promptfoo"),
        ('{"results": {"results": [' + "[" * 5000 + "]" * 5000 + "]}}", "nested"),
        ('{"results": {"results": [{"a": 1, "a": 2}]}}', "stands twice"),
        ('{"results": {"results": []}} {}', "something follows"),
        ("", "no text"),
        ("PK\x03\x04", "a zip archive"),
        ("a,b\n1,2\n", "not a file of promptfoo"),
    ],
)
def test_wrong_files_get_a_sentence(tmp_path: Path, text: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    assert main(["import", "promptfoo", str(file), "--study", str(tmp_path / "study")]) == 2
    error = capsys.readouterr().err
    assert what in error
    assert "Traceback" not in error
    assert not (tmp_path / "study").exists()


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    text = json.dumps(promptfoo(promptfoo_rows(2)))
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text(text)
    with pytest.raises(InputError, match="the same bytes"):
        taken(tmp_path, "promptfoo", *files)


def test_variables_that_the_run_adds_tell_no_tests_apart(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    for number, row in enumerate(rows):
        row["vars"] = {**row["vars"], "sessionId": f"s{number}", "_conversation": [number]}
    report, _ = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    assert report.repeats == {"n1": 2}


def test_older_rows_without_numbers_keep_their_order(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    for row in rows:
        for key in ("testIdx", "promptIdx", "failureReason", "testCase", "promptId"):
            del row[key]
        row["provider"] = row["provider"]["id"]
    log = {"results": {"version": 2, "results": rows, "table": {"head": {}, "body": [{"outputs": [{"text": "x"}]}]}}}
    report, study = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", log))
    assert report.repeats == {"n1": 2}
    assert {c.repeat: c.answer for c in cells(study).values() if c.record in (1, 2)} == {1: told(0, 1), 2: told(0, 2)}


@pytest.mark.parametrize("depth", [150, 700])
def test_absurdly_nested_values_end_in_a_sentence(tmp_path: Path, depth: int) -> None:
    rows = promptfoo_rows(1, answer=lambda q, r: "HERE")
    text = json.dumps(promptfoo(rows)).replace('"HERE"', '{"a":' * depth + "1" + "}" * depth, 1)
    (tmp_path / "n1.json").write_text(text)
    code = main(["import", "promptfoo", str(tmp_path / "n1.json"), "--study", str(tmp_path / "study")])
    assert code in (0, 2)
    assert (code == 0) == (tmp_path / "study").exists()


def test_links_are_followed_once_and_never_in_circles(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "a.json", promptfoo(promptfoo_rows(2)))
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    report, _ = taken(tmp_path, "promptfoo", folder)
    assert report.states == ["a"]
    (folder / "b.json").symlink_to(folder / "a.json")
    with pytest.raises(InputError, match="the same file twice"):
        taken(tmp_path / "x", "promptfoo", folder)


def test_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    """The import may use 400 MiB of address space beyond the start; a file of 200 MB read whole would not fit."""
    rows = [json.dumps(row) for row in promptfoo_rows(2, questions=[f"Question {n}?" for n in range(1000)])]
    filler = "x" * 100_000
    with (tmp_path / "n1.json").open("w") as stream:
        stream.write('{"results": {"version": 3, "results": [')
        for number, row in enumerate(rows):
            stream.write(("," if number else "") + row[:-1] + f', "debug": "{filler}"}}')
        stream.write("]}}")
    command = (
        "import resource, sys; from audit_core.cli import main; import audit_core.importers.table, numpy; "
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
        "resource.setrlimit(resource.RLIMIT_AS, (size + (400 << 20),) * 2); sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["import", "promptfoo", str(tmp_path / "n1.json"), "--study", str(tmp_path / "study")]
    done = subprocess.run([sys.executable, "-c", command, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "2,000 records, 1,000 questions" in done.stdout
