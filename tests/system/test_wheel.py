"""Both packages work from an installed wheel, away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder / "site"


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )


def test_command_line_and_bundled_studies(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "audit_core.cli", "load", "nq-400", "--db", "audit.db", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["studies"] == ["nq-400"]
    done = run(installed, tmp_path, "audit_core.cli", "claims", "--json")
    assert json.loads(done.stdout)["matched"] == 131


def test_the_dashboard_finds_its_settings(installed: Path, tmp_path: Path) -> None:
    code = (
        "import audit_core, dashboard\nfrom dashboard.launch import options\nfrom pathlib import Path\n"
        "print(Path(dashboard.__file__).parent.parent)\nprint(options()['browser.gatherUsageStats'])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.stdout.split() == [str(installed), "False"], done.stderr
