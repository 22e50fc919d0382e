"""Change records of a study and close its locks anew, as someone with the tool could; for the tampering table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit_core import ledger, locks
from audit_core.codec import decode, encode
from audit_core.results import arrays_of, compute
from audit_core.study import PROTOCOL, RESULTS, Study, file_entry, gate_of, shape
from audit_core.study.files import JUDGMENTS

Records = dict[str, list[dict[str, Any]]]


def relock(
    path: Path,
    change: Callable[[Records], None],
    *,
    protocol: Callable[[dict], None] | None = None,
    counts: Callable[[dict[str, dict[str, int]]], None] | None = None,
    estimate: bool = True,
    extra: dict[str, bytes] | None = None,
) -> None:
    """Rewrite a study after `change` has edited its records by member; results are computed anew."""
    chain = locks.read_chain(path / "locks")
    records: Records = {}
    stored = {lock.gate: dict(lock.counts) for lock in chain}
    described = decode((path / PROTOCOL).read_bytes().removesuffix(b"\n"))
    for lock in chain:
        for member in lock.files:
            if shape(member):
                with (path / member).open("rb") as stream:
                    records[member] = [ledger.payload(decode(line.removesuffix(b"\n"))) for line in stream]
    change(records)
    if protocol:
        protocol(described)
    by_gate: dict[str, dict[str, list]] = {}
    for member, items in records.items():
        gate = gate_of(member)
        assert gate
        by_gate.setdefault(gate, {})[member] = items
    stored["selection"]["questions"] = len(records["selection/questions.jsonl"])
    cells = records["answers/cells.jsonl"]
    stored["answers"] = {
        "accepted": sum(c["status"] == "ok" for c in cells),
        "errors": sum(c["status"] != "ok" for c in cells),
        "attempts": sum(c.get("attempts", 1) for c in cells),
    }
    judged = [r for m, items in records.items() if JUDGMENTS.fullmatch(m) and m.startswith("judgments/") for r in items]
    stored["judgments"] = {
        "labels": sum(len(r["labels"]) for r in judged),
        "attempts": sum(r.get("attempts", 1) for r in judged),
    }
    if counts:
        counts(stored)
    shutil.rmtree(path)
    (path / "locks").mkdir(parents=True)
    made: list[locks.Lock] = []

    def close(gate: str, entries: dict) -> None:
        lock, data = locks.make(
            gate, made, entries, stored.get(gate, {}), "" if entries else "none", "2026-01-31T09:00:00Z"
        )
        locks.write(path / "locks", gate, data)
        made.append(lock)

    (path / "protocol").mkdir()
    data = encode(described) + b"\n"
    (path / PROTOCOL).write_bytes(data)
    first = {PROTOCOL: file_entry(data)}
    for member, raw in (extra or {}).items():
        if gate_of(member) == "protocol":
            (path / member).write_bytes(raw)
            first[member] = file_entry(raw)
    close("protocol", first)
    for gate in locks.GATES[1:-1]:
        entries = {}
        for member, items in by_gate.get(gate, {}).items():
            (path / member).parent.mkdir(parents=True, exist_ok=True)
            entries[member] = ledger.write(path / member, items, made[-1].sha256)
        for member, raw in (extra or {}).items():
            if gate_of(member) == gate:
                (path / member).parent.mkdir(parents=True, exist_ok=True)
                (path / member).write_bytes(raw)
                entries[member] = file_entry(raw)
        close(gate, entries)
    if estimate:
        study = Study(path)
        study.close_results(
            compute(study.protocol, arrays_of(study.protocol, study.dossiers())), "2026-01-31T09:00:00Z"
        )


def rewrite_results(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit locked results and close their lock anew."""
    record = decode((path / RESULTS).read_bytes().removesuffix(b"\n"))
    change(record)
    lock = path / "locks" / locks.file_name("results")
    lock.unlink()
    (path / RESULTS).unlink()
    Study(path).close_results(record, "2026-01-31T09:00:00Z")
