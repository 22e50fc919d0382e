"""The outside of a share bundle: its files, its manifest, the study's locks and protocol."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from audit_core import ledger, locks
from audit_core.codec import CodecError, Record, check_fields, decode
from audit_core.digests import sha256, sha256_file
from audit_core.errors import AuditError
from audit_core.model import CheckOutcome
from audit_core.protocol import Protocol, from_record
from audit_core.share.layout import FIELDS, FILE, LARGEST_MANIFEST, LOCKS, MANIFEST, PROTOCOL

STUDY_PROTOCOL = "protocol/protocol.json"
"""Path inside the study, as its first lock lists it."""

Progress = Callable[[str], None]


class Integrity:
    """Checks B01 to B06."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder, self.progress = folder, progress
        self.outcome: dict[str, tuple[CheckOutcome, str]] = {}
        self.manifest: Record | None = None
        self.listed: dict[str, Record] = {}
        self.sound: set[str] = set()
        self.chain: list[locks.Lock] = []
        self.protocol: Protocol | None = None

    def _set(self, check: str, outcome: CheckOutcome, detail: str) -> None:
        self.outcome.setdefault(check, (outcome, detail))

    def _judge(self, check: str, holds: bool, passed: str, failed: str) -> None:
        self._set(check, "passed" if holds else "failed", passed if holds else failed)

    def _open(self, checks: str, why: str) -> None:
        for check in checks.split():
            self._set(check, "could not check", why)

    def files(self, expect: str | None) -> None:
        """B01 to B03."""
        data = self._manifest()
        present = self._present()
        if self.manifest is None:
            self._open("B02", "There is no readable manifest.")
        else:
            strangers, missing = sorted(present - self.listed.keys()), sorted(self.listed.keys() - present)
            detail = "; ".join(
                f"{what}: {', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
                for what, names in (("in no list", strangers), ("missing", missing))
                if names
            )
            self._judge("B01", not detail, f"{len(self.listed)} files beside the manifest.", detail)
            self.progress("files")
            self.sound = {name for name in present & self.listed.keys() if self._same(name)}
            changed = sorted((present & self.listed.keys()) - self.sound)
            self._judge("B02", not changed, f"{len(self.sound)} files.", "Changed: " + ", ".join(changed[:3]) + ".")
        digest = sha256(data)
        if expect is None:
            self._set("B03", "could not check", f"No digest was given; compare with what the owner published: {digest}")
        self._judge("B03", digest == expect, digest, f"Expected {(expect or '')[:12]}…, found {digest[:12]}….")

    def _manifest(self) -> bytes:
        path = self.folder / MANIFEST
        if path.is_symlink() or path.stat().st_size > LARGEST_MANIFEST:
            self._set("B01", "failed", f"{MANIFEST} is a link, or larger than any manifest.")
            return b""
        data = path.read_bytes()
        try:
            record = check_fields(decode(data.removesuffix(b"\n")), FIELDS, "manifest")
            self.listed = {check_fields(item, FILE, "file of the manifest")["path"]: item for item in record["files"]}
            if len(self.listed) != len(record["files"]) or not data.endswith(b"\n"):
                raise CodecError("a file stands there twice, or the end is missing")
            self.manifest = record
        except CodecError as error:
            self.listed = {}
            self._set("B01", "failed", f"{MANIFEST}: {error}.")
        return data

    def _present(self) -> set[str]:
        """Paths of all that is there but folders and the manifest; links are not followed."""
        found = set()
        for where, folders, names in os.walk(self.folder):
            here = Path(where)
            for name in [*names, *(name for name in folders if (here / name).is_symlink())]:
                found.add((here / name).relative_to(self.folder).as_posix())
        return found - {MANIFEST}

    def _same(self, name: str) -> bool:
        path, entry = self.folder / name, self.listed[name]
        if path.is_symlink() or not path.is_file() or path.stat().st_size != entry["bytes"]:
            return False
        return sha256_file(path) == entry["sha256"]

    def _lacks(self, *names: str) -> str:
        """Why a check that reads these files cannot be made; empty when it can."""
        bad = [name for name in names if name not in self.sound]
        return f"{bad[0]} is missing or changed." if bad else ""

    def chain_of_locks(self, expect: str | None) -> None:
        """B04 and B05."""
        names = [f"{LOCKS}/{locks.file_name(gate)}" for gate in locks.GATES]
        lacks = "There is no readable manifest." if self.manifest is None else self._lacks(*names)
        if lacks or self.manifest is None:
            self._open("B04 B05", lacks)
            return
        try:
            self.chain = locks.read_chain(self.folder / LOCKS)
        except AuditError as error:
            self._set("B04", "failed", str(error.problems[0]))
            self._open("B05", "The locks are no chain.")
            return
        first, last = self.chain[0].sha256, self.chain[-1].sha256
        named = (self.manifest["study"], self.manifest["lock"])
        self._judge("B04", named == (first, last), f"{len(self.chain)} locks.", "The manifest names other locks.")
        if expect is None:
            self._set("B05", "could not check", f"No lock was given; compare with what the owner published: {last}")
        self._judge("B05", last == expect, last, f"Expected {(expect or '')[:12]}…, found {last[:12]}….")

    def _entry(self, gate: str, member: str) -> ledger.Entry | None:
        return next((lock.files.get(member) for lock in self.chain if lock.gate == gate), None)

    def protocol_locked(self) -> None:
        """B06."""
        lacks = self._lacks(PROTOCOL) or ("" if self.chain else "There are no locks to compare with.")
        if lacks:
            self._open("B06", lacks)
            return
        entry = self._entry("protocol", STUDY_PROTOCOL)
        if entry is None or entry.sha256 != self.listed[PROTOCOL]["sha256"]:
            self._set("B06", "failed", "The first lock lists another protocol.")
            return
        try:
            self.protocol = from_record(decode((self.folder / PROTOCOL).read_bytes().removesuffix(b"\n")))
        except (CodecError, AuditError) as error:
            self._set("B06", "failed", f"{PROTOCOL}: {error}.")
            return
        self._set("B06", "passed", f"{self.protocol.origin}: {self.protocol.title}.")
