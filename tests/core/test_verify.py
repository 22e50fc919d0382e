"""The tampering table: one mutation per check, caught by that check and by no other; and the checks' own promises."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from audit_core import locks
from audit_core.codec import decode, encode
from audit_core.digests import sha256
from audit_core.errors import GateError, InputError
from audit_core.estimators.groups import GROUPS, Group
from audit_core.results import arrays_of, compute, estimate_study
from audit_core.study import AUDIT, CELLS, GOLD, NONCE, PASSAGES, PRIMARY, QUESTIONS, Study, gold_seal
from audit_core.verify import TITLES, verify
from tests.support.relock import Records, relock, rewrite_results
from tests.support.ruled import NUMBERS
from tests.support.simulator import CREATED, StudySimulator

NONCE_BYTES = b"n" * 32


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study in which every check can be made: second retrieval pass, sealed gold, results, decision."""
    path = tmp_path_factory.mktemp("original") / "study"
    study = StudySimulator(questions=12, passages=True, noise=0.3).build(path, release=NUMBERS)
    estimate_study(study, created=CREATED)
    seal = gold_seal(NONCE_BYTES, study.reader(GOLD))
    relock(path, _second_pass, protocol=lambda d: d.update(gold_commit=seal), extra={NONCE: NONCE_BYTES})
    return path


def _second_pass(records: Records) -> None:
    records[AUDIT] = [dict(r) for r in records[PRIMARY]]


def outcomes(path: Path, **options: str) -> dict[str, str]:
    return {check.check_id: check.result for check in verify(path, **options)}  # type: ignore[arg-type]


def copy(original: Path, tmp_path: Path) -> Path:
    target = tmp_path / "study"
    shutil.copytree(original, target)
    for file in target.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    return target


def test_the_untouched_study_passes(original: Path) -> None:
    found = outcomes(original, expect_lock=Study(original).chain[-1].sha256)
    assert {c for c, r in found.items() if r != "passed"} == {"C19", "C20"}, "a simulated study has no calls to check"


def flip_byte(path: Path) -> None:
    data = bytearray((path / CELLS).read_bytes())
    data[len(data) // 2] ^= 1
    (path / CELLS).write_bytes(data)


def break_chain(path: Path) -> None:
    """A ledger whose lines do not follow one another, under a lock that lists its digests."""
    target = path / GOLD
    lines = target.read_bytes().split(b"\n")[:-1]
    record = decode(lines[3])
    record["prev"] = "f" * 64
    lines[3] = encode(record)
    target.write_bytes(b"\n".join(lines) + b"\n")
    from audit_core.digests import merkle_root

    _edit_lock(
        path,
        "gold",
        lambda lock: lock["files"][0].update(
            {
                "sha256": sha256(target.read_bytes()),
                "bytes": target.stat().st_size,
                "head": sha256(lines[-1]),
                "merkle": merkle_root(lines),
            }
        ),
        onward=True,
    )


def _edit_lock(path: Path, gate: str, change: Callable[[dict], None], onward: bool = False) -> None:
    """Edit a lock; with `onward` the later locks name the new one."""
    place = locks.GATES.index(gate)
    prev = None
    for name in locks.GATES[place:]:
        file = path / "locks" / locks.file_name(name)
        record = decode(file.read_bytes().removesuffix(b"\n"))
        if name == gate:
            change(record)
        elif prev is not None and onward:
            record["prev"] = prev
        file.write_bytes(encode(record) + b"\n")
        prev = sha256(file.read_bytes())


def edit(change: Callable[[Records], None], **options: object) -> Callable[[Path], None]:
    return lambda path: relock(path, change, **{"extra": {NONCE: NONCE_BYTES}, **options})  # type: ignore[arg-type]


def first(member: str, **fields: object) -> Callable[[Records], None]:
    return lambda records: records[member][0].update(fields)


def drop_label(records: Records) -> None:
    records["judgments/primary/cells.jsonl"][2]["labels"].pop()


def double_question(records: Records) -> None:
    records[QUESTIONS].append(dict(records[QUESTIONS][0]))


def double_cell(records: Records) -> None:
    records[CELLS].insert(1, dict(records[CELLS][0]))


TABLE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a file nobody asked for": ("C01", lambda p: (p / "notes.txt").write_text("hello")),
    "a link in place of a file": ("C01", lambda p: (p / "extra").symlink_to(p / CELLS)),
    "a lock that is not canonical": ("C02", lambda p: _append(p / "locks" / "60-results.json", b" \n")),
    "a lock removed from the middle": ("C02", lambda p: (p / "locks" / "20-retrieval.json").unlink()),
    "a lock of another study": ("C03", lambda p: _edit_lock(p, "results", lambda lock: lock.update(bundle="a" * 64))),
    "a lock edited after the fact": ("C03", lambda p: _edit_lock(p, "judgments", lambda lock: lock.update(note="x"))),
    "one bit of an answer": ("C04", flip_byte),
    "a file removed": ("C04", lambda p: (p / PASSAGES).unlink()),
    "a torn tail": ("C04", lambda p: _append(p / CELLS, b'{"torn"')),
    "a line that does not follow": ("C05", break_chain),
    "a protocol with a word too many": (
        "C06",
        lambda p: relock(p, lambda _: None, protocol=lambda d: d.update(surprise=1), estimate=False),
    ),
    "a question twice": ("C07", edit(double_question, estimate=False)),
    "a cell twice": ("C08", edit(double_cell, estimate=False)),
    "a cell of an unknown state": ("C08", edit(first(CELLS, state="n9"), estimate=False)),
    "a count that is not the ledger's": (
        "C09",
        lambda p: relock(
            p, lambda _: None, counts=lambda c: c["answers"].update(accepted=1), extra={NONCE: NONCE_BYTES}
        ),
    ),
    "a passage with another text": ("C10", edit(first(PASSAGES, text="Another text."))),
    "a document that went missing in the second pass": (
        "C11",
        edit(lambda records: records[AUDIT][1]["documents"].pop()),
    ),
    "a pair without a label": ("C12", edit(drop_label)),
    "gold of an unknown question": ("C13", edit(first(GOLD, question_id="nobody"), estimate=False)),
    "gold that was not the sealed one": (
        "C14",
        edit(lambda records: records[GOLD][0]["aliases"].append("another"), extra={NONCE: NONCE_BYTES}),
    ),
    "another nonce": ("C14", edit(lambda _: None, extra={NONCE: b"m" * 32})),
    "an estimate made larger": (
        "C15",
        lambda p: rewrite_results(p, lambda r: r["estimates"][2].update(numerator=r["estimates"][2]["numerator"] + 1)),
    ),
    "an estimate that is left out": ("C15", lambda p: rewrite_results(p, lambda r: r["estimates"].pop(2))),
    "one of the newer estimates that is left out": (
        "C15",
        lambda p: rewrite_results(p, lambda r: r["estimates"].pop()),
    ),
    "an estimate that stands there twice, first with another number": (
        "C15",
        lambda p: rewrite_results(p, lambda r: r["estimates"].insert(0, {**r["estimates"][0], "numerator": 1})),
    ),
    "an estimate that nothing defines": (
        "C15",
        lambda p: rewrite_results(p, lambda r: r["estimates"].append({**r["estimates"][0], "name": "another"})),
    ),
    "a decision turned round": (
        "C16",
        lambda p: rewrite_results(
            p,
            lambda r: r["decision"].update(
                outcome="not confirmed" if r["decision"]["outcome"] == "churn confirmed" else "churn confirmed"
            ),
        ),
    ),
    "a condition of the release rule turned round": (
        "C16",
        lambda p: rewrite_results(p, lambda r: r["release"]["conditions"][0].update(met=True)),
    ),
    "an upper bound made smaller": (
        "C16",
        lambda p: rewrite_results(p, lambda r: r["release"]["limits"][0].update(upper="1/1000")),
    ),
    "what the ledgers say about the release rule is left out": (
        "C16",
        lambda p: rewrite_results(p, lambda r: r.pop("release")),
    ),
    "a release rule that the protocol does not have": ("C16", lambda p: _with_a_rule(p)),
    "other draws": (
        "C17",
        lambda p: rewrite_results(p, lambda r: r["stream"]["statistics"][0].update(sha256="c" * 64)),
    ),
}


def _with_a_rule(path: Path) -> None:
    """A study whose protocol has no rule, with results that somebody gave one."""
    extra = {NONCE: NONCE_BYTES}
    relock(path, lambda _: None, protocol=lambda d: d.pop("release"), estimate=False, extra=extra)
    study = Study(path)
    made = compute(study.protocol, arrays_of(study.protocol, study.dossiers()))
    study.close_results({**made, "release": {"conditions": [], "limits": []}}, CREATED)


def _append(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    with path.open("ab") as stream:
        stream.write(data)


@pytest.mark.parametrize("name", TABLE)
def test_each_mutation_is_caught_by_its_check_alone(name: str, original: Path, tmp_path: Path) -> None:
    check, mutate = TABLE[name]
    path = copy(original, tmp_path)
    mutate(path)
    found = outcomes(path)
    failed = {c for c, result in found.items() if result == "failed"}
    assert failed == {check}, {c: r for c, r in found.items() if r != "passed"}


def test_every_check_has_a_mutation_or_its_own_test() -> None:
    assert {check for check, _ in TABLE.values()} | {"C18", "C19", "C20", "C21", "C22"} == set(TITLES)


@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS[1:], GROUPS], ids=["the first", "the second", "both"])
def test_results_that_are_older_than_a_group_of_estimates_hold(
    groups: tuple[Group, ...], original: Path, tmp_path: Path
) -> None:
    path = copy(original, tmp_path)
    count = len(Study(path).results()["estimates"])  # type: ignore[index]
    newer = frozenset[str]().union(*(group.measures for group in groups))

    def older(record: Records) -> None:
        record["estimates"] = [e for e in record["estimates"] if e["measure"] not in newer]

    rewrite_results(path, older)
    left = len(Study(path).results()["estimates"])  # type: ignore[index]
    assert 0 < left < count
    found = next(check for check in verify(path) if check.check_id == "C15")
    assert (found.result, found.detail) == (
        "passed",
        f"{left} estimates recomputed. Newer than the lock of this study, and computed when it is loaded: "
        + "; ".join(group.title for group in groups)
        + ".",
    )


def test_a_removed_last_lock_is_found_only_with_an_id_kept_elsewhere(original: Path, tmp_path: Path) -> None:
    path = copy(original, tmp_path)
    kept = Study(path).chain[-1].sha256
    (path / "locks" / "60-results.json").unlink()
    shutil.rmtree(path / "results")
    assert "failed" not in outcomes(path).values()
    found = outcomes(path, expect_lock=kept)
    assert [c for c, result in found.items() if result == "failed"] == ["C18"]


def test_what_a_study_lacks_could_not_be_checked(tmp_path: Path) -> None:
    StudySimulator(questions=3, labels=False, gold=False, evidence=False).build(tmp_path / "study")
    found = outcomes(tmp_path / "study")
    assert {c for c, r in found.items() if r == "could not check"} == {
        "C10",
        "C11",
        "C12",
        "C13",
        "C14",
        "C15",
        "C16",
        "C17",
        "C18",
        "C19",
        "C20",
    }
    assert "failed" not in found.values()


def test_bundled_studies_pass_without_network(studies: Path) -> None:
    """In a process of its own in which any use of a socket or another program raises."""
    code = """
import sys
def deny(event, args):
    if event.startswith(("socket.", "urllib.", "http.", "subprocess.", "os.system", "os.exec", "os.posix_spawn")):
        raise RuntimeError("network: " + event)
sys.addaudithook(deny)
from audit_core.cli import main
codes = [main(["verify", name, "--json"]) for name in sys.argv[1:]]
loaded = {"socket", "ssl", "anthropic", "streamlit", "pandas", "sqlite_utils", "pyarrow"} & set(sys.modules)
print(loaded, file=sys.stderr)
sys.exit(max(codes) or len(loaded))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *(str(p) for p in sorted(studies.iterdir()))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["ok"] for report in reports] == [True] * len(list(studies.iterdir()))


def test_the_guard_of_that_test_does_stop_a_socket() -> None:
    code = (
        "import sys\nsys.addaudithook(lambda e, a: (_ for _ in ()).throw(RuntimeError(e)) if e.startswith('socket.') "
        "else None)\nimport socket\nsocket.socket()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode != 0
    assert socket.socket


def test_not_a_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        verify(tmp_path / "nothing")
    with pytest.raises(GateError, match="not a study"):
        verify(tmp_path)


def test_a_file_that_changes_during_verification_is_found(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hash and parse use the same bytes, so a change between the two cannot pass."""
    path = copy(original, tmp_path)

    def change(what: str) -> None:
        if what == GOLD:
            flip_gold()

    def flip_gold() -> None:
        data = (path / GOLD).read_bytes()
        (path / GOLD).write_bytes(data.replace(b"answer old 3", b"answer odd 3"))

    found = {c.check_id: c.result for c in verify(path, progress=change)}
    assert found["C04"] == "failed"


def test_read_only_study_can_be_verified(original: Path) -> None:
    for file in original.rglob("*"):
        if file.is_file():
            file.chmod(0o444)
    assert "failed" not in outcomes(original).values()
    assert os.access(original, os.R_OK)
