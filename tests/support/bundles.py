"""Change a share bundle as somebody could who makes every later digest anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit_core import ledger, locks
from audit_core.codec import decode, encode
from audit_core.digests import sha256_file
from audit_core.share.layout import LOCKS, MANIFEST, QUESTIONS, RESULTS

Change = Callable[[Path], object]


def remake(folder: Path, **fields: object) -> None:
    """The manifest anew, with the files that are there and perhaps other fields."""
    manifest = decode((folder / MANIFEST).read_bytes().removesuffix(b"\n")) | fields
    manifest["files"] = [
        {"path": f.relative_to(folder).as_posix(), "bytes": f.stat().st_size, "sha256": sha256_file(f)}
        for f in sorted(folder.rglob("*"))
        if f.is_file() and f.name != MANIFEST
    ]
    (folder / MANIFEST).write_bytes(encode(manifest) + b"\n")


def records(change: Callable[[list[dict[str, Any]]], object]) -> Change:
    """Edits redacted records; the chain and the manifest are made anew."""

    def made(folder: Path) -> None:
        file = folder / QUESTIONS
        found = [ledger.payload(json.loads(line)) for line in file.read_text().splitlines()]
        change(found)
        file.unlink()
        ledger.write(file, found, locks.read_chain(folder / LOCKS)[-1].sha256)
        remake(folder)

    return made


def results(change: Callable[[dict[str, Any]], object]) -> Change:
    """Edits the results."""
    return lambda folder: _edit(folder, RESULTS, change)


def protocol(change: Callable[[dict[str, Any]], object]) -> Change:
    """Edits the protocol."""
    return lambda folder: _edit(folder, "protocol.json", change)


def lock(gate: str, change: Callable[[dict[str, Any]], object]) -> Change:
    """Edits one lock and none after it."""
    return lambda folder: _edit(folder, f"{LOCKS}/{locks.file_name(gate)}", change)


def data(name: str, change: Callable[[bytes], bytes]) -> Change:
    """Edits the bytes of a file, under a manifest that lists them."""

    def made(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        remake(folder)

    return made


def _edit(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    record = decode((folder / name).read_bytes().removesuffix(b"\n"))
    change(record)
    (folder / name).write_bytes(encode(record) + b"\n")
    remake(folder)
