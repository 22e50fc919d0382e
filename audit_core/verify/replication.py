"""A study with a parent: questions, evidence and gold seal are the ones it took over."""

from __future__ import annotations

from pathlib import Path

from audit_core import codec
from audit_core.codec import Record
from audit_core.collection import from_record
from audit_core.errors import AuditError
from audit_core.sources import Parent
from audit_core.study import COLLECTION, QUESTIONS, Study
from audit_core.study.lineage import EVIDENCE, digest
from audit_core.verify.calls import CallChecks


class ReplicationChecks(CallChecks):
    """Check C21; made only for a study whose protocol notes what it took from a parent."""

    parent: Path | None = None

    def _replication(self) -> None:
        if COLLECTION not in self._listed() or self._failed("C02") or COLLECTION in self.changed:
            return
        try:
            record = codec.decode((self.path / COLLECTION).read_bytes().removesuffix(b"\n"))
            noted = from_record(record).parent
            if noted is None:
                return
            if {lock.gate for lock in self.chain} >= {"selection", "retrieval"}:
                study = Study(self.path)
                self._agree("the questions here", noted.questions, digest(study, [QUESTIONS]))
                self._agree("the evidence here", noted.evidence, digest(study, EVIDENCE))
            if self.parent is None:
                sentence = f"Named by digests only; give the folder of {noted.study_id!r} with --parent to compare."
                self._set("C21", "could not check", sentence)
                return
            self._against(Study(self.parent), noted, record)
        except (AuditError, codec.CodecError, OSError) as error:
            self._fail("C21", str(error).splitlines()[0])
        self._set("C21", "passed", "Questions, evidence, states, prompt and gold seal are the parent's.")

    def _against(self, parent: Study, noted: Parent, record: Record) -> None:
        assert self.protocol is not None
        theirs = codec.decode((parent.path / COLLECTION).read_bytes().removesuffix(b"\n"))
        lock = next((lock.sha256 for lock in parent.chain if lock.gate == noted.gate), "none")
        for what, mine, other in (
            ("the parent's id", noted.bundle, parent.bundle),
            ("the parent's last lock", noted.lock, lock),
            ("the parent's questions", noted.questions, digest(parent, [QUESTIONS])),
            ("the parent's evidence", noted.evidence, digest(parent, EVIDENCE)),
            ("the gold seal", self.protocol.gold_commit, parent.protocol.gold_commit),
            ("the prompts", _prompts(record), _prompts(theirs)),
            ("the ladder", self.protocol.states, parent.protocol.states),
            ("the endpoints", self.protocol.endpoints, parent.protocol.endpoints),
        ):
            self._agree(what, mine, other)

    def _agree(self, what: str, expected: object, found: object) -> None:
        if expected != found:
            self._fail("C21", f"Not equal: {what} (noted {str(expected)[:16]}…, found {str(found)[:16]}…).")


def _prompts(record: Record) -> Record:
    """Digests of the prompts for answers; a judge may have another one."""
    return {name: value for name, value in record.get("prompts", {}).items() if name.startswith("answer")}
