"""Logs of which a few values are something else than the tool would write: an import or a sentence, nothing else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit_core.errors import AuditError
from audit_core.verify import verify
from tests.support.made_logs import (
    QUESTIONS,
    inspect,
    inspect_samples,
    langfuse_items,
    phoenix_records,
    promptfoo,
    promptfoo_rows,
    taken,
    told,
)

ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**30, "", " ", "x", "[", '{"a":1}', "['a' 'b']",
    '"\\ud83d"', '["\\ud83d"]', [], [[]],
    [None], ["a", 1, None, {}], {}, {"a": {"b": [1]}}, {"text": 5}, {"text": "t"}, "\ud83d", "attachment://zz",
    float("nan"), float("inf"), "\x00", "\x1f", "x" * 5000,
]  # fmt: skip
CASES = [{"input": q, "actualOutput": told(n, 1), "retrievalContext": ["x"]} for n, q in enumerate(QUESTIONS)]
CHECKS = [
    {"query_id": f"q{n}", "query": q, "response": told(n, 1), "retrieved_context": [{"doc_id": "d", "text": "t"}]}
    for n, q in enumerate(QUESTIONS)
]
LOGS: dict[str, Any] = {
    "promptfoo": promptfoo(promptfoo_rows(2)),
    "inspect": inspect(inspect_samples(2)),
    "ragas": [{"user_input": q, "multi_responses": ["a", "b"], "retrieved_contexts": ["x"]} for q in QUESTIONS],
    "ragchecker": {"results": CHECKS, "metrics": {}},
    "phoenix": phoenix_records(2),
    "deepeval": {"testCases": CASES},
    "langfuse": {"data": langfuse_items("a")},
    "llm-comparator": {
        "models": [{"name": "a"}, {"name": "b"}],
        "examples": [{"input_text": q, "tags": ["x"], "output_text_a": "1", "output_text_b": "2"} for q in QUESTIONS],
    },
    "lm-eval": {
        "doc_id": 1, "doc": {"question": "q"}, "target": "['a']", "resps": [["a", "b"]], "filter": "none",
        "arguments": {"gen_args_0": {"arg_0": "q"}},
    },
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def spoilt(log: Any, draw: random.Random) -> Any:
    log = copy.deepcopy(log)
    for _ in range(draw.choice([1, 1, 2, 3])):
        if not (found := list(places(log))):
            break
        path = draw.choice(found)
        target = log
        for key in path[:-1]:
            target = target[key]
        if draw.random() < 0.2:
            del target[path[-1]]
        else:
            target[path[-1]] = copy.deepcopy(draw.choice(ODD))
    return log


@pytest.mark.parametrize("kind", LOGS)
def test_a_spoilt_log_is_imported_or_refused(tmp_path: Path, kind: str) -> None:
    draw = random.Random(kind)
    outcomes = set()
    for number in range(30):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = folder / ("log.jsonl" if kind == "lm-eval" else "log.json")
        file.write_text(json.dumps(spoilt(LOGS[kind], draw)))
        try:
            _, study = taken(folder, kind, file)
        except AuditError as error:
            outcomes.add("refused")
            assert str(error)
            assert not (folder / "study").exists()
        else:
            outcomes.add("imported")
            assert not [check for check in verify(study.path) if check.result == "failed"]
    assert outcomes == {"imported", "refused"}
