"""Where a command finds verdicts, and where it may write what it was asked for."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from audit_core.errors import InputError, Problem
from audit_core.study import within_study

REVIEWS = "reviews.db"
_WRITTEN = ("out", "sheet", "dir", "into", "db")
"""Options that name what a command writes, whatever the command."""


def reviews_of(study: Path) -> Path:
    """The verdicts that are meant where none are named: those here, else those beside the study."""
    here, beside = Path(REVIEWS), study.resolve().parent / REVIEWS
    return beside if beside.is_file() and not here.is_file() else here


def named(path: Path) -> Path:
    """A file of verdicts that was asked for by name.

    Raises:
        InputError: There is no file of that name.
    """
    if not path.is_file():
        found = "no such file" if not path.exists() else "a folder or a device"
        raise InputError(Problem("no verdicts here", "a reviews.db", found, str(path),
                                 "Name the file, or leave --reviews out."))  # fmt: skip
    return path


def kept_digest(text: str | None, option: str) -> str | None:
    """A digest that was kept elsewhere, in small letters.

    Raises:
        InputError: It is none; an empty one would look like a study that was rewritten.
    """
    if text is None:
        return None
    found = text.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", found):
        raise InputError(Problem("this is no SHA-256", "64 hexadecimal digits", found[:80] or "nothing", option,
                                 "Give the digest as it was printed."))  # fmt: skip
    return found


def refused(path: Path, option: str) -> Problem | None:
    """Why a file may not be written there; None where it may.

    A locked study would fail its checks with one more file, and a device is no file to put another one in place of.
    """
    if within_study(path):
        return Problem("a locked study takes no more files", "a file outside the study", str(path), option,
                       "Choose a place outside the study's folder.")  # fmt: skip
    if path.exists() and not (path.is_file() or path.is_dir()):
        return Problem("a device has this name", "a new name, or a file to replace", str(path), option,
                       "Choose another name.")  # fmt: skip
    return None


def refuse_inside_studies(arguments: argparse.Namespace) -> None:
    """Refuse options that would write into a locked study.

    Raises:
        InputError: One or more would.
    """
    given = [(name, getattr(arguments, name, None)) for name in _WRITTEN]
    problems = [
        Problem("a locked study takes no more files", "a place outside the study", str(path), f"--{name}",
                "Choose a place outside the study's folder.")
        for name, path in given if isinstance(path, Path) and within_study(path)
    ]  # fmt: skip
    if problems:
        raise InputError(problems)
