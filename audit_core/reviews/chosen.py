"""The name that a reviewer without sign-in has chosen: once, in a file beside the verdicts, never changed by a page."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path

from audit_core.errors import InputError, Problem, StorageError
from audit_core.locks import sync_folder
from audit_core.reviews.names import LONGEST, unfit

FILE = "reviewer.json"


def chosen(reviews: Path) -> str | None:
    """The name that was chosen for a verdict store; None where none was.

    Raises:
        InputError: The file does not hold a name.
        StorageError: The file cannot be read.
    """
    path = reviews.with_name(FILE)
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(10_000))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(_problem(path, "a readable file", error.strerror or str(error))) from error
    except (ValueError, RecursionError) as error:
        raise InputError(_problem(path, "JSON", str(error))) from error
    name = found.get("name") if isinstance(found, dict) else None
    if not isinstance(name, str) or unfit(name):
        raise InputError(_problem(path, '{"name": "…"}', repr(found)[:100]))
    return name


def choose(reviews: Path, name: str) -> None:
    """Choose the name for a verdict store. It is on the disk when this returns, and stays.

    Raises:
        InputError: The name cannot be one, or another has been chosen already.
        StorageError: The disk refuses.
    """
    if lacks := unfit(name):
        raise InputError(Problem("this cannot be a name", lacks, name[: 2 * LONGEST], action="Nothing was saved."))
    path = reviews.with_name(FILE)
    draft = path.with_name(f".{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        try:
            with draft.open("xb") as stream:
                stream.write(json.dumps({"name": name}, ensure_ascii=False).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.link(draft, path)  # fails where the file is there: of two who choose at once, one is told
        finally:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
        sync_folder(path.resolve().parent)
    except FileExistsError:
        before = chosen(reviews)
        if before != name:
            action = (
                "Nothing was saved. Verdicts of one store carry one name; another person uses a store of their own."
            )
            raise InputError(Problem("a name was chosen already", str(before), name, str(path), action)) from None
    except OSError as error:
        found = error.strerror or str(error)
        action = "Nothing was saved. Correct the rights or free space, then choose again."
        raise StorageError(
            Problem("the name cannot be stored", "a writable folder with free space", found, str(path), action)
        ) from error


def _problem(path: Path, expected: str, found: str) -> Problem:
    action = "Restore the file from a copy, or remove it to choose again."
    return Problem("the chosen name cannot be read", expected, found, str(path), action)
