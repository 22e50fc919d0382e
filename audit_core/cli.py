"""The command line: one thin command per step. Facts go to stdout, messages and progress to stderr.

Exit codes: 0 done; 1 a check failed; 2 usage or bad input; 3 disk or network; 4 could not be measured.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from audit_core import __version__, bundled
from audit_core.console import Progress, estimate_table, rule, table
from audit_core.errors import AuditError, InputError, Problem, VerificationError, visible

Facts = dict[str, Any]
DEFAULT_DB = Path("audit.db")
DEFAULT_REVIEWS = Path("reviews.db")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; those of the process when None.

    Returns:
        The exit code.
    """
    arguments = _parser().parse_args(argv)
    try:
        facts, text, code = arguments.run(arguments)
        if facts is not None:
            print(json.dumps(facts, ensure_ascii=False, allow_nan=False) if arguments.json else text, flush=True)
        return int(code)
    except AuditError as error:
        return _report(arguments, error.problems, error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except MemoryError:
        return _report(
            arguments, [Problem("there is not enough memory", action="Use a machine with more, or fewer questions.")], 3
        )
    except OSError as error:
        return _report(
            arguments,
            [
                Problem(
                    "the disk or network refused",
                    found=str(error),
                    action="Check the path, its rights and the free space, then try again.",
                )
            ],
            3,
        )
    except Exception as error:
        if os.environ.get("SNAPSHOT_AUDIT_DEBUG"):
            raise
        return _report(
            arguments,
            [
                Problem(
                    "this is a fault of the program, not of your data",
                    "no fault",
                    f"{type(error).__name__}: {error}",
                    action="Please report it with the command you ran; SNAPSHOT_AUDIT_DEBUG=1 shows where it happened.",
                )
            ],
            2,
        )


def _report(arguments: argparse.Namespace, problems: Sequence[Problem], code: int) -> int:
    for problem in problems[:20]:
        print(f"error: {problem}", file=sys.stderr)
    if len(problems) > 20:
        print(f"error: … and {len(problems) - 20} more.", file=sys.stderr)
    if arguments.json:
        print(
            json.dumps(
                {
                    "ok": False,
                    "exit_code": code,
                    "errors": [
                        {
                            "what": p.what,
                            "expected": p.expected,
                            "found": visible(p.found),
                            "where": visible(p.where),
                            "action": p.action,
                        }
                        for p in problems
                    ],
                },
                ensure_ascii=False,
            )
        )
    return code


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Result = tuple[Facts | None, str, int]


def _verify(arguments: argparse.Namespace) -> Result:
    from audit_core.verify import verify

    path = bundled.resolve(arguments.study)
    with Progress("verify") as progress:
        checks = verify(path, expect_lock=arguments.expect_lock, progress=progress.say)
    ok = all(check.result != "failed" for check in checks)
    open_checks = [check for check in checks if check.result == "could not check"]
    facts = {
        "study": str(path),
        "ok": ok,
        "checks": [{"id": c.check_id, "title": c.title, "result": c.result, "detail": c.detail} for c in checks],
    }
    marks = {"passed": "✓", "failed": "✗", "could not check": "–"}
    text = table(
        [[marks[c.result], c.check_id, c.title, c.result, c.detail] for c in checks],
        ["", "check", "what", "result", "detail"],
    )
    failed = sum(check.result == "failed" for check in checks)
    text += "\n" + rule(
        f"{len(checks) - failed - len(open_checks)} passed, {failed} failed, {len(open_checks)} could not be checked"
    )
    code = 1 if not ok else 4 if arguments.strict and open_checks else 0
    return facts, text, code


def _estimate(arguments: argparse.Namespace) -> Result:
    from audit_core.results import arrays_of, as_row, compute, from_record
    from audit_core.study import Study

    study = Study(bundled.resolve(arguments.study))
    study.need("gold")
    stored = study.results()
    with Progress("estimate") as progress:
        record = compute(study.protocol, arrays_of(study.protocol, study.dossiers()), progress.say)
    if arguments.print:
        state = "not written"
    elif stored is None:
        study.close_results(record, _now())
        state = "written and locked"
    elif {key: stored.get(key) for key in ("estimates", "decision", "stream")} == {
        key: record[key] for key in ("estimates", "decision", "stream")
    }:
        state = "locked before; recomputed and equal"
    else:
        raise VerificationError(
            Problem(
                "the locked results are not what the ledgers give",
                "equal estimates",
                "a difference",
                str(study.path),
                "Run snapshot-audit verify to see which; locked results are never overwritten.",
            )
        )
    rows = [_public(as_row(from_record(estimate))) for estimate in record["estimates"]]
    facts = {"study": study.protocol.study_id, "results": state, "decision": record["decision"], "estimates": rows}
    text = estimate_table(rows) + "\n" + rule(f"{len(rows)} estimates, {state}")
    if record["decision"]:
        text += (
            "\nDecision: "
            + record["decision"]["outcome"]
            + "\n"
            + "\n".join(
                f"  {'met' if c['met'] else 'unmet' if c['met'] is False else 'open'}: {c['sentence']}"
                for c in record["decision"]["conditions"]
            )
        )
    return facts, text, 0


def _public(row: Facts) -> Facts:
    low, high = row.pop("low"), row.pop("high")
    return {**row, "interval": None if low is None else [low, high]}


def _explore(arguments: argparse.Namespace) -> Result:
    from audit_core import explore
    from audit_core.results import arrays_of, as_row
    from audit_core.study import Study

    study = Study(bundled.resolve(arguments.study))
    answers = arrays_of(study.protocol, study.dossiers())
    for state in (arguments.old, arguments.new):
        if state not in answers.states:
            raise InputError(
                Problem(
                    "no such state",
                    ", ".join(answers.states),
                    state,
                    study.protocol.study_id,
                    "Name two states of the study.",
                )
            )
    questions = None
    if arguments.tag:
        questions = [q for q, tags in zip(answers.question_ids, answers.tags, strict=True) if arguments.tag in tags]
        if not questions:
            raise InputError(
                Problem(
                    "no question has this tag",
                    "a tag of the study",
                    arguments.tag,
                    study.protocol.study_id,
                    "Check the tag's spelling.",
                )
            )
    found = explore.pair_estimates(answers, arguments.old, arguments.new, questions)
    rows = [_public(as_row(estimate)) for estimate in found]
    facts = {"study": study.protocol.study_id, "status": "exploratory", "estimates": rows}
    return facts, estimate_table(rows) + "\n" + rule("exploratory: computed now, never part of a decision"), 0


def _compare(arguments: argparse.Namespace) -> Result:
    from audit_core.estimators.paired import paired_churn
    from audit_core.results import arrays_of, as_row, settings_of
    from audit_core.study import Study

    first, second = (Study(bundled.resolve(name)) for name in (arguments.first, arguments.second))
    a, b = (arrays_of(study.protocol, study.dossiers()) for study in (first, second))
    old, new = (arguments.old, arguments.new) if arguments.old else first.protocol.endpoints or ("", "")
    for study, answers in ((first, a), (second, b)):
        if old not in answers.states or new not in answers.states:
            raise InputError(
                Problem(
                    "a study lacks one of the two states",
                    f"{old or 'OLD'} and {new or 'NEW'}",
                    ", ".join(answers.states),
                    study.protocol.study_id,
                    "Name states that both studies have with --old and --new.",
                )
            )
    kernels = [kernel for kernel in a.kernels if kernel in b.kernels]
    settings = settings_of(first.protocol)
    rows = [_public(as_row(e)) for kernel in kernels for e in paired_churn(a, b, kernel, old, new, settings)]
    facts = {"first": first.protocol.study_id, "second": second.protocol.study_id, "estimates": rows}
    return facts, estimate_table(rows), 0


def _claims(arguments: argparse.Namespace) -> Result:
    from audit_core.report.claims import claims

    with Progress("claims") as progress:
        progress.say("recomputing the published figures")
        facts = claims(bundled.studies()[0].parent, bundled.figures())
    text = table(
        [
            [
                row["id"],
                row["text"],
                row["where"],
                row["published"],
                row["recomputed"],
                "yes" if row["match"] else "NO",
                row["note"],
            ]
            for row in facts["rows"]
        ],
        ["figure", "what", "where published", "published", "recomputed", "match", "note"],
    )
    text += "\n" + rule(f"{facts['figures']} figures, {facts['matched']} matched")
    return facts, text, 0 if facts["figures"] == facts["matched"] else 1


def _import_table(arguments: argparse.Namespace) -> Result:
    from audit_core.importers import command

    with Progress("import", unit="row") as progress:
        facts = command.run(arguments, progress.count)
    return facts, command.text(facts), 0


def _load(arguments: argparse.Namespace) -> Result:
    facts = _load_studies([bundled.resolve(name) for name in arguments.studies], arguments.db, arguments.allow_failed)
    text = table([[name, f"{count:,}"] for name, count in facts["rows"].items()], ["table", "rows"])
    return facts, text + "\n" + rule(f"{', '.join(facts['studies'])} → {facts['db']}"), 0


def _load_studies(paths: list[Path], db: Path, allow_failed: bool) -> Facts:
    from audit_core.readmodel.load import load
    from audit_core.verify import verify

    with Progress("load", unit="question") as progress:
        loaded = load(paths, db, verifier=verify, allow_failed=allow_failed, progress=progress.count)
    return {"db": loaded.db, "studies": loaded.studies, "rows": loaded.rows}


def _dashboard(arguments: argparse.Namespace) -> Result:
    _launch(arguments.db, arguments.reviews, arguments)


def _demo(arguments: argparse.Namespace) -> Result:
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    facts = _load_studies(bundled.studies(), folder / "audit.db", False)
    print(f"Verified and loaded {', '.join(facts['studies'])}.", file=sys.stderr, flush=True)
    _launch(folder / "audit.db", folder / "reviews.db", arguments)


def _launch(db: Path, reviews: Path, arguments: argparse.Namespace) -> NoReturn:
    if importlib.util.find_spec("dashboard") is None or importlib.util.find_spec("streamlit") is None:
        raise InputError(
            Problem(
                "the dashboard is not installed",
                "the packages dashboard and streamlit",
                "not both",
                action="Install it with: pip install snapshot-audit",
            )
        )
    # A process of its own: the core never imports the dashboard, and -P keeps a folder of that name out of the way.
    command = [sys.executable, "-P", "-m", "dashboard", "--db", str(db), "--reviews", str(reviews),
               "--port", str(arguments.port), "--host", arguments.host]  # fmt: skip
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="snapshot-audit",
        description="Audit how a RAG system's answers move when its index changes, beyond repeat noise.",
    )
    parser.add_argument("--version", action="version", version=f"snapshot-audit {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], Result], help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help_text, description=help_text)
        sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
        sub.set_defaults(run=run)
        return sub

    sub = command("verify", _verify, "Check a study offline, check by check.")
    sub.add_argument("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")
    sub.add_argument("--expect-lock", metavar="SHA256", help="id of the last lock, kept outside the study")
    sub.add_argument("--strict", action="store_true", help="exit with 4 when anything could not be checked")

    sub = command("estimate", _estimate, "Compute every estimate of a study, then write and lock results.json.")
    sub.add_argument("study", metavar="STUDY")
    sub.add_argument("--print", action="store_true", help="print without writing")

    sub = command("explore", _explore, "Compute any pair of states or a slice now, marked exploratory.")
    sub.add_argument("study", metavar="STUDY")
    sub.add_argument("old", metavar="OLD")
    sub.add_argument("new", metavar="NEW")
    sub.add_argument("--tag", help="only questions with this tag")

    sub = command("compare", _compare, "Compare two studies on the questions they share.")
    sub.add_argument("first", metavar="FIRST")
    sub.add_argument("second", metavar="SECOND")
    sub.add_argument("--old", help="old state (default: the first study's endpoints)")
    sub.add_argument("--new", help="new state")

    command("claims", _claims, "Recompute the published figures from the bundled studies.")

    group = commands.add_parser("import", help="Turn a file of answers into a locked study.")
    kinds = group.add_subparsers(title="kinds", required=True, metavar="KIND")
    sub = kinds.add_parser(
        "table",
        help="CSV, JSONL or Parquet, one row per answer",
        description="CSV, JSONL or Parquet, one row per answer.",
    )
    sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    sub.set_defaults(run=_import_table)
    _import_arguments(sub)

    sub = command("load", _load, "Verify studies and load them into a database for the dashboard.")
    sub.add_argument("studies", metavar="STUDY", nargs="+")
    sub.add_argument("--db", type=Path, default=DEFAULT_DB, help="database file (default: %(default)s)")
    sub.add_argument("--allow-failed", action="store_true", help="load although a check failed; every page says so")

    for name, run, text in (
        ("dashboard", _dashboard, "Open a loaded database in the browser."),
        ("demo", _demo, "Verify and load the bundled studies, then open the dashboard."),
    ):
        sub = command(name, run, text)
        sub.add_argument("--port", type=_port, default=8501, help="port (default: %(default)s)")
        sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        if name == "dashboard":
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


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    from audit_core.importers.command import add_arguments

    add_arguments(parser)


if __name__ == "__main__":
    sys.exit(main())
