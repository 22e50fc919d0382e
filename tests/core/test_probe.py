"""Asking again: in a ledger of its own, after the results, and in no estimate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from audit_core import explore, probes
from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collect.attempts import Attempts
from audit_core.collect.probing import Asked, probe
from audit_core.errors import AuditError, GateError, InputError, LedgerError
from audit_core.outcomes import Reply
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.study import RESULTS, Study
from audit_core.verify import verify
from tests.support.collecting import prepare

NOW = "2026-01-31T09:00:00Z"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probe")
    study = stages.freeze(prepare(folder, questions=3), folder / "study", NOW)
    stages.run(study, folder, lambda: NOW)
    estimate_study(study, created=NOW)
    return study.path


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Study:
    shutil.copytree(finished, tmp_path / "study")
    return Study(tmp_path / "study")


def ids(study: Study) -> list[str]:
    return [question.question_id for question in study.questions()]


def ask(study: Study, question: str = "", state: str = "n3", repeats: int = 12) -> Asked:
    return probe(study, question or ids(study)[0], state, repeats, NOW)


def failed(path: Path) -> list[str]:
    return [check.check_id for check in verify(path) if check.result == "failed"]


def check(path: Path) -> tuple[str, str]:
    return next((c.result, c.detail) for c in verify(path) if c.check_id == "C22")


def test_a_probe_draws_answers_of_one_cell_and_changes_nothing_else(study: Study) -> None:
    before = {p: p.read_bytes() for p in study.path.rglob("*") if p.is_file()}
    question = ids(study)[0]
    asked = ask(study, question)
    assert [cell.repeat for cell in asked.answers] == list(range(1, 13))
    assert {(cell.question_id, cell.state, cell.status) for cell in asked.answers} == {(question, "n3", "ok")}
    assert len({cell.answer for cell in asked.answers}) > 1  # the baseline generator is noisy on purpose
    assert [(cell.question_id, cell.state, cell.repeat) for cell in asked.before] == [
        (question, "n3", 1), (question, "n3", 2)]  # fmt: skip
    assert {p: p.read_bytes() for p in before} == before
    assert failed(study.path) == []
    assert check(study.path) == ("passed", "12 answers, in no estimate.")
    assert probes.answers(study, asked.probe) == asked.answers


def test_a_second_probe_is_another_one(study: Study) -> None:
    first, second = ask(study, repeats=2), ask(study, repeats=3)
    assert (first.probe.number, second.probe.number) == (1, 2)
    assert ask(study, ids(study)[1], repeats=1).probe.number == 3
    assert probes.numbers(study) == [1, 2, 3]
    assert first.probe.results == study.chain[-1].sha256


def stop_after(study: Study, replies: int, cell: tuple[str, str]) -> None:
    """A probe that was killed with one call under way."""
    path = probes.place(study, 1) / probes.CALLS
    body = b'{"type":"message","role":"assistant","content":[{"type":"text","text":"kept"}],"stop_reason":"end_turn"}'
    with Attempts(path, study.chain[-1].sha256, "run", probes.slots(*cell)) as attempts:
        for repeat in range(1, replies + 2):
            name = attempts.begin((*cell, repeat), {}, model="m", origin="o")
            if repeat <= replies:
                attempts.end(name, Reply(200, body))


def test_a_stopped_probe_goes_on_and_keeps_what_came_back(study: Study) -> None:
    question = ids(study)[0]
    stop_after(study, 4, (question, "n3"))
    assert check(study.path)[0] == "could not check"
    assert ask(study, ids(study)[1], repeats=2).probe.number == 2  # a cell of its own beside it
    asked = ask(study, question, repeats=2)  # fewer than came back: none of them is left out
    assert asked.probe.number == 1
    assert [cell.answer for cell in asked.answers] == ["kept"] * 4


def test_a_torn_first_line_is_no_probe_of_another_cell(study: Study) -> None:
    path = probes.place(study, 1) / probes.CALLS
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"attempt":"0000001-x","kind":"sta')
    assert ask(study, repeats=2).probe.number == 1
    assert (path.parent / "attempts.jsonl.torn-0").is_file()
    assert failed(study.path) == []


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        file = path / "probes" / "0001" / name
        file.chmod(0o644)
        file.write_bytes(change(file.read_bytes()))

    return spoil


def renumbered(path: Path) -> None:
    (path / "probes" / "0001").rename(path / "probes" / "0003")


@pytest.mark.parametrize(
    "spoil",
    [
        edit("probe.json", lambda data: data.replace(b'"repeats":5', b'"repeats":4')),
        edit("probe.json", lambda data: data[:-1]),
        edit("probe.json", lambda data: data.replace(b'"state":"n3"', b'"state":"n1"')),
        edit("attempts.jsonl", lambda data: data.replace(b"end_turn", b"end_tirn", 1)),
        edit("attempts.jsonl", lambda data: data[: data.rstrip(b"\n").rindex(b"\n") + 1]),
        renumbered,
    ],
)
def test_a_changed_probe_fails_its_check_and_no_other(study: Study, spoil: Callable[[Path], None]) -> None:
    ask(study, repeats=5)
    spoil(study.path)
    assert failed(study.path) == ["C22"]


def test_a_probe_of_another_study_is_found(study: Study, tmp_path: Path) -> None:
    ask(study, repeats=2)
    folder = tmp_path / "other"
    other = stages.freeze(prepare(folder, questions=3), folder / "study", NOW)
    stages.run(other, folder, lambda: NOW)
    estimate_study(other, created=NOW)
    shutil.copytree(study.path / "probes", other.path / "probes")
    assert failed(other.path) == ["C22"]
    with pytest.raises(LedgerError, match="another study"):
        probes.closed(other, 1)


def test_a_strange_file_among_the_probes_is_no_file_of_a_study(study: Study) -> None:
    ask(study, repeats=1)
    (study.path / "probes" / "0001" / "notes.txt").write_text("x")
    assert failed(study.path) == ["C01"]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("nobody", "n3", 2), InputError, "no such question"),
        (("", "n9", 2), InputError, "no such state"),
        (("", "n3", 0), InputError, "this many answers"),
        (("", "n3", 1001), InputError, "this many answers"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_leaves_nothing(
    study: Study, arguments: tuple[str, str, int], kind: type[AuditError], words: str
) -> None:
    question, state, repeats = arguments
    with pytest.raises(kind, match=words):
        ask(study, question, state, repeats)
    assert not (study.path / "probes").exists()


def test_a_probe_comes_after_the_results(study: Study) -> None:
    (study.path / RESULTS).unlink()
    (study.path / "locks" / "60-results.json").unlink()
    with pytest.raises(GateError, match="results are not locked"):
        ask(Study(study.path))


def test_probes_are_in_the_database_and_in_no_estimate(study: Study, tmp_path: Path) -> None:
    def estimates() -> list[dict[str, object]]:
        load([study.path], tmp_path / "audit.db", verifier=verify)
        return list(read.estimates(tmp_path / "audit.db", "my-study").values())

    before = estimates()
    asked = ask(study, repeats=4)
    ask(study, repeats=2)
    stop = probes.place(study, 3)  # a probe under way is left out
    stop.mkdir()
    (stop / "attempts.jsonl").write_bytes(b"")
    assert estimates() == before
    row = read.question(tmp_path / "audit.db", "my-study", ids(study)[0])
    assert row is not None
    held = row["probes"]["n3"]
    assert [len(held[number]) for number in (1, 2)] == [4, 2]
    assert [answer["answer"] for answer in held[1]] == [cell.answer for cell in asked.answers]
    assert {answer["outcome"] for answer in held[1]} <= {"answered", "partial", "refused"}
    assert explore.refusal_rate(["refused", "answered", "refused"])[:2] == (2, 3)


def test_the_command_prints_outcomes_and_texts(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    question = ids(study)[0]
    assert main(["probe", str(study.path), question, "--state", "n0", "--repeats", "6", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outcomes"] == {"answered": 0, "partial": 0, "refused": 6}  # nothing is retrieved there
    assert facts["outcomes_before"] == {"answered": 0, "partial": 0, "refused": 2}
    assert facts["texts"] == {"UNKNOWN": 6}
    share, (low, high) = facts["refused"]["share"], facts["refused"]["interval"]
    assert (share, high) == (1, 1)
    assert low == pytest.approx(0.025 ** (1 / 6), abs=1e-9)  # Clopper and Pearson, where all of six refuse
    assert main(["probe", str(study.path), question, "--state", "n0", "--repeats", "1"]) == 0
    assert "in no estimate" in capsys.readouterr().out
    assert main(["probe", str(study.path), "x", "--state", "n0"]) == 2
    assert main(["probe", "nq-400", "x", "--state", "n0"]) == 2
