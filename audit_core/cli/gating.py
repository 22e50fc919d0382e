"""The command that decides a release rule, for people and for pipelines."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from audit_core import bundled
from audit_core.cli.commands import Result
from audit_core.cli.places import REVIEWS, kept_digest, named, refused, reviews_of
from audit_core.console import Progress, rule, table
from audit_core.digests import sha256
from audit_core.errors import InputError, NotMeasurableError, Problem

if TYPE_CHECKING:
    from audit_core.deciding import Desk
    from audit_core.protocol import Protocol
    from audit_core.report.gate_files import Gate
    from audit_core.study import Study

HELP = "Decide the release rule: exit 0 met, 1 not met, 4 cannot be decided."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")
    add("--reviews", type=Path, metavar="DB", help=f"verdicts (default: {REVIEWS} here, else beside the study)")
    add("--rule", type=Path, metavar="TOML", help="a file with [release], for a study whose protocol fixed no rule")
    add("--expect-lock", metavar="SHA256", help="id of the last lock, kept outside the study")
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML, one test case a condition")
    add("--markdown", type=Path, metavar="FILE", help="write a comment for a pull request")


def gate(arguments: argparse.Namespace) -> Result:
    """Decide, then write the files that were asked for."""
    from audit_core.report import gate_files

    path = bundled.resolve(arguments.study)
    targets = _targets(arguments)
    found = _decided(path, arguments)
    made = {"junit": gate_files.junit(found), "markdown": gate_files.markdown(found).encode()}
    _write({target: made[name] for name, target in targets.items()})
    facts = gate_files.facts(found) | {"files": [str(target) for target in targets.values()]}
    rows = [[gate_files.SIGNS[met], title, text] for met, title, text in found.lines]
    text = table(rows, ["", "condition" if found.found else "check", "what was found"])
    if found.found:
        text += "\n\n" + table([[n.title, n.text] for n in found.found.numbers], ["read together", ""])
    return facts, f"{text}\n\n{found.basis}\n".replace("\n\n\n", "\n\n") + rule(found.headline), found.exit_code


def _decided(path: Path, arguments: argparse.Namespace) -> Gate:
    from audit_core.deciding import audited, release_outcome
    from audit_core.report.gate_files import Gate
    from audit_core.study import Study
    from audit_core.verify import verify

    with Progress("gate") as progress:
        checks = verify(path, expect_lock=kept_digest(arguments.expect_lock, "--expect-lock"), progress=progress.say)
    failed = [check for check in checks if check.result == "failed"]
    if failed:
        return Gate(path.resolve().name, None, "", "", "", None, failed)
    study = Study(path, "verified")
    protocol, basis, digest = _ruled(study, arguments.rule)
    assert protocol.release is not None
    assert protocol.endpoints is not None
    desk, where = _desk(path, arguments.reviews)
    if protocol.release.asks_people:
        basis += f" Verdicts: {where}." if desk else f" No verdicts: {where} does not exist."
    outcome = release_outcome(protocol.release, audited(study, protocol), desk)
    return Gate(protocol.study_id, protocol.endpoints, study.chain[-1].sha256, basis, digest, outcome)


def _ruled(study: Study, file: Path | None) -> tuple[Protocol, str, str]:
    """The protocol with the rule to decide, where the rule comes from, and the digest of its file.

    Raises:
        InputError: The file is no rule for this study, or not the rule that its protocol fixed.
        NotMeasurableError: There is no rule, or the study is not complete.
    """
    from audit_core.collection import release_of

    protocol, name = study.protocol, study.protocol.study_id
    if file and protocol.endpoints is None:
        action = "Import the logs again and name the primary pair with --endpoints OLD,NEW."
        raise InputError(Problem("a rule needs to know what is old and new", "endpoints", "none", name, action))
    given = release_of(file, protocol) if file else None
    if protocol.release is None and given is None:
        action = "Fix [release] in the next protocol before it is frozen, or name a file that holds it with --rule."
        raise NotMeasurableError(
            Problem("this study has no release rule", "[release] in its protocol", "none", name, action)
        )
    if protocol.release and given and not protocol.release.same(given):
        action = "Decide by the protocol's rule; one that was fixed before collection is not replaced afterwards."
        raise InputError(
            Problem("this is not the rule that the protocol fixed", "the same rule", "another one", str(file), action)
        )
    if len(study.chain) < 6 or (protocol.release and study.results() is None):
        what = "the study is not complete" if len(study.chain) < 6 else "its results are not locked"
        action = f"Complete it with: snapshot-audit run {study.path}, or estimate it with: snapshot-audit estimate"
        raise NotMeasurableError(Problem(what, "locked gold and results", f"{len(study.chain)} locks", name, action))
    known = sha256(file.read_bytes()) if file else ""
    held = f"The file {file.name} holds it too, sha256 {known}." if file else ""
    if protocol.release:
        return protocol, f"The rule was fixed in the protocol before collection. {held}".strip(), known
    basis = f"The rule was not fixed before collection: it is the one of the file, sha256 {known}."
    return replace(protocol, release=given), basis, known


def _desk(study: Path, given: Path | None) -> tuple[Desk | None, Path]:
    """What people said, read without changing anything, and where it is or should be."""
    from audit_core.cli.reviewing import fold_of
    from audit_core.deciding import desk
    from audit_core.reviews.signoff import read
    from audit_core.reviews.store import ReviewStore

    path = given or reviews_of(study)
    if not given and not path.exists():
        return None, path
    store = ReviewStore(named(path), patience=30)
    return desk(fold_of(path), lambda decision: read(store, decision)), path


def _targets(arguments: argparse.Namespace) -> dict[str, Path]:
    """Files to write, by kind.

    Raises:
        InputError: One cannot be written, before anything is computed.
    """
    found = {name: path for name in ("junit", "markdown") if (path := getattr(arguments, name)) is not None}
    problems = []
    for name, path in found.items():
        if not path.name or path.is_dir() or not path.parent.is_dir():
            problems.append(Problem("this is no place for a file", "a file in a folder that exists", "another path",
                                    f"--{name} {path}", "Name a file, and make its folder first."))  # fmt: skip
        elif problem := refused(path, f"--{name}") or _taken(name, path):
            problems.append(problem)
    if len({path.resolve() for path in found.values()}) < len(found):
        problems.append(Problem("two files have one name", "two names", str(arguments.junit), "--junit, --markdown",
                                "Choose two names."))  # fmt: skip
    if problems:
        raise InputError(problems)
    return found


def _taken(name: str, path: Path) -> Problem | None:
    """Why a file of this name is not replaced: it is none that an earlier run of the gate wrote."""
    from audit_core.report.gate_files import MARKS

    if not path.exists():
        return None
    with path.open("rb") as stream:
        start = stream.read(4000)
    begins, holds = MARKS[name]
    if not start or (start.startswith(begins) and holds in start):
        return None
    return Problem("another file has this name", "a new name, or a file of an earlier run", "some other file",
                   f"--{name} {path}", "Choose another name, or move the file away.")  # fmt: skip


def _write(files: dict[Path, bytes]) -> None:
    """All of them whole; those of an earlier run are replaced, because a pipeline runs again."""
    drafts = {target: target.with_name(f".{target.name}.{os.getpid()}.partial") for target in files}
    try:
        for target, data in files.items():
            with drafts[target].open("xb") as stream:
                stream.write(data)
        for target, draft in drafts.items():
            draft.replace(target)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
