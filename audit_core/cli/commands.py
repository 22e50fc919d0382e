"""Commands on studies that exist: check, estimate, explore, compare, import, load, show."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from audit_core import bundled
from audit_core.cli.places import kept_digest, named
from audit_core.console import Progress, estimate_table, rule, table
from audit_core.errors import InputError, Problem, VerificationError, visible

if TYPE_CHECKING:
    from audit_core.model import CheckOutcome, CheckResult

Facts = dict[str, Any]


def now() -> str:
    """The time, for information in locks."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Result = tuple[Facts | None, str, int]
COUNTED: dict[CheckOutcome, str] = {"passed": "passed", "failed": "failed", "could not check": "could not be checked"}


def verify(arguments: argparse.Namespace) -> Result:
    """Check a study."""
    from audit_core.verify import verify as run_checks
    from audit_core.verify.printed import check_report

    path = bundled.resolve(arguments.study)
    parent = bundled.resolve(arguments.parent) if arguments.parent else None
    if arguments.reviews and not arguments.claims:
        raise InputError(Problem("verdicts are compared with those of a report", "--claims REPORT", "none", "--reviews",
                                 "Name the report, too."))  # fmt: skip
    reviews = named(arguments.reviews) if arguments.reviews else None
    lock = kept_digest(arguments.expect_lock, "--expect-lock")
    with Progress("verify") as progress:
        checks = run_checks(path, expect_lock=lock, parent=parent, progress=progress.say)
        if arguments.claims:
            from audit_core.cli import reporting

            progress.say("report")
            checks += check_report(arguments.claims, path, checks)
            checks += reporting.made_again(path, arguments.claims, checks, reviews)
    facts, text, code = check_table({"study": str(path)}, checks)
    unmade = [check.check_id for check in checks if check.result == "could not check"]
    unsure = unmade if arguments.strict else [check for check in unmade if check.startswith("R")]
    return facts, text, code or (4 if unsure else 0)


def check_table(facts: Facts, checks: Sequence[CheckResult]) -> Result:
    """Numbered checks as facts, as a table, and as exit code 0 or 1."""
    ok = all(check.result != "failed" for check in checks)
    facts = facts | {
        "ok": ok,
        "checks": [{"id": c.check_id, "title": c.title, "result": c.result, "detail": c.detail} for c in checks],
    }
    marks = {"passed": "✓", "failed": "✗", "could not check": "–"}
    text = table(
        [[marks[c.result], c.check_id, c.title, c.result, c.detail] for c in checks],
        ["", "check", "what", "result", "detail"],
    )
    made = [check.result for check in checks]
    counts = [f"{made.count(result)} {words}" for result, words in COUNTED.items()]
    return facts, text + "\n" + rule(", ".join(counts)), 0 if ok else 1


def sound(path: Path) -> None:
    """Refuse to compute on a study whose files are not the locked ones.

    Raises:
        VerificationError: A check failed; checks of the results themselves are left to the caller.
    """
    from audit_core.verify import verify as run_checks

    bad = [c for c in run_checks(path) if c.result == "failed" and c.check_id not in ("C15", "C16", "C17")]
    if bad:
        raise VerificationError([
            Problem(f"check {c.check_id} failed: {c.title}", found=c.detail, where=str(path),
                    action="Restore the study from a copy; nothing was computed.") for c in bad])  # fmt: skip


def estimate(arguments: argparse.Namespace) -> Result:
    """Compute, write and lock the estimates."""
    from audit_core.estimators.refusals import alarms
    from audit_core.protocol import attributions
    from audit_core.results import arrays_of, as_row, compute, differences, from_record
    from audit_core.study import Study

    sound(bundled.resolve(arguments.study))
    study = Study(bundled.resolve(arguments.study))
    study.need("gold")
    stored = study.results()
    with Progress("estimate") as progress:
        record = compute(study.protocol, arrays_of(study.protocol, study.dossiers()), progress.say)
    faults, newer = differences(stored, record) if stored else ([], set())
    if arguments.print:
        state = "not written"
    elif stored is None:
        study.close_results(record, now())
        state = "written and locked"
    elif not faults and all(stored.get(key) == record.get(key) for key in ("decision", "release", "stream")):
        state = "locked before; recomputed and equal"
        state += f"; {len(newer)} newer ones are not locked with it" if newer else ""
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
    rows = [public(as_row(from_record(estimate))) for estimate in record["estimates"]]
    rows = [{**row, "status": "exploratory"} if row["name"] in newer else row for row in rows]
    judges = {judge.name: judge.description for judge in study.protocol.judges}
    alarmed = [alarm.sentence for alarm in alarms(rows)]
    facts = {
        "study": study.protocol.study_id,
        "results": state,
        "judges": judges,
        "alarms": alarmed,
        "decision": record["decision"],
        "estimates": rows,
    }
    text = estimate_table(rows) + "\n" + rule(f"{len(rows)} estimates, {state}")
    text += "".join(f"\nAlarm: {visible(sentence)}" for sentence in alarmed)
    text += "".join(f"\nSemantic labels ({j.role}): {j.description}" for j in study.protocol.judges)
    if sentences := attributions(study.protocol):
        facts["differences"] = sentences
        text += "".join(f"\n{sentence}" for sentence in sentences)
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


def public(row: Facts) -> Facts:
    """An estimate as commands print it, its interval as one pair."""
    low, high = row.pop("low"), row.pop("high")
    return {**row, "interval": None if low is None else [low, high]}


def explore(arguments: argparse.Namespace) -> Result:
    """Estimates of any pair or slice, live."""
    from audit_core import explore as live
    from audit_core.protocol import attribution
    from audit_core.results import arrays_of, as_row
    from audit_core.study import Study

    if arguments.old == arguments.new:
        raise InputError(Problem("a pair needs two states", "two different states", f"{arguments.old} twice", "OLD NEW",
                                 "Name two states of the study."))  # fmt: skip
    sound(bundled.resolve(arguments.study))
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
    found = live.pair_estimates(answers, arguments.old, arguments.new, questions)
    found += live.state_estimates(answers, arguments.old, questions)
    found += live.state_estimates(answers, arguments.new, questions)
    rows = [public(as_row(estimate)) for estimate in found]
    facts = {"study": study.protocol.study_id, "status": "exploratory", "estimates": rows}
    text = estimate_table(rows) + "\n" + rule("exploratory: computed now, never part of a decision")
    if sentence := attribution(study.protocol, arguments.old, arguments.new):
        facts["differences"] = [sentence]
        text += f"\n{sentence}"
    return facts, text, 0


def compare(arguments: argparse.Namespace) -> Result:
    """Two studies on common questions."""
    from audit_core.explore import paired_estimates
    from audit_core.results import arrays_of, as_row
    from audit_core.same_questions import Asked, differing, noted, refuse
    from audit_core.study import Study

    for name in (arguments.first, arguments.second):
        sound(bundled.resolve(name))
    first, second = (Study(bundled.resolve(name)) for name in (arguments.first, arguments.second))
    meant: tuple[dict[str, Asked], dict[str, Asked]] = ({}, {})
    a, b = (
        arrays_of(study.protocol, noted(study.dossiers(), study.protocol.origin, found))
        for study, found in zip((first, second), meant, strict=True)
    )
    refuse(differing(*meant), f"{first.protocol.study_id} and {second.protocol.study_id}")
    old, new = (arguments.old, arguments.new) if arguments.old else first.protocol.endpoints or ("", "")
    if old == new:
        raise InputError(Problem("a pair needs two states", "two different states", f"{old or 'none'}", "--old, --new",
                                 "Name two states that both studies have."))  # fmt: skip
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
    rows = [public(as_row(estimate)) for estimate in paired_estimates(a, b, old, new)]
    facts = {
        "first": first.protocol.study_id,
        "second": second.protocol.study_id,
        "status": "exploratory",
        "estimates": rows,
    }
    shared = rule("first minus second on the questions that both have; exploratory, and never pooled")
    return facts, estimate_table(rows) + "\n" + shared, 0


def claims(arguments: argparse.Namespace) -> Result:
    """The published figures."""
    from audit_core.report.claims import claims as recompute

    with Progress("claims") as progress:
        progress.say("recomputing the published figures")
        facts = recompute(bundled.studies()[0].parent, bundled.figures())
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


def import_table(arguments: argparse.Namespace) -> Result:
    """A study from tables."""
    from audit_core.importers import command

    with Progress("import", unit="row") as progress:
        facts = command.run(arguments, progress.count)
    return facts, command.text(facts), 0


def import_log(arguments: argparse.Namespace) -> Result:
    """A study from the logs of another tool."""
    from audit_core.importers import command, logs

    with Progress("import", unit="byte") as progress:
        facts = logs.run(arguments, arguments.kind, progress.count)
    return facts, command.text(facts), 0


def load(arguments: argparse.Namespace) -> Result:
    """Studies into SQLite."""
    paths = [bundled.resolve(name) for name in arguments.studies]
    facts = _load_studies(paths, arguments.db, arguments.allow_failed, arguments.add)
    text = table([[name, f"{count:,}"] for name, count in facts["rows"].items()], ["table", "rows"])
    return facts, text + "\n" + rule(f"{', '.join(facts['studies'])} → {facts['db']}"), 0


def _load_studies(paths: list[Path], db: Path, allow_failed: bool, add: bool = False) -> Facts:
    from audit_core.readmodel.load import load as build
    from audit_core.verify import verify as run_checks

    with Progress("load", unit="question") as progress:
        loaded = build(paths, db, verifier=run_checks, allow_failed=allow_failed, add=add, progress=progress.count)
    return {"db": loaded.db, "studies": loaded.studies, "rows": loaded.rows}


def dashboard(arguments: argparse.Namespace) -> Result:
    """Open a database in the browser."""
    if not arguments.db.is_file():
        raise InputError(Problem("no database here", "an audit database", "no such file", str(arguments.db),
                                 f"Build it with: snapshot-audit load STUDY --db {arguments.db}"))  # fmt: skip
    _launch(arguments.db, arguments.reviews, arguments)


def demo(arguments: argparse.Namespace) -> Result:
    """The bundled studies in the browser."""
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    made = (locks.parent for locks in (folder / "studies").glob("[!.]*/locks"))  # by the page Import
    imported = sorted(path for path in made if path.suffix != ".answers")
    facts = _load_studies([*bundled.studies(), *imported], folder / "audit.db", False)
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
    team: Path | None = getattr(arguments, "team", None)
    command += [f"--team={team}"] if team else []
    command += [f"--reviewer={arguments.reviewer}"] if arguments.reviewer is not None else []
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606
