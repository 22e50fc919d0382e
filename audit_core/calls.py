"""What a ledger of calls says: pure functions from records to accepted replies and cells; no network, no writing."""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit_core.codec import CodecError, Record, parse
from audit_core.collection import Calls, Collection
from audit_core.errors import InputError, Problem
from audit_core.model import Cell, Dossier, Judgment
from audit_core.outcomes import Reading, Reply, answer_of, read
from audit_core.prompts import JudgePacket, packet_order
from audit_core.schedule import Call, schedule

Key = tuple[Hashable, ...]
"""What a call is for: (question id, state, repeat) for an answer, (question id,) for a packet."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A cell's one accepted reply.

    Attributes:
        reading: As read from the stored body.
        attempts: Calls it took, accepted or not.
    """

    reading: Reading
    attempts: int


def reply_of(record: Record) -> Reply:
    """The stored reply of an end record."""
    body = record.get("body")
    data = body.encode() if isinstance(body, str) else base64.b64decode(record.get("body_base64", ""))
    return Reply(record.get("status"), data)


def fold(records: Iterable[Record]) -> tuple[dict[Key, Accepted], dict[Key, int], dict[str, Record]]:
    """What a ledger of calls says.

    Returns:
        Accepted replies by cell, attempts by cell, and start records without an end.

    Raises:
        InputError: An end without its start, an attempt used twice, or a cell accepted twice.
    """
    accepted: dict[Key, Accepted] = {}
    counts: dict[Key, int] = {}
    open_calls: dict[str, Record] = {}
    used: set[str] = set()

    def fault(what: str, record: Record) -> InputError:
        return InputError(
            Problem(
                what,
                "one start and one end per attempt, one accepted reply per cell",
                str(record["attempt"]),
                f"attempts.jsonl: record {record['seq'] + 1}",
                "Restore the ledger from a copy; it is never edited.",
            )
        )

    for record in records:
        attempt = record["attempt"]
        if record["kind"] == "start":
            if attempt in used:
                raise fault("an attempt is used twice", record)
            used.add(attempt)
            open_calls[attempt] = record
            counts[key_of(record)] = counts.get(key_of(record), 0) + 1
            continue
        start = open_calls.pop(attempt, None)
        if start is None:
            raise fault("an end has no start", record)
        if record["outcome"] != "accepted":
            continue
        key = key_of(start)
        if key in accepted:
            raise fault("a cell is accepted twice", record)
        reply = reply_of(record)
        accepted[key] = Accepted(read(reply.status, reply.body), counts[key])
    return accepted, counts, open_calls


def key_of(start: Record) -> Key:
    """The cell or packet that a start record names."""
    if "state" in start:
        return (start["question_id"], start["state"], start["repeat"])
    return (start["question_id"],)


def request_of(settings: Calls, prompt: str) -> dict[str, Any]:
    """The body of one request, decided by the protocol and the prompt alone."""
    content = [{"role": "user", "content": prompt}]
    if settings.adapter == "extractive":
        return {"model": "extractive-1", "messages": content, "seed": settings.seed}
    if settings.adapter == "lexical":
        return {"model": "lexical-1", "messages": content}
    body: dict[str, Any] = {"model": settings.model, "max_tokens": settings.max_tokens, "messages": content}
    if settings.temperature:
        body["temperature"] = settings.temperature  # decimal text in the digest; a number on the wire
    return body


def planned(collection: Collection, question_ids: Sequence[str], states: Sequence[str]) -> list[Call]:
    """All calls of the answer stage, in their order."""
    return list(schedule(question_ids, states, collection.repeats))


def packets(dossiers: Iterable[Dossier], seed: str) -> Iterator[tuple[str, tuple[tuple[str, int], ...], JudgePacket]]:
    """Question id, cells, and the blind packet of each question with two answers or more."""
    for dossier in dossiers:
        held = [c for c in dossier.cells if c.status == "ok"]
        if len(held) > 1:
            question = dossier.question
            order = packet_order(seed, question.question_id, len(held))
            packet = JudgePacket(question.text or question.question_id, tuple(held[i].answer or "" for i in order))
            yield question.question_id, tuple((c.state, c.repeat) for c in held), packet


def cells_of(calls: Iterable[Call], accepted: Mapping[Key, Accepted]) -> Iterator[Cell]:
    """The cells that accepted replies give, in the order of the schedule; planned calls without one are left out."""
    for call in calls:
        found = accepted.get((call.question_id, call.state, call.repeat))
        if found is not None:
            yield Cell(
                call.question_id,
                call.state,
                call.repeat,
                "ok",
                answer_of(found.reading),
                attempts=found.attempts,
                order=call.order,
            )


def judgment_of(question_id: str, slots: tuple[tuple[str, int], ...], seed: str, found: Accepted) -> Judgment | None:
    """A judge's labels, turned back from the packet's order to the cells'; None where the reply is not valid.

    A reply is valid when it is an object with ``labels``: every pair of positions i < j once, labelled 0 or 1. Anything
    else is never guessed.
    """
    order = packet_order(seed, question_id, len(slots))
    text = found.reading.text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        reply = parse(text.encode())
    except (CodecError, UnicodeEncodeError):
        return None
    labels = reply.get("labels") if isinstance(reply, dict) else None
    if found.reading.kind != "ANSWER" and found.reading.reason != "longer than 512 bytes":
        return None
    if not isinstance(labels, list) or len(labels) != len(slots) * (len(slots) - 1) // 2:
        return None
    out: dict[tuple[int, int], int] = {}
    for label in labels:
        if not isinstance(label, list) or len(label) != 3 or any(type(item) is not int for item in label):
            return None
        i, j, same = label
        if not 0 <= i < j < len(slots) or same not in (0, 1):
            return None
        a, b = sorted((order[i], order[j]))
        if (a, b) in out:
            return None
        out[a, b] = same
    return Judgment(question_id, slots, tuple((a, b, same) for (a, b), same in sorted(out.items())), found.attempts)
