"""``snapshot-audit import table``: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from audit_core.errors import InputError, Problem, visible
from audit_core.importers.columns import COLUMNS
from audit_core.importers.options import Options
from audit_core.importers.report import ImportReport, described
from audit_core.importers.table import Progress, import_table
from audit_core.importers.values import scrub
from audit_core.normalize import RULES

DESCRIPTION = "Import tables of answers (CSV, JSONL or Parquet, one row an answer) as one locked study."
EPILOG = "columns:\n" + "\n".join(f"  {name:<12} {what}" for name, what in COLUMNS.items())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="CSV, JSONL or Parquet files, or folders of them")
    add("--study", required=True, metavar="DIR", help="folder of the study; must not exist")
    add("--map", nargs="+", action="extend", default=[], metavar="COLUMN=NAME", help="our column=the file's name")
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--state", metavar="NAME", help="the state of all rows, for files without such a column")
    state.add_argument("--state-from-file", action="store_true", help="each file is a state, named like the file")
    state.add_argument("--state-from-folder", action="store_true", help="each folder is a state")
    add("--number-repeats", action="store_true", help="rows of one question and state are repeats, in their order")
    add("--gold-separator", metavar="TEXT", help="split gold texts at this; without it they are never split")
    add("--delimiter", metavar="CHARACTER", help="of CSV files, such as ; or \\t")
    add_study_arguments(parser)


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every import asks about the study that comes out of it."""
    add = parser.add_argument
    add("--states", action="append", default=[], metavar="A,B,…", help="the ladder in order; default: as they come")
    add("--endpoints", action="append", default=[], metavar="OLD,NEW", help="the primary pair of states")
    add("--closed-book", metavar="NAME", help="the state in which nothing was retrieved")
    add("--rule", choices=list(RULES), default="nq_open/1", help="answer normalization (default: nq_open/1)")
    add("--title", default="", help="title of the study; default: the folder's name")
    add("--unknown", action="append", metavar="TEXT", help="answer that means UNKNOWN; repeatable (default: UNKNOWN)")
    add("--refusal", action="append", default=[], metavar="TEXT", dest="refusals",
        help="text by which an answer refuses, beside the shipped ones; repeatable (docs/refusals.md)")  # fmt: skip
    add("--gap", action="append", default=[], metavar="TEXT", dest="gaps",
        help="text by which an answer says that something is missing, beside the shipped ones; repeatable")  # fmt: skip
    add("--no-shipped-texts", action="store_true", help="leave the shipped texts of refusals and gaps out")
    add("--setting", nargs=2, action="append", default=[], metavar=("STATE", "NAME=VALUE"), dest="settings",
        help="what is known to be set in a state, such as: --setting n2 prompt=v3; repeatable")  # fmt: skip
    add("--run", action="append", default=[], metavar="STATE=FILE", dest="runs",
        help="ranked lists of a state as its evidence: a TREC run or BEIR results; repeatable")  # fmt: skip
    add("--qrels", type=Path, metavar="FILE",
        help="judged relevance, TREC or BEIR: tags each question by whether its evidence is relevant")  # fmt: skip
    add("--run-depth", type=_positive, metavar="N", help="how many documents of each list the generator was given")
    add("--dry-run", action="store_true", help="check and report, write nothing")


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)


def _runs(items: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """``STATE=FILE`` pairs.

    Raises:
        InputError: One of them is none.
    """
    pairs = [item.rpartition("=") for item in items]
    if bad := next((item for item, (name, _, file) in zip(items, pairs, strict=True) if not (name and file)), None):
        raise InputError(Problem("no state or no file", "STATE=FILE", repr(bad), "--run", "Write both sides."))
    return tuple((name, Path(file)) for name, _, file in pairs)


def _settings(items: Sequence[Sequence[str]]) -> tuple[tuple[str, str, str], ...]:
    """State, name and value of each ``STATE NAME=VALUE``."""
    split = [(state, *setting.partition("=")) for state, setting in items]
    return tuple((state, name, value) for state, name, _, value in split)


def check_texts(args: argparse.Namespace, *more: str | None) -> None:
    """Refuse options that are no text.

    Raises:
        InputError: One of them holds bytes that are not UTF-8.
    """
    for text in (args.closed_book, *args.states, *args.endpoints, *(args.unknown or ()), *args.refusals, *args.gaps,
                 *(text for setting in args.settings for text in setting), *more):  # fmt: skip
        if text is not None and scrub(text)[1]:
            raise InputError(Problem("an option is not valid text", "UTF-8", repr(text), action="Write it in UTF-8."))


def imported(
    args: argparse.Namespace, files: Sequence[Path], options: Options, progress: Progress | None
) -> dict[str, Any]:
    """Run an import. The report is printed before anything is written: to stdout, or to stderr with ``--json``.

    Returns:
        The report as one JSON object.
    """
    options = replace(
        options,
        states=tuple(args.states),
        endpoints=tuple(args.endpoints),
        closed_book=args.closed_book,
        rule=args.rule,
        title=args.title,
        unknown=tuple(args.unknown or ("UNKNOWN",)),
        dry_run=args.dry_run,
        runs=_runs(args.runs),
        run_depth=args.run_depth,
        qrels=args.qrels,
        refusals=tuple(args.refusals),
        gaps=tuple(args.gaps),
        shipped_texts=not args.no_shipped_texts,
        settings=_settings(args.settings),
    )
    stream = sys.stderr if getattr(args, "json", False) else sys.stdout

    def show(report: ImportReport) -> None:
        print(described(report.as_json()), file=stream, flush=True)

    return import_table(files, Path(args.study), options, progress, show).as_json()


def run(args: argparse.Namespace, progress: Progress | None = None) -> dict[str, Any]:
    """Run the command.

    Returns:
        The report as one JSON object.
    """
    # A word without = after --map is a file: argparse cannot tell where a list of pairs ends.
    pairs = [item for item in args.map if "=" in item or not Path(item).exists()]
    files = [*args.files, *(item for item in args.map if item not in pairs)]
    origin = "file" if args.state_from_file else "folder" if args.state_from_folder else "column"
    check_texts(args, args.state)
    options = Options(
        mapping=tuple(pairs),
        state=args.state,
        state_from=origin,  # type: ignore[arg-type]
        number_repeats=args.number_repeats,
        gold_separator=args.gold_separator,
        delimiter=args.delimiter,
    )
    return imported(args, [Path(file) for file in files], options, progress)


def text(facts: Mapping[str, Any]) -> str:
    """The closing lines for people, once the study is written."""
    note = ""
    if facts["endpoints"] is None and len(facts["states"]) > 2:
        note = "\nNo primary pair is named, so no release rule can decide this study: --endpoints OLD,NEW names one."
    if not facts["written"]:
        return f"{note}\nDry run: nothing was written."
    study = visible(facts["study"])
    return f"{note}\nWritten and locked: {study}\nNext: snapshot-audit load {quote(study)} --db audit.db"
