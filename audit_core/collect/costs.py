"""What a study would cost before there is a protocol: calls, tokens and, where prices are given, money."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audit_core.collect.outlook import CHARACTERS_A_TOKEN, HEAD
from audit_core.collect.progress import cost_of, facts
from audit_core.collection import JUDGE_TOKENS, Calls
from audit_core.prompts import answer_prompt
from audit_core.study import ATTEMPTS, Study, attempts_of

DEPTH, CHARACTERS, ANSWER = 8, 1200, 64
"""Passages of a prompt, characters of each, and most tokens of an answer: those of the protocol that `init` writes."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call on average: read and written.

    Attributes:
        source: Where they are from, in words.
    """

    read: int
    written: int
    source: str = "given"


@dataclass(frozen=True, slots=True)
class Price:
    """Price per million tokens, as decimal text; both empty where it is not known."""

    read: str = ""
    written: str = ""


def answer_tokens() -> Tokens:
    """Of an answer, by the protocol that `init` writes: about what it reads, and at most what it writes."""
    shown = ["x" * (CHARACTERS + HEAD)] * DEPTH
    length = len(answer_prompt("x" * 200, shown))
    return Tokens(-(-length // CHARACTERS_A_TOKEN), ANSWER, "about, from the settings that init writes")


def judge_tokens(answers: int, written: int) -> Tokens:
    """Of a judge packet, which holds all answers of a question.

    Args:
        answers: In the packet.
        written: Tokens of one answer.
    """
    read = len(answer_prompt("", [])) // CHARACTERS_A_TOKEN + answers * written
    return Tokens(read, JUDGE_TOKENS, "at most")


def measured(study: Study) -> tuple[Tokens | None, Tokens | None]:
    """Means over the accepted calls of a study, for answers and for the judge; None where none were counted."""
    judge = study.protocol.primary_judge
    paths = [ATTEMPTS, attempts_of(judge.name) if judge else None]
    return tuple(None if path is None else _mean(study, path) for path in paths)  # type: ignore[return-value]


def _mean(study: Study, name: str) -> Tokens | None:
    path = study.path / name
    found = facts(path, Calls(""), 0) if path.is_file() else {}
    calls, read, written = (found.get(key, 0) for key in ("accepted", "input_tokens", "output_tokens"))
    if not calls or not read:
        return None
    return Tokens(-(-read // calls), -(-written // calls), f"mean of {calls:,} calls of {study.protocol.study_id}")


def costs(questions: int, repeats: int, states: int, answer: Tokens, judge: Tokens | None,
          answer_price: Price, judge_price: Price) -> dict[str, Any]:  # fmt: skip
    """Calls, tokens and cost of a study.

    Args:
        states: In which every question is asked.
        judge: None without a judge.

    Returns:
        ``retrieval`` with ``searches``; ``answers`` and ``judging``, each with ``calls``, ``input_tokens``,
        ``output_tokens`` and, where there is a price, ``cost`` as decimal text; ``cost`` of all that has a price.
    """
    found: dict[str, Any] = {"retrieval": {"searches": 2 * questions * states}}
    parts = [("answers", questions * states * repeats, answer, answer_price)]
    parts += [("judging", questions, judge, judge_price)] if judge else []
    total: Fraction | None = None
    for name, calls, tokens, price in parts:
        used = (calls * tokens.read, calls * tokens.written)
        found[name] = {"calls": calls, "input_tokens": used[0], "output_tokens": used[1], "tokens": tokens.source}
        cost = cost_of(Calls("", input_price=price.read, output_price=price.written), used)
        if cost is not None:
            found[name]["cost"] = cost
            total = (total or Fraction(0)) + Fraction(cost)
    if total is not None:
        found["cost"] = f"{total.numerator / total.denominator:.4f}"
    return found
