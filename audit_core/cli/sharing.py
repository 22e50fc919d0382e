"""The commands that give a study away without its texts: the bundle, its check, and the proof of a single answer."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from audit_core import bundled
from audit_core.cli.commands import Result, check_table
from audit_core.cli.places import kept_digest
from audit_core.cli.reviewing import written
from audit_core.console import Progress, rule
from audit_core.errors import InputError, Problem, VerificationError

if TYPE_CHECKING:
    from audit_core.study import Study

BUNDLE = "Write a study without its texts, for others, with a verifier that needs only Python and numpy."
VERIFY = "Check a bundle from somebody else, with the modules that are installed here."
PROVE = "Reveal one answer to somebody who holds the bundle, with proof that the bundle is about it."


def add_arguments(
    bundle: argparse.ArgumentParser, check: argparse.ArgumentParser, prove: argparse.ArgumentParser
) -> None:
    """Add the arguments of the three commands."""
    bundle.add_argument("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")
    place = bundle.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", type=Path, metavar="FILE.zip", help="a new archive")
    place.add_argument("--dir", type=Path, metavar="FOLDER", help="a new folder")
    bundle.add_argument("--key", type=Path, metavar="FILE", help="the owner's secret; made where there is none "
                        "(default: NAME-key.json beside the bundle)")  # fmt: skip
    bundle.add_argument("--opaque-ids", action="store_true", help="names that say nothing for questions and tags")
    check.add_argument("bundle", type=Path, metavar="FILE", help="an archive, or the folder that it unpacks to")
    check.add_argument("--expect", metavar="SHA256", help="digest of its manifest, as the owner published it")
    check.add_argument("--expect-lock", metavar="SHA256", help="the study's last lock, as the owner published it")
    check.add_argument("--proof", type=Path, metavar="FILE", help="a proof that reveals a single answer")
    prove.add_argument("study", metavar="STUDY")
    prove.add_argument("question", metavar="QUESTION", help="id of the question, to the letter")
    prove.add_argument("state", metavar="STATE")
    prove.add_argument("repeat", metavar="REPEAT", type=int)
    prove.add_argument("--key", type=Path, required=True, metavar="FILE", help="the key that the bundle was made with")
    prove.add_argument("--locked", action="store_true", help="also show that it is the locked one; from the digests "
                       "that this takes, short answers beside it can be guessed")  # fmt: skip
    prove.add_argument("--out", type=Path, required=True, metavar="FILE", help="a new file")


def bundle(arguments: argparse.Namespace) -> Result:
    """Write a bundle."""
    from audit_core.share.writing import write_bundle

    target: Path = arguments.out or arguments.dir
    if arguments.out and target.suffix != ".zip":
        raise InputError(Problem("the archive is a zip", "a name that ends in .zip", target.name, "--out",
                                 "Name it so, or make a folder with --dir."))  # fmt: skip
    key = arguments.key or target.with_name(f"{target.stem if arguments.out else target.name}-key.json")
    with Progress("bundle") as progress:
        study = _verified(bundled.resolve(arguments.study), progress)
        made = write_bundle(study, target, key, opaque=arguments.opaque_ids, folder=arguments.out is None,
                            progress=progress.say)  # fmt: skip
    facts = {
        "bundle": str(made.path), "key": str(made.key), "study": study.protocol.study_id, "manifest": made.manifest,
        "lock": made.lock, "questions": made.questions, "results_as_locked": made.results_as_locked,
        "bytes": made.size,
    }  # fmt: skip
    text = (
        f"Written: {made.path}: {made.questions:,} questions, {made.size:,} bytes.\n"
        f"Keep to yourself: {made.key}. With it single answers can be proved, or guessed.\n"
        f"Publish elsewhere: manifest {made.manifest}\n"
        f"                   last lock {made.lock}\n"
    )
    return facts, text + rule("the protocol goes along to the letter: read it before you share"), 0


def verify_bundle(arguments: argparse.Namespace) -> Result:
    """Check a bundle."""
    from audit_core.share import carried
    from audit_core.share.checks import read_proof
    from audit_core.share.checks import verify_bundle as run_checks

    proof = read_proof(arguments.proof) if arguments.proof else None
    with Progress("verify-bundle") as progress, _opened(arguments.bundle) as folder:
        checks = run_checks(folder, expect=kept_digest(arguments.expect, "--expect"),
                            expect_lock=kept_digest(arguments.expect_lock, "--expect-lock"), proof=proof,
                            installed=carried.files(), progress=progress.say)  # fmt: skip
    return check_table({"bundle": str(arguments.bundle)}, checks)


def prove(arguments: argparse.Namespace) -> Result:
    """Write the proof of one answer."""
    from audit_core.codec import encode
    from audit_core.share import keys
    from audit_core.share.proofs import prove as proved

    with Progress("prove") as progress:
        study = _verified(bundled.resolve(arguments.study), progress)
    secret = keys.read(arguments.key, study.bundle)
    proof = proved(study, secret, arguments.question, arguments.state, arguments.repeat, locked=arguments.locked)
    facts, text, code = written(arguments.out, encode(proof) + b"\n", "one answer, its record, and nothing else")
    return {**(facts or {}), "proof": proof}, text, code


def _verified(path: Path, progress: Progress) -> Study:
    """A study that passes all checks.

    Raises:
        VerificationError: A check failed.
    """
    from audit_core.study import Study
    from audit_core.verify import verify

    bad = [check for check in verify(path, progress=progress.say) if check.result == "failed"]
    if bad:
        raise VerificationError([
            Problem(f"check {c.check_id} failed: {c.title}", found=c.detail, where=str(path),
                    action="Restore the study from a copy; nothing was written.") for c in bad])  # fmt: skip
    return Study(path, "verified")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """The folder of a bundle; an archive is unpacked and removed again."""
    from audit_core.share.unpacking import unpack

    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise InputError(Problem("no bundle here", "an archive or a folder", "neither", str(path), "Check the path."))
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        yield unpack(path, Path(folder))
