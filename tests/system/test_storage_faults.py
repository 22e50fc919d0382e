"""A collection whose disk is full or limited, or that a second collector wants: it stops and loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit_core.collect import stages
from audit_core.study import ATTEMPTS, Study
from audit_core.verify import verify
from tests.support.batches import BatchService
from tests.support.collecting import messages, prepare
from tests.support.service import Scripted, Service
from tests.support.simulator import CREATED

KEY = "sk-ant-CANARY-97531"
LIMITED = """
import resource, signal, sys
from audit_core.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)


def ready(folder: Path, url: str, **more: object) -> Study:
    study = stages.freeze(prepare(folder, generation=messages(url, **more)), folder / "study", CREATED)  # type: ignore[arg-type]
    stages.select_questions(study, folder, CREATED)
    stages.retrieve_evidence(study, folder, CREATED)
    return study


def accepted(study: Study) -> list[str]:
    lines = (study.path / ATTEMPTS).read_bytes().split(b"\n")[:-1]
    return [r["attempt"] for r in map(json.loads, lines) if r.get("outcome") == "accepted"]


def finished(study: Study, before: list[str]) -> None:
    stages.answer_questions(study, CREATED, pause=lambda _: None)
    after = accepted(study)
    assert after[: len(before)] == before, "what was accepted before is still there, and first"
    assert len(after) == 36
    found = {check.check_id: check.result for check in verify(study.path)}
    assert "failed" not in found.values(), found
    assert (found["C19"], found["C20"]) == ("passed", "passed")


@pytest.mark.parametrize("transport", ["calls", "batch"])
def test_a_limit_on_the_size_of_files_stops_the_run_with_four_parts(tmp_path: Path, transport: str) -> None:
    with BatchService() as service:
        more = {"concurrency": 4} if transport == "calls" else {"transport": '"batch"', "batch_size": 6}
        study = ready(tmp_path, service.url, **more)
        command = [sys.executable, "-c", LIMITED, "15000", "run", str(study.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 3, done.stderr
        for part in ("cannot append to attempts.jsonl", "expected space", "records are safe", "run the same command"):
            assert part in done.stderr
        assert "Traceback" not in done.stderr
        before = accepted(study)
        assert 0 < len(before) < 36
        finished(study, before)
        if transport == "batch":
            assert len(service.seen) == 36, "the batch that was under way was found again"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 192 KiB; only root can make one."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a small file system")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_stops_the_run_and_free_space_lets_it_go_on(small_disk: Path) -> None:
    with Service(lambda _s, _n: Scripted(text="x" * 400)) as service:
        study = ready(small_disk / "audit", service.url, concurrency=3)
        ballast = small_disk / "ballast"
        free = shutil.disk_usage(small_disk).free
        ballast.write_bytes(b"x" * (free - 20_000))
        done = subprocess.run(
            [sys.executable, "-m", "audit_core.cli", "run", str(study.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3, done.stderr
        assert "No space left on device" in done.stderr
        assert "Free space" in done.stderr
        assert "Traceback" not in done.stderr
        before = accepted(study)
        assert 0 < len(before) < 36
        ballast.unlink()
        finished(study, before)


@pytest.mark.parametrize("transport", ["calls", "batch"])
def test_a_second_collector_is_refused_and_disturbs_nothing(tmp_path: Path, transport: str) -> None:
    with BatchService(lambda _s, _n: Scripted(delay=0.05)) as service:
        more = {} if transport == "calls" else {"transport": '"batch"', "batch_size": 40}
        study = ready(tmp_path, service.url, **more)
        answers: list[subprocess.CompletedProcess[str]] = []
        command = [sys.executable, "-m", "audit_core.cli", "run", str(study.path)]

        def second(*_: object) -> None:
            if len(service.seen) == 5:
                answers.append(subprocess.run(command, capture_output=True, text=True, check=False))

        service.on_arrival = second
        stages.answer_questions(study, CREATED, pause=lambda _: None)
        assert len(service.seen) == 36
    (other,) = answers
    assert other.returncode == 3
    assert "another process writes this ledger" in other.stderr
    assert "Traceback" not in other.stderr
    finished_again = {check.check_id: check.result for check in verify(study.path)}
    assert "failed" not in finished_again.values()


def test_a_folder_that_cannot_be_written_is_said_before_the_first_call(tmp_path: Path) -> None:
    if not os.geteuid():
        pytest.skip("root may write everywhere")
    with Service() as service:
        study = ready(tmp_path, service.url)
        study.path.chmod(0o555)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "audit_core.cli", "run", str(study.path)],
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            study.path.chmod(0o755)
        assert done.returncode == 3
        assert service.seen == []


def test_a_torn_tail_is_kept_aside_and_the_study_still_verifies(tmp_path: Path) -> None:
    with Service() as service:
        study = ready(tmp_path, service.url)
        (study.path / "answers").mkdir()
        (study.path / ATTEMPTS).write_bytes(b'{"attempt":"0000001-to')
        finished(study, [])
        assert (study.path / "answers/attempts.jsonl.torn-0").read_bytes() == b'{"attempt":"0000001-to'


def test_the_draft_of_a_lock_that_a_kill_left_is_no_part_of_the_study(tmp_path: Path) -> None:
    with Service() as service:
        study = ready(tmp_path, service.url)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        for name in (f"locks/.30-answers.json.{ended.pid}", f"locks/.30-answers.json.{os.getpid()}"):
            (study.path / name).write_bytes(b'{"v":')
        assert {c.check_id: c.result for c in verify(study.path)}["C01"] == "passed"
        finished(study, [])
    assert [path.name for path in (study.path / "locks").iterdir() if path.name.startswith(".")] == []
    (study.path / "locks/.other").write_bytes(b"")
    assert {c.check_id: c.result for c in verify(study.path)}["C01"] == "failed"
