"""The files of sign-offs: read-only, beside the verdicts, each named by its study and digest."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit_core.digests import sha256
from audit_core.errors import Problem, StorageError
from audit_core.locks import sync_folder
from audit_core.reviews.events import DECISIONS, Event

FOLDER = "signoffs"
NAME = re.compile(r"[a-z0-9_.-]{1,60}-[0-9a-f]{16}\.jsonl")
CONTENT = {"sha256", "screen", "last_lock", "standing", "conditions", "proved", "counts"}


def content_of(event: Event) -> dict[str, Any] | None:
    """What a sign-off's event says about its file; None where it says nothing, as only a forged one does."""
    try:
        found = json.loads(event.content)
    except ValueError:
        return None
    if not isinstance(found, dict) or not set(found) >= CONTENT or not isinstance(found["counts"], dict):
        return None
    texts = all(type(found[name]) is str for name in CONTENT - {"counts", "proved"})
    numbers = all(type(found["counts"].get(name)) is int for name in ("total", "reviewed", "disputed"))
    return found if texts and numbers else None


def adopt(target: Path, events: Iterable[Event], folder: Path) -> list[str]:
    """Copy the files of sign-offs, checked, where they are not yet.

    Args:
        target: Folder that they go to.
        events: Events that name them.
        folder: Where they are.

    Returns:
        Sentences about files that could not be found.
    """
    missing = []
    for event in events:
        content = content_of(event)
        if content is None or not NAME.fullmatch(event.subject) or event.verdict not in DECISIONS:
            continue
        if (target / event.subject).exists():
            continue
        try:
            data = (folder / event.subject).read_bytes()
        except OSError:
            data = b""
        if sha256(data) == content["sha256"]:
            place(target, event.subject, data)
        else:
            missing.append(f"The file of a sign-off by {event.reviewer} ({event.subject}) is not in {folder}.")
    return missing


def place(folder: Path, name: str, data: bytes) -> None:
    """A read-only file, never over another one; it is durable when this returns.

    Raises:
        StorageError: The disk refuses.
    """
    target, draft = folder / name, folder / f".{name}.{os.getpid()}"
    try:
        folder.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        try:
            with draft.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(stream.fileno(), 0o444)
                os.fsync(stream.fileno())
            with contextlib.suppress(FileExistsError):  # named by its digest: the same bytes
                os.link(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StorageError(
            Problem(
                "the sign-off cannot be written",
                "a writable disk with free space",
                str(error),
                str(target),
                "Free space or correct the rights, then sign again; nothing was signed.",
            )
        ) from error
