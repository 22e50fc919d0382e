"""From a protocol to its requests, and from accepted replies to cells and labels; no network, no writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Protocol

from audit_core.codec import CodecError, parse
from audit_core.collection import Calls, Collection
from audit_core.model import Cell, Dossier, Judgment
from audit_core.outcomes import answer_of
from audit_core.prompts import JudgePacket, answer_prompt, packet_order
from audit_core.schedule import Call, rows_of
from audit_core.selection import select
from audit_core.study import Study
from audit_core.study.passages import Passages
from audit_core.tally import Accepted, Key


def request_of(settings: Calls, prompt: str) -> dict[str, Any]:
    """The body of one request, decided by the protocol and the prompt alone."""
    content = [{"role": "user", "content": prompt}]
    if settings.adapter == "extractive":
        return {"model": "extractive-1", "messages": content, "seed": settings.seed}
    if settings.adapter == "lexical":
        return {"model": "lexical-1", "messages": content}
    most = "max_completion_tokens" if settings.adapter == "openai" else "max_tokens"
    own = {"model": settings.model, most: settings.max_tokens, "messages": content}
    body: dict[str, Any] = {**settings.parameters, **own}
    if settings.temperature:
        body["temperature"] = settings.temperature  # decimal text in the digest; a number on the wire
    return body


class Replies(Protocol):
    """Accepted replies by cell."""

    def get(self, key: Key, /) -> Accepted | None:
        """The reply of a cell, or None."""


def surfaces(
    study: Study, collection: Collection, passages: Passages
) -> Iterator[tuple[str, dict[str, Callable[[], str]]]]:
    """Question by question, its id and what makes the prompt of each state; memory holds one question."""
    states = [state.name for state in study.protocol.states]
    for dossier in study.dossiers():
        shown = {e.state: [d.passage or "" for d in e.documents] for e in dossier.evidence}
        asked = dossier.question.text or dossier.question.question_id
        yield (
            dossier.question.question_id,
            {s: partial(_prompt, asked, shown.get(s, []), collection.refusal(s), passages) for s in states},
        )


def _prompt(question: str, shown: list[str], refusal: str, passages: Passages) -> str:
    return answer_prompt(question, [passages[digest] for digest in shown], refusal)


def planned(study: Study, collection: Collection, passages: Passages) -> Iterator[tuple[Key, Callable[[], str]]]:
    """All calls of the answer stage in the order of the schedule, and what makes the prompt of each."""
    states = [state.name for state in study.protocol.states]
    for repeat in range(1, collection.repeats + 1):
        rows = rows_of(len(states), repeat)
        for (question_id, prompts), row in zip(surfaces(study, collection, passages), rows, strict=False):
            for place in row:
                yield (question_id, states[place], repeat), prompts[states[place]]


Packet = tuple[str, tuple[tuple[str, int], ...], JudgePacket]
"""Question id, cells, and what the judge sees of them."""


def packets(dossiers: Iterable[Dossier], seed: str) -> Iterator[Packet]:
    """Question id, cells, and the blind packet of each question with two answers or more."""
    for dossier in dossiers:
        held = [c for c in dossier.cells if c.status == "ok"]
        if len(held) > 1:
            question = dossier.question
            order = packet_order(seed, question.question_id, len(held))
            packet = JudgePacket(question.text or question.question_id, tuple(held[i].answer or "" for i in order))
            yield question.question_id, tuple((c.state, c.repeat) for c in held), packet


def sampled(held: Callable[[], Iterator[Packet]], seed: str, share: str) -> Iterator[Packet]:
    """The packets that a second judge sees: a share of the questions, rounded up, by a hash of seed and id.

    Args:
        held: Gives all packets, as often as it is called.
        seed: Of the protocol.
        share: Decimal text; "1" for all.
    """
    if Fraction(share) == 1:
        return held()
    keys = [key for key, _, _ in held()]
    chosen = set(select(keys, f"second judge {seed}", ceil(Fraction(share) * len(keys))))
    return (packet for packet in held() if packet[0] in chosen)


def cells_of(calls: Iterable[Call], accepted: Replies) -> Iterator[Cell]:
    """The cells that accepted replies give, in the order of the calls; planned calls without one are left out."""
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


def replied(found: Accepted) -> dict[str, Any]:
    """The JSON object that a judge replied with, also in a fence; empty where the reply is anything else."""
    text = found.reading.text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        reply = parse(text.encode())
    except (CodecError, UnicodeEncodeError):
        return {}
    whole = found.reading.kind == "ANSWER" or found.reading.reason == "longer than 512 bytes"
    return reply if whole and isinstance(reply, dict) else {}


def judgment_of(question_id: str, slots: tuple[tuple[str, int], ...], seed: str, found: Accepted) -> Judgment | None:
    """A judge's labels, turned back from the packet's order to the cells'; None where the reply is not valid.

    A reply is valid when it is an object with ``labels``: every pair of positions i < j once, labelled 0 or 1. Anything
    else is never guessed.
    """
    order = packet_order(seed, question_id, len(slots))
    labels = replied(found).get("labels")
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


def judgments(held: Iterable[Packet], replies: Replies, seed: str) -> Iterator[Judgment]:
    """The labels of every packet that has a valid reply."""
    for key, cells, _ in held:
        reply = replies.get((key,))
        judgment = judgment_of(key, cells, seed, reply) if reply else None
        if judgment is not None:
            yield judgment


def label_counts(held: Iterable[Packet], replies: Replies, seed: str, total: int) -> dict[str, int]:
    """What a lock says of a judge: a packet without a valid reply is counted, never guessed.

    Args:
        held: The packets.
        replies: Of the judge.
        seed: Of the packets' order.
        total: Number of packets.
    """
    counts = {"labels": 0, "attempts": 0, "invalid": total, "nontransitive": 0}
    for judgment in judgments(held, replies, seed):
        counts["labels"] += len(judgment.labels)
        counts["attempts"] += judgment.attempts or 1
        counts["invalid"] -= 1
        counts["nontransitive"] += not transitive(judgment)
    return counts


def transitive(judgment: Judgment) -> bool:
    """Whether answers that chains of *same* connect are all labelled the same."""
    group = list(range(len(judgment.slots)))
    for i, j, same in judgment.labels:
        if same and group[i] != group[j]:
            group = [group[i] if g == group[j] else g for g in group]
    return all(same or group[i] != group[j] for i, j, same in judgment.labels)
