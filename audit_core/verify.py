"""Numbered offline checks of a study: standard library and numpy, no network, no database.

A check is ``passed``, ``failed``, or ``could not check``. A check whose inputs another check found broken could not be
made, so that one fault is reported once, where it is. What each check means is in docs/checks.md.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from audit_core import codec, ledger, locks
from audit_core.codec import CodecError, Record, decode
from audit_core.digests import sha256, sha256_file
from audit_core.errors import AuditError, GateError, InputError, LedgerError, Problem
from audit_core.model import CheckOutcome, CheckResult
from audit_core.protocol import Protocol, from_record
from audit_core.results import arrays_of, compute
from audit_core.study import (
    AUDIT,
    CELLS,
    FINDINGS,
    GOLD,
    NONCE,
    PASSAGES,
    PRIMARY,
    PROTOCOL,
    QUESTIONS,
    RESULTS,
    Study,
    gate_of,
    gold_seal,
    judgments_of,
    shape,
)

Progress = Callable[[str], None]
SIZE_LIMIT = 64 << 30

TITLES = {
    "C01": "The folder holds only the files of a study",
    "C02": "The locks are well formed and close the gates in order",
    "C03": "Each lock names the lock before it",
    "C04": "Every file is locked and unchanged",
    "C05": "Ledger lines are canonical, complete and chained",
    "C06": "The protocol is complete and free of contradictions",
    "C07": "Questions are listed once",
    "C08": "Cells are questions × states × repeats, once each and in order",
    "C09": "Counts in the locks match the ledgers",
    "C10": "Evidence and passages belong together",
    "C11": "The second retrieval pass equals the first",
    "C12": "Judges labelled every pair of a question's answers once",
    "C13": "Gold belongs to the questions, once each",
    "C14": "Gold matches the commitment made before the answers",
    "C15": "Estimates follow from the ledgers",
    "C16": "The decision follows from the estimates",
    "C17": "The stream of bootstrap draws is the locked one",
    "C18": "The last lock is the one kept elsewhere",
}


def verify(path: Path, *, expect_lock: str | None = None, progress: Progress = lambda _: None) -> list[CheckResult]:
    """All checks of one study, in order.

    Args:
        path: The study's folder.
        expect_lock: SHA-256 of the last lock, kept outside the study.
        progress: Called with what is being checked.

    Raises:
        InputError: The path is not a folder.
        GateError: The folder has no lock, so it is not a study.
    """
    if not path.is_dir():
        raise InputError(
            Problem(
                "no study here", "a folder with locks/00-protocol.json", "no such folder", str(path), "Check the path."
            )
        )
    folder = path / "locks"
    if not folder.is_dir() or not any((folder / locks.file_name(gate)).exists() for gate in locks.GATES):
        raise GateError(
            Problem(
                "this is not a study",
                "locks/00-protocol.json",
                "no lock",
                str(path),
                "Name the folder of a locked study, or make one with: snapshot-audit import table",
            )
        )
    return _Verifier(path, expect_lock, progress).run()


class _Verifier:
    def __init__(self, path: Path, expect_lock: str | None, progress: Progress) -> None:
        self.path, self.expect, self.progress = path, expect_lock, progress
        self.outcome: dict[str, tuple[CheckOutcome, str]] = {}
        self.chain: list[locks.Lock] = []
        self.protocol: Protocol | None = None
        self.changed: set[str] = set()
        self.damaged: set[str] = set()
        self.questions: dict[str, int] = {}
        self.slots: dict[str, set[tuple[str, int]]] = {}
        self.counts: dict[str, dict[str, int]] = {}

    def run(self) -> list[CheckResult]:
        self._members()
        self._locks()
        self._protocol()
        self._contents()
        self._gold_commit()
        self._results()
        self._expected()
        return [CheckResult(check, title, *self.outcome[check]) for check, title in TITLES.items()]

    # outcomes: the first failure of a check stands

    def _set(self, check: str, outcome: CheckOutcome, detail: str) -> None:
        self.outcome.setdefault(check, (outcome, detail))

    def _fail(self, check: str, detail: str) -> None:
        if self.outcome.get(check, ("",))[0] != "failed":
            self.outcome[check] = ("failed", detail)

    def _failed(self, *checks: str) -> list[str]:
        return [check for check in checks if self.outcome.get(check, ("",))[0] == "failed"]

    def _members(self) -> None:
        self.present: set[str] = set()
        for item in sorted(self.path.rglob("*")):
            name = item.relative_to(self.path).as_posix()
            mode = item.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                self._fail("C01", f"{name} is not a regular file (a link or a device).")
            elif name.startswith("locks/"):
                if name not in {f"locks/{locks.file_name(gate)}" for gate in locks.GATES}:
                    self._fail("C01", f"{name} is not a lock of a study.")
            elif gate_of(name) is None:
                self._fail("C01", f"{name} is not a file of a study.")
            elif item.lstat().st_size > SIZE_LIMIT:
                self._fail("C01", f"{name} is larger than {SIZE_LIMIT:,} bytes.")
            else:
                self.present.add(name)
        self._set("C01", "passed", f"{len(self.present)} files beside the locks.")

    def _locks(self) -> None:
        found: dict[str, locks.Lock] = {}
        missing: str | None = None
        for gate in locks.GATES:
            file = self.path / "locks" / locks.file_name(gate)
            if not file.is_file() or file.is_symlink():
                missing = missing or gate
                continue
            if missing:
                self._fail("C02", f"{file.name} is present although {locks.file_name(missing)} is missing.")
                continue
            try:
                lock = locks.parse(file.read_bytes())
            except CodecError as error:
                self._fail("C02", f"{file.name}: {error}.")
                missing = gate
                continue
            if lock.gate != gate or lock.number != len(found):
                self._fail("C02", f"{file.name} holds lock {lock.number} of the gate {lock.gate}.")
            if any(gate_of(member) != gate for member in lock.files):
                self._fail("C02", f"{file.name} lists a file of another gate.")
            found[gate] = lock
        self.chain = list(found.values())
        open_gates = len(locks.GATES) - len(self.chain)
        self._set("C02", "passed", f"{len(self.chain)} locks" + (f", {open_gates} gates open." if open_gates else "."))
        for number, lock in enumerate(self.chain):
            bundle = self.chain[0].sha256 if number else locks.START
            prev = self.chain[number - 1].sha256 if number else locks.START
            if lock.prev != prev:
                self._fail(
                    "C03", f"{locks.file_name(lock.gate)} names {lock.prev[:12]}…, the lock before it is {prev[:12]}…."
                )
            elif lock.bundle != bundle:
                self._fail("C03", f"{locks.file_name(lock.gate)} belongs to another study.")
        self._set(
            "C03",
            "passed" if self.chain else "could not check",
            f"The last lock is {self.chain[-1].sha256}." if self.chain else "There is no readable lock.",
        )

    def _protocol(self) -> None:
        entry = self.chain[0].files.get(PROTOCOL) if self.chain else None
        if entry is None:
            self._fail("C04", f"No lock lists {PROTOCOL}.")
        elif not self._same(PROTOCOL, entry):
            self._set("C06", "could not check", f"{PROTOCOL} differs from its lock.")
        else:
            try:
                self.protocol = from_record(decode((self.path / PROTOCOL).read_bytes().removesuffix(b"\n")))
                self._set("C06", "passed", f"{self.protocol.origin}: {self.protocol.title}.")
            except CodecError as error:
                self._fail("C06", f"{PROTOCOL}: {error}.")
            except InputError as error:
                self._fail("C06", str(error.problems[0]))
        self._set("C06", "could not check", "There is no locked protocol.")

    def _same(self, member: str, entry: ledger.Entry) -> bool:
        file = self.path / member
        if member not in self.present:
            self._fail("C04", f"{member} is missing.")
        elif file.stat().st_size != entry.size or sha256_file(file) != entry.sha256:
            self._fail(
                "C04",
                f"{member} differs from its lock: expected sha256 {entry.sha256[:12]}…, found "
                f"{sha256_file(file)[:12]}….",
            )
        else:
            return True
        self.changed.add(member)
        return False

    def _contents(self) -> None:
        listed = self._listed()
        gates = {lock.gate for lock in self.chain}
        for member in sorted(self.present - listed):
            if gate_of(member) in gates or not self._failed("C02"):  # else its lock is the fault, and C02 says so
                self._fail("C04", f"{member} is in the folder but in no lock.")
        ladder = {s.name: i for i, s in enumerate(self.protocol.states)} if self.protocol else None
        self._questions()
        self._cells(ladder)
        self._evidence(ladder)
        self._judgments()
        self._gold()
        self._stream(FINDINGS)
        if RESULTS in listed:
            self._same(RESULTS, self._entry(RESULTS))
        if NONCE in listed:
            self._same(NONCE, self._entry(NONCE))
        self._set("C04", "passed", f"{len(listed)} files.")
        self._set(
            "C05",
            "passed" if not self.changed else "could not check",
            "All ledgers."
            if not self.changed
            else "A ledger differs from its lock: " + ", ".join(sorted(self.changed)) + ".",
        )
        self._lock_counts()

    def _listed(self) -> set[str]:
        return {member for lock in self.chain for member in lock.files}

    def _entry(self, member: str) -> ledger.Entry:
        return next(lock.files[member] for lock in self.chain if member in lock.files)

    def _stream(self, member: str) -> list[Record] | Iterator[Record]:
        """Records of a locked ledger, checked against its lock in the same pass; stops where it is damaged."""
        lock = next((lock for lock in self.chain if member in lock.files), None)
        found = shape(member)
        if lock is None or found is None:
            return []
        iterator = self._read(member, lock, found)
        return list(iterator) if member == FINDINGS else iterator

    def _read(self, member: str, lock: locks.Lock, found: tuple[dict[str, codec.Field], str]) -> Iterator[Record]:
        entry = lock.files[member]
        self.progress(member)
        if member not in self.present:
            self._same(member, entry)
            return
        reader = ledger.Reader(self.path / member, lock.prev, *found)
        try:
            yield from reader
        except LedgerError as error:
            if self._same(member, entry):
                self.damaged.add(member)
                self._fail("C05", str(error.problems[0]))
            else:
                self.outcome["C04"] = ("failed", f"{self.outcome['C04'][1]} First damaged place: {error.problems[0]}")
            return
        if reader.entry != entry:
            if reader.entry is not None and (reader.entry.sha256, reader.entry.size) == (entry.sha256, entry.size):
                self._fail("C05", f"{member}: the lock's line count, head or Merkle root is not the file's.")
                self.damaged.add(member)
            else:
                self._same(member, entry)

    def _broken(self, *members: str) -> str:
        bad = sorted((self.changed | self.damaged) & set(members))
        return f"{', '.join(bad)} cannot be relied on." if bad else ""

    def _finish(self, check: str, members: Iterable[str], detail: str) -> None:
        broken = self._broken(*members)
        if broken:
            self.outcome[check] = ("could not check", broken)
        elif self.protocol is None and check != "C07":
            self.outcome[check] = ("could not check", "There is no readable protocol.")
        else:
            self._set(check, "passed", detail)

    def _questions(self) -> None:
        for record in self._stream(QUESTIONS):
            key = record["question_id"]
            if key in self.questions:
                self._fail("C07", f"{key!r} is listed twice, second in record {record['seq'] + 1}.")
            self.questions.setdefault(key, len(self.questions))
        if not self.questions:
            self._set("C07", "could not check", "There is no question.")
        self._finish("C07", [QUESTIONS], f"{len(self.questions):,} questions.")

    def _place(self, check: str, member: str, record: Record, ladder: dict[str, int] | None) -> tuple[int, int] | None:
        question, state = self.questions.get(record["question_id"]), (ladder or {}).get(record["state"])
        if question is None or state is None:
            self._fail(check, f"{member}: record {record['seq'] + 1} names an unknown question or state.")
            return None
        return question, state

    def _cells(self, ladder: dict[str, int] | None) -> None:
        last = (-1, -1, -1)
        tally = {"accepted": 0, "errors": 0, "attempts": 0}
        for record in self._stream(CELLS):
            place = self._place("C08", CELLS, record, ladder)
            try:
                cell = codec.to_cell(record)
            except CodecError as error:
                self._fail("C08", f"{CELLS}: record {record['seq'] + 1}: {error}.")
                continue
            tally["accepted" if cell.status == "ok" else "errors"] += 1
            tally["attempts"] += cell.attempts or 1
            if place is None:
                continue
            here = (*place, cell.repeat)
            if here == last:
                self._fail("C08", f"{CELLS}: record {record['seq'] + 1} repeats the cell before it.")
            elif here < last:
                self._fail("C08", f"{CELLS}: record {record['seq'] + 1} is out of order, or its cell came before.")
            last = here
            if cell.status == "ok" and self.protocol and self.protocol.judges:
                self.slots.setdefault(cell.question_id, set()).add((cell.state, cell.repeat))
        self.counts["answers"] = tally
        if CELLS not in self._listed():
            self._set("C08", "could not check", "The answers are not locked yet.")
        self._finish("C08", [CELLS, QUESTIONS], f"{tally['accepted']:,} answers, {tally['errors']:,} errors.")

    def _evidence(self, ladder: dict[str, int] | None) -> None:
        passages, primary = set(), {}
        previous = ""
        for record in self._stream(PASSAGES):
            key = record["sha256"]
            if sha256(record["text"].encode()) != key:
                self._fail("C10", f"{PASSAGES}: record {record['seq'] + 1} is not the text of its digest.")
            if key <= previous:
                self._fail("C10", f"{PASSAGES}: record {record['seq'] + 1} is twice or out of order.")
            previous = key
            passages.add(key)
        listed = self._listed()
        keep = AUDIT in listed
        last: tuple[int, ...] = (-1, -1, -2)
        for record in self._stream(PRIMARY):
            place = self._place("C10", PRIMARY, record, ladder)
            try:
                evidence = codec.to_evidence(record)
            except CodecError as error:
                self._fail("C10", f"{PRIMARY}: record {record['seq'] + 1}: {error}.")
                continue
            if place is not None:
                here = (*place, -1 if evidence.repeat is None else evidence.repeat)
                if here <= last:
                    self._fail("C10", f"{PRIMARY}: record {record['seq'] + 1} is twice or out of order.")
                last = here
            ranks = [document.rank for document in evidence.documents]
            if ranks != sorted(set(ranks)):
                self._fail("C10", f"{PRIMARY}: record {record['seq'] + 1} has ranks that do not ascend.")
            lost = next((d for d in evidence.documents if d.passage and d.passage not in passages), None)
            if lost is not None:
                self._fail("C10", f"{PRIMARY}: record {record['seq'] + 1} names a passage that is not kept.")
            if keep:
                primary[evidence.question_id, evidence.state, evidence.repeat] = sha256(
                    codec.encode(codec.from_evidence(evidence))
                )
        self.counts["retrieval"] = {"evidence": self._lines(PRIMARY), "passages": self._lines(PASSAGES)}
        if PRIMARY not in listed:
            self._set("C10", "could not check", "The study holds no evidence.")
        self._finish(
            "C10",
            [PRIMARY, PASSAGES, QUESTIONS],
            f"{self._lines(PRIMARY):,} evidence lists, {len(passages):,} passages.",
        )
        if not keep:
            self._set("C11", "could not check", "The study has no second retrieval pass.")
            return
        for record in self._stream(AUDIT):
            key = (record["question_id"], record["state"], record.get("repeat"))
            if primary.pop(key, None) != sha256(codec.encode(ledger.payload(record))):
                self._fail(
                    "C11", f"{AUDIT}: record {record['seq'] + 1} differs from the first pass in ids, order or bytes."
                )
        if primary and not self._broken(AUDIT, PRIMARY):
            self._fail("C11", f"The second pass lacks {len(primary)} evidence lists of the first.")
        self._finish("C11", [PRIMARY, AUDIT], "Equal in ids, order and rendered bytes.")

    def _lines(self, member: str) -> int:
        return next((lock.files[member].lines for lock in self.chain if member in lock.files), 0)

    def _judgments(self) -> None:
        judges = self.protocol.judges if self.protocol else ()
        tally = {"labels": 0, "attempts": 0}
        members, parts = [CELLS, QUESTIONS], []
        for judge in judges:
            member = judgments_of(judge.name)
            members.append(member)
            last, labelled = -1, 0
            for record in self._stream(member):
                where = f"{member}: record {record['seq'] + 1}"
                try:
                    judgment = codec.to_judgment(record)
                except CodecError as error:
                    self._fail("C12", f"{where}: {error}.")
                    continue
                here = self.questions.get(judgment.question_id, -1)
                if here <= last:
                    self._fail("C12", f"{where} is of an unknown question, twice or out of order.")
                last = here
                labelled += 1
                tally["labels"] += len(judgment.labels)
                tally["attempts"] += judgment.attempts or 1
                if set(judgment.slots) != self.slots.get(judgment.question_id, set()):
                    self._fail("C12", f"{where} labels other cells than the question's answers.")
                size = len(judgment.slots)
                if len(judgment.labels) != size * (size - 1) // 2:
                    self._fail("C12", f"{where} has {len(judgment.labels)} labels for {size * (size - 1) // 2} pairs.")
            parts.append(f"{judge.name}: {labelled:,} of {len(self.questions):,} questions")
        self.counts["judgments"] = tally
        if self._failed("C07", "C08"):
            self.outcome["C12"] = ("could not check", "The questions or cells are not sound.")
        if not judges:
            self._set("C12", "could not check", "No judge labelled the answers; only the exact kernel is available.")
        self._finish("C12", members, "; ".join(parts) + ".")

    def _gold(self) -> None:
        last = -1
        for record in self._stream(GOLD):
            here = self.questions.get(record["question_id"], -1)
            if here <= last:
                self._fail(
                    "C13", f"{GOLD}: record {record['seq'] + 1} is of an unknown question, twice or out of order."
                )
            last = here
        if not self._lines(GOLD):
            self._set("C13", "could not check", "The study holds no gold.")
        self._finish("C13", [GOLD, QUESTIONS], f"{self._lines(GOLD):,} questions with gold.")

    def _lock_counts(self) -> None:
        self.counts["selection"] = {"questions": self._lines(QUESTIONS)}
        if self.protocol is None:
            self.counts.clear()
        self.counts["gold"] = {"questions": self._lines(GOLD)}
        for lock in self.chain:
            for name, value in self.counts.get(lock.gate, {}).items():
                if lock.counts.get(name) != value and not self._broken(*lock.files):
                    self._fail(
                        "C09",
                        f"{locks.file_name(lock.gate)} says {name} {lock.counts.get(name)}, the ledger has {value}.",
                    )
        broken = self._broken(*self._listed())
        if broken:
            self._set("C09", "could not check", broken)
        self._set("C09", "passed", "All counts.")

    def _gold_commit(self) -> None:
        commit = self.protocol.gold_commit if self.protocol else None
        if commit is None:
            self._set("C14", "could not check", "Gold was not sealed before the answers.")
        elif self._broken(GOLD, NONCE) or self._failed("C13") or not {GOLD, NONCE} <= self._listed():
            self._set(
                "C14", "could not check", "Gold or its nonce is not here or not sound; it is locked, not verified."
            )
        elif gold_seal((self.path / NONCE).read_bytes(), self._stream(GOLD)) != commit:
            self._fail("C14", f"The gold here is not the gold that was sealed as {commit[:12]}….")
        self._set("C14", "passed", "Gold and nonce give the sealed digest.")

    def _results(self) -> None:
        checks = ("C15", "C16", "C17")
        bad = self._failed("C02", "C05", "C06", "C07", "C08", "C10", "C12", "C13")
        why = ""
        if RESULTS not in self._listed():
            why = "The study has no locked results yet."
        elif bad:
            why = f"Check {bad[0]} failed, so there is nothing sound to compute from."
        elif self.changed or self.protocol is None:
            why = self._broken(*self.changed) or "There is no readable protocol."
        if why:
            for check in checks:
                self._set(check, "could not check", why)
            return
        assert self.protocol is not None
        self.progress("estimates")
        study = Study.__new__(Study)  # the chain was checked here, and a broken chain must not stop this check
        study.path, study.chain, study.protocol, study.trusted = self.path, self.chain, self.protocol, "verified"
        try:
            stored = study.results() or {}
            made = compute(self.protocol, arrays_of(self.protocol, study.dossiers()))
        except AuditError as error:
            for check in checks:
                self._fail(check, str(error.problems[0]))
            return
        self._compare_estimates(stored, made)
        if stored.get("decision") != made["decision"]:
            self._fail("C16", f"Stored {_outcome(stored)}, recomputed {_outcome(made)}.")
        self._set(
            "C16",
            "passed" if made["decision"] else "could not check",
            _outcome(made) if made["decision"] else "The protocol fixed no decision.",
        )
        if stored.get("stream") != made["stream"]:
            self._fail("C17", "The digest or bounds of the draws differ from the recomputed stream.")
        self._set(
            "C17",
            "passed" if made["stream"] else "could not check",
            f"{made['stream']['B']:,} draws." if made["stream"] else "The study names no endpoints to draw for.",
        )

    def _compare_estimates(self, stored: Record, made: Record) -> None:
        given = {e.get("name"): e for e in stored.get("estimates", []) if isinstance(e, dict)}
        for estimate in made["estimates"]:
            name = estimate["name"]
            if given.pop(name, None) != estimate:
                self._fail("C15", f"{name} differs from what the ledgers give ({estimate['value'] or 'undefined'}).")
        if given:
            self._fail("C15", f"{next(iter(given))} is not an estimate of this study.")
        self._set("C15", "passed", f"{len(made['estimates'])} estimates recomputed.")

    def _expected(self) -> None:
        last = self.chain[-1].sha256 if self.chain else ""
        if self.expect is None:
            self._set(
                "C18",
                "could not check",
                "No lock id was given. Someone who can rewrite a whole study can rewrite its "
                f"chain; keep this id elsewhere and pass it with --expect-lock: {last}",
            )
        elif self.expect != last:
            self._fail(
                "C18", f"Expected {self.expect[:12]}…, found {last[:12]}…: a lock was removed, or the study rewritten."
            )
        self._set("C18", "passed", last)


def _outcome(record: Record) -> str:
    decision = record.get("decision")
    return decision["outcome"] if isinstance(decision, dict) and "outcome" in decision else "no decision"
