"""The verdict store: append-only, durable, two media, honest about every fault."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from audit_core.errors import InputError, StorageError
from audit_core.reviews import database
from audit_core.reviews.database import wal_is_safe
from audit_core.reviews.events import FIRST, VERDICTS, Entry, chained, intact
from audit_core.reviews.fold import Fold, progress
from audit_core.reviews.store import ConflictError, ReviewStore

ENTRY = Entry(
    request_id="r1",
    study_id="s",
    bundle="b" * 64,
    question_id="q1",
    reviewer="local:me",
    kind="verdict",
    item_sha256="c" * 64,
    at="2026-11-30T14:02:11.000Z",
    old="n1",
    new="n7",
    kernel="semantic",
    verdict="regression",
)
PAIR = ("n1", "n7")


def entry(request: str, **changes: object) -> Entry:
    return replace(ENTRY, request_id=request, **changes)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db", timeout=2)


def test_what_is_acknowledged_was_read_back(store: ReviewStore) -> None:
    saved = store.append(entry("r1", impact="high", causes=("stale document", "distractor"), note="=1+1\r\nline 2 ‮x"))
    assert saved.event == store.events()[0]
    assert saved.event.id == 1
    assert saved.event.prev_sha256 == FIRST
    assert intact(saved.event)
    assert saved.event.note == "=1+1\r\nline 2 ‮x"
    assert saved.event.causes == ("stale document", "distractor")
    assert store.journal.read() == [saved.event]


def test_the_same_request_is_one_event(store: ReviewStore) -> None:
    first = store.append(entry("r1"))
    second = store.append(entry("r1"))
    assert second.repeated
    assert second.event == first.event
    assert len(store.events()) == 1


def test_undo_restores_the_verdict_before(store: ReviewStore) -> None:
    store.append(entry("r1"))
    store.append(entry("r2", verdict="improvement", base_event=1))
    store.append(entry("r3", kind="retract", verdict=None, base_event=2))
    standing = store.fold().standing("s", "q1", "local:me", PAIR)
    assert standing.verdict is not None
    assert standing.verdict.verdict == "regression"
    store.append(entry("r4", kind="retract", verdict=None, base_event=3, note="kept words"))
    standing = store.fold().standing("s", "q1", "local:me", PAIR)
    assert standing.verdict is None
    assert standing.details is not None
    assert standing.details.note == "kept words"
    assert [event.kind for event in store.history("s", "q1")] == ["verdict", "verdict", "retract", "retract"]


def test_a_second_tab_is_kept_as_a_draft_and_asks(store: ReviewStore) -> None:
    store.append(entry("tab-a"))
    late = store.append(entry("tab-b", verdict="improvement", base_event=None))
    assert late.event.kind == "draft"
    standing = store.fold().standing("s", "q1", "local:me", PAIR)
    assert standing.verdict is not None
    assert standing.verdict.verdict == "regression"
    assert standing.conflict == late.event
    with pytest.raises(ConflictError):
        store.append(entry("tab-c", kind="retract", verdict=None, base_event=1))
    store.append(entry("keep", kind="dismiss", verdict=None, base_event=late.event.id))
    assert store.fold().standing("s", "q1", "local:me", PAIR).conflict is None


def test_reviewers_do_not_meet(store: ReviewStore) -> None:
    store.append(entry("r1"))
    other = store.append(entry("r2", reviewer="local:you", verdict="improvement"))
    assert other.event.kind == "verdict"
    fold = store.fold()
    found = progress(fold, "s", ["q1", "q2"], PAIR)
    assert (found.reviewed, found.disputed, found.begun, found.unreviewed) == (0, 1, 0, 2)
    assert progress(fold, "another study", ["q1"], PAIR).disputed == 0
    assert progress(fold, "s", ["q1"], ("n1", "n3")).disputed == 0
    store.append(entry("r3", reviewer="local:you", verdict="regression", impact="high", base_event=2))
    found = progress(store.fold(), "s", ["q1", "q2"], PAIR)
    assert (found.reviewed, found.disputed, found.by_verdict["regression"], found.high_impact) == (1, 0, 1, 1)
    assert progress(store.fold(), "s", ["q1", "q2"], PAIR, needed=3).begun == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "harm"},
        {"impact": "huge"},
        {"kind": "merge"},
        {"note": "x" * 20_001},
        {"causes": ("",)},
        {"verdict": None},
    ],
)
def test_words_outside_the_vocabulary_are_refused(store: ReviewStore, changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        store.append(entry("r1", **changes))
    assert store.events() == []


def test_text_that_sqlite_cannot_hold_is_marked(store: ReviewStore) -> None:
    assert "\ufffd" in store.append(entry("r1", note="a\ud83db\x00c")).event.note


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE verdict_event SET verdict = 'improvement'",
        "DELETE FROM verdict_event",
        "INSERT OR REPLACE INTO verdict_event SELECT * FROM verdict_event",
    ],
)
def test_the_table_is_append_only(store: ReviewStore, sql: str) -> None:
    store.append(entry("r1"))
    with sqlite3.connect(store.path) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(sql)
    assert len(store.events()) == 1


def test_a_change_from_outside_is_found(store: ReviewStore) -> None:
    store.append(entry("r1"))
    store.append(entry("r2", question_id="q2"))
    with sqlite3.connect(store.path) as connection:
        connection.execute("DROP TRIGGER verdict_event_no_update")
        connection.execute("UPDATE verdict_event SET verdict = 'improvement' WHERE id = 1")
    with pytest.raises(StorageError, match="changed outside"):
        ReviewStore(store.path).fold()
    with pytest.raises(StorageError, match="changed outside"):
        ReviewStore(store.path).append(entry("r3"))


def test_each_medium_is_completed_from_the_other(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "reviews.db")
    for number in range(5):
        store.append(entry(f"r{number}", question_id=f"q{number}"))
    events = store.events()
    store.path.unlink()
    assert ReviewStore(store.path).fold().last == 5
    assert ReviewStore(store.path).events() == events
    store.journal.path.write_bytes(
        b"".join(store.journal.path.read_bytes().splitlines(keepends=True)[:2]) + b'{"at":"20'
    )
    again = ReviewStore(store.path)
    again.append(entry("r9", question_id="q9"))
    assert sorted(event.id for event in again.journal.read()) == [1, 2, 3, 4, 5, 6]
    assert (tmp_path / "verdicts.jsonl.torn-0").read_bytes() == b'{"at":"20'


def test_a_running_server_survives_the_loss_of_its_database(store: ReviewStore) -> None:
    store.append(entry("r1"))
    assert store.fold().last == 1
    store.path.unlink()
    assert store.fold().standing("s", "q1", "local:me", PAIR).verdict is not None
    assert store.append(entry("r2", question_id="q2")).event.id == 2


def test_two_histories_are_joined_without_loss(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "reviews.db")
    store.append(entry("r1"))
    copy = store.path.read_bytes()
    store.append(entry("r2", question_id="q2"))
    store.path.write_bytes(copy)
    lines = store.journal.path.read_bytes()
    store.journal.path.unlink()
    elsewhere = ReviewStore(store.path)
    elsewhere.append(entry("r3", question_id="q3"))
    store.journal.path.write_bytes(lines)
    joined = ReviewStore(store.path)
    joined.reconcile()
    assert [event.request_id for event in joined.events()] == ["r1", "r3", "r2"]
    assert {event.request_id for event in joined.journal.read()} == {"r1", "r2", "r3"}
    assert joined.fold().last == 3
    ReviewStore(store.path).reconcile()
    assert len(joined.journal.path.read_bytes().splitlines()) == 4


def test_a_damaged_copy_stops_saving_but_not_reading(store: ReviewStore) -> None:
    store.append(entry("r1"))
    content = store.journal.path.read_bytes()
    store.journal.path.write_bytes(content.replace(b"regression", b"improvemen"))
    again = ReviewStore(store.path)
    assert again.fold().last == 1
    with pytest.raises(StorageError, match="line 1"):
        again.append(entry("r2"))


def test_locked_database(store: ReviewStore) -> None:
    store.append(entry("r1"))
    impatient = ReviewStore(store.path, timeout=0.3, patience=0.1)
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="busy"):
        impatient.append(entry("r2", question_id="q2"))
    with pytest.raises(StorageError, match="busy"):
        impatient.fold()
    holder.execute("ROLLBACK")
    holder.close()
    assert impatient.append(entry("r2", question_id="q2")).event.id == 2


def test_a_lock_that_is_released_in_time_is_waited_for(store: ReviewStore) -> None:
    store.append(entry("r1"))
    patient = ReviewStore(store.path, timeout=10, patience=10)
    holder = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.5, lambda: (holder.execute("ROLLBACK"), holder.close())).start()
    assert patient.append(entry("r2", question_id="q2")).event.id == 2


@pytest.mark.parametrize("damage", ["header", "pages"])
def test_corrupt_database(store: ReviewStore, damage: str) -> None:
    for number in range(40):
        store.append(entry(f"r{number}", question_id=f"q{number}", note="n" * 500))
    content = bytearray(store.path.read_bytes())
    if damage == "header":
        content[:100] = b"\x00" * 100
    else:
        content[4096:] = random.Random(7).randbytes(len(content) - 4096)
    store.path.write_bytes(content)
    again = ReviewStore(store.path)
    with pytest.raises(StorageError, match="ove it aside"):
        again.append(entry("late"))
    with pytest.raises(StorageError):
        again.fold()
    store.path.rename(store.path.with_suffix(".damaged"))
    assert again.fold().last == 40
    assert again.append(entry("late", question_id="q40")).event.id == 41


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious(x)")
    before = path.read_bytes()
    with pytest.raises(StorageError, match="not a verdict store"):
        ReviewStore(path).append(entry("r1"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("act", ["read", "save"])
def test_a_file_that_another_one_is_just_making_is_not_misread(
    act: str, store: ReviewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people's first saves: the schema is committed between the questions that the other one asks of the file."""
    other = ReviewStore(store.path, timeout=10)
    saving: list[threading.Thread] = []
    connect = database._connect

    def watched(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
        connection = connect(path, mode, timeout)
        connection.set_trace_callback(in_between)
        return connection

    def in_between(statement: str) -> None:
        if "FROM sqlite_schema" in statement and not saving:
            saving.append(threading.Thread(target=other.append, args=[entry("r1")]))
            saving[0].start()
            saving[0].join(1)  # it may have to wait for the transaction of the one that asks

    store.path.touch()
    monkeypatch.setattr(database, "_connect", watched)
    seen = store.events() if act == "read" else [store.append(entry("r2", question_id="q2")).event]
    saving[0].join()
    assert [event.request_id for event in seen] in ([], ["r1"], ["r2"])
    assert {event.request_id for event in store.events()} == {"r1"} | ({"r2"} if act == "save" else set())


def test_a_newer_schema_is_refused(store: ReviewStore) -> None:
    store.append(entry("r1"))
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(StorageError, match="newer version"):
        ReviewStore(store.path).append(entry("r2"))


CHILD = """
import os, resource, sys
from dataclasses import replace
from pathlib import Path
from audit_core.errors import StorageError
from audit_core.reviews.events import Entry
from audit_core.reviews.store import ReviewStore
job, path, start = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
store = ReviewStore(path, timeout=20)
if job == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
if job == "readonly" and os.geteuid() == 0:
    os.setuid(65534)
for number in range(start, start + 100_000):
    entry = Entry(request_id=f"p{os.getpid()}-{number}", study_id="s", bundle="b", question_id=f"q{number}",
                  reviewer="r", kind="verdict", item_sha256="c", at="t", verdict="regression",
                  note="n" * (number % 3000))
    try:
        saved = store.append(entry)
    except StorageError as error:
        print("refused", error, flush=True)
        break
    os.write(1, f"{saved.event.id} {saved.event.sha256} {saved.copy_problem or ''}".strip().encode() + b"\\n")
"""


def child(job: str, path: Path, start: int = 0, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, job, str(path), str(start), *more],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


@pytest.mark.slow
def test_kill_minus_nine_loses_no_acknowledged_verdict(tmp_path: Path) -> None:
    path, rng = tmp_path / "reviews.db", random.Random(60)
    acknowledged: set[tuple[int, str]] = set()
    for loop in range(60):
        process = child("loop", path, loop * 1_000)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.15))
        process.kill()
        rest = process.stdout.read()
        process.wait()
        for text in (first + rest).decode().splitlines():
            number, _, digest = text.partition(" ")
            if len(digest) == 64:
                acknowledged.add((int(number), digest))
        if loop % 10 == 9:  # a reader comes first after the crash
            ReviewStore(path).fold()
    store = ReviewStore(path)
    assert len(acknowledged) > 60
    stored = {(event.id, event.sha256) for event in store.events()}
    assert acknowledged <= stored
    assert store.fold().last == len(stored)
    store.reconcile()
    assert {(event.id, event.sha256) for event in store.journal.read()} == stored


def test_processes_that_save_at_once_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    children = [child("loop", path, number * 1_000_000) for number in range(3)]
    for process in children:
        assert process.stdout is not None
        assert process.stdout.readline().split()[0].isdigit()
    time.sleep(1.5)
    lines = []
    for process in children:
        process.kill()
        assert process.stdout is not None
        lines += process.stdout.read().decode().splitlines()
        process.wait()
    assert not [line for line in lines if line.startswith("refused")]
    store = ReviewStore(path)
    assert store.fold().last == len(store.events()) > 20


def test_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    process = child("full", path, 0, "200000")
    output = process.communicate(timeout=120)[0].decode().splitlines()
    assert "refused" in output[-1]
    assert "Free space" in output[-1] or "disk" in output[-1]
    acknowledged = {tuple(text.split(" ")) for text in output[:-1]}
    store = ReviewStore(path)
    stored = {(str(event.id), event.sha256) for event in store.events()}
    assert acknowledged == stored
    assert store.append(entry("after")).event.id == len(stored) + 1
    assert len(store.journal.read()) == len(stored) + 1


def test_a_copy_that_cannot_be_written_is_told_and_stops_nobody() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = ReviewStore(folder / "reviews.db")
        store.append(entry("r1"))
        folder.chmod(0o777)
        for file in folder.glob("reviews.db*"):
            file.chmod(0o666)
        store.journal.path.chmod(0o444)
        process = child("readonly", store.path, 10)
        assert process.stdout is not None
        lines = [process.stdout.readline().decode() for _ in range(3)]
        process.kill()
        process.wait()
        process.stdout.close()
        assert all("The verdict itself is saved" in line for line in lines)
        assert len(store.events()) >= 4
        assert len(store.journal.read()) == 1
        store.journal.path.chmod(0o644)
        ReviewStore(store.path).append(entry("r2", question_id="q2"))
        assert len(store.journal.read()) == len(store.events())


def test_read_only() -> None:
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, whose parents another user may not enter
        read_only(Path(name))


def read_only(folder: Path) -> None:
    store = ReviewStore(folder / "reviews.db")
    store.append(entry("r1"))
    store.path.chmod(0o444)
    store.journal.path.chmod(0o444)
    folder.chmod(0o555)
    try:
        output = child("readonly", store.path).communicate(timeout=60)[0].decode()
    finally:
        folder.chmod(0o755)
    assert output.startswith("refused")
    assert "permission" in output
    assert len(store.events()) == 1


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
    ],
)
def test_wal_only_where_its_reset_fault_is_fixed(version: tuple[int, int, int], safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_many_threads_and_a_gapless_chain(tmp_path: Path) -> None:
    store, errors = ReviewStore(tmp_path / "reviews.db"), []

    def work(who: int) -> None:
        try:
            for number in range(12):
                store.append(entry(f"{who}-{number}", reviewer=f"r{who}", question_id=f"q{number}"))
                store.fold()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.fold().last == 72
    assert {event.id for event in store.journal.read()} == set(range(1, 73))


def test_a_second_medium_out_of_order_gives_the_same_history(store: ReviewStore) -> None:
    """Two processes append their lines in another order than their numbers; a ruling still comes after what it saw."""
    store.append(entry("r1"))
    store.append(entry("r2", reviewer="local:ben", verdict="improvement"))
    store.append(entry("r3", reviewer="local:cy", kind="adjudicate", verdict="improvement", base_event=2))
    before, lines = store.events(), store.journal.path.read_bytes().splitlines(keepends=True)
    store.journal.path.write_bytes(lines[2] + lines[0] + lines[1])
    store.path.unlink()
    again = ReviewStore(store.path)
    assert again.fold().trail == before
    assert again.fold().review("s", "q1", PAIR).ruled
    assert len(again.journal.path.read_bytes().splitlines()) == 3


def test_a_second_medium_that_is_lost_while_the_server_runs_is_written_anew(store: ReviewStore) -> None:
    for number in range(3):
        store.append(entry(f"r{number}", question_id=f"q{number}"))
    store.journal.path.unlink()
    store.append(entry("r3", question_id="q3"))
    assert [event.request_id for event in store.journal.read()] == ["r0", "r1", "r2", "r3"]


def test_an_old_copy_put_under_a_running_server_overrides_nothing(store: ReviewStore) -> None:
    """What the copy lacks comes back from the second medium, before anything new or as a draft beside it."""
    store.append(entry("r1", verdict="regression"))
    copy = store.path.read_bytes()
    store.append(entry("r2", verdict="improvement", base_event=1))
    store.append(entry("r3", reviewer="local:ben"))
    assert store.fold().last == 3
    store.path.write_bytes(copy)
    with pytest.raises(StorageError, match="replaced"):
        store.append(entry("r4", verdict="both_wrong", base_event=2))
    assert [event.request_id for event in store.fold().trail] == ["r1", "r2", "r3"]
    assert store.append(entry("r4", verdict="both_wrong", base_event=2)).event.kind == "verdict"
    assert ReviewStore(store.path).fold().standing("s", "q1", "local:me", PAIR).verdict.request_id == "r4"  # type: ignore[union-attr]


def test_a_history_that_went_another_way_asks_its_author(store: ReviewStore) -> None:
    """Another process, which never saw the newer events, goes on from an old copy: the newest verdict stands."""
    store.append(entry("r1", verdict="regression"))
    copy = store.path.read_bytes()
    store.append(entry("r2", verdict="improvement", base_event=1))
    store.path.write_bytes(copy)
    other = ReviewStore(store.path)
    other._reconciled = True  # as a process that was started before
    other.append(entry("r3", verdict="both_wrong", base_event=1))
    standing = ReviewStore(store.path).fold().standing("s", "q1", "local:me", PAIR)
    assert [getattr(e, "request_id", None) for e in (standing.verdict, standing.conflict)] == ["r3", "r2"]


def test_reading_while_others_save_never_fails() -> None:
    """One fold is shared by the threads of all sessions; `add` may run in one while another counts."""
    before, prev, fold, failures, done = sys.getswitchinterval(), FIRST, Fold(), [], threading.Event()
    events = []
    for number in range(1, 3_000):
        new = entry(f"r{number}", reviewer=f"local:{number}", question_id=f"q{number % 5}", old=f"n{number % 40}")
        events.append(chained(new, number, prev))
        prev = events[-1].sha256

    def read() -> None:
        while not done.is_set():
            try:
                for number in range(5):
                    fold.review("s", f"q{number}", ("n1", "n7"))
                fold.pairs("s")
                progress(fold, "s", ["q1"], ("n1", "n7"))
            except Exception as error:
                failures.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for event in events:
            fold.add(event)
        done.set()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failures == []


class Reviewing(RuleBasedStateMachine):
    """Any order of verdicts, drafts, undos, dismissals and restarts, against a model of plain lists."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "reviews.db"
        self.store = ReviewStore(self.path)
        self.seen: list[str] = []
        self.model: dict[str, list[str]] = {}
        self.newest: dict[str, int | None] = {}
        self.number = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    def send(self, question: str, **changes: object) -> object:
        self.number += 1
        return self.store.append(entry(f"m{self.number}", question_id=question, **changes))

    questions = st.sampled_from(["q 1", "q_1", "q/1", "[q1]", "q1 ", "Q1"])

    @rule(question=questions, verdict=st.sampled_from(list(VERDICTS)), note=st.text(max_size=20))
    def judge(self, question: str, verdict: str, note: str) -> None:
        saved = self.send(question, verdict=verdict, note=note, base_event=self.newest.get(question))
        assert saved.event.kind == "verdict"  # type: ignore[attr-defined]
        self.model.setdefault(question, []).append(verdict)
        self.newest[question] = saved.event.id  # type: ignore[attr-defined]

    @rule(question=questions, verdict=st.sampled_from(list(VERDICTS)))
    def judge_in_a_stale_tab(self, question: str, verdict: str) -> None:
        saved = self.send(question, verdict=verdict, base_event=(self.newest.get(question) or 0) + 10_000)
        assert saved.event.kind == "draft"  # type: ignore[attr-defined]
        self.newest[question] = saved.event.id  # type: ignore[attr-defined]

    @rule(question=questions)
    def undo(self, question: str) -> None:
        if not self.model.get(question):
            return
        saved = self.send(question, kind="retract", verdict=None, base_event=self.newest[question])
        self.model[question].pop()
        self.newest[question] = saved.event.id  # type: ignore[attr-defined]

    @rule(question=questions)
    def reveal(self, question: str) -> None:
        self.send(question, kind="reveal", verdict=None)

    @rule()
    def repeat_the_last_request(self) -> None:
        events = self.store.events()
        if events:
            assert self.store.append(entry(events[-1].request_id)).repeated

    @rule()
    def restart(self) -> None:
        self.store = ReviewStore(self.path)

    @rule()
    def lose_the_database(self) -> None:
        self.path.unlink(missing_ok=True)
        self.store = ReviewStore(self.path)

    @rule()
    def lose_the_copy(self) -> None:
        if self.path.is_file():
            self.store.journal.path.unlink(missing_ok=True)
            self.store = ReviewStore(self.path)
            self.store.reconcile()

    @invariant()
    def nothing_is_lost_changed_or_out_of_order(self) -> None:
        fold = self.store.fold()
        digests = [event.sha256 for event in self.store.events()]
        assert digests[: len(self.seen)] == self.seen
        assert len(digests) == fold.last
        self.seen = digests
        for question, verdicts in self.model.items():
            standing = fold.standing("s", question, "local:me", PAIR)
            assert [event.verdict for event in standing.stack] == verdicts
            assert standing.newest == self.newest[question]
        last = fold.last_given("s", "local:me", PAIR)
        ids = [s.verdict.id for _, s in fold.standings("s", "local:me", PAIR) if s.verdict]
        assert (last.id if last else 0) == max(ids, default=0)


TestReviewing = Reviewing.TestCase
TestReviewing.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
