"""A study that repeats another: questions, evidence and prompts of the parent, with another generator or serving."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from audit_core import codec
from audit_core.codec import Record
from audit_core.collect.facts import prompt_facts
from audit_core.collection import Collection, from_record
from audit_core.errors import GateError, InputError, Problem
from audit_core.protocol import Protocol, contradictions
from audit_core.sources import Parent
from audit_core.study import COLLECTION, GOLD, NONCE, QUESTIONS, Study
from audit_core.study.lineage import EVIDENCE, digest, payloads

OPEN = "The parent's gold was open when this study was frozen; whoever chose the new generator could have seen it."


def adopt(base: Path, protocol: Protocol, collection: Collection) -> tuple[Protocol, Collection]:
    """Fill in what the parent decides.

    Args:
        base: Folder of protocol.toml, from which the parent is named.
        protocol, collection: As protocol.toml gives them; questions, states, corpus and retrieval are the parent's.

    Raises:
        GateError: The parent has not locked its evidence, was not made by ``freeze``, or had other prompts.
        InputError: The parent is no study, or its states do not suit the rest of the protocol.
        LedgerError: Questions or evidence of the parent are not the locked ones.
    """
    assert collection.parent is not None
    parent = Study(base / collection.parent.path)
    parent.need("retrieval")
    record = _collection(parent)
    theirs = from_record(record)
    shown, mine = record.get("prompts", {}), prompt_facts(theirs)
    if any(shown.get(name) != digest for name, digest in mine.items() if name.startswith("answer")):
        raise GateError(
            Problem("the parent was asked with another prompt", "the prompt of this version", "another",
                    str(parent.path), "Freeze with the version of snapshot-audit that froze the parent."))  # fmt: skip
    last = parent.chain[-1]
    taken = Parent(
        collection.parent.path, parent.protocol.study_id, parent.bundle, last.sha256, last.gate,
        digest(parent, [QUESTIONS]), digest(parent, EVIDENCE),
    )  # fmt: skip
    collection = replace(
        collection, questions=theirs.questions, gold=theirs.gold, exclude=theirs.exclude, count=theirs.count,
        selection_seed=theirs.selection_seed, shards=theirs.shards, reach=theirs.reach, retriever=theirs.retriever,
        depth=theirs.depth, characters=theirs.characters, exclude_file=theirs.exclude_file,
        question_columns=theirs.question_columns, gold_columns=theirs.gold_columns,
        corpus_columns=theirs.corpus_columns, search=theirs.search, policies=theirs.policies, parent=taken,
    )  # fmt: skip
    given = parent.protocol
    protocol = replace(
        protocol, states=given.states, endpoints=given.endpoints, differs=given.differs, sources=given.sources,
        retrieval_depth=given.retrieval_depth, gold_commit=given.gold_commit, parent=given.study_id,
        limits=(*protocol.limits, *given.limits, *((OPEN,) if parent.has(GOLD) else ())),
    )  # fmt: skip
    if faults := contradictions(protocol):
        raise InputError(faults)
    return protocol, collection


def _collection(parent: Study) -> Record:
    if not parent.has(COLLECTION):
        raise GateError(
            Problem("the parent was not made by freeze", COLLECTION, "no such file", str(parent.path),
                    "Only a collected study can be repeated."))  # fmt: skip
    record: Record = codec.decode((parent.path / COLLECTION).read_bytes().removesuffix(b"\n"))
    return record


def open_parent(base: Path, collection: Collection) -> Study:
    """The parent of a frozen study, held to what was noted of it.

    Raises:
        InputError: It is no study, or not the one that was frozen.
    """
    noted = collection.parent
    assert noted is not None
    parent = Study(base / noted.path)
    for what, expected, found in (
        ("id", noted.bundle, parent.bundle),
        ("lock", noted.lock, next((lock.sha256 for lock in parent.chain if lock.gate == noted.gate), "none")),
        ("digest of the questions", noted.questions, digest(parent, [QUESTIONS])),
        ("digest of the evidence", noted.evidence, digest(parent, EVIDENCE)),
    ):
        if expected != found:
            raise InputError(
                Problem(f"the parent has another {what} than when this study was frozen", f"{expected[:12]}…",
                        f"{found[:12]}…", str(parent.path), "Put the parent back as it was."))  # fmt: skip
    return parent


def questions(parent: Study) -> Iterator[Record]:
    """The parent's questions."""
    return payloads(parent, QUESTIONS)


def evidence(parent: Study) -> dict[str, Iterator[Record]]:
    """The parent's ledgers of evidence, by path."""
    return {member: payloads(parent, member) for member in EVIDENCE if parent.has(member)}


def gold(parent: Study) -> tuple[list[Record], bytes]:
    """The parent's gold and its nonce.

    Raises:
        GateError: The parent has not opened it.
    """
    parent.need("gold")
    return list(payloads(parent, GOLD)), (parent.path / NONCE).read_bytes()
