"""Copies of the verdicts while a dashboard runs: at its start, then at most once an hour, only of what is new."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from audit_core.errors import AuditError
from audit_core.reviews.backup import backup, due

EVERY = 300.0
"""Seconds between two looks."""


def keep(reviews: Path, pause: Callable[[float], None] = time.sleep) -> None:
    """Look again and again whether a copy is due; a copy that fails is told in the server's window, once."""
    told = ""
    while True:
        try:
            if due(reviews, datetime.now(UTC)):
                backup(reviews, datetime.now(UTC))
            told = ""
        except (AuditError, OSError) as error:
            if str(error) != told:
                told = str(error)
                print(f"No copy of the verdicts could be made: {told}", file=sys.stderr, flush=True)
        pause(EVERY)
