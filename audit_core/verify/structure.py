"""The outside of a study: its files, its locks, its protocol, and the streams over its ledgers."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator

from audit_core import codec, ledger, locks
from audit_core.codec import CodecError, Record, decode
from audit_core.digests import sha256_file
from audit_core.errors import InputError, LedgerError
from audit_core.numerals import plural
from audit_core.protocol import from_record
from audit_core.study import FINDINGS, FLAGS, LEFTOVER, PROBE_FILE, PROTOCOL, gate_of, shape
from audit_core.verify.outcomes import Outcomes

SIZE_LIMIT = 64 << 30


class Structure(Outcomes):
    """Checks C01 to C06."""

    def _members(self) -> None:
        self.present: set[str] = set()
        self.probed = False
        for item in sorted(self.path.rglob("*")):
            name = item.relative_to(self.path).as_posix()
            mode = item.lstat().st_mode
            if stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and LEFTOVER.fullmatch(name)):
                continue
            if not stat.S_ISREG(mode):
                self._fail("C01", f"{name} is not a regular file (a link or a device).")
            elif name.startswith("locks/"):
                if name not in {f"locks/{locks.file_name(gate)}" for gate in locks.GATES}:
                    self._fail("C01", f"{name} is not a lock of a study.")
            elif PROBE_FILE.fullmatch(name):
                self.probed = True
            elif gate_of(name) is None:
                self._fail("C01", f"{name} is not a file of a study.")
            elif item.lstat().st_size > SIZE_LIMIT:
                self._fail("C01", f"{name} is larger than {SIZE_LIMIT:,} bytes.")
            else:
                self.present.add(name)
        self._set("C01", "passed", f"{len(self.present)} files beside the locks.")

    def _locks(self) -> None:
        found: dict[str, locks.Lock] = {}
        missing: str | None = None
        for gate in locks.GATES:
            file = self.path / "locks" / locks.file_name(gate)
            if not file.is_file() or file.is_symlink():
                missing = missing or gate
                continue
            if missing:
                self._fail("C02", f"{file.name} is present although {locks.file_name(missing)} is missing.")
                continue
            try:
                lock = locks.parse(file.read_bytes())
            except CodecError as error:
                self._fail("C02", f"{file.name}: {error}.")
                missing = gate
                continue
            if lock.gate != gate or lock.number != len(found):
                self._fail("C02", f"{file.name} holds lock {lock.number} of the gate {lock.gate}.")
            if any(gate_of(member) != gate for member in lock.files):
                self._fail("C02", f"{file.name} lists a file of another gate.")
            found[gate] = lock
        self.chain = list(found.values())
        open_gates = len(locks.GATES) - len(self.chain)
        still = f", {plural(open_gates, 'gate')} open." if open_gates else "."
        self._set("C02", "passed", plural(len(self.chain), "lock") + still)
        for number, lock in enumerate(self.chain):
            bundle = self.chain[0].sha256 if number else locks.START
            prev = self.chain[number - 1].sha256 if number else locks.START
            if lock.prev != prev:
                self._fail(
                    "C03", f"{locks.file_name(lock.gate)} names {lock.prev[:12]}…, the lock before it is {prev[:12]}…."
                )
            elif lock.bundle != bundle:
                self._fail("C03", f"{locks.file_name(lock.gate)} belongs to another study.")
        self._set(
            "C03",
            "passed" if self.chain else "could not check",
            f"The last lock is {self.chain[-1].sha256}." if self.chain else "There is no readable lock.",
        )

    def _protocol(self) -> None:
        entry = self.chain[0].files.get(PROTOCOL) if self.chain else None
        if entry is None:
            self._fail("C04", f"No lock lists {PROTOCOL}.")
        elif not self._same(PROTOCOL, entry):
            self._set("C06", "could not check", f"{PROTOCOL} differs from its lock.")
        else:
            try:
                self.protocol = from_record(decode((self.path / PROTOCOL).read_bytes().removesuffix(b"\n")))
                self._set("C06", "passed", f"{self.protocol.origin}: {self.protocol.title}.")
            except CodecError as error:
                self._fail("C06", f"{PROTOCOL}: {error}.")
            except InputError as error:
                self._fail("C06", str(error.problems[0]))
        self._set("C06", "could not check", "There is no locked protocol.")

    def _same(self, member: str, entry: ledger.Entry) -> bool:
        file = self.path / member
        if member not in self.present:
            self._fail("C04", f"{member} is missing.")
        elif file.stat().st_size != entry.size or sha256_file(file) != entry.sha256:
            self._fail(
                "C04",
                f"{member} differs from its lock: expected sha256 {entry.sha256[:12]}…, found "
                f"{sha256_file(file)[:12]}….",
            )
        else:
            return True
        self.changed.add(member)
        return False

    def _listed(self) -> set[str]:
        return {member for lock in self.chain for member in lock.files}

    def _entry(self, member: str) -> ledger.Entry:
        return next(lock.files[member] for lock in self.chain if member in lock.files)

    def _stream(self, member: str) -> list[Record] | Iterator[Record]:
        """Records of a locked ledger, checked against its lock in the same pass; stops where it is damaged."""
        lock = next((lock for lock in self.chain if member in lock.files), None)
        found = shape(member)
        if lock is None or found is None:
            return []
        iterator = self._read(member, lock, found)
        return list(iterator) if member in (FINDINGS, FLAGS) else iterator

    def _read(self, member: str, lock: locks.Lock, found: tuple[dict[str, codec.Field], str]) -> Iterator[Record]:
        entry = lock.files[member]
        self.progress(member)
        if member not in self.present:
            self._same(member, entry)
            return
        reader = ledger.Reader(self.path / member, lock.prev, *found)
        try:
            yield from reader
        except LedgerError as error:
            if self._same(member, entry):
                self.damaged.add(member)
                self._fail("C05", str(error.problems[0]))
            else:
                self.outcome["C04"] = ("failed", f"{self.outcome['C04'][1]} First damaged place: {error.problems[0]}")
            return
        if reader.entry != entry:
            if reader.entry is not None and (reader.entry.sha256, reader.entry.size) == (entry.sha256, entry.size):
                self._fail("C05", f"{member}: the lock's line count, head or Merkle root is not the file's.")
                self.damaged.add(member)
            else:
                self._same(member, entry)

    def _broken(self, *members: str) -> str:
        bad = sorted((self.changed | self.damaged) & set(members))
        return f"{', '.join(bad)} cannot be relied on." if bad else ""

    def _finish(self, check: str, members: Iterable[str], detail: str) -> None:
        broken = self._broken(*members)
        if broken:
            self.outcome[check] = ("could not check", broken)
        elif self.protocol is None and check != "C07":
            self.outcome[check] = ("could not check", "There is no readable protocol.")
        else:
            self._set(check, "passed", detail)
