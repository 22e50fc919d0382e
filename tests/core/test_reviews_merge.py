"""Merging the files of people who worked apart: nothing lost, nothing twice, nobody's verdict overwritten."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core.errors import InputError, StorageError
from audit_core.reviews.events import FIRST, VERDICTS, Entry, Event, chained, intact
from audit_core.reviews.export import as_jsonl, export
from audit_core.reviews.fold import Fold
from audit_core.reviews.joining import join
from audit_core.reviews.merge import merge, read, totals
from audit_core.reviews.store import ReviewStore

PAIR = ("n1", "n7")
ROOT = Path(__file__).parents[2]


def entry(request: str, who: str, question: str = "q1", **changes: Any) -> Entry:
    made = Entry(
        request_id=request, study_id="s", bundle="b" * 64, question_id=question, reviewer=who, kind="verdict",
        item_sha256="c" * 64, at="2026-11-30T14:00:00.000Z", old="n1", new="n7", kernel="exact", verdict="regression",
    )  # fmt: skip
    return replace(made, **changes)


def filled(path: Path, *entries: Entry) -> ReviewStore:
    store = ReviewStore(path / "reviews.db")
    path.mkdir(exist_ok=True)
    for item in entries:
        store.append(item)
    return store


def apart(folder: Path) -> tuple[ReviewStore, ReviewStore]:
    ann = filled(folder / "ann", entry("a1", "ann"), entry("a2", "ann", "q2", verdict="improvement", base_event=None))
    ben = filled(folder / "ben", entry("b1", "ben", verdict="both_wrong"), entry("b2", "ben", "q1", base_event=1))
    return ann, ben


def standing(fold: Fold, who: str, question: str = "q1") -> str | None:
    found = fold.standing("s", question, who, PAIR).verdict
    return found.verdict if found else None


@pytest.mark.parametrize("what", ["reviews.db", "verdicts.jsonl"])
def test_people_who_worked_apart_are_joined_and_again_nothing_happens(tmp_path: Path, what: str) -> None:
    ann, ben = apart(tmp_path)
    found = merge(ann, [ben.path.parent / what])
    assert totals(found) == (2, 0)
    assert found[0].notes == []
    events = ann.events()
    assert [event.request_id for event in events] == ["a1", "a2", "b1", "b2"]
    assert events[3].base_event == 3
    assert events[3].source == ben.events()[1].sha256
    assert standing(ann.fold(), "ben") == "regression"
    assert {event.sha256 for event in ann.journal.read()} == {event.sha256 for event in events}
    assert totals(merge(ann, [ben.path, ben.journal.path])) == (0, 4)
    assert ann.events() == events
    assert merge(ben, [ann.path])[0].known == 2
    assert {e.request_id for e in ben.events()} == {"a1", "a2", "b1", "b2"}


def test_into_nothing_is_a_copy(tmp_path: Path) -> None:
    ann, _ = apart(tmp_path)
    copy = ReviewStore(tmp_path / "copy.db")
    merge(copy, [ann.path])
    assert copy.events() == ann.events()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    ann, ben = apart(tmp_path)
    before = ann.path.read_bytes(), ann.journal.path.read_bytes()
    assert totals(merge(ann, [ben.path], dry_run=True)) == (2, 0)
    assert (ann.path.read_bytes(), ann.journal.path.read_bytes()) == before
    assert totals(merge(ReviewStore(tmp_path / "new" / "reviews.db"), [ben.path], dry_run=True)) == (2, 0)
    assert not (tmp_path / "new").exists()


def test_one_person_in_two_places_decides(tmp_path: Path) -> None:
    here = filled(tmp_path / "here", entry("h1", "ann", at="2026-11-30T10:00:00Z"))
    there = filled(
        tmp_path / "there",
        entry("t1", "ann", verdict="both_wrong", at="2026-11-30T11:00:00Z"),
        entry("t2", "ann", verdict="improvement", at="2026-11-30T12:00:00Z", base_event=1),
        entry("t3", "ann", "q2", verdict="improvement"),
    )
    (found,) = merge(here, [there.path])
    assert "Two verdicts by one person on q1 (ann): Regression stands, Improvement waits as a draft." in found.notes
    fold = here.fold()
    assert [(e.request_id, e.kind) for e in here.events()] == [
        ("h1", "verdict"), ("t1", "kept"), ("t2", "draft"), ("t3", "verdict")
    ]  # fmt: skip
    now = fold.standing("s", "q1", "ann", PAIR)
    assert now.verdict is not None
    assert now.verdict.request_id == "h1"
    assert now.conflict is not None
    assert now.conflict.request_id == "t2"
    older = filled(tmp_path / "older", entry("o1", "ann", verdict="cannot_tell", at="2026-11-29T12:00:00Z"))
    (again,) = merge(here, [older.path])
    assert "Three verdicts" in again.notes[0]
    conflict = here.fold().standing("s", "q1", "ann", PAIR).conflict
    assert conflict is not None
    assert conflict.request_id == "t2"
    assert totals(merge(here, [there.path, older.path])) == (0, 4)


def test_the_same_opinion_twice_asks_nobody(tmp_path: Path) -> None:
    here, there = filled(tmp_path / "a", entry("h1", "ann")), filled(tmp_path / "b", entry("t1", "ann"))
    assert merge(here, [there.path])[0].notes == []
    assert [event.kind for event in here.events()] == ["verdict", "kept"]
    assert here.fold().standing("s", "q1", "ann", PAIR).conflict is None


def test_whoever_went_on_from_a_copy_is_followed(tmp_path: Path) -> None:
    here = filled(tmp_path / "here", entry("h1", "ann"))
    shutil.copytree(tmp_path / "here", tmp_path / "laptop")
    laptop = ReviewStore(tmp_path / "laptop" / "reviews.db")
    laptop.append(entry("l1", "ann", verdict="improvement", base_event=1))
    laptop.append(entry("l2", "ann", "q2"))
    here.append(entry("h2", "ben", "q9"))
    (found,) = merge(here, [laptop.path])
    assert (found.notes, found.known) == ([], 1)
    assert standing(here.fold(), "ann") == "improvement"
    assert [event.base_event for event in here.events()] == [None, None, 1, None]


def test_one_request_with_two_contents_names_both_and_writes_nothing(tmp_path: Path) -> None:
    here = filled(tmp_path / "a", entry("same", "ann"))
    there = filled(tmp_path / "b", entry("x", "ben"), entry("same", "ann", verdict="improvement"))
    before = here.path.read_bytes()
    with pytest.raises(InputError, match=r"event 1 by ann here, event 2 by ann in reviews\.db") as told:
        merge(here, [there.path])
    assert "verdict differs" in str(told.value)
    assert here.path.read_bytes() == before


@pytest.mark.parametrize("damage", ["digest", "line missing", "torn", "not one", "database", "nothing", "itself"])
def test_a_damaged_file_is_refused_and_nothing_is_written(tmp_path: Path, damage: str) -> None:
    here, there = apart(tmp_path)
    before = here.events()
    file = there.journal.path
    content = file.read_bytes()
    if damage == "digest":
        file.write_bytes(content.replace(b"both_wrong", b"improvement"))
    elif damage == "line missing":
        file.write_bytes(content.splitlines(keepends=True)[1])
    elif damage == "torn":
        file.write_bytes(content[:-20])
    elif damage == "not one":
        file.write_bytes(b"question,verdict\nq1,regression\n")
    elif damage == "database":
        file = there.path
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TRIGGER verdict_event_no_update")
            connection.execute("UPDATE verdict_event SET verdict = 'improvement' WHERE id = 1")
    elif damage == "nothing":
        file = tmp_path / "none.jsonl"
    else:
        file = here.path
    good = filled(tmp_path / "good", entry("g1", "gus"))
    with pytest.raises(InputError, match="Nothing was written"):
        merge(here, [good.path, file])
    assert here.events() == before


def test_words_from_elsewhere_are_checked(tmp_path: Path) -> None:
    here = ReviewStore(tmp_path / "reviews.db")
    odd = chained(entry("o", "eve", kind="merge"), 1, FIRST)  # type: ignore[arg-type]
    from audit_core.reviews.events import line

    file = tmp_path / "odd.jsonl"
    file.write_bytes(line(odd))
    with pytest.raises(InputError, match="unknown kind"):
        merge(here, [file])
    assert here.events() == []


def test_sign_offs_quarantines_and_labels_of_two_places(tmp_path: Path) -> None:
    def at(hour: int) -> str:
        return f"2026-11-30T{hour}:00:00Z"

    sign = {"kind": "signoff", "question_id": "", "content": "{}"}
    label = {"kind": "label", "subject": "n1/1|n7/1", "old": "", "new": ""}
    here = filled(
        tmp_path / "a",
        entry("s1", "ann", **sign, verdict="hold", at=at(12)),
        entry("l1", "ann", **label, verdict="same"),
        entry("k1", "ann", "q5", kind="quarantine", verdict=None, until="2027-01-01", at=at(15)),
    )
    there = filled(
        tmp_path / "b",
        entry("s2", "ben", **sign, verdict="ship", at=at(10)),
        entry("l2", "ann", **label, verdict="different"),
        entry("l3", "ben", **label, verdict="different"),
        entry("k2", "ben", "q5", kind="release", verdict=None, at=at(14)),
    )
    (found,) = merge(here, [there.path])
    kinds = {event.request_id: event.kind for event in here.events()}
    assert kinds == {"s1": "signoff", "l1": "label", "k1": "quarantine", "s2": "kept", "l2": "kept", "l3": "label",
                     "k2": "kept"}  # fmt: skip
    assert len(found.notes) == 3
    merge(there, [filled(tmp_path / "c", entry("s3", "ann", **sign, verdict="hold", at=at(12))).path])
    assert there.fold().of_kind("s", "signoff")[-1].request_id == "s3"


@pytest.mark.parametrize("said", list(product(["regression", "improvement", "both_wrong"], repeat=3)))
def test_a_ruling_settles_only_what_it_saw_in_either_order(said: tuple[str, str, str]) -> None:
    """Ann and an adjudicator in one place, Ben in another: the question comes out the same, whoever is merged first."""
    first, ruled, second = said
    with_ruling = chain([entry("a", "ann", verdict=first), entry("c", "cat", kind="adjudicate", verdict=ruled,
                                                                 base_event=1)])  # fmt: skip
    alone = chain([entry("b", "ben", verdict=second)])
    reviews = [Fold(joined(files)).review("s", "q1", PAIR) for files in ([with_ruling, alone], [alone, with_ruling])]
    outcomes = {(r.ruled, r.disputed, getattr(r.outcome(), "verdict", None)) for r in reviews}
    assert len(outcomes) == 1
    assert reviews[0].ruled == (second == ruled)


def chain(entries: Sequence[Entry]) -> list[Event]:
    events: list[Event] = []
    for item in entries:
        events.append(chained(item, len(events) + 1, events[-1].sha256 if events else FIRST))
    return events


def joined(files: Sequence[list[Event]]) -> list[Event]:
    events: list[Event] = []
    for file in files:
        for item in join(events, file, "f").entries:
            events.append(chained(item, len(events) + 1, events[-1].sha256 if events else FIRST))
    return events


PEOPLE = ("ann", "ben", "cat", "dan")
STEP = st.tuples(
    st.sampled_from(PEOPLE),
    st.sampled_from(["verdict", "verdict", "retract", "draft", "dismiss", "reveal", "quarantine", "release", "label"]),
    st.sampled_from(["q1", "q2"]),
    st.sampled_from([PAIR, ("n1", "n3")]),
    st.sampled_from(list(VERDICTS)),
)


def histories(steps: list[tuple[Any, ...]], split: dict[str, int]) -> list[list[Event]]:
    """What each place holds: the people of a place take turns in it, and see its numbers as their base."""
    files: dict[int, list[Event]] = {}
    for number, (who, kind, question, pair, verdict) in enumerate(steps):
        events = files.setdefault(split[who], [])
        own = Fold(events).standing("s", question, who, pair)
        needs = kind in ("verdict", "draft", "label")
        if kind == "retract" and not own.stack:
            continue
        item = entry(
            f"r{number}", who, question, kind=kind, verdict=verdict if needs else None, old=pair[0], new=pair[1],
            base_event=own.newest, at=f"2026-11-30T14:00:{number:02}Z", until="2027-01-01",
        )  # fmt: skip
        if kind == "label":
            item = replace(item, verdict="same", subject="n1/1|n7/1")
        events.append(chained(item, len(events) + 1, events[-1].sha256 if events else FIRST))
    return list(files.values())


@given(
    st.lists(STEP, max_size=24),
    st.fixed_dictionaries({who: st.integers(0, 2) for who in PEOPLE}),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_any_split_and_order_of_files_gives_the_same_standings(steps, split, random) -> None:
    files = histories(steps, split)
    order = random.sample(files, len(files))
    events = joined(order)
    assert {event.request_id for event in events} == {event.request_id for file in files for event in file}
    assert all(intact(event) for event in events)
    fold = Fold(events)
    for file in files:
        alone = Fold(file)
        for question, pair, who in product(("q1", "q2"), (PAIR, ("n1", "n3")), PEOPLE):
            mine, there = (f.standing("s", question, who, pair) for f in (alone, fold))
            if {event.reviewer for event in file} >= {who}:
                assert [e.request_id for e in there.stack] == [e.request_id for e in mine.stack]
                assert getattr(there.draft, "request_id", None) == getattr(mine.draft, "request_id", None)
                assert set(there.revealed) == set(mine.revealed)
    latest = max((e for file in files for e in file if e.kind in ("quarantine", "release") and e.question_id == "q1"),
                 key=lambda e: e.at, default=None)  # fmt: skip
    aside = fold.set_aside("s", "q1", "", "2026-11-30")
    assert (aside.request_id if aside else None) == (
        latest.request_id if latest and latest.kind == "quarantine" else None
    )
    for other in permutations(files):
        again = Fold(joined(other))
        for question, pair in product(("q1", "q2"), (PAIR, ("n1", "n3"))):
            one, two = fold.review("s", question, pair), again.review("s", question, pair)
            assert {e.request_id for e in one.verdicts} == {e.request_id for e in two.verdicts}
            assert one.disputed == two.disputed
    for file in files:
        assert join(events, file, "again").entries == []


MERGE = """
import os, signal, sys
from pathlib import Path
from audit_core.errors import AuditError
from audit_core.reviews import store as module
from audit_core.reviews.merge import merge
from audit_core.reviews.store import ReviewStore
store = ReviewStore(Path(sys.argv[2]), timeout=0.3)
if sys.argv[1] == "kill":
    real, left = module.insert, [3]
    def insert(*values):
        left[0] -= 1
        if not left[0]: os.kill(os.getpid(), signal.SIGKILL)
        return real(*values)
    module.insert = insert
if sys.argv[1] == "kill before the copy":
    store.reconcile()
    store.journal.append = lambda events: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "full":
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try: merge(store, [Path(sys.argv[3])])
except AuditError as error: print(error)
"""


def child(job: str, store: ReviewStore, source: ReviewStore) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MERGE, job, str(store.path), str(source.path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_kill_in_the_middle_merges_all_or_nothing(tmp_path: Path) -> None:
    here = filled(tmp_path / "a", entry("a1", "ann"))
    there = filled(tmp_path / "b", *(entry(f"b{n}", "ben", f"q{n}") for n in range(8)))
    assert child("kill", here, there).returncode == -signal.SIGKILL
    assert ReviewStore(here.path).fold().last == 1
    assert child("kill before the copy", here, there).returncode == -signal.SIGKILL
    again = ReviewStore(here.path)
    assert again.fold().last == 9
    assert len(again.journal.read()) == 9, "the second medium is completed"
    assert totals(merge(again, [there.path])) == (0, 8)


def test_full_disk_locked_store_and_read_only_folder(tmp_path: Path) -> None:
    here = filled(tmp_path / "a", entry("a1", "ann"))
    there = filled(tmp_path / "b", *(entry(f"b{n}", "ben", f"q{n}", note="n" * 9_000) for n in range(12)))
    told = child("full", here, there).stdout
    assert "disk" in told, told
    assert ReviewStore(here.path).fold().last == 1
    holder = sqlite3.connect(here.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="busy"):
        merge(ReviewStore(here.path, timeout=0.2, patience=0.2), [there.path])
    holder.execute("ROLLBACK")
    holder.close()
    there.path.parent.chmod(0o555)  # a file on a disk that cannot be written is read all the same
    there.path.chmod(0o444)
    try:
        assert totals(merge(ReviewStore(here.path), [there.path])) == (12, 0)
    finally:
        there.path.parent.chmod(0o755)


def test_reading_gives_the_events_by_number(tmp_path: Path) -> None:
    _, ben = apart(tmp_path)
    assert read(ben.path) == read(ben.journal.path) == ben.events()


def test_an_export_is_told_from_the_record(tmp_path: Path) -> None:
    ann = filled(tmp_path / "ann", entry("a1", "ann"))
    sheet = tmp_path / "standing-verdicts.jsonl"
    sheet.write_bytes(as_jsonl(export(ann.fold(), "s")))
    with pytest.raises(InputError, match="an export of the verdicts that stand"):
        read(sheet)
