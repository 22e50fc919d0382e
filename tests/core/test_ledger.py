"""Ledgers: strict lines, chains, torn tails, one writer, and what a crash or a full disk may do to them."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.codec import GOLD, CodecError, decode, encode
from audit_core.digests import canonical, merkle_root, sha256
from audit_core.errors import LedgerError, StorageError
from audit_core.ledger import Ledger, Reader, write

START = "0" * 64
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | text,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=8), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(values)
def test_three_encoders_give_the_same_bytes(value: object) -> None:
    assert encode(value) == canonical(value) == orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":1.5}', "floating"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":1,"a":2}', "canonical"),
        (b'{"a": 1}', "canonical"),
        (b'{"b":1,"a":2}', "canonical"),
        (b'\xef\xbb\xbf{"a":1}', "JSON"),
        (b'{"a":1}\r', "canonical"),
        (b'{"a":"\xff"}', "JSON"),
        (b'{"a":"\\ud83d"}', "JSON"),
        (b'{"a":9007199254740992}', "2\\^53"),
        (b'{"a":"\\u0041"}', "canonical"),
        (b"", "JSON"),
        (b"[" * 40 + b"]" * 40, "deep"),
        (b"[" * 100_000, "JSON|deep"),
        (b'{"\xc3\xa9":1}', "ASCII"),
        (b'{"a":1}{"b":2}', "JSON"),
        (b'{"a":' + b"9" * 5000 + b"}", "JSON|2\\^53|canonical|floating"),
    ],
)
def test_lines_outside_the_domain_are_refused(line: bytes, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        decode(line)


@pytest.mark.parametrize("value", [1.5, float("nan"), {"é": 1}, {1: 2}, 2**53, "\ud83d", b"x", {"": 1}])
def test_values_outside_the_domain_are_refused(value: object) -> None:
    with pytest.raises(CodecError):
        encode(value)


def records(n: int) -> list[dict]:
    return [{"question_id": f"q{i}", "aliases": [f"a{i}", "line\u2028break", "tab\tnul\x00"]} for i in range(n)]


def read(path: Path) -> list[dict]:
    return list(Reader(path, START, GOLD, "gold"))


def test_round_trip_and_digests(tmp_path: Path) -> None:
    entry = write(tmp_path / "l.jsonl", records(50), START)
    data = (tmp_path / "l.jsonl").read_bytes()
    reader = Reader(tmp_path / "l.jsonl", START, GOLD, "gold")
    assert [r["question_id"] for r in reader] == [f"q{i}" for i in range(50)]
    assert reader.entry == entry
    assert (entry.size, entry.sha256) == (len(data), sha256(data))
    lines = data.split(b"\n")[:-1]
    assert (entry.lines, entry.head, entry.merkle) == (len(lines), sha256(lines[-1]), merkle_root(lines))


def test_every_single_byte_change_is_found(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    entry = write(path, records(6), START)
    data = path.read_bytes()
    rng = random.Random(1)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        reader = Reader(path, START, GOLD, "gold")
        try:
            list(reader)
        except LedgerError as error:
            assert "line" in str(error)
        else:
            assert reader.entry is not None
            assert reader.entry.sha256 != entry.sha256


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:2], b"", *lines[2:]],
        lambda lines: [line + b"\r" for line in lines],
    ],
)
def test_removed_repeated_and_swapped_lines_stop_with_a_line_number(tmp_path: Path, edit: object) -> None:
    path = tmp_path / "l.jsonl"
    write(path, records(5), START)
    lines = path.read_bytes().split(b"\n")[:-1]
    path.write_bytes(b"\n".join(edit(lines)) + b"\n")  # type: ignore[operator]
    with pytest.raises(LedgerError, match=r"l\.jsonl: line [123]"):
        read(path)


def test_a_cut_at_any_byte_loses_nothing_that_was_complete(tmp_path: Path) -> None:
    source = tmp_path / "whole.jsonl"
    write(source, records(6), START)
    data = source.read_bytes()
    for cut in range(len(data) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:cut])
        with Ledger(path, START, GOLD, "gold") as ledger:
            complete = data[:cut].count(b"\n")
            assert len(ledger) == complete
            tail = data[:cut].rpartition(b"\n")[2]
            assert ledger.torn == len(tail)
            ledger.append({"question_id": "after", "aliases": []})
        assert len(read(path)) == complete + 1
        for aside in tmp_path.glob("cut.jsonl.torn-*"):
            assert aside.read_bytes() == tail
            aside.unlink()


def test_damage_before_the_tail_is_never_repaired(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    write(path, records(4), START)
    data = path.read_bytes().replace(b'"q1"', b'"qX"')
    path.write_bytes(data)
    with pytest.raises(LedgerError, match="line 3"):
        Ledger(path, START, GOLD, "gold")
    assert path.read_bytes() == data


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.jsonl", START, GOLD, "gold"):
        with pytest.raises(StorageError, match="another process"):
            Ledger(tmp_path / "l.jsonl", START, GOLD, "gold")
    Ledger(tmp_path / "l.jsonl", START, GOLD, "gold").close()


WRITER = """
import os, sys
from pathlib import Path
from audit_core.codec import GOLD
from audit_core.ledger import Ledger
with Ledger(Path(sys.argv[1]), "0" * 64, GOLD, "gold") as ledger:
    n = len(ledger)
    while True:
        ledger.append({"question_id": f"q{n}", "aliases": ["x" * (n * 7919 % 60_000)]})
        os.write(1, b"%d\\n" % n)
        n += 1
"""


def test_killed_writers_lose_no_acknowledged_record(tmp_path: Path) -> None:
    path, rng, acknowledged = tmp_path / "l.jsonl", random.Random(4), 0
    for _ in range(25):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        time.sleep(0.15 + rng.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        seen = [int(n) for n in out.split(b"\n")[:-1]]
        acknowledged = max([acknowledged, *(n + 1 for n in seen)])
    held: list[dict] = []
    with Ledger(path, START, GOLD, "gold", lambda record, _: held.append(record)) as ledger:
        assert len(ledger) == len(held) >= acknowledged > 25
        assert [r["question_id"] for r in held] == [f"q{n}" for n in range(len(held))]


def test_a_full_disk_keeps_what_was_acknowledged_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
            with Ledger(path, START, GOLD, "gold") as ledger:
                try:
                    for n in range(1000):
                        ledger.append({"question_id": f"q{n}", "aliases": ["x" * 900]})
                except StorageError as error:
                    good = f"{n} records are safe" in str(error) and error.exit_code == 3
                    try:
                        ledger.append({"question_id": "again", "aliases": []})
                    except StorageError:
                        code = 0 if good else 8
                    (tmp_path / "n").write_text(str(n))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(read(path)) == int((tmp_path / "n").read_text())
    with Ledger(path, START, GOLD, "gold") as ledger:
        assert ledger.torn == 0
        ledger.append({"question_id": "later", "aliases": []})


def test_a_failed_sync_kills_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path / "l.jsonl", START, GOLD, "gold") as ledger:
        ledger.append({"question_id": "q0", "aliases": []})

        def fails(_: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fdatasync", fails)
        with pytest.raises(StorageError, match="Input/output"):
            ledger.append({"question_id": "q1", "aliases": []})
        monkeypatch.undo()
        with pytest.raises(StorageError, match="stopped after a failed write"):
            ledger.append({"question_id": "q2", "aliases": []})
    assert [r["question_id"] for r in read(tmp_path / "l.jsonl")] == ["q0"]


def test_threads_share_syncs_and_each_record_is_on_disk_when_its_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, syncs, whole = tmp_path / "l.jsonl", [0], os.fdatasync

    def slow(handle: int) -> None:
        syncs[0] += 1
        time.sleep(0.004)
        whole(handle)

    monkeypatch.setattr(os, "fdatasync", slow)
    missing: list[str] = []
    with Ledger(path, START, GOLD, "gold") as ledger:

        def work(number: int) -> None:
            for i in range(20):
                name = f"q{number}-{i}"
                (offset,) = ledger.append({"question_id": name, "aliases": []})
                if f'"{name}"'.encode() not in path.read_bytes()[offset:].split(b"\n")[0]:
                    missing.append(name)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert missing == []
    assert len(read(path)) == 320, "one chain, nothing lost"
    assert syncs[0] < 200, "several waiting records share one sync"


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: whole(handle, bytes(data)[:7]))
    with Ledger(tmp_path / "l.jsonl", START, GOLD, "gold") as ledger:
        ledger.append(*records(3))
    monkeypatch.undo()
    assert len(read(tmp_path / "l.jsonl")) == 3


def test_lines_are_valid_json_for_everyone(tmp_path: Path) -> None:
    write(tmp_path / "l.jsonl", records(3), START)
    with (tmp_path / "l.jsonl").open(encoding="utf-8", newline="\n") as stream:
        assert [json.loads(line)["seq"] for line in stream] == [0, 1, 2]
