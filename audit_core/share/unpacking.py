"""Opening a bundle that came from somebody else: nothing is written outside its folder, nor more than it may hold."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from audit_core.errors import InputError, Problem
from audit_core.share.layout import MANIFEST, MEMBER

FREE_BYTES, MOST_EXPANSION = 256 << 20, 50
"""An archive may unpack to 256 MiB, or to 50 times its own size if that is more."""
MOST_MEMBERS = 1000
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BLOCK = 1 << 20


def unpack(file: Path, folder: Path) -> Path:
    """Unpack an archive.

    Args:
        file: The archive.
        folder: An empty folder.

    Returns:
        Where the bundle lies in it.

    Raises:
        InputError: Damaged, or it holds what no bundle holds: links, paths that lead out, too much.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = _checked(file, archive.infolist())
            left = max(FREE_BYTES, MOST_EXPANSION * file.stat().st_size)
            for member in members:
                left -= _extract(archive, member, folder, left)
                if left < 0:
                    raise _refused(file, "the archive unpacks to too much", "the size of a bundle", "more")
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError) as error:
        raise _refused(file, "damaged archive", "a bundle as zip", str(error)) from None
    (name,) = {member.filename.partition("/")[0] for member in members}
    if not (folder / name / MANIFEST).is_file():
        raise _refused(file, "the archive is no bundle", f"{name}/{MANIFEST} in it", "none")
    return folder / name


def _checked(file: Path, infos: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The files among the members."""
    if len(infos) > MOST_MEMBERS:
        raise _refused(file, "too many files in the archive", f"at most {MOST_MEMBERS:,}", f"{len(infos):,}")
    seen: set[str] = set()
    found, size = [], file.stat().st_size
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16)
        name = info.filename.removesuffix("/")
        if not MEMBER.fullmatch(name) or "\\" in info.orig_filename or info.orig_filename != info.filename:
            raise _refused(file, "a name that no bundle has", "a plain path inside the bundle", info.orig_filename[:80])
        if info.is_dir():
            continue
        if kind not in (0, stat.S_IFREG):
            raise _refused(file, "something that is no plain file", "files only", name[:80])
        if info.flag_bits & 1:
            raise _refused(file, "an encrypted file", "plain files", name[:80])
        if info.compress_type not in _COMPRESSIONS:
            raise _refused(file, "another compression", "deflate or none", f"{info.compress_type} of {name[:80]}")
        if not 0 <= info.header_offset < size:
            raise _refused(file, "damaged archive", "every file inside it", name[:80])
        if name.casefold() in seen or "/" not in name:
            raise _refused(file, "a file twice, or outside the bundle's folder", "one folder", name[:80])
        seen.add(name.casefold())
        found.append(info)
    if within := seen & {str(above) for name in seen for above in PurePosixPath(name).parents}:
        raise _refused(file, "a file and a folder of one name", "one of them", min(within)[:80])
    if len({info.filename.partition("/")[0] for info in found}) != 1:
        raise _refused(file, "the archive is no bundle", "one folder with files", f"{len(found)} files")
    return found


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, folder: Path, most: int) -> int:
    target = folder / info.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(info) as source, target.open("xb") as sink:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > most:
                break
            sink.write(block)
    return size


def _refused(file: Path, what: str, expected: str = "", found: str = "") -> InputError:
    return InputError(Problem(what, expected, found, str(file), "Ask for the bundle again; nothing of it was run."))
