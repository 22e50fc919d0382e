"""The command that checks a judge against a reader."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from audit_core import bundled, codec
from audit_core.cli.commands import Result, public, sound
from audit_core.console import estimate_table, rule, table
from audit_core.errors import InputError, Problem

if TYPE_CHECKING:
    from audit_core.study import Study


def check_judge(arguments: argparse.Namespace) -> Result:
    """The judge's labels against a reader's."""
    from audit_core.report import handlabels
    from audit_core.results import as_row
    from audit_core.study import Study

    path = bundled.resolve(arguments.study)
    sound(path)
    study = Study(path)
    if arguments.sheet:
        return _sheet(study, arguments.sheet)
    if arguments.labels is None:
        raise InputError(Problem("there are no labels to check against", "a filled sheet", "nothing", "check-judge",
                                 "Make a blank sheet with --sheet FILE, fill it, and name it."))  # fmt: skip
    found = handlabels.check(study, handlabels.read_sheet(arguments.labels, study))
    rows = [public(as_row(estimate)) for estimate in found["estimates"]]
    differ = found["different"]
    shown = {
        "pairs": differ.pairs,
        "agreeing": differ.agreeing,
        "kappa": None if differ.kappa is None else float(differ.kappa),
        "kappa_interval": None if differ.kappa_interval is None else [float(v) for v in differ.kappa_interval],
        "confusion": found["confusion"],
    }
    facts = {"judge": found["judge"], "estimates": rows, "pairs_with_different_texts": shown}
    text = f"The judge: {found['judge']}\n\n{estimate_table(rows)}\n\nPairs whose texts differ, judge / reader:\n"
    text += table([[key, f"{count:,}"] for key, count in found["confusion"].items()], ["judge/reader", "pairs"])
    if shown["kappa"] is not None and shown["kappa_interval"]:
        low, high = shown["kappa_interval"]
        text += "\n" + rule(
            f"κ {shown['kappa']:.3f} [{low:.3f}, {high:.3f}] over {differ.pairs:,} pairs whose texts differ"
        )
    return facts, text, 0


def _sheet(study: Study, path: Path) -> Result:
    """A blank sheet, never over another one."""
    from audit_core.report import handlabels

    lines = b"".join(codec.encode(line) + b"\n" for line in handlabels.sheet(study))
    try:
        with path.open("xb") as stream:
            stream.write(lines)
    except FileExistsError:
        raise InputError(
            Problem(
                "a sheet is there already",
                "a new file",
                path.name,
                str(path),
                "Choose another name; labels are never written over.",
            )
        ) from None
    number = lines.count(b"\n")
    text = f"Written: {path}: {number} questions. Give answers of one meaning one number, from 1."
    return {"sheet": str(path), "questions": number}, text, 0
