"""A second judge: labels a hash sample after the first one is locked, under a later lock, and is compared with it."""

from __future__ import annotations

import json
from itertools import combinations
from math import ceil
from pathlib import Path

import pytest

from audit_core import codec
from audit_core.adapters import lexical
from audit_core.calls import transitive
from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collection import from_record, read_toml, to_record
from audit_core.errors import AuditError, InputError
from audit_core.results import estimate_study
from audit_core.study import COLLECTION, LATER, Study, attempts_of, controls_of, judgments_of
from audit_core.verify import verify
from tests.core.test_controls import KEY, packet_of
from tests.support.chat import Chat
from tests.support.collecting import prepare
from tests.support.relock import relock
from tests.support.service import Scripted, Seen
from tests.support.simulator import CREATED

OFFLINE = 'adapter = "lexical"'


def second(toml: Path, *lines: str) -> Path:
    toml.write_text(toml.read_text().replace("[estimation]", "\n".join(["[second_judge]", *lines, "", "[estimation]"])))
    return toml


def service_of(url: str) -> list[str]:
    return ['adapter = "openai"', 'model = "other-1"', f'base_url = "{url}"', 'key_variable = "AUDIT_TEST_KEY"']


def strict(seen: Seen, _number: int) -> Scripted:
    """Same only where the offline judge says so and the texts are equal."""
    question, answers = packet_of(seen)
    pairs = combinations(range(len(answers)), 2)
    return Scripted(text=json.dumps({"labels": [[i, j, int(answers[i] == answers[j])] for i, j in pairs]}))


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    return {check.check_id: (check.result, check.detail) for check in verify(path)}


def collect(toml: Path) -> Study:
    study = stages.freeze(toml, toml.parent / "study", CREATED)
    stages.run(study, toml.parent, lambda: CREATED)
    return study


def test_a_second_family_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Chat(strict) as service:
        toml = second(
            prepare(tmp_path, judging=f"{OFFLINE}\ncontrols = true"), *service_of(service.url), 'share = "0.4"'
        )
        study = collect(toml)
        assert len(service.seen) == ceil(0.4 * 6) + 40
        for seen in service.seen:
            prompt = seen.body["messages"][0]["content"]
            assert not any(word in prompt for word in ("doccanary", "goldcanary", '"n1"', "primary"))
    estimate_study(study, created=CREATED)
    judgments, gold = study.chain[4], study.chain[5]
    assert not any("second" in member or "supplement" in member for member in judgments.files)
    assert {judgments_of("second", LATER), attempts_of("second", LATER), controls_of("second", LATER)} < set(gold.files)
    assert gold.counts["second_labels"] == 3 * 15
    assert (gold.counts["second_invalid"], gold.counts["second_controls"]) == (0, 40)
    assert judgments.counts["labels"] == 6 * 15
    labelled = [d for d in study.dossiers() if "second" in d.judgments]
    assert len(labelled) == 3
    found = outcomes(study.path)
    assert [c for c, (result, _) in found.items() if result == "failed"] == []
    assert "second: 3 of 6 questions" in found["C12"][1]
    names = {e["name"]: e for e in (study.results() or {})["estimates"]}
    assert names["judge_agreement[second]"]["value"]
    assert "judge_kappa[second]" in names
    assert "excess_churn[semantic:second]@n1-n3" in names
    assert main(["run", str(study.path)]) == 0
    out = capsys.readouterr().out
    assert f"controls {judgments.counts['controls_right']} of 40 right" in out
    assert f"second judge: controls {gold.counts['second_controls_right']} of 40 right" in out
    assert main(["estimate", str(study.path), "--print"]) == 0
    out = capsys.readouterr().out
    assert lexical.description() in out
    assert "openai other-1, on a hash sample of 0.4 of the questions" in out


def test_the_offline_judge_as_the_second_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Chat(strict) as service:
        toml = second(prepare(tmp_path, judging="\n".join(service_of(service.url))), OFFLINE)
        study = collect(toml)
    assert study.protocol.judges[1].description == lexical.description()
    assert study.chain[5].counts["second_labels"] == study.chain[4].counts["labels"] == 6 * 15
    assert outcomes(study.path)["C20"][0] == "passed"
    for dossier in study.dossiers():
        labels = dossier.judgments["second"].labels
        slots = {(c.state, c.repeat): c.answer for c in dossier.cells}
        texts = [slots[slot] for slot in dossier.judgments["second"].slots]
        assert labels == tuple(
            (i, j, int(lexical.same(dossier.question.text or "", texts[i] or "", texts[j] or ""))) for i, j, _ in labels
        )


def test_a_stop_between_the_judges_resumes_and_gold_stays_shut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)

    def script(seen: Seen, number: int) -> Scripted:
        return Scripted(status=401) if number == 3 else strict(seen, number)

    with Chat(script) as service:
        toml = second(prepare(tmp_path, judging=OFFLINE), *service_of(service.url))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        with pytest.raises(AuditError, match="refused"):
            stages.run(study, tmp_path, lambda: CREATED)
        assert [lock.gate for lock in study.chain][-1] == "judgments"
        assert not (study.path / "gold").exists()
        stages.run(Study(study.path), tmp_path, lambda: CREATED)
        assert len(service.seen) == 7
    assert stages.status(Study(study.path))["second_judge"]["accepted"] == 6
    assert outcomes(study.path)["C19"][0] == "passed"


@pytest.mark.parametrize("text", ['{"labels": []}', "same", '{"labels": [[0, 1, 2]]}', ""])
def test_invalid_packets_are_counted_and_never_guessed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)

    def script(seen: Seen, number: int) -> Scripted:
        return Scripted(text=text) if number == 2 else strict(seen, number)

    with Chat(script) as service:
        study = collect(second(prepare(tmp_path, judging=OFFLINE), *service_of(service.url)))
    assert study.chain[5].counts["second_invalid"] == 1
    assert sum("second" in d.judgments for d in study.dossiers()) == 5
    assert outcomes(study.path)["C20"][0] == "passed"


def test_nontransitive_labels_are_kept_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)

    def script(seen: Seen, number: int) -> Scripted:
        size = len(packet_of(seen)[1])
        chain = [[i, j, int(j == i + 1)] for i, j in combinations(range(size), 2)]
        return Scripted(text=json.dumps({"labels": chain})) if number <= 2 else strict(seen, number)

    with Chat(script) as service:
        study = collect(second(prepare(tmp_path, judging=OFFLINE), *service_of(service.url)))
    assert study.chain[5].counts["second_nontransitive"] == 2
    kept = [d.judgments["second"] for d in study.dossiers() if not transitive(d.judgments["second"])]
    assert len(kept) == 2
    assert all(sum(same for *_, same in judgment.labels) == 5 for judgment in kept)


def test_a_forged_sample_is_found(tmp_path: Path) -> None:
    """Labels of a question that the sample leaves out, with the lock made anew."""
    study = collect(second(prepare(tmp_path, judging='adapter = "lexical"'), OFFLINE, 'share = "0.5"'))
    estimate_study(study, created=CREATED)
    member = judgments_of("second", LATER)
    chosen = {d.question.question_id for d in study.dossiers() if "second" in d.judgments}
    primary = {d.question.question_id: d.judgments["primary"] for d in study.dossiers()}
    order = [q.question_id for q in study.questions()]
    kept = {name: (study.path / name).read_bytes() for name in ("gold/nonce", COLLECTION)}
    for file in study.path.rglob("*"):
        if file.is_file():
            file.chmod(0o644)

    def change(records: dict[str, list[codec.Record]]) -> None:
        more = codec.from_judgment(primary[next(q for q in order if q not in chosen)])
        records[member] = sorted([*records[member], more], key=lambda r: order.index(r["question_id"]))

    relock(study.path, change, extra=kept)
    failed = {c: detail for c, (result, detail) in outcomes(study.path).items() if result == "failed"}
    assert set(failed) == {"C20"}, failed
    assert "which was not asked about it" in failed["C20"]


def test_a_dry_run_counts_the_second_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = second(prepare(tmp_path, judging=f"{OFFLINE}\ncontrols = true"), OFFLINE, 'share = "0.5"')
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    assert main(["run", str(study.path), "--dry-run", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)["left"]
    assert (before["judging"]["calls"], before["second_judge"]["calls"]) == (6 + 40, 3 + 40)
    assert main(["run", str(study.path)]) == 0
    capsys.readouterr()
    assert main(["run", str(study.path), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left"] == {}
    counts = Study(study.path).chain[5].counts
    assert counts["second_attempts"] + counts["second_controls"] == before["second_judge"]["calls"]


def test_faults_of_the_table_come_all_at_once(tmp_path: Path) -> None:
    toml = second(prepare(tmp_path), 'adapter = "openai"', "share = 0.5", "surprise = 1")
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    for word in ("share", "base_url", "model is missing", "surprise", "a second judge needs a first"):
        assert word in str(caught.value)


def test_collection_round_trip(tmp_path: Path) -> None:
    _, collection = read_toml(second(prepare(tmp_path, judging=OFFLINE), OFFLINE, 'share = "0.25"'))
    assert from_record(codec.decode(codec.encode(to_record(collection)))) == collection
    assert collection.second is not None
    assert collection.second.max_tokens == collection.judging.max_tokens == 4096
    old = to_record(collection)
    for name in ("second", "share", "controls"):
        del old[name]
    assert from_record(old).second is None
