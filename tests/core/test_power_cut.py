"""A power cut at every moment of a collection: only what was synced is sure to be there; the last write may be torn.

The file calls of the real ledger are recorded. For each of them crash images are built (only what was synced;
everything; everything with the last write cut at several places) and opened again: no acknowledged record may be lost.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from audit_core.codec import GOLD
from audit_core.collect.attempts import Attempts
from audit_core.ledger import Ledger
from audit_core.outcomes import Reply
from audit_core.tally import Slots
from tests.support.service import message

START = "0" * 64


class Disk:
    """What reached one file: its writes and syncs in order, and how much was acknowledged after each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.path, self.events = path, []  # type: ignore[var-annotated]
        self.acknowledged = 0
        write, sync = os.write, os.fdatasync

        def recorded_write(handle: int, data: bytes) -> int:
            part = bytes(data)[: self.rng.randint(1, len(data))] if self.rng.random() < 0.3 else bytes(data)
            done = write(handle, part)
            if os.path.samestat(os.fstat(handle), path.stat()):
                self.events.append(("write", part[:done], self.acknowledged))
            return done

        def recorded_sync(handle: int) -> None:
            sync(handle)
            self.events.append(("sync", b"", self.acknowledged))

        self.rng = random.Random(3)
        monkeypatch.setattr(os, "write", recorded_write)
        monkeypatch.setattr(os, "fdatasync", recorded_sync)

    def images(self) -> list[tuple[bytes, int]]:
        """Each crash image, and how many bytes were acknowledged before it."""
        found, synced, whole, rng = [], b"", b"", random.Random(9)
        for kind, data, acknowledged in self.events:
            found.append((synced, acknowledged))
            found.append((whole, acknowledged))
            if kind == "write":
                found += ((whole + data[: rng.randrange(len(data) + 1)], acknowledged) for _ in range(2))
                whole += data
            else:
                synced = whole
        return [*found, (synced, self.acknowledged)]


def reopened(folder: Path, image: bytes, opened: Callable[[Path], object]) -> bytes:
    """What is in the file after a run began on a crash image."""
    for old in folder.glob("cut.jsonl*"):
        old.unlink()
    path = folder / "cut.jsonl"
    path.write_bytes(image)
    opened(path)
    return path.read_bytes()


def test_no_acknowledged_record_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "l.jsonl"
    path.touch()
    disk = Disk(monkeypatch, path)
    with Ledger(path, START, GOLD, "gold") as ledger:
        for i in range(40):
            ledger.append(*({"question_id": f"q{i}-{j}", "aliases": ["x" * (i * 37 % 400)]} for j in range(1 + i % 3)))
            disk.acknowledged = path.stat().st_size
    monkeypatch.undo()
    images = disk.images()
    for image, acknowledged in images:
        after = reopened(tmp_path, image, lambda p: Ledger(p, START, GOLD, "gold").close())
        assert after.startswith(path.read_bytes()[:acknowledged])
        assert after == path.read_bytes()[: len(after)], "a prefix, and no torn line"
    assert len(images) > 250


def test_a_collection_goes_on_after_a_power_cut_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was accepted stays so; a call that was open is interrupted or, in a batch, still open."""
    path = tmp_path / "l.jsonl"
    path.touch()
    disk = Disk(monkeypatch, path)
    slots = Slots([f"q{i}" for i in range(12)])
    good = Reply(200, json.dumps(message("Paris", "m")).encode())
    accepted_at: list[tuple[int, str]] = []

    def noted(key: str) -> None:
        disk.acknowledged = path.stat().st_size
        accepted_at.append((disk.acknowledged, key))

    with Attempts(path, START, "one", slots) as attempts:
        for i in range(6):
            name = attempts.begin((f"q{i}",), {"n": i}, model="m", origin="o")
            disk.acknowledged = path.stat().st_size
            attempts.end(name, Reply(529, b"") if i == 2 else good)
            if i != 2:
                noted(f"q{i}")
        work = [((f"q{i}",), {"n": i}) for i in (2, *range(6, 12))]
        batch, items = attempts.begin_batch(work, model="m", origin="o", after="")
        attempts.created(batch, "msgbatch_1")
        disk.acknowledged = path.stat().st_size
        attempts.end_batch(batch, [(item, good) for item in items])
        for key, _ in work:
            noted(str(key[0]))
    monkeypatch.undo()
    for image, acknowledged in disk.images():
        path = tmp_path / "cut.jsonl"
        for old in tmp_path.glob("cut.jsonl*"):
            old.unlink()
        path.write_bytes(image)
        with Attempts(path, START, "two", slots) as again:
            for size, key in accepted_at:
                if size <= acknowledged:
                    found = again.tally.get((key,))
                    assert found is not None
                    assert found.reading.text == "Paris"
            assert all(call.batch is not None for call in again.tally.open.values())
            assert not again.tally.open or again.tally.batches
            left = [f"q{i}" for i in range(12) if (f"q{i}",) not in again.tally]
            for key in left:
                if not again.tally.open:
                    name = again.begin((key,), {}, model="m", origin="o")
                    again.end(name, good)
        with Attempts(path, START, "three", slots) as last:
            assert last.tally.done == 12 or last.tally.open
