"""What a service can do to a call, and L1 to L11 of the fault table: each row caused, through a whole collection."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import audit_core
from audit_core import calls, cli
from audit_core.collect import stages
from audit_core.errors import InputError, NotMeasurableError, StorageError
from audit_core.model import Cell, Dossier, Question
from audit_core.study import ATTEMPTS, CELLS, Study
from audit_core.verify import verify
from tests.support.collecting import messages, prepare
from tests.support.service import Scripted, Seen, Service, message
from tests.support.simulator import CREATED

KEY = "sk-ant-CANARY-1122334455"
GOOD = json.dumps(message("Paris", "small-1")).encode()
STREAM = b'event: message_start\ndata: {"type":"message_start"}\n\nevent: content_block_delta\ndata: {"text":"Par"}\n\n'
JSON = {"content-type": "application/json"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)


def ready(folder: Path, url: str, **more: Any) -> Study:
    """A frozen study of twelve cells whose evidence is locked."""
    study = stages.freeze(prepare(folder, questions=2, generation=messages(url, **more)), folder / "study", CREATED)
    stages.select_questions(study, folder, CREATED)
    stages.retrieve_evidence(study, folder, CREATED)
    return study


def answered(study: Study) -> None:
    stages.answer_questions(study, CREATED, pause=lambda _: None)


def records(study: Study) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (study.path / ATTEMPTS).read_bytes().split(b"\n")[:-1]]


def ends(study: Study) -> list[dict[str, Any]]:
    return [r for r in records(study) if r["kind"] == "end"]


AGAIN: dict[str, tuple[Scripted, str]] = {
    "408": (Scripted(status=408), "http_retryable"),
    "409": (Scripted(status=409), "http_retryable"),
    "429": (Scripted(status=429), "http_retryable"),
    "429 with a short retry-after": (Scripted(status=429, headers={"retry-after": "2"}), "http_retryable"),
    "429 with a retry-after that is no number": (Scripted(status=429, headers={"retry-after": "x"}), "http_retryable"),
    "500": (Scripted(status=500), "http_retryable"),
    "503": (Scripted(status=503), "http_retryable"),
    "529": (Scripted(status=529), "http_retryable"),
    "x-should-retry: false": (Scripted(status=500, headers={"x-should-retry": "false"}), "http_retryable"),
    "reset": (Scripted(reset=True), "transport_error"),
    "body cut short": (Scripted(cut_at=40), "transport_error"),
    "headers late": (Scripted(delay=1.6), "transport_error"),
    "one byte at a time, above the deadline": (Scripted(drip=0.05), "transport_error"),
    "200 text/html": (
        Scripted(body=b"<html>log in</html>", headers={"content-type": "text/html"}),
        "transport_invalid",
    ),
    "200 another object": (Scripted(body=b'{"hello":1}'), "transport_invalid"),
    "200 empty": (Scripted(body=b""), "transport_invalid"),
    "200 invalid UTF-8": (Scripted(body=GOOD.replace(b"Paris", b"\xff")), "transport_invalid"),
    "200 with NaN": (Scripted(body=GOOD[:-1] + b',"x":NaN}'), "transport_invalid"),
    "200 with a key twice": (Scripted(body=GOOD[:-1] + b',"id":"x"}'), "transport_invalid"),
    "200 without a stop reason": (Scripted(stop_reason=None), "transport_invalid"),
    "a stream that ends in mid-answer": (Scripted(body=STREAM), "transport_invalid"),
    "a stream that is reset in mid-answer": (Scripted(body=STREAM, cut_at=60), "transport_error"),
    "a stream with an error event": (Scripted(body=b"event: error\ndata: {}\n\n"), "transport_invalid"),
    "a body of 3 MB": (Scripted(body=b" " * 3_000_000 + GOOD), "transport_error"),
}


@pytest.mark.parametrize("row", AGAIN)
def test_l1_what_was_not_seen_whole_is_asked_again(tmp_path: Path, row: str) -> None:
    plan, outcome = AGAIN[row]
    deadline = 1 if plan.delay or plan.drip else 60
    with Service(lambda _s, n: plan if n == 1 else Scripted()) as service:
        study = ready(tmp_path, service.url, deadline=deadline)
        answered(study)
        assert len(service.seen) == 13, "L2: one attempt is one request; nothing is retried in hiding"
    found = ends(study)
    assert found[0]["outcome"] == outcome
    assert Counter(r["outcome"] for r in found) == {outcome: 1, "accepted": 12}
    first = records(study)[0]
    again = next(r for r in records(study)[1:] if r["kind"] == "start")
    assert [again[k] for k in ("question_id", "state", "repeat", "request_sha256", "ordinal")] == [
        *(first[k] for k in ("question_id", "state", "repeat", "request_sha256")), 2
    ]  # fmt: skip
    checked(study)


KEPT: dict[str, tuple[Scripted, str]] = {
    "UNKNOWN": (Scripted(text="UNKNOWN"), "UNKNOWN"),
    "stop_reason: refusal": (Scripted(text="", stop_reason="refusal"), "UNKNOWN"),
    "stop_reason: refusal with words": (Scripted(text="I cannot", stop_reason="refusal"), "I cannot"),
    "stop_reason: max_tokens": (Scripted(text="Par", stop_reason="max_tokens"), "Par"),
    "stop_reason: context exceeded": (Scripted(text="", stop_reason="model_context_window_exceeded"), ""),
    "stop_reason: tool_use": (Scripted(text="Par", stop_reason="tool_use"), "Par"),
    "empty": (Scripted(text=""), ""),
    "longer than 512 bytes": (Scripted(text="x" * 513), "x" * 513),
    "a lone surrogate": (Scripted(body=GOOD.replace(b"Paris", b"a\\ud83db")), "a\ufffdb"),
}


@pytest.mark.parametrize("row", KEPT)
def test_l1_what_was_seen_is_accepted_and_never_drawn_again(tmp_path: Path, row: str) -> None:
    plan, answer = KEPT[row]
    with Service(lambda _s, n: plan if n == 1 else Scripted()) as service:
        study = ready(tmp_path, service.url)
        answered(study)
        assert len(service.seen) == 12
    assert {r["outcome"] for r in ends(study)} == {"accepted"}
    first = records(study)[0]
    cells = [json.loads(line) for line in (study.path / CELLS).read_bytes().split(b"\n")[:-1]]
    places = ("question_id", "state", "repeat")
    cell = next(c for c in cells if all(c[k] == first[k] for k in places))
    assert cell["answer"] == answer
    checked(study)


STOPS: dict[str, Scripted] = {
    "400": Scripted(status=400),
    "401": Scripted(status=401),
    "402": Scripted(status=402),
    "403": Scripted(status=403),
    "413": Scripted(status=413),
    "304": Scripted(status=304),
}


@pytest.mark.parametrize("row", STOPS)
def test_l1_what_the_service_refuses_stops_the_run(tmp_path: Path, row: str) -> None:
    with Service(lambda _s, n: STOPS[row] if n == 3 else Scripted()) as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="refused the request"):
            answered(study)
        assert len(service.seen) == 3
        assert [r["outcome"] for r in ends(study)] == ["accepted", "accepted", "config_error"]
        answered(study)
        assert len(service.seen) == 13, "what was accepted before is not asked again"
    checked(study)


def test_l1_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with Service() as trap:
        away = Scripted(status=307, headers={"location": f"{trap.url}/v1/messages"})
        with Service(lambda _s, n: away) as service:
            study = ready(tmp_path, service.url)
            with pytest.raises(StorageError, match=r"refused the request.*HTTP 307"):
                answered(study)
        assert trap.seen == [], "the prompt stays with the service of the protocol"


def test_l1_a_long_retry_after_stops_at_once(tmp_path: Path) -> None:
    with Service(lambda _s, _n: Scripted(status=429, headers={"retry-after": "3600"})) as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(StorageError, match="asks to wait 3600 s"):
            answered(study)
        assert len(service.seen) == 1


def test_l1_an_interrupted_call_gets_its_end_at_the_next_opening(tmp_path: Path) -> None:
    with Service() as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(KeyboardInterrupt):
            stages.answer_questions(study, CREATED, progress=_interrupt_after(3))
        answered(study)
        assert len(service.seen) == 12
    checked(study)
    path = study.path / ATTEMPTS
    lines = path.read_bytes().split(b"\n")
    starts = [i for i, line in enumerate(lines) if b'"kind":"start"' in line]
    cut = tmp_path / "again"
    with Service() as service:
        other = ready(cut, service.url)
        (other.path / "answers").mkdir()
        with pytest.raises(KeyboardInterrupt):
            stages.answer_questions(other, CREATED, progress=_interrupt_after(3))
        held = (other.path / ATTEMPTS).read_bytes().split(b"\n")
        last = max(i for i, line in enumerate(held) if b'"kind":"start"' in line)
        (other.path / ATTEMPTS).write_bytes(b"\n".join(held[: last + 1]) + b"\n")
        before = len(service.seen)
        answered(other)
        assert len(service.seen) == before + 12 - (last // 2)
    assert [r["outcome"] for r in ends(other)].count("interrupted") == 1
    assert len(starts) == 12
    checked(other)


def _interrupt_after(count: int) -> Any:
    def tell(_what: str, done: int, _total: int) -> None:
        if done == count:
            raise KeyboardInterrupt

    return tell


def checked(study: Study) -> None:
    """C19 and C20 hold, and no canary is in the study."""
    stages.judge_answers(study, CREATED)
    found = {check.check_id: check.result for check in verify(study.path)}
    assert "failed" not in found.values(), found
    assert (found["C19"], found["C20"]) == ("passed", "passed")
    assert not [f for f in study.path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def test_l3_the_key_is_nowhere(tmp_path: Path) -> None:
    """Not in a file, on stdout or on stderr: with the client's debug log, and with a service that repeats the key."""

    def script(seen: Seen, number: int) -> Scripted:
        echo = json.dumps(message(str(seen.headers), "small-1")).encode()
        return [Scripted(), Scripted(reset=True), Scripted(body=echo), Scripted(status=500), Scripted(status=401)][
            (number - 1) % 5
        ]

    with Service(script) as service:
        study = ready(tmp_path, service.url)
        environment = {**os.environ, "AUDIT_TEST_KEY": KEY, "ANTHROPIC_LOG": "debug", "SNAPSHOT_AUDIT_DEBUG": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "audit_core.cli", "run", str(study.path)], capture_output=True, env=environment
        )
        assert done.returncode == 3, done.stderr
        assert KEY in service.seen[0].headers["authorization"] + service.seen[0].headers.get("x-api-key", "")
    assert KEY.encode() not in done.stdout + done.stderr
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert any(r.get("error") == "the response echoed the key" for r in ends(study))


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "ANTHROPIC_BASE_URL"])
def test_l4_the_environment_leads_no_call_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with Service() as trap, Service() as service:
        monkeypatch.setenv(name, trap.url)
        study = ready(tmp_path, service.url)
        answered(study)
        assert (len(trap.seen), len(service.seen)) == (0, 12)
        assert {r["origin"] for r in records(study) if r["kind"] == "start"} == {service.url}


def test_l4_headers_from_the_environment_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service() as service:
        study = ready(tmp_path, service.url)
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-a: b")
        with pytest.raises(InputError, match="CUSTOM_HEADERS"):
            answered(study)
        assert service.seen == []


def test_l4_profile_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (".anthropic", ".config/anthropic"):
        (tmp_path / "home" / folder).mkdir(parents=True)
        for name in ("config.json", "credentials.json", "profiles.json"):
            (tmp_path / "home" / folder / name).write_text('{"api_key":"sk-ant-OTHER","base_url":"http://127.0.0.1:9"}')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Service() as service:
        study = ready(tmp_path / "x", service.url)
        answered(study)
        assert len(service.seen) == 12
        assert "OTHER" not in json.dumps([seen.headers for seen in service.seen])


WATCHED = """
import os, sys
from pathlib import Path
from audit_core.collect import stages
from audit_core.study import Study
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
folder = Path(sys.argv[1])
study, now = Study(folder / "study"), "2026-01-31T09:00:00Z"
stages.select_questions(study, folder, now)
stages.retrieve_evidence(study, folder, now)
stages.answer_questions(study, now)
stages.judge_answers(study, now)
assert any("shard-1" in name for name in opened), "the hook sees what is opened"
assert not [name for name in opened if name.endswith(("gold.jsonl", ".gold-nonce"))], "gold is opened before its gate"
stages.unlock_gold(study, folder, now)
assert [name for name in opened if name.endswith("gold.jsonl")]
"""


def test_l5_gold_is_not_even_opened_before_its_gate(tmp_path: Path) -> None:
    stages.freeze(prepare(tmp_path, questions=2), tmp_path / "study", CREATED)
    done = subprocess.run([sys.executable, "-c", WATCHED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_l6_names_of_states_do_not_change_the_packets() -> None:
    def packets(states: list[str]) -> set[tuple[str, ...]]:
        dossiers = [
            Dossier(
                Question(f"q{i}", "Where?"),
                tuple(Cell(f"q{i}", s, r, "ok", f"{n}-{r}-{i}") for n, s in enumerate(states) for r in (1, 2)),
                {}, (), None,
            )
            for i in range(20)
        ]  # fmt: skip
        return {packet.answers for _, _, packet in calls.packets(dossiers, "7")}

    assert packets(["n0", "n1", "n3"]) == packets(["zebra", "old", "new"])
    shuffled = [p for p in packets(["n0", "n1"]) if list(p) != sorted(p)]
    assert len(shuffled) > 10, "the order of a packet does not follow the ladder"


def test_l9_another_model_stops_the_run_also_after_a_restart(tmp_path: Path) -> None:
    with Service(lambda _s, n: Scripted(model="small-1" if n < 4 else "small-2")) as service:
        study = ready(tmp_path, service.url)
        for _ in range(2):
            with pytest.raises(StorageError, match="another model answered"):
                answered(study)
        assert len(service.seen) <= 5


def _commands() -> dict[str, list[str]]:
    """Every command of the program with its options."""
    parser, found = cli._parser(), {}

    def walk(one: Any, name: str) -> None:
        subs = [a for a in one._actions if hasattr(a, "choices") and isinstance(a.choices, dict)]
        for action in subs:
            for word, sub in action.choices.items():
                walk(sub, f"{name} {word}".strip())
        if not subs:
            found[name] = [o for action in one._actions for o in action.option_strings]

    walk(parser, "")
    return found


FORBIDDEN = re.compile(r"force|overwrite|delete|remove|retry|redraw|again|reset|discard|clean|replace", re.I)


def test_l10_no_command_and_no_option_draws_an_accepted_answer_again() -> None:
    found = _commands()
    assert {"run", "freeze", "status", "verify"} <= found.keys()
    for name, options in found.items():
        assert not FORBIDDEN.search(" ".join([name, *options])), name


def test_l10_every_command_leaves_accepted_answers_as_they_are(tmp_path: Path) -> None:
    with Service() as service:
        study = ready(tmp_path, service.url)
        with pytest.raises(KeyboardInterrupt):
            stages.answer_questions(study, CREATED, progress=_interrupt_after(5))
        accepted = [r for r in ends(study) if r["outcome"] == "accepted"]
        path, toml = str(study.path), str(tmp_path / "protocol.toml")
        for arguments in (
            ["init", str(tmp_path)], ["freeze", toml], ["freeze", toml, "--study", path], ["run", path, "--dry-run"],
            ["status", path], ["verify", path], ["estimate", path], ["estimate", path, "--print"], ["run", path],
            ["run", path], ["freeze", toml, "--study", path], ["load", path, "--db", str(tmp_path / "a.db")],
        ):  # fmt: skip
            cli.main(arguments)
        assert len(service.seen) == 12, "each cell was asked once"
    found = ends(Study(study.path))
    assert [r for r in found if r["attempt"] in {a["attempt"] for a in accepted}] == accepted
    assert len(found) == 12


def test_l10_the_code_has_no_way_to_change_a_ledger_of_calls() -> None:
    """Nothing under collect/ or adapters/ removes, renames, truncates or reopens a file for writing."""
    changing = {"unlink", "truncate", "ftruncate", "rmtree", "rename", "replace_file", "remove", "seek", "writelines"}
    # a nonce where freezing failed, a socket of the embedded model, an item of a list, a draft that was not finished
    admitted = {("stages.py", "unlink"), ("embedded.py", "unlink"), ("inputs.py", "remove"), ("draft.py", "unlink")}
    found = set()
    for folder in ("collect", "adapters"):
        for file in (Path(audit_core.__file__).parent / folder).glob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in changing:
                    found.add((file.name, node.func.attr))
                if isinstance(node, ast.keyword) and node.arg == "max_retries":
                    assert isinstance(node.value, ast.Constant)
                    assert node.value.value == 0, "the client's own retries are off"
    assert found <= admitted, found


def test_l11_the_budget_of_calls_holds_with_calls_side_by_side(tmp_path: Path) -> None:
    with Service(lambda _s, _n: Scripted(delay=0.02)) as service:
        toml = prepare(tmp_path, questions=2, generation=messages(service.url, concurrency=8), budget="calls = 7")
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        with pytest.raises(NotMeasurableError, match="budget of calls is used up"):
            answered(study)
        assert len(service.seen) == 7
        assert len(ends(study)) == 7, "calls under way got their end"


def test_l11_the_budget_of_tokens_is_never_exceeded(tmp_path: Path) -> None:
    heavy = {**message("Paris", "small-1"), "usage": {"input_tokens": 500, "output_tokens": 64}}
    with Service(lambda _s, _n: Scripted(body=json.dumps(heavy).encode())) as service:
        toml = prepare(tmp_path, questions=2, generation=messages(service.url, concurrency=8))
        toml.write_text(re.sub(r"(?m)^tokens = 0", "tokens = 4000", toml.read_text()))
        study = stages.freeze(toml, tmp_path / "study", CREATED)
        stages.select_questions(study, tmp_path, CREATED)
        stages.retrieve_evidence(study, tmp_path, CREATED)
        for _ in range(2):
            with pytest.raises(NotMeasurableError, match="budget of tokens is used up"):
                answered(study)
        facts = stages.status(study)
    assert 0 < facts["input_tokens"] + facts["output_tokens"] <= 4000


def test_a_rate_spaces_the_calls() -> None:
    from audit_core.collect.limits import Pace

    now, waits = [100.0], []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    pace = Pace(120, pause, lambda: now[0])
    for _ in range(5):
        pace.wait()
    assert waits == pytest.approx([0.5] * 4)
    now[0] += 10
    pace.wait()
    assert len(waits) == 4, "time that passed is not made up for"
    Pace(0, pause).wait()
    assert len(waits) == 4


def test_failures_side_by_side_are_one() -> None:
    import time

    from audit_core.collect.limits import BREAKER, Health

    health = Health(set())
    began = time.monotonic()
    for _ in range(40):
        health.failed(began, "HTTP 529")
    for _ in range(BREAKER - 2):
        health.failed(time.monotonic(), "HTTP 529")
    with pytest.raises(StorageError, match=f"{BREAKER} failures in a row"):
        health.failed(time.monotonic(), "HTTP 529")
