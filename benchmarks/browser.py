"""From the press of a key to the next question on screen, in Chromium, at three sizes of study."""

from __future__ import annotations

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.made import table

SIZES = (400, 10_000, 100_000)
PRESSES = 60
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]

WATCH = """() => {
  window.__presses = [];
  const shown = () => document.querySelector("article[data-question]")?.dataset.question;
  document.addEventListener("keydown", () => {
    const start = performance.now(), before = shown();
    const look = () => {
      const now = shown();
      if (now !== undefined && now !== before) {
        // The frame after the change is the first that a person can see.
        requestAnimationFrame(() => window.__presses.push([performance.now() - start, now]));
      } else if (performance.now() - start < 10000) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, true);
}"""


@dataclass(frozen=True)
class Presses:
    """Milliseconds at one size.

    Attributes:
        first_paint: Seconds from opening the address to the first headline of Summary, server up.
        times: One per press.
        lost: Presses that changed nothing within 10 seconds.
    """

    questions: int
    first_paint: float
    times: list[float]
    lost: int

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def high(self) -> float:
        """95th percentile."""
        return sorted(self.times)[int(0.95 * (len(self.times) - 1))]


def measure(folder: Path, say: Callable[[str], None], sizes: tuple[int, ...] = SIZES) -> list[Presses]:
    """Build a study of each size, serve it, and press *next* until it is measured."""
    found = []
    for size in sizes:
        db = folder / f"{size}.db"
        study = folder / f"study-{size}"
        rows = table(folder / f"{size}.csv", size, evidence=size <= 10_000)
        tool = [sys.executable, "-m", "audit_core.cli"]
        for command in (["import", "table", str(rows), "--study", str(study)], ["load", str(study), "--db", str(db)]):
            subprocess.run([*tool, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found.append(_served(db, folder / f"{size}-reviews.db", size))
        say(
            f"{size:>9,} questions  median {found[-1].median:6.0f} ms  95 % {found[-1].high:6.0f} ms  "
            f"lost {found[-1].lost}"
        )
    return found


def _served(db: Path, reviews: Path, size: int) -> Presses:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "audit_core.cli", "dashboard", "--db", str(db), "--reviews", str(reviews)]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait(f"{address}/_stcore/health")
        return _pressed(address, size)
    finally:
        server.terminate()
        server.wait(30)


def _pressed(address: str, size: int) -> Presses:
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        start = time.perf_counter()
        page.goto(address)
        page.locator("h1, h2").first.wait_for(timeout=120_000)
        first_paint = time.perf_counter() - start
        page.goto(f"{address}/triage")
        page.locator("article[data-question]").wait_for(timeout=300_000)
        page.wait_for_timeout(1_500)
        page.evaluate(WATCH)
        for _ in range(5):
            _press(page, "j")
        page.evaluate("() => { window.__presses = []; }")
        lost = sum(not _press(page, "j") for _ in range(PRESSES))
        times = [float(ms) for ms, _ in page.evaluate("() => window.__presses")]
        browser.close()
    return Presses(size, first_paint, times, lost)


def _press(page: object, key: str) -> bool:
    from playwright.sync_api import Error

    before = page.evaluate("() => window.__presses.length")  # type: ignore[attr-defined]
    page.keyboard.press(key)  # type: ignore[attr-defined]
    try:
        page.wait_for_function("n => window.__presses.length > n", arg=before, timeout=10_000)  # type: ignore[attr-defined]
    except Error as error:
        if not re.search("[Tt]imeout", str(error)):
            raise
        return False
    page.wait_for_timeout(120)  # type: ignore[attr-defined]
    return True


def wait(address: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer within a minute")


def written(found: list[Presses]) -> list[str]:
    """The section of the report."""
    lines = [
        "## Keypress to next question",
        "",
        f"Chromium without a GPU on the same machine, Triage, key `j`, {PRESSES} presses one after the other; from the "
        "browser's keydown to the frame in which the next question is on screen.",
        "",
        "| questions | median | 95th percentile | lost presses | first paint of Summary |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {p.questions:,} | {p.median:,.0f} ms | {p.high:,.0f} ms | {p.lost} | {p.first_paint:.2f} s |" for p in found
    ]
    return [*lines, ""]
