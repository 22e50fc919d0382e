"""What changes about an imported study when labels come to it: a new study, since a locked one is never changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from audit_core.errors import InputError, Problem
from audit_core.model import Finding
from audit_core.protocol import Judge, Protocol, study_id_of
from audit_core.study.reading import Study

_NO_JUDGE = "No judge labelled the answers"
"""How the sentence of an import begins that labels make untrue."""
_NO_LABELS = "no_semantic_labels"


def check_unlabelled(source: Study) -> None:
    """Refuse a study to which no labels can come.

    Raises:
        InputError: It was collected, or has a judge.
        GateError: It is not complete.
    """
    judge = source.protocol.primary_judge
    if source.protocol.origin == "collected":
        what, found = "this study was collected", "one whose calls are recorded"
        action = "Its protocol names its judges: [judging] and [second_judge]."
    elif judge is not None:
        what, found, action = "this study has a judge already", judge.description, "Judge the study it came from."
    else:
        source.need("gold")
        return
    raise InputError(Problem(what, "an imported study without labels", found, str(source.path), action))


def relabelled(source: Study, target: Path, judge: Judge) -> Protocol:
    """The protocol of the new study: the same, with the judge, and naming the last lock of the first."""
    limits = [limit for limit in source.protocol.limits if not limit.startswith(_NO_JUDGE)]
    lock = source.chain[-1].sha256
    limits.append(f"The labels came after the import, over the study whose last lock is {lock}.")
    if judge.blind is None:
        limits.append("Nothing shows that whoever gave the labels saw neither states, evidence nor gold.")
    return replace(source.protocol, study_id=study_id_of(target.name), judges=(judge,), limits=tuple(limits))


def findings_of(source: Study) -> list[Finding]:
    """Findings that are still true of the new study."""
    return [finding for finding in source.findings() if finding.kind != _NO_LABELS]
