"""Backup, restore and check of the verdict store, under load and under every fault; and a store of version 1."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from audit_core.errors import InputError, StorageError
from audit_core.reviews.backup import FOLDER, backup, copies, due
from audit_core.reviews.events import Event
from audit_core.reviews.health import check
from audit_core.reviews.restore import restore
from audit_core.reviews.store import ReviewStore, insert
from dashboard.copies import keep
from tests.core.test_reviews_merge import entry, filled

NOW = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "golden" / "reviews-version-1"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return filled(tmp_path / "desk", *(entry(f"r{n}", "ann", f"q{n}", note="n" * 50) for n in range(6)))


def outcome(path: Path) -> dict[str, str]:
    return {c.check_id: c.result for c in check(path)}


def requests(events: list[Event]) -> list[str]:
    return [event.request_id for event in events]


def test_a_copy_holds_everything_and_only_the_newest_are_kept(store: ReviewStore) -> None:
    assert due(store.path, datetime.now(UTC))
    made = backup(store.path, NOW)
    assert made.path.name == "reviews-2026-11-30T14-00-00Z.db"
    assert (made.events, made.head) == (6, store.fold().head)
    assert ReviewStore(made.path).events() == store.events()
    assert backup(store.path, NOW).path.name == "reviews-2026-11-30T14-00-00Z.1.db", "never over another one"
    for minute in range(1, 33):
        last = backup(store.path, NOW + timedelta(minutes=minute))
    assert len(copies(store.path)) == 30
    assert copies(store.path)[0] == last.path
    early = backup(store.path, NOW - timedelta(days=9)).path
    assert early.is_file(), "a clock that was set back deletes no new copy"
    assert not due(store.path, datetime.now(UTC))
    assert [file.name for file in (store.path.parent / FOLDER).iterdir() if file.name.startswith(".")] == []


def test_a_dashboard_copies_at_its_start_and_then_only_what_is_new(store: ReviewStore, capsys) -> None:
    looks: list[int] = []

    class Stopped(Exception):
        pass

    def pause(_: float) -> None:
        looks.append(len(copies(store.path)))
        if len(looks) == 2:  # an hour later, somebody has said more
            hour = time.time() - 3_700
            os.utime(copies(store.path)[0], (hour, hour))
            store.append(entry("later", "ann", "q77"))
        if len(looks) == 4:
            store.path.write_bytes(b"x" * 4096)
            os.utime(copies(store.path)[0], (hour_ago := time.time() - 3_700, hour_ago))
        if len(looks) == 6:
            raise Stopped

    with pytest.raises(Stopped):
        keep(store.path, pause)
    assert looks == [1, 1, 2, 2, 2, 2]
    assert capsys.readouterr().err.count("No copy of the verdicts could be made") == 1


def test_the_restore_drill(store: ReviewStore) -> None:
    """What a team would do: copy, go on, lose the store, put the copy back, and miss nothing."""
    copy = backup(store.path, NOW).path
    for number in range(6, 9):
        store.append(entry(f"r{number}", "ben", f"q{number}"))
    before = store.events()
    content = bytearray(store.path.read_bytes())
    content[4096:] = random.Random(7).randbytes(len(content) - 4096)
    store.path.write_bytes(content)
    with pytest.raises(StorageError):
        ReviewStore(store.path).fold()
    assert outcome(store.path)["R01"] == "failed"
    done = restore(copy, store.path, NOW)
    assert requests(done.brought) == ["r6", "r7", "r8"], "from the second medium"
    assert "damaged" in done.notes[0]
    again = ReviewStore(store.path)
    assert again.events() == before, "with the digests that they had"
    assert {event.sha256 for event in again.journal.read()} == {event.sha256 for event in before}
    assert [file.name for file in done.aside] == [
        "reviews.db.replaced-2026-11-30T14-00-00Z", "verdicts.jsonl.replaced-2026-11-30T14-00-00Z"
    ]  # fmt: skip
    assert done.aside[0].read_bytes() == bytes(content)
    assert set(outcome(store.path).values()) == {"passed"}
    assert again.append(entry("r9", "ann", "q9")).event.id == 10


def test_events_that_only_the_present_store_holds_are_brought_or_named(store: ReviewStore) -> None:
    copy = backup(store.path, NOW).path
    store.append(entry("new", "ben", "q1", verdict="improvement"))
    done = restore(copy, store.path, NOW)
    assert (requests(done.brought), done.left, done.events) == (["new"], [], 7)
    exact = restore(copy, store.path, NOW + timedelta(minutes=1), exact=True)
    assert (exact.brought, requests(exact.left), exact.events) == ([], ["new"], 6)
    fresh = ReviewStore(store.path)
    fresh.reconcile()
    assert len(fresh.events()) == len(fresh.journal.read()) == 6, "the second medium does not bring it back"
    assert "new" in requests(ReviewStore(exact.aside[0]).events())
    assert store.fold().last == 6, "a dashboard that runs sees it"


def test_where_there_is_no_store_a_copy_becomes_one(store: ReviewStore, tmp_path: Path) -> None:
    copy = backup(store.path, NOW).path
    done = restore(copy, tmp_path / "new" / "reviews.db", NOW)
    assert (done.events, done.aside, done.notes) == (6, [], [])
    assert ReviewStore(tmp_path / "new" / "reviews.db").events() == store.events()


def test_both_media_damaged_keep_what_is_whole(store: ReviewStore) -> None:
    copy = backup(store.path, NOW).path
    store.append(entry("x", "ann", "q7"))
    store.append(entry("y", "ann", "q8"))
    lines = store.journal.path.read_bytes().splitlines(keepends=True)
    store.journal.path.write_bytes(b"".join([*lines[:3], lines[3][:40] + b"\n", lines[6], lines[7]]))
    store.path.write_bytes(b"\x00" * 8192)
    done = restore(copy, store.path, NOW)
    assert requests(done.brought) == ["x", "y"]
    assert len(done.notes) == 2
    assert ReviewStore(store.path).fold().last == 8


@pytest.mark.parametrize(
    "damage", ["pages", "chain", "no database", "newer", "foreign", "unversioned", "empty", "missing", "itself"]
)
def test_a_copy_that_is_not_sound_changes_nothing(store: ReviewStore, tmp_path: Path, damage: str) -> None:
    copy = backup(store.path, NOW).path
    if damage == "pages":
        content = bytearray(copy.read_bytes())
        content[5000:9000] = b"\xff" * 4000
        copy.write_bytes(content)
    elif damage == "chain":
        with sqlite3.connect(copy) as connection:
            connection.execute("DROP TRIGGER verdict_event_no_update")
            connection.execute("UPDATE verdict_event SET note = 'x' WHERE id = 2")
    elif damage == "no database":
        copy.write_bytes(b"\xff" * 9000)
    elif damage == "newer":
        with sqlite3.connect(copy) as connection:
            connection.execute("PRAGMA user_version=99")
    elif damage == "foreign":
        copy.unlink()
        with sqlite3.connect(copy) as connection:
            connection.execute("CREATE TABLE precious(x)")
            connection.execute("PRAGMA user_version=1")
    elif damage == "unversioned":  # as most programs leave their databases
        copy.unlink()
        with sqlite3.connect(copy) as connection:
            connection.execute("CREATE TABLE precious(x)")
    elif damage == "empty":
        copy.write_bytes(b"")
    elif damage == "missing":
        copy = tmp_path / "none.db"
    else:
        copy = store.path
    before = store.path.read_bytes(), store.journal.path.read_bytes()
    for exact in (False, True):
        with pytest.raises(InputError, match="copy") as caught:
            restore(copy, store.path, NOW, exact=exact)
        assert "store is damaged" not in str(caught.value)
    assert (store.path.read_bytes(), store.journal.path.read_bytes()) == before
    assert not [file for file in store.path.parent.iterdir() if "replaced" in file.name or "restore" in file.name]


@pytest.mark.parametrize("whose", ["newer", "foreign"])
def test_a_store_that_is_not_ours_to_replace_stays(store: ReviewStore, tmp_path: Path, whose: str) -> None:
    copy = backup(store.path, NOW).path
    target = tmp_path / "other.db"
    with sqlite3.connect(target) as connection:
        connection.execute("CREATE TABLE precious(x)")
        connection.execute(f"PRAGMA user_version={99 if whose == 'newer' else 1}")
    before = target.read_bytes()
    with pytest.raises(StorageError):
        restore(copy, target, NOW)
    assert target.read_bytes() == before


def test_a_locked_store_is_waited_for_then_refused(store: ReviewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = backup(store.path, NOW).path
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "timeout": 0.2}))
    holder = real(store.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for job in (lambda: backup(store.path, NOW), lambda: restore(copy, store.path, NOW)):
        with pytest.raises(StorageError, match=r"busy|locked"):
            job()
    holder.execute("ROLLBACK")
    holder.close()
    assert len(copies(store.path)) == 1
    assert restore(copy, store.path, NOW).events == 6


WRITER = """
import os, sys
from pathlib import Path
from audit_core.errors import StorageError
from audit_core.reviews.store import ReviewStore
from tests.core.test_reviews_merge import entry
store = ReviewStore(Path(sys.argv[1]), timeout=20)
for number in range(100_000):
    try: saved = store.append(entry(f"w{os.getpid()}-{number}", "ann", f"q{os.getpid()}-{number}", note="n" * 500))
    except StorageError: continue
    os.write(1, saved.event.request_id.encode() + b"\\n")
"""


def writers(path: Path, number: int) -> list[subprocess.Popen[bytes]]:
    return [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env=ENVIRONMENT)
        for _ in range(number)
    ]


def ended(children: list[subprocess.Popen[bytes]]) -> set[str]:
    """What the writers were told is saved."""
    told: set[str] = set()
    for child in children:
        child.kill()
        assert child.stdout is not None
        lines = child.stdout.read().decode().split("\n")
        told |= {line for line in lines[:-1] if line}
        child.wait()
    return told


def test_copies_made_while_others_write_are_whole(store: ReviewStore) -> None:
    children = writers(store.path, 3)
    for process in children:
        assert process.stdout is not None
        process.stdout.readline()
    sizes = []
    for number in range(12):
        sizes.append(backup(store.path, NOW + timedelta(seconds=number)).events)
        time.sleep(0.1)
    told = ended(children)
    assert sizes == sorted(sizes)
    assert sizes[-1] > 6
    assert told
    stored = ReviewStore(store.path).events()
    for file in copies(store.path):
        copied = ReviewStore(file).events()
        assert copied == stored[: len(copied)], "the beginning of the same chain"
    assert told <= set(requests(stored))


def test_a_restore_while_others_write_loses_nothing_that_was_called_saved(store: ReviewStore) -> None:
    copy = backup(store.path, NOW).path
    children = writers(store.path, 2)
    try:
        while len(ReviewStore(store.path, patience=20).events()) < 12:
            time.sleep(0.05)
        done = 0
        for number in range(8):
            try:
                restore(copy, store.path, NOW + timedelta(seconds=number))
                done += 1
            except StorageError as error:
                assert "nothing was changed" in str(error)
            time.sleep(0.05)
    finally:
        told = ended(children)
    assert done
    assert told <= set(requests(ReviewStore(store.path).events()))
    assert ReviewStore(store.path).fold().last > 6
    assert outcome(store.path)["R01"] == "passed"


def test_whoever_has_the_store_open_goes_on_in_the_restored_one(store: ReviewStore) -> None:
    """Another file under the same name would leave them in the old one, with the rollback journal of both."""
    copy = backup(store.path, NOW).path
    store.append(entry("new", "ben", "q1", verdict="improvement"))
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as before:
        before.row_factory = sqlite3.Row
        assert before.execute("SELECT count(*) FROM verdict_event").fetchone()[0] == 7
        done = restore(copy, store.path, NOW, exact=True)
        assert before.execute("SELECT count(*) FROM verdict_event").fetchone()[0] == 6
        before.execute("BEGIN IMMEDIATE")
        insert(before, entry("later", "ben", "q2", verdict="improvement"))
        before.execute("COMMIT")
    assert requests(ReviewStore(store.path).events())[-1] == "later"
    assert requests(ReviewStore(done.aside[0]).events())[-1] == "new"


def test_a_restore_that_cannot_commit_changes_nothing(store: ReviewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = backup(store.path, NOW).path
    store.append(entry("new", "ben", "q1", verdict="improvement"))
    before = store.path.read_bytes(), store.journal.path.read_bytes()
    real = sqlite3.connect
    with contextlib.closing(real(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM verdict_event").fetchone()
        monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "timeout": 0.2}))
        with pytest.raises(StorageError, match=r"locked.*nothing was changed"):
            restore(copy, store.path, NOW, exact=True)
    assert (store.path.read_bytes(), store.journal.path.read_bytes()) == before
    assert not [file for file in store.path.parent.iterdir() if "replaced" in file.name or "restore" in file.name]
    assert restore(copy, store.path, NOW, exact=True).events == 6


CHILD = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from audit_core.errors import AuditError
from audit_core.reviews import backup as module, restore as other
job, path, copy, step = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
now = datetime(2026, 12, 1, tzinfo=UTC)
if job.startswith("kill"):
    left = [step]
    def counted(real):
        def call(*values, **names):
            left[0] -= 1
            if left[0] < 0: os.kill(os.getpid(), signal.SIGKILL)
            return real(*values, **names)
        return call
    for name in ("link", "fsync", "replace", "rename", "unlink", "mkdir"):
        setattr(os, name, counted(getattr(os, name)))
if job == "full":
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (step, step))
if job == "readonly" and os.geteuid() == 0: os.setuid(65534)
try:
    if job in ("kill backup", "readonly", "full"): print("made", module.backup(path, now).events)
    if job in ("kill restore", "kill exact", "readonly", "full"):
        print("restored", other.restore(copy, path, now, exact=job == "kill exact").events)
except AuditError as error: print(error)
"""


def child(job: str, path: Path, copy: Path, step: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHILD, job, str(path), str(copy), str(step)], env=ENVIRONMENT, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("job", ["kill backup", "kill restore", "kill exact"])
def test_a_kill_at_any_step_leaves_a_whole_store(store: ReviewStore, tmp_path: Path, job: str) -> None:
    copy = backup(store.path, NOW).path
    store.append(entry("new", "ben", "q1", verdict="improvement"))
    for step in range(40):
        folder = tmp_path / str(step)
        shutil.copytree(store.path.parent, folder)
        done = child(job, folder / "reviews.db", folder / FOLDER / copy.name, step)
        after = ReviewStore(folder / "reviews.db")
        wanted = {6, 7} if job == "kill exact" else {7}
        assert after.fold().last in wanted
        after.reconcile()
        assert set(requests(after.events())) == {event.request_id for event in after.journal.read()}
        for file in copies(after.path):
            assert len(ReviewStore(file).events()) in (6, 7), "what has the name of a copy is whole"
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    else:
        raise AssertionError("it never came to an end")
    assert step > 4
    assert "made 7" in done.stdout or "restored" in done.stdout


def test_a_full_disk_leaves_the_store_and_no_copy(store: ReviewStore) -> None:
    copy = backup(store.path, NOW).path
    before = store.path.read_bytes()
    told = child("full", store.path, copy, 8_000).stdout
    assert "free space" in told or "Free space" in told
    assert "made" not in told
    assert "restored" not in told
    assert store.path.read_bytes() == before
    assert len(copies(store.path)) == 1
    assert set(outcome(store.path).values()) == {"passed"}


def test_a_folder_that_cannot_be_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = filled(folder / "desk", *(entry(f"r{n}", "ann", f"q{n}") for n in range(3)))
        copy = backup(store.path, NOW).path
        folder.chmod(0o755)
        for place in (store.path.parent, copy.parent):
            place.chmod(0o555)
        told = child("readonly", store.path, copy).stdout
        for place in (store.path.parent, copy.parent):
            place.chmod(0o755)
        assert "correct the rights" in told
        assert "made" not in told
        assert ReviewStore(store.path).fold().last == 3


def test_check_says_what_is_missing_where(store: ReviewStore) -> None:
    assert outcome(store.path)["R05"] == "could not check"
    backup(store.path, NOW)
    assert set(outcome(store.path).values()) == {"passed"}
    lines = store.journal.path.read_bytes().splitlines(keepends=True)
    store.journal.path.write_bytes(b"".join(lines[:-1]))
    found = {c.check_id: c for c in check(store.path)}
    assert "only in the database: 1 events (r5)" in found["R03"].detail
    store.journal.path.write_bytes(b"".join([*lines, b'{"at"']))
    assert "no end" in {c.check_id: c for c in check(store.path)}["R02"].detail
    store.journal.path.write_bytes(b"".join(lines).replace(b'"ann"', b'"eve"', 1))
    found = {c.check_id: c for c in check(store.path)}
    assert (found["R02"].result, found["R03"].result) == ("failed", "failed")
    store.path.unlink()
    assert outcome(store.path)["R01"] == "failed"
    assert not store.path.exists(), "looking changes nothing"


# A store that the first version made.


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copytree(OLD, tmp_path / "old")
    return tmp_path / "old" / "reviews.db"


def test_a_store_of_version_1_is_read_copied_checked_and_migrated(old: Path) -> None:
    before = old.read_bytes()
    store = ReviewStore(old)
    assert store.fold().last == 8
    assert [c.result for c in check(old)][:4] == ["passed"] * 4
    copy = backup(old, NOW).path
    assert old.read_bytes() == before, "reading migrates nothing"
    assert store.append(entry("v2", "ben", "q9", sides="n1")).event.id == 9
    kept = old.with_name("reviews.db.version-1")
    assert len(ReviewStore(kept).events()) == 8
    with sqlite3.connect(kept) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    events = ReviewStore(old).events()
    assert [e.sha256 for e in events[:8]] == [e.sha256 for e in ReviewStore(copy).events()], "old digests hold"
    assert restore(copy, old, NOW).events == 9


MIGRATING = """
import os, signal, sqlite3, sys
from pathlib import Path
from audit_core.reviews.store import ReviewStore
from tests.core.test_reviews_merge import entry
store, left = ReviewStore(Path(sys.argv[1])), [int(sys.argv[2])]
store.reconcile()
class Killing(sqlite3.Connection):
    def execute(self, *values):
        left[0] -= 1
        if left[0] < 0: os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*values)
real = sqlite3.connect
sqlite3.connect = lambda *values, **names: real(*values, factory=Killing, **names)
store.append(entry("v2", "ben", "q9"))
print("saved")
"""


@pytest.mark.slow
def test_a_kill_in_any_step_of_the_migration_loses_nothing(tmp_path: Path) -> None:
    for step in range(80):
        folder = tmp_path / str(step)
        shutil.copytree(OLD, folder)
        done = subprocess.run(
            [sys.executable, "-c", MIGRATING, str(folder / "reviews.db"), str(step)], env=ENVIRONMENT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        store = ReviewStore(folder / "reviews.db")
        assert store.fold().last in (8, 9)
        again = store.append(entry("v2", "ben", "q9"))
        assert again.event.id == 9
        assert len(ReviewStore(folder / "reviews.db.version-1").events()) == 8
        with sqlite3.connect(folder / "reviews.db") as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (2,)
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert tables == {"verdict_event"}
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    else:
        raise AssertionError("it never came to an end")
    assert step > 20


def test_a_newer_store_is_neither_copied_nor_changed(store: ReviewStore) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version=3")
    before = store.path.read_bytes()
    with pytest.raises(StorageError, match="newer version"):
        backup(store.path, NOW)
    assert outcome(store.path)["R01"] == "failed"
    assert store.path.read_bytes() == before
