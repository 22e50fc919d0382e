"""Questions cut into their parts by a model: recorded, checked, searched one by one, and shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from audit_core.collect import stages
from audit_core.errors import InputError
from audit_core.outcomes import read
from audit_core.parts import parts_of
from audit_core.readmodel import read as model
from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.study import COLLECTION, NONCE, PARTING, QUESTIONS, Study
from audit_core.tally import Accepted
from audit_core.verify import verify
from tests.core.test_controls import KEY
from tests.support.collecting import messages, prepare
from tests.support.relock import Records, relock
from tests.support.service import Scripted, Seen, Service, message
from tests.support.simulator import CREATED

PARTS = ["What is the fee for item 4?", "What is refunded for item 4?"]


def script(seen: Seen, _number: int) -> Scripted:
    asked = seen.body["messages"][0]["content"]
    return Scripted(text=json.dumps({"parts": PARTS if "item 4?" in asked else ["x"]}))


def toml(folder: Path, url: str) -> Path:
    made = prepare(folder, questions=8)
    lines = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    lines[2]["parts"] = ["my own first part", "my own second part"]
    (folder / "questions.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    text = made.read_text().replace("[gold]\n", f"[aspects]\n{messages(url)}\n\n[gold]\n", 1)
    text = re.sub(r'(name = "n3".*shards = 3)', r"\1, fan_out = true", text)
    made.write_text(text)
    return made


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Study, Service]:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service(script) as service:
        study = stages.freeze(toml(tmp_path, service.url), tmp_path / "study", CREATED)
        stages.run(study, tmp_path, lambda: CREATED)
    estimate_study(study, created=CREATED)
    return study, service


def failed(path: Path) -> list[str]:
    return [check.check_id for check in verify(path) if check.result == "failed"]


def test_a_model_cuts_what_did_not_come_cut_and_each_part_is_searched(collected: tuple[Study, Service]) -> None:
    study, service = collected
    asked = [seen.body["messages"][0]["content"] for seen in service.seen if "Cut it into the parts" in str(seen.body)]
    ids = [question.question_id for question in study.questions()]
    assert len(asked) == len(ids) - ("q2" in ids)
    assert not any("goldcanary" in prompt or "doccanary" in prompt for prompt in asked)
    held = {question.question_id: question.parts for question in study.questions()}
    expected = {"q4": tuple(PARTS), "q2": ("my own first part", "my own second part")}
    assert held == {key: expected.get(key, ()) for key in ids}
    assert "q4" in ids
    lock = next(lock for lock in study.chain if lock.gate == "selection")
    assert lock.counts == {"questions": 8, "cut": sum(map(bool, held.values()))}
    assert PARTING in lock.files
    assert failed(study.path) == []


def test_parts_are_in_the_database(collected: tuple[Study, Service], tmp_path: Path) -> None:
    study, _ = collected
    load([study.path], tmp_path / "audit.db", verifier=verify)
    row = model.question(tmp_path / "audit.db", "my-study", "q4")
    assert row is not None
    assert row["parts"] == PARTS


@pytest.mark.parametrize(
    ("member", "fields", "check"),
    [
        (QUESTIONS, {"parts": ["something", "else"]}, "C20"),
        (PARTING, {"request_sha256": "0" * 64}, "C19"),
    ],
)
def test_other_parts_or_other_calls_are_found(
    collected: tuple[Study, Service], member: str, fields: dict[str, object], check: str
) -> None:
    study, _ = collected

    def change(records: Records) -> None:
        for record in records[member]:
            if record.get("question_id") == "q4":
                record.update({name: value for name, value in fields.items() if name in record})

    relock(study.path, change, extra={name: (study.path / name).read_bytes() for name in (COLLECTION, NONCE)})
    assert check in failed(study.path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"parts": ["a?", "b?"]}', ("a?", "b?")),
        ('```json\n{"parts": ["a?", " b? "]}\n```', ("a?", "b?")),
        ('{"parts": ["a?"]}', ()),
        ('{"parts": ["a?", "a?"]}', ()),
        ('{"parts": ["a?", ""]}', ()),
        ('{"parts": ["a?", 2]}', ()),
        ('{"parts": ["a?", "b?"], "why": "x"}', ()),
        (json.dumps({"parts": [str(i) for i in range(9)]}), ()),
        ("a? and b?", ()),
    ],
)
def test_only_a_list_of_two_to_eight_different_texts_is_parts(text: str, expected: tuple[str, ...]) -> None:
    reading = read(200, json.dumps(message(text, "m")).encode())
    assert parts_of(Accepted(reading, 1)) == expected


def test_parts_of_a_file_must_be_texts(tmp_path: Path) -> None:
    made = prepare(tmp_path)
    with (tmp_path / "questions.jsonl").open("a") as stream:
        stream.write(json.dumps({"question_id": "bad", "question": "What?", "parts": ["a", 3]}) + "\n")
    with pytest.raises(InputError, match="parts of a question"):
        stages.freeze(made, tmp_path / "study", CREATED)
