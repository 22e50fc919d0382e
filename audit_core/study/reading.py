"""A locked study on disk: its protocol, its ledgers question by question, its results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from audit_core import codec, ledger, locks
from audit_core.codec import CodecError, Record, decode, encode
from audit_core.errors import GateError, InputError, LedgerError, Problem, StorageError
from audit_core.model import Dossier, Finding, Question
from audit_core.protocol import Protocol, from_record
from audit_core.study.files import (
    CELLS,
    FINDINGS,
    GOLD,
    PASSAGES,
    PRIMARY,
    PROTOCOL,
    QUESTIONS,
    RESULTS,
    SIBLINGS,
    file_entry,
    gate_of,
    labels_of,
    outcomes_of,
    shape,
)


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
        self.need(gate)
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
            data = (self.path / RESULTS).read_bytes().removesuffix(b"\n")
            record: Record = decode(data, limit=codec.RESULTS_LIMIT)
            codec.check_fields(record, codec.RESULTS, "results")
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
        siblings = _Groups(self._stream(SIBLINGS), SIBLINGS, codec.to_siblings)
        gold = _Groups(self._stream(GOLD), GOLD, codec.to_gold)
        labelled = codec.plain_judgment if self.trusted == "verified" else codec.to_judgment
        primary = self.protocol.primary_judge
        told = outcomes_of(primary.name) if primary else ""
        outcomes = _Groups(self._stream(told) if told else (), told, codec.to_outcome)
        judges = {
            judge.name: _Groups(self._stream(member), member, labelled)
            for judge in self.protocol.judges
            for member in [labels_of(judge.name, {name for lock in self.chain for name in lock.files})]
        }
        for question in self.questions():
            key = question.question_id
            labels = {name: found[0] for name, group in judges.items() if (found := group.take(key))}
            aliases = gold.take(key)
            yield Dossier(
                question, tuple(cells.take(key)), labels, tuple(evidence.take(key)), aliases[0] if aliases else None,
                tuple(siblings.take(key)), tuple(outcomes.take(key)),
            )  # fmt: skip
        for group in (cells, evidence, siblings, outcomes, gold, *judges.values()):
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
