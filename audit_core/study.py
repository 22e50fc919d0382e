"""One study: a folder, its files and its gates.

protocol/protocol.json            what was fixed
selection/questions.jsonl         the questions, in the order of everything below
retrieval/primary.jsonl           evidence per question and state; passages.jsonl holds each text once
retrieval/audit.jsonl             the second, independent retrieval pass, where there was one
answers/cells.jsonl               question × state × repeat; findings.jsonl holds what was noticed about them
judgments/JUDGE/cells.jsonl       labels of all pairs of a question's answers
gold/gold.jsonl                   accepted answers
results/results.json              estimates, made once
locks/00-protocol.json …          the chain that closes each of them
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from audit_core import codec, ledger, locks
from audit_core.codec import CodecError, Field, Record, decode, encode
from audit_core.digests import Merkle, sha256
from audit_core.errors import GateError, InputError, LedgerError, Problem, StorageError
from audit_core.model import Cell, Dossier, Evidence, Finding, Gold, Judgment, Question
from audit_core.protocol import Protocol, from_record, to_record

PROTOCOL = "protocol/protocol.json"
QUESTIONS = "selection/questions.jsonl"
PRIMARY = "retrieval/primary.jsonl"
AUDIT = "retrieval/audit.jsonl"
PASSAGES = "retrieval/passages.jsonl"
CELLS = "answers/cells.jsonl"
FINDINGS = "answers/findings.jsonl"
GOLD = "gold/gold.jsonl"
NONCE = "gold/nonce"
RESULTS = "results/results.json"

PASSAGE: dict[str, Field] = {
    "sha256": (lambda v: type(v) is str and len(v) == 64, "a SHA-256", True),
    "text": (lambda v: type(v) is str, "text", True),
}

RESULTS_FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1, "1", True),
    "kind": (lambda v: v == "audit.results", "audit.results", True),
    "study_id": (lambda v: type(v) is str, "text", True),
    "tool": (lambda v: type(v) is dict, "an object", True),
    "estimates": (lambda v: type(v) is list and all(type(e) is dict for e in v), "a list of objects", True),
    "decision": (lambda v: v is None or type(v) is dict, "an object or null", True),
    "stream": (lambda v: v is None or type(v) is dict, "an object or null", True),
}

SHAPES: dict[str, tuple[dict[str, Field], str]] = {
    QUESTIONS: (codec.QUESTION, "question"),
    PRIMARY: (codec.EVIDENCE, "evidence"),
    AUDIT: (codec.EVIDENCE, "evidence"),
    PASSAGES: (PASSAGE, "passage"),
    CELLS: (codec.CELL, "cell"),
    FINDINGS: (codec.FINDING, "finding"),
    GOLD: (codec.GOLD, "gold"),
}
"""Fields of each ledger and one record in words; judgments are matched by `JUDGMENTS`."""

JUDGMENTS = re.compile(r"judgments/([a-z0-9][a-z0-9_.-]{0,63})/cells\.jsonl")


def judgments_of(judge: str) -> str:
    """Path of a judge's labels inside the study."""
    return f"judgments/{judge}/cells.jsonl"


def shape(member: str) -> tuple[dict[str, Field], str] | None:
    """Fields of a ledger and one record in words; None for a file that is not a ledger."""
    return (codec.JUDGMENT, "judgment") if JUDGMENTS.fullmatch(member) else SHAPES.get(member)


def gate_of(member: str) -> str | None:
    """The gate that closes a file, or None for a file that a study does not have."""
    if JUDGMENTS.fullmatch(member):
        return "judgments"
    return {
        PROTOCOL: "protocol",
        QUESTIONS: "selection",
        PRIMARY: "retrieval",
        AUDIT: "retrieval",
        PASSAGES: "retrieval",
        CELLS: "answers",
        FINDINGS: "answers",
        GOLD: "gold",
        NONCE: "gold",
        RESULTS: "results",
    }.get(member)


class Study:
    """A locked study on disk.

    Args:
        path: The study's folder.
        trusted: ``no`` checks every line of every ledger; ``verified`` relies on a verification just made and
            checks only that each file is still the locked one; ``failed`` reads what can be read of a study whose
            checks failed.

    Raises:
        InputError: No such folder, or its protocol is not one.
        GateError: Its chain of locks is damaged.
    """

    def __init__(self, path: Path, trusted: Literal["no", "verified", "failed"] = "no") -> None:
        self.path, self.trusted = path, trusted
        if not path.is_dir():
            raise InputError(
                Problem(
                    "no study here",
                    "a folder with locks/00-protocol.json",
                    "no such folder",
                    str(path),
                    "Check the path, or make a study with: snapshot-audit import table",
                )
            )
        self.chain = locks.read_chain(path / "locks")
        self.protocol = self._protocol()

    def _protocol(self) -> Protocol:
        file = self.path / PROTOCOL
        try:
            data = file.read_bytes()
            return from_record(decode(data.removesuffix(b"\n")))
        except (CodecError, OSError) as error:
            raise InputError(
                Problem(
                    f"the protocol cannot be read: {error}",
                    where=str(file),
                    action="Restore it from a copy; a frozen protocol is never edited.",
                )
            ) from None

    @property
    def bundle(self) -> str:
        """Identity of the study: SHA-256 of the protocol's lock."""
        return self.chain[0].sha256

    def has(self, member: str) -> bool:
        """Whether a lock lists this file."""
        gate = gate_of(member)
        return any(lock.gate == gate and member in lock.files for lock in self.chain)

    def need(self, gate: str) -> None:
        """Refuse to go on before a gate is closed.

        Raises:
            GateError: Its lock is missing.
        """
        if locks.GATES.index(gate) >= len(self.chain):
            raise GateError(
                Problem(
                    f"the gate {gate} is still open",
                    f"locks/{locks.file_name(gate)}",
                    "no such lock",
                    str(self.path),
                    "Complete that stage first; gates close in order.",
                )
            )

    def reader(self, member: str) -> ledger.Reader | ledger.Plain:
        """A stream over one ledger: checked line by line, or as `trusted` says."""
        found = shape(member)
        gate = gate_of(member)
        assert found is not None
        assert gate is not None
        if self.trusted != "no":
            digest = self.chain[locks.GATES.index(gate)].files[member].sha256
            return ledger.Plain(self.path / member, digest if self.trusted == "verified" else None, *found)
        return ledger.Reader(self.path / member, self.chain[locks.GATES.index(gate)].prev, *found)

    def questions(self) -> Iterator[Question]:
        """Questions in their order."""
        return (codec.to_question(record) for record in self.reader(QUESTIONS))

    def findings(self) -> list[Finding]:
        """What was noticed about the answers when they were taken in."""
        return [codec.to_finding(r) for r in self.reader(FINDINGS)] if self.has(FINDINGS) else []

    def passages(self) -> Iterator[tuple[str, str]]:
        """(SHA-256, text) of each passage, by ascending digest."""
        if self.has(PASSAGES):
            for record in self.reader(PASSAGES):
                yield record["sha256"], record["text"]

    def results(self) -> Record | None:
        """The locked results, or None before `estimate`."""
        if not self.has(RESULTS):
            return None
        try:
            record: Record = decode((self.path / RESULTS).read_bytes().removesuffix(b"\n"))
            codec.check_fields(record, RESULTS_FIELDS, "results")
        except (CodecError, OSError) as error:
            raise InputError(
                Problem(f"the results cannot be read: {error}", where=RESULTS, action="Restore them from a copy.")
            ) from None
        return record

    def dossiers(self) -> Iterator[Dossier]:
        """Everything, question by question, in one pass over all ledgers; memory holds one question.

        Raises:
            LedgerError: A damaged line, or a record of a question that is unknown or out of order.
        """
        cells = _Groups(self._stream(CELLS), CELLS, codec.to_cell)
        evidence = _Groups(self._stream(PRIMARY), PRIMARY, codec.to_evidence)
        gold = _Groups(self._stream(GOLD), GOLD, codec.to_gold)
        labelled = codec.plain_judgment if self.trusted == "verified" else codec.to_judgment
        judges = {
            judge.name: _Groups(self._stream(judgments_of(judge.name)), judgments_of(judge.name), labelled)
            for judge in self.protocol.judges
        }
        for question in self.questions():
            key = question.question_id
            labels = {name: found[0] for name, group in judges.items() if (found := group.take(key))}
            aliases = gold.take(key)
            yield Dossier(
                question, tuple(cells.take(key)), labels, tuple(evidence.take(key)), aliases[0] if aliases else None
            )
        for group in (cells, evidence, gold, *judges.values()):
            group.finish()

    def _stream(self, member: str) -> Iterable[Record]:
        return self.reader(member) if self.has(member) else ()

    def close_results(self, record: Record, created: str) -> locks.Lock:
        """Write and lock the results, once.

        Raises:
            GateError: A gate before is open, or results are locked already.
            StorageError: The disk refuses.
        """
        self.need("gold")
        if len(self.chain) == len(locks.GATES):
            raise GateError(
                Problem(
                    "the results are locked already",
                    "no results",
                    RESULTS,
                    str(self.path),
                    "Use --print to see estimates without writing.",
                )
            )
        target = self.path / RESULTS
        data = encode(record) + b"\n"
        try:
            target.parent.mkdir(exist_ok=True)
            draft = target.with_name(f".{target.name}.{os.getpid()}")
            with draft.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(target)  # results without a lock are a stage that was interrupted: made anew
            locks.sync_folder(target.parent)
        except OSError as error:
            raise StorageError(
                Problem(
                    "cannot write the results",
                    "a writable disk with free space",
                    str(error),
                    str(target),
                    "Free space or correct the rights, then try again.",
                )
            ) from error
        lock, lock_data = locks.make(
            "results", self.chain, {RESULTS: file_entry(data)}, {"estimates": len(record["estimates"])}, "", created
        )
        locks.write(self.path / "locks", "results", lock_data)
        self.chain.append(lock)
        return lock


class _Groups:
    """Records of a ledger, handed out by question in the order of the questions."""

    def __init__(self, records: Iterable[Record], member: str, build: object) -> None:
        self._records, self._member, self._build = iter(records), member, build
        self._next: Record | None = next(self._records, None)

    def take(self, question_id: str) -> list:  # type: ignore[type-arg]
        found = []
        while self._next is not None and self._next["question_id"] == question_id:
            try:
                found.append(self._build(self._next))  # type: ignore[operator]
            except CodecError as error:
                raise self._error(str(error)) from None
            self._next = next(self._records, None)
        return found

    def finish(self) -> None:
        if self._next is not None:
            raise self._error("a record belongs to no question here: it is unknown, or out of the questions' order")

    def _error(self, what: str) -> LedgerError:
        assert self._next is not None
        return LedgerError(
            Problem(
                what,
                "records in the order of the questions",
                self._next["question_id"][:80],
                f"{self._member}: record {self._next['seq'] + 1}",
                "Restore the file from a copy; a ledger is never edited.",
            )
        )


def gold_seal(nonce: bytes, records: Iterable[Record]) -> str:
    """The commitment to gold: SHA-256 of the nonce and each record's canonical line, without the chain's fields.

    The chain's fields name the locks before, and those name the protocol that holds this commitment; so they cannot be
    part of it.
    """
    digest = hashlib.sha256(nonce)
    for record in records:
        digest.update(encode(ledger.payload(record)) + b"\n")
    return digest.hexdigest()


def file_entry(data: bytes) -> ledger.Entry:
    """What a lock says about a file that is not a ledger."""
    tree = Merkle()
    tree.add(data)
    return ledger.Entry(len(data), 0, sha256(data), locks.START, tree.root())


def create_study(
    path: Path,
    protocol: Protocol,
    *,
    questions: Sequence[Question],
    cells: Iterable[Cell],
    evidence: Iterable[Evidence] = (),
    passages: Mapping[str, str] | None = None,
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
        judgments: By judge name.
        created: Time for information, such as ``2026-01-31T09:00:00Z``.

    Raises:
        InputError: Something exists at the path, or records contradict one another.
        StorageError: The disk refuses.
    """
    if path.exists() or path.is_symlink():
        raise InputError(
            Problem(
                "something is there already",
                "a new folder",
                "an existing path",
                str(path),
                "Choose another folder; a locked study is never overwritten.",
            )
        )
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
        _fill(draft, protocol, questions, cells, evidence, passages or {}, judgments or {}, gold, findings, created)
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
    return Study(path)


def _fill(
    draft: Path,
    protocol: Protocol,
    questions: Sequence[Question],
    cells: Iterable[Cell],
    evidence: Iterable[Evidence],
    passages: Mapping[str, str],
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
    chain: list[locks.Lock] = []
    (draft / "locks").mkdir()

    def close(gate: str, ledgers: Mapping[str, Iterable[Record]], counts: Mapping[str, int], note: str = "") -> None:
        entries = {}
        for member, records in ledgers.items():
            target = draft / member
            target.parent.mkdir(parents=True, exist_ok=True)
            entries[member] = ledger.write(target, records, chain[-1].sha256 if chain else locks.START)
        lock, data = locks.make(gate, chain, entries, counts, "" if entries else note, created)
        locks.write(draft / "locks", gate, data)
        chain.append(lock)

    data = encode(to_record(protocol)) + b"\n"
    _write_file(draft / PROTOCOL, data)
    lock, lock_data = locks.make("protocol", [], {PROTOCOL: file_entry(data)}, {}, "", created)
    locks.write(draft / "locks", "protocol", lock_data)
    chain.append(lock)
    close("selection", {QUESTIONS: map(codec.from_question, questions)}, {"questions": len(questions)})
    retrieval: dict[str, Iterable[Record]] = {}
    if shown:
        retrieval[PRIMARY] = map(codec.from_evidence, shown)
        if passages:
            retrieval[PASSAGES] = ({"sha256": key, "text": text} for key, text in sorted(passages.items()))
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
