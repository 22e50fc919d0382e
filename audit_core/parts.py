"""The parts of questions as a model cuts them: what it is asked, and what its replies give; no network, no writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from audit_core.calls import Replies, replied
from audit_core.model import Question
from audit_core.prompts import JudgePacket
from audit_core.tally import Accepted

MOST = 8
"""Most parts of a question; a reply with more is not valid."""


def packets(questions: Iterable[Question]) -> Iterator[tuple[str, JudgePacket]]:
    """Id and text of each question that did not come with parts of its own."""
    return ((q.question_id, JudgePacket(q.text or q.question_id, ())) for q in questions if not q.parts)


def parts_of(found: Accepted | None) -> tuple[str, ...]:
    """The parts that a reply gives, two or more; empty where it gives one, or is not valid."""
    reply = replied(found) if found else {}
    given = reply.get("parts")
    if len(reply) != 1 or not isinstance(given, list) or not 1 < len(given) <= MOST:
        return ()
    parts = [part.strip() for part in given if isinstance(part, str)]
    return tuple(parts) if len(parts) == len(given) == len(set(parts)) and all(parts) else ()


def cut(questions: Iterable[Question], replies: Replies) -> Iterator[Question]:
    """The questions with the parts that a model gave; those that came with their own keep them."""
    for question in questions:
        found = question.parts or parts_of(replies.get((question.question_id,)))
        yield replace(question, parts=found)
