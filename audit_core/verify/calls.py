"""Calls of a collected study: each began before it ended, and cells and labels follow from what came back."""

from __future__ import annotations

from audit_core import calls, codec
from audit_core.adapters import lexical
from audit_core.collection import Collection, from_record
from audit_core.digests import canonical, sha256
from audit_core.errors import AuditError
from audit_core.outcomes import read
from audit_core.prompts import answer_prompt, judge_prompt
from audit_core.study import ATTEMPTS, CELLS, COLLECTION, PRIMARY, Study, attempts_of
from audit_core.verify.contents import Contents


class CallChecks(Contents):
    """Checks C19 and C20."""

    def _calls(self) -> None:
        listed = self._listed()
        if ATTEMPTS not in listed or COLLECTION not in listed:
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
            self._answers(study, collection)
            if self.protocol.primary_judge and attempts_of(self.protocol.primary_judge.name) in listed:
                self._labels(study, collection, offline=bound.get("lexical") == lexical.model()[1])
        except AuditError as error:
            self._fail("C19", str(error.problems[0]))
            self._set("C20", "could not check", "The calls are not sound.")
        self._set("C19", "passed", f"{self.seen:,} calls.")
        self._set("C20", "passed", "Cells and labels are what the stored replies give.")

    seen = 0

    def _fold(self, study: Study, member: str, requests: dict[calls.Key, str]) -> dict[calls.Key, calls.Accepted]:
        records = list(study.reader(member))
        accepted, counts, left = calls.fold(records)
        self.seen += sum(counts.values())
        if left:
            self._fail("C19", f"{member}: {len(left)} calls have no end.")
        for record in records:
            place = f"{member}: record {record['seq'] + 1}"
            if record["kind"] == "end" and record["outcome"] != "interrupted":
                reply = calls.reply_of(record)
                if read(reply.status, reply.body).outcome != record["outcome"]:
                    self._fail("C19", f"{place} has another outcome than its body.")
            if record["kind"] == "start" and requests.get(calls.key_of(record)) != record["request_sha256"]:
                self._fail("C19", f"{place} is not the request that the protocol and the evidence give.")
        return accepted

    def _answers(self, study: Study, collection: Collection) -> None:
        texts = dict(study.passages())
        shown = {
            (r["question_id"], r["state"]): [texts[d["passage"]] for d in r["documents"]]
            for r in (study.reader(PRIMARY) if study.has(PRIMARY) else ())
        }
        asked = {q.question_id: q.text or q.question_id for q in study.questions()}
        plan = calls.planned(collection, list(asked), [s.name for s in study.protocol.states])
        requests: dict[calls.Key, str] = {}
        for call in plan:
            prompt = answer_prompt(asked[call.question_id], shown.get((call.question_id, call.state), []))
            body = calls.request_of(collection.generation, prompt)
            requests[call.question_id, call.state, call.repeat] = sha256(canonical(body))
        accepted = self._fold(study, ATTEMPTS, requests)
        made = {(c.question_id, c.state, c.repeat): codec.from_cell(c) for c in calls.cells_of(plan, accepted)}
        if len(made) != len(plan):
            self._fail("C20", f"{len(plan) - len(made)} planned cells have no accepted reply.")
        for record in study.reader(CELLS):
            key = (record["question_id"], record["state"], record["repeat"])
            if {name: v for name, v in record.items() if name not in codec.CHAIN} != made.pop(key, None):
                self._fail("C20", f"{CELLS}: record {record['seq'] + 1} is not what the calls gave.")
        if made:
            self._fail("C20", f"{CELLS} lacks {len(made)} cells that the calls gave.")

    def _labels(self, study: Study, collection: Collection, *, offline: bool) -> None:
        judge = study.protocol.primary_judge
        assert judge is not None
        held = list(calls.packets(study.dossiers(), study.protocol.seed))
        requests: dict[calls.Key, str] = {
            (key,): sha256(canonical(calls.request_of(collection.judging, judge_prompt(packet))))
            for key, _, packet in held
        }
        accepted = self._fold(study, attempts_of(judge.name), requests)
        if offline:  # the offline judge of this version made the replies, so they can be made again
            for key, _, packet in held:
                reply = accepted.get((key,))
                if reply and reply.reading.text != read(200, lexical.reply(judge_prompt(packet))).text:
                    self._fail("C20", f"The reply for {key!r} is not what the offline judge says.")
        stored = {d.question.question_id: d.judgments.get(judge.name) for d in study.dossiers()}
        for key, slots, _ in held:
            reply = accepted.get((key,))
            made = calls.judgment_of(key, slots, study.protocol.seed, reply) if reply else None
            if made != stored.get(key):
                self._fail("C20", f"The labels of {key!r} are not what the judge replied.")
