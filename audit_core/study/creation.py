"""A new study: written beside its place, locked gate by gate, and moved there whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from audit_core import codec, ledger, locks
from audit_core.codec import Record, encode
from audit_core.errors import InputError, Problem, StorageError
from audit_core.model import Cell, Evidence, Finding, Gold, Judgment, Question, Siblings
from audit_core.protocol import Protocol, to_record
from audit_core.study.files import (
    CELLS,
    FINDINGS,
    GOLD,
    PASSAGES,
    PRIMARY,
    PROTOCOL,
    QUESTIONS,
    SIBLINGS,
    file_entry,
    judgments_of,
    shape,
)
from audit_core.study.reading import Study


def create_study(
    path: Path,
    protocol: Protocol,
    *,
    questions: Sequence[Question],
    cells: Iterable[Cell],
    evidence: Iterable[Evidence] = (),
    passages: Mapping[str, str] | None = None,
    siblings: Iterable[Siblings] = (),
    judgments: Mapping[str, Iterable[Judgment]] | None = None,
    gold: Iterable[Gold] = (),
    findings: Sequence[Finding] = (),
    created: str,
) -> Study:
    """Write a study with all gates but the results closed; it appears whole or not at all.

    Args:
        path: Must not exist; made beside itself and renamed into place.
        protocol: What was fixed, or is known of an import.
        questions: In the order that everything else will follow.
        cells: Any order; sorted by question, ladder and repeat.
        passages: Text by SHA-256 of its UTF-8 bytes.
        siblings: Of the evidence; any order.
        judgments: By judge name.
        created: Time for information, such as ``2026-01-31T09:00:00Z``.

    Raises:
        InputError: Something exists at the path, or records contradict one another.
        StorageError: The disk refuses.
    """
    with _draft(path) as draft:
        texts, labels = passages or {}, judgments or {}
        _fill(draft, protocol, questions, cells, evidence, texts, siblings, labels, gold, findings, created)
    return Study(path)


def within_study(path: Path) -> bool:
    """Whether a path lies inside a locked study, which would fail its checks with one more file."""
    return any((parent / "locks" / "00-protocol.json").is_file() for parent in path.resolve().parents)


def free(path: Path) -> None:
    """Refuse a place where no new study can be.

    Raises:
        InputError: Something is there, or it lies inside another study.
    """
    if path.exists() or path.is_symlink():
        raise InputError(
            Problem(
                "something is there already",
                "a new folder for the study",
                "an existing path",
                str(path),
                "Choose another folder; a locked study is never overwritten.",
            )
        )
    if within_study(path):
        raise InputError(Problem("a locked study takes no more files", "a folder outside the study", str(path),
                                 action="Choose a place outside the study's folder."))  # fmt: skip


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A folder beside the path that is moved there at the end, or removed when anything fails."""
    free(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
        except OSError as error:
            raise StorageError(
                Problem(
                    "cannot make the study's folder",
                    "a writable folder",
                    str(error),
                    str(path),
                    "Choose another place or correct the rights.",
                )
            ) from error
        yield draft
        try:
            draft.rename(path)
            locks.sync_folder(path.parent)
        except OSError as error:
            raise InputError(
                Problem(
                    "the study cannot be put in place", "a free path", str(error), str(path), "Choose another folder."
                )
            ) from error
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _fill(
    draft: Path,
    protocol: Protocol,
    questions: Sequence[Question],
    cells: Iterable[Cell],
    evidence: Iterable[Evidence],
    passages: Mapping[str, str],
    siblings: Iterable[Siblings],
    judgments: Mapping[str, Iterable[Judgment]],
    gold: Iterable[Gold],
    findings: Sequence[Finding],
    created: str,
) -> None:
    position = {question.question_id: number for number, question in enumerate(questions)}
    ladder = {state.name: number for number, state in enumerate(protocol.states)}
    if len(position) != len(questions):
        raise InputError(
            Problem(
                "two questions have one id",
                f"{len(questions)} ids",
                f"{len(position)} ids",
                QUESTIONS,
                "Give every question its own id.",
            )
        )

    def place(question_id: str, state: str, repeat: int) -> tuple[int, int, int]:
        try:
            return position[question_id], ladder[state], repeat
        except KeyError:
            raise InputError(
                Problem(
                    "a record names an unknown question or state",
                    "a question and a state of the study",
                    f"{question_id[:60]} / {state[:60]}",
                    action="Correct the records.",
                )
            ) from None

    ordered = sorted(cells, key=lambda c: place(c.question_id, c.state, c.repeat))
    for before, after in pairwise(ordered):
        if (before.question_id, before.state, before.repeat) == (after.question_id, after.state, after.repeat):
            raise InputError(
                Problem(
                    "one cell twice",
                    "one record per question, state and repeat",
                    f"{after.question_id[:60]} / {after.state} / {after.repeat}",
                    CELLS,
                    "Keep one of the two records.",
                )
            )
    shown = sorted(evidence, key=lambda e: place(e.question_id, e.state, -1 if e.repeat is None else e.repeat))
    answers = sorted(gold, key=lambda g: position.get(g.question_id, -1))
    study = _begin(draft, protocol, {}, created)

    def close(gate: str, ledgers: Mapping[str, Iterable[Record]], counts: Mapping[str, int], note: str = "") -> None:
        close_gate(study, gate, ledgers, counts, note=note, created=created)

    close("selection", {QUESTIONS: map(codec.from_question, questions)}, {"questions": len(questions)})
    retrieval: dict[str, Iterable[Record]] = {}
    if shown:
        retrieval[PRIMARY] = map(codec.from_evidence, shown)
        if passages:
            retrieval[PASSAGES] = ({"sha256": key, "text": passages[key]} for key in sorted(passages))
        if unshown := sorted(siblings, key=lambda s: place(s.question_id, s.state, 0)):
            retrieval[SIBLINGS] = map(codec.from_siblings, unshown)
    close(
        "retrieval",
        retrieval,
        {"evidence": len(shown), "passages": len(passages)},
        "The source holds no evidence, so retrieval is not locked.",
    )
    held: dict[str, Iterable[Record]] = {CELLS: map(codec.from_cell, ordered)}
    if findings:
        held[FINDINGS] = map(codec.from_finding, findings)
    accepted = sum(cell.status == "ok" for cell in ordered)
    close(
        "answers",
        held,
        {
            "accepted": accepted,
            "errors": len(ordered) - accepted,
            "attempts": sum(cell.attempts or 1 for cell in ordered),
        },
    )
    labels = {name: sorted(items, key=lambda j: position.get(j.question_id, -1)) for name, items in judgments.items()}
    close(
        "judgments",
        {judgments_of(name): map(codec.from_judgment, items) for name, items in labels.items()},
        {
            "labels": sum(len(j.labels) for items in labels.values() for j in items),
            "attempts": sum(j.attempts or 1 for items in labels.values() for j in items),
        },
        "No judge labelled the answers; only the exact kernel is available.",
    )
    close(
        "gold",
        {GOLD: map(codec.from_gold, answers)} if answers else {},
        {"questions": len(answers)},
        "The source holds no gold, so exact match is not measured.",
    )


def begin_study(path: Path, protocol: Protocol, files: Mapping[str, bytes], created: str) -> Study:
    """A study of which only the protocol is fixed; the folder appears whole or not at all.

    Args:
        path: Must not exist.
        protocol: What is fixed.
        files: Further files of the protocol's gate, by path inside the study.
        created: Time, for information.

    Raises:
        InputError: Something exists at the path.
        StorageError: The disk refuses.
    """
    with _draft(path) as draft:
        _begin(draft, protocol, files, created)
    return Study(path)


def _begin(folder: Path, protocol: Protocol, files: Mapping[str, bytes], created: str) -> Study:
    (folder / "locks").mkdir()
    entries = {}
    for member, data in {PROTOCOL: encode(to_record(protocol)) + b"\n", **files}.items():
        _write_file(folder / member, data)
        entries[member] = file_entry(data)
    _, lock = locks.make("protocol", [], entries, {}, "", created)
    locks.write(folder / "locks", "protocol", lock)
    return Study(folder)


def close_gate(
    study: Study,
    gate: str,
    ledgers: Mapping[str, Iterable[Record]],
    counts: Mapping[str, int],
    *,
    note: str = "",
    files: Mapping[str, bytes] | None = None,
    present: Iterable[str] = (),
    created: str,
) -> locks.Lock:
    """Write what a gate closes, then its lock.

    Args:
        study: Its chain grows by the new lock.
        gate: The next one.
        ledgers: Records by path; a file left by an interrupted run is made anew.
        counts: Numbers for the lock.
        note: Why the gate closes without files, where it does.
        files: Files that are not ledgers, by path.
        present: Ledgers that were appended to until now; they are read, checked and locked as they are.
        created: Time, for information.

    Raises:
        GateError: The gate is not the next one.
        LedgerError: A present ledger is damaged.
        StorageError: The disk refuses.
    """
    entries, prev = {}, study.chain[-1].sha256
    for member, records in ledgers.items():
        target = study.path / member
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        entries[member] = ledger.write(target, records, prev)
    for member, data in (files or {}).items():
        (study.path / member).unlink(missing_ok=True)
        _write_file(study.path / member, data)
        entries[member] = file_entry(data)
    for member in present:
        found = shape(member)
        assert found is not None
        reader = ledger.Reader(study.path / member, prev, *found)
        for _ in reader:
            pass
        assert reader.entry is not None
        entries[member] = reader.entry
    lock, data = locks.make(gate, study.chain, entries, counts, "" if entries else note, created)
    locks.write(study.path / "locks", gate, data)
    study.chain.append(lock)
    return lock


def _write_file(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StorageError(
            Problem(
                "cannot write",
                "a writable disk with free space",
                str(error),
                str(target),
                "Free space or correct the rights, then try again.",
            )
        ) from error
