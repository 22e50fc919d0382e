"""Which answers the outcome rule cannot read with certainty, and what a judge says they do; no network, no writing.

One packet holds a question and one answer: no state, repeat, evidence, document or gold. Answers of a question with the
same text are asked about once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import get_args

from audit_core.calls import Replies, replied
from audit_core.model import AnswerOutcome, Dossier, JudgedOutcome
from audit_core.prompts import JudgePacket
from audit_core.protocol import Protocol
from audit_core.rules.outcome import read
from audit_core.tally import Accepted


def uncertain(dossier: Dossier, protocol: Protocol) -> list[str]:
    """The different answers to a question that neither structured output nor the rule settles."""
    texts = dict.fromkeys(cell.answer for cell in dossier.cells if cell.answer is not None and cell.outcome is None)
    return [text for text in texts if not read(text, protocol.unknown_texts, protocol.outcome_rule).certain]


def packets(dossiers: Iterable[Dossier], protocol: Protocol) -> Iterator[tuple[str, JudgePacket]]:
    """Number and content of each packet; the numbers are keys of the judge's ledger of such calls."""
    numbers = count(1)
    for dossier in dossiers:
        question = dossier.question.text or dossier.question.question_id
        for text in uncertain(dossier, protocol):
            yield str(next(numbers)), JudgePacket(question, (text,))


def outcome_of(found: Accepted) -> AnswerOutcome | None:
    """What a reply says; None where it is not valid. Anything but one of the three words is never guessed."""
    reply = replied(found)
    said = reply.get("outcome")
    return said if len(reply) == 1 and said in get_args(AnswerOutcome) else None


def outcomes(dossiers: Iterable[Dossier], protocol: Protocol, replies: Replies) -> Iterator[JudgedOutcome]:
    """The outcome of every cell whose packet has a valid reply, in the order of cells."""
    numbers = count(1)
    for dossier in dossiers:
        said = {}
        for text in uncertain(dossier, protocol):
            reply = replies.get((str(next(numbers)),))
            said[text] = outcome_of(reply) if reply else None
        for cell in dossier.cells:
            found = said.get(cell.answer) if cell.answer is not None and cell.outcome is None else None
            if found is not None:
                yield JudgedOutcome(cell.question_id, cell.state, cell.repeat, found)


def counts(dossiers: Iterable[Dossier], protocol: Protocol, replies: Replies, total: int) -> dict[str, int]:
    """What a lock says: answers asked about, and those whose reply is not valid, which the rule then reads alone."""
    numbers = (number for number, _ in packets(dossiers, protocol))
    valid = sum(1 for number in numbers if (reply := replies.get((number,))) and outcome_of(reply))
    return {"outcomes_asked": total, "outcomes_invalid": total - valid}
