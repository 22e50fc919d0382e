"""An import in a process of its own: it tells how far it is, and stopped it leaves nothing."""

from __future__ import annotations

import time
from pathlib import Path

from dashboard.jobs import Job
from tests.support.logs import promptfoo


def wait(job: Job, patience: float = 60) -> None:
    end = time.monotonic() + patience
    while job.running() and time.monotonic() < end:
        time.sleep(0.02)


def order(files: list[Path], study: Path, **options: object) -> dict[str, object]:
    return {"files": [str(f) for f in files], "study": str(study), "options": options, "db": None, "judge": False}


def test_a_job_ends_with_a_report(tmp_path: Path) -> None:
    job = Job(order(promptfoo(tmp_path), tmp_path / "s", kind="promptfoo", dry_run=True)).start()
    wait(job)
    assert job.errors == []
    assert job.report is not None
    assert job.report["questions"] == 12
    assert not (tmp_path / "s").exists()


def test_a_stopped_job_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = promptfoo(tmp_path / "in", questions=20_000)
    job = Job(order(files, tmp_path / "s", kind="promptfoo")).start()
    end = time.monotonic() + 60
    while not job.done and job.running() and time.monotonic() < end:
        time.sleep(0.005)
    assert job.running(), job.errors
    assert job.done
    job.stop()
    wait(job)
    job._process.wait(30)
    assert (job.report, job.errors) == (None, [])
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["in"]


def test_a_job_that_dies_says_so(tmp_path: Path) -> None:
    job = Job({"files": [], "study": None, "options": {}, "db": None}).start()
    wait(job)
    assert job.report is None
    assert "nothing was written" in job.errors[0]["text"]
