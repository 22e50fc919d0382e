"""Files of a share bundle, and what its manifest holds."""

from __future__ import annotations

import re

from audit_core.codec import Field
from audit_core.codec.fields import is_count, is_flag, is_hex, is_list, is_name

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"
"""The locked protocol, to the letter."""
QUESTIONS = "questions.jsonl"
"""The redacted records, one a question."""
RESULTS = "results.json"
LOCKS = "locks"
"""Folder of the study's locks, to the letter."""
VERIFIER = "verifier"
"""Folder of the modules that the verifier consists of."""
ENTRY = "verify.py"
README = "README.txt"

MEMBER = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){0,5}")
"""A file's path inside a bundle."""
LARGEST_MANIFEST = 4 << 20

ID_CHARACTERS, ID_WORDS = 128, 8
"""An id or tag that is longer reads like a text, and bundles hold none."""

FILE: dict[str, Field] = {
    "path": (lambda v: type(v) is str and MEMBER.fullmatch(v) is not None and v != MANIFEST, "a path inside", True),
    "bytes": (is_count, "a whole number", True),
    "sha256": (is_hex, "a SHA-256", True),
}
FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (lambda v: v == "audit.share", "audit.share", True),
    "study_id": (is_name, "non-empty text", True),
    "study": (is_hex, "a SHA-256", True),
    "lock": (is_hex, "a SHA-256", True),
    "ids": (lambda v: v in ("kept", "opaque"), "kept or opaque", True),
    "results_as_locked": (is_flag, "true or false", True),
    "tool": (lambda v: type(v) is dict, "an object", True),
    "files": (is_list, "a list of files", True),
}
"""Of the manifest: `study` is the digest of the protocol's lock, `lock` that of the last lock."""


def wordy(text: str) -> bool:
    """Whether an id or a tag reads like a text."""
    return len(text) > ID_CHARACTERS or len(text.split()) > ID_WORDS
