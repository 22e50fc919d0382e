"""Retrieval with the embedded index: queries per second of one core over 30,000 passages."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from audit_core.adapters.fts import retrieve
from audit_core.prompts import Passage

PASSAGES, QUESTIONS, VOCABULARY = 30_000, 200, 40_000
TARGET = 20
COMMON = ("what", "is", "the", "of", "in", "for", "a", "to", "how", "and")
REACH = {"n1": 1, "n3": 3, "n7": 7}


@dataclass(frozen=True)
class Timing:
    """CPU seconds of one state: adding its shards, and answering the questions."""

    state: str
    passages: int
    adding: float
    answering: float
    questions: int


def measure(say: Callable[[str], None], passages: int = PASSAGES, questions: int = QUESTIONS) -> list[Timing]:
    """Time each state of a nested ladder.

    Words are drawn with the frequencies of running text (Zipf), and questions hold their common words, as asked.
    """
    draw = random.Random(1)
    words = [*COMMON, *(f"w{number:x}" for number in range(VOCABULARY))]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    shards = [[_passage(draw, words, weights, shard, i) for i in range(passages // 7)] for shard in range(7)]
    asked = [
        (f"q{i}", " ".join([*draw.sample(COMMON, 4), *draw.choices(words[len(COMMON) : 5_000], k=5)]) + "?")
        for i in range(questions)
    ]
    found: list[Timing] = []
    start = time.process_time()
    first = 0.0
    for number, (_, state, hits, _) in enumerate(retrieve(shards, REACH, asked, 8), 1):
        assert hits
        if number % questions == 1:
            first = time.process_time()
        if number % questions == 0:
            end = time.process_time()
            # The first question is counted with the adding: the index is built when its list is asked for.
            found.append(Timing(state, REACH[state] * (passages // 7), first - start, end - first, questions - 1))
            say(f"{found[-1].questions / found[-1].answering:8.1f} questions per CPU second in {state}")
            start = end
    return found


def _passage(draw: random.Random, words: list[str], weights: list[float], shard: int, number: int) -> Passage:
    text = " ".join(draw.choices(words, cum_weights=weights, k=60))
    return Passage(f"s{shard}-{number}", " ".join(draw.choices(words, k=4)), "", text)


def written(timings: list[Timing]) -> list[str]:
    """The section of the report."""
    return [
        "## Retrieval",
        "",
        "FTS5 over made-up passages of 60 words with the word frequencies of running text; questions of nine words, "
        "four of them common. CPU seconds, so one core.",
        "",
        "| state | passages | adding its shards | questions per second |",
        "|---|---:|---:|---:|",
        *(f"| {t.state} | {t.passages:,} | {t.adding:.2f} s | {t.questions / t.answering:,.0f} |" for t in timings),
        "",
    ]
