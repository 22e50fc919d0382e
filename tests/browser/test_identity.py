"""Signing in, choosing a name, and being turned away, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from audit_core.reviews.store import ReviewStore
from tests.support import desk
from tests.support.provider import Provider
from tests.support.server import Server

pytestmark = pytest.mark.browser
PAGES = ("", "churn", "transitions", "evidence", "trajectories", "refusals", "triage", "ledger")
STUDY_WORDS = re.compile("What about|Desk|seven shards")
TEAM = """
[sign_in]
how = "oidc"
contact = "Ada in room 12"
[people]
"ada@example.org" = "adjudicator"
"vi@example.org" = "viewer"
"""
PEOPLE = {
    "Ada": {"email": "Ada@Example.org", "email_verified": True},
    "Vi": {"email": "vi@example.org", "email_verified": True},
    "Unverified Ada": {"email": "ada@example.org", "email_verified": False},
    "Wordy Ada": {"email": "ada@example.org", "email_verified": "true"},
    "Ada without proof": {"email": "ada@example.org"},
    "Ada of long ago": {"email": "ada@example.org", "email_verified": True, "iat": 1_000_000_000},
    "Mallory": {"email": "**mallory**<b>@example.org", "email_verified": True},
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identity")
    return desk.database(folder, desk.contradiction(folder))


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(PEOPLE) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(db: Path, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "team.toml").write_text(TEAM)
    server = Server(db, folder / "reviews.db", folder / "log", {"SNAPSHOT_AUDIT_TEAM": str(folder / "team.toml")})
    provider.secrets(folder, server.port)
    with server as running:
        yield running


@pytest.fixture
def local(db: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(db, tmp_path / "reviews.db", tmp_path / "log") as running:
        yield running


def settled(page: Page) -> None:
    page.wait_for_selector("h1")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def sign_in(page: Page, server: Server, who: str) -> None:
    page.goto(server.url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=who, exact=True).click()
    page.wait_for_url(f"{server.url}/**")
    settled(page)


@pytest.mark.parametrize("view", PAGES)
def test_nothing_of_a_study_is_shown_before_signing_in(page: Page, guarded: Server, view: str):
    frames: list[bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: frames.append(
        data if isinstance(data, bytes) else data.encode())))  # fmt: skip
    page.goto(f"{guarded.url}/{view}?study=desk&q=plain&user=ada@example.org")
    settled(page)
    expect(page.locator("h1")).to_have_text("Sign in to see this dashboard.")
    assert frames
    assert not STUDY_WORDS.search(b"".join(frames).decode("utf-8", "replace"))


def test_sign_in_work_and_sign_out(page: Page, guarded: Server, foreign: list[str]):
    sign_in(page, guarded, "Ada")
    expect(page.locator(".sa-who")).to_have_text("ada@example.orgadjudicator")
    page.get_by_role("link", name="Triage").click()
    expect(page.locator("#triage-card")).to_be_visible()
    expect(page.get_by_role("button", name="Keys ?")).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_text(re.compile("Saved #1")).first).to_be_visible()
    assert [event.reviewer for event in ReviewStore(guarded.reviews).fold().trail] == ["ada@example.org"]
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("h1")).to_have_text("Sign in to see this dashboard.", timeout=30_000)
    page.goto(f"{guarded.url}/triage")
    settled(page)
    expect(page.locator("h1")).to_have_text("Sign in to see this dashboard.")
    assert foreign == []


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ("Unverified Ada", "no verified e-mail address"),
        ("Wordy Ada", "no verified e-mail address"),
        ("Ada without proof", "no verified e-mail address"),
        ("Ada of long ago", "has expired"),
        ("Mallory", "**mallory**<b>@example.org is not on this team. Ask Ada in room 12 for access."),
    ],
)
def test_who_is_turned_away_and_told_why(page: Page, guarded: Server, who: str, told: str):
    sign_in(page, guarded, who)
    expect(page.locator(".sa-banner")).to_contain_text(told)
    for view in ("triage", "ledger"):
        page.goto(f"{guarded.url}/{view}")
        settled(page)
        expect(page.locator(".sa-banner")).to_contain_text(told)
        assert not STUDY_WORDS.search(page.inner_text("body"))


def test_who_is_taken_off_the_team_while_signed_in(page: Page, guarded: Server):
    sign_in(page, guarded, "Vi")
    expect(page.locator(".sa-who")).to_have_text("vi@example.orgviewer")
    path = Path(guarded.env["SNAPSHOT_AUDIT_TEAM"])
    try:
        path.write_text(TEAM.replace('"vi@example.org" = "viewer"\n', ""))
        page.reload()
        settled(page)
        expect(page.locator(".sa-banner")).to_contain_text("vi@example.org is not on this team.")
        path.write_text("[people")
        page.reload()
        settled(page)
        expect(page.locator(".sa-banner")).to_contain_text("vi@example.org is not on this team.")
    finally:
        path.write_text(TEAM)


def test_a_broken_edit_of_the_team_file_is_told_and_the_last_good_one_counts(page: Page, guarded: Server):
    sign_in(page, guarded, "Ada")
    path = Path(guarded.env["SNAPSHOT_AUDIT_TEAM"])
    try:
        path.write_text(TEAM.replace("viewer", "boss"))
        page.reload()
        settled(page)
        expect(page.locator(".sa-who")).to_have_text("ada@example.orgadjudicator")
        expect(page.locator(".sa-banner")).to_contain_text("The team file has a fault; what it said before still")
        expect(page.locator(".sa-banner")).to_contain_text("found boss")
    finally:
        path.write_text(TEAM)
    page.reload()
    settled(page)
    expect(page.locator(".sa-banner")).to_have_count(0)


def test_a_name_is_chosen_once_and_survives(page: Page, local: Server):
    page.goto(f"{local.url}/triage?reviewer=mallory&name=mallory&user=mallory")
    settled(page)
    expect(page.locator(".sa-who")).to_contain_text("adjudicator · not authenticated")
    page.get_by_role("button", name="Your name").click()
    page.get_by_label("Who are you?").fill("  Ada   Lovelace ")
    page.keyboard.press("Enter")
    expect(page.locator(".sa-who b")).to_have_text("Ada Lovelace")
    expect(page.get_by_role("button", name="Your name")).to_have_count(0)
    page.goto(f"{local.url}/triage?reviewer=mallory&name=mallory&user=mallory")
    settled(page)
    expect(page.locator(".sa-who b")).to_have_text("Ada Lovelace")
    expect(page.get_by_role("button", name="Keys ?")).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_text(re.compile("Saved #1")).first).to_be_visible()
    assert [event.reviewer for event in ReviewStore(local.reviews).fold().trail] == ["local:Ada Lovelace"]


def test_a_second_tab_cannot_change_the_name(page: Page, local: Server):
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(local.url)
        settled(tab)
        tab.get_by_role("button", name="Your name").click()
    for tab, name in ((page, "Ada"), (other, "Mallory")):
        tab.get_by_label("Who are you?").fill(name)
        tab.keyboard.press("Enter")
        expect(tab.locator(".sa-who b")).to_have_text("Ada")
    expect(other.get_by_text("A name was chosen already; nothing was changed.")).to_be_visible()


def test_what_cannot_be_a_name_is_told(page: Page, local: Server):
    page.goto(local.url)
    settled(page)
    page.get_by_role("button", name="Your name").click()
    page.get_by_label("Who are you?").fill("A\u202eda")
    page.keyboard.press("Enter")
    expect(page.get_by_text("this cannot be a name")).to_be_visible()
    assert not local.reviews.with_name("reviewer.json").exists()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_bar_the_form_and_the_page_outside_are_accessible(page: Page, guarded: Server, local: Server, scheme: str):
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(guarded.url)
    settled(page)
    found = Axe().run(page).response["violations"]
    page.goto(local.url)
    settled(page)
    page.get_by_role("button", name="Your name").click()
    page.get_by_label("Who are you?").wait_for()
    page.wait_for_timeout(400)  # the popover fades in, and a half-transparent text has no contrast
    found += Axe().run(page, context=".stPopoverBody, [data-testid=stPopoverBody]").response["violations"]
    found += Axe().run(page, context=".st-key-who").response["violations"]
    assert [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found] == []
