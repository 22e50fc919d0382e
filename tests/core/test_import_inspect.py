"""Inspect logs: epochs are repeats; errors and invalidated samples are no answers; archives are read with care."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from audit_core.errors import InputError
from audit_core.importers.kinds import archive
from audit_core.verify import verify
from tests.support.made_logs import QUESTIONS, inspect, inspect_samples, taken, told, write, write_eval
from tests.support.shared import shared
from tests.support.tables import answers, cells, dossiers, problems

WRITERS = {
    "json": lambda path, log: write(path.with_suffix(".json"), log),
    "eval": lambda path, log: write_eval(path.with_suffix(".eval"), log),
}


@pytest.mark.parametrize("form", WRITERS)
def test_epochs_are_repeats(tmp_path: Path, form: str) -> None:
    report, study = taken(tmp_path, "inspect", WRITERS[form](tmp_path / "log", inspect(inspect_samples(3))))
    assert (report.questions, report.states, report.repeats) == (3, ["m/1"], {"m/1": 3})
    assert answers(study) == {(str(q + 1), "m/1", epoch): told(q, epoch) for q in range(3) for epoch in (1, 2, 3)}
    found = dossiers(study)
    assert [found[str(n)].question.text for n in (1, 2, 3)] == list(QUESTIONS)
    assert found["2"].gold.aliases == ("gold 1", "other gold")
    assert [len(e.documents) for e in found["3"].evidence] == [2]
    assert problems(report)["number_ids"] == 9
    assert not [check for check in verify(study.path) if check.result == "failed"]


def test_errors_and_invalidated_samples_are_no_answers(tmp_path: Path) -> None:
    samples = inspect_samples(2)
    samples[0]["error"] = {"message": "the sandbox died", "traceback": "…"}
    samples[1]["invalidation"] = {"author": "a", "reason": "wrong prompt"}
    samples[2]["output"]["error"] = "content filter"
    report, study = taken(tmp_path, "inspect", write(tmp_path / "log.json", inspect(samples, "error")))
    found = cells(study)
    assert [found[str(n), "m/1", 1].error for n in (1, 2, 3)] == [
        "the sandbox died",
        "invalidated: wrong prompt",
        "content filter",
    ]
    assert all(found[str(n), "m/1", 1].answer is None for n in (1, 2, 3))
    counts = problems(report)
    assert (counts["failed_cells"], counts["invalidated_samples"], counts["unfinished_logs"]) == (3, 1, 1)


def test_answers_of_scorers_come_before_completions(tmp_path: Path) -> None:
    samples = inspect_samples(2)
    for sample in samples:
        sample["scores"] = {"match": {"value": "C", "answer": "B"}}
    file = write(tmp_path / "log.json", inspect(samples))
    _, study = taken(tmp_path, "inspect", file)
    assert set(answers(study).values()) == {"B"}
    (tmp_path / "b").mkdir()
    _, study = taken(tmp_path / "b", "inspect", file, mapping=("answer=output.choices.0.message.content",))
    assert answers(study)["1", "m/1", 2] == told(0, 2)


def test_states_are_models_files_or_what_the_log_says(tmp_path: Path) -> None:
    one = write(tmp_path / "a.json", inspect(inspect_samples(2)))
    two = write(tmp_path / "b.json", inspect(inspect_samples(2, lambda q, r: f"new {q} {r}"), model="m/2"))
    for name, options, states in (
        ("s1", {}, ["m/1", "m/2"]),
        ("s2", {"state_parts": ("file",)}, ["a", "b"]),
        ("s3", {"state_parts": ("eval.metadata.index",)}, ["index of m/1", "index of m/2"]),
        ("s4", {"files": (("old", one), ("new", two))}, ["old", "new"]),
        ("s5", {"renamed": (("old", "m/1"), ("new", "m/2"))}, ["old", "new"]),
    ):
        (tmp_path / name).mkdir()
        report, _ = taken(tmp_path / name, "inspect", one, two, **options)
        assert report.states == states


def test_two_logs_of_one_model_are_files_until_somebody_says_repeats(tmp_path: Path) -> None:
    one = write(tmp_path / "a.json", inspect(inspect_samples(1)))
    two = write(tmp_path / "b.json", inspect(inspect_samples(2, lambda q, r: f"again {q} {r}")))
    (tmp_path / "x").mkdir()
    report, _ = taken(tmp_path / "x", "inspect", one, two)
    assert report.repeats == {"a": 1, "b": 2}
    report, study = taken(tmp_path, "inspect", one, two, state="today")
    assert report.repeats == {"today": 3}
    assert [answers(study)["1", "today", n] for n in (1, 2, 3)] == [told(0, 1), "again 0 1", "again 0 2"]
    assert problems(report)["repeats_put_together"] == 1


def test_one_id_with_two_questions_or_golds_is_named(tmp_path: Path) -> None:
    one = write(tmp_path / "a.json", inspect(inspect_samples(2)))
    samples = inspect_samples(2)
    samples[1] |= {"input": "Another question?"}
    samples[2] |= {"target": "another gold"}
    two = write(tmp_path / "b.json", inspect(samples, model="m/2"))
    with pytest.raises(InputError) as caught:
        taken(tmp_path, "inspect", one, two)
    assert "the id '2' has two questions" in str(caught.value)
    assert "the id '3' has two golds" in str(caught.value)
    assert "b.json: record 2" in str(caught.value)


def test_zstandard_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from backports.zstd import zipfile as new_zip

    file = write_eval(tmp_path / "log.eval", inspect(inspect_samples(2)), new_zip.ZIP_ZSTANDARD, new_zip)
    report, study = taken(tmp_path, "inspect", file)
    assert (report.questions, answers(study)["3", "m/1", 2]) == (3, told(2, 2))
    if hasattr(zipfile, "ZIP_ZSTANDARD"):
        return
    monkeypatch.setattr(archive, "_module", lambda: (zipfile, zipfile.BadZipFile))
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match=r"pip install 'snapshot-audit\[inspect\]'"):
        taken(tmp_path / "b", "inspect", file)


def test_a_log_under_way_has_only_its_start(tmp_path: Path) -> None:
    log = inspect(inspect_samples(2))
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"]}))
        out.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
    report, _ = taken(tmp_path, "inspect", file)
    assert (report.rows, problems(report)["unfinished_logs"]) == (1, 1)


def bomb(path: Path, size: int, name: str = "samples/1_epoch_1.json") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        with out.open(name, "w", force_zip64=True) as member:
            for _ in range(size >> 20):
                member.write(b" " * (1 << 20))
    return path


def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="a sample is too large"):
        taken(tmp_path, "inspect", bomb(tmp_path / "a.eval", 65 << 20))
    monkeypatch.setattr(archive, "FREE_BYTES", 1 << 20)
    with pytest.raises(InputError, match="unpacks to too much"):
        taken(tmp_path, "inspect", bomb(tmp_path / "b.eval", 32 << 20, "other.json"))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda data: data[: len(data) // 2], "damaged archive"),
        (
            lambda data: data.replace(b"header.json", b"heeder.json").replace(b"start.json", b"stort.json"),
            "no Inspect log",
        ),
    ],
)
def test_damaged_archives(tmp_path: Path, spoil, what: str) -> None:
    file = write_eval(tmp_path / "log.eval", inspect(inspect_samples(2)))
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(InputError, match=what):
        taken(tmp_path, "inspect", file)
    assert not (tmp_path / "study").exists()


def test_damage_inside_a_zstandard_member(tmp_path: Path) -> None:
    from backports.zstd import zipfile as new_zip

    file = write_eval(tmp_path / "log.eval", inspect(inspect_samples(2)), new_zip.ZIP_ZSTANDARD, new_zip)
    with new_zip.ZipFile(file) as archived:
        start = archived.getinfo("samples/1_epoch_1.json").header_offset + 30 + len("samples/1_epoch_1.json")
    data = bytearray(file.read_bytes())
    for place in range(start, start + 40):
        data[place] ^= 0x55
    file.write_bytes(data)
    with pytest.raises(InputError, match="damaged archive"):
        taken(tmp_path, "inspect", file)


def test_a_scorer_that_does_not_always_name_an_answer(tmp_path: Path) -> None:
    samples = inspect_samples(2)
    for sample in samples:
        sample["scores"] = {"pattern": {"value": "C", "answer": "short" if sample["epoch"] == 1 else None}}
    report, _ = taken(tmp_path, "inspect", write(tmp_path / "log.json", inspect(samples)))
    (found,) = [finding for finding in report.problems if finding.kind == "answers_from_several_fields"]
    assert "3 from output.completion, 3 from scores.pattern.answer" in found.where
    (tmp_path / "b").mkdir()
    path = "answer=output.choices.0.message.content"
    report, study = taken(tmp_path / "b", "inspect", tmp_path / "log.json", mapping=(path,))
    assert "answers_from_several_fields" not in problems(report)
    assert answers(study)["2", "m/1", 1] == told(1, 1)


def test_without_samples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no samples|no records"):
        taken(tmp_path, "inspect", write(tmp_path / "log.json", inspect([])))
    with pytest.raises(InputError, match="no samples"):
        taken(tmp_path, "inspect", write_eval(tmp_path / "log.eval", inspect([])))


FIELD = {
    "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval": (10, "openai/gpt-4o-mini"),
    "2025-05-12T20-28-13-04-00_popularity.json": (3, "openai/gpt-4o-mini"),
    "log_formats.eval": (1, "ollama/llama3.1"),
    "log_formats.json": (1, "ollama/llama3.1"),
}


@pytest.mark.parametrize("name", FIELD)
def test_real_logs(tmp_path: Path, name: str) -> None:
    count, model = FIELD[name]
    report, study = taken(tmp_path, "inspect", shared("field", "inspect", name))
    assert (report.rows, report.questions, report.repeats) == (count, count, {model: 1})
    assert set(answers(study).values()) <= {"Yes", "No"}
    found = dossiers(study).values()
    assert all(d.question.text.startswith("Is the following") and d.gold.aliases for d in found)
    assert problems(report)["no_noise_floor"] == 1
    assert ("unfinished_logs" in problems(report)) == name.startswith("2025-05")
    assert not [check for check in verify(study.path) if check.result == "failed"]


def test_a_header_behind_the_samples_and_texts_kept_aside(tmp_path: Path) -> None:
    samples = inspect_samples(2)
    for sample in samples:
        sample["attachments"] = {**sample["attachments"], "b2": f"kept aside {sample['epoch']}"}
        sample["messages"] = [{"role": "tool", "content": "attachment://b2"}]
    log = json.loads(json.dumps(inspect(samples, "cancelled"), sort_keys=True))
    file = tmp_path / "log.json"
    file.write_text(json.dumps(dict(sorted(log.items())), sort_keys=True).replace("kept aside", "kept \\ud83d\\ude00"))
    report, study = taken(tmp_path, "inspect", file, mapping=("answer=messages.0.content",))
    assert problems(report)["unfinished_logs"] == 1
    assert set(answers(study).values()) == {"kept \U0001f600 1", "kept \U0001f600 2"}
