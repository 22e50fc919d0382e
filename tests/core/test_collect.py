"""Collection: the whole protocol on this machine, against a fake service, and through every interruption."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit_core import calls, codec
from audit_core.adapters.fts import retrieve
from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collection import from_record, read_toml, to_record
from audit_core.errors import AuditError, GateError, InputError, NotMeasurableError, StorageError
from audit_core.prompts import JudgePacket, Passage
from audit_core.results import estimate_study
from audit_core.study import ATTEMPTS, COLLECTION, Study
from audit_core.verify import verify
from tests.support.collecting import GOLD_CANARY, messages, prepare
from tests.support.relock import relock
from tests.support.service import Scripted, Seen, Service
from tests.support.simulator import CREATED

KEY = "sk-ant-CANARY-987654321"


def now() -> str:
    return CREATED


def collected(toml: Path) -> Study:
    study = stages.freeze(toml, toml.parent / "study", CREATED)
    stages.run(study, toml.parent, now)
    estimate_study(study, created=CREATED)
    return study


def outcomes(path: Path) -> dict[str, str]:
    return {check.check_id: check.result for check in verify(path)}


def test_a_whole_audit_on_this_machine(tmp_path: Path) -> None:
    study = collected(prepare(tmp_path))
    found = outcomes(study.path)
    assert [c for c, result in found.items() if result != "passed"] == ["C12", "C18"]
    states = {c.state for d in study.dossiers() for c in d.cells}
    assert states == {"n0", "n1", "n3"}
    assert all(len(d.cells) == 6 for d in study.dossiers())
    assert stages.run(study, tmp_path, now) == []


def test_the_same_inputs_give_the_same_cells(tmp_path: Path) -> None:
    cells = []
    for name in ("a", "b"):
        study = collected(prepare(tmp_path / name))
        cells.append([(c.question_id, c.state, c.repeat) for d in study.dossiers() for c in d.cells])
        assert (study.path / "selection/questions.jsonl").is_file()
    assert cells[0] == cells[1]


def test_gates_come_in_order_and_name_the_missing_lock(tmp_path: Path) -> None:
    toml = prepare(tmp_path)
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    for step in (stages.answer_questions, stages.judge_answers):
        with pytest.raises(GateError, match="still open"):
            step(study, CREATED)
    with pytest.raises(GateError, match="judgments is still open"):
        stages.unlock_gold(study, tmp_path, CREATED)
    with pytest.raises(GateError, match="selection is still open"):
        stages.retrieve_evidence(study, tmp_path, CREATED)
    with pytest.raises(InputError, match="something is there already"):
        stages.freeze(toml, tmp_path / "study", CREATED)


def test_changed_inputs_are_refused(tmp_path: Path) -> None:
    toml = prepare(tmp_path)
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    with (tmp_path / "questions.jsonl").open("a") as stream:
        stream.write('{"question_id":"late","question":"?"}\n')
    with pytest.raises(InputError, match=r"differs from the frozen one.*questions\.jsonl"):
        stages.run(study, tmp_path, now)
    assert len(study.chain) == 1


@pytest.mark.parametrize(
    "member", ["protocol/collection.json", "selection/questions.jsonl", "retrieval/passages.jsonl"]
)
@pytest.mark.parametrize("gone", [False, True])
def test_a_changed_locked_file_stops_a_run_before_the_first_call(
    member: str, gone: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = stages.freeze(prepare(tmp_path), tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)
    stages.retrieve_evidence(study, tmp_path, CREATED)
    file = study.path / member
    changed = file.read_bytes().replace(b"fee", b"fEe").replace(b'"tries":5', b'"tries":6')
    file.unlink() if gone else file.write_bytes(changed)
    for more in ([], ["--dry-run"]):
        assert main(["run", str(study.path), *more]) == 2
        assert f"({member})" in (said := capsys.readouterr().err)
        assert said.startswith("error: a locked file is not the locked one: expected sha256 ")
    assert not (study.path / ATTEMPTS).exists()


@pytest.mark.parametrize("command", ["load", "estimate", "explore", "check-judge"])
def test_what_needs_answers_says_which_lock_an_open_study_lacks(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(stages.freeze(prepare(tmp_path), tmp_path / "study", CREATED).path)
    more = {"load": ["--db", str(tmp_path / "audit.db")], "explore": ["n1", "n3"], "estimate": [],
            "check-judge": ["--sheet", str(tmp_path / "sheet")]}[command]  # fmt: skip
    before = sorted(tmp_path.iterdir())
    assert main([command, study, *more]) == 2
    said = capsys.readouterr().err
    assert re.match(r"error: the gate \w+ is still open: expected locks/", said), said
    assert sorted(tmp_path.iterdir()) == before


def test_gold_is_out_of_reach_until_its_gate_and_must_be_the_sealed_one(tmp_path: Path) -> None:
    toml = prepare(tmp_path)
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    gold = (tmp_path / "gold.jsonl").read_text()
    (tmp_path / "gold.jsonl").unlink()
    with pytest.raises(AuditError):
        stages.run(study, tmp_path, now)
    assert [lock.gate for lock in study.chain][-1] == "judgments", "every stage before the gold runs without it"
    (tmp_path / "gold.jsonl").write_text(gold.replace(GOLD_CANARY, "another"))
    with pytest.raises(InputError, match="not the gold that was sealed"):
        stages.unlock_gold(study, tmp_path, CREATED)
    (tmp_path / "gold.jsonl").write_text(gold)
    secret = stages.nonce_file(tmp_path, study.protocol)
    assert secret.stat().st_mode & 0o077 == 0
    stages.unlock_gold(study, tmp_path, CREATED)
    assert outcomes(study.path)["C14"] == "passed"


def test_nested_states_equal_separately_built_indexes() -> None:
    rng = random.Random(2)
    words = [f"w{i}" for i in range(40)]
    shards = [
        [Passage(f"s{s}-{i}", f"Title {rng.choice(words)}", "", " ".join(rng.choices(words, k=12))) for i in range(60)]
        for s in range(7)
    ]
    shards[3] += shards[0][:10]
    questions = [(f"q{i}", " ".join(rng.choices(words, k=4)) + "?") for i in range(40)]
    reach = {"n0": 0, "n1": 1, "n3": 3, "n7": 7}
    nested = {
        (q, s): [(h.passage.document_id, h.score) for h in hits]
        for q, s, hits, _ in retrieve(shards, reach, questions, 8)
    }
    assert {s for _, s in nested} == {"n1", "n3", "n7"}
    for state, count in reach.items():
        if count:
            alone = retrieve(shards[:count], {state: count}, questions, 8)
            whole = retrieve([[p for shard in shards[:count] for p in shard]], {state: 1}, questions, 8)
            for (q, _, one, _), (_, _, other, _) in zip(alone, whole, strict=True):
                assert nested[q, state] == [(h.passage.document_id, h.score) for h in one]
                assert nested[q, state] == [(h.passage.document_id, h.score) for h in other]


def test_equal_scores_stand_in_the_order_of_the_corpus() -> None:
    first = [Passage(f"d{i}", "", "", f"the fee is {word} euros") for i, word in ((7, "six"), (3, "ten"), (9, "two"))]
    second = [Passage(f"e{i}", "", "", f"the fee is {word} euros") for i, word in ((5, "one"), (1, "six"), (0, "nil"))]
    found = {s: hits for _, s, hits, _ in retrieve([first, second], {"n1": 1, "n2": 2}, [("q", "fee euros?")], 5)}
    assert [h.passage.document_id for h in found["n1"]] == ["d7", "d3", "d9"]
    assert [h.passage.document_id for h in found["n2"]] == ["d7", "d3", "d9", "e5", "e0"], "a text is held once"
    assert len({h.score for h in found["n2"]}) == 1


@pytest.mark.parametrize("text", ["", "???", '"; DROP TABLE passage; --', "AND OR NOT NEAR", "a*b (c)", "\x00"])
def test_any_question_can_be_searched(text: str) -> None:
    shard = [Passage("d1", "", "", "and or not near drop table")]
    assert list(retrieve([shard], {"n1": 1}, [("q", text)], 3))


def scripted(seen: Seen, number: int) -> Scripted:
    prompt = seen.body["messages"][0]["content"]
    if "<data " in prompt:
        size = len(json.loads(prompt.partition("<data ")[2].partition("\n")[2].rpartition("\n</data")[0])["answers"])
        labels = [[i, j, int((i + j) % 2)] for i in range(size) for j in range(i + 1, size)]
        return Scripted(text=json.dumps({"labels": labels}))
    faults = [
        Scripted(status=500),
        Scripted(reset=True),
        Scripted(cut_at=9),
        Scripted(body=b"<html>"),
        Scripted(status=429),
    ]
    return faults[number % 5] if number % 3 == 0 else Scripted(text=f"answer {len(prompt) % 4}")


def test_a_service_with_faults_every_call_on_disk_first_and_no_canary_leaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)

    def on_disk(seen: Seen) -> None:
        """The start record of this very request is on disk when it arrives."""
        digest = codec_digest(seen.body)
        for ledger in (tmp_path / "study").rglob("attempts.jsonl"):
            starts = [json.loads(line) for line in ledger.read_bytes().split(b"\n")[:-1]]
            if any(r["kind"] == "start" and r["request_sha256"] == digest for r in starts):
                return
        raise AssertionError("a call without a start record")

    with Service(scripted, on_disk) as service:
        toml = prepare(tmp_path, generation=messages(service.url), judging=messages(service.url, "judge-1"))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        stages.answer_questions(study, CREATED, pause=lambda _: None)
        stages.judge_answers(study, CREATED, pause=lambda _: None)
        stages.unlock_gold(study, tmp_path, CREATED)
        assert service.faults == []
        seen = list(service.seen)
    estimate_study(study, created=CREATED)
    found = outcomes(study.path)
    assert [c for c, result in found.items() if result != "passed"] == ["C18"]
    answers = [json.loads(line) for line in (study.path / ATTEMPTS).read_bytes().split(b"\n")[:-1]]
    judged = [
        json.loads(line) for line in (study.path / "judgments/primary/attempts.jsonl").read_bytes().split(b"\n")[:-1]
    ]
    starts = [r for r in answers + judged if r["kind"] == "start"]
    assert len(starts) == len(seen), "calls seen are the attempts started"
    assert len({r["attempt"] for r in starts}) == len(starts)
    assert {r["outcome"] for r in answers if r["kind"] == "end"} >= {
        "accepted",
        "http_retryable",
        "transport_error",
        "transport_invalid",
    }
    counts = next(lock.counts for lock in study.chain if lock.gate == "answers")
    ends = [r["outcome"] for r in answers if r["kind"] == "end"]
    for outcome in set(ends):
        assert counts[outcome] == ends.count(outcome), "the lock counts attempts by outcome"
    bodies = json.dumps([s.body for s in seen])
    assert GOLD_CANARY not in bodies
    packets = [s.body["messages"][0]["content"] for s in seen if "<data " in s.body["messages"][0]["content"]]
    for packet in packets:
        for word in ("doccanary", "n0", "n1", "n3", "repeat", "euros, refunds"):
            assert word not in packet
    for file in study.path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes()


def codec_digest(body: dict) -> str:
    from audit_core.digests import canonical, sha256

    return sha256(canonical(body))


def test_a_judge_packet_has_no_field_for_what_the_judge_must_not_see() -> None:
    assert JudgePacket.__slots__ == ("question", "answers")


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ('{"labels": [[0, 1, 1], [0, 2, 0], [1, 2, 0]]}', True),
        ('```json\n{"labels": [[0, 1, 1], [0, 2, 0], [1, 2, 1]]}\n```', True),
        ('{"labels": [[0, 1, 1], [0, 2, 0]]}', False),
        ('{"labels": [[0, 1, 1], [0, 1, 0], [1, 2, 0]]}', False),
        ('{"labels": [[0, 1, 2], [0, 2, 0], [1, 2, 0]]}', False),
        ('{"labels": [[1, 0, 1], [0, 2, 0], [1, 2, 0]]}', False),
        ("same", False),
        ('{"labels": "same"}', False),
        ("[]", False),
        ('{"labels": [[0, 1, true], [0, 2, 0], [1, 2, 0]]}', False),
        ('All good. {"labels": [[0, 1, 1], [0, 2, 0], [1, 2, 0]]}', False),
    ],
)
def test_judge_replies_are_valid_or_not_never_guessed(reply: str, valid: bool) -> None:
    from audit_core.outcomes import Reading

    slots = (("n1", 1), ("n1", 2), ("n3", 1))
    found = calls.judgment_of("q1", slots, "seed", calls.Accepted(Reading("accepted", "ANSWER", reply), 1))
    assert (found is not None) is valid
    if found:
        assert [label[:2] for label in found.labels] == [(0, 1), (0, 2), (1, 2)]


def test_packets_are_shuffled_by_the_seed_and_turned_back(tmp_path: Path) -> None:
    from audit_core.outcomes import Reading
    from audit_core.prompts import packet_order

    slots = tuple(("n1", r) for r in range(5))
    order = packet_order("seed", "q1", 5)
    assert sorted(order) == list(range(5))
    assert order != packet_order("other", "q1", 5) or order != packet_order("seed", "q2", 5)
    labels = [[i, j, int({order[i], order[j]} == {0, 3})] for i in range(5) for j in range(i + 1, 5)]
    found = calls.judgment_of(
        "q1", slots, "seed", calls.Accepted(Reading("accepted", "ANSWER", json.dumps({"labels": labels})), 1)
    )
    assert found is not None
    assert [label[:2] for label in found.labels if label[2]] == [(0, 3)]


@pytest.mark.parametrize(
    ("script", "error", "match"),
    [
        (lambda _s, _n: Scripted(status=401), StorageError, "refused the request"),
        (lambda _s, _n: Scripted(status=500), StorageError, "keeps failing|could not be answered"),
        (lambda _s, _n: Scripted(status=429, headers={"retry-after": "3600"}), StorageError, "asks to wait 3600 s"),
        (lambda _s, n: Scripted(model=f"small-{n // 3}"), StorageError, "another model answered"),
    ],
)
def test_a_run_stops_with_a_reason_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: object, error: type[AuditError], match: str
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service(script) as service:  # type: ignore[arg-type]
        toml = prepare(tmp_path, generation=messages(service.url, tries=20))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        with pytest.raises(error, match=match):
            stages.answer_questions(study, CREATED, pause=lambda _: None)
        assert len(service.seen) <= 36
    assert len(study.chain) == 3, "nothing was locked"


def test_the_budget_stops_before_it_is_exceeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service() as service:
        toml = prepare(tmp_path, generation=messages(service.url), budget="calls = 7")
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        for _ in range(2):
            with pytest.raises(NotMeasurableError, match="budget of calls is used up"):
                stages.answer_questions(study, CREATED)
        assert len(service.seen) == 7


def test_the_budget_is_the_whole_studys_and_a_judge_draws_from_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service() as service:
        toml = prepare(tmp_path, generation=messages(service.url), judging=messages(service.url, "judge-1"),
                       budget="calls = 39")  # fmt: skip
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        for _ in range(2):
            with pytest.raises(NotMeasurableError, match=r"budget of calls is used up.*39"):
                stages.run(Study(study.path), tmp_path, now)
        assert len(service.seen) == 39 == 6 * 3 * 2 + 3
    assert [lock.gate for lock in Study(study.path).chain][-1] == "answers"


def test_a_judge_in_this_process_uses_no_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service() as service:
        toml = prepare(tmp_path, generation=messages(service.url), judging='adapter = "lexical"', budget="calls = 36")
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.run(study, tmp_path, now)
    assert Study(study.path).chain[-1].gate == "gold"


def test_without_a_key_one_line_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUDIT_TEST_KEY", raising=False)
    study = stages.freeze(prepare(tmp_path, generation=messages("http://127.0.0.1:9")), tmp_path / "study", CREATED)
    with pytest.raises(InputError, match=r"no key for the service.*extractive"):
        stages.run(study, tmp_path, now)


def test_two_collectors_are_one_too_many(tmp_path: Path) -> None:
    from audit_core.collect.attempts import Attempts
    from audit_core.tally import Slots

    study = stages.freeze(prepare(tmp_path), tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)
    stages.retrieve_evidence(study, tmp_path, CREATED)
    with (
        Attempts(study.path / ATTEMPTS, study.chain[-1].sha256, "other", Slots([])),
        pytest.raises(StorageError, match="another process"),
    ):
        stages.answer_questions(study, CREATED)
    stages.answer_questions(study, CREATED)


RUNNER = """
import sys, os
from pathlib import Path
from audit_core.collect import stages
from audit_core.study import Study
os.environ["AUDIT_TEST_KEY"] = "sk-ant-CANARY-987654321"
folder = Path(sys.argv[1])
stages.run(Study(folder / "study"), folder, lambda: "2026-01-31T09:00:00Z")
"""


def test_killed_collectors_lose_and_double_nothing(tmp_path: Path) -> None:
    """Killed again and again while it collects; every call seen is an attempt, every cell is accepted once."""
    rng = random.Random(7)
    with Service(lambda _s, _n: Scripted(delay=0.02)) as service:
        toml = prepare(tmp_path, generation=messages(service.url, concurrency=2))
        stages.freeze(toml, tmp_path / "study", CREATED)
        kills = 0
        for _ in range(40):
            process = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path)], stderr=subprocess.PIPE)
            until = len(service.seen) + rng.randint(1, 6)
            while process.poll() is None and len(service.seen) < until:
                time.sleep(0.003)
            time.sleep(rng.random() * 0.05)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            _, errors = process.communicate()
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, errors
        seen = len(service.seen)
    assert kills >= 5
    study = Study(tmp_path / "study")
    assert [lock.gate for lock in study.chain][-1] == "gold"
    with (study.path / ATTEMPTS).open("rb") as stream:
        records = [json.loads(line) for line in stream]
    starts = [r for r in records if r["kind"] == "start"]
    ends = {r["attempt"]: r["outcome"] for r in records if r["kind"] == "end"}
    assert len(ends) == len(starts), "every call has an end"
    assert len(starts) >= seen, "no call without an earlier record"
    assert sum(outcome == "accepted" for outcome in ends.values()) == 6 * 3 * 2
    assert outcomes(study.path)["C19"] == outcomes(study.path)["C20"] == "passed"
    print(f"{kills} kills, {len(starts)} attempts, {seen} calls seen, {6 * 3 * 2} cells")


def test_a_study_whose_calls_are_under_way_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    with Service() as service:
        toml = prepare(tmp_path, generation=messages(service.url), budget="calls = 7")
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        with pytest.raises(NotMeasurableError):
            stages.run(study, tmp_path, now)
    found = {check.check_id: check for check in verify(study.path)}
    assert not [check for check in found.values() if check.result == "failed"]
    assert found["C04"].result == "could not check"
    assert ATTEMPTS in found["C04"].detail
    (study.path / "answers" / "cells.jsonl").touch()
    assert outcomes(study.path)["C04"] == "failed", "no lock covers cells before their gate"


def test_status_can_be_read_while_another_process_writes(tmp_path: Path) -> None:
    study = stages.freeze(prepare(tmp_path), tmp_path / "study", CREATED)
    assert stages.status(study)["next"] == "selection"
    stages.run(study, tmp_path, now)
    facts = stages.status(Study(study.path))
    assert (facts["next"], facts["accepted"], facts["calls"], facts["cells"]) == ("results", 36, 36, 36)


MUTATIONS = {
    "an outcome relabelled": (
        "C19",
        ATTEMPTS,
        lambda r: next(x for x in r if x["kind"] == "end").update(outcome="http_retryable"),
    ),
    "another request": ("C19", ATTEMPTS, lambda r: r[0].update(request_sha256="d" * 64)),
    "an end removed": ("C19", ATTEMPTS, lambda r: r.pop(next(i for i, x in enumerate(r) if x["kind"] == "end"))),
    "an attempt used twice": ("C19", ATTEMPTS, lambda r: r.append(dict(r[0]))),
    "an answer that no call gave": ("C20", "answers/cells.jsonl", lambda r: r[4].update(answer="made up")),
    "a cell left out": ("C20", "answers/cells.jsonl", lambda r: r.pop(5)),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_of_calls_is_caught(name: str, tmp_path: Path) -> None:
    check, member, change = MUTATIONS[name]
    study = collected(prepare(tmp_path))
    nonce = (study.path / "gold/nonce").read_bytes()
    collection = (study.path / COLLECTION).read_bytes()
    for file in study.path.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    relock(
        study.path,
        lambda records: change(records[member]),
        extra={"gold/nonce": nonce, COLLECTION: collection},
        counts=lambda c: c["answers"].update(attempts=c["answers"]["attempts"]),
    )
    found = outcomes(study.path)
    failed = {c for c, result in found.items() if result == "failed"}
    assert check in failed
    assert failed <= {"C19", "C20"}, found


def test_a_lock_that_counts_attempts_which_the_ledger_lacks_is_caught(tmp_path: Path) -> None:
    study = collected(prepare(tmp_path))
    kept = {name: (study.path / name).read_bytes() for name in ("gold/nonce", COLLECTION)}
    for file in study.path.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    relock(study.path, lambda _: None, extra=kept, counts=lambda c: c["answers"].update(interrupted=3))
    assert [c for c, result in outcomes(study.path).items() if result == "failed"] == ["C20"]


def test_protocol_faults_come_all_at_once(tmp_path: Path) -> None:
    toml = prepare(tmp_path)
    text = toml.read_text()
    toml.write_text(
        text.replace("repeats = 2 ", "repeats = 1 ")
        .replace('margin = "0.03"', "margin = 0.03")
        .replace("depth = 8", "depth = 0")
        .replace("[budget]", "[budget]\nsurprise = 1")
        .replace('normalization = "nq_open/1"', 'normalization = "mine"')
        .replace("shards = 3 }", "shards = 9 }")
    )
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    for word in ("repeats", "margin", "depth", "surprise", "normalization", "reaches more shards"):
        assert word in str(caught.value)
    toml.write_text("")
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    for word in ("id", "title", "generator", "states", "file", "count", "shards", "adapter"):
        assert f"{word} is missing" in str(caught.value)
    for broken in ("", "[study", "id = 1", text.replace("[ladder]", "[rungs]")):
        toml.write_text(broken)
        with pytest.raises(InputError):
            read_toml(toml)


@pytest.mark.parametrize("value", ["{ heat = 0.5 }", '{ model = "other" }', "{ stream = true }", "[]", '"effort"'])
def test_parameters_that_cannot_be_sent_as_they_are_are_refused(tmp_path: Path, value: str) -> None:
    toml = prepare(tmp_path)
    toml.write_text(toml.read_text().replace("concurrency = 1", f"concurrency = 1\nparameters = {value}"))
    with pytest.raises(InputError, match="parameters is not what it must be"):
        read_toml(toml)


def test_parameters_and_temperature_reach_the_service_and_are_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    more = 'parameters = { output_config = { effort = "low" } }\ntemperature = "0.5"'
    with Service(lambda _s, _n: Scripted()) as service:
        toml = prepare(tmp_path, questions=2, generation=messages(service.url) + "\n" + more)
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.run(study, tmp_path, now)
        bodies = [seen.body for seen in service.seen if seen.path == "/v1/messages"]
    assert len(bodies) == 2 * 3 * 2
    assert all(b["output_config"] == {"effort": "low"} and b["temperature"] == 0.5 for b in bodies)
    assert outcomes(study.path)["C19"] == "passed"


def test_collection_round_trip(tmp_path: Path) -> None:
    _, collection = read_toml(prepare(tmp_path))
    assert from_record(codec.decode(codec.encode(to_record(collection)))) == collection


def test_the_verifier_needs_no_client_of_the_service(tmp_path: Path) -> None:
    study = collected(prepare(tmp_path))
    code = (
        "import sys\nfrom audit_core.cli import main\ncode = main(['verify', sys.argv[1], '--json'])\n"
        "assert not {'anthropic', 'httpx2', 'socket', 'ssl'} & set(sys.modules), sorted(sys.modules)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(study.path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_moved_study_still_verifies(tmp_path: Path) -> None:
    study = collected(prepare(tmp_path))
    shutil.move(study.path, tmp_path / "elsewhere")
    assert "failed" not in outcomes(tmp_path / "elsewhere").values()
