"""Tables of answers for tests: written in each format, imported, and read back from the locked study."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from audit_core.importers.options import Options
from audit_core.importers.report import ImportReport
from audit_core.importers.table import import_table
from audit_core.model import Cell, Dossier
from audit_core.study import Study

CREATED = "2026-01-31T09:00:00Z"
HEADER = ("question_id", "state", "repeat", "answer")
Row = Mapping[str, Any]


def rows(questions: int, states: Sequence[str] = ("A", "B"), repeats: int = 2) -> list[dict[str, Any]]:
    """A complete long table with an answer of its own in every cell."""
    return [
        {"question_id": f"q{q}", "state": state, "repeat": str(repeat), "answer": f"answer {q} {state} {repeat}"}
        for q in range(questions)
        for state in states
        for repeat in range(1, repeats + 1)
    ]


def write_csv(path: Path, table: Iterable[Row], header: Sequence[str] | None = None, **dialect: Any) -> Path:
    """A CSV file in UTF-8; every field is quoted, so that a bare carriage return survives any reader."""
    table = list(table)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, header or list(table[0]), quoting=csv.QUOTE_ALL, **dialect)
        writer.writeheader()
        writer.writerows(table)
    return path


def write_jsonl(path: Path, table: Iterable[Row]) -> Path:
    """A JSONL file in UTF-8."""
    path.write_bytes(b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in table))
    return path


def write_parquet(path: Path, table: Sequence[Row], **options: Any) -> Path:
    """A Parquet file with the types that pyarrow infers."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(list(table)), path, **options)
    return path


def write_text(path: Path, text: str) -> Path:
    """A file with exactly this text."""
    path.write_bytes(text.encode())
    return path


def imported(folder: Path, *files: Path, **options: Any) -> tuple[ImportReport, Study]:
    """Import files into ``folder/study`` and open the result."""
    report = import_table(files, folder / "study", Options(**options), created=CREATED)
    return report, Study(folder / "study")


def cells(study: Study) -> dict[tuple[str, str, int], Cell]:
    """Every cell by question, state and repeat."""
    return {(c.question_id, c.state, c.repeat): c for d in study.dossiers() for c in d.cells}


def answers(study: Study) -> dict[tuple[str, str, int], str | None]:
    """Every answer by question, state and repeat; None for an error."""
    return {key: cell.answer for key, cell in cells(study).items()}


def dossiers(study: Study) -> dict[str, Dossier]:
    """Everything by question."""
    return {dossier.question.question_id: dossier for dossier in study.dossiers()}


def problems(report: ImportReport) -> dict[str, int]:
    """Counts by kind of what was noticed."""
    return {finding.kind: finding.count for finding in report.problems}
