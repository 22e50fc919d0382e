"""A collector that is killed again and again, at any moment, by either transport: nothing is lost or doubled.

``KILLS=200`` (``make kills``) is the long run; every test run does a short one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from audit_core.collect import stages
from audit_core.study import ATTEMPTS, CELLS, Study
from audit_core.verify import verify
from tests.support.batches import BatchService
from tests.support.collecting import messages, prepare
from tests.support.forks import Runs
from tests.support.service import Scripted, Seen, Service
from tests.support.simulator import CREATED

KEY = "sk-ant-CANARY-2468"
KILLS = int(os.environ.get("KILLS", "25"))
SETTINGS: dict[str, dict[str, Any]] = {"calls": {"concurrency": 3}, "batch": {"transport": '"batch"', "batch_size": 5}}


def told(seen: Seen, number: int) -> Scripted:
    if number % 11 == 0:
        return Scripted(status=529)
    return Scripted(text=f"answer {len(seen.body['messages'][0]['content']) % 5}", delay=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("transport", SETTINGS)
def test_a_killed_collector_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    rng, kills, told_of = random.Random(11), 0, Counter[str]()
    with Runs(KEY) as runs:
        for number in range(1000):
            if kills >= KILLS:
                break
            folder = tmp_path / str(number)
            early: list[str] = []

            def on_disk(seen: Seen, folder: Path = folder, early: list[str] = early) -> None:
                """Calls that arrived are never more than the starts that are on disk."""
                starts = (folder / "study" / ATTEMPTS).read_bytes().count(b'"kind":"start"')
                if starts < len(service.seen):
                    early.append(seen.path)

            with BatchService(told, on_arrival=on_disk) as service:
                toml = prepare(folder, questions=8, generation=messages(service.url, **SETTINGS[transport]))
                study = stages.freeze(toml, folder / "study", CREATED)
                stages.select_questions(study, folder, CREATED)
                stages.retrieve_evidence(study, folder, CREATED)
                kills += killed_until_done(runs, study.path, service, rng)
                assert early == [], "a call without an earlier record"
                assert service.faults == []
                told_of += counted(Study(study.path), service, transport)
    assert kills >= KILLS
    counts = ", ".join(f"{n} {what}" for what, n in told_of.items())
    print(f"{transport}: {kills} kills, {counts}, 0 lost, 0 doubled")


def killed_until_done(runs: Runs, path: Path, service: BatchService, rng: random.Random) -> int:
    for kills in range(400):
        pid = runs.begin(path)
        until = len(service.seen) + rng.randint(0, 6)
        with contextlib.suppress(ProcessLookupError):
            while len(service.seen) < until:
                os.kill(pid, 0)
                time.sleep(0.002)
            time.sleep(rng.random() * 0.03)
            os.kill(pid, signal.SIGKILL)
        code = runs.end()
        assert code in (0, -signal.SIGKILL), "it says why on stderr"
        if code == 0:
            return kills
    raise AssertionError("the study is never complete")


def counted(study: Study, service: BatchService, transport: str) -> Counter[str]:
    """What is in the ledger, held against what the service saw and what the study locked."""
    records = [json.loads(line) for line in (study.path / ATTEMPTS).read_bytes().split(b"\n")[:-1]]
    starts = {r["attempt"]: (r["question_id"], r["state"], r["repeat"]) for r in records if r["kind"] == "start"}
    ends = {r["attempt"]: r["outcome"] for r in records if r["kind"] == "end"}
    accepted = Counter(starts[attempt] for attempt, outcome in ends.items() if outcome == "accepted")
    assert len(starts) == sum(r["kind"] == "start" for r in records), "no attempt is used twice"
    assert starts.keys() == ends.keys(), "every call has an end"
    assert set(accepted.values()) == {1}, "no cell is accepted twice"
    assert len(accepted) == 8 * 3 * 2, "no cell is lost"
    assert len(service.seen) <= len(starts), "no call without an attempt"
    if transport == "batch":
        seen = sum(outcome != "interrupted" for outcome in ends.values())
        assert len(service.seen) == seen, "what the service did is in the ledger, call by call"
    assert len((study.path / CELLS).read_bytes().split(b"\n")[:-1]) == 48
    found = {check.check_id: check.result for check in verify(study.path)}
    assert "failed" not in found.values()
    assert (found["C19"], found["C20"]) == ("passed", "passed")
    return Counter({"calls seen": len(service.seen), "attempts": len(starts), "accepted": len(accepted)})


HANDED = """
import signal, threading, time
from audit_core.collect.workers import work_together
signal.signal(signal.SIGINT, signal.default_int_handler)
stop, done = threading.Event(), []
def job():
    for number in range(100):
        if stop.is_set():
            return
        if not done:
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        done.append(number)
        time.sleep(0.05)
try:
    work_together(2, job, stop)
except KeyboardInterrupt:
    print(len(done))
"""


def test_ctrl_c_is_noticed_whichever_thread_is_handed_the_signal() -> None:
    done = subprocess.run([sys.executable, "-c", HANDED], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 100, "of 200, when the main thread only notices once a worker has ended"


def test_ctrl_c_lets_calls_under_way_end(tmp_path: Path) -> None:
    with Service(lambda _s, _n: Scripted(delay=0.3)) as service:
        toml = prepare(tmp_path, generation=messages(service.url, concurrency=4))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        process = subprocess.Popen(
            [sys.executable, "-m", "audit_core.cli", "run", str(study.path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "AUDIT_TEST_KEY": KEY},
            # a test run in the background of a shell inherits that the signal is ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        while len(service.seen) < 6:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert (process.returncode, errors) == (130, b"Stopped.\n")
        seen = len(service.seen)
        assert seen < 20
    records = [json.loads(line) for line in (study.path / ATTEMPTS).read_bytes().split(b"\n")[:-1]]
    ends = {r["attempt"]: r["outcome"] for r in records if r["kind"] == "end"}
    assert len(ends) == seen == sum(r["kind"] == "start" for r in records)
    assert set(ends.values()) == {"accepted"}
