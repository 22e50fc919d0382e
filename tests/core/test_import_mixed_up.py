"""Logs in which two things could be taken for one: a speaker, a run, a provider, a key, a folder, a field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit_core.errors import InputError
from audit_core.importers.peek import guess_kind
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
    write,
)
from tests.support.tables import answers, dossiers, write_text

TALK = [{"role": "user", "content": "And where is it?"}, {"role": "assistant", "content": "In Paris"}]


@pytest.mark.parametrize(
    "output",
    [
        TALK,
        {"messages": TALK},
        {"messages": [{"type": "human", "content": "Where?"}, {"type": "ai", "content": "In Paris"}], "id": "x"},
        {"id": "r-1", "created": 1, "choices": [{"index": 0, "message": TALK[1]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "In Paris"}]},
        json.dumps(TALK),
    ],
)
@pytest.mark.parametrize("kind", ["langfuse", "phoenix"])
def test_the_answer_of_a_conversation_is_what_the_model_said(tmp_path: Path, kind: str, output: Any) -> None:
    records = langfuse_items("r") if kind == "langfuse" else phoenix_records(1)
    file = write(tmp_path / "n1.json", [{**record, "output": output} for record in records])
    assert set(answers(taken(tmp_path, kind, file)[1]).values()) == {"In Paris"}


def test_one_name_for_two_providers_or_prompts_is_asked_about(tmp_path: Path) -> None:
    providers = promptfoo_rows(1, providers=("chat:a", "chat:b"))
    for row in providers:
        row["provider"]["label"] = "rag"
    with pytest.raises(InputError, match=r"--state-from provider\.id"):
        taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(providers)))
    prompts = promptfoo_rows(1, prompts=("short", "long"))
    for row in prompts:
        row["prompt"]["label"] = "answer"
    file = write(tmp_path / "n2.json", promptfoo(prompts))
    with pytest.raises(InputError, match="--state-from promptIdx"):
        taken(tmp_path, "promptfoo", file)
    report, _ = taken(tmp_path, "promptfoo", file, state_parts=("promptIdx",))
    assert report.repeats == {"0": 1, "1": 1}
    report, _ = taken(tmp_path / "same", "promptfoo", file, duplicates="repeats")
    assert list(report.repeats.values()) == [2]


@pytest.mark.parametrize("equal", [True, False])
def test_two_runs_of_one_name_are_two_runs(tmp_path: Path, equal: bool) -> None:
    second = [
        {**item, "experimentId": "second", "traceId": f"{item['traceId']} again"}
        for item in langfuse_items("nightly", repeat=1 if equal else 2)
    ]
    file = write(tmp_path / "items.json", langfuse_items("nightly") + second)
    report, _ = taken(tmp_path, "langfuse", file)
    assert report.repeats == {"id of nightly": 1, "second": 1}
    report, study = taken(tmp_path / "one", "langfuse", file, state_parts=("run",))
    assert report.repeats == {"nightly": 2}
    assert answers(study)["item-0", "nightly", 2] == told(0, 1 if equal else 2)


@pytest.mark.parametrize("kind", ["promptfoo", "inspect"])
def test_a_key_that_stands_twice_around_the_records_is_damage(tmp_path: Path, kind: str) -> None:
    rows = json.dumps(promptfoo_rows(1) if kind == "promptfoo" else inspect_samples(1))
    key = "results" if kind == "promptfoo" else "samples"
    file = write_text(tmp_path / "n1.json", f'{{"{key}": {rows}, "{key}": {rows}}}')
    with pytest.raises(InputError, match="stands twice in one object"):
        taken(tmp_path, kind, file)


def test_the_ideal_context_of_a_test_case_is_not_what_was_retrieved(tmp_path: Path) -> None:
    cases = [
        {"input": QUESTIONS[0], "actualOutput": "a", "context": ["ideal"], "retrievalContext": []},
        {"input": QUESTIONS[1], "actualOutput": "b", "context": ["ideal"]},
    ]
    found = dossiers(taken(tmp_path, "deepeval", write(tmp_path / "n1.json", {"testCases": cases}))[1])
    assert [[list(given.documents) for given in dossier.evidence] for dossier in found.values()] == [[[]], []]


def test_a_folder_that_was_named_a_state_holds_its_repeats(tmp_path: Path) -> None:
    named = []
    for state in ("before", "after"):
        folder = tmp_path / f"runs of {state}"
        folder.mkdir()
        named.append((state, folder))
        for repeat in (1, 2):
            cases = [{"input": text, "actualOutput": f"{state} {n} {repeat}"} for n, text in enumerate(QUESTIONS)]
            write(folder / f"run{repeat}.json", {"testCases": cases})
    report, study = taken(tmp_path, "deepeval", *(folder for _, folder in named), files=tuple(named))
    assert report.repeats == {"before": 2, "after": 2}
    assert sorted(text for text in answers(study).values() if text) == sorted(
        f"{state} {n} {repeat}" for state in ("before", "after") for n in range(3) for repeat in (1, 2)
    )


def test_an_empty_answer_in_json_is_an_answer(tmp_path: Path) -> None:
    records = [{**record, "output": ""} for record in phoenix_records(2)]
    report, study = taken(tmp_path, "phoenix", write(tmp_path / "n1.json", records))
    assert set(answers(study).values()) == {""}
    assert report.coverage["states"][0]["errors"] == 0


def test_a_place_in_the_order_of_tests_that_no_database_holds(tmp_path: Path) -> None:
    rows = promptfoo_rows(2)
    rows[0]["testIdx"] = 10**25
    report, _ = taken(tmp_path, "promptfoo", write(tmp_path / "n1.json", promptfoo(rows)))
    assert report.repeats == {"n1": 2}


def test_nesting_beside_the_records_ends_in_a_sentence(tmp_path: Path) -> None:
    deep = "[" * 600 + '"\\ud83d"' + "]" * 600
    rows = json.dumps(promptfoo_rows(1))
    file = write_text(tmp_path / "n1.json", f'{{"config": {{"x": {deep}}}, "results": {{"results": {rows}}}}}')
    with pytest.raises(InputError, match="nested too deep"):
        taken(tmp_path, "promptfoo", file)


def test_a_log_with_many_sample_ids_is_still_known(tmp_path: Path) -> None:
    log = inspect(inspect_samples())
    log["eval"] = {"run_id": "r", **log["eval"], "dataset": {"sample_ids": list(range(30_000))}}
    assert guess_kind(write(tmp_path / "log.json", log)) == "inspect"


def test_lines_in_a_file_of_another_name_get_advice(tmp_path: Path) -> None:
    file = write_text(tmp_path / "n1.json", "\n".join(map(json.dumps, promptfoo_rows(1))))
    with pytest.raises(InputError, match=r"ends in \.jsonl"):
        taken(tmp_path, "promptfoo", file)


def test_runs_that_were_named_are_in_that_order_whatever_the_order_of_records(tmp_path: Path) -> None:
    """An API gives the newest run first, which must not turn old and new around."""
    runs = [("old", "first"), ("old", "second"), ("new", "third"), ("new", "fourth")]
    items = [item for _, run in runs for item in langfuse_items(run, lambda question, _, run=run: f"{question} {run}")]
    found = []
    for name, records in (("as-asked", items), ("newest-first", items[::-1])):
        folder = tmp_path / name
        folder.mkdir()
        report, study = taken(folder, "langfuse", write(folder / "items.json", records), renamed=tuple(runs))
        assert (report.states, study.protocol.endpoints) == (["old", "new"], ("old", "new"))
        found.append(answers(study))
    assert found[0] == found[1]
    assert found[0]["item-1", "old", 2] == "1 second"


def test_a_question_that_stands_twice_gets_advice_that_its_kind_has(tmp_path: Path) -> None:
    cases = [{"input": QUESTIONS[0], "actualOutput": text} for text in ("one", "another")]
    with pytest.raises(InputError, match="two rows for the cell") as caught:
        taken(tmp_path, "deepeval", write(tmp_path / "n1.json", {"testCases": cases}))
    assert "--state-from" in str(caught.value)
    assert "--number-repeats" not in str(caught.value)
