"""Made-up tables of answers for the benchmarks."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

WORDS = ("harbour", "meadow", "lantern", "copper", "autumn", "velvet", "granite", "willow", "ember", "marble")


def table(path: Path, questions: int, *, evidence: bool = False, seed: int = 1) -> Path:
    """A long CSV table: two states, two repeats, gold, 20 % of the questions with another answer in the new state."""
    draw = random.Random(seed)
    header = ["question_id", "question", "state", "repeat", "answer", "gold"] + ["evidence"] * evidence
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for number in range(questions):
            old, new = (" ".join(draw.choices(WORDS, k=3)) for _ in "ab")
            flips = draw.random() < 0.2
            gold = json.dumps([old, f"the {old}"])
            for state in ("before", "after"):
                settled = new if flips and state == "after" else old
                shown = [
                    {"document_id": f"{state}-{number}-{rank}", "text": " ".join(draw.choices(WORDS, k=60))}
                    for rank in range(5 * evidence)
                ]
                for repeat in (1, 2):
                    answer = settled if draw.random() < 0.95 else " ".join(draw.choices(WORDS, k=3))
                    row = [
                        f"q{number:07d}",
                        f"Which of the things in list {number} is meant?",
                        state,
                        repeat,
                        answer,
                        gold,
                    ]
                    writer.writerow(row + [json.dumps(shown)] * evidence)
    return path
