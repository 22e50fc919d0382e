"""The commands of the walk-through are run as they stand, and no page links to nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit_core.readmodel import read

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_run_an_audit_from_init_to_the_database(tmp_path: Path) -> None:
    if shutil.which("sed") is None or sys.platform != "linux":
        pytest.skip("the page's commands are for a Linux shell")
    shutil.copytree(ROOT / "data" / "corpora", tmp_path / "data" / "corpora")
    page = (ROOT / "docs" / "run-an-audit.md").read_text()
    script = "set -eu\n" + "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "snapshot-audit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m audit_core.cli "$@"\n')
    (commands / "snapshot-audit").chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    study = read.study(tmp_path / "my-audit" / "audit.db", "my-study")
    assert (study["questions"], study["verified"], study["has_evidence"]) == (80, "passed", True)
    assert [s["state"] for s in study["states"]] == ["n0", "n1", "n3", "n7"]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
