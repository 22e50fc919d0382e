"""The inside of a study: questions, cells, evidence, labels and gold fit one another and the locks."""

from __future__ import annotations

from audit_core import codec, ledger, locks
from audit_core.codec import CodecError, Record
from audit_core.digests import sha256
from audit_core.study import (
    AUDIT,
    CELLS,
    COLLECTION,
    FINDINGS,
    FLAGS,
    GOLD,
    NONCE,
    PASSAGES,
    PRIMARY,
    QUESTIONS,
    RESULTS,
    SIBLINGS,
    gate_of,
    is_calls,
    labels_of,
    outcomes_of,
)
from audit_core.verify.structure import Structure


class Contents(Structure):
    """Checks C07 to C13; what they read also settles C04 and C05."""

    def _contents(self) -> None:
        listed = self._listed()
        gates = {lock.gate for lock in self.chain}
        under_way = []
        for member in sorted(self.present - listed):
            if is_calls(member) and gate_of(member) not in gates and not self._failed("C02"):
                under_way.append(member)
            elif gate_of(member) in gates or not self._failed("C02"):  # else its lock is the fault, and C02 says so
                self._fail("C04", f"{member} is in the folder but in no lock.")
        ladder = {s.name: i for i, s in enumerate(self.protocol.states)} if self.protocol else None
        self._questions()
        self._cells(ladder)
        self._evidence(ladder)
        self._judgments()
        self._gold()
        self._stream(FINDINGS)
        self._stream(FLAGS)
        for member in sorted(listed):  # read to the end, so that their lines are checked; C19 looks inside
            if member.endswith(("/attempts.jsonl", "/asked.jsonl")):
                for _ in self._stream(member):
                    pass
        if COLLECTION in listed:
            self._same(COLLECTION, self._entry(COLLECTION))
        if RESULTS in listed:
            self._same(RESULTS, self._entry(RESULTS))
        if NONCE in listed:
            self._same(NONCE, self._entry(NONCE))
        if under_way:
            self._set("C04", "could not check", f"{', '.join(under_way)}: the gate of these calls is open.")
        self._set("C04", "passed", f"{len(listed)} files.")
        self._set(
            "C05",
            "passed" if not self.changed else "could not check",
            "All ledgers."
            if not self.changed
            else "A ledger differs from its lock: " + ", ".join(sorted(self.changed)) + ".",
        )
        self._lock_counts()

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
        self._siblings(ladder, passages)
        self.counts["retrieval"] = {"evidence": self._lines(PRIMARY), "passages": self._lines(PASSAGES)}
        if PRIMARY not in listed:
            self._set("C10", "could not check", "The study holds no evidence.")
        self._finish(
            "C10",
            [PRIMARY, PASSAGES, SIBLINGS, QUESTIONS],
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

    def _siblings(self, ladder: dict[str, int] | None, passages: set[str]) -> None:
        last = (-1, -1)
        for record in self._stream(SIBLINGS):
            where = f"{SIBLINGS}: record {record['seq'] + 1}"
            place = self._place("C10", SIBLINGS, record, ladder)
            try:
                siblings = codec.to_siblings(record)
            except CodecError as error:
                self._fail("C10", f"{where}: {error}.")
                continue
            if place is not None:
                if place <= last:
                    self._fail("C10", f"{where} is twice or out of order.")
                last = place
            if any(d.passage and d.passage not in passages for d in siblings.documents):
                self._fail("C10", f"{where} names a passage that is not kept.")

    def _lines(self, member: str) -> int:
        return next((lock.files[member].lines for lock in self.chain if member in lock.files), 0)

    def _judgments(self) -> None:
        judges = self.protocol.judges if self.protocol else ()
        tally = {"labels": 0, "attempts": 0}
        members, parts = [CELLS, QUESTIONS], []
        for judge in judges:
            member = labels_of(judge.name, self._listed())
            counted = tally if gate_of(member) == "judgments" else {"labels": 0, "attempts": 0}
            members += [member, outcomes_of(judge.name)]
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
                counted["labels"] += len(judgment.labels)
                counted["attempts"] += judgment.attempts or 1
                if set(judgment.slots) != self.slots.get(judgment.question_id, set()):
                    self._fail("C12", f"{where} labels other cells than the question's answers.")
                size = len(judgment.slots)
                if len(judgment.labels) != size * (size - 1) // 2:
                    self._fail("C12", f"{where} has {len(judgment.labels)} labels for {size * (size - 1) // 2} pairs.")
            self._outcomes_given(outcomes_of(judge.name))
            parts.append(f"{judge.name}: {labelled:,} of {len(self.questions):,} questions")
        self.counts["judgments"] = tally
        if self._failed("C07", "C08"):
            self.outcome["C12"] = ("could not check", "The questions or cells are not sound.")
        if not judges:
            self._set("C12", "could not check", "No judge labelled the answers; only the exact kernel is available.")
        self._finish("C12", members, "; ".join(parts) + ".")

    def _outcomes_given(self, member: str) -> None:
        for record in self._stream(member):
            if (record["state"], record["repeat"]) not in self.slots.get(record["question_id"], set()):
                self._fail("C12", f"{member}: record {record['seq'] + 1} is about no answer of the study.")

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
