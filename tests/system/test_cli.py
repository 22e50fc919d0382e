"""The command line's contract: one JSON object, exit codes, four-part messages, nothing half-written."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.study import CELLS
from tests.support.files import NOT_READ, not_read
from tests.support.simulator import StudySimulator


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict]:
    code = main([*map(str, arguments), "--json"])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return code, json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "verify", "nq-400")
    assert code == 0
    assert facts["ok"] is True
    assert set(facts) == {"study", "ok", "checks"}
    assert {tuple(sorted(check)) for check in facts["checks"]} == {("detail", "id", "result", "title")}
    assert main(["verify", "nq-400", "--strict"]) == 4


def test_verify_a_tampered_study(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    StudySimulator(questions=4).build(tmp_path / "s")
    cells = tmp_path / "s" / CELLS
    cells.write_bytes(cells.read_bytes()[:-40])
    code, facts = run(capsys, "verify", tmp_path / "s")
    assert (code, facts["ok"]) == (1, False)
    assert [c["id"] for c in facts["checks"] if c["result"] == "failed"] == ["C04"]


ESTIMATE = {"name", "value", "numerator", "denominator", "lower", "interval", "unit", "status", "reason"}


def test_estimate_prints_writes_and_does_not_write_twice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    StudySimulator(questions=10, noise=0.3).build(tmp_path / "s")
    code, printed = run(capsys, "estimate", tmp_path / "s", "--print")
    assert code == 0
    assert not (tmp_path / "s" / "results").exists()
    code, written = run(capsys, "estimate", tmp_path / "s")
    assert code == 0
    assert written["estimates"] == printed["estimates"]
    locked = (tmp_path / "s" / "results" / "results.json").read_bytes()
    code, again = run(capsys, "estimate", tmp_path / "s")
    assert (code, again["results"]) == (0, "locked before; recomputed and equal")
    assert (tmp_path / "s" / "results" / "results.json").read_bytes() == locked
    for estimate in written["estimates"]:
        assert set(estimate) >= ESTIMATE
        if estimate["value"] is None:
            assert estimate["reason"]
        else:
            assert math.isclose(estimate["value"], estimate["numerator"] / estimate["denominator"], abs_tol=1e-12)


def test_estimates_newer_than_a_lock_are_exploratory_and_one_text_for_all_is_an_alarm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, facts = run(capsys, "estimate", "help-centre")
    assert facts["results"].startswith("locked before; recomputed and equal; ")
    assert "newer ones are not locked with it" in facts["results"]
    named = {e["name"]: e for e in facts["estimates"]}
    assert named["outcome_rate[refused]@n1"]["status"] == "exploratory"
    assert named["within_agreement[exact]@n1"]["status"] == "supportive"
    assert facts["alarms"] == []
    texts = {(f"q{q:05d}", "n7", r): "UNKNOWN" for q in range(20) for r in (1, 2)}
    StudySimulator(questions=20, answers=texts).build(tmp_path / "s")
    _, facts = run(capsys, "estimate", tmp_path / "s")
    assert len(facts["alarms"]) == 1
    assert main(["estimate", str(tmp_path / "s")]) == 0
    text = capsys.readouterr().out
    assert "Alarm: 40 of 40 answers in n7 are one and the same (“UNKNOWN”)" in text
    assert text.index("exact_match@n7") < text.index("── outcomes of answers") < text.index("outcome_rate[refused]@n1")


def test_names_of_the_bundled_study(capsys: pytest.CaptureFixture[str]) -> None:
    _, facts = run(capsys, "estimate", "nq-400", "--print")
    named = {e["name"]: e for e in facts["estimates"]}
    for name, top, bottom in (
        ("excess_churn[semantic]@n1-n7", 164, 1600),
        ("within_agreement[exact]@n1", 101, 400),
        ("cross_agreement[exact]@n1-n7", 301, 1600),
        ("repeat_stable_flips[semantic]@n1-n7", 40, 400),
        ("exact_match@n1", 133, 800),
        ("transitions[lost]@n1-n7", 46, 800),
        ("unknown_rate@n0", 40, 800),
    ):
        assert (named[name]["numerator"], named[name]["denominator"]) == (top, bottom)
    assert named["excess_churn[semantic]@n1-n7"]["lower"] == 0.076875
    assert named["excess_churn[semantic]@n1-n7"]["status"] == "confirmatory"
    assert facts["decision"]["outcome"] == "churn confirmed"


def test_claims(capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "claims")
    assert code == 0
    assert (facts["figures"], facts["matched"], len(facts["rows"])) == (131, 131, 131)
    assert {"id", "published", "recomputed", "match", "note"} <= set(facts["rows"][0])


def test_a_changed_published_figure_does_not_match(tmp_path: Path, studies: Path) -> None:
    from audit_core import bundled
    from audit_core.report.claims import claims

    figures = json.loads(bundled.figures().read_text())
    for figure in figures:
        if figure["id"] == "nq.flips":
            figure["published"] = "41"
    (tmp_path / "figures.json").write_text(json.dumps([*figures, {"id": "new", "published": "1"}]))
    facts = claims(studies, tmp_path / "figures.json")
    assert (facts["figures"], facts["matched"]) == (132, 130)


def test_load(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, facts = run(capsys, "load", "nq-400", "v4pro-100", "--db", tmp_path / "audit.db")
    assert code == 0
    assert (facts["db"], facts["studies"]) == (str(tmp_path / "audit.db"), ["nq-400", "v4pro-100"])
    assert facts["rows"]["cell"] == 3600


def test_robustness_prints_the_group_that_the_results_have_or_that_is_newer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, facts = run(capsys, "robustness", "nq-400")
    assert (code, facts["locked"]) == (0, False)
    named = {e["name"]: e for e in facts["estimates"]}
    assert {e["status"] for e in facts["estimates"]} == {"exploratory"}
    assert named["dropped_to_margin[exact]@n1-n7"]["numerator"] == 15
    assert f"{named['permutation_p[semantic]@n1-n7']['value']:.0e}" == "8e-16"
    study = tmp_path / "s"
    StudySimulator(questions=20).build(study)
    assert run(capsys, "robustness", study)[1]["locked"] is False
    written = run(capsys, "estimate", study)[1]["estimates"]
    _, facts = run(capsys, "robustness", study)
    assert facts["locked"] is True
    assert facts["estimates"] == written[-len(facts["estimates"]) :]
    assert {e["status"] for e in facts["estimates"]} == {"supportive", "exploratory"}
    assert main(["robustness", "nq-400"]) == 0
    assert "none of it can rescue or sink a decision" in capsys.readouterr().out


def test_compare_and_explore(capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "compare", "v4pro-100", "nq-400")
    assert code == 0
    assert [e["numerator"] for e in facts["estimates"] if e["measure"] == "paired_difference"] == [4, -2]
    assert {e["status"] for e in facts["estimates"]} == {"exploratory"}
    assert [e["numerator"] for e in facts["estimates"] if e["measure"] == "common_flips"] == [0, 4, 3, 2, 4, 7]
    assert run(capsys, "compare", "help-centre", "borderline-refusal")[0] == 2, "no state in common"
    code, facts = run(capsys, "explore", "nq-400", "n0", "n7")
    assert code == 0
    assert {e["status"] for e in facts["estimates"]} <= {"exploratory", "post-hoc"}
    assert run(capsys, "explore", "nq-400", "n0", "n9")[0] == 2
    assert run(capsys, "explore", "nq-400", "n0", "n7", "--tag", "none")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "/nowhere"),
        ("estimate", "/nowhere"),
        ("load", "/nowhere", "--db", "/tmp/x.db"),
        ("load", "nq-400", "--db", "/nowhere/x.db"),
        ("load", "nq-400", "--db", "/"),
        ("compare", "nq-400", "/nowhere"),
    ],
)
def test_bad_paths_get_a_message_in_four_parts(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main([*arguments, "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert "expected" in captured.err
    assert "Traceback" not in captured.err
    facts = json.loads(captured.out)
    assert facts["ok"] is False
    assert facts["errors"][0]["action"]


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"not json", b'{"v":1}\n', b"[" * 100_000, b"\xff\xfe", b'{"n":NaN}\n', b"\x00" * 5000]
)
@pytest.mark.parametrize(
    "file",
    [
        "locks/00-protocol.json",
        "protocol/protocol.json",
        "answers/cells.jsonl",
        "results/results.json",
        "judgments/primary/cells.jsonl",
    ],
)
def test_damaged_files_never_end_in_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, file: str
) -> None:
    StudySimulator(questions=3).build(tmp_path / "s")
    main(["estimate", str(tmp_path / "s")])
    (tmp_path / "s" / file).chmod(0o644)
    (tmp_path / "s" / file).write_bytes(content)
    capsys.readouterr()
    for command in (
        ["verify"],
        ["estimate"],
        ["load", "--db", str(tmp_path / "x.db")],
        ["load", "--allow-failed", "--db", str(tmp_path / "y.db")],
    ):
        code = main([command[0], str(tmp_path / "s"), *command[1:]])
        captured = capsys.readouterr()
        assert "fault of the program" not in captured.err, (command, captured.err)
        assert "Traceback" not in captured.err
        if "--allow-failed" not in command and not (command == ["estimate"] and file.startswith("results")):
            assert code in (1, 2)
    assert not (tmp_path / "x.db").exists()
    assert not list(tmp_path.glob(".*partial*"))


@pytest.mark.parametrize(
    "arguments", [[], ["nothing"], ["verify"], ["import"], ["dashboard", "--port", "99999"], ["verify", "x", "--what"]]
)
def test_usage_errors_exit_with_two(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("usage: ")
    assert "error: " in captured.err
    assert captured.out == ""
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["ok"] is False


@pytest.mark.parametrize("command", ["estimate", "explore"])
def test_nothing_is_computed_on_a_study_that_was_changed(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    StudySimulator(questions=5).build(tmp_path / "s")
    cells = tmp_path / "s" / CELLS
    lines = cells.read_bytes().split(b"\n")
    cells.write_bytes(b"\n".join(lines[:-2]) + b"\n")
    arguments = [command, str(tmp_path / "s"), *(["n1", "n7"] if command == "explore" else [])]
    assert main([*arguments, "--json"]) == 1
    assert "C04" in capsys.readouterr().err
    assert not (tmp_path / "s" / "results").exists()
    assert run(capsys, "explore", "nq-400", "n1", "n1")[0] == 2


def test_a_full_standard_output_is_told_without_a_traceback() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "audit_core.cli", "verify", "v4pro-100", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_a_pipe_in_place_of_a_ledger_hangs_nothing(tmp_path: Path) -> None:
    StudySimulator(questions=3).build(tmp_path / "s")
    (tmp_path / "s" / "gold" / "gold.jsonl").unlink()
    os.mkfifo(tmp_path / "s" / "gold" / "gold.jsonl")
    for command in (["verify"], ["estimate"], ["load", "--allow-failed", "--db", str(tmp_path / "x.db")]):
        assert main([command[0], str(tmp_path / "s"), *command[1:]]) in (1, 2)


def test_many_states_without_endpoints_stay_readable(tmp_path: Path) -> None:
    """Thousands of pairs make a large results file, which verifier and loader still read."""
    states = [f"s{i:03d}" for i in range(70)]
    study = StudySimulator(questions=2, states=states, labels=False, evidence=False, gold=False)
    study.build(tmp_path / "s", endpoints=None)
    assert main(["estimate", str(tmp_path / "s"), "--json"]) == 0
    assert (tmp_path / "s" / "results" / "results.json").stat().st_size > 16 << 20
    assert main(["verify", str(tmp_path / "s"), "--json"]) == 0


def test_help_of_every_command_fits_the_readme() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for command in (
        "verify",
        "estimate",
        "explore",
        "compare",
        "gate",
        "claims",
        "import table",
        "load",
        "dashboard",
        "demo",
        "init",
        "freeze",
        "run",
        "status",
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*command.split(), "--help"])
        assert stopped.value.code == 0
        assert f"snapshot-audit {command}" in readme


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m audit_core.cli claims | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("figure")


@pytest.mark.parametrize(
    "command",
    [
        ("export", "STUDY", "--out", "STUDY/x.csv"),
        ("check-judge", "STUDY", "--sheet", "STUDY/answers/s.csv"),
        ("reviews", "export", "small", "--format", "jsonl", "--out", "STUDY/v.jsonl"),
        ("init", "STUDY"),
        ("import", "table", "rows.csv", "--study", "STUDY/sub"),
        ("load", "STUDY", "--db", "STUDY/a.db"),
        ("plan", "--out", "STUDY/protocol.toml"),
        ("bundle", "STUDY", "--dir", "STUDY/bundle", "--key", "key"),
    ],
)
def test_nothing_is_written_into_a_locked_study(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study = StudySimulator(study_id="small", questions=4).build(tmp_path / "small").path
    Path("rows.csv").write_text("question_id,question,state,repeat,answer\nq,a?,a,1,x\nq,a?,b,1,x\n")
    before = sorted(study.rglob("*"))
    assert main([part.replace("STUDY", str(study)) for part in command]) == 2
    assert "a locked study takes no more files" in capsys.readouterr().err
    assert sorted(study.rglob("*")) == before


@pytest.mark.parametrize("what", NOT_READ)
def test_a_protocol_or_report_that_may_not_be_read_is_refused(
    what: str, studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = not_read(tmp_path / "it", what)
    for command in (
        ["freeze", str(tmp_path / "it"), "--study", str(tmp_path / "s")],
        ["verify", str(studies / "v4pro-100"), "--claims", str(tmp_path / "it")],
    ):
        assert main(command) == 2
        assert told in capsys.readouterr().err
