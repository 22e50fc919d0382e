"""Inspect's ``.eval`` archives: a zip of one JSON file a sample, by default compressed with Zstandard."""

from __future__ import annotations

import zipfile as plain_zip
import zlib
from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.document import RECORD_LIMIT, Path, decode
from audit_core.importers.sources import Source
from audit_core.importers.values import scrub

FREE_BYTES, MOST_EXPANSION = 4 << 30, 200
"""An archive may unpack to 4 GiB, or to 200 times its own size if that is more."""
MOST_MEMBERS = 1_000_000
ZSTANDARD = 93


def _module() -> tuple[Any, type[Exception]]:
    """The zip reader that knows Zstandard, where one is installed, and what it raises for damage."""
    try:
        from backports.zstd import ZstdError, zipfile
    except ImportError:
        return plain_zip, plain_zip.BadZipFile
    return zipfile, ZstdError


def samples(source: Source, head: dict[Path, Any]) -> Iterator[tuple[Any, bool, int]]:
    """Every sample of an archive in order of the members' names, whether it may hold half a character, and its bytes.

    Args:
        source: The archive.
        head: Filled with the log's header before the first sample.

    Raises:
        InputError: Damaged, unpacking to too much, or compressed in a way that cannot be read here.
    """
    zipfile, damage = _module()
    # Newer Pythons know Zstandard themselves; a backport has error classes of its own.
    errors = (plain_zip.BadZipFile, zipfile.BadZipFile, damage, zlib.error, EOFError, OSError, RuntimeError)
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            _check(source, archive.infolist(), zipfile)
            names = sorted(name for name in archive.namelist() if name.startswith("samples/") and name[-5:] == ".json")
            known = set(archive.namelist())
            header = next((name for name in ("header.json", "_journal/start.json") if name in known), None)
            if header is None:
                raise _refused(source, "no Inspect log", "header.json", "another archive", "Check the file.")
            found = scrub(_read(source, archive, header)[0])[0]
            if isinstance(found, dict):
                head.update({(key,): value for key, value in found.items()})
            head.setdefault(("status",), "started")
            for name in names:
                yield *_read(source, archive, name), archive.getinfo(name).compress_size
    except NotImplementedError as error:
        raise _refused(source, f"the archive cannot be unpacked: {error}", action="Run: inspect log dump") from None
    except errors as error:
        raise _refused(source, f"damaged archive: {error}", action="Copy the file again.") from None


def _check(source: Source, members: list[Any], zipfile: Any) -> None:
    if len(members) > MOST_MEMBERS:
        raise _refused(source, "too many files in one archive", f"at most {MOST_MEMBERS:,}", f"{len(members):,}")
    limit = max(FREE_BYTES, MOST_EXPANSION * source.size)
    total = sum(member.file_size for member in members)
    if total > limit:
        raise _refused(source, "the archive unpacks to too much", f"at most {limit:,} bytes", f"{total:,}")
    if any(m.compress_type == ZSTANDARD for m in members) and not hasattr(zipfile, "ZIP_ZSTANDARD"):
        action = "Install it: pip install 'snapshot-audit[inspect]'. Or write JSON: inspect log dump FILE > log.json"
        raise _refused(source, "the log is compressed with Zstandard", "a reader for it", "none", action)


def _read(source: Source, archive: Any, name: str) -> tuple[Any, bool]:
    size = archive.getinfo(name).file_size
    if size > RECORD_LIMIT:
        raise _refused(source, "a sample is too large", f"at most {RECORD_LIMIT:,} bytes", f"{size:,} in {name[:80]}")
    with archive.open(name) as member:
        data = member.read(RECORD_LIMIT + 1)
    try:
        return decode(data.decode("utf-8-sig")), b"\\ud" in data or b"\\uD" in data
    except ValueError as error:
        raise _refused(source, f"damaged JSON in {name[:80]}: {error}") from None


def _refused(source: Source, what: str, expected: str = "", found: str = "", action: str = "") -> InputError:
    return InputError(Problem(what, expected, found, source.name, action or "Check the file; nothing was written."))
