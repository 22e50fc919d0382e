"""Append-only JSONL: one canonical record a line, each naming the SHA-256 of the line before.

Only an unterminated last line may be repaired (it is copied aside, then cut). Any other damage stops the program
with file, line and reason. After a failed write or sync the ledger object is dead: it is reopened and read again,
never retried, because a failed sync may have dropped what it promised.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from audit_core.codec import CHAIN, LINE_LIMIT, CodecError, Field, Record, check_fields, decode, encode, plain
from audit_core.digests import Merkle, sha256
from audit_core.errors import LedgerError, Problem, StorageError

BLOCK = 1 << 17
"""Bytes read at once: few, because threads take turns at reading a study, and each keeps what a block took."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a lock says about one file.

    Attributes:
        size: Bytes.
        lines: Records; 0 for a file that is not a ledger.
        sha256: Of the whole file.
        head: SHA-256 of the last line; the chain's start where there is none.
        merkle: Root over the lines, see `digests.Merkle`.
    """

    size: int
    lines: int
    sha256: str
    head: str
    merkle: str


class Reader:
    """Stream of a ledger's records, checked while it is read; hashes and parses the same bytes in one pass.

    Args:
        path: The ledger.
        prev: SHA-256 that record 0 must name.
        fields: Admitted fields beside the chain's.
        what: One record in words, for messages.

    While it runs, `offset` is where the line of the present record begins; after its end, `entry` holds the file's
    digests.

    Raises:
        LedgerError: At the first damaged line, with file, line and reason.
    """

    def __init__(self, path: Path, prev: str, fields: dict[str, Field], what: str) -> None:
        self.path, self.prev, self.what = path, prev, what
        self.fields = {**CHAIN, **fields}
        self.offset = 0
        self.entry: Entry | None = None

    def __iter__(self) -> Iterator[Record]:
        whole, tree = hashlib.sha256(), Merkle()
        size, number, prev = 0, 0, self.prev
        for line, ended in _lines(self.path):
            self.offset, size = size, size + len(line) + ended
            whole.update(line + b"\n" if ended else line)
            if not ended:
                raise self._error(
                    number,
                    "the last line has no end",
                    "a line that ends with a newline",
                    "a torn tail",
                    "A locked ledger is never edited; restore the file.",
                )
            try:
                record = check_fields(decode(line, deep=False), self.fields, self.what)
            except CodecError as error:
                raise self._error(number, f"damaged record: {error}") from None
            if record["seq"] != number:
                raise self._error(
                    number, "a record is missing, repeated or out of order", f"seq {number}", f"seq {record['seq']}"
                )
            if record["prev"] != prev:
                raise self._error(number, "the chain is broken", f"prev {prev[:12]}…", f"prev {record['prev'][:12]}…")
            tree.add(line)
            prev = sha256(line)
            number += 1
            yield record
        self.entry = Entry(size, number, whole.hexdigest(), prev, tree.root())

    def _error(self, number: int, what: str, expected: str = "", found: str = "", action: str = "") -> LedgerError:
        return LedgerError(
            Problem(
                what,
                expected,
                found,
                f"{self.path.name}: line {number + 1}",
                action or "Restore the file from a copy; a ledger is never edited.",
            )
        )


class Plain:
    """Stream of the records of a ledger that was verified before: parsed, not checked line by line.

    Args:
        path: The ledger.
        sha256: What the whole file must have; None for a study that is read although a check failed.
        fields: Admitted fields beside the chain's.
        what: One record in words, for messages.

    Raises:
        LedgerError: The file is not the one that was verified, or a line is not a record.
    """

    def __init__(self, path: Path, sha256: str | None, fields: dict[str, Field], what: str) -> None:
        self.path, self.sha256, self.what = path, sha256, what
        self.fields = {**CHAIN, **fields}
        self.offset = 0

    def __iter__(self) -> Iterator[Record]:
        whole, size = hashlib.sha256(), 0
        for number, (line, ended) in enumerate(_lines(self.path)):
            self.offset, size = size, size + len(line) + ended
            whole.update(line + b"\n" if ended else line)
            try:
                record = plain(line)
                if self.sha256 is None:
                    check_fields(record, self.fields, self.what)
            except CodecError as error:
                raise LedgerError(
                    Problem(
                        f"damaged record: {error}",
                        where=f"{self.path.name}: line {number + 1}",
                        action="Restore the file from a copy; a ledger is never edited.",
                    )
                ) from None
            yield record
        if self.sha256 is not None and whole.hexdigest() != self.sha256:
            raise LedgerError(
                Problem(
                    "the file changed while it was read",
                    f"sha256 {self.sha256[:12]}…",
                    f"{whole.hexdigest()[:12]}…",
                    self.path.name,
                    "Leave the study alone and run the command again.",
                )
            )


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Lines split on newline bytes only, and whether each was ended; memory is bounded by the line limit."""
    if not path.is_file():
        raise LedgerError(
            Problem(
                "a ledger is missing or not a file",
                "a regular file",
                "none",
                path.name,
                "Restore the study from a copy.",
            )
        )
    rest = b""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            parts = (rest + block).split(b"\n")
            rest = parts.pop()
            for part in parts:
                yield part, True
            if len(rest) > LINE_LIMIT:
                yield rest, True
                return
    if rest:
        yield rest, False


def write(path: Path, records: Iterable[Record], prev: str) -> Entry:
    """A new ledger in one go: written, synced and closed, or an error and nothing to rely on.

    Args:
        path: Must not exist.
        records: Fields without the chain's.
        prev: What record 0 names.
    """
    whole, tree = hashlib.sha256(), Merkle()
    size = number = 0
    try:
        with path.open("xb") as stream:
            for fields in records:
                line = _chained(fields, number, prev, path)
                tree.add(line)
                prev = sha256(line)
                line += b"\n"
                whole.update(line)
                stream.write(line)
                size += len(line)
                number += 1
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise _refused(path, error) from error
    return Entry(size, number, whole.hexdigest(), prev, tree.root())


def _chained(fields: Record, number: int, prev: str, path: Path) -> bytes:
    try:
        line = encode({**fields, "prev": prev, "seq": number, "v": 1})
    except CodecError as error:
        raise LedgerError(
            Problem(
                f"a record cannot be stored: {error}",
                where=f"{path.name}: record {number + 1}",
                action="Correct the value; nothing was written.",
            )
        ) from None
    if len(line) > LINE_LIMIT:
        raise LedgerError(
            Problem(
                "a record is too large",
                f"at most {LINE_LIMIT:,} bytes",
                f"{len(line):,} bytes",
                f"{path.name}: record {number + 1}",
                "Shorten the text.",
            )
        )
    return line


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(
        Problem(
            "cannot write",
            "a writable disk with free space",
            str(error),
            str(path),
            "Free space or correct the rights, then run the same command again.",
        )
    )


class Ledger:
    """One writer on an append-only ledger, held by a lock on the file itself; usable from several threads.

    Each `append` is on disk when it returns. Records that several threads hand in at the same time share one sync.
    Opening repairs a torn tail (the only damage a crash can leave): the tail is copied to ``NAME.torn-N``, synced, and
    then cut.

    Args:
        path: Made when absent.
        prev: What record 0 names.
        fields: Admitted fields beside the chain's.
        what: One record in words, for messages.
        each: Called with every record that is there already and the place where its line begins. Nothing of
            them is kept.

    Raises:
        StorageError: Another process holds the ledger, or the disk refuses.
        LedgerError: Damage other than a torn tail.
    """

    def __init__(
        self,
        path: Path,
        prev: str,
        fields: dict[str, Field],
        what: str,
        each: Callable[[Record, int], object] = lambda _record, _offset: None,
    ) -> None:
        import fcntl  # here, because readers also run where there is none

        self.path, self.torn = path, 0
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _refused(path, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise StorageError(
                Problem(
                    "another process writes this ledger",
                    "one writer",
                    "a held lock",
                    str(path),
                    "Wait for it or stop it, then try again.",
                )
            ) from None
        try:
            self._repair()
            reader = Reader(path, prev, fields, what)
            for record in reader:
                each(record, reader.offset)
        except BaseException:
            os.close(self._file)
            raise
        assert reader.entry is not None
        self._queue, self._disk = threading.Lock(), threading.Lock()
        self._waiting: list[bytes] = []
        self._prev, self._seq, self._size = reader.entry.head, reader.entry.lines, reader.entry.size
        self._safe, self._safe_size, self._alive = self._seq, self._size, True

    def __len__(self) -> int:
        """Records on disk."""
        return self._safe

    def append(self, *records: Record) -> list[int]:
        """Append records; they are durable when this returns.

        Returns:
            Where the line of each record begins.

        Raises:
            StorageError: The write failed; the file was cut back to its old length where possible.
        """
        offsets, ticket = self.put(*records)
        self.commit(ticket)
        return offsets

    def put(self, *records: Record) -> tuple[list[int], int]:
        """Hand in records; they are durable once `commit` of the returned ticket has returned.

        Returns:
            Where the line of each record begins, and the ticket.
        """
        with self._queue:
            self._check()
            lines, offsets, prev, seq, size = [], [], self._prev, self._seq, self._size
            for fields in records:
                line = _chained(fields, seq, prev, self.path)
                lines.append(line + b"\n")
                offsets.append(size)
                prev, seq, size = sha256(line), seq + 1, size + len(line) + 1
            self._waiting += lines
            self._prev, self._seq, self._size = prev, seq, size
            return offsets, seq

    def commit(self, ticket: int) -> None:
        """Return when everything up to a ticket is on disk; whoever comes first writes for all who wait.

        Raises:
            StorageError: The write failed, here or for an earlier record.
        """
        with self._disk:
            if self._safe >= ticket:
                return
            with self._queue:
                self._check()
                data, seq, size = b"".join(self._waiting), self._seq, self._size
                self._waiting.clear()
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._file, view) :]
                os.fdatasync(self._file)
            except OSError as error:
                self._alive = False
                with contextlib.suppress(OSError):  # a torn tail is repaired at the next opening
                    os.ftruncate(self._file, self._safe_size)
                raise StorageError(
                    Problem(
                        f"cannot append to {self.path.name}",
                        "space for the record",
                        str(error),
                        f"{self._safe} records are safe",
                        "Free space, then run the same command again.",
                    )
                ) from error
            self._safe, self._safe_size = seq, size

    def _check(self) -> None:
        if not self._alive:
            raise StorageError(
                Problem(
                    "this ledger stopped after a failed write",
                    where=str(self.path),
                    action="Open it again; everything acknowledged before is kept.",
                )
            )

    def close(self) -> None:
        """Release the lock; twice does nothing."""
        with self._disk:
            if self._file >= 0:
                os.close(self._file)
                self._file, self._alive = -1, False

    def _repair(self) -> None:
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            keep = size
            while keep > 0:
                start = max(0, keep - BLOCK)
                stream.seek(start)
                found = stream.read(keep - start).rfind(b"\n")
                if found >= 0:
                    keep = start + found + 1
                    break
                keep = start
            if keep == size:
                return
            stream.seek(keep)
            tail = stream.read()
        aside = next(p for n in range(10_000) if not (p := self.path.with_name(f"{self.path.name}.torn-{n}")).exists())
        try:
            with aside.open("xb") as copy:
                copy.write(tail)
                copy.flush()
                os.fsync(copy.fileno())
            os.ftruncate(self._file, keep)
            os.fsync(self._file)
        except OSError as error:
            raise _refused(self.path, error) from error
        self.torn = len(tail)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def payload(record: Record) -> dict[str, Any]:
    """A record's fields without the chain's."""
    return {key: value for key, value in record.items() if key not in CHAIN}
