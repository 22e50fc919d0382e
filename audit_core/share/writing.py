"""A share bundle out of a verified study: written beside its place, tried, and put there whole or not at all."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audit_core import __version__, codec, ledger, locks
from audit_core.codec import Record, encode
from audit_core.digests import sha256, sha256_file
from audit_core.errors import InputError, Problem, StorageError, VerificationError
from audit_core.estimators.groups import lacking
from audit_core.model import Dossier
from audit_core.results import arrays_of, compute, measures_of
from audit_core.share import carried, keys, names, redaction, seals
from audit_core.share.layout import LOCKS, MANIFEST, PROTOCOL, QUESTIONS, README, RESULTS, wordy
from audit_core.share.leaks import Quotations
from audit_core.study import PROTOCOL as STUDY_PROTOCOL
from audit_core.study import RESULTS as STUDY_RESULTS
from audit_core.study import Study
from audit_core.tensors import Answers

NUMBERS = ("measure", "old", "new", "value", "numerator", "denominator", "lower", "interval", "unit", "status",
           "reason", "population", "excluded")  # fmt: skip
"""What redacted estimates share with the locked ones; a detail or a tag in a name may quote the study."""
_EPOCH = (1980, 1, 1, 0, 0, 0)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle that was written.

    Attributes:
        path: Of the archive or the folder.
        key: File with the owner's secret, outside the bundle.
        manifest: SHA-256 of the manifest: publish it together with the last lock.
        lock: The study's last lock.
        questions: Records.
        results_as_locked: Whether the results went along to the letter.
        size: Bytes of the archive, or of all files.
    """

    path: Path
    key: Path
    manifest: str
    lock: str
    questions: int
    results_as_locked: bool
    size: int


def write_bundle(
    study: Study, target: Path, key: Path, *, opaque: bool = False, folder: bool = False,
    progress: Progress = lambda _: None,
) -> Made:  # fmt: skip
    """Write the bundle of a study that was just verified.

    Args:
        study: With locked results.
        target: New archive, or new folder.
        key: File with the owner's secret; made where there is none. The same key gives the same bytes.
        opaque: Give questions and tags names that say nothing.
        folder: Make a folder in place of an archive.
        progress: Called with what is being done.

    Raises:
        GateError: The results are not locked.
        InputError: Something is at the target already, or an id or tag quotes the study.
        VerificationError: The redacted records do not give the locked results.
        StorageError: The disk refuses.
    """
    study.need("results")
    _free(study, target, key)
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    there = key.exists()
    try:
        secret = keys.read(key, study.bundle) if there else keys.write(key, study.bundle)
        draft.mkdir()
        inside = draft / f"{study.protocol.study_id}-bundle"
        manifest = _fill(study, inside, secret, opaque, progress)
        made, place = (inside, target) if folder else (_archive(inside, draft / target.name, progress), target)
        size = sum(f.stat().st_size for f in made.rglob("*") if f.is_file()) if folder else made.stat().st_size
        if folder:
            made.rename(place)
        else:
            os.link(made, place)  # unlike a renaming, never over another file
        locks.sync_folder(target.parent)
    except BaseException as error:
        if not there:
            key.unlink(missing_ok=True)
        if isinstance(error, OSError):
            action = "Free space or correct the rights, then try again; nothing was left behind."
            raise StorageError(Problem("cannot write the bundle", "a writable disk with free space", str(error),
                                       str(target), action)) from None  # fmt: skip
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    record = codec.decode(manifest.removesuffix(b"\n"))
    return Made(target, key, sha256(manifest), record["lock"], study.chain[1].counts["questions"],
                record["results_as_locked"], size)  # fmt: skip


def _free(study: Study, target: Path, key: Path) -> None:
    problems = []
    if target.exists() or target.is_symlink():
        problems.append(Problem("something is there already", "a new name", target.name, str(target),
                                "Choose another name; a bundle is never overwritten."))  # fmt: skip
    if not target.parent.is_dir():
        problems.append(Problem("there is no such folder", "a folder", "none", str(target.parent), "Make it first."))
    for path in (target, key):
        if path.resolve().is_relative_to(study.path.resolve()):
            problems.append(Problem("a locked study takes no more files", "a place outside the study", str(path),
                                    action="Choose a place outside the study's folder."))  # fmt: skip
    if key.resolve().is_relative_to(target.resolve()):
        problems.append(Problem("the key would be inside the bundle", "a place outside", str(key), "--key",
                                "Keep the key where nobody else reads it."))  # fmt: skip
    if problems:
        raise InputError(problems)


def _fill(study: Study, inside: Path, secret: bytes, opaque: bool, progress: Progress) -> bytes:
    """All files of the bundle; returns the bytes of its manifest."""
    (inside / LOCKS).mkdir(parents=True)
    for gate in locks.GATES:
        shutil.copyfile(study.path / "locks" / locks.file_name(gate), inside / LOCKS / locks.file_name(gate))
    shutil.copyfile(study.path / STUDY_PROTOCOL, inside / PROTOCOL)
    progress("answers")
    _records(study, inside / QUESTIONS, secret, opaque)
    progress("estimates")
    results, last = _results(study, inside), study.chain[-1]
    (inside / RESULTS).write_bytes(results)
    for place, source in carried.files().items():
        (inside / place).parent.mkdir(parents=True, exist_ok=True)
        (inside / place).write_bytes(source)
    name, as_locked = study.protocol.study_id, sha256(results) == last.files[STUDY_RESULTS].sha256
    (inside / README).write_text(_read_me(name, last.sha256, as_locked), encoding="utf-8")
    manifest = encode({
        "v": 1, "kind": "audit.share", "study_id": name, "study": study.bundle, "lock": last.sha256,
        "ids": "opaque" if opaque else "kept", "results_as_locked": as_locked,
        "tool": {"name": "snapshot-audit", "version": __version__},
        "files": [
            {"path": f.relative_to(inside).as_posix(), "bytes": f.stat().st_size, "sha256": sha256_file(f)}
            for f in sorted(inside.rglob("*"), key=lambda f: f.relative_to(inside).as_posix()) if f.is_file()
        ],
    }) + b"\n"  # fmt: skip
    (inside / MANIFEST).write_bytes(manifest)
    return manifest


def _records(study: Study, target: Path, secret: bytes, opaque: bool) -> None:
    """Write the redacted records."""
    answers, sealed = _taken(study, secret, opaque)
    ids, tags = answers.question_ids, {tag: tag for held in answers.tags for tag in held}
    if opaque:
        rule = study.protocol.release
        bets = rule is not None and any((rule.tolerance, rule.em_loss, rule.refusal_gain))
        ids, tags = names.opaque_ids(ids, study.protocol.seed if bets else None), names.opaque_tags(tags)
    ledger.write(target, redaction.records(answers, sealed, ids, tags), study.chain[-1].sha256)


def _taken(study: Study, secret: bytes, opaque: bool) -> tuple[Answers, bytearray]:
    """The arrays of a study and the salted digests of its answers, in one pass.

    Raises:
        InputError: A name that would go into the bundle is a text, or quotes one of the study's.
    """
    sealed = bytearray()
    asked = list(study.questions()) if not opaque else []
    kept = {name for question in asked for name in (question.question_id, *question.tags)}
    quotations = Quotations(kept)

    def passed() -> Iterator[Dossier]:
        for dossier in study.dossiers():
            _look(dossier, quotations)
            for cell in dossier.cells:
                if cell.answer is not None:
                    salt = seals.salt_of(secret, cell.question_id, cell.state, cell.repeat)
                    sealed.extend(seals.seal(salt, cell.answer))
            yield dossier

    answers = arrays_of(study.protocol, passed())
    for _, text in study.passages() if kept else ():
        quotations.look(text)
    bad = [*filter(wordy, sorted(kept)), *quotations.found]
    if bad:
        action = "Use --opaque-ids: questions and tags get names that say nothing."
        raise InputError(Problem("ids or tags say what the study says", "names that quote no text of it",
                                 "; ".join(name[:60] for name in dict.fromkeys(bad[:5])), action=action))  # fmt: skip
    return answers, sealed


def _look(dossier: Dossier, quotations: Quotations) -> None:
    for text in {
        dossier.question.text, *dossier.question.parts, *(dossier.gold.aliases if dossier.gold else ()),
        *(text for cell in dossier.cells for text in (cell.answer, *(excerpt.text for excerpt in cell.excerpts))),
    }:  # fmt: skip
        quotations.look(text)


def _results(study: Study, inside: Path) -> bytes:
    """The results without texts: what the written records give, once it is held equal to what was locked."""
    stored = study.results()
    assert stored is not None
    reader = ledger.Reader(inside / QUESTIONS, study.chain[-1].sha256, redaction.FIELDS, "record")
    older = lacking(measures_of(stored))
    made = compute(study.protocol, redaction.rebuild(study.protocol, reader), without=older)
    same = all(stored.get(part) == made.get(part) for part in ("decision", "release", "stream"))
    if not same or [_numbers(e) for e in made["estimates"]] != [_numbers(e) for e in stored["estimates"]]:
        raise VerificationError(
            Problem("the redacted records do not give the locked results", "the same numbers", "others",
                    study.protocol.study_id, "Please report it; nothing was written.")
        )  # fmt: skip
    return encode({**stored, "estimates": made["estimates"]}) + b"\n"


def _numbers(estimate: Record) -> list[object]:
    return [estimate[name] for name in NUMBERS]


def _archive(inside: Path, target: Path, progress: Progress) -> Path:
    """The folder as zip: same files, same bytes."""
    progress("archive")
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED, strict_timestamps=True) as archive:
        for file in sorted(inside.rglob("*"), key=lambda f: f.relative_to(inside).as_posix()):
            if file.is_file():
                info = zipfile.ZipInfo(file.relative_to(inside.parent).as_posix(), _EPOCH)
                info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
                info.file_size = file.stat().st_size
                with file.open("rb") as source, archive.open(info, "w") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
    with target.open("rb") as stream:
        os.fsync(stream.fileno())
    return target


def _read_me(study_id: str, lock: str, as_locked: bool) -> str:
    held = "They are the locked file, to the letter." if as_locked else "Texts and ids that they quoted were taken out."
    return f"""The study {study_id} without its texts: no question, answer, accepted answer, passage or prompt.

    python verify.py

checks it offline, with Python 3.11 or newer and numpy: that no file was changed, that the locks of the study name one
another, and that every estimate, the decision and the stream of draws follow from the redacted records. Compare
the digest of the manifest and the last lock with what the owner of the study published:

    python verify.py --expect SHA256 --expect-lock SHA256

Whoever sent a bundle can have changed its verifier too. `snapshot-audit verify-bundle` makes the same checks with
modules of its own, and says whether those in here are the same.

manifest.json     every other file with its SHA-256
protocol.json     what was fixed before the answers, to the letter
questions.jsonl   one record a question: which answers are equal, how they score, what a judge says of each pair, which
                  documents are the same; for each answer a salted digest that says nothing by itself
results.json      every estimate and the decision. {held}
locks/            the locks of the study, to the letter; the last one is {lock}
verify.py         the entry; its modules are in verifier/
"""
