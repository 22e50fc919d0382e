"""Planning in a real browser: from the page to a protocol on disk; the address; accessibility."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from audit_core import bundled
from audit_core.collection import read_toml
from audit_core.readmodel.load import load
from audit_core.verify import verify
from tests.browser.test_pages import serious, settled
from tests.support.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    load([bundled.resolve("nq-400")], folder / "audit.db", verifier=verify)
    with Server(folder / "audit.db", folder / "reviews.db", folder / "server.log") as running:
        yield running


def test_a_plan_from_a_pilot_becomes_a_protocol(server, page, foreign, tmp_path):
    page.goto(server.url)
    settled(page)
    page.get_by_role("link", name="Plan", exact=True).click()
    page.wait_for_url(re.compile("/plan"))
    settled(page)
    page.get_by_role("combobox", name="Pilot").click()
    page.get_by_role("option", name="nq-400").click()
    settled(page)
    expect(page.get_by_text("Noise and wording are the pilot's own")).to_be_visible()
    questions = page.get_by_role("spinbutton", name="Questions", exact=True)
    questions.fill("150")
    questions.press("Enter")
    expect(page.get_by_text("Chance to confirm churn with 150 questions")).to_be_visible()
    page.wait_for_url(re.compile("pilot=nq-400.*questions=150|questions=150.*pilot=nq-400"))
    settled(page)
    page.reload()
    settled(page)
    expect(page.get_by_text("Chance to confirm churn with 150 questions")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download protocol.toml").click()
    target = tmp_path / "protocol.toml"
    download.value.save_as(target)
    protocol, collection = read_toml(target)
    assert collection.count == 150
    assert protocol.decision is not None
    assert protocol.decision.lower_above_zero == ("exact", "semantic")
    assert foreign == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 900])
def test_no_serious_accessibility_violation_and_no_sideways_scroll(server, browser, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"{server.url}/plan?pilot=nq-400&flips=4")
    settled(page)
    page.get_by_text("Tokens and prices").click()
    settled(page)
    wide = page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth")
    found = serious(page)
    context.close()
    assert not found
    assert wide <= 1
