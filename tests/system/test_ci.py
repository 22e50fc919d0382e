"""The workflow and the pytest example of docs/ci, with the commands they hold, on a study for each outcome."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.junit import faults
from tests.support.ruled import CALM, FEW, MOVED, NUMBERS, build
from tests.system.test_docs import run_commands

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / "docs" / "ci" / "github-actions.yml").read_text()
pytestmark = pytest.mark.skipif(sys.platform != "linux" or not shutil.which("bash"), reason="the commands are for bash")


def steps() -> dict[str, str]:
    """Shell commands of the workflow by the name of their step."""
    found = re.findall(r"^      - name: (.+)\n((?:        .*\n|\n)+)", WORKFLOW, re.MULTILINE)
    assert [name for name, _ in found] == ["Install", "Take in the logs", "Decide", "Show", "Outcome"]
    parts = {name: re.search(r"^        run: \|\n((?:          .*\n)+)", body, re.MULTILINE) for name, body in found}
    return {name: re.sub("^ {10}", "", part[1], flags=re.MULTILINE) for name, part in parts.items() if part}


def workflow(folder: Path, bin_folder: Path, **variables: str) -> tuple[int, str, str]:
    """Run the steps as a runner does; returns the exit code, what was printed, and the step's summary."""
    given = dict(re.findall(r"^  ([A-Z]+): (\S+)", WORKFLOW, re.MULTILINE)) | variables
    output, summary = folder / "output", folder / "summary"
    output.touch()
    summary.touch()
    env = {
        **os.environ, **given, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
    }  # fmt: skip
    printed, code = "", 0
    for name, script in steps().items():
        if name == "Install":
            assert script == "pip install snapshot-audit\n"
            continue
        if name == "Outcome":
            assert "CODE: ${{ steps.gate.outputs.code }}" in WORKFLOW
            env["CODE"] = dict(line.split("=", 1) for line in output.read_text().splitlines())["code"]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder, env=env, capture_output=True, text=True,
        )  # fmt: skip
        printed, code = printed + done.stdout + done.stderr, done.returncode
        if code:
            break
    return code, printed, summary.read_text()


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder with the command in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "snapshot-audit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m audit_core.cli "$@"\n')
    (folder / "snapshot-audit").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [(CALM, 0, "The release rule is met."), (MOVED, 1, "title=Release rule not met"), (FEW, 4, "cannot be decided::")],
    ids=["met", "not-met", "cannot-be-decided"],
)
def test_the_workflow_on_a_study(tmp_path: Path, commands: Path, how: dict, code: int, said: str) -> None:
    (tmp_path / "audit").mkdir()
    build(tmp_path / "audit" / "study", NUMBERS, **how)
    ended, printed, summary = workflow(tmp_path, commands)
    assert (ended, said in printed) == (code, True)
    assert summary == (tmp_path / "gate.md").read_text()
    assert faults((tmp_path / "gate.xml").read_bytes()) == []


def test_the_workflow_on_logs_as_the_page_makes_them(tmp_path: Path) -> None:
    run_commands("gate.md", tmp_path)
    assert "Release rule met: all 2 conditions hold" in (tmp_path / "gate.md").read_text()
    shutil.rmtree(tmp_path / "audit" / "study")
    ended, printed, _ = workflow(tmp_path, tmp_path / "bin")
    assert (ended, "The release rule is met." in printed) == (0, True)
    assert (tmp_path / "audit" / "study" / "locks").is_dir()
    (tmp_path / "audit" / "release.toml").write_text("[release]\nsign_off = true\n")
    (tmp_path / "gate.md").unlink()
    ended, printed, _ = workflow(tmp_path, tmp_path / "bin")
    assert (ended, "The gate could not be run" in printed) == (2, True)


@pytest.mark.parametrize(
    ("how", "outcomes"),
    [(CALM, {"passed": 4}), (MOVED, {"passed": 1, "failed": 3}), (FEW, {"passed": 1, "failed": 3})],
    ids=["met", "not-met", "cannot-be-decided"],
)
def test_the_pytest_example(tmp_path: Path, commands: Path, how: dict, outcomes: dict[str, int]) -> None:
    build(tmp_path / "study", NUMBERS, **how)
    shutil.copy(ROOT / "docs" / "ci" / "test_release.py", tmp_path)
    env = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "STUDY": "study"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_release.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == (1 if "failed" in outcomes else 0), done.stdout
    for word, number in outcomes.items():
        assert f"{number} {word}" in done.stdout
    if how is FEW:
        assert "cannot be decided: Not decided: semantic excess churn" in done.stdout


def test_the_pytest_example_fails_where_the_gate_cannot_be_run(tmp_path: Path, commands: Path) -> None:
    shutil.copy(ROOT / "docs" / "ci" / "test_release.py", tmp_path)
    env = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "STUDY": "nothing"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_release.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no study" in done.stdout
