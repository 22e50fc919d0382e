"""Signing a release: what was seen is what is signed, nothing is edited, and a stranger can check it offline."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit_core.codec import encode
from audit_core.digests import sha256
from audit_core.errors import InputError, StorageError
from audit_core.reviews import signed
from audit_core.reviews.decided import Signed, decisions, outdated
from audit_core.reviews.events import chained
from audit_core.reviews.merge import merge
from audit_core.reviews.proofs import FOLDER
from audit_core.reviews.signed import Screen
from audit_core.reviews.signoff import Wish, read, sign
from audit_core.reviews.store import ConflictError, ReviewStore
from audit_core.reviews.team import Person, RefusedError
from audit_core.verify.signoff import TITLES, verify_signoff
from tests.support import desk
from tests.support.signing import AT, give, screens

ANN = Person("ann@example.org", "adjudicator", proved=True)
SHIP = Wish("conditions", "Two lost answers are stale documents.", "Remove shard 7 first.")


@pytest.fixture(scope="module")
def nq(studies: Path) -> Path:
    return studies / "nq-400"


@pytest.fixture(scope="module")
def current(nq: Path) -> Callable[..., Screen]:
    return screens(nq, "semantic", needed=2)


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db", timeout=5)


@pytest.fixture
def reviewed(store: ReviewStore, current: Callable[..., Screen]) -> ReviewStore:
    """Two reviewers on three flips, one dispute settled, one open; and one verdict outside the flips."""
    screen = current(store.fold())
    first, second, third = screen.flips[:3]
    for who, verdict in (("ann", "regression"), ("bob", "regression")):
        give(store, screen, first, who, verdict, impact="high", note="=1+1 <b>")
    give(store, screen, second, "ann", "improvement")
    last = give(store, screen, second, "bob", "both_wrong")
    give(store, screen, second, "cat", "improvement", kind="adjudicate", base_event=last.id)
    give(store, screen, third, "ann", "cannot_tell")
    outside = next(str(n) for n in range(400) if str(n) not in screen.flips)
    give(store, screen, outside, "ann", "not_a_real_change")
    return store


def press(store: ReviewStore, current: Callable[..., Screen], wish: Wish = SHIP, request: str = "press-1") -> Signed:
    return sign(store, ANN, current(store.fold()), current, wish, request_id=request, at=AT)


def results(path: Path, **options: Any) -> dict[str, str]:
    return {check.check_id: check.result for check in verify_signoff(path, **options)}


def test_what_is_signed_verifies_offline_against_the_study(reviewed: ReviewStore, current, nq: Path) -> None:
    made = press(reviewed, current)
    file = reviewed.path.parent / FOLDER / made.name
    assert results(file, study=nq, expect=made.content["sha256"]) == dict.fromkeys(TITLES, "passed")
    alone = results(file)
    assert [check for check, result in alone.items() if result != "passed"] == ["S09", "S10", "S11", "S12", "S13"]
    assert set(alone.values()) == {"passed", "could not check"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert lines[0]["prev"] == current(reviewed.fold()).last_lock
    assert lines[-1]["sha256"] == sha256(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    (counts,) = [line for line in lines if line["kind"] == "counts"]
    assert (counts["total"], counts["reviewed"], counts["begun"], counts["disputed"]) == (40, 2, 1, 0)
    assert counts["by_verdict"]["improvement"] == counts["high_impact_regressions"] == 1
    assert len([line for line in lines if line["kind"] == "event"]) == 7
    estimate = next(line for line in lines if line.get("name") == "excess_churn[semantic]@n1-n7")
    assert (estimate["numerator"], estimate["denominator"]) == ("123", "1200") or float(estimate["lower"]) > 0
    event = made.event
    assert (event.kind, event.verdict, event.reviewer, event.note) == ("signoff", "conditions", ANN.name, SHIP.reason)
    assert event.item_sha256 == made.content["screen"] == current(reviewed.fold()).digest
    assert read(reviewed, made) == file.read_bytes()


def test_a_study_without_results_and_without_verdicts_can_be_signed(store: ReviewStore, tmp_path: Path) -> None:
    path = desk.twins(tmp_path)
    made = press(store, screens(path, "semantic"), Wish("hold", "Nobody has looked yet."))
    found = results(store.path.parent / FOLDER / made.name, study=path, expect=made.content["sha256"])
    assert found == dict.fromkeys(TITLES, "passed")
    assert made.content["counts"]["reviewed"] == 0
    assert made.content["counts"]["total"] == len(desk.TWINS)


def test_a_pair_outside_the_results_is_compared_with_what_the_answers_give(store: ReviewStore, nq: Path) -> None:
    made = press(store, screens(nq, "exact", pair=("n7", "n1")), Wish("ship", "Small."))
    file = store.path.parent / FOLDER / made.name
    assert results(file, study=nq, expect=made.content["sha256"]) == dict.fromkeys(TITLES, "passed")
    statuses = {json.loads(line).get("status") for line in file.read_bytes().splitlines()}
    assert statuses - {None} == {"exploratory"}


OFFLINE = """
import sys
banned = ("socket", "ssl", "sqlite3", "pandas", "streamlit", "urllib.request")
def hook(event, values):
    if event.startswith(("socket.", "sqlite3.", "subprocess.", "urllib.")): raise SystemExit(f"not offline: {event}")
sys.addaudithook(hook)
from pathlib import Path
from audit_core.verify.signoff import verify_signoff
found = verify_signoff(Path(sys.argv[1]), study=Path(sys.argv[2]))
print([name for name in banned if name in sys.modules], {check.result for check in found})
"""


def test_verifying_needs_no_network_and_no_database(reviewed: ReviewStore, current, nq: Path) -> None:
    file = reviewed.path.parent / FOLDER / press(reviewed, current).name
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(file), str(nq)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[] "), done.stdout
    assert "failed" not in done.stdout


def test_the_same_press_twice_is_one_decision(reviewed: ReviewStore, current) -> None:
    first, again = press(reviewed, current), press(reviewed, current)
    assert first == again
    assert len(list((reviewed.path.parent / FOLDER).iterdir())) == 1


def test_a_newer_decision_replaces_and_keeps_the_older(reviewed: ReviewStore, current) -> None:
    older = press(reviewed, current)
    newer = press(reviewed, current, Wish("hold", "On second thoughts."), "press-2")
    screen = current(reviewed.fold())
    assert decisions(reviewed.fold(), screen.study_id, screen.pair) == [newer, older]
    assert read(reviewed, older)
    last = [json.loads(line) for line in read(reviewed, newer).splitlines()][-2]
    assert last["replaces"] == older.content["sha256"]


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_an_adjudicator_signs(reviewed: ReviewStore, current, role) -> None:
    screen = current(reviewed.fold())
    with pytest.raises(RefusedError, match="adjudicator"):
        sign(reviewed, Person("eve", role), screen, current, SHIP, request_id="x", at=AT)
    assert not (reviewed.path.parent / FOLDER).exists()
    assert reviewed.fold().of_kind(None, "signoff") == []


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish("", "why"), "no decision"),
        (Wish("ship", "  \n "), "no reason"),
        (Wish("conditions", "why", " "), "no conditions"),
        (Wish("hold", "why", "and this"), "conditions without"),
        (Wish("ship", "x" * 20_001), "too long"),
    ],
)
def test_an_incomplete_decision_is_refused(reviewed: ReviewStore, current, wish: Wish, said: str) -> None:
    with pytest.raises(InputError, match=said):
        press(reviewed, current, wish)
    assert reviewed.fold().of_kind(None, "signoff") == []


def test_a_study_that_failed_its_checks_can_only_be_held(reviewed: ReviewStore, current) -> None:
    def failed(fold):
        return replace(current(fold), checks="failed")

    with pytest.raises(InputError, match="integrity"):
        press(reviewed, failed, Wish("ship", "why"))
    assert press(reviewed, failed, Wish("hold", "It failed its check.")).event.verdict == "hold"


def test_a_screen_that_changed_is_not_signed_and_says_why(reviewed: ReviewStore, current) -> None:
    before = current(reviewed.fold())
    give(reviewed, before, before.flips[5], "dan", "regression")

    def attempt(now=current):
        sign(reviewed, ANN, before, now, SHIP, request_id="late", at=AT)

    with pytest.raises(ConflictError, match=f"dan said Regression on {before.flips[5]}"):
        attempt()
    give(reviewed, before, before.flips[5], "dan", None, "back", kind="retract")
    attempt_now = current(reviewed.fold())
    assert before.changes(attempt_now) == []
    other = (*before.locks[:-1], ("results", "e" * 64))
    with pytest.raises(ConflictError, match="another one"):
        attempt(lambda fold: replace(current(fold), locks=other))
    with pytest.raises(ConflictError, match="needs 3 verdicts"):
        attempt(lambda fold: replace(current(fold), needed=3))
    assert not (reviewed.path.parent / FOLDER).exists()
    attempt()


def test_a_verdict_in_the_last_moment_is_not_overlooked(reviewed: ReviewStore, current) -> None:
    """Another process saves after the screen was compared and before the decision is stored."""
    before = current(reviewed.fold())

    def late(fold):
        now = current(fold)
        give(ReviewStore(reviewed.path), before, before.flips[7], "dan", "regression")
        return now

    with pytest.raises(ConflictError, match="dan: regression"):
        sign(reviewed, ANN, before, late, SHIP, request_id="late", at=AT)
    assert reviewed.fold().of_kind(None, "signoff") == []


def test_later_verdicts_and_another_lock_make_it_outdated(reviewed: ReviewStore, current) -> None:
    made = press(reviewed, current)
    screen = current(reviewed.fold())
    assert outdated(made, screen, reviewed.fold()) == []
    give(reviewed, screen, screen.flips[5], "dan", "regression")
    give(reviewed, screen, screen.flips[6], "dan", "regression")
    assert outdated(made, current(reviewed.fold()), reviewed.fold()) == ["2 verdicts since."]
    for number in (5, 6):
        give(reviewed, screen, screen.flips[number], "dan", None, f"back-{number}", kind="retract")
    assert outdated(made, current(reviewed.fold()), reviewed.fold()) == []
    moved = replace(current(reviewed.fold()), locks=(("protocol", "e" * 64),))
    assert "another last lock" in outdated(made, moved, reviewed.fold())[0]


def test_a_file_that_was_changed_or_lost_is_told(reviewed: ReviewStore, current) -> None:
    made = press(reviewed, current)
    file = reviewed.path.parent / FOLDER / made.name
    content = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(content.replace(b"stale", b"fresh"))
    with pytest.raises(StorageError, match="was changed"):
        read(reviewed, made)
    file.unlink()
    with pytest.raises(StorageError, match="cannot be read"):
        read(reviewed, made)
    escaped = Signed(replace(made.event, subject="../verdicts.jsonl"), made.content)
    with pytest.raises(StorageError):
        read(reviewed, escaped)


def test_a_merge_brings_the_file_along_and_still_knows_the_verdicts(reviewed, current, tmp_path: Path) -> None:
    made = press(reviewed, current)
    other = ReviewStore(tmp_path / "other" / "reviews.db")
    other.path.parent.mkdir()
    give(other, current(other.fold()), current(other.fold()).flips[9], "zoe", "improvement", "zoe-1")
    (found,) = merge(other, [reviewed.path])
    assert found.notes == []
    screen = current(other.fold())
    (there,) = decisions(other.fold(), screen.study_id, screen.pair)
    assert read(other, there) == read(reviewed, made)
    assert outdated(there, screen, other.fold()) == ["The verdicts are not those that were signed."]
    fresh = ReviewStore(tmp_path / "fresh" / "reviews.db")
    fresh.path.parent.mkdir()
    (found,) = merge(fresh, [reviewed.journal.path])
    (copy,) = decisions(fresh.fold(), screen.study_id, screen.pair)
    assert outdated(copy, current(fresh.fold()), fresh.fold()) == []
    moved = tmp_path / "bare" / "theirs.jsonl"
    moved.parent.mkdir()
    moved.write_bytes(reviewed.journal.path.read_bytes())
    bare = ReviewStore(moved.with_name("reviews.db"))
    assert made.name in merge(bare, [moved])[0].notes[0]


KILLED = """
import os, signal, sys
from pathlib import Path
from audit_core.reviews import proofs
from audit_core.reviews.store import ReviewStore
from tests.core.test_reviews_signoff import press
from tests.support import desk
from tests.support.signing import screens
step, path, study = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
if step == "before the link": os.link = die
elif step == "before the folder is synced": proofs.sync_folder = die
elif step == "before the event": ReviewStore.append = die
press(ReviewStore(path), screens(study, "semantic", 2))
"""


@pytest.mark.parametrize("step", ["before the link", "before the folder is synced", "before the event"])
def test_a_kill_between_file_and_event_leaves_no_decision(reviewed: ReviewStore, current, nq: Path, step) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step, str(reviewed.path), str(nq)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    again = ReviewStore(reviewed.path)
    assert again.fold().of_kind(None, "signoff") == []
    left = [file for file in (reviewed.path.parent / FOLDER).iterdir() if not file.name.startswith(".")]
    assert len(left) == (step != "before the link")
    for file in left:
        assert "failed" not in results(file, study=nq).values()
    made = press(again, current)
    assert read(again, made)
    assert len(again.fold().of_kind(None, "signoff")) == 1


FULL = """
import resource, signal, sys
from pathlib import Path
from audit_core.errors import StorageError
from audit_core.reviews.store import ReviewStore
from tests.core.test_reviews_signoff import press
from tests.support import desk
from tests.support.signing import screens
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try: press(ReviewStore(Path(sys.argv[1])), screens(Path(sys.argv[2]), "semantic", 2))
except StorageError as error: print(error)
"""


def test_a_full_disk_signs_nothing(reviewed: ReviewStore, nq: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(reviewed.path), str(nq)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nothing was signed" in done.stdout
    assert list((reviewed.path.parent / FOLDER).iterdir()) == []
    assert ReviewStore(reviewed.path).fold().of_kind(None, "signoff") == []


# One change per check, made by somebody who makes every digest that comes after it anew.

Records = list[dict[str, Any]]


def _one(records: Records, kind: str) -> dict[str, Any]:
    return next(record for record in records if record["kind"] == kind)


def _resealed(records: Records, body: bool = True) -> bytes:
    """All digests made anew: the screen's, the chain's, the last line's."""
    if body:
        _one(records, "decision")["screen"] = signed.digest_of(
            [{k: v for k, v in record.items() if k not in ("prev", "seq", "v")} for record in records[:-2]]
        )
    lines: list[bytes] = []
    prev = records[0]["prev"]
    for number, record in enumerate(records):
        if record["kind"] == "end":
            record |= {"sha256": sha256(b"".join(lines)), "lines": len(lines)}
        line = encode({**record, "prev": prev, "seq": number})
        prev = sha256(line)
        lines.append(line + b"\n")
    return b"".join(lines)


def _spaces(records: Records) -> bytes:
    lines = _resealed(records).splitlines(keepends=True)
    lines[1] = lines[1].replace(b'":"', b'": "', 1)
    return b"".join(lines)


def _chain(records: Records) -> bytes:
    lines = _resealed(records).splitlines(keepends=True)
    records[3]["prev"] = "f" * 64
    lines[3] = encode(records[3]) + b"\n"
    end = json.loads(lines[-1]) | {"sha256": sha256(b"".join(lines[:-1]))}
    after = json.loads(lines[4]) | {"prev": sha256(lines[3][:-1])}
    lines[4] = encode(after) + b"\n"
    for number in range(5, len(lines) - 1):
        lines[number] = encode(json.loads(lines[number]) | {"prev": sha256(lines[number - 1][:-1])}) + b"\n"
    end |= {"sha256": sha256(b"".join(lines[:-1])), "prev": sha256(lines[-2][:-1])}
    return b"".join(lines[:-1]) + encode(end) + b"\n"


def _end(records: Records) -> bytes:
    lines = _resealed(records).splitlines(keepends=True)
    return b"".join(lines[:-1]) + encode(json.loads(lines[-1]) | {"sha256": "a" * 64}) + b"\n"


def _reason(records: Records) -> bytes:
    _one(records, "decision")["reason"] = " "
    return _resealed(records)


def _screen(records: Records) -> bytes:
    _one(records, "decision")["screen"] = "a" * 64
    return _resealed(records, body=False)


def _first(records: Records) -> bytes:
    records[0]["prev"] = "a" * 64
    return _resealed(records)


def _event(records: Records) -> bytes:
    _one(records, "event")["event"]["note"] = "another note"
    return _resealed(records)


def _counts(records: Records) -> bytes:
    counts = _one(records, "counts")
    counts["by_verdict"] |= {"regression": 0, "improvement": 2}
    return _resealed(records)


def _forged_event(records: Records) -> bytes:
    """A verdict that somebody made up, with a digest that fits it: the counts say otherwise."""
    record = _one(records, "event")
    event = signed.event_of(record)
    record["event"] = signed.plain_fields(chained(_entry(event, verdict="improvement"), event.id, event.prev_sha256))
    return _resealed(records)


def _entry(event, **changes):
    from audit_core.reviews.events import ENTRY_COLUMNS, Entry

    return Entry(**{**{name: getattr(event, name) for name in ENTRY_COLUMNS}, **changes})


def _lock(records: Records) -> bytes:
    _one(records, "lock")["sha256"] = "a" * 64
    return _resealed(records)


def _estimate(records: Records) -> bytes:
    next(r for r in records if r.get("name", "").startswith("excess_churn[semantic]"))["lower"] = "0.5"
    return _resealed(records)


def _estimate_left_out(records: Records) -> bytes:
    records.remove(next(r for r in records if r.get("name", "").startswith("excess_churn[exact]")))
    return _resealed(records)


def _flip(records: Records) -> bytes:
    [r for r in records if r["kind"] == "flip"][-1]["question_id"] = "none of the study"
    return _resealed(records)


def _rule(records: Records) -> bytes:
    _one(records, "rule")["outcome"] = "not confirmed"
    return _resealed(records)


def _all_anew(records: Records) -> bytes:
    _one(records, "decision")["reason"] = "Another reason."
    return _resealed(records)


TAMPERED = [
    ("S01", _spaces), ("S02", _chain), ("S03", _end), ("S04", _reason), ("S05", _screen), ("S06", _first),
    ("S07", _event), ("S08", _counts), ("S08", _forged_event), ("S09", _lock), ("S10", _estimate),
    ("S10", _estimate_left_out), ("S11", _flip), ("S12", _rule), ("S13", _all_anew),
]  # fmt: skip


@pytest.mark.parametrize(("check", "change"), TAMPERED, ids=lambda value: getattr(value, "__name__", value))
def test_each_change_is_caught_by_its_check_and_no_other(reviewed, current, nq, tmp_path, check, change) -> None:
    made = press(reviewed, current)
    records = [json.loads(line) for line in read(reviewed, made).splitlines()]
    file = tmp_path / "tampered.jsonl"
    file.write_bytes(change(records))
    expect = sha256(file.read_bytes()) if check != "S13" else made.content["sha256"]
    found = results(file, study=nq, expect=expect)
    assert [name for name, result in found.items() if result == "failed"] == [check]
    assert "failed" in results(file, study=nq, expect=made.content["sha256"]).values()
    assert {name for name, _ in TAMPERED} == set(TITLES)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"[]\n", b"null\n", b"{}\n", b'{"kind":[1]}\n', b"\xff\xfe\n", b"x" * 999]
)
def test_what_is_no_sign_off_fails_its_form(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(content)
    found = results(file)
    assert found["S01"] == "failed"
    assert list(found.values()).count("failed") == 1


def test_another_study_is_told(reviewed: ReviewStore, current, studies: Path) -> None:
    made = press(reviewed, current)
    found = results(reviewed.path.parent / FOLDER / made.name, study=studies / "triviaqa-200")
    assert [check for check, result in found.items() if result == "failed"] == ["S09"]
