"""The command line: one thin command per step. Facts go to stdout, messages and progress to stderr.

Exit codes: 0 done; 1 a check or the gate failed; 2 usage or bad input; 3 disk or network; 4 could not be measured.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from audit_core import __version__
from audit_core.cli import (
    collecting,
    commands,
    exporting,
    gating,
    judging,
    nulls,
    planning,
    reporting,
    reviewing,
    robustness,
    sharing,
    team,
)
from audit_core.cli.commands import Result
from audit_core.cli.places import refuse_inside_studies
from audit_core.errors import AuditError, InputError, Problem, visible

DEFAULT_DB = Path("audit.db")
DEFAULT_REVIEWS = Path("reviews.db")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; those of the process when None.

    Returns:
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a sign must not stop a command
            stream.reconfigure(errors="backslashreplace")
    as_json = "--json" in (sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser().parse_args(argv)
        refuse_inside_studies(arguments)
        facts, text, code = arguments.run(arguments)
        if facts is not None:
            _print(json.dumps(facts, ensure_ascii=False, allow_nan=False) if as_json else text)
        return int(code)
    except AuditError as error:
        return _report(as_json, error.problems, error.exit_code)
    except BrokenPipeError:
        _silence()
        return 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except MemoryError:
        problem = Problem("there is not enough memory", action="Use a machine with more, or fewer questions.")
        return _report(as_json, [problem], 3)
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__ == "sqlite3":
            action = "Check the path, its rights and the free space, then try again."
            expected = "a readable, writable disk with free space"
            return _report(as_json, [Problem("the disk or network refused", expected, str(error), action=action)], 3)
        if os.environ.get("SNAPSHOT_AUDIT_DEBUG"):
            raise
        action = "Please report it with the command you ran; SNAPSHOT_AUDIT_DEBUG=1 shows where it happened."
        found = f"{type(error).__name__}: {error}"
        return _report(
            as_json, [Problem("this is a fault of the program, not of your data", "no fault", found, action=action)], 2
        )


def _print(text: str) -> None:
    print(text)
    sys.stdout.flush()


def _silence() -> None:
    """Let the interpreter's own flush at the end go nowhere, once stdout has refused."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(as_json: bool, problems: Sequence[Problem], code: int) -> int:
    for problem in problems[:20]:
        print(f"error: {problem}", file=sys.stderr)
    if len(problems) > 20:
        print(f"error: … and {len(problems) - 20} more.", file=sys.stderr)
    if as_json:
        errors = [
            {"what": p.what, "expected": p.expected, "found": visible(p.found), "where": visible(p.where),
             "action": p.action}
            for p in problems
        ]  # fmt: skip
        try:
            _print(json.dumps({"ok": False, "exit_code": code, "errors": errors}, ensure_ascii=False))
        except OSError:
            _silence()
    return code


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take the same way as all others."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise InputError(Problem(message, "a command as its --help shows it", "another", self.prog,
                                 f"See: {self.prog} --help"))  # fmt: skip


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="snapshot-audit",
        description="Audit how a RAG system's answers move when its index changes, beyond repeat noise.",
    )
    parser.add_argument("--version", action="version", version=f"snapshot-audit {__version__}")
    parsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], Result], help_text: str) -> argparse.ArgumentParser:
        sub = parsers.add_parser(name, help=help_text, description=help_text)
        if name not in ("dashboard", "demo"):
            sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
        sub.set_defaults(run=run)
        return sub

    sub = command("verify", commands.verify, "Check a study offline, check by check.")
    sub.add_argument("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")
    sub.add_argument("--expect-lock", metavar="SHA256", help="id of the last lock, kept outside the study")
    sub.add_argument("--parent", metavar="DIR", help="the study that this one repeats, to compare what was taken")
    sub.add_argument("--strict", action="store_true", help="exit with 4 when anything could not be checked")
    sub.add_argument("--claims", type=Path, metavar="REPORT", help="derive every number of a report again, too")
    sub.add_argument("--reviews", type=Path, metavar="DB", help="with --claims: compare its verdicts with these, too")

    sub = command("estimate", commands.estimate, "Compute every estimate of a study, then write and lock results.json.")
    sub.add_argument("study", metavar="STUDY")
    sub.add_argument("--print", action="store_true", help="print without writing")

    sub = command("explore", commands.explore, "Compute any pair of states or a slice now, marked exploratory.")
    sub.add_argument("study", metavar="STUDY")
    sub.add_argument("old", metavar="OLD")
    sub.add_argument("new", metavar="NEW")
    sub.add_argument("--tag", help="only questions with this tag")

    sub = command("compare", commands.compare, "Compare two studies on the questions they share.")
    sub.add_argument("first", metavar="FIRST")
    sub.add_argument("second", metavar="SECOND")
    sub.add_argument("--old", help="old state (default: the first study's endpoints)")
    sub.add_argument("--new", help="new state")

    robustness.add_arguments(command("robustness", robustness.robustness, robustness.HELP))

    gating.add_arguments(command("gate", gating.gate, gating.HELP))

    sharing.add_arguments(
        command("bundle", sharing.bundle, sharing.BUNDLE),
        command("verify-bundle", sharing.verify_bundle, sharing.VERIFY),
        command("prove", sharing.prove, sharing.PROVE),
    )

    nulls.add_arguments(command("aa", nulls.aa, nulls.HELP))

    reporting.add_arguments(command("report", reporting.report, reporting.HELP))

    exporting.add_arguments(command("export", exporting.export, "Write a study's answers, or a state's ranked lists."))

    sub = command("judge", judging.judge, "Label an imported study by meaning, as a new study; offline or from a file.")
    sub.add_argument("source", metavar="STUDY")
    sub.add_argument("--study", type=Path, required=True, metavar="DIR", help="folder of the new study")
    sub.add_argument("--settings", type=Path, metavar="TOML", help="a judge to call: [judging] as a protocol has it")
    sub.add_argument("--labels", type=Path, metavar="FILE", help="labels of pairs that came with the logs (not blind)")
    sub.add_argument("--description", default="", metavar="TEXT", help="who gave the labels of the file")
    _model_path(sub)

    sub = command("check-judge", judging.check_judge, "Compare a judge's labels with a reader's, sorted by hand.")
    sub.add_argument("study", metavar="STUDY")
    sub.add_argument("labels", metavar="LABELS", type=Path, nargs="*", help="filled sheets, one a reader")
    sub.add_argument(
        "--sheet", type=Path, metavar="FILE", help="write a blank sheet: answers without state, gold or label"
    )

    sub = command("team", team.team, "Check a team file: who may do what, how they are known, who gets what.")
    sub.add_argument("team", metavar="FILE", type=Path, help="a team file (docs/team.md)")
    sub.add_argument("--study", metavar="STUDY", help="count the questions that each person gets")

    command("claims", commands.claims, "Recompute the published figures from the bundled studies.")

    group = parsers.add_parser("import", help="Turn a file of answers into a locked study.")
    kinds = group.add_subparsers(title="kinds", required=True, metavar="KIND")
    sub = kinds.add_parser(
        "table",
        help="CSV, JSONL or Parquet, one row per answer",
        description="CSV, JSONL or Parquet, one row per answer.",
    )
    sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    sub.set_defaults(run=commands.import_table)
    _import_arguments(sub, kinds)

    sub = command("load", commands.load, "Verify studies and load them into a database for the dashboard.")
    sub.add_argument("studies", metavar="STUDY", nargs="+")
    sub.add_argument("--db", type=Path, default=DEFAULT_DB, help="database file (default: %(default)s)")
    sub.add_argument("--allow-failed", action="store_true", help="load although a check failed; every page says so")
    sub.add_argument("--add", action="store_true", help="keep the studies that are in the database already")

    reviewing.add_arguments(parsers, DEFAULT_REVIEWS)

    planning.add_arguments(command("plan", planning.plan, planning.HELP))

    sub = command("init", collecting.init, "Write a commented protocol.toml to start from.")
    sub.add_argument("folder", metavar="FOLDER", type=Path, help="where; made when absent")

    sub = command(
        "freeze", collecting.freeze, "Validate a protocol with everything it names, and lock it as a new study."
    )
    sub.add_argument("protocol", metavar="PROTOCOL", type=Path, help="a protocol.toml")
    sub.add_argument(
        "--study", type=Path, metavar="DIR", help="the study's folder (default: its id, beside the protocol)"
    )
    _model_path(sub)

    for name, run, text in (
        ("run", collecting.run, "Do every step of a frozen study that is still open; resumes where it stopped."),
        ("status", collecting.status, "Show how far a study is, also while another terminal runs it."),
    ):
        sub = command(name, run, text)
        sub.add_argument("study", metavar="STUDY", type=Path)
        if name == "run":
            sub.add_argument(
                "--inputs", type=Path, metavar="DIR", help="folder of the protocol's files (default: the study's)"
            )
            sub.add_argument("--dry-run", action="store_true", help="show the calls that are left, and make none")
            _model_path(sub)

    sub = command("probe", collecting.probe, "Ask one question of a finished study again, for diagnosis only.")
    sub.add_argument("study", metavar="STUDY", type=Path)
    sub.add_argument("question", metavar="QUESTION", help="id of the question, to the letter")
    sub.add_argument("--state", required=True, metavar="S", help="the state to ask it in")
    sub.add_argument("--repeats", type=int, default=20, metavar="N", help="answers to draw (default: %(default)s)")
    _model_path(sub)

    for name, run, text in (
        ("dashboard", commands.dashboard, "Open a loaded database in the browser."),
        ("demo", commands.demo, "Verify and load the bundled studies, then open the dashboard."),
    ):
        sub = command(name, run, text)
        sub.add_argument("--port", type=_port, default=8501, help="port (default: %(default)s)")
        sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        sub.add_argument(
            "--reviewer", metavar="NAME", help="name of the local reviewer (default: as chosen on the page, once)"
        )
        if name == "dashboard":
            sub.add_argument(
                "--team", type=Path, metavar="FILE", help="team file: who may do what, and how they sign in"
            )
            sub.add_argument("--db", type=Path, default=DEFAULT_DB, help="database file (default: %(default)s)")
            sub.add_argument("--reviews", type=Path, default=DEFAULT_REVIEWS, help="verdicts (default: %(default)s)")
        else:
            sub.add_argument(
                "--folder",
                type=Path,
                default=Path("demo"),
                help="where the database and the verdicts are kept (default: %(default)s)",
            )
    return parser


def _model_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model-path", type=Path, metavar="GGUF", help="weights of the embedded model (default: those of [local])"
    )


def _import_arguments(table: argparse.ArgumentParser, parsers: Any) -> None:
    from audit_core.importers import logs
    from audit_core.importers.command import add_arguments
    from audit_core.importers.kinds import KINDS

    add_arguments(table)
    for kind in KINDS.values():
        sub = parsers.add_parser(kind.name, help=kind.what)
        sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
        sub.set_defaults(run=commands.import_log, kind=kind)
        logs.add_arguments(sub, kind)
