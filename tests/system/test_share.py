"""Share bundles as strangers check them: with Python and numpy alone; and the commands with their exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.results import estimate_study
from audit_core.study import CELLS
from tests.support import bundles
from tests.support.files import NOT_READ, not_read
from tests.support.ruled import BOTH
from tests.support.simulator import CREATED, StudySimulator

STUDIES = ("help-centre", "borderline-refusal", "nq-400", "triviaqa-200", "v4pro-100")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main([*map(str, arguments), "--json"])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return code, json.loads(out)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with numpy and nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "numpy"], check=True, env=clean())
    code = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    listed = subprocess.run([str(python), "-I", "-c", code], check=True, capture_output=True, text=True).stdout
    assert {"numpy"} <= set(listed.split()) <= {"numpy", "pip", "setuptools"}
    return python


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def verify(python: Path, folder: Path, *arguments: str, before: str = "") -> tuple[int, dict[str, Any]]:
    """``python verify.py --json`` away from the checkout, isolated from user and environment."""
    script = str(folder / "verify.py")
    command = [str(python), "-I", script, *arguments, "--json"]
    if before:
        argv = [script, *arguments, "--json"]
        code = f"import runpy, sys\n{before}\nsys.argv = {argv!r}\nrunpy.run_path(sys.argv[0], run_name='__main__')"
        command = [str(python), "-I", "-c", code]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, env=clean())
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_bundles_verify_where_there_is_nothing_but_numpy(alone: Path, tmp_path: Path, capsys) -> None:
    check = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    names = ["streamlit", "pandas", "orjson", "plotly", "sqlite_utils", "anthropic", "pyarrow", "audit_core", "numpy"]
    found = subprocess.run(
        [str(alone), "-I", "-c", check, *names], cwd=tmp_path, capture_output=True, text=True, env=clean()
    )
    assert found.stdout.strip() == "['numpy']"
    released = StudySimulator(questions=60, states=("n0", "n1", "n3", "n7"), repeats=3).build(
        tmp_path / "released", release=BOTH
    )
    estimate_study(released, created=CREATED)
    for study in (*STUDIES, str(released.path)):
        for more in ([], ["--opaque-ids"]):
            name = Path(study).name + "-".join(more)
            code, facts = run(capsys, "bundle", study, "--out", tmp_path / f"{name}.zip", *more)
            assert code == 0
            with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
                archive.extractall(tmp_path / "unpacked" / name)
            (folder,) = (tmp_path / "unpacked" / name).iterdir()
            code, told = verify(alone, folder, "--expect", facts["manifest"], "--expect-lock", facts["lock"])
            found_here = {check["id"]: check["result"] for check in told["checks"]}
            assert code == 0
            assert told["ok"]
            assert {c for c, r in found_here.items() if r != "passed"} <= {"B11", "B13"}, told
            assert (found_here["B13"] == "passed") == facts["results_as_locked"]
            again, installed = run(capsys, "verify-bundle", folder)
            assert again == 0, "verifying left no file behind"
            assert [(c["id"], c["detail"]) for c in installed["checks"] if c["id"] not in ("B03", "B05", "B15")] == [
                (c["id"], c["detail"]) for c in told["checks"] if c["id"] not in ("B03", "B05")
            ], "the carried modules say what the installed ones say"


@pytest.mark.slow
def test_a_changed_bundle_fails_there_too(alone: Path, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "bundle"
    run(capsys, "bundle", "v4pro-100", "--dir", folder)
    assert verify(alone, folder, before="sys.modules['fcntl'] = None")[0] == 0, "readers need no POSIX"
    bundles.results(lambda record: record["estimates"][0].update(numerator=1))(folder)
    code, told = verify(alone, folder)
    assert code == 1
    assert {c["id"] for c in told["checks"] if c["result"] == "failed"} == {"B10", "B13"}, "it posed as the locked one"
    calls_out = b"\nimport socket\nsocket.create_connection(('127.0.0.1', 9))\n"
    bundles.data("verifier/audit_core/errors.py", lambda source: source + calls_out)(folder)
    done = subprocess.run([str(alone), "-I", str(folder / "verify.py")], capture_output=True, text=True, env=clean())
    assert "refused: socket" in done.stderr


def test_the_way_of_a_bundle(tmp_path: Path, capsys) -> None:
    code, made = run(capsys, "bundle", "help-centre", "--out", tmp_path / "hc.zip")
    assert code == 0
    assert made["key"] == str(tmp_path / "hc-key.json")
    code, told = run(
        capsys, "verify-bundle", tmp_path / "hc.zip", "--expect", made["manifest"], "--expect-lock", made["lock"]
    )
    assert (code, told["ok"]) == (0, True)
    assert {check["result"] for check in told["checks"]} == {"passed"}
    proof = tmp_path / "proof.json"
    place = ("help-centre", "hc-q034", "n0", "2")
    code, shown = run(capsys, "prove", *place, "--key", made["key"], "--out", proof, "--locked")
    assert (code, shown["proof"]["text"]) == (0, "15 minutes")
    code, told = run(capsys, "verify-bundle", tmp_path / "hc.zip", "--proof", proof)
    assert [c["detail"] for c in told["checks"] if c["id"] == "B14"] == ["It is the locked one: '15 minutes'"]
    assert run(capsys, "prove", *place, "--key", made["key"], "--out", proof)[0] == 2, "no file is written over"
    assert run(capsys, "verify-bundle", tmp_path / "hc.zip", "--expect", "0" * 64)[0] == 1
    assert run(capsys, "verify-bundle", tmp_path / "nothing.zip")[0] == 2
    assert run(capsys, "bundle", "help-centre", "--out", tmp_path / "hc.zip")[0] == 2
    assert run(capsys, "bundle", "help-centre", "--out", tmp_path / "hc.tar")[0] == 2
    assert run(capsys, "bundle", "help-centre")[0] == 2
    for text in ("no proof", "null", "[]"):
        (tmp_path / "proof.txt").write_text(text)
        assert run(capsys, "verify-bundle", tmp_path / "hc.zip", "--proof", tmp_path / "proof.txt")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hc-key.json", "hc.zip", "proof.json", "proof.txt"]


@pytest.mark.parametrize("what", NOT_READ)
def test_a_key_or_proof_that_may_not_be_read_is_refused(what: str, alone: Path, tmp_path: Path, capsys) -> None:
    it, folder = tmp_path / "it", tmp_path / "b"
    assert run(capsys, "bundle", "v4pro-100", "--dir", folder)[0] == 0
    told = not_read(it, what)
    commands: list[tuple[object, ...]] = [
        ("verify-bundle", folder, "--proof", it),
        ("prove", "v4pro-100", "q", "n0", "1", "--key", it, "--out", tmp_path / "p"),
    ]
    if it.exists():
        commands.append(("bundle", "v4pro-100", "--dir", tmp_path / "c", "--key", it))
    for command in commands:
        code, facts = run(capsys, *command)
        assert (code, told in facts["errors"][0]["what"]) == (2, True), facts
    entry = [str(alone), "-I", str(folder / "verify.py"), "--proof", str(it)]
    done = subprocess.run(entry, capture_output=True, text=True, env=clean(), timeout=60)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_an_archive_without_manifest_is_named_not_where_it_was_unpacked(tmp_path: Path, capsys) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("b/x", b"1")
    code, facts = run(capsys, "verify-bundle", tmp_path / "b.zip")
    assert (code, facts["errors"][0]["where"]) == (2, str(tmp_path / "b.zip"))


def test_a_study_that_fails_its_checks_is_not_bundled(tmp_path: Path, capsys, studies: Path) -> None:
    shutil.copytree(studies / "v4pro-100", tmp_path / "study")
    cells = tmp_path / "study" / CELLS
    cells.chmod(0o644)
    cells.write_bytes(cells.read_bytes().replace(b'"n1"', b'"n7"', 1))
    code, facts = run(capsys, "bundle", tmp_path / "study", "--out", tmp_path / "b.zip")
    assert code == 1
    assert "C04" in facts["errors"][0]["what"]
    assert [path.name for path in tmp_path.iterdir()] == ["study"]


def test_the_console_says_what_to_keep_and_what_to_publish(tmp_path: Path, capsys) -> None:
    assert main(["bundle", "v4pro-100", "--dir", str(tmp_path / "b")]) == 0
    out = capsys.readouterr().out
    assert "Keep to yourself: " in out
    assert "Publish elsewhere: manifest " in out
    assert main(["verify-bundle", str(tmp_path / "b")]) == 0
    assert "11 passed, 0 failed, 3 could not be checked" in capsys.readouterr().out
