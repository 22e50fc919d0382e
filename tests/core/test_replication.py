"""A study that repeats another: the same questions and evidence, another generator, and the two compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audit_core import bundled
from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collection import read_toml
from audit_core.errors import AuditError, GateError, InputError
from audit_core.results import estimate_study
from audit_core.study import AUDIT, COLLECTION, PRIMARY, QUESTIONS, Study
from audit_core.study.lineage import EVIDENCE, payloads
from audit_core.verify import verify
from tests.support.collecting import prepare
from tests.support.relock import relock
from tests.support.simulator import CREATED

CHILD = """
[study]
id = "child"
title = "The same questions, another seed"
generator = "extractive baseline, seed 2"
parent = "../{parent}"

[generation]
adapter = "extractive"
seed = "2"
repeats = 3

[judging]
adapter = "none"

[estimation]
draws = 500

[decision]
margin = "0.03"
lower_above_zero = ["exact"]
"""


def now() -> str:
    return CREATED


def finished(study: Study, base: Path) -> Study:
    stages.run(study, base, now)
    estimate_study(study, created=CREATED)
    return study


@pytest.fixture
def parent(tmp_path: Path) -> Study:
    toml = prepare(tmp_path / "parent")
    return stages.freeze(toml, tmp_path / "parent" / "study", CREATED)


def child_toml(tmp_path: Path, parent: str = "parent/study") -> Path:
    toml = tmp_path / "child" / "protocol.toml"
    toml.parent.mkdir(exist_ok=True)
    toml.write_text(CHILD.format(parent=parent))
    return toml


def results(path: Path, parent: Path | None = None) -> dict[str, str]:
    return {c.check_id: c.result for c in verify(path, parent=parent)}


def test_a_replication_from_freeze_to_the_paired_comparison(
    tmp_path: Path, parent: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    finished(parent, tmp_path / "parent")
    toml = child_toml(tmp_path)
    assert main(["freeze", str(toml)]) == 0
    assert "repeats my-study" in capsys.readouterr().out
    assert not list(toml.parent.glob("*nonce*")), "the seal is the parent's"
    child = finished(Study(toml.parent / "child"), toml.parent)
    for member in filter(parent.has, (QUESTIONS, *EVIDENCE)):
        assert list(payloads(child, member)) == list(payloads(parent, member))
    assert child.protocol.states == parent.protocol.states
    assert (child.protocol.parent, child.protocol.endpoints) == ("my-study", ("n1", "n3"))
    assert child.protocol.gold_commit == parent.protocol.gold_commit
    assert any("gold was open" in sentence for sentence in child.protocol.limits)
    noted = json.loads((child.path / COLLECTION).read_text())["parent"]
    assert (noted["bundle"], noted["lock"], noted["gate"]) == (parent.bundle, parent.chain[-1].sha256, "results")
    found = results(child.path)
    assert [c for c, result in found.items() if result != "passed"] == ["C12", "C18", "C21"]
    assert results(child.path, parent.path)["C21"] == "passed"
    assert "C21" not in results(parent.path), "only a study that repeats another has this check"
    answers = [[c.answer for d in study.dossiers() for c in d.cells] for study in (parent, child)]
    assert len(answers[0]) == 36
    assert len(answers[1]) == 54, "repeats may differ"

    assert main(["compare", str(parent.path), str(child.path), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["estimates"]}
    ends = ("excess_churn[exact]@n1-n3 (first)", "excess_churn[exact]@n1-n3 (second)", "paired_difference[exact]@n1-n3")
    assert tuple(rows)[:3] == ends
    paired = rows["paired_difference[exact]@n1-n3"]
    first, second = (rows[f"excess_churn[exact]@n1-n3 ({word})"]["value"] for word in ("first", "second"))
    assert paired["population"] == 6
    assert paired["value"] == pytest.approx(first - second)
    assert main(["verify", str(child.path), "--parent", str(parent.path)]) == 0
    assert main(["verify", str(child.path), "--parent", str(child.path)]) == 1


def test_the_gold_stays_shut_until_the_parent_opens_it(tmp_path: Path, parent: Study) -> None:
    for step in (stages.select_questions, stages.retrieve_evidence):
        step(parent, tmp_path / "parent", CREATED)
    toml = child_toml(tmp_path)
    child = stages.freeze(toml, toml.parent / "child", CREATED)
    assert not any("gold was open" in sentence for sentence in child.protocol.limits)
    with pytest.raises(GateError, match="gate gold is still open"):
        stages.run(child, toml.parent, now)
    stages.run(parent, tmp_path / "parent", now)
    finished(child, toml.parent)
    assert results(child.path, parent.path)["C14"] == results(child.path, parent.path)["C21"] == "passed"


def test_a_parent_must_have_its_evidence_locked(tmp_path: Path, parent: Study) -> None:
    toml = child_toml(tmp_path)
    with pytest.raises(GateError, match="gate retrieval is still open"):
        stages.freeze(toml, toml.parent / "child", CREATED)
    assert not (toml.parent / "child").exists()


def test_another_parent_in_its_place_is_refused(tmp_path: Path, parent: Study) -> None:
    finished(parent, tmp_path / "parent")
    toml = child_toml(tmp_path)
    child = stages.freeze(toml, toml.parent / "child", CREATED)
    shutil.rmtree(parent.path)
    other = stages.freeze(prepare(tmp_path / "parent", questions=5), parent.path, CREATED)
    finished(other, tmp_path / "parent")
    with pytest.raises(InputError, match="the parent has another id"):
        stages.run(child, toml.parent, now)
    assert [lock.gate for lock in child.chain] == ["protocol"]


def test_a_damaged_parent_is_refused(tmp_path: Path, parent: Study) -> None:
    finished(parent, tmp_path / "parent")
    file = parent.path / PRIMARY
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b"Notice 1", b"Notice 7"))
    toml = child_toml(tmp_path)
    with pytest.raises(AuditError):
        stages.freeze(toml, toml.parent / "child", CREATED)
    assert main(["freeze", str(toml)]) == 1


@pytest.mark.parametrize("table", ["ladder", "questions", "gold", "corpus", "retrieval"])
def test_what_the_parent_decides_may_not_stand_beside_it(tmp_path: Path, table: str) -> None:
    toml = child_toml(tmp_path)
    toml.write_text(toml.read_text() + f"\n[{table}]\n")
    with pytest.raises(InputError, match=rf"taken from the parent.*found {table}"):
        read_toml(toml)


def test_only_a_collected_study_can_be_a_parent(tmp_path: Path) -> None:
    shutil.copytree(bundled.resolve("nq-400"), tmp_path / "nq-400")
    with pytest.raises(GateError, match="not made by freeze"):
        stages.freeze(child_toml(tmp_path, "nq-400"), tmp_path / "child" / "child", CREATED)
    with pytest.raises(InputError, match="no study here"):
        stages.freeze(child_toml(tmp_path, "nowhere"), tmp_path / "child" / "child", CREATED)


def test_evidence_that_is_not_the_parents_is_found(tmp_path: Path, parent: Study) -> None:
    finished(parent, tmp_path / "parent")
    toml = child_toml(tmp_path)
    child = finished(stages.freeze(toml, toml.parent / "child", CREATED), toml.parent)
    keep = {name: (child.path / name).read_bytes() for name in ("gold/nonce", COLLECTION)}
    for file in child.path.rglob("*"):
        if file.is_file():
            file.chmod(0o644)

    def change(records: dict) -> None:
        for member in (PRIMARY, AUDIT):
            records[member][0]["documents"][0]["score"] = "99.0"

    relock(child.path, change, extra=keep)
    found = {c.check_id: c for c in verify(child.path)}
    assert [c for c, result in found.items() if result.result == "failed"] == ["C21"]
    assert "evidence here" in found["C21"].detail
