"""Every number of Summary's review opens exactly its questions, whoever looks."""

from __future__ import annotations

import html
import random
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core.reviews.events import VERDICTS
from audit_core.reviews.store import ReviewStore
from dashboard import identity, runtime
from tests.support import desk
from tests.support.signing import give, screens

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")
DESK = "triage-desk-state"
IDS = [f"q{number:02}" for number in range(14)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("numbers")
    path = desk.study(folder, "desk", IDS, desk.flipped)
    return path, desk.database(folder, path)


def verdicts(study: Path, store: ReviewStore, needed: int, seed: int) -> None:
    """Some of everything: agreement, one verdict of two, disputes, rulings, high impact, a question set aside."""
    draw, screen = random.Random(seed), screens(study, "semantic", needed)(store.fold())
    for question in IDS[:-2]:
        word = draw.choice(list(VERDICTS))
        for who in draw.sample(("local:ann", "local:ben", "local:cat"), draw.randint(1, 3)):
            word = word if draw.random() < 0.7 else draw.choice(list(VERDICTS))
            give(store, screen, question, who, word, impact=draw.choice([None, "low", "high"]))
        if draw.random() < 0.3:
            base = store.fold().newest("desk", question, screen.pair)
            give(store, screen, question, "local:cat", word, f"ruling-{question}", kind="adjudicate", base_event=base,
                 impact="high")  # fmt: skip
    for number, question in enumerate((IDS[0], IDS[-1])):
        give(store, screen, question, "local:ann", None, f"aside-{number}", kind="quarantine", base_event=None,
             until="2099-01-01", note="flaky", owner="local:ann")  # fmt: skip


def opened(address: dict[str, list[str]]) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60).run()
    at.switch_page("views/triage.py")
    for key, value in address.items():
        at.query_params[key] = value
    return at.run()


@pytest.mark.parametrize(
    ("who", "needed", "seed"), [("", 1, 1), ("ann", 1, 2), ("ben", 2, 3), ("cat", 2, 1), ("vic", 2, 2)]
)
def test_every_number_opens_exactly_its_questions(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str, needed: int, seed: int
) -> None:
    study, db = made
    st.cache_data.clear()
    st.cache_resource.clear()
    identity._watched.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(runtime.DATABASE, str(db))
    monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
    monkeypatch.setenv(runtime.REVIEWER, who or "ann")
    monkeypatch.delenv(runtime.TEAM, raising=False)
    if who:
        (tmp_path / "team.toml").write_text(
            '[people]\nann = "reviewer"\nben = "reviewer"\ncat = "adjudicator"\nvic = "viewer"\n'
            f"[review]\nverdicts = {needed}\n"
        )
        monkeypatch.setenv(runtime.TEAM, str(tmp_path / "team.toml"))
    verdicts(study, ReviewStore(tmp_path / "reviews.db"), needed, seed)
    at = AppTest.from_file(APP, default_timeout=60).run()
    assert not at.exception
    table = next(b.proto.body for b in at.get("html") if "repeat-stable flips</th>" in b.proto.body)
    links = re.findall(r'<a href="([^"]+)">([\d,]+)</a>', table)
    pages = [(e.proto.query_string, e.proto.label) for e in at.get("page_link") if "open flip" in e.proto.label]
    assert len(pages) == 1
    links += [("triage?" + query, re.sub(r"\D", "", label)) for query, label in pages]
    assert len(links) > 4
    for address, number in links:
        shown = opened(parse_qs(urlsplit(html.unescape(address)).query))
        assert not shown.exception
        assert (address, len(shown.session_state[DESK].order)) == (address, int(number))
