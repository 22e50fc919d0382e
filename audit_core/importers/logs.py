"""``snapshot-audit import KIND``: the arguments that all kinds of logs share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.command import add_study_arguments, check_texts, imported
from audit_core.importers.kinds.log import COLUMNS, Kind
from audit_core.importers.options import Options
from audit_core.importers.table import Progress


def add_arguments(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """Add a kind's arguments to a parser."""
    parser.description = f"Import {kind.what}, as one locked study."
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="logs, or folders of them")
    add("--study", required=True, metavar="DIR", help="folder of the study; must not exist")
    add(
        "--state",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="the state of a file, or with NAME alone of all files; several files of a state are its repeats. "
        "NAME=STATE renames a state that was found",
    )
    parts = ", ".join(kind.states)
    add(
        "--state-from",
        metavar="PART",
        help=f"what tells states apart: {parts}, or a path in the records; several with commas between them "
        "(default: the fewest that do)",
    )
    ours = ", ".join(column for column in COLUMNS if column != "state")
    add("--map", nargs="+", action="extend", default=[], metavar="OURS=PATH",
        help=f"where a field is, such as answer=response.output.text; ours are {ours}")  # fmt: skip
    add("--gold", metavar="PATH", help="where the accepted answers are; the same as --map gold=PATH")
    if kind.ordered:
        add("--duplicates", choices=("ask", "repeats"), default="ask",
            help="what rows beyond the number of repeats are: asked about (default), or repeats")  # fmt: skip
    if "csv" in kind.forms:
        add("--delimiter", metavar="CHARACTER", help="of CSV files, such as ; or \\t")
    add_study_arguments(parser)


def run(args: argparse.Namespace, kind: Kind, progress: Progress | None = None) -> dict[str, Any]:
    """Run the command.

    Returns:
        The report as one JSON object.
    """
    files = [Path(file) for file in args.files]
    pairs: list[str] = []
    for item in args.map:  # argparse cannot tell where a list of pairs ends
        if "=" in item or not Path(item).exists():
            pairs.append(item)
        else:
            files.append(Path(item))
    check_texts(args, args.gold, args.state_from, *args.state)
    if args.gold:
        pairs.append(f"gold={args.gold}")
    whole: list[str] = []
    named: list[tuple[str, Path]] = []
    renamed: list[tuple[str, str]] = []
    for item in args.state:
        name, equals, target = item.partition("=")
        if not name.strip() or (equals and not target):
            raise InputError(
                Problem("a state has no name or file", "NAME or NAME=FILE", repr(item), "--state", "Write both sides.")
            )
        if not equals:
            whole.append(item)
        elif Path(target).exists():
            named.append((name, Path(target)))
        else:
            renamed.append((name, target))
    if len(whole) > 1 or (whole and named):
        action = "Name a file with each: --state NAME=FILE"
        what = "one state for all files, or one for each"
        raise InputError(Problem(what, "one of the two", "both", "--state", action))
    files += [path for _, path in named if path not in files]
    options = Options(
        kind=kind.name,
        mapping=tuple(pairs),
        state=whole[0] if whole else None,
        files=tuple(named),
        renamed=tuple(renamed),
        state_parts=tuple(part.strip() for part in (args.state_from or "").split(",") if part.strip()),
        duplicates=getattr(args, "duplicates", "ask"),
        delimiter=getattr(args, "delimiter", None),
    )
    return imported(args, files, options, progress)
