"""Made-up logs in the shapes of other tools, for tests: the same questions and answers in each of them."""

from __future__ import annotations

import json
import zipfile as plain_zip
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from audit_core.importers.options import Options
from audit_core.importers.report import ImportReport
from audit_core.importers.table import import_table
from audit_core.study import Study
from tests.support.tables import CREATED

QUESTIONS = ("How many keys has the piano?", "Who wrote the manual?", "Which gate leads to the garden?")
Answer = Callable[[int, int], Any]


def told(question: int, repeat: int) -> str:
    """An answer of its own in every cell."""
    return f"answer {question} in repeat {repeat}"


def write(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def taken(folder: Path, kind: str, *files: Path, **options: Any) -> tuple[ImportReport, Study]:
    """Import logs into ``folder/study`` and open the result."""
    report = import_table(files, folder / "study", Options(kind=kind, **options), created=CREATED)
    return report, Study(folder / "study")


def promptfoo_rows(
    repeats: int = 2,
    providers: Sequence[str] = ("chat:a",),
    prompts: Sequence[str] = ("short",),
    answer: Answer = told,
    questions: Sequence[str] = QUESTIONS,
) -> list[dict[str, Any]]:
    """Rows as promptfoo writes them: every test ``repeats`` times, for every provider and prompt."""
    rows = []
    test = 0
    for number, question in enumerate(questions):
        for repeat in range(1, repeats + 1):
            index = 0
            for provider in providers:
                for prompt in prompts:
                    rows.append(
                        {
                            "id": f"row-{len(rows)}",
                            "promptIdx": index,
                            "testIdx": test,
                            "testCase": {"description": "", "vars": {"question": question}, "assert": []},
                            "promptId": f"digest of {prompt}",
                            "provider": {"id": provider, "label": ""},
                            "prompt": {"raw": f"Answer: {question}", "label": prompt},
                            "vars": {"question": question, "expected": f"gold {number}", "context": [f"text {number}"]},
                            "response": {"output": answer(number, repeat), "cached": False},
                            "failureReason": 0,
                            "success": True,
                        }
                    )
                    index += 1
            test += 1
    return rows


def promptfoo(rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A file of results, version 3."""
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": [], "results": list(rows)},
        "config": {"tests": [{"vars": row["vars"]} for row in rows], **(config or {})},
        "shareableUrl": None,
    }


def inspect_samples(epochs: int = 2, answer: Answer = told) -> list[dict[str, Any]]:
    """Samples of an Inspect log; the question of the first is kept aside, as attachments are."""
    return [
        {
            "id": number + 1,
            "epoch": epoch,
            "input": "attachment://a1"
            if number == 0
            else [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}],
            "target": [f"gold {number}", "other gold"],
            "messages": [],
            "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": answer(number, epoch)}}]},
            "scores": {"match": {"value": "C"}},
            "metadata": {"contexts": [f"text {number}", "another text"], "snapshot": "2026-01"},
            "store": {},
            "events": [{"event": "sample_init"}],
            "uuid": f"uuid-{number}-{epoch}-{answer(number, epoch)}",
            "attachments": {"a1": QUESTIONS[0]} if number == 0 else {},
        }
        for epoch in range(1, epochs + 1)
        for number, question in enumerate(QUESTIONS)
    ]


def inspect(samples: Sequence[Mapping[str, Any]], status: str = "success", model: str = "m/1") -> dict[str, Any]:
    """An Inspect log."""
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "manual", "model": model, "metadata": {"index": f"index of {model}"}, "config": {}},
        "plan": {},
        "results": {"scores": [{"metrics": {"accuracy": {"value": 1.0}}}]},
        "samples": list(samples),
        "reductions": [{"scorer": "match", "samples": []}],
    }


def write_eval(
    path: Path, log: Mapping[str, Any], compression: int = plain_zip.ZIP_DEFLATED, module: Any = plain_zip
) -> Path:
    """The same log as an ``.eval`` archive."""
    with module.ZipFile(path, "w", compression) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"], "plan": {}}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        header = {key: value for key, value in log.items() if key not in ("samples", "reductions")}
        archive.writestr("header.json", json.dumps(header))
    return path


def langfuse_items(run: str, answer: Answer = told, repeat: int = 1) -> list[dict[str, Any]]:
    """Items of one experiment as Langfuse's API gives them."""
    return [
        {
            "id": f"{run}-{number}",
            "traceId": f"trace-{run}-{number}",
            "startTime": f"2026-01-0{number + 1}T00:00:00.{len(run)}Z",
            "experimentId": f"id of {run}",
            "experimentName": run,
            "experimentItemId": f"item-{number}",
            "input": {"question": question},
            "output": {"answer": answer(number, repeat), "contexts": [f"text {number}"]},
            "expectedOutput": {"answer": f"gold {number}"},
            "scores": [],
        }
        for number, question in enumerate(QUESTIONS)
    ]


def phoenix_records(repeats: int = 2, answer: Answer = told) -> list[dict[str, Any]]:
    """Records of an experiment as Phoenix exports them."""
    return [
        {
            "example_id": f"example-{number}",
            "repetition_number": repeat,
            "input": {"query": question, "k": 3},
            "reference_output": {"answer": f"gold {number}"},
            "output": {"answer": answer(number, repeat), "documents": [f"text {number}"]},
            "error": None,
            "start_time": f"2026-01-01T00:00:0{number}.{repeat}Z",
            "trace_id": f"trace-{number}-{repeat}-{answer(number, repeat)}",
            "annotations": [{"name": "correct", "score": float("nan")}],
        }
        for repeat in range(1, repeats + 1)
        for number, question in enumerate(QUESTIONS)
    ]
