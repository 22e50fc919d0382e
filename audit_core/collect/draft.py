"""A protocol with the numbers of a plan filled in; the rest is the one that ``init`` writes."""

from __future__ import annotations

import re
from pathlib import Path

from audit_core.collection import TEMPLATE
from audit_core.errors import InputError, Problem


def draft(
    questions: int, repeats: int, margin: str, level: str, semantic: bool, said: list[str], tolerance: str = ""
) -> str:
    """Text of a ``protocol.toml``.

    Args:
        margin, level: Decimal text.
        semantic: Whether labels by meaning are part of the decision; the offline judge then stands for one.
        said: Sentences of the plan, which stand on top as a comment.
        tolerance: Decimal text for a release rule; none is written where it is empty.
    """
    kernels = '["exact", "semantic"]' if semantic else '["exact"]'
    lines = TEMPLATE.splitlines()
    if tolerance:
        lines = [re.sub(r"^# (?=\[release\]|tolerance = )", "", line) for line in lines]
    for table, key, value in (
        ("questions", "count", str(questions)),
        ("generation", "repeats", str(repeats)),
        ("decision", "margin", f'"{margin}"'),
        ("decision", "lower_above_zero", kernels),
        ("estimation", "level", f'"{level}"'),
        *((("judging", "adapter", '"lexical"'),) if semantic else ()),
        *((("release", "tolerance", f'"{tolerance}"'),) if tolerance else ()),
    ):
        _set(lines, table, key, value)
    return "\n".join(["# Planned:", *(f"# {line}" for line in said), "", *lines, ""])


def _set(lines: list[str], table: str, key: str, value: str) -> None:
    """Change one value of the template; a comment behind it keeps its column."""
    inside = ""
    for place, line in enumerate(lines):
        if line.startswith("["):
            inside = line[1 : line.index("]")]
        elif inside == table and (match := re.match(rf"({key} = )([^#]*)(#.*)?$", line)):
            before, old, comment = match.groups(default="")
            lines[place] = (before + (value + " " if comment else value).ljust(len(old)) + comment).rstrip()
            return
    raise LookupError(f"[{table}] {key} is not in the template")


def write(target: Path, text: str) -> None:
    """Write a protocol; never over another one, and whole or not at all.

    Raises:
        InputError: There is a file already.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        stream = target.open("x", encoding="utf-8")
    except FileExistsError:
        raise InputError(
            Problem("a protocol is there already", "a name that is free", target.name, str(target),
                    "Edit it, or choose another place; a protocol is never written over.")
        ) from None  # fmt: skip
    try:
        with stream:
            stream.write(text)
    except OSError:
        target.unlink(missing_ok=True)
        raise
