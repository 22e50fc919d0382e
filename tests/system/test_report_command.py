"""`snapshot-audit report` and `verify --claims`: files whole or not at all, clear refusals, exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit_core.reviews.store import ReviewStore
from tests.support.reports import resealed
from tests.support.signing import give, screens
from tests.support.simulator import StudySimulator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return StudySimulator(study_id="small", questions=20, flips=0.3).build(tmp_path_factory.mktemp("s") / "small").path


def run(*arguments: object, folder: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | ({"PATH": path} if path is not None else {})
    command = [sys.executable, "-m", "audit_core.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_a_report_is_written_and_derived_again(study, tmp_path):
    done = run("report", study, "--html", "r.html", "--json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = json.loads(done.stdout)["files"]
    assert file["bytes"] == (tmp_path / "r.html").stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    again = run("report", study, "--html", "again.html", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["files"][0]["sha256"] == file["sha256"]
    over = run("report", study, "--html", "r.html", "--redacted", folder=tmp_path)
    assert over.returncode == 0  # an earlier report may be replaced
    checked = run("verify", study, "--claims", "again.html", "--json", folder=tmp_path)
    assert checked.returncode == 0
    assert [c["result"] for c in json.loads(checked.stdout)["checks"] if c["id"].startswith("R")] == ["passed"] * 8
    page = (tmp_path / "again.html").read_text("utf-8")
    (tmp_path / "forged.html").write_text(page.replace("20</data> questions", "30</data> questions"), "utf-8")
    forged = run("verify", study, "--claims", "forged.html", folder=tmp_path)
    assert forged.returncode == 1
    assert "Printed “30”, derived “20”" in forged.stdout


def test_what_marks_cannot_show_is_compared_with_the_report_made_anew(study, tmp_path):
    run("report", study, "--html", "r.html", folder=tmp_path)
    page = (tmp_path / "r.html").read_bytes()
    marks = list(re.finditer(rb"<data [^>]*excess_churn[^>]*>[^<]*</data>", page))
    exchanged = page[: marks[0].start()] + marks[1][0] + page[marks[0].end() :]
    for forged, code, result in (
        (page.replace(b"at least twice", b"at most twice"), 1, "failed"),
        (exchanged, 1, "failed"),
        (page.replace(b"/**\n* plotly", b"document.title='';/**\n* plotly", 1), 1, "failed"),
        (page.replace(b'"made_by":"snapshot-audit ', b'"made_by":"snapshot-audit 9.'), 4, "could not check"),
    ):
        assert forged != page
        (tmp_path / "forged.html").write_bytes(resealed(forged))
        done = run("verify", study, "--claims", "forged.html", "--json", folder=tmp_path)
        results = {c["id"]: c["result"] for c in json.loads(done.stdout)["checks"] if c["id"].startswith("R")}
        assert results == dict.fromkeys(("R01", "R02", "R03", "R04", "R05", "R06", "R07"), "passed") | {"R08": result}
        assert done.returncode == code


def test_verdicts_come_from_the_file_that_is_named_or_beside(study, tmp_path):
    screen = screens(study, "semantic")
    store = ReviewStore(tmp_path / "reviews.db")
    shown = screen(store.fold())
    give(store, shown, shown.flips[0], "local:Ada", "regression", impact="high")
    run("report", study, "--html", "r.html", folder=tmp_path)
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '["review","high_impact_regressions"]'.replace('"', "&quot;") in page
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("report", study, "--html", "r.html", folder=elsewhere)
    assert "high_impact_regressions&quot;]" not in (elsewhere / "r.html").read_text("utf-8")
    run("report", study, "--html", "r.html", "--reviews", tmp_path / "reviews.db", folder=elsewhere)
    assert (elsewhere / "r.html").read_text("utf-8") == page
    shutil.copytree(study, tmp_path / "small")
    run("report", tmp_path / "small", "--html", "beside.html", folder=elsewhere)
    assert (elsewhere / "beside.html").read_text("utf-8") == page


def test_verdicts_that_nobody_gave_are_found_with_the_store(study, tmp_path):
    store = ReviewStore(tmp_path / "kept.db")
    screen = screens(study, "semantic")
    shown = screen(store.fold())
    for question, verdict in zip(shown.flips, ("regression", "improvement"), strict=False):
        give(store, shown, question, "local:Ada", verdict, impact="high")
    run("report", study, "--html", "r.html", "--reviews", "kept.db", folder=tmp_path)

    def checked(file: str, *more: str) -> tuple[int, dict[str, str], str]:
        done = run("verify", study, "--claims", file, *more, "--json", folder=tmp_path)
        found = {c["id"]: c for c in json.loads(done.stdout)["checks"] if c["id"] in ("R03", "R08", "R09")}
        return done.returncode, {name: c["result"] for name, c in found.items()}, found.get("R09", {}).get("detail", "")

    good = {"R03": "passed", "R08": "passed", "R09": "passed"}
    assert checked("r.html", "--reviews", "kept.db")[:2] == (0, good)
    assert checked("r.html")[:2] == (0, {"R03": "passed", "R08": "passed"})
    (tmp_path / "eve").mkdir()  # another store in the same folder would take part in this one's journal
    other = ReviewStore(tmp_path / "eve" / "reviews.db")
    give(other, screen(other.fold()), shown.flips[0], "local:Ada", "improvement", impact="high")
    run("report", study, "--html", "forged.html", "--reviews", "eve/reviews.db", folder=tmp_path)
    assert checked("forged.html")[0] == 0  # by itself it is consistent
    code, results, detail = checked("forged.html", "--reviews", "kept.db")
    assert (code, results) == (1, good | {"R09": "failed"})
    assert detail.startswith("It carries 1 verdicts and rulings, the store holds 2; from number 1 on")
    give(store, screen(store.fold()), shown.flips[2], "local:Ada", "regression", impact="high")
    code, _, detail = checked("r.html", "--reviews", "kept.db")  # people went on since
    assert (code, detail) == (1, "It carries 2 verdicts and rulings, the store holds 3; from number 3 on they differ.")
    run("report", study, "--html", "later.html", "--reviews", "kept.db", folder=tmp_path)
    page = (tmp_path / "later.html").read_bytes()
    made_up = {"at": "2026-01-01 00:00", "by": "Eve", "conditions": "", "decision": "Ship", "fault": "", "outdated": ""}
    made_up |= {"proved": "", "reason": "Fine.", "reviewed": "3", "sha256": "0" * 64, "total": "6", "verdict": "ship"}
    signed = page.replace(b'"signoff":null', b'"signoff":' + json.dumps(made_up).encode())
    assert signed != page
    (tmp_path / "signed.html").write_bytes(resealed(signed))
    code, _, detail = checked("signed.html", "--reviews", "kept.db")
    assert (code, detail) == (1, "The verdicts are those of the store, the sign-off is not.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--reviews", "kept.db"), "verdicts are compared with those of a report"),
        (("--claims", "r.html", "--reviews", "absent.db"), "no such file"),
        (("--claims", "r.html", "--reviews", "."), "a folder or a device"),
    ],
)
def test_a_store_is_named_with_a_report_or_refused(arguments, words, study, tmp_path):
    done = run("verify", study, *arguments, folder=tmp_path)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "there is nothing to write"),
        (("--html", "taken.txt"), 2, "another file has this name"),
        (("--html", "nowhere/r.html"), 3, "there is no such folder"),
        (("--html", "r.html", "--old", "n1"), 2, "a pair needs two states"),
        (("--html", "r.html", "--old", "n7", "--new", "n1"), 2, "not part of the study's estimates"),
        (("--html", "r.html", "--reviews", "absent.db"), 2, "no verdicts here"),
        (("--html", "r.html", "--reviews", "."), 2, "a folder or a device"),
        (("--html", "r.html", "--reviews", "taken.txt"), 3, "taken.txt"),
        (("--html", "r.html", "--needed", "0"), 2, "a question needs a verdict"),
        (("--html", "r.html", "--pdf", "r.html"), 2, "two files have one name"),
        (("--html", os.devnull), 2, "a device has this name"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(arguments, code, words, study, tmp_path):
    (tmp_path / "taken.txt").write_text("mine " * 200)
    done = run("report", study, *arguments, "--json", folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert json.loads(done.stdout)["exit_code"] == code
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html" or path.name.startswith(".")] == []
    assert (tmp_path / "taken.txt").read_text() == "mine " * 200


def test_a_locked_study_takes_no_report(study, tmp_path):
    copy = Path(shutil.copytree(study, tmp_path / "small"))
    before = sorted(copy.rglob("*"))
    for option in ("--html", "--pdf"):
        done = run("report", copy, option, copy / "results" / "r.html", folder=tmp_path)
        assert (done.returncode, "a locked study takes no more files" in done.stderr) == (2, True)
    done = run("plan", "--out", copy / "protocol.toml", folder=tmp_path)
    assert (done.returncode, "a locked study takes no more files" in done.stderr) == (2, True)
    assert sorted(copy.rglob("*")) == before


def test_a_report_that_is_stopped_leaves_nothing(study, tmp_path):
    browser, scratch = tmp_path / "bin" / "chromium", tmp_path / "scratch"
    browser.parent.mkdir()
    scratch.mkdir()
    browser.write_text(f"#!{sys.executable}\nimport pathlib, sys, time\n"
                       f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(__import__('os').getpid()))\n"
                       "time.sleep(60)\n")  # fmt: skip
    browser.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": str(browser.parent), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "audit_core.cli", "report", str(study), "--html", "r.html", "--pdf", "r.pdf"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        for _ in range(600):
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
            time.sleep(0.1)
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM
    printer = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(printer, 0)
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "pid", "scratch"]


def test_without_a_browser_nothing_is_written(study, tmp_path):
    done = run("report", study, "--html", "r.html", "--pdf", "r.pdf", folder=tmp_path, path="/nowhere")
    assert done.returncode == 3
    assert "no browser to print with" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_study_that_fails_a_check_gets_no_report(study, tmp_path):
    copy = tmp_path / "small"
    shutil.copytree(study, copy)
    cells = copy / "answers" / "cells.jsonl"
    cells.chmod(0o644)
    cells.write_bytes(cells.read_bytes().replace(b"nswer", b"nzwer", 1))
    done = run("report", copy, "--html", "r.html", folder=tmp_path)
    assert done.returncode == 1
    assert not (tmp_path / "r.html").exists()
