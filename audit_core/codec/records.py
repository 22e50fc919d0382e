"""Records of the model ↔ fields of ledger records."""

from __future__ import annotations

from audit_core.codec.domain import CodecError, Record
from audit_core.codec.fields import DOCUMENT, EXCERPT, SIBLING, check_fields, is_count, is_name
from audit_core.model import (
    Cell,
    Document,
    Evidence,
    Excerpt,
    Finding,
    Gold,
    JudgedOutcome,
    Judgment,
    Question,
    Sibling,
    Siblings,
    State,
)


def _strip(record: Record) -> Record:
    return {key: value for key, value in record.items() if value is not None}


def from_question(question: Question) -> Record:
    """Fields of a question's ledger record; absent values are left out."""
    return _strip(
        {
            "question_id": question.question_id,
            "text": question.text,
            "tags": list(question.tags) or None,
            "weight": question.weight,
            "parts": list(question.parts) or None,
        }
    )


def to_question(record: Record) -> Question:
    """The question of a ledger record."""
    get = record.get
    return Question(
        record["question_id"], get("text"), tuple(get("tags", ())), get("weight"), tuple(get("parts", ()))
    )  # fmt: skip


def from_cell(cell: Cell) -> Record:
    """Fields of a cell's ledger record; absent values are left out."""
    return _strip(
        {
            "question_id": cell.question_id,
            "state": cell.state,
            "repeat": cell.repeat,
            "status": cell.status,
            "answer": cell.answer,
            "error": cell.error,
            "attempts": cell.attempts,
            "order": cell.order,
            "source": cell.source,
            "record": cell.record,
            "cached": cell.cached,
            "response_id": cell.response_id,
            "outcome": cell.outcome,
            "excerpts": [_strip(_excerpt(excerpt)) for excerpt in cell.excerpts] or None,
        }
    )


def _excerpt(excerpt: Excerpt) -> Record:
    return {"text": excerpt.text, "document_id": excerpt.document_id, "rank": excerpt.rank}


def to_cell(record: Record) -> Cell:
    """The cell of a ledger record.

    Raises:
        CodecError: An answer without text, an error with one, or an excerpt with an unknown or missing field.
    """
    if (record["status"] == "ok") != ("answer" in record):
        raise CodecError("a cell has an answer exactly when its status is ok")
    get = record.get
    if ("outcome" in record or "excerpts" in record) and record["status"] != "ok":
        raise CodecError("only an answer has an outcome or excerpts")
    return Cell(
        record["question_id"],
        record["state"],
        record["repeat"],
        record["status"],
        get("answer"),
        get("error"),
        get("attempts"),
        get("order"),
        get("source"),
        get("record"),
        get("cached"),
        get("response_id"),
        get("outcome"),
        tuple(Excerpt(**check_fields(item, EXCERPT, "excerpt")) for item in get("excerpts", ())),
    )


def from_evidence(evidence: Evidence) -> Record:
    """Fields of an evidence record."""
    documents = [
        _strip(
            {
                "document_id": d.document_id,
                "rank": d.rank,
                "score": d.score,
                "title": d.title or None,
                "passage": d.passage,
                "family": d.family or None,
            }
        )
        for d in evidence.documents
    ]
    return _strip(
        {
            "question_id": evidence.question_id,
            "state": evidence.state,
            "repeat": evidence.repeat,
            "documents": documents,
        }
    )


def to_evidence(record: Record) -> Evidence:
    """The evidence of a ledger record.

    Raises:
        CodecError: A document with an unknown or missing field.
    """
    documents = tuple(
        Document(d["document_id"], d["rank"], d.get("score"), d.get("title", ""), d.get("passage"), d.get("family", ""))
        for d in (check_fields(item, DOCUMENT, "document") for item in record["documents"])
    )
    return Evidence(record["question_id"], record["state"], documents, record.get("repeat"))


def from_siblings(siblings: Siblings) -> Record:
    """Fields of a record of siblings."""
    documents = [
        _strip({"document_id": d.document_id, "family": d.family or None, "of": d.of, "rank": d.rank,
                "score": d.score, "title": d.title or None, "passage": d.passage})
        for d in siblings.documents
    ]  # fmt: skip
    return {"question_id": siblings.question_id, "state": siblings.state, "documents": documents}


def to_siblings(record: Record) -> Siblings:
    """The siblings of a ledger record.

    Raises:
        CodecError: A document with an unknown or missing field.
    """
    documents = tuple(
        Sibling(**{"family": "", **check_fields(item, SIBLING, "sibling")}) for item in record["documents"]
    )
    return Siblings(record["question_id"], record["state"], documents)


def from_judgment(judgment: Judgment) -> Record:
    """Fields of a judgment's ledger record."""
    return _strip(
        {
            "question_id": judgment.question_id,
            "slots": [list(slot) for slot in judgment.slots],
            "labels": [list(label) for label in judgment.labels],
            "attempts": judgment.attempts,
        }
    )


def to_judgment(record: Record) -> Judgment:
    """The judgment of a ledger record.

    Raises:
        CodecError: A label outside the slots, twice, or neither 0 nor 1.
    """
    slots = []
    for slot in record["slots"]:
        if type(slot) is not list or len(slot) != 2 or not is_name(slot[0]) or not is_count(slot[1]):
            raise CodecError(f"a slot must be [state, repeat], found {str(slot)[:60]!r}")
        slots.append((slot[0], slot[1]))
    if len(set(slots)) != len(slots):
        raise CodecError("the same slot twice in one judgment")
    labels, seen = [], set()
    for label in record["labels"]:
        if type(label) is not list or len(label) != 3 or any(type(item) is not int for item in label):
            raise CodecError(f"a label must be [i, j, 0 or 1], found {str(label)[:60]!r}")
        i, j, same = label
        if not 0 <= i < j < len(slots) or same not in (0, 1):
            raise CodecError(f"label {label} is not [i, j, 0 or 1] with i < j below {len(slots)}")
        if (i, j) in seen:
            raise CodecError(f"the pair [{i}, {j}] is labelled twice")
        seen.add((i, j))
        labels.append((i, j, same))
    return Judgment(record["question_id"], tuple(slots), tuple(labels), record.get("attempts"))


def plain_judgment(record: Record) -> Judgment:
    """The judgment of a record that was verified before."""
    return Judgment(
        record["question_id"],
        tuple(map(tuple, record["slots"])),
        tuple(map(tuple, record["labels"])),
        record.get("attempts"),
    )


def from_outcome(outcome: JudgedOutcome) -> Record:
    """Fields of a record of a judged outcome."""
    return {"question_id": outcome.question_id, "state": outcome.state, "repeat": outcome.repeat,
            "outcome": outcome.outcome}  # fmt: skip


def to_outcome(record: Record) -> JudgedOutcome:
    """The judged outcome of a record."""
    return JudgedOutcome(record["question_id"], record["state"], record["repeat"], record["outcome"])


def from_gold(gold: Gold) -> Record:
    """Fields of a gold record."""
    return {"question_id": gold.question_id, "aliases": list(gold.aliases)}


def to_gold(record: Record) -> Gold:
    """The gold of a ledger record."""
    return Gold(record["question_id"], tuple(record["aliases"]))


def from_finding(finding: Finding) -> Record:
    """Fields of a finding."""
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "count": finding.count,
        "where": finding.where,
        "sentence": finding.sentence,
    }


def to_finding(record: Record) -> Finding:
    """The finding of a record."""
    return Finding(record["severity"], record["kind"], record["count"], record["where"], record["sentence"])


def from_state(state: State) -> Record:
    """A state as it stands in the protocol."""
    record: Record = {"name": state.name, "label": state.label, "closed_book": state.closed_book}
    return record | ({"settings": dict(state.settings)} if state.settings else {})
