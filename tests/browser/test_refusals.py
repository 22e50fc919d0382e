"""From Summary to a refusal under the same evidence, and to the passage that was not shown, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.verify import verify
from tests.browser.test_pages import serious, settled
from tests.support import borderline as refusing
from tests.support.server import Server
from tests.support.simulator import CREATED

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    estimate_study(refusing.build(folder / "refusing"), created=CREATED)
    load([folder / "refusing"], folder / "audit.db", verifier=verify)
    with Server(folder / "audit.db", folder / "reviews.db", folder / "server.log") as running:
        yield running


def test_from_summary_to_the_missing_half_in_four_clicks(server, page):
    page.goto(server.url)
    settled(page)
    expect(page.get_by_text("Same evidence, different outcome:")).to_be_visible()
    page.locator(".st-key-summary-outcomes").get_by_role("link", name=re.compile("Refusals")).click()  # 1
    page.wait_for_url(re.compile("/refusals"))
    settled(page)
    page.get_by_role("link", name=re.compile("kind 2 be made")).click()  # 2: another split than the first
    page.wait_for_url(re.compile("case=q2"))
    settled(page)
    expect(page.locator("#case")).to_contain_text("kind 2")
    sibling = page.locator(".sa-siblings details").first
    expect(sibling).to_contain_text("Handbook: where to apply")
    expect(sibling).to_contain_text("rank 7")
    expect(sibling.get_by_text("The office at Varn receives every such form")).to_be_visible()  # opened already
    page.get_by_role("link", name="Open in Triage").click()  # 3
    page.wait_for_url(re.compile("/triage"))
    settled(page)
    expect(page.locator("#triage-question")).to_contain_text("kind 2")
    expect(page.locator("#triage-diagnosis")).to_contain_text("has no supporting passage in before and 1 in after")


def test_the_page_comes_back_after_a_reload_and_by_its_address(server, page):
    page.goto(f"{server.url}/refusals?study=refusing&at=before&case=q6")
    settled(page)
    expect(page.get_by_text("repeats saw different evidence")).to_be_visible()
    page.reload()
    settled(page)
    expect(page.locator("#case")).to_contain_text("kind 6")
    page.get_by_role("combobox", name=re.compile("State")).click()
    page.get_by_role("option", name=re.compile("after: 0")).click()
    expect(page.get_by_text("All repeats of each question do the same in after.")).to_be_visible()
    assert "at=after" in page.url
    assert "case=" not in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation_with_a_case(server, browser, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1360, "height": 900})
    page = context.new_page()
    page.goto(f"{server.url}/refusals?study=refusing")
    settled(page)
    found = serious(page)
    context.close()
    assert not found
