"""A study's arrays as records without texts, and back: exactly what the estimators take in, question by question.

A record holds one list a column, over the question's accepted answers in ladder and repeat order. Class numbers say
which answers are equal, not what they say. No estimate needs the ids of documents: they are numbered within a question.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.codec import CodecError, Field, Record
from audit_core.codec.fields import is_flag, is_hex, is_list, is_name, is_texts
from audit_core.normalize import RULES
from audit_core.protocol import Protocol
from audit_core.tensors import OUTCOMES, Answers

MOST = (1 << 31) - 1
LARGEST = 1 << 28
"""Most cells of any array that a bundle may ask for, so that a hostile one cannot fill the memory."""
LARGEST_LABELS = 1 << 32

COLUMNS: dict[str, tuple[str, int, int]] = {
    "number": ("numbers", 0, MOST),
    "exact": ("exact", 0, MOST),
    "raw": ("raw", 0, MOST),
    "em": ("em", -1, 1),
    "f1_above": ("f1", 0, MOST),
    "f1_below": ("f1", 0, MOST),
    "unknown": ("unknown", 0, 1),
    "flagged": ("flagged", 0, 1),
    "outcome": ("outcome", 0, len(OUTCOMES) - 1),
    "evidence": ("evidence", -1, MOST),
    "text": ("text", 0, MOST),
}
"""By column: the array of `Answers` that it fills, its least and its largest value."""
_F1 = ("f1_above", "f1_below")
OTHER = "exact:"
"""Before the name of a normalization that is not the study's: a column each, of classes as in ``exact``."""
_LABELS = b"01-"

FIELDS: dict[str, Field] = {
    "question_id": (is_name, "non-empty text", True),
    "tags": (is_texts, "a list of texts", True),
    "repeats": (is_list, "answers by state", True),
    "errors": (is_list, "errors by state", True),
    "answers": (lambda v: type(v) is dict, "columns by name", True),
    "sealed": (lambda v: type(v) is list and all(map(is_hex, v)), "SHA-256 digests", True),
    "documents": (is_list, "document numbers by state", True),
    "repeated_documents": (is_flag, "true or false", True),
    "labels": (lambda v: type(v) is dict, "labels by judge", True),
}
"""Of a record, beside the chain's."""


def columns_of(answers: Answers) -> dict[str, npt.NDArray[Any]]:
    """Every column as (Q, S, R)."""
    found = {name: getattr(answers, attribute) for name, (attribute, _, _) in COLUMNS.items() if name not in _F1}
    others = {OTHER + name: classes for name, classes in answers.others.items()}
    return {**found, "f1_above": answers.f1[..., 0], "f1_below": answers.f1[..., 1], **others}


def records(
    answers: Answers, sealed: bytes | bytearray, question_ids: Sequence[str], tags: Mapping[str, str]
) -> Iterator[Record]:
    """One record a question, without the chain's fields.

    Args:
        answers: Of the study.
        sealed: Salted digests of the accepted answers, 32 bytes each, in the order of the study.
        question_ids: As the bundle names the questions.
        tags: As the bundle names each tag.
    """
    columns, slots, done = columns_of(answers), np.arange(answers.exact.shape[2]), 0
    for q, question_id in enumerate(question_ids):
        there = slots < answers.repeats[q][:, None]
        count = int(there.sum())
        places = np.flatnonzero(there)
        above = np.triu_indices(count, 1)
        yield {
            "question_id": question_id,
            "tags": [tags[tag] for tag in answers.tags[q]],
            "repeats": answers.repeats[q].tolist(),
            "errors": answers.errors[q].tolist(),
            "answers": {name: column[q][there].astype(int).tolist() for name, column in columns.items()},
            "sealed": [sealed[32 * i : 32 * (i + 1)].hex() for i in range(done, done + count)],
            "documents": [row[row >= 0].tolist() for row in answers.documents[q]],
            "repeated_documents": bool(answers.repeated_documents[q]),
            "labels": {
                judge: np.frombuffer(_LABELS, np.uint8)[table[q][np.ix_(places, places)][above]].tobytes().decode()
                for judge, table in answers.labels.items()
                if answers.labelled[judge][q]
            },
        }
        done += count


def rebuild(protocol: Protocol, found: Iterable[Record]) -> Answers:
    """The arrays out of records.

    Args:
        protocol: Of the study; it names states and judges.
        found: Records, whose fields were checked.

    Raises:
        CodecError: A record contradicts itself or the protocol, or asks for more memory than any study needs.
    """
    reading = _Reading(protocol)
    for record in found:
        try:
            reading.add(record)
        except CodecError as error:
            raise CodecError(f"record {record['seq'] + 1}: {error}") from None
    return reading.finish()


class _Reading:
    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.ids: list[str] = []
        self.tags: list[tuple[str, ...]] = []
        self.seen: set[str] = set()
        self.repeats, self.errors = array("i"), array("i")
        self.columns: dict[str, array[int]] = {}
        self.admitted = COLUMNS | {
            OTHER + name: ("others", 0, MOST) for name in RULES if name != protocol.normalization
        }
        self.documents: list[list[list[int]]] = []
        self.repeated = bytearray()
        self.labels: dict[str, dict[int, str]] = {judge.name: {} for judge in protocol.judges}

    def add(self, record: Record) -> None:
        states, number = len(self.protocol.states), len(self.ids)
        if record["question_id"] in self.seen:
            raise CodecError("a question stands there twice")
        self.seen.add(record["question_id"])
        for name, held in (("repeats", self.repeats), ("errors", self.errors)):
            held.extend(_numbers(record[name], 0, MOST, states, name))
        count = sum(record["repeats"])
        if not number and COLUMNS.keys() <= record["answers"].keys() <= self.admitted.keys():
            self.columns = {name: array("i") for name in record["answers"]}
        if record["answers"].keys() != self.columns.keys():
            raise CodecError(f"columns must be {', '.join(self.columns or self.admitted)}")
        for name, column in self.columns.items():
            _, least, most = self.admitted[name]
            column.extend(_numbers(record["answers"][name], least, most, count, name))
        if len(record["sealed"]) != count:
            raise CodecError(f"{count} answers have {len(record['sealed'])} digests")
        if len(record["documents"]) != states:
            raise CodecError("documents are not given for every state")
        self.documents.append([_numbers(row, 0, MOST, None, "documents") for row in record["documents"]])
        for judge, text in record["labels"].items():
            if judge not in self.labels:
                raise CodecError("labels of a judge that the protocol does not name")
            if type(text) is not str or len(text) != count * (count - 1) // 2 or set(text.encode()) - set(_LABELS):
                raise CodecError("labels that are not one of 0, 1 and - for each pair of answers")
            self.labels[judge][number] = text
        self.ids.append(record["question_id"])
        self.tags.append(tuple(record["tags"]))
        self.repeated.append(record["repeated_documents"])

    def finish(self) -> Answers:
        protocol, q, s = self.protocol, len(self.ids), len(self.protocol.states)
        repeats = np.array(self.repeats, np.int32).reshape(q, s)
        r = int(repeats.max(initial=1))
        k = max((len(row) for rows in self.documents for row in rows), default=0)
        if q * s * max(r, k) > LARGEST or (self.labels and q * (s * r) ** 2 > LARGEST_LABELS):
            raise CodecError(f"{q:,} questions with up to {r:,} repeats and {k:,} documents need too much memory")
        there = np.arange(r) < repeats[..., None]

        def spread(name: str, kind: type, empty: int = -1) -> npt.NDArray[Any]:
            table: npt.NDArray[Any] = np.full((q, s, r), empty, kind)
            table[there] = self.columns[name]
            return table

        documents = np.full((q, s, k), -1, np.int32)
        for number, rows in enumerate(self.documents):
            for state, row in enumerate(rows):
                documents[number, state, : len(row)] = row
        labels, labelled = {}, {}
        for judge, texts in self.labels.items():
            table: npt.NDArray[np.int8] = np.full((q, s * r, s * r), -1, np.int8)
            labels[judge], labelled[judge] = table, np.zeros(q, np.bool_)
            for number, text in texts.items():
                labelled[judge][number] = True
                places = np.flatnonzero(there[number])
                a, b = (places[side] for side in np.triu_indices(len(places), 1))
                codes = np.frombuffer(text.encode(), np.uint8)
                same = np.where(codes == ord("-"), -1, codes.astype(np.int8) - ord("0"))
                table[number, a, b] = table[number, b, a] = same
        primary = protocol.primary_judge
        return Answers(
            question_ids=self.ids, tags=self.tags, states=tuple(state.name for state in protocol.states),
            closed_book=tuple(state.closed_book for state in protocol.states), repeats=repeats,
            numbers=spread("number", np.int32), exact=spread("exact", np.int32), raw=spread("raw", np.int32),
            em=spread("em", np.int8), f1=np.stack([spread(name, np.int32, 0) for name in _F1], -1),
            unknown=spread("unknown", np.int8), flagged=spread("flagged", np.bool_, 0),
            outcome=spread("outcome", np.int8), evidence=spread("evidence", np.int32), text=spread("text", np.int32),
            labels=labels, labelled=labelled, documents=documents,
            repeated_documents=np.frombuffer(bytes(self.repeated), np.bool_),
            errors=np.array(self.errors, np.int32).reshape(q, s), common=((-1, ""),) * s,
            primary=primary.name if primary else None,
            supplementary=tuple(judge.name for judge in protocol.judges if judge.role == "supplementary"),
            rule=protocol.normalization,
            others={
                name.removeprefix(OTHER): spread(name, np.int32) for name in self.columns if name.startswith(OTHER)
            },
        )  # fmt: skip


def _numbers(value: object, least: int, most: int, count: int | None, what: str) -> list[int]:
    if type(value) is not list or not all(type(item) is int and least <= item <= most for item in value):
        raise CodecError(f"{what} are not whole numbers from {least} to {most}")
    if count is not None and len(value) != count:
        raise CodecError(f"{what} are {len(value)}, not {count}")
    return value
