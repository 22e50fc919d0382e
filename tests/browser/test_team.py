"""A team at work: three reviewers who sign in and judge ten flips masked, an adjudicator who settles and signs off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from audit_core.cli import main
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from tests.support.provider import Provider
from tests.support.server import Server

pytestmark = pytest.mark.browser
STUDY, PAIR = "help-centre", ("n1", "n7")
NAMES = ("Ada", "Ben", "Cai", "Dee")
PEOPLE = {name: {"email": f"{name.lower()}@example.org", "email_verified": True} for name in NAMES}
TEAM = """
[sign_in]
how = "oidc"
[people]
"ada@example.org" = "reviewer"
"ben@example.org" = "reviewer"
"cai@example.org" = "reviewer"
"dee@example.org" = "adjudicator"
[review]
verdicts = 3
masked = true
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, studies: Path) -> Path:
    path = tmp_path_factory.mktemp("team") / "audit.db"
    load([studies / STUDY], path, verifier=verify)
    return path


@pytest.fixture(scope="module")
def flips(db: Path) -> list[str]:
    columns = read.columns(db, STUDY, "semantic", *PAIR)
    assert columns is not None
    return [q for q, flip in zip(columns["question_id"], columns["flip"], strict=True) if flip][:10]


@pytest.fixture
def server(db: Path, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "team.toml").write_text(TEAM)
    with Provider(PEOPLE) as provider:
        team = {"SNAPSHOT_AUDIT_TEAM": str(tmp_path / "team.toml")}
        running = Server(db, tmp_path / "reviews.db", tmp_path / "log", team)
        provider.secrets(tmp_path, running.port)
        with running:
            yield running


class Seat:
    """A person in a browser of their own."""

    def __init__(self, browser: Browser, server: Server, name: str) -> None:
        self.server, self.page = server, browser.new_context(viewport={"width": 1360, "height": 1010}).new_page()
        self.page.goto(server.url)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("link", name=name, exact=True).click()
        self.page.wait_for_url(f"{server.url}/**")
        self.page.locator(".sa-who").wait_for()

    def triage(self, query: str) -> Seat:
        self.page.goto(f"{self.server.url}/triage?study={STUDY}&{query}")
        self.page.locator("button.open-help").wait_for()
        return self

    def press(self, key: str) -> None:
        before = self.card()
        self.page.keyboard.press(key)
        self.page.wait_for_function(
            "before => JSON.stringify({...document.getElementById('triage-card')?.dataset}) !== before", arg=before
        )

    def card(self) -> str:
        return str(self.page.evaluate("JSON.stringify({...document.getElementById('triage-card')?.dataset})"))

    def question(self) -> str:
        return str(json.loads(self.card())["question"])


def answers(db: Path, question: str) -> dict[str, set[str]]:
    found = read.question(db, STUDY, question)
    assert found is not None
    return {state: {c["answer"] for c in found["cells"] if c["state_name"] == state} for state in PAIR}


def judge(seat: Seat, db: Path, prefers: dict[str, str]) -> None:
    """Ten questions by keyboard; which side is which is known only from the answers on it."""
    for _ in prefers:
        question = seat.question()
        page = seat.page
        expect(page.locator(".sa-side h2").first).to_have_text("A")
        for hidden in ("Across the ladder", "Pair agreement", "Old snapshot", "EM-", "documents shared"):
            assert hidden not in page.locator("#triage-card").inner_text()
        side = page.locator(".sa-side").first.inner_text()
        old = answers(db, question)["n1"]
        first_is_old = all(answer in side for answer in old)
        wanted = prefers[question]
        seat.press({"old": "1", "new": "2"}[wanted] if first_is_old else {"old": "2", "new": "1"}[wanted])
    expect(seat.page.locator("#triage-progress")).to_have_text("10 of 10 reviewed")


def test_three_reviewers_and_an_adjudicator_to_a_sign_off(
    browser: Browser, server: Server, db: Path, flips: list[str], studies: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    only = "queue=flips&" + "&".join(f"only={question}" for question in flips)
    disputed = set(flips[:3])
    for name in ("Ada", "Ben", "Cai"):
        seat = Seat(browser, server, name).triage(only)
        judge(seat, db, {q: "new" if name == "Ben" and q in disputed else "old" for q in flips})
        seat.page.context.close()

    store = ReviewStore(tmp_path / "reviews.db")
    fold = store.fold()
    verdicts = [event for event in fold.trail if event.kind == "verdict"]
    assert len(verdicts) == 30
    assert {event.sides for event in verdicts} == set(PAIR)  # sides were turned for some
    assert all(event.visible == () for event in verdicts)
    for event in verdicts:
        by_ben = event.reviewer == "ben@example.org" and event.question_id in disputed
        assert event.verdict == ("improvement" if by_ben else "regression")

    dee = Seat(browser, server, "Dee").triage("queue=disputed")
    expect(dee.page.locator("#triage-progress")).to_have_text("0 of 3 settled")
    for _ in range(3):
        expect(dee.page.locator("#triage-others")).to_contain_text("Reviewers disagree")
        expect(dee.page.locator("#triage-others")).to_contain_text("ben@example.org")
        dee.press("1")
    expect(dee.page.locator("#triage-progress")).to_have_text("3 of 3 settled")
    fold = ReviewStore(tmp_path / "reviews.db").fold()
    for question in disputed:
        review = fold.review(STUDY, question, PAIR)
        assert review.ruled
        assert "improvement" in {event.verdict for event in review.verdicts}  # the losing verdict is kept
    _axe(dee.page)
    _sign_off(dee, studies, tmp_path, capsys)


def _axe(page: Page) -> None:
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.violations_count == 0, found.generate_report()


def _sign_off(dee: Seat, studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = dee.page
    page.goto(f"{dee.server.url}/?study={STUDY}")
    page.locator(".st-key-release-form summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("radio", name="Hold").focus()
    page.keyboard.press("Space")
    page.get_by_role("textbox", name="Reason").focus()
    page.keyboard.type("Ten flips were read by three people; all ten are regressions.")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Sign as").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Signed: Hold")).to_be_visible(timeout=15_000)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the signed file").click()
    file = tmp_path / "signed.jsonl"
    download.value.save_as(file)
    capsys.readouterr()
    assert main(["verify-signoff", str(file), "--study", str(studies / STUDY)]) == 0
    said = capsys.readouterr().out
    assert "failed" not in said.replace("0 failed", "")
    records = [json.loads(line) for line in file.read_bytes().splitlines()]
    decision = next(record for record in records if "Ten flips were read" in json.dumps(record))
    assert "dee@example.org" in json.dumps(decision)
    changed = file.read_bytes().replace(b"all ten are regressions", b"all ten are improvements")
    (tmp_path / "changed.jsonl").write_bytes(changed)
    assert main(["verify-signoff", str(tmp_path / "changed.jsonl"), "--study", str(studies / STUDY)]) == 1
    capsys.readouterr()
