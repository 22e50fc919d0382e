"""Labels for an imported study: a new study of the same answers, offline or from a file."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from audit_core.adapters import lexical
from audit_core.cli import main
from audit_core.importers.options import Options
from audit_core.importers.table import import_table
from audit_core.readmodel import read
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.files import NOT_READ, not_read
from tests.support.logs import promptfoo
from tests.support.service import Scripted, Seen, Service


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    options = Options(kind="promptfoo", endpoints=("may,june",))
    import_table(promptfoo(tmp_path / "logs"), tmp_path / "fees", options)
    return tmp_path / "fees"


def test_the_offline_judge_labels_every_pair_as_it_says(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", str(source), "--study", str(tmp_path / "judged")]) == 0
    study = Study(tmp_path / "judged")
    assert [check.check_id for check in verify(study.path) if check.result == "failed"] == []
    assert study.protocol.primary_judge is not None
    assert study.protocol.primary_judge.blind is True
    assert Study(source).chain[-1].sha256 in " ".join(study.protocol.limits)
    assert not any("No judge" in limit for limit in study.protocol.limits)
    assert [f.kind for f in study.findings()] == [
        f.kind for f in Study(source).findings() if f.kind != "no_semantic_labels"
    ]
    for before, after in zip(Study(source).dossiers(), study.dossiers(), strict=True):
        assert before.cells == after.cells
        judgment = after.judgments["primary"]
        answers = [cell.answer or "" for cell in after.cells]
        said = [
            (i, j, int(lexical.same(after.question.text or "", answers[i], answers[j])))
            for i, j in combinations(range(4), 2)
        ]
        assert list(judgment.labels) == said
    db = tmp_path / "audit.db"
    assert main(["load", str(study.path), "--db", str(db)]) == 0
    columns = read.columns(db, "judged", "semantic", "may", "june")
    assert columns is not None
    assert sum(columns["flip"]) == 3
    capsys.readouterr()


def test_labels_of_a_file_are_marked_as_not_blind(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = [question.question_id for question in Study(source).questions()]
    moved = ids[-1]
    lines = [
        {"question_id": moved, "first": ["may", a], "second": ["june", b], "label": "different"}
        for a, b in ((1, 1), (1, 2), (2, 1), (2, 2))
    ]
    command = ["judge", str(source), "--study", str(tmp_path / "j"), "--labels", str(tmp_path / "labels.jsonl")]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines[1:]))
    assert main(command) == 2
    assert "1 pairs have no label" in capsys.readouterr().err
    labels.write_text("".join(json.dumps(line | {"question_id": "nobody"}) + "\n" for line in lines))
    assert main(command) == 2
    assert "does not have" in capsys.readouterr().err
    labels.write_text("".join(json.dumps(line | {"second": ["june", 7]}) + "\n" for line in lines[:1]))
    assert main(command) == 2
    assert "hold no answer" in capsys.readouterr().err
    assert not (tmp_path / "j").exists()
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main([*command, "--description", "our own grader"]) == 0
    study = Study(tmp_path / "j")
    assert study.protocol.primary_judge is not None
    assert (study.protocol.primary_judge.blind, study.protocol.primary_judge.description) == (None, "our own grader")
    assert [check.check_id for check in verify(study.path) if check.result == "failed"] == []
    *others, last = study.dossiers()
    assert not any(dossier.judgments for dossier in others)
    assert {(i, j): v for i, j, v in last.judgments["primary"].labels} == {
        (0, 1): 1, (0, 2): 0, (0, 3): 0, (1, 2): 0, (1, 3): 0, (2, 3): 1
    }  # fmt: skip
    capsys.readouterr()


@pytest.mark.parametrize("option", ["--labels", "--settings"])
@pytest.mark.parametrize("what", NOT_READ)
def test_what_may_not_be_read_is_neither_waited_for_nor_read(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, option: str
) -> None:
    told = not_read(tmp_path / "it", what)
    assert main(["judge", str(source), "--study", str(tmp_path / "j"), option, str(tmp_path / "it")]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("cell", ['["may",1.9]', '["may",true]', '["may","1.5"]', '["may","0_1"]', '["may","\u0661"]',
                                  '["may","-1"]', '["may",-1]', '["may",null]', '[null,1]', '[true,1]', '[["may"],1]',
                                  '"m1"', '["may",1,1]', '{"may":0,"1":0}'])  # fmt: skip
def test_a_cell_is_text_and_a_whole_number(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    question = [question.question_id for question in Study(source).questions()][-1]
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        f'{{"question_id": {json.dumps(question)}, "first": {cell}, "second": ["june", 1], "label": "same"}}\n'
    )
    assert main(["judge", str(source), "--study", str(tmp_path / "j"), "--labels", str(labels)]) == 2
    told = capsys.readouterr().err
    assert "a line is no label of a new pair" in told
    assert "labels.jsonl:1" in told


def test_labels_may_have_blank_lines_and_repeats_as_text(source: Path, tmp_path: Path) -> None:
    question = [question.question_id for question in Study(source).questions()][-1]
    cells = [("may", "1"), ("may", 2), ("june", "1"), ("june", 2)]
    lines = [json.dumps({"question_id": question, "first": a, "second": b, "label": "same"})
             for a, b in combinations(cells, 2)]  # fmt: skip
    (tmp_path / "labels.jsonl").write_text("\ufeff\r\n" + "\r\n\n".join(lines) + "\n \n\n", encoding="utf-8")
    command = ["judge", str(source), "--study", str(tmp_path / "j"), "--labels", str(tmp_path / "labels.jsonl")]
    assert main(command) == 0
    *_, last = Study(tmp_path / "j").dossiers()
    assert [label for *_, label in last.judgments["primary"].labels] == [1] * 6


@pytest.mark.parametrize(
    "line",
    [
        "{}", "not json", '{"question_id": "q", "first": ["a", 1], "second": ["a", 1], "label": "same"}',
        '{"question_id": "q", "first": ["a", 1], "second": ["b", 1], "label": "maybe"}',
        '{"question_id": 1, "first": ["a", 1], "second": ["b", 1], "label": "same"}',
        '{"question_id": "q", "first": "ab", "second": ["b", 1], "label": "same"}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_label_is_named(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    (tmp_path / "labels.jsonl").write_text(line + "\n")
    command = ["judge", str(source), "--study", str(tmp_path / "j"), "--labels", str(tmp_path / "labels.jsonl")]
    assert main(command) == 2
    assert "labels.jsonl:1" in capsys.readouterr().err
    assert not (tmp_path / "j").exists()


def test_what_cannot_be_judged_is_refused(
    source: Path, tmp_path: Path, studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", str(studies / "help-centre"), "--study", str(tmp_path / "a")]) == 2
    assert "collected" in capsys.readouterr().err
    assert main(["judge", str(studies / "nq-400"), "--study", str(tmp_path / "b")]) == 2
    assert "judge already" in capsys.readouterr().err
    assert main(["judge", str(source), "--study", str(source)]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fees", "logs"]
    capsys.readouterr()


def judges(seen: Seen, _number: int) -> Scripted:
    """A judge that calls equal texts the same, by the packet it was shown."""
    prompt = seen.body["messages"][0]["content"]
    assert "may" not in prompt.replace("maybe", "")
    assert "june" not in prompt
    data = json.loads(prompt.rpartition("\n<data ")[2].partition("\n")[2].rpartition("\n</data ")[0])
    answers = data["answers"]
    found = [[i, j, int(answers[i] == answers[j])] for i, j in combinations(range(len(answers)), 2)]
    return Scripted(text=json.dumps({"labels": found}))


def settings(folder: Path, url: str, **more: object) -> Path:
    lines = ["[judging]", 'adapter = "messages"', 'model = "judge-1"', f'base_url = "{url}"',
             'key_variable = "AUDIT_TEST_KEY"', *(f"{key} = {value}" for key, value in more.items())]  # fmt: skip
    (folder / "judge.toml").write_text("\n".join(lines) + "\n")
    return folder / "judge.toml"


def test_a_judge_that_is_called_records_every_call_and_resumes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", "sk-canary-of-this-test")
    target = tmp_path / "called"
    broken: list[int] = []

    def first_five(seen: Seen, number: int) -> Scripted:
        if number > 5:
            broken.append(number)
            return Scripted(status=401, body=b"{}")
        return judges(seen, number)

    with Service(first_five) as service:
        command = ["judge", str(source), "--study", str(target), "--settings", str(settings(tmp_path, service.url))]
        assert main(command) != 0
        assert broken
        service.script = judges
        assert main(command) == 0
        assert len(service.seen) == 12 + len(broken)
        assert service.faults == []
    found = {check.check_id: check for check in verify(target)}
    assert [check.check_id for check in found.values() if check.result == "failed"] == []
    assert (found["C19"].result, found["C20"].result) == ("passed", "passed")
    assert "judge" in found["C19"].detail
    study = Study(target)
    for before, after in zip(Study(source).dossiers(), study.dossiers(), strict=True):
        assert (before.cells, before.evidence, before.gold) == (after.cells, after.evidence, after.gold)
        answers = [cell.answer for cell in after.cells]
        assert all(label == int(answers[i] == answers[j]) for i, j, label in after.judgments["primary"].labels)
    assert not any(b"sk-canary" in path.read_bytes() for path in target.rglob("*") if path.is_file())
    ledger = target / "judgments/primary/attempts.jsonl"
    ledger.chmod(0o644)
    ledger.write_bytes(ledger.read_bytes().replace(b", 1]", b", 0]", 1))
    assert any(check.result == "failed" for check in verify(target))
    capsys.readouterr()


def test_another_judge_does_not_go_on_in_the_same_folder(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", "k")
    with Service(lambda _seen, _number: Scripted(status=401, body=b"{}")) as service:
        command = ["judge", str(source), "--study", str(tmp_path / "s"), "--settings"]
        assert main([*command, str(settings(tmp_path, service.url))]) != 0
        capsys.readouterr()
        assert main([*command, str(settings(tmp_path, service.url, max_tokens=99))]) == 2
        assert "judging" in capsys.readouterr().err
    (tmp_path / "judge.toml").write_text('[judging]\nadapter = "messages"\nsped = 3\n[ladder]\n')
    assert main([*command[:3], str(tmp_path / "t"), "--settings", str(tmp_path / "judge.toml")]) == 2
    text = capsys.readouterr().err
    assert all(word in text for word in ("base_url", "model", "sped", "ladder"))
    assert not (tmp_path / "t").exists()
