"""A gigabyte of logs: import, against reading the same JSON and doing nothing with it."""

from __future__ import annotations

import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.loading import Step, timed

SIZE = 1 << 30
PROVIDERS, REPEATS = ("chat:small", "chat:large"), 2
LOAD = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
UNZIP = (
    "import json, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
    "any(json.loads(z.read(name)) is None for name in z.namelist() if name.startswith('samples/'))"
)


def _texts(draw: random.Random) -> Callable[[int], str]:
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(5_000)]
    return lambda count: " ".join(draw.choices(words, k=count))


def promptfoo(path: Path, size: int) -> Path:
    """Results of promptfoo of about this many bytes: two providers, two repeats, five passages a question."""
    draw = random.Random(1)
    text = _texts(draw)
    written = test = 0
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{"evalId": "e", "results": {"version": 3, "timestamp": "t", "prompts": [], "results": [\n')
        while written < size:
            variables = {
                "question": f"{text(12)} {test}?",
                "context": [text(120) for _ in range(5)],
                "expected": text(3),
            }
            for _ in range(REPEATS):
                for index, provider in enumerate(PROVIDERS):
                    row = {
                        "id": f"{test}-{index}",
                        "promptIdx": index,
                        "testIdx": test,
                        "testCase": {"description": "", "vars": variables, "assert": [{"type": "llm-rubric"}]},
                        "promptId": "p",
                        "provider": {"id": provider, "label": ""},
                        "prompt": {"raw": " ".join([*variables["context"], variables["question"]]), "label": "p"},
                        "vars": variables,
                        "response": {"output": text(80), "cached": False, "tokenUsage": {"total": 900, "prompt": 800}},
                        "failureReason": 0,
                        "success": True,
                        "score": 0.75,
                        "latencyMs": 812,
                        "gradingResult": {"pass": True, "score": 0.75, "reason": text(20), "componentResults": []},
                        "namedScores": {},
                        "cost": 0.00125,
                    }
                    block = (",\n" if written else "") + json.dumps(row, indent=2)
                    stream.write(block)
                    written += len(block)
                test += 1
        stream.write(']}, "config": {"evaluateOptions": ' + json.dumps({"repeat": REPEATS}) + "}}")
    return path


def inspect(path: Path, size: int) -> Path:
    """An Inspect archive whose samples are about this many bytes of JSON."""
    text = _texts(random.Random(2))
    written = number = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        head = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
        archive.writestr("header.json", json.dumps(head))
        while written < size:
            number += 1
            asked = f"{text(12)} {number}?", text(3)
            contexts = [text(120) for _ in range(5)]
            for epoch in range(1, REPEATS + 1):
                block = json.dumps(_sample(number, epoch, asked, contexts, text(80)))
                archive.writestr(f"samples/{number}_epoch_{epoch}.json", block)
                written += len(block)
    return path


def _sample(number: int, epoch: int, asked: tuple[str, str], contexts: list[str], answer: str) -> dict[str, Any]:
    question, gold = asked
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {
        "id": number,
        "epoch": epoch,
        "input": question,
        "target": gold,
        "messages": messages,
        "output": {"model": "m", "choices": [{"message": messages[1], "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C"}},
        "metadata": {"contexts": contexts},
        "events": [{"event": "model", "input": messages, "output": {"completion": answer}, "pending": None}] * 2,
        "uuid": f"u{number}-{epoch}",
        "attachments": {},
    }


def measure(folder: Path, say: Callable[[str], None], size: int = SIZE) -> list[tuple[str, int, Step, Step]]:
    """For each kind of log: its name, bytes of JSON, and the steps of reading and of importing it."""
    return list(_measured(folder, say, size))


def _measured(folder: Path, say: Callable[[str], None], size: int) -> Iterator[tuple[str, int, Step, Step]]:
    tool = [sys.executable, "-m", "audit_core.cli", "import"]
    for kind, made, read in (("promptfoo", promptfoo, LOAD), ("inspect", inspect, UNZIP)):
        path = made(folder / f"{kind}.{'json' if kind == 'promptfoo' else 'eval'}", size)
        steps = [
            timed(f"{kind}: reading alone", [sys.executable, "-c", read, str(path)]),
            timed(f"{kind}: import", [*tool, kind, str(path), "--study", str(folder / kind), "--json"]),
        ]
        for step in steps:
            say(f"{step.seconds:8.1f} s  {step.peak:7,.0f} MiB  {step.what}")
        path.unlink()
        yield kind, size, steps[0], steps[1]


def written(found: list[tuple[str, int, Step, Step]]) -> list[str]:
    """The section of the report."""
    lines = [
        "## Importing logs",
        "",
        "Made-up logs with five passages of 120 words a question, answers of 80 words, two repeats. Reading alone is "
        "Python's own `json`, the whole file at once (of the archive sample by sample), its result thrown away. The "
        "import reads, hashes, aligns, checks, writes and locks. The ratio is the speed of the import to that of "
        "reading alone.",
        "",
        "| kind | JSON | reading alone | peak memory | import | peak memory | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, size, alone, whole in found:
        lines.append(
            f"| `{kind}` | {size / 1e9:.2f} GB | {alone.seconds:,.1f} s | {alone.peak:,.0f} MiB "
            f"| {whole.seconds:,.1f} s | {whole.peak:,.0f} MiB | {alone.seconds / whole.seconds:.2f} |"
        )
    return [*lines, ""]
