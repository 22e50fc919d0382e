"""Salted digests of single answers, and the proof that reveals one of them.

A plain digest of a short answer is no seal: a year is found in under a millisecond. So each cell has a salt of its own,
derived from one secret key that its owner keeps outside the bundle. A proof reveals text and salt of one answer, so it
shows that the bundle's record is about this answer. With the cell's ledger line and the path to the root that the
answers' lock holds it also shows that the answer is the locked one; but the path has plain digests of the lines beside
it, from which short answers can be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from audit_core.codec import Field, Record, encode
from audit_core.codec.fields import is_count, is_hex, is_text

PROOF: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (lambda v: v == "audit.share.proof", "audit.share.proof", True),
    "study": (is_hex, "a SHA-256", True),
    "question": (is_count, "the position of the question", True),
    "answer": (is_count, "the position among its answers", True),
    "salt": (is_hex, "64 hexadecimal digits", True),
    "text": (is_text, "text", True),
    "ledger": (lambda v: type(v) is dict, "a line with its path", False),
}
LEDGER: dict[str, Field] = {
    "line": (is_text, "a line of answers/cells.jsonl", True),
    "position": (is_count, "the position of the line", True),
    "path": (lambda v: type(v) is list and len(v) <= 64 and all(map(is_hex, v)), "SHA-256 digests", True),
}


def salt_of(key: bytes, question_id: str, state: str, repeat: int) -> bytes:
    """The salt of one cell."""
    return hmac.digest(key, encode([question_id, state, repeat]), "sha256")


def seal(salt: bytes, answer: str) -> bytes:
    """Salted digest of an answer."""
    return hashlib.sha256(salt + answer.encode()).digest()


def path_of(lines: Sequence[bytes], position: int) -> list[str]:
    """Digests that lead from one line to the root of `digests.Merkle`, the nearest first."""
    level = [hashlib.sha256(b"\x00" + line).digest() for line in lines]
    path = []
    while len(level) > 1:
        beside = position ^ 1
        if beside < len(level):
            path.append(level[beside].hex())
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [hashlib.sha256(b"\x01" + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs]
        position //= 2
    return path


def root_of(line: bytes, position: int, size: int, path: Sequence[str]) -> str:
    """Root that a line at a position of so many lines gives with a path; empty where the path does not fit."""
    if position >= size:
        return ""
    node, left = hashlib.sha256(b"\x00" + line).digest(), list(path)
    while size > 1:
        if position ^ 1 < size:
            if not left:
                return ""
            beside = bytes.fromhex(left.pop(0))
            node = hashlib.sha256(b"\x01" + (beside + node if position % 2 else node + beside)).digest()
        position, size = position // 2, (size + 1) // 2
    return "" if left else node.hex()


def proves(record: Record, proof: Record) -> bool:
    """Whether a redacted record holds the digest of the revealed answer where a proof says."""
    found = record["sealed"]
    made = seal(bytes.fromhex(proof["salt"]), proof["text"]).hex()
    return proof["answer"] < len(found) and found[proof["answer"]] == made
