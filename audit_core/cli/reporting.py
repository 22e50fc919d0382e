"""The command `report`: a study for the people who decide, as one HTML file and on paper."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from audit_core import bundled
from audit_core.cli.commands import Result
from audit_core.console import Progress, rule, table
from audit_core.errors import AuditError, InputError, NotMeasurableError, Problem, StorageError, VerificationError

HELP = "Write the report for the people who decide: one HTML file that works offline, and PDF."
_ERRORS: dict[int, type[AuditError]] = {1: VerificationError, 2: InputError, 3: StorageError, 4: NotMeasurableError}


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """Options of the command."""
    sub.add_argument("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")
    sub.add_argument("--html", type=Path, metavar="FILE", help="where the HTML file goes")
    sub.add_argument("--pdf", type=Path, metavar="FILE", help="where the PDF goes (needs Chromium)")
    sub.add_argument(
        "--redacted", action="store_true", help="ids and digests only: no question, answer, gold or passage"
    )
    sub.add_argument(
        "--reviews", type=Path, metavar="DB", help="verdicts and sign-off (default: reviews.db, if there is one)"
    )
    sub.add_argument("--needed", type=int, default=1, metavar="N", help="verdicts a question needs (default: 1)")
    sub.add_argument("--old", help="old state (default: the endpoints)")
    sub.add_argument("--new", help="new state")


def report(arguments: argparse.Namespace) -> Result:
    """A report of a study."""
    from audit_core.readmodel.load import load
    from audit_core.verify import verify

    if not arguments.html and not arguments.pdf:
        raise InputError(Problem("there is nothing to write", "--html FILE, --pdf FILE or both", "neither", "report",
                                 "Say where the report goes."))  # fmt: skip
    if bool(arguments.old) != bool(arguments.new):
        raise InputError(Problem("a pair needs two states", "--old and --new", "one of them", "report",
                                 "Name both, or neither for the endpoints."))  # fmt: skip
    if arguments.needed < 1:
        raise InputError(Problem("a question needs a verdict", "1 or more", str(arguments.needed), "--needed"))
    reviews = _reviews(arguments.reviews)
    if importlib.util.find_spec("plotly") is None or importlib.util.find_spec("dashboard") is None:
        raise InputError(Problem("reports cannot be made here", "the packages dashboard and plotly", "not both",
                                 action="Install them with: pip install snapshot-audit"))  # fmt: skip
    path = bundled.resolve(arguments.study)
    with tempfile.TemporaryDirectory(prefix="report-") as folder, Progress("report", unit="question") as progress:
        loaded = load([path], Path(folder) / "audit.db", verifier=verify, progress=progress.count)
        order = {
            "db": loaded.db, "study_id": loaded.studies[0], "reviews": reviews and str(reviews),
            "needed": arguments.needed, "pair": [arguments.old, arguments.new] if arguments.old else None,
            "redacted": arguments.redacted, "html": arguments.html and str(arguments.html),
            "pdf": arguments.pdf and str(arguments.pdf),
        }  # fmt: skip
        files = _made(order)
    text = table([[f["path"], f"{f['bytes']:,}", f["sha256"]] for f in files], ["file", "bytes", "sha256"])
    closing = (
        f"{loaded.studies[0]}: check with: snapshot-audit verify {arguments.study} --claims {arguments.html or 'HTML'}"
    )
    return {"study": loaded.studies[0], "files": files}, text + "\n" + rule(closing), 0


def _reviews(given: Path | None) -> Path | None:
    default = Path("reviews.db")
    if given is None:
        return default if default.is_file() else None
    if not given.is_file():
        raise InputError(Problem("no verdicts here", "a reviews.db", "no such file", str(given),
                                 "Name the file, or leave --reviews out for a report without verdicts."))  # fmt: skip
    return given


def _made(order: dict[str, Any]) -> list[dict[str, Any]]:
    # A process of its own: the core knows no plotly, and -P keeps a folder of that name out of the way.
    command = [sys.executable, "-P", "-m", "dashboard.report"]
    done = subprocess.run(command, input=json.dumps(order), capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        found = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise StorageError(Problem("the report could not be made", "an answer", found[:300], "dashboard.report",
                                   "Try again; if it stays so, please report it.")) from None  # fmt: skip
    if "problems" in answer:
        problems = [Problem(**problem) for problem in answer["problems"]]
        raise _ERRORS.get(answer["exit_code"], InputError)(problems)
    files: list[dict[str, Any]] = answer["files"]
    return files
