"""People check the judge in a browser: two of them label, the server dies, and the page says the core's numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from audit_core.readmodel import read
from audit_core.report.labelled import frame
from audit_core.report.people import Checked, check
from audit_core.results import as_row, settings_of
from audit_core.reviews import labels
from audit_core.reviews.events import LABELS, Event
from audit_core.reviews.labels import Asked, Place
from audit_core.reviews.store import ReviewStore
from dashboard import runtime
from dashboard.components.desk import item_of
from dashboard.numbers import points
from dashboard.people import ratio
from tests.support import desk
from tests.support.labelling import NEW, OLD, Says, Simulated, erring, truly
from tests.support.server import Server

pytestmark = pytest.mark.browser
KEYS = {"same": "1s", "different": "2d", "cannot_tell": "3c"}


@pytest.fixture(scope="module")
def study() -> Simulated:
    return Simulated(questions=60, flips=0.4, seed=5, merges=0.2)


@pytest.fixture(scope="module")
def db(study: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study.database(tmp_path_factory.mktemp("judges"))


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    return tmp_path / "reviews.db"


@pytest.fixture
def ann(db: Path, reviews: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(db, reviews, tmp_path / "ann.log", {runtime.REVIEWER: "ann"}) as running:
        yield running


@pytest.fixture
def ben(db: Path, reviews: Path, tmp_path: Path) -> Iterator[Server]:
    """A second server on the same files, at another person's machine."""
    with Server(db, reviews, tmp_path / "ben.log", {runtime.REVIEWER: "ben"}) as running:
        yield running


class Desk:
    """What one person sees and presses at the labelling desk."""

    def __init__(self, page: Page, server: Server, study: Simulated) -> None:
        self.page, self.server = page, server
        self.pairs = {item_of(study.study_id, repr(p.place)): p for pairs in study.pairs.values() for p in pairs}

    def open(self) -> Desk:
        self.page.goto(f"{self.server.url}/labels")
        expect(self.page.locator("#label-card")).to_be_visible(timeout=60_000)
        expect(self.page.get_by_role("button", name="Keys ?")).to_be_visible(timeout=30_000)
        return self

    @property
    def item(self) -> str:
        return self.page.get_attribute("#label-card", "data-item") or ""

    @property
    def progress(self) -> str:
        return self.page.inner_text("#label-progress")

    def pair(self) -> Asked:
        """The pair on screen, as its name says; what is written there is that pair's."""
        item, question, *sides = self.page.evaluate(
            "() => { const card = document.getElementById('label-card'); return [card.dataset.item, "
            "card.querySelector('h1').innerText, ...[...card.querySelectorAll('.sa-said')].map(e => e.innerText)]; }"
        )
        pair = self.pairs[item]
        assert (question, sorted(sides)) == (pair.question, sorted((pair.first.text, pair.second.text)))
        return pair

    def say(self, value: str, number: int) -> None:
        """A label by key, or every fifth time by mouse; waits until it is said to be saved."""
        before, item = self.progress, self.item
        if number % 5 == 4:
            self.page.get_by_role("button", name=LABELS[value]).click()
        else:
            self.page.keyboard.press(KEYS[value][number % 2])
        expect(self.page.locator("#label-progress")).not_to_have_text(before, timeout=40_000)
        if not self.finished():
            expect(self.page.locator("#label-card")).not_to_have_attribute("data-item", item, timeout=40_000)
        expect(self.page.locator("#label-saved")).to_contain_text("Saved #", timeout=40_000)

    def label(self, says: Says, most: int = 10_000) -> int:
        done = 0
        while done < most and not self.finished():
            self.say(says(self.pair()) or "cannot_tell", done)
            done += 1
        return done

    def finished(self) -> bool:
        done, total = (int(n) for n in re.findall(r"\d+", self.progress))
        return done == total


def settled(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_selector("h1")


def draw(page: Page, server: Server, size: int) -> None:
    page.goto(f"{server.url}/judges")
    settled(page)
    field = page.get_by_role("spinbutton", name="Questions to label")
    field.fill(str(size))
    field.press("Tab")
    settled(page)
    page.get_by_role("button", name="Draw the sample").click()
    expect(page.get_by_text(f"A sample of {size} questions")).to_be_visible(timeout=30_000)


def core(study: Simulated, reviews: Path, db: Path) -> Checked:
    found, fold = frame(read.arrays(db, study.study_id), OLD, NEW), ReviewStore(reviews).fold()
    sample = labels.samples(fold, study.study_id, (OLD, NEW), "primary", found.strata)[-1]
    own = labels.given(fold, study.study_id)
    return check(found, sample, study.asked(sample), own, settings_of(study.protocol))


def test_two_people_label_and_the_page_says_the_numbers_of_the_core(
    study: Simulated,
    db: Path,
    reviews: Path,
    ann: Server,
    ben: Server,
    browser: Browser,
    foreign: list[str],
    page: Page,
) -> None:
    draw(page, ann, 6)
    page.get_by_role("button", name="Label pairs").click()
    page.wait_for_url(re.compile("/labels"))
    first = Desk(page, ann, study).open()
    total = first.label(truly)
    other = browser.new_context().new_page()
    second = Desk(other, ben, study).open()
    assert second.label(erring("ben", 0.25, 0.25)) == total
    events = [e for e in ReviewStore(reviews).events() if e.kind == "label"]
    assert Counter(e.reviewer for e in events) == {"local:ann": total, "local:ben": total}
    assert len({(e.reviewer, e.question_id, e.subject) for e in events}) == 2 * total
    right = {pair.place: truly(pair) for pairs in study.pairs.values() for pair in pairs}
    assert all(e.verdict == right[e.question_id, e.subject] for e in events if e.reviewer == "local:ann")
    assert len({e.sides.split("/")[0] for e in events}) == 2
    page.goto(f"{ann.url}/judges")
    settled(page)
    text = page.locator("[data-testid=stMain]").inner_text()
    found = core(study, reviews, db)
    for corrected in found.corrected:
        assert corrected.estimate.value is not None
        assert points(corrected.estimate.value) in text
    assert points(found.uncorrected.value) in text
    assert ratio(as_row(found.between[0].kappa)) in text
    for against in found.against:
        assert against.weighted_kappa is not None
        assert ratio(as_row(against.weighted_kappa)) in text
    page.locator("table a").first.click()
    page.wait_for_url(re.compile("/triage"))
    assert not foreign


def test_no_acknowledged_label_is_lost_when_the_server_is_killed(
    study: Simulated, reviews: Path, ann: Server, page: Page
) -> None:
    draw(page, ann, 16)
    seat = Desk(page, ann, study).open()
    told: dict[Place, tuple[int, str]] = {}
    for number in range(20):
        pair, value = seat.pair(), truly(seat.pair())
        seat.say(value, number)
        saved = re.search(r"Saved #(\d+)", page.inner_text("#label-saved"))
        assert saved
        told[pair.place] = int(saved[1]), value
        if number in (6, 13):
            page.keyboard.press(KEYS["different"][0])  # under way when the server dies: stored once or not at all
            ann.kill()
            ann.start()
            expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible(timeout=60_000)
            seat.open()
    stored: list[Event] = [e for e in ReviewStore(reviews).events() if e.kind == "label"]
    by_number = {event.id: event for event in stored}
    for place, (number, value) in told.items():
        event = by_number[number]
        assert (event.question_id, event.subject, event.verdict) == (*place, value)
    assert len(stored) in range(20, 23)
    assert max(Counter((e.question_id, e.subject) for e in stored).values()) == 1


def test_undo_moves_help_and_fast_presses(study: Simulated, reviews: Path, ann: Server, page: Page) -> None:
    draw(page, ann, 8)
    seat = Desk(page, ann, study).open()
    first = seat.item
    seat.say("same", 0)
    page.keyboard.press("z")
    expect(page.locator("#label-saved")).to_contain_text("Taken back", timeout=30_000)
    assert seat.item == first
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("1 or s")
    page.keyboard.press("1")  # stands down while the dialog is open
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(page.locator("#label-card")).to_contain_text("Pair 2 of", timeout=30_000)
    page.keyboard.press("k")
    expect(page.locator("#label-card")).to_contain_text("Pair 1 of", timeout=30_000)
    for _ in range(10):
        page.keyboard.press("s")
    page.wait_for_timeout(4_000)
    events = [e for e in ReviewStore(reviews).events() if e.kind == "label"][2:]
    assert 1 <= len(events) <= 10
    assert len({(e.question_id, e.subject) for e in events}) == len(events), "none counts twice"
    assert f"{len(events)} of" in seat.progress


def test_hostile_answers_render_nothing(tmp_path: Path, foreign: list[str], page: Page) -> None:
    made = desk.database(tmp_path, desk.hostile(tmp_path))
    with Server(made, tmp_path / "reviews.db", tmp_path / "server.log", {runtime.REVIEWER: "ann"}) as server:
        page.goto(f"{server.url}/judges")
        settled(page)
        page.get_by_role("button", name="Draw the sample").click()
        expect(page.get_by_text("A sample of")).to_be_visible(timeout=30_000)
        page.goto(f"{server.url}/labels")
        expect(page.get_by_role("button", name="Keys ?")).to_be_visible(timeout=60_000)
        inert = "[data-testid=stMain] img, [data-testid=stMain] script"
        card = page.locator("#label-card")
        for number in range(1, 25):
            assert page.locator(inert).count() == 0
            item = card.get_attribute("data-item") or ""
            page.keyboard.press("1")
            expect(page.locator("#label-progress")).to_contain_text(f"{number} of 24", timeout=30_000)
            if number < 24:
                expect(card).not_to_have_attribute("data-item", item, timeout=30_000)
        page.goto(f"{server.url}/judges")
        settled(page)
        expect(page.get_by_text("Pairs on which they differ: 24")).to_be_visible(timeout=30_000)
        assert page.locator(inert).count() == 0
    assert not foreign


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(study: Simulated, ann: Server, browser: Browser, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1360, "height": 900})  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{ann.url}/judges")
    settled(page)
    faults = {"judges, empty": serious(page)}
    draw(page, ann, 4)
    seat = Desk(page, ann, study).open()
    seat.label(erring("ann", 0.4, 0.4))
    faults["labels"] = serious(page)
    page.goto(f"{ann.url}/judges")
    settled(page)
    faults["judges"] = serious(page)
    context.close()
    assert not any(faults.values()), faults


def serious(page: Page) -> list[object]:
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    return [
        (violation["id"], [node["html"][:160] for node in violation["nodes"]][:3])
        for violation in found.response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
