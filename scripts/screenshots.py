"""Pictures of every page for the README: light and dark, 1360 and 900 wide, from the bundled studies.

python scripts/screenshots.py [--out docs/screenshots] [--only summary,churn]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from audit_core import bundled  # noqa: E402  the checkout's own code, whatever is installed
from audit_core.readmodel.load import load  # noqa: E402
from audit_core.reviews.fold import Fold  # noqa: E402
from audit_core.verify import verify  # noqa: E402
from dashboard.report.making import People, render  # noqa: E402
from tests.support.server import Server  # noqa: E402

PAGES = (
    "summary", "churn", "transitions", "evidence", "trajectories", "refusals", "triage", "judges", "compare",
    "ledger", "report", "plan", "present",
)  # fmt: skip
WIDTHS = {1360: 1010, 900: 1200}
TALLEST = 2200
ADDRESS = "study=help-centre&old=n1&new=n7&kernel=semantic"
OWN = {
    "refusals": "study=borderline-refusal&kernel=semantic",
    "compare": "study=v4pro-100&other=nq-400&kernel=semantic",
    "plan": "pilot=nq-400&flips=4",
    "present": f"{ADDRESS}&slide=7",
}
"""Addresses of pages that another study shows better."""
FILES = ("help-centre", "nq-400")
"""Studies of which the report's file is shown too."""
READY = (
    "document.querySelectorAll('[data-testid=stSkeleton]').length === 0 && "
    "[...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(e => e.querySelector('.main-svg'))"
)


def shoot(page: Page, url: str, out: Path) -> None:
    """One picture, once everything on the page is drawn."""
    page.goto(url)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_selector("h1")
    page.wait_for_function(READY)
    tall = page.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight")
    size = page.viewport_size or {"width": 1360, "height": 1010}
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], min(tall, TALLEST))})
    page.wait_for_timeout(800)
    page.screenshot(path=out)
    page.set_viewport_size(size)


def shoot_file(page: Page, html: bytes, folder: Path, out: Path) -> None:
    """A picture of a report's file, from its head to the beginning of its appendix."""
    path = folder / "report.html"
    path.write_bytes(html)
    page.set_viewport_size({"width": 860, "height": 1200})
    page.goto(path.as_uri())
    page.wait_for_selector(".plot .main-svg")
    page.wait_for_timeout(500)
    tall = page.evaluate("document.querySelector('.appendix').offsetTop + 420")
    page.screenshot(path=out, full_page=True, clip={"x": 0, "y": 0, "width": 860, "height": tall})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--only", default=",".join(PAGES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "audit.db"
        load(bundled.studies(), db, verifier=verify)
        with Server(db, Path(folder) / "reviews.db", Path(folder) / "server.log") as server, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for scheme in ("light", "dark"):
                for width, height in WIDTHS.items():
                    context = browser.new_context(
                        color_scheme=scheme, viewport={"width": width, "height": height}, reduced_motion="reduce"
                    )
                    page = context.new_page()
                    for name in arguments.only.split(","):
                        out = arguments.out / f"{name}-{scheme}-{width}.png"
                        shoot(page, f"{server.url}/{'' if name == 'summary' else name}?{OWN.get(name, ADDRESS)}", out)
                        print(out, flush=True)
                    context.close()
            if "report" in arguments.only.split(","):
                page = browser.new_page()
                for name in FILES:
                    html = render(db, name, People(Fold([])), redacted=False)
                    shoot_file(page, html, Path(folder), arguments.out / f"file-{name}.png")
                    print(arguments.out / f"file-{name}.png", flush=True)
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
