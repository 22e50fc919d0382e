"""Files that somebody names: only a regular one is opened, and only one that is no larger than it may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from audit_core.errors import InputError, Problem

SETTINGS, RECORDS = 16 << 20, 1 << 30
"""Most bytes of what people write by hand, and of what holds one record for each question or pair."""
_BOM = b"\xef\xbb\xbf"


def instead(path: Path) -> str:
    """What is there instead of a regular file; empty where there is one."""
    if path.is_file():
        return ""
    return "a folder" if path.is_dir() else "a device or a pipe" if path.exists() else "nothing"


def missing(path: Path, found: str, what: str, action: str = "Check the path.") -> Problem:
    """The fault where `instead` found something."""
    return Problem("no such file" if found == "nothing" else "no regular file", what, found, str(path), action)


def opened(path: Path, most: int, what: str, action: str = "Check the path.") -> BinaryIO:
    """A file, opened to be read; a pipe would be waited for, and a device never ends.

    Args:
        path: As it was named.
        most: Bytes that it may have.
        what: It should be, such as "a file of labels".
        action: What to do where it is another thing.

    Raises:
        InputError: It is missing, no regular file, too large, or may not be read.
    """
    try:
        if found := instead(path):
            raise InputError(missing(path, found, what, action))
        if (size := path.stat().st_size) > most:
            raise InputError(Problem("the file is too large", f"{what} of at most {most:,} bytes", f"{size:,}",
                                     str(path), action))  # fmt: skip
        return path.open("rb")
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(Problem("the file cannot be read", what, found, str(path), action)) from None


def whole(path: Path, most: int, what: str, action: str = "Check the path.") -> bytes:
    """The content of a file.

    Raises:
        InputError: As `opened`.
    """
    with opened(path, most, what, action) as stream:
        return stream.read()


def lines(path: Path, most: int, what: str) -> Iterator[tuple[int, bytes]]:
    """Lines of a file with their numbers from 1, without a byte order mark, their ends, and lines that are blank.

    Raises:
        InputError: As `opened`.
    """
    with opened(path, most, what) as stream:
        for number, line in enumerate(stream, 1):
            if text := (line.removeprefix(_BOM) if number == 1 else line).strip(b" \t\r\n"):
                yield number, text
