"""One study: a folder, its files and its gates.

protocol/protocol.json            what was fixed
selection/questions.jsonl         the questions, in the order of everything below
selection/attempts.jsonl          calls of the model that cut them into parts, where there was one
retrieval/primary.jsonl           evidence per question and state; passages.jsonl holds each text once
retrieval/audit.jsonl             the second, independent retrieval pass, where there was one
retrieval/siblings.jsonl          passages that belong to shown ones and were not shown, where they are known
answers/cells.jsonl               question × state × repeat; findings.jsonl holds what was noticed about them
judgments/JUDGE/cells.jsonl       labels of all pairs of a question's answers; outcomes.jsonl what single answers do
gold/gold.jsonl                   accepted answers
results/results.json              estimates, made once
locks/00-protocol.json …          the chain that closes each of them
probes/0001/…                     what was asked again after the results; outside the chain, and outside every estimate
"""

from audit_core.study.creation import begin_study, close_gate, create_study, free, within_study
from audit_core.study.files import (
    ATTEMPT,
    ATTEMPTS,
    AUDIT,
    CELLS,
    COLLECTION,
    FINDINGS,
    FLAGS,
    GOLD,
    LATER,
    LEFTOVER,
    NONCE,
    PARTING,
    PASSAGES,
    PRIMARY,
    PROBE_FILE,
    PROBES,
    PROTOCOL,
    QUESTIONS,
    RESULTS,
    SIBLINGS,
    asked_of,
    attempts_of,
    controls_of,
    file_entry,
    gate_of,
    gold_seal,
    is_calls,
    judgments_of,
    labels_of,
    outcomes_of,
    shape,
)
from audit_core.study.reading import Study

__all__ = [
    "ATTEMPT",
    "ATTEMPTS",
    "AUDIT",
    "CELLS",
    "COLLECTION",
    "FINDINGS",
    "FLAGS",
    "GOLD",
    "LATER",
    "LEFTOVER",
    "NONCE",
    "PARTING",
    "PASSAGES",
    "PRIMARY",
    "PROBES",
    "PROBE_FILE",
    "PROTOCOL",
    "QUESTIONS",
    "RESULTS",
    "SIBLINGS",
    "Study",
    "asked_of",
    "attempts_of",
    "begin_study",
    "close_gate",
    "controls_of",
    "create_study",
    "file_entry",
    "free",
    "gate_of",
    "gold_seal",
    "is_calls",
    "judgments_of",
    "labels_of",
    "outcomes_of",
    "shape",
    "within_study",
]
