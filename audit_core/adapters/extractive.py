"""A generator that needs no model: it quotes the clause of the evidence that shares most with the question.

It is a baseline, not a language model: it makes a whole audit runnable on any machine, and it is noisy on
purpose. Among the best clauses it draws one with odds that fall by half from rank to rank, from a seed and the
call's own number, so that repeats are independent and a run can be replayed.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from audit_core.outcomes import ANSWER_LIMIT

CLAUSE = re.compile(r"(?<=[.;:!?])\s+|\n+|,\s+")
WORD = re.compile(r"\w+")
COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "may",
        "my",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
        "your",
    ]
)
CHOICES = 3


def reply(prompt: str, seed: str, number: str) -> bytes:
    """The body of a Messages response for one prompt.

    Args:
        prompt: As `prompts.answer_prompt` makes it.
        seed: Of the protocol.
        number: Of the attempt; another number is another draw.
    """
    question = prompt.rpartition("Question: ")[2].partition("\n\n")[0]
    passages = prompt.partition("Passages:\n")[2].rpartition("\n\nQuestion: ")[0]
    text = _draw(_ranked(question, passages), hashlib.sha256(f"{seed}\x00{number}".encode()).digest())
    return json.dumps(message(text, "extractive-1")).encode()


def message(text: str, model: str) -> dict[str, Any]:
    """A message object of the Messages protocol."""
    return {
        "id": "msg_local", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip


def _ranked(question: str, passages: str) -> list[str]:
    asked = set(map(str.lower, WORD.findall(question))) - COMMON
    scored: dict[str, float] = {}
    for rank, passage in enumerate(passages.split("\n\n")):
        for clause in CLAUSE.split(passage.partition("\n")[2]):
            words = [w.lower() for w in WORD.findall(clause)]
            if 2 <= len(words) <= 14:
                shared = len(asked & set(words)) / (1 + len(words) / 8) - rank / 20
                scored[clause.strip(" .,;:")] = max(shared, scored.get(clause.strip(" .,;:"), 0.0))
    best = sorted((clause for clause in scored if scored[clause] > 0), key=lambda c: (-scored[c], c))
    return best[:CHOICES]


def _draw(best: list[str], digest: bytes) -> str:
    if not best:
        return "UNKNOWN"
    share, pick = digest[0] / 256, 0
    while pick < len(best) - 1 and share >= 1 - 0.5 ** (pick + 2):
        pick += 1
    return best[pick].encode()[:ANSWER_LIMIT].decode("utf-8", "ignore")
