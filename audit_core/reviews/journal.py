"""The second medium of the verdicts: the same events, one canonical line each, in a file beside the database.

Unlike `ledger.Ledger` it is shared by all server processes, so a lock is held for one append only, and lines may
stand in another order than their numbers; events are found by their digest.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from audit_core.codec import CodecError, decode
from audit_core.errors import Problem, StorageError
from audit_core.reviews.events import Event, from_fields, intact, line


class CopyError(StorageError):
    """The second medium refused a line that is safe in the first."""


class Journal:
    """Append-only JSONL of events.

    Args:
        path: Made at the first append.

    Attributes:
        written: Something was appended through this object; if the file is not there, it was lost.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.written = path, False

    def append(self, events: Sequence[Event]) -> None:
        """Write events and sync them; on failure the file has its old length.

        Raises:
            CopyError: The disk refused.
        """
        if not events:
            return
        data = b"".join(map(line, events))
        try:
            with self._held() as file:
                size = self._repaired(file)
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(file, view) :]
                    os.fdatasync(file)
                    self.written = True
                except OSError:
                    with contextlib.suppress(OSError):  # a torn tail is repaired at the next append
                        os.ftruncate(file, size)
                    raise
        except OSError as error:
            raise CopyError(
                Problem(
                    f"cannot append to {self.path.name}",
                    "a writable disk with free space",
                    str(error),
                    str(self.path),
                    "The verdict itself is saved. Free space or correct the rights; the next save completes the copy.",
                )
            ) from error

    def read(self) -> list[Event]:
        """All events in file order; an unterminated last line is left out, it was never acknowledged here.

        Raises:
            StorageError: A damaged line, named by its number, or an unreadable file.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(
                Problem(
                    f"cannot read {self.path.name}",
                    "a readable file",
                    str(error),
                    str(self.path),
                    "Correct the rights.",
                )
            ) from error
        events = []
        for number, text in enumerate(lines, start=1):
            try:
                event = from_fields(decode(text))
                if not intact(event):
                    raise ValueError("its digest is not that of its content")
            except (CodecError, ValueError, TypeError, AttributeError) as error:
                raise StorageError(
                    Problem(
                        "the copy of the verdicts is damaged",
                        "an event as it was written",
                        str(error),
                        f"{self.path}: line {number}",
                        "Move this file aside and keep it; it is written anew from the database.",
                    )
                ) from None
            events.append(event)
        return events

    @contextlib.contextmanager
    def _held(self) -> Iterator[int]:
        new = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if new:
                directory = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(directory)
                finally:
                    os.close(directory)
            yield file
        finally:
            os.close(file)

    def _repaired(self, file: int) -> int:
        """Size of the file once an unterminated last line is copied to ``NAME.torn-N`` and cut."""
        size = os.fstat(file).st_size
        if size == 0 or os.pread(file, 1, size - 1) == b"\n":
            return size
        content = os.pread(file, size, 0)
        keep = content.rfind(b"\n") + 1
        aside = next(p for n in range(10_000) if not (p := self.path.with_name(f"{self.path.name}.torn-{n}")).exists())
        with aside.open("xb") as copy:
            copy.write(content[keep:])
            copy.flush()
            os.fsync(copy.fileno())
        os.ftruncate(file, keep)
        return keep
