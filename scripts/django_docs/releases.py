"""The seven releases, their source archives with pinned digests, and the pages inside; nothing is unpacked to disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from audit_core.digests import sha256_file
from audit_core.errors import InputError, Problem, StorageError

RELEASES = {
    "3.2.25": "7ca38a78654aee72378594d63e51636c04b8e28574f5505dff630895b5472777",
    "5.2": "1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89",
    "1.8.19": "33d44a5cf9d333247a9a374ae1478b78b83c9b78eb316fc04adde62053b4c047",
    "2.2.28": "0200b657afbf1bc08003845ddda053c7641b9b24951e52acd51f6abda33a7413",
    "1.11.29": "4200aefb6678019a0acf0005cd14cfce3a5e6b9b90d06145fcdd2e474ad4329c",
    "4.2.16": "6f1616c2786c408ce86ab7e10f792b8f15742f7b7b7460243929cb371e7f1dad",
    "1.4.22": "d0e2c9d772fcab2cf9c09e1c05e711cf5fe5eb93225762b29f0739d65e0d1784",
}
"""SHA-256 of each source archive by release, in the order of the shards."""
FOLDERS = ("faq", "howto", "intro", "ref", "topics")
PAGE_LIMIT = 4 << 20


def short(release: str) -> str:
    """A release as people name it: ``3.2`` for 3.2.25."""
    return ".".join(release.split(".")[:2])


def cache() -> Path:
    """Where the archives are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "snapshot-audit" / "django-docs"


def fetch(folder: Path, say: Callable[[str], None]) -> dict[str, Path]:
    """The archives, downloaded where they are missing; each is used only with the pinned digest.

    Raises:
        InputError: An archive has another digest.
        StorageError: A download fails; those that were complete are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for release, digest in RELEASES.items():
        path = folder / f"django-{release}.tar.gz"
        if not path.is_file():
            say(f"downloading Django {release}")
            _download(release, digest, path)
        if (other := sha256_file(path)) != digest:
            action = "Remove the file and run the same command again; nothing was built from it."
            raise InputError(Problem(f"the archive of Django {release} is another one", f"sha256 {digest}", other,
                                     str(path), action))  # fmt: skip
        found[release] = path
    return found


def _download(release: str, digest: str, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        # pip checks the digest before it opens the archive, and the archive is moved into place only when it is whole.
        pinned = Path(name) / "pinned.txt"
        pinned.write_text(f"django=={release} --hash=sha256:{digest}\n")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps",
             "--no-binary", ":all:", "--require-hashes", "--dest", name, "--requirement", str(pinned)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        got = list(Path(name).glob("*.tar.gz"))
        if done.returncode or len(got) != 1:
            raise StorageError(Problem(f"Django {release} could not be downloaded", "one source archive",
                                       " ".join(done.stderr.split())[-300:] or "nothing", "pip download",
                                       "Run the same command again; complete downloads are kept."))  # fmt: skip
        got[0].replace(path)


def pages(archive: Path) -> Iterator[tuple[str, str]]:
    """Path inside ``docs/`` without the ending, and source, of every page that is taken; sorted by path."""
    found = {}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            parts = member.name.split("/")
            if len(parts) < 4 or parts[1] != "docs" or parts[2] not in FOLDERS or not member.name.endswith(".txt"):
                continue
            if member.isfile() and member.size <= PAGE_LIMIT and (stream := members.extractfile(member)) is not None:
                found["/".join(parts[2:]).removesuffix(".txt")] = stream.read().decode()
    yield from sorted(found.items())
