"""Canonical JSON and SHA-256 of bytes, files and line lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CHUNK = 1 << 20


def canonical(value: Any) -> bytes:
    """The one byte form of a JSON value (RFC 8785 on the domain that `codec` admits).

    Keys are sorted, there is no white space, text is UTF-8 and unescaped. On this domain (ASCII keys,
    integers below 2^53, no floats, no lone surrogates) other canonical JSON libraries give the same bytes.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read in pieces of 1 MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


class Merkle:
    """Root of a binary tree over lines: leaf ``sha256(0x00‖line)``, node ``sha256(0x01‖left‖right)``.

    An odd node is carried up unchanged (RFC 6962). The root lets a redacted study prove single lines later.
    Memory is logarithmic in the number of lines.
    """

    def __init__(self) -> None:
        self._peaks: list[tuple[int, bytes]] = []

    def add(self, line: bytes) -> None:
        """Add one line, without its newline."""
        node, size = hashlib.sha256(b"\x00" + line).digest(), 1
        while self._peaks and self._peaks[-1][0] == size:
            _, left = self._peaks.pop()
            node, size = hashlib.sha256(b"\x01" + left + node).digest(), size * 2
        self._peaks.append((size, node))

    def root(self) -> str:
        """Hexadecimal root; for no line at all the SHA-256 of nothing."""
        if not self._peaks:
            return sha256(b"")
        node = self._peaks[-1][1]
        for _, left in reversed(self._peaks[:-1]):
            node = hashlib.sha256(b"\x01" + left + node).digest()
        return node.hex()


def merkle_root(lines: Iterable[bytes]) -> str:
    """Root over an iterable of lines; see `Merkle`."""
    tree = Merkle()
    for line in lines:
        tree.add(line)
    return tree.root()
