"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit_core import bundled


@pytest.fixture(scope="session")
def studies() -> Path:
    return bundled.studies()[0].parent
