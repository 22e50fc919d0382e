"""The secret of a study's bundles: one file that stays with the owner, and never goes into a bundle."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from audit_core.codec import CodecError, Field, check_fields, decode, encode
from audit_core.codec.fields import is_hex
from audit_core.errors import InputError, Problem, StorageError
from audit_core.files import SETTINGS, whole
from audit_core.locks import sync_folder

_FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (lambda v: v == "audit.share.key", "audit.share.key", True),
    "study": (is_hex, "a SHA-256", True),
    "key": (is_hex, "64 hexadecimal digits", True),
}


def read(path: Path, study: str) -> bytes:
    """The key in a file.

    Args:
        path: Of the file.
        study: SHA-256 of the protocol's lock of the study that the key must be of.

    Raises:
        InputError: No key file, or that of another study.
    """
    action = "Name the file that `bundle` wrote beside the bundle."
    try:
        record = check_fields(decode(whole(path, SETTINGS, "a key", action).removesuffix(b"\n")), _FIELDS, "key file")
    except CodecError as error:
        raise InputError(Problem("this is no key file", "a key", str(error), str(path), action)) from None
    if record["study"] != study:
        raise InputError(Problem("this is the key of another study", f"{study[:12]}…", f"{record['study'][:12]}…",
                                 str(path), "Name the key of this study, or a new file."))  # fmt: skip
    return bytes.fromhex(record["key"])


def write(path: Path, study: str) -> bytes:
    """A new key in a new file that its owner alone may read.

    Raises:
        StorageError: The disk refuses.
    """
    key = secrets.token_bytes(32)
    data = encode({"v": 1, "kind": "audit.share.key", "study": study, "key": key.hex()}) + b"\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(path.parent)
    except OSError as error:
        raise StorageError(Problem("cannot write the key", "a writable folder", str(error), str(path),
                                   "Choose another place with --key."))  from None  # fmt: skip
    return key
