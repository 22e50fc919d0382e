"""One million answers: import, verify, load, against the sqlite3 shell and the sqlite-utils command."""

from __future__ import annotations

import csv
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit_core.readmodel.schema import INDEXES, TABLES, WITHOUT_ROWID
from benchmarks.made import table

ANSWERS = 1_000_000
LARGE = ("question", "cell", "contrast", "fact")
"""Tables whose rows grow with the answers."""


@dataclass(frozen=True)
class Step:
    """One command: seconds and peak memory in MiB."""

    what: str
    seconds: float
    peak: float


def timed(what: str, command: Sequence[str], stdin: str = "") -> Step:
    """Run a command in a process of its own and measure it.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode())
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=errors)
        peak = 0.0
        # Not from wait4: its peak counts the process that was forked, before the command took its place.
        while process.poll() is None:
            peak = max(peak, _peak(process.pid))
            time.sleep(0.02)
        seconds = time.perf_counter() - start
        errors.seek(0)
        if process.returncode:
            text = errors.read().decode(errors="replace")
            raise RuntimeError(f"{what} ended with {process.returncode}: {text[-500:]}")
    return Step(what, seconds, peak)


def _peak(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return int(found.split()[1]) / 1024


def measure(folder: Path, say: Callable[[str], None], answers: int = ANSWERS) -> list[Step]:
    """All steps in one folder."""
    found: list[Step] = []

    def step(what: str, command: Sequence[str], stdin: str = "") -> None:
        found.append(timed(what, command, stdin))
        say(f"{found[-1].seconds:8.1f} s  {found[-1].peak:7,.0f} MiB  {what}")

    tool = [sys.executable, "-m", "audit_core.cli"]
    rows = table(folder / "answers.csv", answers // 4)
    study, db = folder / "study", folder / "audit.db"
    step(
        "snapshot-audit import table (check, lock)",
        [*tool, "import", "table", str(rows), "--study", str(study), "--json"],
    )
    step("snapshot-audit verify", [*tool, "verify", str(study), "--json"])
    step("snapshot-audit load (verify, score, compare, write)", [*tool, "load", str(study), "--db", str(db), "--json"])
    unverified = (
        "import sys; from pathlib import Path; from audit_core.readmodel.load import load; "
        "load([Path(sys.argv[1])], Path(sys.argv[2]), verifier=lambda path: [])"
    )
    step("the same without the verification", [sys.executable, "-c", unverified, str(study), str(folder / "again.db")])
    dumped = _dump(db, folder)
    if shutil.which("sqlite3"):
        step(
            "sqlite3 shell, .import of answers.csv",
            ["sqlite3", str(folder / "plain.db")],
            f".import --csv {rows} answers\n",
        )
        step("sqlite3 shell, .import of all rows of audit.db, same tables and indexes",
             ["sqlite3", str(folder / "same.db")], _script(dumped))  # fmt: skip
    insert = [sys.executable, "-m", "sqlite_utils", "insert", str(folder / "utils.db"), "answers", str(rows), "--csv"]
    step("sqlite-utils insert of answers.csv", insert)
    return found


def written(steps: list[Step], answers: int = ANSWERS) -> list[str]:
    """The section of the report."""
    shell = next((step.seconds for step in steps if "same tables" in step.what), None)
    lines = [
        "## Loading",
        "",
        f"{answers:,} answers ({answers // 4:,} questions, two states, two repeats, gold). Each step is a process of "
        "its own. The shell imports the rows of `question`, `cell`, `contrast` and `fact` ready-made, into tables of "
        "the same layout with the same indexes; the ratio is to that.",
        "",
        "| step | time | ratio | peak memory |",
        "|---|---:|---:|---:|",
    ]
    for step in steps:
        ratio = f"{step.seconds / shell:.2f}×" if shell else ""
        lines.append(f"| {step.what} | {step.seconds:,.1f} s | {ratio} | {step.peak:,.0f} MiB |")
    lines += [
        "",
        "`load` does more than write rows: it checks every line's hash, chain and form, normalizes and scores every "
        "answer, and computes every contrast and estimate.",
        "",
    ]
    return lines


def _dump(db: Path, folder: Path) -> dict[str, Path]:
    found = {}
    connection = sqlite3.connect(db)
    for name in LARGE:
        found[name] = folder / f"{name}.csv"
        with found[name].open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(connection.execute(f'SELECT * FROM "{name}"'))
    connection.close()
    return found


def _script(dumped: dict[str, Path]) -> str:
    lines = ["PRAGMA journal_mode=OFF;", "PRAGMA synchronous=OFF;", "BEGIN;"]
    for name in dumped:
        # Empty cells of a CSV are text; the shell has no NULL, so the types are relaxed and the layout is kept.
        suffix = " WITHOUT ROWID" if name in WITHOUT_ROWID else ""
        lines.append(f'CREATE TABLE "{name}" ({TABLES[name]}){suffix};')
    lines += [f".import --csv {path} {name}" for name, path in dumped.items()]
    for name in dumped:
        lines += [
            f'CREATE INDEX "ix_{name}_{number}" ON "{name}" ({index});'
            for number, index in enumerate(INDEXES.get(name, ()))
        ]
    return "\n".join([*lines, "COMMIT;", "ANALYZE;", ""])
