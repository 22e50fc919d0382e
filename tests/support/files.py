"""What may stand under a name instead of a file that a command can read."""

from __future__ import annotations

import os
from pathlib import Path

NOT_READ = {
    "nothing": "no such file",
    "a folder": "no regular file",
    "a pipe": "no regular file",
    "a device": "no regular file",
    "a file without end": "too large",
}
"""What it is, and what a command says of it."""


def not_read(path: Path, what: str) -> str:
    """Make it, and give the words that a message about it must hold."""
    if what == "a folder":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    elif what == "a file without end":
        path.touch()
        os.truncate(path, 20 << 30)
    return NOT_READ[what]
