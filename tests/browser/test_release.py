"""The release decision on Summary: signed by keyboard, verified offline, refused when stale, outdated by later ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from audit_core.cli import main
from audit_core.readmodel.load import load
from audit_core.reviews.proofs import FOLDER
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from tests.support.server import Server
from tests.support.signing import give, screens

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, studies: Path) -> Path:
    path = tmp_path_factory.mktemp("release") / "audit.db"
    load([studies / "help-centre"], path, verifier=verify)
    return path


@pytest.fixture
def server(loaded: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(loaded, tmp_path / "reviews.db", tmp_path / "server.log") as running:
        yield running


@pytest.fixture
def desk(server: Server, studies: Path):
    """A store with three verdicts, and a way to give more."""
    store = ReviewStore(server.reviews)
    screen = screens(studies / "help-centre", "semantic")(store.fold())
    for question in screen.flips[:3]:
        give(store, screen, question, "ann", "regression", impact="high")

    def more(number: int) -> None:
        give(store, screen, screen.flips[number], "ben", "improvement")

    return store, more


def summary(page: Page, server: Server, address: str = "") -> Page:
    page.goto(f"{server.url}/?study=help-centre{address}")
    page.wait_for_selector(".st-key-release h2")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    return page


def decide(page: Page, steps: int, reason: str, conditions: str = "") -> None:
    """Everything by keyboard: unfold, choose, write, sign.

    Streamlit fetches the code of each kind of control when a page first needs it, so that a form just drawn can lack
    some of its fields for a moment: all of them are waited for, and each step says where the focus is.
    """
    first = page.get_by_role("radio", name="Ship", exact=True)
    fields = [page.get_by_role("textbox", name=name) for name in ("Reason", "Conditions")]
    page.locator(".st-key-release-form summary").focus()
    page.keyboard.press("Enter")
    for field in (first, *fields):
        expect(field).to_be_visible()
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    page.keyboard.press("Space")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")
    for field, text in zip(fields, (reason, conditions), strict=True):
        page.keyboard.press("Tab")
        expect(field).to_be_focused()
        page.keyboard.type(text)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=re.compile("^Sign as"))).to_be_focused()
    page.keyboard.press("Enter")


def test_an_adjudicator_signs_by_keyboard_and_a_stranger_verifies_it(
    page: Page, server: Server, desk, tmp_path
) -> None:
    store, more = desk
    summary(page, server)
    expect(page.locator(".st-key-release")).to_contain_text("Nobody has decided yet")
    decide(page, 1, "One stale leaflet <b>& $x$</b>.", "Remove the leaflet.")
    expect(page.locator(".st-key-release [role=status]").first).to_contain_text("Signed: Ship with conditions")
    expect(page.locator("#release-decision")).to_have_text("Ship with conditions")
    expect(page.locator(".st-key-release")).to_contain_text("One stale leaflet <b>& $x$</b>.")
    expect(page.locator(".st-key-release")).to_contain_text("3 of 16 repeat-stable flips")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the signed file").click()
    file = tmp_path / "signed.jsonl"
    waiting.value.save_as(file)
    (event,) = store.fold().of_kind(None, "signoff")
    assert waiting.value.suggested_filename == event.subject
    assert file.read_bytes() == (server.reviews.parent / FOLDER / event.subject).read_bytes()
    digest = page.locator(".st-key-release code").first.inner_text()
    assert main(["verify-signoff", str(file), "--study", "help-centre", "--expect", digest]) == 0

    more(5)
    summary(page, server)
    expect(page.locator("#release-decision")).to_contain_text("Outdated")
    expect(page.locator(".st-key-release")).to_contain_text("1 verdict since.")
    decide(page, 2, "Somebody saw an improvement; wait.")
    expect(page.locator("#release-decision")).to_have_text("Hold")
    page.get_by_text("Earlier decisions: 1").click()
    expect(page.locator(".st-key-release-history")).to_contain_text("One stale leaflet <b>& $x$</b>.")
    assert len(list((server.reviews.parent / FOLDER).iterdir())) == 2


def test_a_stale_screen_is_refused_and_says_what_changed(page: Page, server: Server, desk) -> None:
    store, more = desk
    summary(page, server)
    more(6)
    decide(page, 0, "Looks fine.")
    alert = page.locator(".st-key-release [role=alert]")
    expect(alert).to_contain_text("Not signed.")
    expect(alert).to_contain_text("ben said Improvement")
    assert store.fold().of_kind(None, "signoff") == []
    expect(page.get_by_role("textbox", name="Reason")).to_have_value("Looks fine.")
    page.get_by_role("button", name=re.compile("^Sign as")).press("Enter")  # having looked at it
    expect(page.locator("#release-decision")).to_have_text("Ship")


def test_what_is_missing_is_said_and_the_input_stays(page: Page, server: Server, desk) -> None:
    store, _ = desk
    summary(page, server)
    decide(page, 1, "Only a reason.")
    expect(page.locator(".st-key-release [role=alert]")).to_contain_text("There are no conditions")
    expect(page.get_by_role("textbox", name="Reason")).to_have_value("Only a reason.")
    assert store.fold().of_kind(None, "signoff") == []


def test_who_may_not_sign_sees_why_and_has_no_form(page: Page, loaded: Path, tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text('[people]\n"ann" = "reviewer"\n"cat" = "adjudicator"\n')
    env = {"SNAPSHOT_AUDIT_TEAM": str(team), "SNAPSHOT_AUDIT_REVIEWER": "ann"}
    with Server(loaded, tmp_path / "reviews.db", tmp_path / "log", env) as server:
        summary(page, server)
        expect(page.locator(".st-key-release")).to_contain_text("You cannot sign.")
        expect(page.locator(".st-key-release-form")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(browser, server: Server, desk, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1360, "height": 900})
    page = summary(context.new_page(), server)
    decide(page, 2, "Wait.")
    expect(page.locator("#release-decision")).to_have_text("Hold")
    desk[1](4)
    summary(page, server)
    page.locator(".st-key-release-form summary").click()
    expect(page.get_by_role("textbox", name="Reason")).to_be_visible()
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    serious = [
        (item["id"], node["html"][:200])
        for item in found.response["violations"]
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"]
    ]
    assert serious == []
    context.close()
