"""Chromium for the browser tests: the machine's own where there is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

expect.set_options(timeout=15_000)  # an assertion waits as long as a slow machine needs; it passes as soon as it holds


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return {**browser_type_launch_args, "args": FLAGS, **({"executable_path": found} if found else {})}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1360, "height": 1010}}


@pytest.fixture
def foreign(page: Page) -> list[str]:
    """Addresses outside the own server that the page asked for; a test asserts that there are none."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            asked.append(request.url)

    page.on("request", note)
    return asked


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"
