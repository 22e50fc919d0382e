"""Calls of a collected study: each began before it ended, and cells and labels follow from what came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from audit_core import asking, calls, codec, parts
from audit_core.adapters import controls, instructions, lexical
from audit_core.codec import Record
from audit_core.collection import Calls, Collection, from_record
from audit_core.digests import canonical, sha256
from audit_core.errors import AuditError
from audit_core.ledger import payload
from audit_core.outcomes import AGAIN, read
from audit_core.prompts import aspect_prompt, judge_prompt, outcome_prompt
from audit_core.schedule import in_order
from audit_core.study import (
    ATTEMPTS,
    CELLS,
    COLLECTION,
    FLAGS,
    LATER,
    PARTING,
    Study,
    asked_of,
    attempts_of,
    controls_of,
    outcomes_of,
)
from audit_core.study.files import AT_ONCE, JUDGE_ATTEMPTS
from audit_core.study.passages import Passages
from audit_core.tally import Key, Slots, Tally, reply_of
from audit_core.verify.contents import Contents

REDRAWN = (*sorted(AGAIN), "config_error")


class CallChecks(Contents):
    """Checks C19 and C20."""

    def _calls(self) -> None:
        listed = self._listed()
        answers = ATTEMPTS in listed
        judged = any(JUDGE_ATTEMPTS.fullmatch(member) for member in listed)  # an imported study may hold these alone
        if COLLECTION not in listed or not (answers or judged):
            for check in ("C19", "C20"):
                self._set(check, "could not check", "The study holds no record of its calls.")
            return
        bad = self._failed("C02", "C05", "C06", "C07", "C08", "C10") or sorted(self.changed)
        if bad or self.protocol is None:
            for check in ("C19", "C20"):
                self._set(check, "could not check", f"{bad[0] if bad else 'The protocol'} cannot be relied on.")
            return
        self.progress("calls")
        study = Study.__new__(Study)
        study.path, study.chain, study.protocol, study.trusted = self.path, self.chain, self.protocol, "verified"
        try:
            record = codec.decode((self.path / COLLECTION).read_bytes().removesuffix(b"\n"))
            bound = record.pop("prompts", None) or {}
            collection = from_record(record)
            if PARTING in listed and collection.aspects:
                self._parts(study, collection.aspects)
            if answers:
                self._answers(study, collection)
            same = bound.get("lexical") == lexical.model()[1]  # the offline judge of this version
            for judge in self.protocol.judges:
                for folder, settings in ((AT_ONCE, collection.judging), (LATER, collection.second)):
                    if settings and attempts_of(judge.name, folder) in listed:
                        offline = same and settings.adapter == "lexical"
                        share = collection.share if folder == LATER else "1"
                        self._labels(study, judge.name, folder, settings, share, offline=offline)
        except AuditError as error:
            self._fail("C19", str(error.problems[0]))
            self._set("C20", "could not check", "The calls are not sound.")
        of = "" if answers else " of the judge; the answers were imported without theirs"
        self._set("C19", "passed", f"{self.seen:,} calls{of}.")
        what = "Cells and labels are" if answers else "Labels are"
        self._set("C20", "passed", f"{what} what the stored replies give.")

    seen = 0

    def _tally(self, study: Study, member: str, settings: Calls, slots: Slots, requests: Requests) -> Tally:
        """What a ledger of calls says, every record checked; accepted replies are read again when they are wanted."""
        tally = Tally(study.path / member, slots)
        reader = study.reader(member)
        for record in reader:
            key = tally.add(record, reader.offset)
            if fault := fault_of(record, partial(requests.are, key) if key else bool):
                self._fail("C19", f"{member}: record {record['seq'] + 1} {fault}")
        self.seen += tally.calls
        if tally.open:
            self._fail("C19", f"{member}: {len(tally.open)} calls have no end.")
        if tally.made if settings.transport == "calls" else tally.alone:
            self._fail("C19", f"{member} holds calls of another transport than {settings.transport}.")
        return tally

    def _parts(self, study: Study, settings: Calls) -> None:
        """Parts of questions against what the model replied."""
        questions = list(study.questions())
        slots = Slots(question.question_id for question in questions)
        requests = Requests(slots)
        for key, packet in parts.packets(replace(question, parts=()) for question in questions):
            requests.add((key,), calls.request_of(settings, aspect_prompt(packet)))
        with self._tally(study, PARTING, settings, slots, requests) as tally:
            for question in questions:  # one that was not asked about came with parts of its own
                reply = tally.get((question.question_id,))
                if question.parts != parts.parts_of(reply) if reply else not question.parts:
                    self._fail("C20", f"The parts of {question.question_id!r} are not what the model replied.")
        self._counted("selection", {"cut": sum(bool(question.parts) for question in questions)})

    def _answers(self, study: Study, collection: Collection) -> None:
        ids = [q.question_id for q in study.questions()]
        states = [s.name for s in study.protocol.states]
        slots = Slots(ids, states, collection.repeats)
        requests = Requests(Slots(ids, states))
        with closing(Passages(study)) as passages:
            for question_id, prompts in calls.surfaces(study, collection, passages):
                for state, prompt in prompts.items():
                    requests.add((question_id, state, 1), calls.request_of(collection.generation, prompt()))
        with self._tally(study, ATTEMPTS, collection.generation, slots, requests) as tally:
            if tally.done != len(slots):
                self._fail("C20", f"{len(slots) - tally.done} planned cells have no accepted reply.")
            self._counted("answers", {**dict.fromkeys(REDRAWN, 0), **tally.redrawn})
            made = map(codec.from_cell, calls.cells_of(in_order(ids, states, collection.repeats), tally))
            for record in study.reader(CELLS):
                if payload(record) != next(made, None):
                    self._fail("C20", f"{CELLS}: record {record['seq'] + 1} is not what the calls gave.")
            if left := sum(1 for _ in made):
                self._fail("C20", f"{CELLS} lacks {left} cells that the calls gave.")

    def _labels(self, study: Study, judge: str, folder: str, settings: Calls, share: str, *, offline: bool) -> None:
        seed = study.protocol.seed

        def held() -> Iterator[calls.Packet]:
            return calls.sampled(lambda: calls.packets(study.dossiers(), seed), seed, share)

        with self._replies(study, attempts_of(judge, folder), settings, held) as tally:
            stored = {d.question.question_id: d.judgments[judge] for d in study.dossiers() if judge in d.judgments}
            for key, cells, packet in held():
                reply = tally.get((key,))
                # this version's offline judge made the replies, so they can be made again
                if offline and reply and reply.reading.text != read(200, lexical.reply(judge_prompt(packet))).text:
                    self._fail("C20", f"The reply for {key!r} is not what the offline judge says.")
                made = calls.judgment_of(key, cells, seed, reply) if reply else None
                if made != stored.pop(key, None):
                    self._fail("C20", f"The labels of {key!r} are not what the judge {judge} replied.")
            if stored:
                self._fail("C20", f"{next(iter(stored))!r} has labels of {judge}, which was not asked about it.")
            expected = calls.label_counts(held(), tally, seed, len(tally.slots))
        known = controls.of(study)
        if known:
            known_packets = partial(controls.packets, known, seed)
            with self._replies(study, controls_of(judge, folder), settings, known_packets) as tally:
                expected |= controls.counts(known, seed, tally)
        if folder == AT_ONCE and asked_of(judge) in self._listed():
            expected |= self._outcomes(study, judge, settings)
        if folder == AT_ONCE:
            self._counted("judgments", {**expected, **self._flags(study)})
        else:
            self._counted("gold", {f"{judge}_{name}": value for name, value in expected.items()})

    def _outcomes(self, study: Study, judge: str, settings: Calls) -> dict[str, int]:
        """Outcomes that the judge gave to single answers, against its replies."""
        slots = Slots(key for key, _ in asking.packets(study.dossiers(), study.protocol))
        requests = Requests(slots)
        for key, packet in asking.packets(study.dossiers(), study.protocol):
            requests.add((key,), calls.request_of(settings, outcome_prompt(packet)))
        member = outcomes_of(judge)
        with self._tally(study, asked_of(judge), settings, slots, requests) as tally:
            made = map(codec.from_outcome, asking.outcomes(study.dossiers(), study.protocol, tally))
            for record in self._stream(member):
                if payload(record) != next(made, None):
                    self._fail("C20", f"{member}: record {record['seq'] + 1} is not what the judge replied.")
            if left := sum(1 for _ in made):
                self._fail("C20", f"{member} lacks {left} outcomes that the judge gave.")
            return asking.counts(study.dossiers(), study.protocol, tally, len(slots))

    def _flags(self, study: Study) -> dict[str, int]:
        """Counts of texts that instruct a judge; another version's rule flags other texts, and cannot be checked."""
        lock = next(lock for lock in self.chain if lock.gate == "judgments")
        if lock.counts.get("instruction_rule") != instructions.VERSION:
            return {}
        found = list(instructions.flags(study))
        if [payload(record) for record in self._stream(FLAGS)] != found:
            self._fail("C20", f"{FLAGS} is not what the answers and passages give.")
        return instructions.flag_counts(found)

    def _replies(self, study: Study, member: str, settings: Calls, held: Callable[[], Iterator[calls.Packet]]) -> Tally:
        slots = Slots(key for key, _, _ in held())
        requests = Requests(slots)
        for key, _, packet in held():
            requests.add((key,), calls.request_of(settings, judge_prompt(packet)))
        return self._tally(study, member, settings, slots, requests)

    def _counted(self, gate: str, expected: dict[str, int]) -> None:
        """What a lock counts is what there is; an older lock counts less."""
        lock = next(lock for lock in self.chain if lock.gate == gate)
        for name, value in expected.items():
            if lock.counts.get(name, value) != value:
                self._fail("C20", f"The {gate} lock counts {name} {lock.counts[name]:,}, the calls give {value:,}.")


def fault_of(record: Record, planned: Callable[[str], bool]) -> str:
    """What is wrong with a record of a call, whose request is given by its digest; empty where nothing is."""
    if record["kind"] == "end" and record["outcome"] != "interrupted":
        reply = reply_of(record)
        if read(reply.status, reply.body).outcome != record["outcome"]:
            return "has another outcome than its body."
    if record["kind"] == "start" and not planned(record.get("request_sha256", "")):
        return "is not the request that the protocol and the evidence give."
    return ""


class Requests:
    """Digests of the requests that a protocol gives, 32 bytes each; all repeats of a state share one."""

    def __init__(self, slots: Slots) -> None:
        self._slots, self._digests = slots, bytearray(32 * len(slots))

    def add(self, key: Key, request: dict[str, Any]) -> None:
        """Take in one request."""
        slot = self._slots.of(key)
        assert slot is not None
        self._digests[slot * 32 : slot * 32 + 32] = bytes.fromhex(sha256(canonical(request)))

    def are(self, key: Key, digest: str) -> bool:
        """Whether a call's request is the planned one."""
        slot = self._slots.of((*key[:2], 1) if len(key) == 3 else key)
        return slot is not None and self._digests[slot * 32 : slot * 32 + 32].hex() == digest
