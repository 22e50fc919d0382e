"""The files of an import: which they are, in what format, and the digest of exactly the bytes that are read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from audit_core.digests import sha256_file
from audit_core.errors import InputError, Problem, StorageError
from audit_core.files import instead, missing
from audit_core.importers.values import scrub

Format = Literal["csv", "jsonl", "parquet", "json", "zip", "run"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}

_LOGS: dict[str, Format] = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}

_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or spreadsheet", "Save the sheet as CSV (UTF-8), or unpack the archive."),
    (b"\x1f\x8b", "a gzip file", "Unpack it first."),
    (b"\xff\xfe", "UTF-16 text", "Save it as UTF-8."),
    (b"\xfe\xff", "UTF-16 text", "Save it as UTF-8."),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "Save the sheet as CSV (UTF-8)."),
    (b"SQLite format 3\x00", "an SQLite database", "Export the table as CSV."),
)


class Place(NamedTuple):
    """Where something stands; put into words only when somebody is told."""

    name: str
    unit: str
    position: int

    def __str__(self) -> str:
        return f"{self.name}: {self.unit} {self.position}"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the import.

    Attributes:
        path: Where it is.
        name: What messages and the protocol call it: the file name, with its folder where names repeat.
        form: Format.
        size: Bytes.
        sha256: Digest of the bytes.
        stamp: Size and time of change while it was hashed; compared after reading.
        unit: What its positions count: lines of a table, records of a log.
    """

    path: Path
    name: str
    form: Format
    size: int
    sha256: str
    stamp: tuple[int, int]
    unit: str = "line"

    @property
    def label(self) -> str:
        """The name without its ending."""
        return self.name.removesuffix(self.path.suffix)

    def at(self, position: int) -> Place:
        """A position in the file."""
        return Place(self.name, self.unit, position)

    def open(self) -> BinaryIO:
        """The bytes from their start."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def unchanged(self) -> None:
        """Refuse to go on where the file changed since it was hashed.

        Raises:
            InputError: It did.
        """
        if _stamp(self.path) != self.stamp:
            raise InputError(
                Problem(
                    "the file changed while it was read",
                    "a file at rest",
                    "another size or time of change",
                    str(self.path),
                    "Wait until the file is complete, then import again.",
                )
            )


def find(
    paths: Iterable[Path], skipped: Callable[[str, str], None], kind: str | None = None, forms: Collection[str] = ()
) -> list[Source]:
    """The files to read, folders searched by name order.

    Args:
        paths: Files and folders.
        skipped: Told what was left out and why.
        kind: Name of the tool whose logs these are; None for tables.
        forms: Formats in which that tool writes.

    Raises:
        InputError: Something is missing, of another format, or named twice.
        StorageError: The disk refuses.
    """
    files: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        if path.is_dir():
            files += _inside(path, skipped, kind is None)
        elif found := instead(path):
            problems.append(missing(path, found, "a readable file"))
        elif path.name.startswith("._"):
            skipped(path.name, "a hidden twin that archives made on a Mac hold")
        else:
            files.append(path)
    resolved = Counter(path.resolve() for path in files)
    problems += [
        Problem("the same file twice", where=str(path), action="Name each file once.")
        for path, count in resolved.items()
        if count > 1
    ]
    if not files and not problems:
        problems.append(Problem("nothing to read", "at least one file of answers", "none", action="Name a file."))
    if problems:
        raise InputError(problems)
    sources = [_source(path, name, kind, forms) for path, name in zip(files, _names(files), strict=True)]
    if kind is not None:
        _distinct(sources)
    return sources


def sidecar(path: Path) -> Source:
    """A file beside the answers: a TREC run, or JSON.

    Raises:
        InputError: It is missing, or no regular file.
    """
    if found := instead(path):
        raise InputError(missing(path, found, "a TREC run or BEIR results"))
    try:
        stamp = _stamp(path)
        with path.open("rb") as stream:
            start = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        form: Format = "json" if start.startswith(b"{") else "run"
        return Source(path, scrub(path.name)[0], form, stamp[0], sha256_file(path), stamp)
    except OSError as error:
        raise _unreadable(path, error) from error


def _distinct(sources: list[Source]) -> None:
    """Refuse one log under two names: as two repeats, or as two states, it would be a copy of itself."""
    first: dict[str, Source] = {}
    for source in sources:
        if (twin := first.setdefault(source.sha256, source)) is not source:
            raise InputError(
                Problem(
                    "two files hold the same bytes",
                    "a log of its own in each file",
                    twin.name,
                    source.name,
                    "Leave one of them out: a copy says nothing about repeat noise.",
                )
            )


def _names(files: list[Path]) -> list[str]:
    """The shortest end of each path that tells it from the others; the rest of the path is nobody's business."""
    names = []
    for path in files:
        others = [other for other in files if other is not path and other.name == path.name]
        size = 1
        while any(other.parts[-size:] == path.parts[-size:] for other in others) and size < len(path.parts):
            size += 1
        names.append(scrub("/".join(path.parts[-size:]))[0])  # a name may be bytes that are no text
    return names


def _inside(folder: Path, skipped: Callable[[str, str], None], tables: bool) -> list[Path]:
    found: list[Path] = []
    known = FORMATS.keys() if tables else {*_LOGS, ".eval", ".parquet"}
    what = "CSV, JSONL or Parquet" if tables else "log"
    for base, folders, names in os.walk(folder):
        folders.sort()
        here = Path(base)
        count = len(found)
        for name in sorted(names):
            if name.startswith("."):
                skipped(str(here / name), "a hidden file")
            elif Path(name).suffix.lower() not in known:
                skipped(str(here / name), f"not a {what} file")
            elif not (here / name).is_file():
                skipped(str(here / name), "a link that leads nowhere, or no regular file")
            else:
                found.append(here / name)
        if len(found) == count and not folders:
            skipped(str(here), "a folder without tables; no state is made of it")
    return found


def _source(path: Path, name: str, kind: str | None, forms: Collection[str]) -> Source:
    try:
        before = _stamp(path)
        with path.open("rb") as stream:
            start = stream.read(64)
        form = _form(path, start) if kind is None else _log_form(path, start, kind, forms)
        unit = "line" if form in ("csv", "jsonl") else "record"
        source = Source(path, name, form, before[0], sha256_file(path), before, unit)
    except OSError as error:
        raise _unreadable(path, error) from error
    source.unchanged()
    return source


def _form(path: Path, start: bytes) -> Format:
    for magic, what, action in _FOREIGN:
        if start.startswith(magic):
            raise InputError(Problem("not a table", "CSV, JSONL or Parquet", what, str(path), action))
    if start.startswith(b"PAR1"):
        return "parquet"
    known = FORMATS.get(path.suffix.lower())
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if known == "parquet":
        raise InputError(
            Problem("not a Parquet file", "a file that begins with PAR1", "other bytes", str(path), "Write it again.")
        )
    if not text:
        raise InputError(Problem("the file is empty", "at least one record", "no text", str(path), "Export it again."))
    if known != "csv" and text.startswith(b"["):
        raise InputError(
            Problem(
                "a JSON array is not JSONL",
                "one object a line",
                "a list",
                str(path),
                "Write one object a line, for example with: jq -c '.[]' FILE",
            )
        )
    return known or ("jsonl" if text.startswith(b"{") else "csv")


def _log_form(path: Path, start: bytes, kind: str, forms: Collection[str]) -> Format:
    """Format of a tool's log, by its first bytes, and by its name where these leave it open."""
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    found: Format
    if start.startswith(b"PK\x03\x04"):
        found = "zip"
    elif start.startswith(b"PAR1"):
        found = "parquet"
    elif text.startswith(b"{"):
        found = "jsonl" if _LOGS.get(path.suffix.lower()) == "jsonl" else "json"
    else:
        found = "json" if text.startswith(b"[") else "csv"
    foreign = next((what for magic, what, _ in _FOREIGN if start.startswith(magic)), "no text" if not text else found)
    if found not in forms or (found == "csv" and foreign != "csv"):
        expected = f"a file that {kind} writes: " + " or ".join("an .eval log" if f == "zip" else f for f in forms)
        action = "Check the file, or name the kind that fits; for any other table: snapshot-audit import table."
        raise InputError(Problem(f"not a file of {kind}", expected, foreign, str(path), action))
    return found


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        Problem("cannot read the file", "a readable file", error.strerror or str(error), str(path), "Check its rights.")
    )
