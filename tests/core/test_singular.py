"""One is said in the singular."""

from __future__ import annotations

from audit_core.diagnosis.lists import compared, sentence
from audit_core.importers.report import described
from audit_core.rules.shown import Shown
from audit_core.verify import verify
from tests.support.simulator import StudySimulator


def test_one_document_one_record_and_one_gate(tmp_path):
    shown = [Shown("d1", 1, "", "text")]
    assert sentence(*compared(shown, shown)) == "The same document."
    nothing = {"states": [], "grid": [], "patterns": 0}
    told = {"files": [], "rows": 1, "questions": 1, "states": ["old"], "coverage": nothing, "problems": []}
    assert "1 record, 1 question, 1 state" in described(told)
    study = StudySimulator(questions=1).build(tmp_path / "one")
    detail = next(result.detail for result in verify(study.path) if result.check_id == "C02")
    assert detail == "6 locks, 1 gate open."
