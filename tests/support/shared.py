"""Where the handed material lives: beside the checkout, or where an environment variable says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared(*parts: str) -> Path:
    """A path in the shared folder; skips the test (or the module) where it is absent."""
    root = Path(os.environ.get("SNAPSHOT_AUDIT_SHARED", Path(__file__).parents[3] / "shared"))
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in the shared folder", allow_module_level=True)
    return path
