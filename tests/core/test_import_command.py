"""What the command prints, and when: coverage and problems before anything is written."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.importers.table import import_table
from tests.support.tables import answers, imported, rows, write_csv, write_jsonl


def test_the_json_report_has_the_contracted_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_csv(tmp_path / "t.csv", [*rows(2), {**rows(1)[0], "question_id": ""}])
    assert main(["import", "table", str(table), "--study", str(tmp_path / "study"), "--json"]) == 0
    output = capsys.readouterr()
    facts = json.loads(output.out)
    assert facts["study"] == str(tmp_path / "study")
    assert (facts["rows"], facts["questions"], facts["states"]) == (9, 2, ["A", "B"])
    assert facts["repeats"] == {"A": 2, "B": 2}
    assert facts["problems"][0] == {
        "severity": "error",
        "kind": "blank_ids",
        "count": 1,
        "where": "t.csv: line 10",
        "sentence": "1 record has no question id and was left out; nothing is known of its cell.",
    }
    assert "Traceback" not in output.err


def test_the_text_report_shows_grid_and_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2)[:-1])
    assert main(["import", "table", str(table), "--study", str(tmp_path / "study")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "q0        ●●  ●●" in lines
    assert "q1        ●●  ●·" in lines
    assert "missing   0   1" in lines
    assert any(line.startswith("warning: The files hold no semantic labels") for line in lines)
    assert f"Written and locked: {tmp_path / 'study'}" in lines


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    assert main(["import", "table", str(table), "--study", str(tmp_path / "study"), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Dry run: nothing was written."
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_the_report_comes_before_the_study(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    seen = []
    import_table(
        [table], tmp_path / "study", show=lambda report: seen.append((report.questions, (tmp_path / "study").exists()))
    )
    assert seen == [(2, False)]
    assert (tmp_path / "study").is_dir()


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """The table fits under the limit of 128 KiB a file, the study's ledger of cells does not."""
    table = write_csv(tmp_path / "t.csv", rows(300))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))

    command = [
        sys.executable,
        "-m",
        "audit_core.cli",
        "import",
        "table",
        str(table),
        "--study",
        str(tmp_path / "study"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 3
    assert "cells.jsonl" in done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_pairs_and_files_may_come_in_any_order(tmp_path: Path) -> None:
    table = write_jsonl(tmp_path / "t.jsonl", [{"qid": "q", "out": "x"}])
    study = tmp_path / "study"
    assert (
        main(
            [
                "import",
                "table",
                "--state",
                "A",
                "--study",
                str(study),
                "--map",
                "question_id=qid",
                "answer=out",
                str(table),
            ]
        )
        == 0
    )
    assert study.is_dir()


def test_the_same_files_give_the_same_study(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(5))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = imported(tmp_path / "a", table)[1], imported(tmp_path / "b", table)[1]
    assert answers(one) == answers(other)
    assert [lock.sha256 for lock in one.chain] == [lock.sha256 for lock in other.chain]


def test_progress_reports_every_stage(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2_000))
    stages = []
    import_table([table], tmp_path / "study", progress=lambda stage, done, total: stages.append((stage, done, total)))
    assert [stage for stage, _, _ in stages] == ["reading", "checking", "writing"]
    assert stages[0] == ("reading", 5_000, None)


@pytest.mark.slow
def test_a_large_table_needs_little_memory(tmp_path: Path) -> None:
    """100,000 long answers (250 MB) are checked in far less memory than they take."""
    table = tmp_path / "t.jsonl"
    with table.open("w") as stream:
        for number in range(100_000):
            row = {"question_id": f"q{number // 4}", "state": "AB"[number % 2], "repeat": number // 2 % 2}
            stream.write(json.dumps({**row, "answer": f"{number} " + "word " * 500}) + "\n")
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from audit_core.importers.options import Options\n"
        "from audit_core.importers.table import import_table\n"
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "import_table([Path(sys.argv[1])], Path(sys.argv[2]), Options(dry_run=True))\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(table), str(tmp_path / "study")], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 200
