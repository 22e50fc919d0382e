"""Message Batches: the cells of single calls, and nothing accepted, lost or doubled whatever the service does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from audit_core.adapters.batches import BatchError, Batches
from audit_core.collect import stages
from audit_core.errors import AuditError, InputError, NotMeasurableError, StorageError
from audit_core.ledger import payload
from audit_core.outcomes import Reply
from audit_core.results import estimate_study
from audit_core.study import ATTEMPTS, CELLS, Study
from audit_core.verify import verify
from tests.support.batches import BatchService, joined
from tests.support.collecting import messages, prepare
from tests.support.relock import relock
from tests.support.service import Scripted, Seen, Service
from tests.support.simulator import CREATED

KEY = "sk-ant-CANARY-13579"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)


def told(seen: Seen, _number: int) -> Scripted:
    """An answer that the request alone decides; a judge's labels where a packet is asked for."""
    prompt = seen.body["messages"][0]["content"]
    if "<data " in prompt:
        size = len(json.loads(prompt.partition("<data ")[2].partition("\n")[2].rpartition("\n</data")[0])["answers"])
        pairs = [[i, j, (i + j) % 2] for i in range(size) for j in range(i + 1, size)]
        return Scripted(text=json.dumps({"labels": pairs}))
    text = ["Paris", "UNKNOWN", "", "zwölf €", "a \ud83d b", "x" * 600][len(prompt) % 6]
    return Scripted(text=text, stop_reason="refusal" if len(prompt) % 11 == 0 else "end_turn")


def ready(folder: Path, url: str, **more: Any) -> Study:
    more = {"transport": '"batch"', "batch_size": 10, **more}
    toml = prepare(folder, generation=messages(url, **more), budget=more.pop("budget", ""))
    study = stages.freeze(toml, folder / "study", CREATED)
    stages.select_questions(study, folder, CREATED)
    stages.retrieve_evidence(study, folder, CREATED)
    return study


def answered(study: Study) -> None:
    stages.answer_questions(study, CREATED, pause=lambda _: None)


def records(study: Study, member: str = ATTEMPTS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (study.path / member).read_bytes().split(b"\n")[:-1]]


def outcomes(study: Study) -> dict[str, int]:
    return dict(Counter(r["outcome"] for r in records(study) if r["kind"] == "end"))


def sound(study: Study) -> None:
    failed = [c for c in verify(study.path) if c.result == "failed"]
    assert not failed, failed
    found = {c.check_id: c.result for c in verify(study.path)}
    assert (found["C19"], found["C20"]) == ("passed", "passed")
    assert KEY.encode() not in b"".join(f.read_bytes() for f in study.path.rglob("*") if f.is_file())


def test_both_transports_give_the_same_cells_and_labels(tmp_path: Path) -> None:
    found = {}
    for transport, fake in (("calls", Service), ("batch", BatchService)):
        with fake(told) as service:
            folder = tmp_path / transport
            settings: dict[str, Any] = {"transport": f'"{transport}"', "batch_size": 7}
            toml = prepare(
                folder,
                generation=messages(service.url, **settings),
                judging=messages(service.url, "judge-1", **settings),
            )
            study = stages.freeze(toml, folder / "study", CREATED)
            stages.select_questions(study, folder, CREATED)
            stages.retrieve_evidence(study, folder, CREATED)
            answered(study)
            stages.judge_answers(study, CREATED, pause=lambda _: None)
            stages.unlock_gold(study, folder, CREATED)
            assert service.faults == []
            assert len(service.seen) == 36 + 6
            if isinstance(service, BatchService):
                assert [len(b["answers"]) for b in service.batches.values()] == [7, 7, 7, 7, 7, 1, 6]
        estimate_study(study, created=CREATED)
        sound(study)
        found[transport] = [
            [payload(r) for r in records(study, member)] for member in (CELLS, "judgments/primary/cells.jsonl")
        ]
    assert found["calls"] == found["batch"]
    assert len(found["batch"][0]) == 36


def test_every_call_and_its_batch_are_on_disk_before_it_is_made(tmp_path: Path) -> None:
    def on_disk(_seen: Seen) -> None:
        held = [json.loads(line) for line in (tmp_path / "study" / ATTEMPTS).read_bytes().split(b"\n")[:-1]]
        assert sum(r["kind"] == "start" for r in held) >= len(service.seen)
        assert held[-1]["kind"] == "batch"
        starts = [r["attempt"] for r in held if r["kind"] == "start"][-len(held[-1]["items"]) :]
        assert held[-1]["items"] == starts

    with BatchService(told, on_arrival=on_disk) as service:
        study = ready(tmp_path, service.url)
        answered(study)
        assert service.faults == []
    kinds = Counter(r["kind"] for r in records(study))
    assert kinds == {"start": 36, "end": 36, "batch": 4, "created": 4}
    for record in records(study):
        for item in record.get("items", []):
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item)
    sound(study)


def test_what_a_batch_did_not_answer_is_asked_again_in_the_next(tmp_path: Path) -> None:
    def script(seen: Seen, number: int) -> Scripted:
        faults = [
            Scripted(fate="expired"),
            Scripted(fate="canceled"),
            Scripted(status=529),
            Scripted(status=429),
            Scripted(stop_reason=None),
        ]
        return faults[number % 5] if number % 3 == 0 else Scripted()

    with BatchService(script) as service:
        study = ready(tmp_path, service.url)
        answered(study)
        assert len(service.seen) == sum(outcomes(study).values())
    found = outcomes(study)
    assert found.keys() == {"accepted", "http_retryable", "transport_error", "transport_invalid"}
    assert found["accepted"] == 36
    sound(study)


def test_a_cell_that_no_batch_answers_stops_the_run(tmp_path: Path) -> None:
    stuck: list[Any] = []

    def script(seen: Seen, _number: int) -> Scripted:
        stuck.append(seen.body)
        return Scripted(fate="expired") if seen.body == stuck[0] else Scripted()

    with BatchService(script) as service:
        study = ready(tmp_path, service.url, tries=3)
        with pytest.raises(StorageError, match="an answer within 3 tries"):
            answered(study)
    assert len(study.chain) == 3


def test_an_invalid_request_stops_the_run_and_the_rest_of_its_batch_is_kept(tmp_path: Path) -> None:
    with BatchService(lambda _s, n: Scripted(status=400) if n == 4 else Scripted()) as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match=r"refused the request.*HTTP 400 \(invalid_request_error\)"):
            answered(study)
        assert outcomes(study) == {"accepted": 9, "config_error": 1}
        answered(study)
        assert len(service.seen) == 37
    sound(study)


def test_two_models_in_a_batch_stop_the_run(tmp_path: Path) -> None:
    with BatchService(lambda _s, n: Scripted(model=f"small-{n // 7}")) as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="another model answered"):
            answered(study)


def _twice(lines: list[dict[str, Any]], n: int) -> bytes:
    return joined([*lines, lines[0]] if n == 1 else lines)


def _cut(lines: list[dict[str, Any]], n: int) -> bytes:
    return joined(lines)[:-30] if n == 1 else joined(lines)


def _short(lines: list[dict[str, Any]], n: int) -> bytes:
    return joined(lines[1:] if n == 1 else lines)


def _foreign(lines: list[dict[str, Any]], n: int) -> bytes:
    return joined([{**lines[0], "custom_id": "other"}, *lines[1:]] if n == 1 else lines)


def _loose(lines: list[dict[str, Any]], n: int) -> bytes:
    return joined(lines).replace(b'"end_turn"', b'"end_turn","x":NaN') if n == 1 else joined(lines)


@pytest.mark.parametrize("change", [_twice, _cut, _short, _foreign, _loose])
def test_results_are_taken_in_only_when_complete(tmp_path: Path, change: Any) -> None:
    with BatchService(told) as service:
        service.results = change
        study = ready(tmp_path, service.url)
        answered(study)
        assert service.asked.count("results") == 5, "fetched once more, and not asked of the model again"
        assert len(service.seen) == 36
    sound(study)


@pytest.mark.parametrize("change", [_twice, _cut, _short, _foreign, _loose])
def test_results_that_never_are_complete_stop_the_run_with_nothing_accepted(tmp_path: Path, change: Any) -> None:
    with BatchService(told) as service:
        service.results = lambda lines, _n: change(lines, 1)
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="keeps failing"):
            answered(study)
        assert outcomes(study) == {}
        service.results = lambda lines, _n: joined(lines)
        answered(study)
        assert len(service.seen) == 36, "the batch was found again, not made again"
    sound(study)


def test_counts_that_disagree_are_not_complete(tmp_path: Path) -> None:
    with BatchService(told) as service:
        service.describe = lambda batch, _: {
            **batch, "request_counts": {**batch["request_counts"], "expired": 1, "succeeded": 9}
        } if batch["results_url"] else batch  # fmt: skip
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="not complete"):
            answered(study)
        assert outcomes(study) == {}


def test_the_key_never_goes_to_another_origin(tmp_path: Path) -> None:
    with BatchService(told) as service, Service() as trap:
        service.describe = lambda batch, _: {**batch, "results_url": batch["results_url"] and f"{trap.url}/x"}
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="another origin, and the key must not go there"):
            answered(study)
        assert trap.seen == []
        assert outcomes(study) == {}
        service.describe = lambda batch, _: batch
        answered(study)
        assert len(service.seen) == 36
    sound(study)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://api.example.com/v1/x", True),
        ("https://api.example.com:443/v1/x", True),
        ("http://api.example.com/v1/x", False),
        ("https://api.example.com.evil.net/x", False),
        ("https://api.example.com@evil.net/x", False),
        ("https://user@api.example.com/x", False),
        ("https://api.example.com:444/x", False),
        ("//evil.net/x", False),
        ("/v1/x", False),
        ("https://api.example.com:x/", False),
    ],
)
def test_origins(url: str, same: bool) -> None:
    from audit_core.adapters.batches import _same_origin

    assert _same_origin(url, "https://api.example.com/gateway") is same


@pytest.mark.parametrize(
    ("plan", "keeps"),
    [
        (Scripted(reset=True), True),
        (Scripted(cut_at=12), True),
        (Scripted(status=500), True),
        (Scripted(body=b"<html>"), True),
        (Scripted(reset=True), False),
        (Scripted(status=529), False),
        (Scripted(status=429, headers={"retry-after": "1"}), False),
    ],
)
def test_nobody_knows_whether_a_batch_was_made(tmp_path: Path, plan: Scripted, keeps: bool) -> None:
    """It is looked for before another one is made: no call is made twice, and none is lost."""
    with BatchService(told) as service:
        service.create = lambda n: (plan, keeps) if n == 2 else (None, True)
        study = ready(tmp_path, service.url)
        answered(study)
        assert len(service.seen) == 36
        assert len(service.batches) == 4
    kinds = Counter(r["kind"] for r in records(study))
    assert kinds["batch"] == (4 if keeps else 5)
    assert kinds["start"] == (36 if keeps else 46)
    sound(study)


def test_a_refused_batch_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    with BatchService(told) as service:
        service.create = lambda _n: (Scripted(status=401), False)
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match=r"refused the request.*HTTP 401"):
            answered(study)
        assert outcomes(study) == {"config_error": 10}
        service.create = lambda _n: (None, True)
        answered(study)
        assert len(service.seen) == 36
    sound(study)


RUNNER = """
import os, sys
from pathlib import Path
from audit_core.collect import stages
from audit_core.study import Study
os.environ["AUDIT_TEST_KEY"] = "sk-ant-CANARY-13579"
stages.answer_questions(Study(Path(sys.argv[1])), "2026-01-31T09:00:00Z", pause=lambda _: None)
"""


@pytest.mark.parametrize("other", [False, True], ids=["alone", "beside another batch of the same size"])
@pytest.mark.parametrize("when", ["made", "never made", "awaited", "half taken in"])
def test_a_batch_is_found_again_after_a_crash(tmp_path: Path, when: str, other: bool) -> None:
    with BatchService(told) as service:
        study = ready(tmp_path, service.url, batch_size=36)
        process: subprocess.Popen[bytes] | None = None

        def die() -> None:
            assert process is not None
            process.kill()
            process.wait()

        def create(_n: int) -> tuple[Scripted | None, bool]:
            if when == "never made":
                die()
                return Scripted(reset=True), False
            return Scripted(on_send=die, reset=True) if when == "made" else None, True

        def describe(batch: dict[str, Any], polled: int) -> dict[str, Any]:
            if when == "awaited" and polled == 2:
                die()
            return batch

        service.create, service.describe = create, describe
        if when == "half taken in":
            study.path.joinpath("answers").mkdir()
            _half(study, service)
        else:
            process = subprocess.Popen([sys.executable, "-c", RUNNER, str(study.path)], stderr=subprocess.PIPE)
            process.communicate()
            assert process.returncode == -9
        if other:
            request = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "else"}]}
            service.create = lambda _n: (None, True)
            body = {"requests": [{"custom_id": f"other-{i}", "params": request} for i in range(36)]}
            service.plan(Seen("/v1/messages/batches", {}, body))
            del service.seen[-36:]
        service.create, service.describe = lambda _n: (None, True), lambda batch, _: batch
        seen = len(service.seen)
        assert seen == (0 if when == "never made" else 36)
        answered(Study(study.path))
        assert len(service.seen) == 36, "no call was lost or made twice"
    study = Study(study.path)
    assert outcomes(study).get("accepted") == 36
    assert outcomes(study).get("interrupted", 0) == (36 if when == "never made" else 0)
    sound(study)


def _half(study: Study, service: BatchService) -> None:
    """A run that ended when half of a batch's results were on disk."""
    from audit_core.collect import attempts

    whole, attempts.TOGETHER = attempts.TOGETHER, 5
    put = attempts.Attempts._put

    def some(self: attempts.Attempts, *new: dict[str, Any]) -> int:
        if self.tally.done >= 15:
            raise KeyboardInterrupt
        return put(self, *new)

    attempts.Attempts._put = some  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            answered(study)
    finally:
        attempts.TOGETHER, attempts.Attempts._put = whole, put  # type: ignore[method-assign]
    assert outcomes(study) == {"accepted": 15}


def test_a_batch_that_the_service_no_longer_has_is_interrupted_and_made_again(tmp_path: Path) -> None:
    with BatchService(told) as service:
        study = ready(tmp_path, service.url)
        service.results = lambda _lines, _n: b"?"
        with pytest.raises(StorageError):
            answered(study)
        service.batches.clear()
        service.results = lambda lines, _n: joined(lines)
        answered(study)
        assert len(service.seen) == 46
    assert outcomes(study) == {"accepted": 36, "interrupted": 10}
    assert any(r.get("error", "").startswith("the service no longer has") for r in records(study))
    sound(study)


@pytest.mark.parametrize("fault", ["500", "429", "409", "archived", "gone"])
def test_a_service_that_never_makes_or_keeps_a_batch_stops_the_run(tmp_path: Path, fault: str) -> None:
    """Lists and descriptions that succeed between must not make the tries endless."""
    with BatchService(told) as service:
        study = ready(tmp_path, service.url, tries=3)
        if fault == "archived":
            service.describe = lambda batch, _: {**batch, "archived_at": "2026-03-01T09:00:00Z"}
        elif fault == "gone":
            say = service._say
            service._say = lambda name: say(name) if service.asked[-1] == "create" else Scripted(status=404)  # type: ignore[method-assign]
        else:
            service.create = lambda _: (Scripted(status=int(fault)), False)
        with pytest.raises(StorageError, match="a cell could not be answered: expected an answer within 3 tries"):
            answered(study)
        assert service.asked.count("create") == 3
        assert "accepted" not in outcomes(study)
        service.create, service.describe = lambda _: (None, True), lambda batch, _: batch
        if fault == "gone":
            service._say = say  # type: ignore[method-assign]
        answered(study)
    sound(study)
    assert outcomes(study)["accepted"] == 36


def test_a_list_that_repeats_its_page_does_not_hide_the_end() -> None:
    page = {"data": [{"id": "msgbatch_1", "type": "message_batch", "request_counts": {}}], "has_more": True}
    batches = Batches(lambda *_: Reply(200, json.dumps(page).encode()), "http://127.0.0.1")
    with pytest.raises(BatchError, match="one page again and again"):
        list(batches.since("msgbatch_0"))


def test_a_name_given_twice_is_never_recorded(tmp_path: Path) -> None:
    """One name for two batches would make a ledger that nothing can read; the batch is found in the list."""
    with BatchService(told) as service:
        study = ready(tmp_path, service.url)
        service.describe = lambda batch, _: {**batch, "id": "msgbatch_0001"}
        answered(study)
        assert service.asked.count("create") == 4
    sound(study)
    assert [r["batch_id"] for r in records(study) if r["kind"] == "created"] == list(service.batches)


def test_status_shows_the_open_batch_without_the_process(tmp_path: Path) -> None:
    with BatchService(told) as service:
        study = ready(tmp_path, service.url, input_price='"3"', output_price='"15"')
        service.results = lambda lines, n: joined(lines) if n == 1 else b"?"
        with pytest.raises(StorageError):
            answered(study)
        facts = stages.status(study)
    assert facts["open_batch"]["batch_id"] == "msgbatch_0002"
    assert (facts["open_batch"]["calls"], facts["open_batch"]["waiting"]) == (10, 10)
    assert (facts["calls"], facts["accepted"], facts["cells"]) == (20, 10, 36)
    assert (facts["input_tokens"], facts["output_tokens"], facts["cost"]) == (200, 30, "0.0011")


@pytest.mark.parametrize(("limit", "least"), [("calls = 25", 25), ("tokens = 1200", 2)])
def test_a_batch_stays_within_the_budget(tmp_path: Path, limit: str, least: int) -> None:
    with BatchService(told) as service:
        toml = prepare(tmp_path, generation=messages(service.url, transport='"batch"', batch_size=10))
        toml.write_text(re.sub(rf"(?m)^{limit[:5]}.* = 0\b", limit, toml.read_text()))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        for _ in range(2):
            with pytest.raises(NotMeasurableError, match=r"budget of (calls|tokens) is used up"):
                answered(study)
        used = stages.status(study)
        assert least <= used["calls"] < 36
        assert used["input_tokens"] + used["output_tokens"] <= 1200


def test_a_batch_is_no_larger_than_the_service_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit_core.collect.batches.BYTES", 4000)
    with BatchService(told) as service:
        study = ready(tmp_path, service.url, batch_size=100)
        answered(study)
        assert len(service.batches) > 5
        assert len(service.seen) == 36
    sound(study)


def test_batches_are_for_services(tmp_path: Path) -> None:
    from audit_core.collection import read_toml

    toml = prepare(tmp_path)
    toml.write_text(toml.read_text().replace("tries = 5", 'tries = 5\ntransport = "batch"\nbatch_size = 0', 1))
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    assert "only a service takes batches" in str(caught.value)
    assert "batch_size" in str(caught.value)


def test_a_long_list_is_read_page_by_page() -> None:
    with BatchService(told) as service:
        from audit_core.adapters.messages import Endpoint, Messages

        batches = Batches(Messages(Endpoint(service.url, KEY, 10)).ask, service.url)
        request = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        assert batches.newest() == ""
        for n in range(230):
            service.plan(Seen("/v1/messages/batches", {}, {"requests": [{"custom_id": f"a{n}", "params": request}]}))
        assert batches.newest() == "msgbatch_0230"
        assert [m.batch_id for m in batches.since("msgbatch_0007")] == [f"msgbatch_{n:04d}" for n in range(230, 7, -1)]
        assert len(list(batches.since(""))) == 230


MUTATIONS = {
    "a batch without one of its calls": lambda r: next(x for x in r if x["kind"] == "batch")["items"].pop(),
    "a call in two batches": lambda r: [x for x in r if x["kind"] == "batch"][1]["items"].append(r[0]["attempt"]),
    "a reply without a batch": lambda r: r.pop(next(i for i, x in enumerate(r) if x["kind"] == "created")),
    "a batch named twice": lambda r: [x for x in r if x["kind"] == "created"][1].update(batch_id="msgbatch_0001"),
    "calls outside a batch": lambda r: [
        r.pop(next(i for i, x in enumerate(r) if x["kind"] == kind)) for kind in ("batch", "created")
    ],
    "a batch without calls": lambda r: next(x for x in r if x["kind"] == "batch").update(items=[]),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_of_a_batch_is_caught(name: str, tmp_path: Path) -> None:
    with BatchService(told) as service:
        study = ready(tmp_path, service.url)
        answered(study)
    stages.judge_answers(study, CREATED)
    stages.unlock_gold(study, tmp_path, CREATED)
    nonce = (study.path / "gold/nonce").read_bytes()
    collection = (study.path / "protocol/collection.json").read_bytes()
    for file in study.path.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    relock(
        study.path,
        lambda found: MUTATIONS[name](found[ATTEMPTS]),
        extra={"gold/nonce": nonce, "protocol/collection.json": collection},
    )
    failed = {c.check_id for c in verify(study.path) if c.result == "failed"}
    assert "C19" in failed


def test_an_audit_with_batches_survives_its_own_errors(tmp_path: Path) -> None:
    """A service that is not there at all stops with a reason, and the run goes on when it is back."""
    with BatchService(told) as gone:
        url = gone.url
    study = ready(tmp_path, url)
    with pytest.raises(AuditError, match="keeps failing"):
        answered(study)
    assert len(study.chain) == 3
