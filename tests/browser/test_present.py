"""Presenting by keyboard, as with a clicker: forward, back, jump, reveal, leave; fits, is read aloud, leaks nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from audit_core import bundled
from audit_core.model import State
from audit_core.reviews.store import ReviewStore
from dashboard.presenting.keys import REGISTRY
from tests.support import desk
from tests.support.server import Server
from tests.support.signing import give, screens

pytestmark = pytest.mark.browser
STATES = tuple(State(f"snapshot of the help centre, all articles, chunks {n:02}", "") for n in range(12))
ARABIC = "ما هو سعر التذكرة الجديدة؟ " * 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("present")
    plain = desk.study(folder, "plain", [f"q{n:02}" for n in range(12)], desk.flipped,
                       text=lambda q: ARABIC if q == "q02" else f"What of {q}?",
                       passage=lambda q, state, rank: f"Passage {rank} of {state}.")  # fmt: skip
    many = desk.study(folder, "many", ["q1", "q2"], desk.flipped, states=STATES)
    others = (many, desk.hostile(folder), desk.contradiction(folder), bundled.resolve("help-centre"))
    return plain, desk.database(folder, plain, *others)


@pytest.fixture
def server(made: tuple[Path, Path], tmp_path: Path) -> Iterator[Server]:
    with Server(made[1], tmp_path / "reviews.db", tmp_path / "server.log") as running:
        yield running


@pytest.fixture
def store(made: tuple[Path, Path], server: Server) -> ReviewStore:
    found = ReviewStore(server.reviews)
    screen = screens(made[0], "semantic")(found.fold())
    give(found, screen, "q03", "local:Boadicea", "regression", impact="high", note="for reviewers only")
    return found


def opened(page: Page, server: Server, address: str) -> Page:
    page.goto(f"{server.url}/present?{address}")
    return ready(page)


def ready(page: Page) -> Page:
    expect(page.locator("#stage-slide h1")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Keys ?")).to_be_visible(timeout=30_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    return page


def at(page: Page, slide: int) -> None:
    expect(page.locator("#stage-slide")).to_have_attribute("data-slide", str(slide), timeout=30_000)


def fits(page: Page, what: str) -> None:
    """Nothing is cut off, once the stage has chosen its size; a busy machine takes longer for that."""
    for _ in range(100):
        over = max(page.evaluate(OVER))
        if over <= 1:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{over} pixels over: slide {what}")


def test_from_summary_by_keys_and_back(page: Page, server: Server, store: ReviewStore, foreign: list[str]) -> None:
    page.goto(f"{server.url}/?study=plain")
    page.get_by_role("link", name="Present").click()
    ready(page)
    expect(page.locator("[data-testid=stHeader]")).to_be_hidden()
    expect(page.get_by_role("combobox")).to_have_count(0)
    at(page, 1)
    for key, slide in (("ArrowRight", 2), ("PageDown", 3), ("Space", 4), ("PageUp", 3), ("ArrowLeft", 2), ("End", 18),
                       ("Home", 1)):  # fmt: skip
        page.keyboard.press(key)
        last = page.locator("#stage-place").inner_text().partition(" / ")[2]
        at(page, int(last) if key == "End" else slide)
    expect(page).to_have_url(re.compile("slide=1"))
    for _ in range(3):
        page.keyboard.press("ArrowRight")  # three at once are three
    at(page, 4)
    page.keyboard.type("99")
    page.keyboard.press("Enter")
    expect(page.locator(".sa-place")).to_contain_text("There is no slide 99")
    page.keyboard.press("5")
    expect(page.locator(".number")).to_have_text("5")
    page.keyboard.press("Enter")
    at(page, 5)
    expect(page.locator("#stage-slide h1")).to_have_text("What of q03?")  # the regression of high impact comes first
    expect(page.locator(".said")).to_contain_text("Slide 5 of")
    expect(page.locator(".said")).to_contain_text("Question 1 of 10: q03")
    page.reload()
    ready(page)
    at(page, 5)
    page.keyboard.press("q")
    expect(page.locator("h1")).to_contain_text("every question moved by the same amount", timeout=30_000)
    assert "/present" not in page.url
    assert "study=plain" in page.url
    expect(page.locator("[data-testid=stHeader]")).to_be_visible()
    assert foreign == []


def test_gold_names_and_evidence_come_only_when_asked(page: Page, server: Server, store: ReviewStore) -> None:
    opened(page, server, "study=plain&slide=5")
    before = page.content()
    for hidden in ("gold of", "Boadicea", "for reviewers only", "Passage 1"):
        assert hidden not in before
    page.keyboard.press("n")
    expect(page.locator(".sa-over")).to_contain_text("by Boadicea")
    page.keyboard.press("g")
    expect(page.locator("#stage-gold")).to_contain_text("gold of q03")
    assert [(e.kind, e.question_id) for e in store.events()][1:] == [("reveal", "q03")]
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sa-told")).to_contain_text("Documents")
    at(page, 5)
    page.keyboard.press("ArrowRight")
    at(page, 6)
    assert "gold of" not in page.content()
    page.keyboard.press("ArrowLeft")
    at(page, 5)
    expect(page.locator("#stage-gold")).to_have_count(0)
    page.reload()
    ready(page)
    after = page.content()
    for hidden in ("gold of", "Boadicea", "for reviewers only", "Passage 1"):
        assert hidden not in after


def test_black_screen_help_and_buttons(page: Page, server: Server) -> None:
    opened(page, server, "study=plain&slide=2")
    page.keyboard.press(".")
    expect(page.locator(".black")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".black")).to_be_hidden()
    at(page, 2)
    page.keyboard.press("?")
    dialog = page.locator("dialog[open]")
    expect(dialog.locator("kbd")).to_have_count(len(REGISTRY))
    for key in ("b", "ArrowRight", "4", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".black")).to_be_hidden()
    expect(dialog).to_have_count(0)  # Enter on its button
    at(page, 2)
    page.get_by_role("button", name="Forward").click()
    at(page, 3)
    page.get_by_role("button", name="Back").focus()
    page.keyboard.press("Space")  # presses the button that has the focus, and nothing else
    at(page, 2)
    page.wait_for_timeout(500)
    at(page, 2)
    if page.evaluate("document.fullscreenEnabled"):
        page.keyboard.press("f")
        page.wait_for_function("document.fullscreenElement !== null")
        page.keyboard.press("f")
        page.wait_for_function("document.fullscreenElement === null")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "/present" not in url)


def test_quick_presses_over_figures_are_all_taken(page: Page, server: Server) -> None:
    opened(page, server, "study=help-centre&slide=1")
    same = page.locator(".said").evaluate_handle("e => e")  # one component stays, so the full screen stays too
    for key in ("PageDown",) * 4 + ("PageUp",) * 3 + ("PageDown",) * 4:
        page.keyboard.press(key)
    at(page, 6)
    assert page.locator(".said").evaluate("(e, before) => e === before", same)


def test_from_triage_the_picked_questions_and_back_to_the_desk(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/triage?study=plain&queue=flips&sort=ladder")
    expect(page.locator("#triage-card")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Keys ?")).to_be_visible(timeout=30_000)
    card = page.locator("#triage-card")
    for question in ("q01", "q02"):
        page.keyboard.press("j")
        expect(card).to_have_attribute("data-question", question)
        page.keyboard.press("x")
        expect(page.get_by_role("button", name=re.compile("^Picked"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Present 2 picked"))).to_be_visible()
    page.keyboard.press("p")
    page.wait_for_url(re.compile("/present"))
    ready(page)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.locator(".sa-over")).to_contain_text("Question 1 of 2 · q01")
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("/triage"))
    expect(card).to_have_attribute("data-question", "q02", timeout=30_000)
    expect(page.get_by_role("button", name=re.compile("Present 2 picked"))).to_be_visible()


OVER = (
    "() => ['.st-key-stage-area', '#stage-slide', '.sa-fit'].map(s => document.querySelector(s)).filter(e => e)"
    ".map(e => Math.max(e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth))"
)


@pytest.mark.parametrize(
    ("width", "height", "study"),
    [
        *[(*size, study) for size in ((1280, 720), (900, 700)) for study in ("help-centre", "hostile", "desk")],
        (1360, 765, "help-centre"),
        (1920, 1080, "help-centre"),
        (1280, 720, "plain"),
    ],
)
def test_every_slide_fits_its_window(page: Page, server: Server, study: str, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    opened(
        page, server, f"study={study}&kernel=semantic&sort=ladder" + ("" if study == "help-centre" else "&queue=all")
    )
    last = int(page.locator("#stage-place").inner_text().partition(" / ")[2])
    for slide in range(1, last + 1):
        at(page, slide)
        page.wait_for_timeout(120)
        fits(page, str(slide))
        if width == 1360:
            size = page.locator("#stage-slide").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
            assert size >= 24, slide
            for number in page.locator(".sa-big b").all():
                assert number.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 64
        if page.locator(".sa-sides").count():
            page.keyboard.press("g")
            page.keyboard.press("e")
            expect(page.locator(".sa-told, #stage-gold").first).to_be_visible()
            page.wait_for_timeout(300)
            fits(page, f"{slide}, evidence and gold")
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize(("width", "height"), [(1360, 768), (1920, 1080)])
def test_a_ladder_of_many_steps_fits_its_window(page: Page, server: Server, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    opened(page, server, "study=many&slide=5")
    steps = page.locator(".st-key-stage .ytick text")
    expect(steps).to_have_count(11, timeout=30_000)
    floor = page.locator(".sa-fine").last.bounding_box()
    last = steps.last.bounding_box()
    assert floor
    assert last
    assert last["y"] + last["height"] <= floor["y"] + 1
    assert floor["y"] + floor["height"] <= height
    assert last["height"] >= 14


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("study", ["help-centre", "hostile"])
def test_no_accessibility_violation_and_nothing_foreign(
    page: Page, server: Server, foreign: list[str], study: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for slide in (1, 2, 3, 5, 7):
        opened(page, server, f"study={study}&slide={slide}")
        page.keyboard.press("e")
        page.keyboard.press("g")
        page.wait_for_timeout(700)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        found = Axe().run(page)
        assert found.violations_count == 0, (slide, found.generate_report())
        assert page.locator(".st-key-stage :is(a, img, script, iframe):not(.js-plotly-plot *)").count() == 0
    assert page.title() != "1"
    assert foreign == []


def test_text_that_runs_from_right_to_left(page: Page, server: Server) -> None:
    opened(page, server, "study=plain&queue=all&only=q02&slide=5")
    heading = page.locator("#stage-slide h1 > span")
    expect(heading).to_have_attribute("dir", "auto")
    assert heading.evaluate("e => getComputedStyle(e).direction") == "rtl"
    expect(page.locator("#stage-slide h1")).to_have_count(1)
