"""From a locked study to a decision: verify, gate, report, and the report's numbers derived again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.loading import Step, timed
from benchmarks.made import table

QUESTIONS = 25_000
RULE = '[release]\nem_loss = "1"\n'
"""A rule that holds whatever comes out, so that the command ends with 0."""


def measure(folder: Path, say: Callable[[str], None], questions: int = QUESTIONS) -> list[Step]:
    """All steps in one folder, on logs with five passages a question and state."""
    tool = [sys.executable, "-m", "audit_core.cli"]
    study, rule, page = folder / "decided", folder / "rule.toml", folder / "report.html"
    rule.write_text(RULE, "utf-8")
    rows = table(folder / "decided.csv", questions, evidence=True)
    pair = ["--endpoints", "before,after"]
    for command in (["import", "table", str(rows), "--study", str(study), *pair], ["estimate", str(study)]):
        timed(command[0], [*tool, *command, "--json"])
    found: list[Step] = []

    def step(what: str, command: Sequence[str]) -> None:
        found.append(timed(what, [*tool, *command]))
        say(f"{found[-1].seconds:8.1f} s  {found[-1].peak:7,.0f} MiB  {what}")

    step("verify", ["verify", str(study), "--json"])
    step("gate (verify, decide)", ["gate", str(study), "--rule", str(rule), "--json"])
    step("report --html (verify, load, write)", ["report", str(study), "--html", str(page), "--json"])
    step("report --html --pdf", ["report", str(study), "--html", str(page), "--pdf", str(folder / "r.pdf"), "--json"])
    step("verify --claims (verify, derive again)", ["verify", str(study), "--claims", str(page), "--json"])
    return found


def written(steps: list[Step], questions: int = QUESTIONS) -> list[str]:
    """The section of the page."""
    lines = [
        "## Deciding",
        "",
        f"{questions:,} questions, two states, two repeats, gold, five passages a question and state. Each step is a "
        "process of its own; the ratio is to `verify`.",
        "",
        "| step | time | ratio | peak memory |",
        "|---|---:|---:|---:|",
    ]
    whole = steps[0].seconds
    return lines + [f"| {s.what} | {s.seconds:,.1f} s | {s.seconds / whole:.2f}× | {s.peak:,.0f} MiB |" for s in steps]
