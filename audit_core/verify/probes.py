"""What was asked again after the results: a probe names their lock, and its calls are the ones it was closed with."""

from __future__ import annotations

from contextlib import closing

from audit_core import calls, codec, locks, probes
from audit_core.collection import from_record
from audit_core.digests import canonical, sha256
from audit_core.errors import AuditError
from audit_core.study import ATTEMPTS, COLLECTION, PROBES, Study
from audit_core.study.passages import Passages
from audit_core.tally import Tally
from audit_core.verify.calls import fault_of
from audit_core.verify.replication import ReplicationChecks


class ProbeChecks(ReplicationChecks):
    """Check C22; made only for a study that holds probes."""

    def _probes(self) -> None:
        if not self.probed:
            return
        bad = self._failed("C02", "C03", "C05", "C06", "C07", "C10") or sorted(self.changed)
        if bad or not {ATTEMPTS, COLLECTION} <= self._listed() or len(self.chain) < len(locks.GATES):
            self._set("C22", "could not check", f"{bad[0] if bad else 'The study'} cannot be relied on.")
            return
        study, answers, open_ = Study(self.path, "verified"), 0, []
        try:
            for number in probes.numbers(study):
                probe = probes.closed(study, number)
                if probe is None:
                    open_.append(f"{number:04d}")
                else:
                    answers += self._probe(study, probe)
        except (AuditError, codec.CodecError, OSError) as error:
            self._fail("C22", str(error).splitlines()[0])
        if open_:
            self._set("C22", "could not check", f"{PROBES}/{', '.join(open_)}: under way, or stopped.")
        self._set("C22", "passed", f"{answers:,} answers, in no estimate.")

    def _probe(self, study: Study, probe: probes.Probe) -> int:
        """Check one probe; returns how many answers it holds."""
        where = f"{PROBES}/{probe.number:04d}"
        if probe.results != self.chain[-1].sha256:
            self._fail("C22", f"{where} came after other results than these.")
        planned = self._planned(study, probe)
        slots = probes.slots(probe.question_id, probe.state)
        with Tally(probes.place(study, probe.number) / probes.CALLS, slots) as tally:
            for record, offset in probes.calls(study, probe):
                tally.add(record, offset)
                if fault := fault_of(record, planned.__eq__):
                    self._fail("C22", f"{where}: record {record['seq'] + 1} {fault}")
            asked = [(probe.question_id, probe.state, repeat) for repeat in range(1, probe.repeats + 1)]
            if tally.open or tally.done != probe.repeats or not all(key in tally for key in asked):
                self._fail("C22", f"{where} holds {tally.done} answers and {len(tally.open)} open calls, "
                                  f"it was closed with {probe.repeats} answers.")  # fmt: skip
        return probe.repeats

    @staticmethod
    def _planned(study: Study, probe: probes.Probe) -> str:
        """Digest of the request that the protocol and the evidence give; empty where there is no such cell."""
        record = codec.decode((study.path / COLLECTION).read_bytes().removesuffix(b"\n"))
        record.pop("prompts", None)
        collection = from_record(record)
        with closing(Passages(study)) as passages:
            for question_id, prompts in calls.surfaces(study, collection, passages):
                if question_id == probe.question_id and probe.state in prompts:
                    return sha256(canonical(calls.request_of(collection.generation, prompts[probe.state]())))
        return ""
