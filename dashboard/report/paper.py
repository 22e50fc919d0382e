"""A report on paper: printed to PDF by Chromium, without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from audit_core.errors import Problem, StorageError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120
_DATES = re.compile(rb"(/(?:CreationDate|ModDate) )(\(D:[^)]*\))")


def browser() -> str:
    """The program that prints.

    Raises:
        StorageError: There is none.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise StorageError(
            Problem(
                "there is no browser to print with",
                "Chromium or Chrome on the path",
                "none",
                "--pdf",
                "Install Chromium (Debian: apt install chromium), or print the HTML file from any browser.",
            )
        )
    return found


def printed(page: bytes) -> bytes:
    """A report as PDF.

    Args:
        page: The HTML file.

    Raises:
        StorageError: There is no browser, or it failed.
    """
    program, said = browser(), ""
    with tempfile.TemporaryDirectory(prefix="report-") as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_bytes(page)
        command = [
            program, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile", "--no-pdf-header-footer",
            "--virtual-time-budget=10000", f"--print-to-pdf={target}", source.as_uri(),
        ]  # fmt: skip
        # Its sandbox does not start for root or in most containers; what is printed is our own page, with a policy.
        for sandbox in ([], ["--no-sandbox"]) if os.geteuid() else (["--no-sandbox"],):
            try:
                done = subprocess.run([*command, *sandbox], capture_output=True, timeout=PATIENCE, check=False)
                said = " ".join(done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:])
            except (OSError, subprocess.TimeoutExpired) as error:
                said = str(error)
            if target.is_file() and target.stat().st_size:
                return undated(target.read_bytes())
    raise StorageError(
        Problem(
            "the browser did not print", "a PDF file", said[:300] or "nothing", program,
            "Try again; the HTML file prints from any browser.",
        )
    )  # fmt: skip


def undated(data: bytes) -> bytes:
    """The PDF without the time at which it was printed, so that the same report gives the same file."""

    def blank(match: re.Match[bytes]) -> bytes:
        return match.group(1) + re.sub(rb"\d", b"0", match.group(2))

    return _DATES.sub(blank, data)
