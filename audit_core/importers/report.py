"""What an import found, as data and as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit_core.codec import from_finding
from audit_core.errors import visible
from audit_core.importers.coverage import grid
from audit_core.model import Finding
from audit_core.numerals import plural


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of an import or of its dry run.

    Attributes:
        study: Folder of the study.
        written: False for a dry run.
        rows: Records in the files.
        questions: How many there are.
        states: Names in ladder order.
        repeats: How many repeats each state has.
        files: What was read: name, format, size and SHA-256.
        coverage: See `coverage.Coverage.as_json`.
        endpoints: The primary pair, where there is one.
    """

    study: str
    written: bool
    rows: int
    questions: int
    states: Sequence[str]
    repeats: Mapping[str, int]
    problems: Sequence[Finding]
    files: Sequence[Mapping[str, Any]]
    coverage: Mapping[str, Any]
    endpoints: Sequence[str] | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "study": self.study,
            "written": self.written,
            "rows": self.rows,
            "questions": self.questions,
            "states": list(self.states),
            "repeats": dict(self.repeats),
            "problems": [from_finding(finding) for finding in self.problems],
            "files": [dict(file) for file in self.files],
            "coverage": dict(self.coverage),
            "endpoints": self.endpoints and list(self.endpoints),
        }


def described(report: Mapping[str, Any]) -> str:
    """The report for a terminal: files, coverage grid, and every problem with its first places.

    Args:
        report: As `ImportReport.as_json` gives it.
    """
    lines = [
        f"{visible(file['name'])}: {plural(file['records'], 'record')}, {file['format']}, sha256 {file['sha256'][:12]}…"
        for file in report["files"]
    ]
    lines += [
        f"{plural(report['rows'], 'record')}, {plural(report['questions'], 'question')}, "
        f"{plural(len(report['states']), 'state')}",
        "",
        grid(report["coverage"], report["questions"]),
    ]
    if report["problems"]:
        lines.append("")
    for problem in report["problems"]:
        lines.append(f"{problem['severity']}: {visible(problem['sentence'])}")
        if problem["where"]:
            lines.append(f"    {problem['where']}")
    return "\n".join(lines)
