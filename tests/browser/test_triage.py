"""Triage by a person's means only: keys, mouse, address, several tabs, and a server that dies."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect

from audit_core.readmodel.load import load
from audit_core.reviews.events import VERDICTS, Event
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from dashboard.components.desk import item_of
from dashboard.components.keys import REGISTRY
from tests.support import desk
from tests.support.server import Server

pytestmark = pytest.mark.browser
NAMES = list(VERDICTS)


@pytest.fixture(scope="module")
def nq(tmp_path_factory: pytest.TempPathFactory, studies: Path) -> Path:
    path = tmp_path_factory.mktemp("nq") / "audit.db"
    load([studies / "nq-400"], path, verifier=verify)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    return desk.database(folder, desk.contradiction(folder), desk.hostile(folder), desk.twins(folder))


@pytest.fixture
def server(nq: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(nq, tmp_path / "reviews.db", tmp_path / "server.log") as running:
        yield running


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(made, tmp_path / "reviews.db", tmp_path / "server.log") as running:
        yield running


class Desk:
    """What a reviewer sees and does on one page."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server, self.before = page, server, ""

    def open(self, address: str = "") -> Desk:
        self.page.goto(f"{self.server.url}/triage{address}")
        self.ready()
        return self

    def ready(self) -> None:
        expect(self.page.locator("#triage-card, #triage-empty")).to_be_visible(timeout=60_000)
        expect(self.page.get_by_role("button", name="Keys ?")).to_be_visible(timeout=30_000)
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")

    @property
    def question(self) -> str:
        return self.page.get_attribute("#triage-card", "data-question") or ""

    @property
    def saved(self) -> str:
        return self.page.inner_text("#triage-saved")

    def press(self, key: str) -> str:
        """Press a key and say which question was on screen at that moment."""
        shown, self.before = self.question, self.item
        self.page.keyboard.press(key)
        return shown

    def moved(self) -> None:
        """Wait until another question is on screen than at the last press or look."""
        other = "item => document.getElementById('triage-card').dataset.item !== item"
        self.page.wait_for_function(other, arg=self.before, timeout=40_000)

    def note(self) -> Locator:
        """The note's field once it is that of the question on screen; it follows the card by some milliseconds."""
        field = self.page.get_by_label("Note")
        expect(field).to_have_attribute("data-note", self.item, timeout=30_000)
        return field

    @property
    def item(self) -> str:
        return self.page.get_attribute("#triage-card", "data-item") or ""

    def look(self) -> str:
        """The question on screen, remembered for `moved`."""
        self.before = self.item
        return self.question

    def judge(self, key: str) -> tuple[str, str]:
        """A verdict by keyboard, waiting until the page says that it is saved."""
        shown = self.press(key)
        expect(self.page.locator("#triage-saved")).to_contain_text(f"{VERDICTS[NAMES[int(key) - 1]]}", timeout=40_000)
        expect(self.page.locator("#triage-saved")).to_contain_text(f"on {shown}", timeout=40_000)
        return shown, NAMES[int(key) - 1]

    def quiet(self) -> None:
        """Wait until nothing is being saved any more."""
        seen = -1
        while seen != (seen := len(self.events())):
            self.page.wait_for_timeout(900)
            self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")

    def events(self) -> list[Event]:
        return ReviewStore(self.server.reviews).events()

    def verdicts(self) -> list[tuple[str, str | None]]:
        return [(event.question_id, event.verdict) for event in self.events() if event.kind == "verdict"]


@pytest.fixture
def at(page: Page, server: Server) -> Desk:
    return Desk(page, server)


def test_forty_flips_by_keyboard_alone_with_a_crash_in_the_middle(at: Desk, foreign: list[str]) -> None:
    """Whatever the page acknowledged is there after kill -9 and restart; nothing is stored twice."""
    at.open("?study=nq-400")
    expect(at.page.locator("#triage-progress")).to_have_text("0 of 40 reviewed")
    acknowledged = [at.judge(str(number % 6 + 1)) for number in range(20)]
    at.server.kill()
    shown = at.press("4")  # nobody listens; the page must not say that this was saved
    at.page.wait_for_timeout(300)
    assert f"on {shown}" not in at.saved
    at.server.start()
    at.moved()  # the page finds the server again and brings the press along
    at.ready()
    acknowledged.append((shown, "both_wrong"))
    acknowledged += [at.judge(str(number % 6 + 1)) for number in range(21, 40)]
    expect(at.page.locator("#triage-progress")).to_have_text("40 of 40 reviewed")
    expect(at.page.locator("#triage-saved")).to_contain_text("Every question of this queue has your verdict")
    at.server.kill()
    at.server.start()
    assert at.verdicts() == acknowledged
    assert len({question for question, _ in acknowledged}) == 40
    at.open("?study=nq-400")
    expect(at.page.locator("#triage-progress")).to_have_text("40 of 40 reviewed")
    assert foreign == []


def test_a_press_while_the_server_comes_back_is_saved_once(at: Desk) -> None:
    """Neither lost in the first moments of a new session, nor stored twice by sending it again."""
    at.open("?study=nq-400")
    for _ in range(3):
        at.judge("1")
        at.server.kill()
        at.server.start()
        expect(at.page.locator("[data-testid=stApp]")).to_have_attribute("data-test-connection-state", "CONNECTED")
        at.press("2")
        at.moved()
    at.page.wait_for_timeout(2_500)  # long enough for whatever would be sent again
    at.quiet()
    assert [verdict for _, verdict in at.verdicts()] == ["regression", "improvement"] * 3
    assert len({question for question, _ in at.verdicts()}) == 6


@pytest.mark.slow
def test_whatever_is_said_to_be_saved_survives_a_kill_at_any_moment(at: Desk) -> None:
    at.open("?study=nq-400&queue=all&sort=ladder")
    rng, told = random.Random(3), set()
    for _ in range(6):
        for _ in range(3):
            told.add(at.judge(rng.choice("123456")))
        at.press(rng.choice("123456"))
        at.page.wait_for_timeout(rng.uniform(0, 120))
        at.server.kill()
        line = re.search(r"Saved #(\d+) · .* · ([A-Z][a-z ]+)(?:, \w+ impact)? on (\S+)", at.saved)
        if line:
            told.add((line[3], next(name for name, words in VERDICTS.items() if words == line[2])))
        at.server.start()
        at.open("?study=nq-400&queue=unreviewed&sort=ladder")
        assert told <= set(at.verdicts())
        questions = [question for question, _ in at.verdicts()]
        assert len(questions) == len(set(questions))


@pytest.mark.parametrize("gap", [0, 20, 60, 150])
def test_presses_as_fast_as_possible_store_nothing_unseen_nothing_twice(at: Desk, gap: int) -> None:
    at.open("?study=nq-400&queue=all&sort=ladder")
    at.page.evaluate(
        """() => { window.presses = []; document.addEventListener('keydown', (e) => window.presses.push(
            [e.key, document.getElementById('triage-card').dataset.question]), true); }"""
    )
    for number in range(10):
        at.page.keyboard.press("12"[number % 2])
        if gap:
            at.page.wait_for_timeout(gap)
    at.quiet()
    first: dict[str, str] = {}
    for key, question in at.page.evaluate("window.presses"):
        first.setdefault(question, NAMES[int(key) - 1])
    assert dict(at.verdicts()) == first
    assert len(at.verdicts()) == len(first)


def test_ten_presses_of_next_move_ten_questions(at: Desk) -> None:
    at.open("?study=nq-400&queue=all&sort=ladder")
    for _ in range(10):
        at.page.keyboard.press("j")
    expect(at.page.locator("#triage-card")).to_contain_text("Question 11 of 400")
    for _ in range(3):
        at.page.keyboard.press("k")
    expect(at.page.locator("#triage-card")).to_contain_text("Question 8 of 400")


def test_a_double_click_is_one_verdict(at: Desk) -> None:
    at.open("?study=nq-400")
    for button in ("Regression", "Improvement"):
        at.look()
        at.page.get_by_role("button", name=button).dblclick(delay=60)
        at.moved()
        at.page.wait_for_timeout(600)
    assert [verdict for _, verdict in at.verdicts()] == ["regression", "improvement"]


def test_enter_then_click_is_one_verdict(at: Desk) -> None:
    at.open("?study=nq-400")
    at.look()
    button = at.page.get_by_role("button", name="Regression")
    box = button.bounding_box()
    assert box is not None
    button.focus()
    at.page.keyboard.press("Enter")
    at.page.mouse.click(box["x"] + 20, box["y"] + 10)
    at.moved()
    at.page.wait_for_timeout(600)
    assert len(at.verdicts()) == 1


def test_impact_cause_and_note_travel_with_the_verdict(at: Desk) -> None:
    at.open("?study=nq-400")
    shown = at.press("e")
    expect(at.page.get_by_role("button", name="High")).to_have_attribute("aria-pressed", "true")
    at.page.get_by_role("button", name="stale document").click()
    expect(at.page.get_by_role("button", name="stale document")).to_have_attribute("aria-pressed", "true")
    note = at.note()
    note.click()
    at.page.keyboard.type("page 12 was retired; keys 1 2 j z stay text")
    at.page.keyboard.press("Escape")
    at.press("1")
    at.moved()
    event = next(event for event in reversed(at.events()) if event.kind == "verdict")
    assert (event.question_id, event.verdict, event.impact, event.causes) == (
        shown, "regression", "high", ("stale document",))  # fmt: skip
    assert event.note == "page 12 was retired; keys 1 2 j z stay text"
    assert len(at.verdicts()) == 1
    at.press("k")
    at.moved()
    expect(at.note()).to_have_value(event.note)
    expect(at.page.locator("#triage-history")).to_contain_text("Regression, high impact")


def test_a_note_that_was_not_left_is_flushed_before_the_verdict(at: Desk) -> None:
    at.open("?study=nq-400")
    before = at.look()
    at.note().click()
    at.page.keyboard.type("typed, then straight to the mouse")
    at.page.get_by_role("button", name="Cannot tell").click()
    at.moved()
    stored = next(event for event in at.events() if event.kind == "verdict")
    assert (stored.question_id, stored.note) == (before, "typed, then straight to the mouse")


def test_a_half_typed_note_survives_the_server_and_is_saved_when_left(at: Desk) -> None:
    at.open("?study=nq-400")
    shown = at.look()
    at.press("e")
    expect(at.page.get_by_role("button", name="High")).to_have_attribute("aria-pressed", "true")
    note = at.note()
    note.click()
    at.page.keyboard.type("half a thou")
    at.server.kill()
    at.page.keyboard.type("ght")
    at.server.start()
    expect(at.page.locator("[data-testid=stApp]")).to_have_attribute("data-test-connection-state", "CONNECTED")
    expect(note).to_have_value("half a thought")
    expect(note).to_be_focused()
    at.page.keyboard.press("Escape")
    expect(at.page.locator("#triage-saved")).to_contain_text("Kept as a draft, #2", timeout=60_000)
    at.judge("1")
    assert [event.note for event in at.events()] == ["", "half a thought", "half a thought"]
    event = at.events()[-1]
    assert (event.question_id, event.impact, event.verdict) == (shown, "high", "regression")


def test_typing_goes_on_while_the_page_is_drawn(at: Desk) -> None:
    at.open("?study=nq-400")
    at.note().fill("first")
    at.page.keyboard.press("Escape")
    at.note().click()
    at.page.keyboard.press("End")
    at.page.keyboard.type(" and second, typed while the first one was being saved", delay=5)
    expect(at.note()).to_be_focused()
    at.page.keyboard.press("Escape")
    at.quiet()
    assert at.events()[-1].note == "first and second, typed while the first one was being saved"


def test_undo_goes_back_and_keeps_the_history(at: Desk) -> None:
    at.open("?study=nq-400")
    first, _ = at.judge("1")
    second, _ = at.judge("2")
    at.press("z")
    expect(at.page.locator("#triage-card")).to_have_attribute("data-question", second)
    expect(at.page.locator("#triage-saved")).to_contain_text("Taken back: event #2, by event #3")
    expect(at.page.locator("#triage-progress")).to_have_text("1 of 40 reviewed")
    at.press("z")
    expect(at.page.locator("#triage-card")).to_have_attribute("data-question", first)
    expect(at.page.locator("#triage-progress")).to_have_text("0 of 40 reviewed")
    at.press("z")
    at.page.wait_for_timeout(400)
    assert [event.kind for event in at.events()] == ["verdict", "verdict", "retract", "retract"]
    expect(at.page.locator("#triage-history")).to_contain_text("taken back")


def test_a_changed_verdict_is_undone_to_the_one_before(at: Desk) -> None:
    at.open("?study=nq-400")
    shown, _ = at.judge("1")
    at.press("k")
    expect(at.page.locator("#triage-card")).to_have_attribute("data-question", shown)
    at.judge("2")
    at.press("k")
    expect(at.page.locator("#triage-card")).to_have_attribute("data-question", shown)
    expect(at.page.get_by_role("button", name="Improvement")).to_have_attribute("aria-pressed", "true")
    at.press("z")
    expect(at.page.get_by_role("button", name="Regression")).to_have_attribute("aria-pressed", "true")


def test_two_tabs_keep_both_and_ask(at: Desk, context: BrowserContext) -> None:
    at.open("?study=nq-400")
    other = Desk(context.new_page(), at.server).open("?study=nq-400")
    assert other.question == at.question
    shown, _ = at.judge("1")
    other.press("2")
    expect(other.page.locator("#triage-conflict")).to_contain_text("Saved in one: “Regression”")
    kept = [("verdict", "regression"), ("draft", "improvement")]
    assert [(event.kind, event.verdict) for event in at.events()] == kept
    other.page.reload()
    other.ready()
    expect(other.page.locator("#triage-conflict")).to_be_visible()
    other.page.get_by_role("button", name="Keep the other: Improvement").click()
    expect(other.page.locator("#triage-conflict")).to_have_count(0)
    expect(other.page.get_by_role("button", name="Improvement")).to_have_attribute("aria-pressed", "true")
    assert other.question == shown
    assert at.verdicts()[-1] == (shown, "improvement")


def test_the_address_brings_back_queue_question_and_position(at: Desk) -> None:
    at.open("?study=nq-400&old=n1&new=n3&kernel=exact&queue=lost&sort=random&seed=7")
    at.press("j")
    expect(at.page.locator("#triage-card")).to_contain_text("Question 2 of")
    shown, place = at.question, at.page.inner_text(".sa-facts")
    address = parse_qs(urlsplit(at.page.url).query)
    assert (address["q"], address["queue"], address["seed"]) == ([shown], ["lost"], ["7"])
    at.page.reload()
    at.ready()
    assert (at.question, at.page.inner_text(".sa-facts")) == (shown, place)
    shared = Desk(at.page.context.browser.new_page(), at.server)  # type: ignore[union-attr]
    shared.page.goto(at.page.url)
    shared.ready()
    assert (shared.question, shared.page.inner_text(".sa-facts")) == (shown, place)
    shared.page.close()


def test_an_address_that_cannot_be_followed_is_told(at: Desk) -> None:
    at.open("?study=nq-400&queue=nothing&q=nobody&contrast=much&fact=drop%20table&verdict=harm&sort=?")
    warnings = at.page.locator("#triage-filter .sa-banner, .sa .sa-banner.warn")
    for words in ("the queue “nothing”", "the question “nobody”", "“much”", "“drop table”", "“harm”", "the order “?”"):
        expect(warnings.filter(has_text=words).first).to_be_visible()
    expect(at.page.locator("#triage-card")).to_contain_text("Question 1 of 40")


def test_filters_and_search_narrow_and_clear(at: Desk) -> None:
    at.open("?study=nq-400&queue=all&contrast=1&shared=0")
    expect(at.page.locator("#triage-filter")).to_contain_text("questions pass")
    total = int(at.page.inner_text("#triage-progress").split(" of ")[1].split()[0])
    assert 0 < total < 40
    at.page.get_by_role("button", name="Clear filter").click()
    expect(at.page.locator("#triage-progress")).to_contain_text("of 400")
    at.press("/")
    at.page.keyboard.type("nq-0123")
    at.page.keyboard.press("Enter")
    expect(at.page.locator("#triage-card")).to_have_attribute("data-question", "nq-0123")
    expect(at.page.locator("#triage-progress")).to_contain_text("of 1 reviewed")
    at.page.keyboard.press("Escape")
    at.press("1")
    expect(at.page.locator("#triage-saved")).to_contain_text("Saved #1")


def test_an_empty_queue_says_why_and_links_to_others(at: Desk) -> None:
    at.open("?study=nq-400&queue=reviewed")
    expect(at.page.locator("#triage-empty")).to_contain_text("No question has your verdict yet")
    at.page.get_by_role("button", name="EM lost").first.click()
    expect(at.page.locator("#triage-card")).to_contain_text("Question 1 of")
    at.page.get_by_text("Queue:").click()
    at.page.get_by_role("button", name=re.compile("Judges disagree")).click()
    expect(at.page.locator("#triage-card, #triage-empty")).to_be_visible()


def test_help_lists_every_key_and_keys_stand_down_behind_it(at: Desk) -> None:
    at.open("?study=nq-400")
    before = at.question
    at.press("?")
    dialog = at.page.locator("dialog[open]")
    expect(dialog).to_contain_text("Not a real change")
    expect(dialog.locator("kbd")).to_have_count(len(REGISTRY))
    for key in "1jz":
        at.press(key)
    at.page.wait_for_timeout(400)
    assert at.question == before
    at.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    at.judge("1")
    assert len(at.verdicts()) == 1


def test_gold_stays_hidden_until_asked_for_and_that_is_recorded(at: Desk) -> None:
    at.open("?study=nq-400")
    shown = at.question
    assert at.page.locator("#triage-gold").count() == 0
    at.press("g")
    expect(at.page.locator("#triage-gold")).to_be_visible()
    assert [(event.kind, event.question_id) for event in at.events()] == [("reveal", shown)]
    at.press("j")
    at.moved()
    assert at.page.locator("#triage-gold").count() == 0
    at.press("k")
    expect(at.page.locator("#triage-gold")).to_be_visible()


def test_hostile_text_is_shown_to_the_letter_and_asks_for_nothing(page: Page, own: Server, foreign: list[str]) -> None:
    at = Desk(page, own).open("?study=hostile&queue=all&sort=ladder")
    for key in ("g", "v", "d"):
        at.press(key)
    expect(page.locator("#triage-gold")).to_be_visible()
    expect(page.locator("#triage-question")).to_have_text(f"{desk.HOSTILE}{desk.HOSTILE} 0")
    expect(page.locator(".sa-side.is-old .sa-repeats")).to_contain_text(f"{desk.HOSTILE} n1 1")
    expect(page.locator(".sa-passage").first).to_contain_text(f"{desk.HOSTILE} passage 1")
    at.page.get_by_role("button", name="Show all pair labels").click()
    expect(page.get_by_role("button", name="Hide all pair labels")).to_be_visible()
    assert page.locator("#triage-card :is(img, script, style, a, svg, iframe, input)").count() == 0
    at.note().fill(desk.HOSTILE)
    page.keyboard.press("Escape")
    at.press("1")
    expect(page.locator("#triage-saved")).to_contain_text("Saved #")
    at.press("k")
    expect(page.locator("#triage-history")).to_contain_text("**bold** ~~old~~ ![i](https://evil.example/a.png)")
    assert page.title() != "1"
    at.page.goto(f"{own.url}/triage?study=hostile&q=hidden&queue=all&find={quote(desk.HOSTILE)}")
    at.ready()
    expect(page.locator("#triage-question mark.sa-hidden")).to_have_text(["RLO", "PDF", "ZWSP", "ESC", "BOM"])
    assert foreign == []


def test_ids_that_look_alike_keep_their_verdicts_apart(page: Page, own: Server) -> None:
    at = Desk(page, own).open("?study=twins&queue=all&sort=ladder")
    names = {item_of("twins", question, "n1", "n7", ""): question for question in desk.TWINS}
    given = []
    for number in range(len(desk.TWINS)):
        at.note().fill(f"note {number}")
        page.keyboard.press("Escape")
        at.press(str(number % 6 + 1))
        given.append((names[at.before], NAMES[number % 6], f"note {number}"))
        if number + 1 < len(desk.TWINS):
            at.moved()
    expect(page.locator("#triage-progress")).to_have_text("11 of 11 reviewed")
    stored = [(event.question_id, event.verdict, event.note) for event in at.events() if event.kind == "verdict"]
    assert stored == given
    assert [question for question, _, _ in given] == list(desk.TWINS)
    for question in ("q1 ", "[q1]", "q1;DROP TABLE answers;--"):
        at.open(f"?study=twins&queue=all&q={quote(question)}")
        assert names[at.item] == question


def test_long_answers_open_on_request_and_contradicting_labels_are_said(page: Page, own: Server) -> None:
    at = Desk(page, own).open("?study=desk&queue=all&q=long")
    assert "n1 end" not in page.inner_text(".sa-side.is-old")
    page.get_by_role("button", name=re.compile("show all 1,000,")).first.click()
    expect(page.locator(".sa-side.is-old")).to_contain_text("n1 end", timeout=20_000)
    at.open("?study=desk&queue=nontransitive")
    assert at.question == "chain"
    expect(page.get_by_role("note")).to_contain_text("not transitive")
    expect(page.locator(".sa-ladder")).to_contain_text("New York State")
    at.open("?study=desk&queue=all&q=plain")
    expect(page.locator(".sa-passage mark").first).to_have_text("answer old to plain")
    assert page.locator(".sa-passage.full").count() == 0
    at.press("v")
    expect(page.locator(".sa-passage.full").first).to_contain_text("Beginning of 1")


def test_a_locked_store_keeps_the_input_and_says_not_saved(at: Desk) -> None:
    import sqlite3

    at.open("?study=nq-400")
    at.judge("1")
    before = at.question
    holder = sqlite3.connect(at.server.reviews, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    at.press("e")
    expect(at.page.locator("#triage-problem")).to_contain_text("the verdict store is busy", timeout=60_000)
    expect(at.page.locator("#triage-saved")).to_contain_text("Not saved")
    expect(at.page.get_by_role("button", name="High")).to_have_attribute("aria-pressed", "true")
    assert at.question == before
    holder.execute("ROLLBACK")
    holder.close()
    at.page.get_by_role("button", name="Save again").click()
    expect(at.page.locator("#triage-problem")).to_have_count(0)
    assert at.events()[-1].impact == "high"
    assert at.events()[-1].question_id == before


def test_a_reload_in_the_middle_of_a_save_loses_nothing_that_was_promised(at: Desk) -> None:
    """After each reload the page counts exactly what is on disk: a press is stored, or it is visibly not saved."""
    at.open("?study=nq-400")
    rng = random.Random(11)
    for _ in range(10):
        at.press(rng.choice("123456"))
        at.page.wait_for_timeout(rng.uniform(0, 60))
        at.page.reload()
        at.ready()
        at.page.wait_for_timeout(200)
        stored = {question for question, _ in at.verdicts()}
        expect(at.page.locator("#triage-progress")).to_have_text(f"{len(stored)} of 40 reviewed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(page: Page, own: Server, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    at = Desk(page, own).open("?study=desk&queue=all&q=plain")
    at.press("e")
    at.press("g")
    expect(page.locator("#triage-gold")).to_be_visible()
    page.get_by_role("button", name="Show all pair labels").click()
    expect(page.locator("caption", has_text="exact")).to_be_visible()
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).response["violations"]
    serious = [violation for violation in found if violation["impact"] in ("serious", "critical")]
    assert [(violation["id"], [node["html"][:200] for node in violation["nodes"]]) for violation in serious] == []


def test_a_loaded_study_keeps_its_verdicts(at: Desk, studies: Path) -> None:
    at.open("?study=nq-400")
    shown, _ = at.judge("5")
    load([studies / "nq-400"], at.server.db, verifier=verify)
    at.open(f"?study=nq-400&q={shown}")
    expect(at.page.get_by_role("button", name="Not a real change")).to_have_attribute("aria-pressed", "true")
    expect(at.page.locator("#triage-progress")).to_have_text("1 of 40 reviewed")
