"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from audit_core import bundled


@pytest.fixture(scope="session")
def studies() -> Path:
    return bundled.studies()[0].parent


# Machines are shared and slow at times; speed is measured in benchmarks, never asserted here.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")
