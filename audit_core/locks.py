"""The chain of locks: seven gates in order, each lock naming the SHA-256 of the one before.

A missing lock means that the gate is open; a present lock is final. Someone who can rewrite a whole study can
rewrite its chain too; that is found only against a lock id kept elsewhere (``verify --expect-lock``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from audit_core import __version__
from audit_core.codec import CodecError, Field, Record, check_fields, decode, encode
from audit_core.digests import sha256
from audit_core.errors import GateError, Problem, StorageError
from audit_core.ledger import Entry

GATES = ("protocol", "selection", "retrieval", "answers", "judgments", "gold", "results")
START = "0" * 64
"""What the first lock names as the one before."""

MEMBER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}(/[a-z0-9][a-z0-9_.-]{0,63}){0,3}")


def file_name(gate: str) -> str:
    """Name of a gate's lock file, such as ``30-answers.json``."""
    return f"{GATES.index(gate)}0-{gate}.json" if GATES.index(gate) else "00-protocol.json"


@dataclass(frozen=True, slots=True)
class Lock:
    """One closed gate.

    Attributes:
        gate: One of `GATES`.
        number: Position in the chain, from 0.
        bundle: SHA-256 of the protocol's lock, or 64 zeros in that lock itself.
        prev: SHA-256 of the previous lock's bytes.
        files: Entry of each file that the gate closed, by path inside the study.
        counts: Numbers worth reading, by name.
        note: Why the gate closed without files, where it did.
        created: When, for information only.
        sha256: Of this lock's own bytes.
    """

    gate: str
    number: int
    bundle: str
    prev: str
    files: dict[str, Entry]
    counts: dict[str, int]
    note: str
    created: str
    sha256: str


def _hex(value: object) -> bool:
    return type(value) is str and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _whole(value: object) -> bool:
    return type(value) is int and value >= 0


_FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (lambda v: v == "audit.lock", "audit.lock", True),
    "gate": (lambda v: v in GATES, "a gate", True),
    "n": (_whole, "a whole number", True),
    "bundle": (_hex, "a SHA-256", True),
    "prev": (_hex, "a SHA-256", True),
    "files": (lambda v: type(v) is list, "a list", True),
    "counts": (lambda v: type(v) is dict and all(map(_whole, v.values())), "whole numbers by name", True),
    "note": (lambda v: type(v) is str, "text", True),
    "tool": (lambda v: type(v) is dict, "an object", True),
    "created": (lambda v: type(v) is str, "text", True),
}
ENTRY: dict[str, Field] = {
    "bytes": (_whole, "a whole number", True),
    "lines": (_whole, "a whole number", True),
    "sha256": (_hex, "a SHA-256", True),
    "head": (_hex, "a SHA-256", True),
    "merkle": (_hex, "a SHA-256", True),
}
"""What a lock says about a file."""
_FILE: dict[str, Field] = {
    "path": (lambda v: type(v) is str and MEMBER.fullmatch(v) is not None, "a path inside the study", True),
    **ENTRY,
}


def from_entry(entry: Entry) -> Record:
    """A file's entry as a lock holds it."""
    return {"bytes": entry.size, "lines": entry.lines, "sha256": entry.sha256, "head": entry.head,
            "merkle": entry.merkle}  # fmt: skip


def to_entry(record: Record) -> Entry:
    """A file's entry out of a lock."""
    return Entry(record["bytes"], record["lines"], record["sha256"], record["head"], record["merkle"])


def parse(data: bytes) -> Lock:
    """A lock from its bytes.

    Raises:
        CodecError: Not canonical, or not a lock.
    """
    if not data.endswith(b"\n"):
        raise CodecError("the lock has no final newline")
    record = check_fields(decode(data[:-1]), _FIELDS, "lock")
    files: dict[str, Entry] = {}
    for item in record["files"]:
        check_fields(item, _FILE, "file of a lock")
        if item["path"] in files:
            raise CodecError(f"the file {item['path']} is listed twice")
        files[item["path"]] = to_entry(item)
    return Lock(
        record["gate"],
        record["n"],
        record["bundle"],
        record["prev"],
        files,
        record["counts"],
        record["note"],
        record["created"],
        sha256(data),
    )


def make(
    gate: str, chain: list[Lock], files: Mapping[str, Entry], counts: Mapping[str, int], note: str, created: str
) -> tuple[Lock, bytes]:
    """The next lock of a chain and its bytes; writes nothing.

    Raises:
        GateError: The gate is not the next one.
    """
    expected = GATES[len(chain)] if len(chain) < len(GATES) else "none"
    if gate != expected:
        raise GateError(
            Problem(
                f"the gate {gate} cannot be closed now",
                f"next gate {expected}",
                f"{len(chain)} locks present",
                "locks/",
                "Close the gates in their order.",
            )
        )
    record: Record = {
        "v": 1,
        "kind": "audit.lock",
        "gate": gate,
        "n": len(chain),
        "bundle": chain[0].sha256 if chain else START,
        "prev": chain[-1].sha256 if chain else START,
        "files": [{"path": path, **from_entry(entry)} for path, entry in sorted(files.items())],
        "counts": dict(counts),
        "note": note,
        "tool": {"name": "snapshot-audit", "version": __version__},
        "created": created,
    }
    data = encode(record) + b"\n"
    return parse(data), data


def write(folder: Path, gate: str, data: bytes) -> None:
    """Put the lock of a gate in place; see `put`."""
    put(folder / file_name(gate), data, f"the gate {gate}")


def put(target: Path, data: bytes, what: str) -> None:
    """Put a lock in place, never over another one; it is durable when this returns.

    Args:
        target: Where.
        data: Of the lock.
        what: It closes, for the message.

    Raises:
        GateError: The lock exists already.
        StorageError: The disk refuses.
    """
    folder = target.parent
    draft = folder / f".{target.name}.{os.getpid()}"
    try:
        for left in folder.glob(".*.json.*"):
            if not _alive(left.suffix[1:]):
                left.unlink()  # the draft of a run that was killed while it wrote a lock
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(draft, target)
        finally:
            draft.unlink()
        target.chmod(0o444)
        sync_folder(folder)
    except FileExistsError:
        raise GateError(
            Problem(
                f"{what} is locked already",
                "an open one",
                target.name,
                str(folder),
                "A lock is final; make a new study instead.",
            )
        ) from None
    except OSError as error:
        raise StorageError(
            Problem(
                "cannot write a lock",
                "a writable disk with free space",
                str(error),
                str(target),
                "Free space, then run the same command again.",
            )
        ) from error


def _alive(pid: str) -> bool:
    """Whether a process other than this one has the number."""
    if not pid.isdecimal() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_chain(folder: Path) -> list[Lock]:
    """Locks in order, as far as they go without a gap; checks each lock's form and that it names the one before.

    Raises:
        GateError: No lock at all, or a lock that is damaged or does not fit the chain.
    """
    chain: list[Lock] = []
    for number, gate in enumerate(GATES):
        path = folder / file_name(gate)
        if not path.is_file():
            break
        try:
            lock = parse(path.read_bytes())
        except CodecError as error:
            raise GateError(
                Problem(
                    f"damaged lock: {error}",
                    where=f"locks/{path.name}",
                    action="Restore the lock from a copy; a lock is never edited.",
                )
            ) from None
        bundle, prev = (chain[0].sha256, chain[-1].sha256) if chain else (START, START)
        if (lock.gate, lock.number, lock.bundle, lock.prev) != (gate, number, bundle, prev):
            raise GateError(
                Problem(
                    "a lock does not fit the chain",
                    f"{gate} after {prev[:12]}…",
                    f"{lock.gate} after {lock.prev[:12]}…",
                    f"locks/{path.name}",
                    "Restore the study from a copy; a lock is never edited.",
                )
            )
        chain.append(lock)
    if not chain:
        raise GateError(
            Problem(
                "this is not a study",
                "locks/00-protocol.json",
                "no lock",
                str(folder.parent),
                "Name the folder of a locked study, or make one with: snapshot-audit import table",
            )
        )
    return chain
