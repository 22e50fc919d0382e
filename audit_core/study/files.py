"""The files a study consists of, which gate closes each, and what a record of each ledger holds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable

from audit_core import codec, ledger, locks
from audit_core.codec import Field, Record, encode
from audit_core.codec.fields import is_texts
from audit_core.digests import Merkle, sha256

PROTOCOL = "protocol/protocol.json"
COLLECTION = "protocol/collection.json"
QUESTIONS = "selection/questions.jsonl"
PARTING = "selection/attempts.jsonl"
"""Calls of the model that cut questions into their parts."""
PRIMARY = "retrieval/primary.jsonl"
AUDIT = "retrieval/audit.jsonl"
SIBLINGS = "retrieval/siblings.jsonl"
PASSAGES = "retrieval/passages.jsonl"
CELLS = "answers/cells.jsonl"
ATTEMPTS = "answers/attempts.jsonl"
FINDINGS = "answers/findings.jsonl"
GOLD = "gold/gold.jsonl"
NONCE = "gold/nonce"
RESULTS = "results/results.json"
PROBES = "probes"
"""Folder of what was asked again after the results; no gate closes it, and no estimate reads it."""
PROBE_FILE = re.compile(r"probes/[0-9]{4}/(attempts\.jsonl|probe\.json)")
FLAGS = "judgments/instructions.jsonl"

PASSAGE: dict[str, Field] = {
    "sha256": (lambda v: type(v) is str and len(v) == 64, "a SHA-256", True),
    "text": (lambda v: type(v) is str, "text", True),
}

FLAG: dict[str, Field] = {
    "pattern": (lambda v: type(v) is str and v != "", "a pattern's name", True),
    "question_id": (lambda v: type(v) is str, "text", False),
    "state": (lambda v: type(v) is str, "text", False),
    "repeat": (lambda v: type(v) is int and v >= 0, "a whole number", False),
    "passage": (lambda v: type(v) is str and len(v) == 64, "a SHA-256", False),
}
"""An answer, or a passage, that tries to instruct a judge."""

_TEXT: Field = (lambda v: type(v) is str, "text", False)
_WHOLE: Field = (lambda v: type(v) is int and v >= 0, "a whole number", False)
ATTEMPT: dict[str, Field] = {
    "attempt": (lambda v: type(v) is str and v != "", "non-empty text", True),
    "kind": (lambda v: v in ("start", "end", "batch", "created"), "start, end, batch or created", True),
    "question_id": _TEXT, "state": _TEXT, "repeat": _WHOLE, "ordinal": _WHOLE, "run": _TEXT, "request_sha256": _TEXT,
    "model": _TEXT, "origin": _TEXT, "wall": _TEXT, "outcome": _TEXT, "status": _WHOLE, "request_id": _TEXT,
    "retry_after_ms": _WHOLE, "error": _TEXT, "elapsed_ms": _WHOLE, "body": _TEXT, "body_base64": _TEXT,
    "items": (is_texts, "a list of texts", False), "batch_id": _TEXT, "after": _TEXT,
}  # fmt: skip
"""One call: a start record before it, an end record with the raw response after it.

Calls that travel together have a batch record that lists their attempts, after their starts and before the batch is
made, and a created record with the service's name of it.
"""

SHAPES: dict[str, tuple[dict[str, Field], str]] = {
    QUESTIONS: (codec.QUESTION, "question"),
    PRIMARY: (codec.EVIDENCE, "evidence"),
    AUDIT: (codec.EVIDENCE, "evidence"),
    SIBLINGS: (codec.SIBLINGS, "siblings"),
    PASSAGES: (PASSAGE, "passage"),
    CELLS: (codec.CELL, "cell"),
    ATTEMPTS: (ATTEMPT, "attempt"),
    PARTING: (ATTEMPT, "attempt"),
    FINDINGS: (codec.FINDING, "finding"),
    GOLD: (codec.GOLD, "gold"),
    FLAGS: (FLAG, "flag"),
}
"""Fields of each ledger and one record in words; judgments are matched by `JUDGMENTS`."""

JUDGMENTS = re.compile(r"(judgments|supplement)/([a-z0-9][a-z0-9_.-]{0,63})/cells\.jsonl")
LEFTOVER = re.compile(
    r"(answers|selection|(judgments|supplement)/[a-z0-9][a-z0-9_.-]{0,63})/(attempts|controls|asked)\.jsonl\.torn-[0-9]{1,4}"
    r"|locks/\.[0-9]{2}-[a-z]+\.json\.[0-9]+|results/\.results\.json\.[0-9]+"
    r"|probes/[0-9]{4}/(attempts\.jsonl\.torn-[0-9]{1,4}|\.probe\.json\.[0-9]+)"
)
"""What a crash leaves, no part of a study: the torn end of a ledger of calls, the draft of a lock or of results."""
JUDGE_ATTEMPTS = re.compile(r"(judgments|supplement)/([a-z0-9][a-z0-9_.-]{0,63})/(attempts|controls|asked)\.jsonl")
OUTCOMES = re.compile(r"judgments/([a-z0-9][a-z0-9_.-]{0,63})/outcomes\.jsonl")
AT_ONCE, LATER = "judgments", "supplement"
"""Folders of judges: locked by the judgments' gate, or by the gold's, for a judge that came after it."""


def judgments_of(judge: str, folder: str = AT_ONCE) -> str:
    """Path of a judge's labels inside the study."""
    return f"{folder}/{judge}/cells.jsonl"


def is_calls(member: str) -> bool:
    """Whether a member is a ledger of calls."""
    return member in (ATTEMPTS, PARTING) or bool(JUDGE_ATTEMPTS.fullmatch(member))


def attempts_of(judge: str, folder: str = AT_ONCE) -> str:
    """Path of a judge's calls inside the study."""
    return f"{folder}/{judge}/attempts.jsonl"


def controls_of(judge: str, folder: str = AT_ONCE) -> str:
    """Path of a judge's calls for control packets inside the study; a ledger of their own, so that none is mixed up."""
    return f"{folder}/{judge}/controls.jsonl"


def outcomes_of(judge: str) -> str:
    """Path of the outcomes that a judge gave, inside the study."""
    return f"{AT_ONCE}/{judge}/outcomes.jsonl"


def asked_of(judge: str) -> str:
    """Path of a judge's calls about outcomes, inside the study."""
    return f"{AT_ONCE}/{judge}/asked.jsonl"


def labels_of(judge: str, listed: Container[str]) -> str:
    """Path of a judge's labels in a study whose locks list these files."""
    later = judgments_of(judge, LATER)
    return later if later in listed else judgments_of(judge)


def shape(member: str) -> tuple[dict[str, Field], str] | None:
    """Fields of a ledger and one record in words; None for a file that is not a ledger."""
    if JUDGE_ATTEMPTS.fullmatch(member):
        return ATTEMPT, "attempt"
    if OUTCOMES.fullmatch(member):
        return codec.OUTCOME, "outcome"
    return (codec.JUDGMENT, "judgment") if JUDGMENTS.fullmatch(member) else SHAPES.get(member)


def gate_of(member: str) -> str | None:
    """The gate that closes a file, or None for a file that a study does not have."""
    if JUDGMENTS.fullmatch(member) or JUDGE_ATTEMPTS.fullmatch(member):
        return "judgments" if member.startswith(AT_ONCE) else "gold"
    if OUTCOMES.fullmatch(member):
        return "judgments"
    return {
        PROTOCOL: "protocol",
        COLLECTION: "protocol",
        QUESTIONS: "selection",
        PARTING: "selection",
        PRIMARY: "retrieval",
        AUDIT: "retrieval",
        SIBLINGS: "retrieval",
        PASSAGES: "retrieval",
        CELLS: "answers",
        ATTEMPTS: "answers",
        FINDINGS: "answers",
        FLAGS: "judgments",
        GOLD: "gold",
        NONCE: "gold",
        RESULTS: "results",
    }.get(member)


def gold_seal(nonce: bytes, records: Iterable[Record]) -> str:
    """The commitment to gold: SHA-256 of the nonce and each record's canonical line, without the chain's fields.

    The chain's fields name the locks before, and those name the protocol that holds this commitment; so they cannot be
    part of it.
    """
    digest = hashlib.sha256(nonce)
    for record in records:
        digest.update(encode(ledger.payload(record)) + b"\n")
    return digest.hexdigest()


def file_entry(data: bytes) -> ledger.Entry:
    """What a lock says about a file that is not a ledger."""
    tree = Merkle()
    tree.add(data)
    return ledger.Entry(len(data), 0, sha256(data), locks.START, tree.root())
