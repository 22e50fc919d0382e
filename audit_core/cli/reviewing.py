"""Commands on what people said: export, merge, backup, restore, check, and sign-offs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from audit_core import bundled
from audit_core.cli.commands import Result, check_table
from audit_core.cli.places import kept_digest
from audit_core.console import rule, table
from audit_core.errors import InputError, Problem

if TYPE_CHECKING:
    from audit_core.reviews.fold import Fold, Pair

Parsers = Any
FORMATS = ("jsonl", "csv", "inspect", "comparator", "events")


def add_arguments(parsers: Parsers, default: Path) -> None:
    """The group `reviews` and the command `verify-signoff`."""
    text = "Check a sign-off offline, check by check."
    sub = parsers.add_parser("verify-signoff", help=text, description=text)
    sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    sub.add_argument("file", metavar="FILE", type=Path, help="the file that Summary or `reviews signoff` gave")
    sub.add_argument("--study", metavar="DIR", help="the study that it is about: its folder, or a bundled study's name")
    sub.add_argument("--expect", metavar="SHA256", help="digest of the file, kept elsewhere")
    sub.set_defaults(run=verify_signoff)

    group = parsers.add_parser("reviews", help="What people said: export, merge, back up, restore, check, sign-offs.")
    kinds = group.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], Result], text: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = kinds.add_parser(name, help=text, description=text)
        sub.add_argument("--json", action="store_true", help="print one JSON object on stdout")
        sub.set_defaults(run=run)
        return sub

    def store(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--reviews", type=_file, default=default, help="verdicts (default: %(default)s)")

    sub = command("export", export, "Write the verdicts of a study to a file.")
    sub.add_argument("study_id", metavar="STUDY_ID", nargs="?", help="needed for every format but events")
    sub.add_argument(
        "--format", choices=FORMATS, default="jsonl",
        help="jsonl or csv; inspect: precomputed_scores of Inspect; comparator: LLM Comparator; events: everything "
        "that was ever recorded, as `merge` takes it",
    )  # fmt: skip
    sub.add_argument("--out", type=_file, required=True, metavar="FILE", help="a new file")
    sub.add_argument("--needed", type=_number, default=1, metavar="N", help="verdicts a question needs (default: 1)")
    _pair(sub)
    sub.add_argument("--kernel", help="comparator: whose contrasts (default: semantic where there is one)")
    sub.add_argument("--study", metavar="DIR", help="comparator: the study's folder, or a bundled study's name")
    store(sub)

    sub = command("merge", merge, "Join verdict files of people who worked apart, without loss or doubles.")
    sub.add_argument("files", metavar="FILE", type=Path, nargs="+", help="another reviews.db, or a verdicts.jsonl")
    sub.add_argument("--into", type=_file, default=default, metavar="DB", help="the store (default: %(default)s)")
    sub.add_argument("--dry-run", action="store_true", help="say what would happen, and write nothing")

    sub = command("backup", backup, "Make a dated, checked copy of the verdicts, also while people work.")
    sub.add_argument("--folder", type=Path, metavar="DIR", help="where (default: backups beside the verdicts)")
    store(sub)

    sub = command("restore", restore, "Put a copy in the place of the verdicts; what was there is kept aside.")
    sub.add_argument("copy", metavar="COPY", type=Path, help="a file of the folder backups")
    sub.add_argument("--exact", action="store_true", help="leave out what only the present verdicts hold")
    store(sub)

    store(command("check", check, "Look at the verdicts without changing them; say what is missing where."))

    sub = command("signoff", signoff, "Write the file of a study's release decision.")
    sub.add_argument("study_id", metavar="STUDY_ID")
    sub.add_argument("--out", type=_file, required=True, metavar="FILE", help="a new file")
    _pair(sub)
    store(sub)


def _pair(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--old", help="old state (needed where there are verdicts on several pairs)")
    sub.add_argument("--new", help="new state")


def _file(text: str) -> Path:
    if not Path(text).name:
        raise argparse.ArgumentTypeError(f"expected the name of a file, found {text!r}")
    return Path(text)


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 99:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 99, found {text!r}")
    return int(text)


def verify_signoff(arguments: argparse.Namespace) -> Result:
    """Check a sign-off."""
    from audit_core.verify.signoff import verify_signoff as run_checks

    study = bundled.resolve(arguments.study) if arguments.study else None
    checks = run_checks(arguments.file, study=study, expect=kept_digest(arguments.expect, "--expect"))
    return check_table({"file": str(arguments.file)}, checks)


def check(arguments: argparse.Namespace) -> Result:
    """Look at a store."""
    from audit_core.reviews.health import check as run_checks

    return check_table({"file": str(arguments.reviews)}, run_checks(arguments.reviews))


def export(arguments: argparse.Namespace) -> Result:
    """Verdicts as a file."""
    from audit_core.report import exports
    from audit_core.reviews import events
    from audit_core.reviews.export import as_csv, as_jsonl

    fold, study_id, wanted = fold_of(arguments.reviews), arguments.study_id, arguments.format
    if wanted == "events":
        data = b"".join(map(events.line, fold.trail))
        return written(arguments.out, data, f"{len(fold.trail)} events of all studies, because their chain is one")
    if study_id is None:
        raise InputError(Problem("no study is named", "STUDY_ID", "nothing", f"--format {wanted}",
                                 f"Name one of: {', '.join(_studies(fold)) or 'none has verdicts'}."))  # fmt: skip
    rows = exports.rows(fold, study_id, arguments.needed)
    if not rows and wanted != "comparator":
        there = f"There are: {', '.join(_studies(fold)) or 'none'}."
        raise InputError(
            Problem("this study has no verdicts", "a study that was reviewed", study_id, str(arguments.reviews), there)
        )
    if wanted == "jsonl":
        return written(arguments.out, as_jsonl(rows), f"{len(rows)} verdicts and rulings")
    if wanted == "csv":
        return written(arguments.out, as_csv(rows, exports.COLUMNS), f"{len(rows)} verdicts and rulings")
    if wanted == "inspect":
        pair = _chosen(arguments, fold.pairs(study_id))
        data = exports.inspect(fold, study_id, pair, arguments.needed)
        return written(arguments.out, data, f"{len(data.splitlines())} questions, {pair[0]} to {pair[1]}")
    return _comparator(arguments, fold)


def _comparator(arguments: argparse.Namespace, fold: Fold) -> Result:
    from audit_core.cli.commands import sound
    from audit_core.report import exports
    from audit_core.study import Study

    if not arguments.study:
        raise InputError(Problem("there are no texts to export", "the study's folder", "nothing", "--format comparator",
                                 "Name it with --study DIR; its id is then the first argument."))  # fmt: skip
    path = bundled.resolve(arguments.study)
    sound(path)
    study = Study(path, "verified")
    if study.protocol.study_id != arguments.study_id:
        raise InputError(Problem("this is another study", arguments.study_id, study.protocol.study_id, str(path),
                                 "Name the folder of the study whose verdicts are exported."))  # fmt: skip
    pair = _chosen(
        arguments, [study.protocol.endpoints] if study.protocol.endpoints else fold.pairs(arguments.study_id)
    )
    states = [state.name for state in study.protocol.states]
    kernels = ["exact", *(["semantic"] if study.protocol.primary_judge else [])]
    kernel = arguments.kernel or kernels[-1]
    for what, value, known in (("state", pair[0], states), ("state", pair[1], states), ("kernel", kernel, kernels)):
        if value not in known:
            raise InputError(Problem(f"no such {what}", ", ".join(known), value, arguments.study_id, "Name another."))
    data = exports.comparator(fold, study.protocol, list(study.dossiers()), pair, kernel, arguments.needed)
    return written(arguments.out, data, f"one repeat of each state, {pair[0]} (A) to {pair[1]} (B)")


def merge(arguments: argparse.Namespace) -> Result:
    """Files of people who worked apart."""
    from audit_core.reviews.merge import merge as run
    from audit_core.reviews.merge import totals
    from audit_core.reviews.store import ReviewStore

    found = run(ReviewStore(arguments.into), arguments.files, dry_run=arguments.dry_run)
    new, known = totals(found)
    facts = {
        "into": str(arguments.into),
        "written": not arguments.dry_run,
        "new": new,
        "known": known,
        "files": [
            {"file": j.name, "events": j.events, "known": j.known, "new": len(j.entries), "notes": j.notes}
            for j in found
        ],
    }
    text = table(
        [[j.name, f"{j.events:,}", f"{j.known:,}", f"{len(j.entries):,}"] for j in found],
        ["file", "number", "known", "new"],
    )
    text += "".join(f"\n  {note}" for j in found for note in j.notes)
    end = "nothing was written (dry run)" if arguments.dry_run else str(arguments.into)
    return facts, text + "\n" + rule(f"{new:,} new events, {known:,} known → {end}"), 0


def backup(arguments: argparse.Namespace) -> Result:
    """A copy."""
    from audit_core.reviews.backup import backup as run

    copy = run(arguments.reviews, datetime.now(UTC), arguments.folder)
    facts = {"copy": str(copy.path), "events": copy.events, "head": copy.head}
    return facts, f"Copied and checked: {copy.path}: {copy.events:,} events, the last {copy.head[:12]}….", 0


def restore(arguments: argparse.Namespace) -> Result:
    """A copy put back."""
    from audit_core.reviews.restore import restore as run

    done = run(arguments.copy, arguments.reviews, datetime.now(UTC), exact=arguments.exact)
    facts = {
        "reviews": str(arguments.reviews),
        "events": done.events,
        "brought": [event.request_id for event in done.brought],
        "left": [event.request_id for event in done.left],
        "aside": [str(path) for path in done.aside],
        "notes": done.notes,
    }
    lines = [f"Restored: {arguments.reviews}: {done.events:,} events."]
    if done.brought:
        lines.append(f"{len(done.brought)} events that the copy does not hold were brought over from what was there:")
        lines += _told(done.brought)
    if done.left:
        lines.append(f"{len(done.left)} events are only in the files that are kept aside (--exact):")
        lines += _told(done.left)
    lines += [f"Kept aside: {path}" for path in done.aside] + done.notes
    return facts, "\n".join(lines), 0


def signoff(arguments: argparse.Namespace) -> Result:
    """The file of a decision."""
    from audit_core.reviews.decided import decisions
    from audit_core.reviews.events import DECISIONS
    from audit_core.reviews.signoff import read
    from audit_core.reviews.store import ReviewStore

    store, fold = ReviewStore(arguments.reviews), fold_of(arguments.reviews)
    pairs = list(dict.fromkeys(e.pair for e in fold.of_kind(arguments.study_id, "signoff")))
    if not pairs:
        raise InputError(Problem("this study has no release decision", "a sign-off", "none", arguments.study_id,
                                 "An adjudicator signs on the page Summary."))  # fmt: skip
    newest = next(iter(decisions(fold, arguments.study_id, _chosen(arguments, pairs))), None)
    if newest is None:
        signed = f"Signed were: {', '.join(' to '.join(pair) for pair in pairs)}."
        raise InputError(
            Problem("this pair of states has no release decision", "a sign-off", "none", arguments.study_id, signed)
        )
    event, digest = newest.event, newest.content["sha256"]
    facts, text, code = written(
        arguments.out, read(store, newest), f"{DECISIONS[str(event.verdict)]}, by {event.reviewer}, {event.at}"
    )
    text += (
        f"\nsha256 {digest}\nCheck it with: snapshot-audit verify-signoff {quote(str(arguments.out))} --study DIR "
        f"--expect {digest}"
    )
    return {**(facts or {}), "sha256": digest, "decision": event.verdict}, text, code


def _told(events: Sequence[Any]) -> list[str]:
    lines = [f"  {e.reviewer}: {e.kind} {e.verdict or ''} on {e.question_id[:60]}, {e.at}" for e in events[:20]]
    return lines + ([f"  … and {len(events) - 20} more"] if len(events) > 20 else [])


def fold_of(path: Path) -> Fold:
    """What stands, read without changing anything."""
    from audit_core.reviews.events import FIRST
    from audit_core.reviews.fold import Fold
    from audit_core.reviews.store import ReviewStore, refuse_emptied, verified

    if not path.is_file():
        raise InputError(
            Problem("no verdicts here", "a reviews.db", "no such file", str(path), "Name it with --reviews.")
        )
    events = ReviewStore(path, patience=30).events()
    verified(events, 0, FIRST, path)
    refuse_emptied(path, len(events))
    return Fold(events)


def _studies(fold: Fold) -> list[str]:
    return list(dict.fromkeys(event.study_id for event in fold.trail))


def _chosen(arguments: argparse.Namespace, pairs: Iterable[Pair]) -> Pair:
    """The pair of states that is asked for, or the only one."""
    found = list(pairs)
    if arguments.old and arguments.new:
        return arguments.old, arguments.new
    if len(found) != 1 or arguments.old or arguments.new:
        listed = ", ".join(" to ".join(pair) for pair in found)
        raise InputError(Problem("the pair of states is not clear", "--old and --new", listed or "no pair",
                                 arguments.study_id, "Name both states."))  # fmt: skip
    return found[0]


def written(path: Path, data: bytes, what: str) -> Result:
    """A new file, whole or not at all, never over another one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with draft.open("xb") as stream:
                stream.write(data)
            os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError:
        raise InputError(Problem("there is a file already", "a new file", path.name, str(path),
                                 "Choose another name; nothing is written over.")) from None  # fmt: skip
    return {"file": str(path), "bytes": len(data)}, f"Written: {path}: {what}.", 0
