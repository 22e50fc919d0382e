"""A small corpus, its questions and a protocol in a folder, ready to freeze."""

from __future__ import annotations

import json
import re
from pathlib import Path

from audit_core.collection import TEMPLATE

GOLD_CANARY = "goldcanary"


def prepare(
    folder: Path,
    *,
    questions: int = 6,
    generation: str = "",
    judging: str = "",
    budget: str = "",
    decision: bool = True,
    gold: bool = True,
) -> Path:
    """Write inputs and protocol.toml; returns the protocol's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(3):
        with (folder / f"shard-{shard + 1}.jsonl").open("w") as stream:
            for i in range(questions + 4):
                stream.write(
                    json.dumps(
                        {
                            "document_id": f"doccanary{shard}-{i}",
                            "title": f"Notice {shard}",
                            "text": f"In 202{shard} the fee for item {i} is {i + shard * 7} euros, refunds in {i}.",
                        }
                    )
                    + "\n"
                )
    with (folder / "questions.jsonl").open("w") as stream:
        for i in range(questions + 4):
            stream.write(json.dumps({"question_id": f"q{i}", "question": f"What is the fee for item {i}?"}) + "\n")
    with (folder / "gold.jsonl").open("w") as stream:
        for i in range(questions + 4):
            stream.write(json.dumps({"question_id": f"q{i}", "aliases": [f"{GOLD_CANARY} {i}"]}) + "\n")
    text = TEMPLATE.replace("count = 20", f"count = {questions}").replace("draws = 50000", "draws = 500")
    seconds = "deadline = 180                       # seconds for one call\n"
    for key, usual in (("tries", "tries = 5\n"), ("concurrency", "concurrency = 1\n"), ("deadline", seconds)):
        if f"\n{key} = " in generation:
            text = text.replace(usual, "")
    if generation:
        text = text.replace(
            'adapter = "extractive"               # or "messages": any endpoint of the Messages protocol', generation
        )
    if judging:
        text = re.sub(r"\[judging\]\n(.*\n)+?\n", lambda _: f"[judging]\n{judging}\n\n", text)
    if budget:
        text = text.replace("calls = 0                            # 0: no limit", budget)
    if not decision:
        start, end = text.index("[decision]"), text.index("[budget]")
        text = text[:start] + text[end:]
    if not gold:
        text = text.replace('file = "gold.jsonl"', 'file = ""')
    (folder / "protocol.toml").write_text(text)
    return folder / "protocol.toml"


def messages(url: str, model: str = "small-1", **more: int) -> str:
    lines = ['adapter = "messages"', f'model = "{model}"', f'base_url = "{url}"', 'key_variable = "AUDIT_TEST_KEY"']
    return "\n".join([*lines, *(f"{key} = {value}" for key, value in more.items())])
