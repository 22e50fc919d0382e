"""The release rule on Summary: it follows verdicts, shows hostile text as text, and passes the accessibility check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from audit_core.reviews.signoff import Wish, sign
from audit_core.reviews.store import ReviewStore
from tests.support import desk
from tests.support.ruled import ANN, PEOPLE, build, review
from tests.support.server import Server
from tests.support.signing import AT, screens

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("ruled")
    study = build(folder / "people", PEOPLE, questions=24)
    return study, desk.database(folder, study)


@pytest.fixture
def server(made: tuple[Path, Path], tmp_path: Path) -> Iterator[Server]:
    with Server(made[1], tmp_path / "reviews.db", tmp_path / "server.log") as running:
        yield running


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rule_follows_what_people_say(
    page: Page, server: Server, made: tuple[Path, Path], foreign: list[str], scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{server.url}/?study=people")
    expect(page.locator("#release-outcome")).to_have_text("Not met")
    store, study = ReviewStore(server.reviews), made[0]
    review(study, store)
    current = screens(study, "semantic")
    wish = Wish("conditions", "Read.", desk.HOSTILE)
    sign(store, ANN, current(store.fold()), current, wish, request_id="press", at=AT)
    page.reload()
    expect(page.locator("#release-outcome")).to_have_text("Met")
    rule = page.locator(".st-key-release-rule")
    expect(rule).to_contain_text("<script>document.title=1</script>")
    assert rule.locator("img, script, a").count() == 0
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    assert foreign == []
