"""The report in a browser: drawn, accessible, silent on the network, and the same on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from audit_core import bundled
from audit_core.readmodel.load import load
from audit_core.reviews.fold import Fold
from audit_core.verify import verify
from audit_core.verify.printed import check_report
from dashboard.report.making import People, render
from dashboard.report.paper import printed
from tests.support import desk
from tests.support.server import Server

pytestmark = pytest.mark.browser
WIDTHS = pytest.mark.parametrize("width", [1360, 900, 400])


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    hostile_study = desk.study(
        folder, "desk", desk.TWINS, hostile, text=lambda q: desk.HOSTILE, title=desk.HOSTILE,
        passage=lambda question, state, rank: desk.HOSTILE,
    )  # fmt: skip
    load([*bundled.studies(), hostile_study], folder / "audit.db", verifier=verify)
    out = {}
    for name in ("help-centre", "nq-400", "desk"):
        out[name] = folder / f"{name}.html"
        out[name].write_bytes(render(folder / "audit.db", name, People(Fold([])), redacted=False))
    return out


def hostile(question: str, state: str, repeat: int) -> str:
    return f"{desk.HOSTILE} {state}"


@pytest.mark.parametrize("name", ["help-centre", "nq-400", "desk"])
@WIDTHS
def test_it_is_drawn_accessible_and_silent(pages, name, width, page):
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(pages[name].as_uri())
    expect(page.locator(".plot .main-svg").first).to_be_visible()
    assert page.locator(".plot").count() == page.locator(".plot:has(.main-svg)").count() >= 3
    page.wait_for_timeout(300)
    assert asked == [pages[name].as_uri()]
    assert said == []
    assert page.title() == "Snapshot compatibility report"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    assert found.response["violations"] == [], found.generate_report()


def test_figures_answer_the_mouse(pages, page):
    page.goto(pages["help-centre"].as_uri())
    plot = page.locator("#plot-steps")
    plot.scroll_into_view_if_needed()
    box = plot.locator(".points path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(plot.locator(".hovertext")).to_contain_text("29.06 pp")


def test_the_numbers_can_be_opened_by_keyboard(pages, page):
    page.goto(pages["help-centre"].as_uri())
    summary = page.locator("#figure-transitions summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#figure-transitions table")).to_contain_text("matched repeats")


def test_it_prints_the_same_to_paper(pages):
    page = pages["help-centre"].read_bytes()
    first = printed(page)
    assert first.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", first)) > 8
    assert printed(page) == first


def test_the_page_gives_the_file_that_the_command_writes(pages, page, tmp_path, foreign):
    db = pages["help-centre"].parent / "audit.db"
    with Server(db, tmp_path / "reviews.db", tmp_path / "server.log") as server:
        page.goto(f"{server.url}/report?study=help-centre")
        expect(page.get_by_role("heading", name="Excess churn in plain words")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download as one HTML file").click()
        download.value.save_as(tmp_path / "r.html")
        assert download.value.suggested_filename == "help-centre-n1-n7.html"
        assert (tmp_path / "r.html").read_bytes() == pages["help-centre"].read_bytes()
        page.get_by_text("Redacted", exact=True).first.click()
        expect(page.get_by_text("Redacted: ids and digests only")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download as one HTML file").click()
        download.value.save_as(tmp_path / "redacted.html")
        with page.expect_download(timeout=90_000) as download:
            page.get_by_role("button", name="Download as PDF").click()
        download.value.save_as(tmp_path / "r.pdf")
        assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF-")
        assert foreign == []
    study = bundled.resolve("help-centre")
    assert {r.result for r in check_report(tmp_path / "redacted.html", study, verify(study))} == {"passed"}
