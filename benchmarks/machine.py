"""What the numbers were measured on, without names of hosts or people."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "arch", "pandas", "pyarrow", "sqlite-utils", "streamlit", "plotly", "playwright")


def described() -> list[str]:
    """One line a fact: processor, memory, system, versions."""
    packages = []
    for name in PACKAGES:
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} not installed")
    return [
        f"Processor: {_cpu()}, {os.cpu_count()} cores",
        f"Memory: {_memory()}",
        f"System: {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version} (shell {_shell('sqlite3', '--version')}), {_shell('chromium', '--version')}",
        f"Packages: {', '.join(packages)}",
    ]


def load() -> str:
    """How busy the machine was when a measurement began; other work makes every time longer."""
    return "load average at the start " + ", ".join(f"{value:.1f}" for value in os.getloadavg())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        return f"{found['model name']} (model {found['model']}, {float(found['cpu MHz']):,.0f} MHz)"
    except (OSError, KeyError, ValueError):
        return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    except (OSError, ValueError):
        return "unknown"


def _shell(program: str, *arguments: str) -> str:
    if not shutil.which(program):
        return f"{program} not installed"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:3]).split(" 20")[0]
