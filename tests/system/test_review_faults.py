"""Several people at one desk while things go wrong: what a page called saved is on disk, once, whatever happens."""

from __future__ import annotations

import collections
import random
import resource
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from audit_core.readmodel.load import load
from audit_core.reviews.events import VERDICTS, Event
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Team
from audit_core.verify import verify
from dashboard.components import saving
from tests.support.seat import Seat
from tests.support.server import Server

PAIR = ("n1", "n7")
SECRET = "known to the proxy and to this test"
NAMES = [f"r{i:02d}@example.org" for i in range(20)]
TEAM = """
[sign_in]
how = "proxy"
header = "X-Forwarded-User"
secret_header = "X-Proxy-Secret"
secret_variable = "TEST_PROXY_SECRET"
[people]
""" + "\n".join(f'"{name}" = "reviewer"' for name in NAMES)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, studies: Path) -> Path:
    path = tmp_path_factory.mktemp("faults") / "audit.db"
    load([studies / "nq-400"], path, verifier=verify)
    return path


@pytest.fixture
def server(db: Path, tmp_path: Path) -> Iterator[Server]:
    with _server(db, tmp_path) as running:
        yield running


def _server(db: Path, folder: Path) -> Server:
    (folder / "team.toml").write_text(TEAM)
    env = {"SNAPSHOT_AUDIT_TEAM": str(folder / "team.toml"), "TEST_PROXY_SECRET": SECRET}
    return Server(db, folder / "reviews.db", folder / "server.log", env)


def sit(server: Server, who: int, query: str = "queue=all&sort=ladder", tab: str = "tab") -> Seat:
    return Seat(server.url, [("X-Forwarded-User", NAMES[who]), ("X-Proxy-Secret", SECRET)], query, f"{tab}-{who}")


def verdicts(folder: Path) -> list[Event]:
    store = ReviewStore(folder / "reviews.db")
    for _ in range(200):  # a server that starts gives each medium what only the other one holds before it answers
        events = [event for event in store.events() if event.kind == "verdict"]
        lines = [event.sha256 for event in store.journal.read() if event.kind == "verdict"]
        if len(lines) == len(events):
            break
        time.sleep(0.1)
    assert [event.sha256 for event in events] == sorted(lines, key=[e.sha256 for e in events].index)
    return events


def test_twenty_people_at_once_lose_and_double_nothing(server: Server, tmp_path: Path) -> None:
    pressed: collections.Counter[tuple[str, str, str]] = collections.Counter()
    failed: list[str] = []
    guard = threading.Lock()

    def work(seat: Seat, who: int) -> None:
        draw = random.Random(who)
        for _ in range(4):
            question, verdict = seat.question, draw.choice(list(VERDICTS))
            seat.press(f"verdict:{verdict}")
            with guard:
                if "Saved #" in seat.saved and not seat.problem:
                    pressed[NAMES[who], question, verdict] += 1
                else:
                    failed.append(seat.problem)

    with ExitStack() as stack:
        seats = [stack.enter_context(closing(sit(server, who))) for who in range(20)]
        threads = [threading.Thread(target=work, args=(seat, who)) for who, seat in enumerate(seats)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert pressed.total() == 80
    found = verdicts(tmp_path)
    assert collections.Counter((e.reviewer, e.question_id, e.verdict) for e in found) == pressed
    fold = ReviewStore(tmp_path / "reviews.db").fold()
    question = found[0].question_id
    assert len(fold.review("nq-400", question, PAIR).verdicts) == 20  # everyone began with the same one


def test_two_servers_on_the_same_files(server: Server, db: Path, tmp_path: Path) -> None:
    with _server(db, tmp_path) as second, closing(sit(server, 0)) as ada, closing(sit(second, 1)) as ben:
        for step in range(5):
            first, other = (ada, ben) if step % 2 else (ben, ada)
            first.press("verdict:regression")
            other.press("verdict:improvement")
            assert "Saved #" in first.saved
            assert "Saved #" in other.saved
        # each server reads what the other wrote
        ada.press("previous")
        assert "r01@example.org" in ada.session.text
    found = verdicts(tmp_path)
    assert [event.id for event in found] == list(range(1, 11))
    assert collections.Counter(e.reviewer for e in found) == {NAMES[0]: 5, NAMES[1]: 5}


def test_one_person_on_two_servers_is_asked_not_overwritten(server: Server, db: Path, tmp_path: Path) -> None:
    """A stale edit: the second page had not seen the first verdict."""
    with _server(db, tmp_path) as second:
        with closing(sit(server, 0, tab="a")) as one, closing(sit(second, 0, tab="b")) as two:
            question = one.question
            one.press("verdict:regression")
            two.press("verdict:improvement")
            assert "Kept as a draft" in two.saved
            assert two.question == question
            assert "Keep the saved one: Regression" in two.session.text
    standing = ReviewStore(tmp_path / "reviews.db").fold().standing("nq-400", question, NAMES[0], PAIR)
    assert standing.verdict is not None
    assert standing.verdict.verdict == "regression"
    assert standing.conflict is not None


@pytest.mark.slow
def test_a_browser_that_dies_in_the_middle_of_a_save(server: Server, tmp_path: Path) -> None:
    """The socket is torn right after the press; the page that comes back sends what was not acknowledged again."""
    draw = random.Random(3)
    asked = []
    for number in range(12):
        seat = sit(server, 0, tab=f"life{number}")
        entry = seat.entry("verdict:both_wrong")
        question, fragment = seat.question, seat.session.fragment
        threading.Thread(target=_cut, args=(seat, draw.uniform(0, 0.05))).start()
        with suppress(Exception):  # the socket is gone, which is the point
            seat.session.run({seat.widget: {"log": [entry]}}, fragment)
        again = sit(server, 0, query=f"queue=all&sort=ladder&q={question}", tab=f"life{number}")
        again.send([entry])
        again.close()
        asked.append(question)
    found = collections.Counter(event.question_id for event in verdicts(tmp_path))
    assert set(found.values()) == {1}
    assert set(asked) == set(found)


def _cut(seat: Seat, delay: float) -> None:
    time.sleep(delay)
    seat.session.socket.socket.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
def test_a_server_that_is_killed_while_several_people_save(server: Server, tmp_path: Path) -> None:
    told: set[tuple[str, str]] = set()
    asked: collections.Counter[tuple[str, str]] = collections.Counter()
    for life in range(4):
        seats = [sit(server, who, query="queue=unreviewed&sort=ladder", tab=f"life{life}") for who in range(4)]

        def work(seat: Seat, who: int) -> None:
            for _ in range(50):
                question = seat.question
                asked[NAMES[who], question] += 1
                try:
                    seat.press("verdict:regression")
                except Exception:  # the server is gone
                    return
                if "Saved #" in seat.saved:
                    told.add((NAMES[who], question))

        threads = [threading.Thread(target=work, args=(seat, who)) for who, seat in enumerate(seats)]
        for thread in threads:
            thread.start()
        time.sleep(0.6 + 0.3 * life)
        server.kill()
        for thread in threads:
            thread.join(90)
        server.start()
    stored = collections.Counter((event.reviewer, event.question_id) for event in verdicts(tmp_path))
    assert told
    assert told <= set(stored)
    assert all(stored[key] <= asked[key] for key in stored)


def test_a_server_that_starts_gives_each_medium_what_only_the_other_one_holds(server: Server, tmp_path: Path) -> None:
    with closing(sit(server, 0)) as seat:
        for _ in range(3):
            seat.press("verdict:regression")
        assert "Saved #3" in seat.saved
    server.kill()
    journal = tmp_path / "verdicts.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))  # as if killed between the two
    server.start()  # no page is opened
    assert journal.read_bytes().splitlines(keepends=True) == lines
    assert len(verdicts(tmp_path)) == 3


def test_a_full_disk_is_said_and_nothing_is_called_saved(server: Server, tmp_path: Path) -> None:
    with closing(sit(server, 0)) as seat:
        seat.press("verdict:regression")
        assert "Saved #1" in seat.saved
        assert server.process is not None
        size = (tmp_path / "reviews.db").stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        seen, stored = [], 1
        for _ in range(60):  # the last pages of the file still have room for a few
            question = seat.question
            seat.press("verdict:regression")
            if seat.problem:
                seen.append(seat.problem)
                break
            stored += 1
        assert seen, "the limit was never met"
        assert "not saved" in seat.problem
        assert seat.question == question
        assert "Not saved." in seat.saved
        assert len(ReviewStore(tmp_path / "reviews.db").events()) == stored
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        seat.press("retry")
        assert f"Saved #{stored + 1}" in seat.saved
    assert len(verdicts(tmp_path)) == stored + 1


def test_a_locked_store_stops_only_who_saves_meanwhile(server: Server, tmp_path: Path) -> None:
    with closing(sit(server, 0)) as ada, closing(sit(server, 1)) as ben:
        ada.press("verdict:regression")
        holder = sqlite3.connect(tmp_path / "reviews.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        waiting = threading.Thread(target=ben.press, args=("verdict:regression",))
        waiting.start()
        time.sleep(1.0)
        ada.press("next")  # reading goes on, and says that it is not up to date
        assert ada.question
        holder.execute("ROLLBACK")
        holder.close()
        waiting.join(60)
        assert "Saved #2" in ben.saved
    assert len(verdicts(tmp_path)) == 2


def test_a_clock_that_is_set_back_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are ordered by their number; a time is only what the clock said."""
    store = ReviewStore(tmp_path / "reviews.db")
    shown = saving.Shown("s", "b" * 64, "q1", "c" * 64, "n1", "n7", "semantic", None)
    clock = datetime(2026, 11, 30, 12, tzinfo=UTC)
    base = None
    for number, verdict in enumerate(("regression", "improvement", "both_wrong")):
        at = clock - timedelta(days=400 * number)
        monkeypatch.setattr(saving, "now", lambda at=at: at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        outcome = saving.save(store, Person("ada", "reviewer"), replace(shown, base=base), f"r{number}", "verdict",
                              verdict, saving.Details())  # fmt: skip
        assert outcome.event is not None
        base = outcome.event.id
    standing = ReviewStore(tmp_path / "reviews.db").fold().standing("s", "q1", "ada", PAIR)
    assert [event.verdict for event in standing.stack] == ["regression", "improvement", "both_wrong"]
    assert standing.verdict is not None
    assert standing.verdict.at.startswith("2024-09-21")
    assert Team().needed == 1
