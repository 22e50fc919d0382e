"""The command that writes a study's answers and ranked lists for other tools."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from audit_core import bundled
from audit_core.cli.commands import Result, sound
from audit_core.errors import InputError, Problem

FORMATS = ("jsonl", "csv", "trec")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("study", metavar="STUDY")
    add("--format", choices=FORMATS, default="jsonl", help="jsonl and csv: one row an answer; trec: one state's lists")
    add("--state", metavar="NAME", help="of a TREC run")
    add("--out", type=Path, required=True, metavar="FILE", help="a new file")


def export(arguments: argparse.Namespace) -> Result:
    """Answers, or a run."""
    from audit_core.report import answers
    from audit_core.study import Study

    path = bundled.resolve(arguments.study)
    sound(path)
    study = Study(path, "verified")
    if arguments.format == "trec":
        if not arguments.state:
            raise InputError(Problem("a run is of one state", "--state NAME", "nothing", "--state", "Name the state."))
        lines = answers.as_run(study, arguments.state)
    else:
        lines = answers.as_csv(study) if arguments.format == "csv" else answers.as_jsonl(study)
    number = _write(arguments.out, lines) - (arguments.format == "csv")
    text = f"Written: {arguments.out}: {number:,} {'lines' if arguments.format == 'trec' else 'answers'}."
    return {"file": str(arguments.out), "format": arguments.format, "rows": number}, text, 0


def _write(path: Path, lines: Iterator[bytes]) -> int:
    """All of it or nothing, and never over another file."""
    if path.exists() or path.is_symlink():
        raise InputError(Problem("a file is there already", "a new file", path.name, str(path), "Choose another name."))
    draft = path.with_name(f".{path.name}.partial")
    number = 0
    try:
        with draft.open("wb") as stream:
            for line in lines:
                stream.write(line)
                number += 1
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return number
