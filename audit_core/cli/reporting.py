"""The command `report`: a study for the people who decide, as one HTML file and on paper."""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from audit_core import bundled
from audit_core.cli.commands import Result
from audit_core.cli.places import REVIEWS, named, refused, reviews_of
from audit_core.console import Progress, rule, table
from audit_core.errors import AuditError, InputError, NotMeasurableError, Problem, StorageError, VerificationError

if TYPE_CHECKING:
    from audit_core.codec import Record
    from audit_core.model import CheckOutcome, CheckResult

HELP = "Write the report for the people who decide: one HTML file that works offline, and PDF."
TITLES = {
    "R08": "The report is what this version makes of the study, byte by byte",
    "R09": "The verdicts and the sign-off that it carries are those of the store",
}
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
        "--reviews", type=Path, metavar="DB", help=f"verdicts (default: {REVIEWS} here, else beside the study)"
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
    if not 1 <= arguments.needed <= 99:
        raise InputError(Problem("a question needs a verdict", "1 to 99", str(arguments.needed), "--needed"))
    targets = [(file, f"--{name}") for name in ("html", "pdf") if (file := getattr(arguments, name))]
    if problems := [problem for file, option in targets if (problem := refused(file, option))]:
        raise InputError(problems)
    if len({file.resolve() for file, _ in targets}) < len(targets):
        raise InputError(Problem("two files have one name", "two names", str(arguments.html), "--html, --pdf",
                                 "Choose two names."))  # fmt: skip
    path = bundled.resolve(arguments.study)
    beside = reviews_of(path)
    reviews = named(arguments.reviews) if arguments.reviews else beside if beside.is_file() else None
    # Whoever stops the command wants no browser and no scratch space left; everything cleans up on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if not _can_make():
        raise InputError(Problem("reports cannot be made here", "the packages dashboard and plotly", "not both",
                                 action="Install them with: pip install snapshot-audit"))  # fmt: skip
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
        f"{loaded.studies[0]}: check with: snapshot-audit verify {quote(arguments.study)} --claims "
        + (quote(str(arguments.html)) if arguments.html else "HTML")
    )
    return {"study": loaded.studies[0], "files": files}, text + "\n" + rule(closing), 0


def _can_make() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("plotly", "dashboard"))


def made_again(path: Path, report: Path, checks: Sequence[CheckResult], reviews: Path | None) -> list[CheckResult]:
    """Checks R08 and R09: a report is made anew, from the verdicts that it carries and from those of a store.

    Args:
        path: The study's folder.
        report: The HTML file.
        checks: Of the study and of the report, so far.
        reviews: The store of verdicts; without it R09 is not made.
    """
    from audit_core.readmodel.load import load
    from audit_core.verify.printed import carried_by

    names = ("R08", "R09") if reviews else ("R08",)
    results = {check.check_id: check.result for check in checks}
    if results["R01"] != "passed" or results["R06"] != "passed" or not _can_make():
        lack = "R01 or R06 failed." if _can_make() else "The packages dashboard and plotly are not installed here."
        return [_found(name, "could not check", lack) for name in names]
    told, carried = carried_by(report)
    made: list[CheckResult] = []
    try:
        with tempfile.TemporaryDirectory(prefix="report-") as folder:
            db, page = Path(folder) / "audit.db", Path(folder) / "report.html"
            loaded = load([path], db, verifier=lambda _: [c for c in checks if not c.check_id.startswith("R")])
            order = {"db": loaded.db, "study_id": loaded.studies[0], "pair": [told["old"], told["new"]],
                     "redacted": told["redacted"] is True, "html": str(page), "pdf": None}  # fmt: skip
            _made(order | {"reviews": None, "needed": 1, "carried": carried})
            made.append(_same_bytes(report, page))
            if reviews:
                _made(order | {"reviews": str(reviews), "needed": carried["needed"]})
                made.append(_same_verdicts(carried, page))
    except (AuditError, KeyError, TypeError) as error:
        detail = str(error.problems[0]) if isinstance(error, AuditError) else "What it says of itself is damaged."
        detail = f"It cannot be made again. {detail}"
        made += [_found(name, "could not check", detail) for name in names[len(made) :]]
    return made


def _found(check: str, result: CheckOutcome, detail: str) -> CheckResult:
    from audit_core.model import CheckResult

    return CheckResult(check, TITLES[check], result, detail)


def _same_bytes(report: Path, page: Path) -> CheckResult:
    from audit_core.verify.printed import carried_by

    given, here = report.read_bytes(), page.read_bytes()
    if given == here:
        return _found("R08", "passed", f"{len(given):,} bytes.")
    by, again = (str(carried_by(file)[0].get("made_by"))[:60] for file in (report, page))
    if by != again:
        return _found("R08", "could not check", f"It says that it was made by “{by}”, and this is “{again}”.")
    pairs = zip(given, here, strict=False)
    at = next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(given), len(here)))
    near, made = (data[max(at - 30, 0) : at + 50].decode("utf-8", "replace") for data in (given, here))
    return _found("R08", "failed", f"From byte {at:,} on it differs: “{near}”, made again “{made}”.")


def _same_verdicts(carried: Record, page: Path) -> CheckResult:
    from audit_core.verify.printed import carried_by

    held = carried_by(page)[1]
    if carried == held:
        return _found("R09", "passed", f"{len(held['events']):,} verdicts and rulings.")
    if carried["events"] == held["events"]:
        return _found("R09", "failed", "The verdicts are those of the store, the sign-off is not.")
    given, kept = carried["events"], held["events"]
    at = next((i for i, pair in enumerate(zip_longest(given, kept)) if pair[0] != pair[1]), len(given))
    counts = f"It carries {len(given):,} verdicts and rulings, the store holds {len(kept):,}"
    return _found("R09", "failed", f"{counts}; from number {at + 1:,} on they differ.")


def _made(order: dict[str, Any]) -> list[dict[str, Any]]:
    # A process of its own: the core knows no plotly, and -P keeps a folder of that name out of the way.
    command = [sys.executable, "-P", "-m", "dashboard.report"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            said, wrong = process.communicate(json.dumps(order))
        except BaseException:
            process.terminate()  # it stops the browser and clears its scratch space
            process.communicate()
            raise
    try:
        answer = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        found = (wrong.strip().splitlines() or ["nothing"])[-1]
        raise StorageError(Problem("the report could not be made", "an answer", found[:300], "dashboard.report",
                                   "Try again; if it stays so, please report it.")) from None  # fmt: skip
    if "problems" in answer:
        problems = [Problem(**problem) for problem in answer["problems"]]
        raise _ERRORS.get(answer["exit_code"], InputError)(problems)
    files: list[dict[str, Any]] = answer["files"]
    return files
