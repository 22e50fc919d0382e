"""The Import page in a browser: from a dropped file to a triaged flip, and from a wrong file to a helpful message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from tests.support.logs import promptfoo
from tests.support.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def server(tmp_path: Path, studies: Path) -> Iterator[Server]:
    (tmp_path / "kept").mkdir()
    load([studies / "v4pro-100"], tmp_path / "kept" / "audit.db", verifier=verify)
    with Server(tmp_path / "kept" / "audit.db", tmp_path / "kept" / "reviews.db", tmp_path / "log") as running:
        yield running


def settled(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def drop(page: Page, server: Server, *files: Path) -> None:
    page.goto(f"{server.url}/import")
    page.get_by_role("heading", name="Turn your logs into a study.").wait_for()
    settled(page)
    page.set_input_files("input[type=file]", list(files))
    page.get_by_role("button", name="Check the files").wait_for()
    settled(page)


def axe(page: Page) -> None:
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.violations_count == 0, found.generate_report()


def test_from_a_dropped_promptfoo_file_to_a_triaged_flip(
    page: Page, server: Server, tmp_path: Path, foreign: list[str]
) -> None:
    drop(page, server, *promptfoo(tmp_path))
    expect(page.get_by_role("combobox", name="What wrote these files?")).to_have_value(re.compile("^promptfoo"))
    page.get_by_role("button", name="Check the files").click()
    expect(page.get_by_role("heading", name="What was found")).to_be_visible(timeout=30_000)
    settled(page)
    expect(page.get_by_text("12 questions")).to_be_visible()
    assert not (tmp_path / "kept" / "studies").exists()
    axe(page)
    name = page.get_by_role("textbox", name="Name of the study")
    name.fill("fees")
    name.press("Enter")
    settled(page)
    page.get_by_role("button", name="Create the study").click()
    expect(page.get_by_role("heading", name="The study is there")).to_be_visible(timeout=30_000)
    assert {study["study_id"] for study in read.studies(server.db)} == {"v4pro-100", "fees"}
    page.get_by_role("link", name="Open Triage").click()
    page.locator("button.open-help").wait_for()
    expect(page.locator("#triage-progress")).to_have_text("0 of 3 reviewed")
    page.keyboard.press("1")
    expect(page.locator("#triage-saved")).to_contain_text("Saved #1")
    event = ReviewStore(server.reviews).events()[0]
    assert (event.study_id, event.old, event.new, event.verdict) == ("fees", "may", "june", "regression")
    assert foreign == []


def test_what_is_created_is_what_was_checked(page: Page, server: Server, tmp_path: Path) -> None:
    drop(page, server, *promptfoo(tmp_path))
    check = page.get_by_role("button", name="Check the files")
    check.click()
    expect(page.get_by_role("heading", name="What was found")).to_be_visible(timeout=30_000)
    page.get_by_text("More about the answers").first.click()
    page.get_by_role("textbox", name="Answers that mean UNKNOWN").fill("UNKNOWN, £5")
    page.keyboard.press("Tab")
    expect(page.get_by_text("The settings have changed since the check.")).to_be_visible()
    expect(page.get_by_role("button", name="Create the study")).to_have_count(0)
    check.click()
    expect(page.get_by_role("heading", name="What was found")).to_be_visible(timeout=30_000)
    name = page.get_by_role("textbox", name="Name of the study")
    for wanted in ("v4pro-100", "fees"):  # the first is taken, and another name is asked for on the same page
        name.fill(wanted)
        name.press("Enter")
        settled(page)
        page.get_by_role("button", name="Create the study").click()
        if wanted == "v4pro-100":
            expect(page.get_by_role("heading", name="The study was not made")).to_be_visible(timeout=30_000)
            settled(page)
    expect(page.get_by_role("heading", name="The study is there")).to_be_visible(timeout=30_000)
    assert sorted(path.name for path in (tmp_path / "kept" / "studies").iterdir()) == ["fees", "fees.answers"]


def test_a_wrong_file_gets_a_helpful_message(page: Page, server: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("a,b,c\n1,<img src=x>,3\n")
    drop(page, server, tmp_path / "wrong.csv")
    expect(page.get_by_text("No name was recognized; choose.")).to_be_visible()
    page.get_by_role("button", name="Check the files").click()
    expect(page.get_by_text("No column question_id.")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("Choose the column above.").first).to_be_visible()
    assert "--map" not in page.locator("[data-testid=stMain]").inner_text()
    assert sorted(path.name for path in (tmp_path / "kept").iterdir() if not path.name.startswith("reviews")) == [
        "audit.db"]  # fmt: skip
    axe(page)


def test_a_table_is_mapped_by_hand_and_remembered(page: Page, server: Server, tmp_path: Path) -> None:
    rows = [f"{q},{state},{r},{'x' if state == 'a' else 'y'}{q},n" for q in range(3) for state in "ab" for r in (1, 2)]
    (tmp_path / "own.csv").write_text("\n".join(["nr,stage,take,reply,remark", *rows]) + "\n")
    drop(page, server, tmp_path / "own.csv")
    for label, column in (("question id", "nr"), ("state", "stage"), ("repeat", "take"), ("answer", "reply")):
        page.get_by_role("combobox", name=label, exact=True).click()
        page.get_by_role("option", name=column, exact=True).click()
        settled(page)
    page.get_by_role("button", name="Check the files").click()
    expect(page.get_by_role("heading", name="What was found")).to_be_visible(timeout=30_000)
    drop(page, server, tmp_path / "own.csv")
    expect(page.get_by_text("As you said last time for such a file.")).to_be_visible()
