"""The commands of the walk-through are run as they stand, and no page links to nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit_core.collection import read_toml
from audit_core.readmodel import read

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run_commands(name: str, folder: Path) -> None:
    """Run the shell commands of a page, as they stand."""
    if shutil.which("sed") is None or sys.platform != "linux":
        pytest.skip("the page's commands are for a Linux shell")
    page = (ROOT / "docs" / name).read_text()
    script = "set -eu\n" + "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    commands = folder / "bin"
    commands.mkdir()
    for name, what in (("snapshot-audit", " -m audit_core.cli"), ("python3", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{what} "$@"\n')
        (commands / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_run_an_audit_from_init_to_the_database(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "corpora", tmp_path / "data" / "corpora")
    run_commands("run-an-audit.md", tmp_path)
    study = read.study(tmp_path / "my-audit" / "audit.db", "my-study")
    assert (study["questions"], study["verified"], study["has_evidence"]) == (80, "passed", True)
    assert [s["state"] for s in study["states"]] == ["n0", "n1", "n3", "n7"]


def test_retrieval_replays_two_runs_and_repeats_the_study(tmp_path: Path) -> None:
    run_commands("retrieval.md", tmp_path)
    assert (tmp_path / "my-repeat/my-repeat/results/results.json").is_file()
    lines = (tmp_path / "my-replay/my-replay/retrieval/primary.jsonl").read_text().splitlines()
    assert [[d["document_id"] for d in json.loads(line)["documents"]] for line in lines] == [["a"], ["b", "a"]]


def test_the_commands_of_the_planner_write_a_protocol(tmp_path: Path) -> None:
    run_commands("plan.md", tmp_path)
    assert read_toml(tmp_path / "protocol.toml")[1].count == 400


def test_the_commands_of_the_share_bundle_check_it(tmp_path: Path) -> None:
    run_commands("share.md", tmp_path)
    assert (tmp_path / "help-centre-bundle/verify.py").is_file()
    assert json.loads((tmp_path / "proof.json").read_text())["text"] == "15 minutes"


RECIPES = {
    "promptfoo": ({"refunds": "audit.db"}, ["before", "after"]),
    "inspect": ({"refunds": "audit.db"}, ["may", "june"]),
    "ragas": ({"refunds": "audit.db"}, ["may", "june"]),
    "phoenix-langfuse": (
        {"phoenix": "audit.db", "langfuse": "langfuse.db", "langsmith": "langsmith.db"},
        ["may", "june"],
    ),
    "own-pipeline": ({"refunds": "audit.db"}, ["may", "june"]),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_lead_from_nothing_to_a_flip_in_triage(tmp_path: Path, name: str) -> None:
    run_commands(f"recipes/{name}.md", tmp_path)
    databases, states = RECIPES[name]
    for study, database in databases.items():
        facts = read.study(tmp_path / database, study)
        found = [state["state"] for state in facts["states"]]
        assert facts["verified"] == "passed"
        assert [state.casefold() for state in found] == states
        rows = read.estimates(tmp_path / database, study)
        assert rows[f"repeat_stable_flips[exact]@{found[0]}-{found[1]}"]["numerator"] == 1


def test_every_recipe_is_run() -> None:
    assert {page.stem for page in (ROOT / "docs" / "recipes").glob("*.md")} == set(RECIPES)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
