"""What a report prints, from a loaded study."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from audit_core.printed import Asked, Levels, Passage, Source, levels_of
from audit_core.protocol import from_record
from audit_core.readmodel import read
from audit_core.reviews.carried import Reviewed

Row = dict[str, Any]


def source(path: Path, study: Row, found: Reviewed, release: Mapping[str, Any] | None) -> Source:
    """All that a report on a loaded study may print.

    Args:
        path: The database.
        study: From `read.study`.
        found: What people said.
        release: Outcome and conditions of the release rule.
    """
    study_id = study["study_id"]

    @cache
    def levels(kernel: str, old: str, new: str) -> Levels:
        table = read.columns(path, study_id, kernel, old, new) or {}
        rows = zip(*(table.get(name, ()) for name in ("numerator", "denominator", "flip")), strict=True)
        return levels_of((Fraction(top, bottom), bool(flip)) for top, bottom, flip in rows if top is not None)

    @cache
    def asked(question_id: str) -> Asked:
        row = read.question(path, study_id, question_id)
        if row is None:
            raise KeyError(question_id)
        documents = {
            state: tuple(Passage(d["document_id"], d["title"], d["passage_text"]) for d in found)
            for state, found in row["documents"].items()
        }
        answers = {(cell["state_name"], cell["repeat"]): cell["answer"] for cell in row["cells"]}
        return Asked(row["text"], tuple(row["gold"]) if row["gold"] else None, answers, documents)

    return Source(
        from_record(study["protocol"]),
        read.estimates(path, study_id),
        [(lock["gate"], lock["sha256"], lock["created"]) for lock in read.locks(path, study_id)],
        {c["check_id"]: (c["title"], c["result"]) for c in read.checks(path, study_id)},
        study["decision"],
        release,
        study["questions"],
        {state["state"]: state["repeats"] for state in study["states"]},
        levels,
        asked,
        found.counts,
        found.signoff,
        found.notes,
        found.verdicts,
    )
