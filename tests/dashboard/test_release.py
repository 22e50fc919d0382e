"""The release decision on Summary, without a browser: who may sign is asked at the press; what came back is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core.readmodel.load import load
from audit_core.reviews.events import Event
from audit_core.reviews.proofs import FOLDER
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from dashboard import identity, runtime
from tests.support import desk
from tests.support.signing import give

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    return desk.database(folder, desk.contradiction(folder), desk.hostile(folder))


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "team.toml"
    file.write_text('[people]\ncat = "adjudicator"\n')
    monkeypatch.setenv(runtime.TEAM, str(file))
    monkeypatch.setenv(runtime.REVIEWER, "cat")
    return file


@pytest.fixture
def page(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    st.cache_data.clear()
    st.cache_resource.clear()
    identity._watched.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(runtime.DATABASE, str(db))
    monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))

    def opened(study: str = "desk") -> AppTest:
        at = AppTest.from_file(APP, default_timeout=60)
        at.query_params["study"] = study
        return at.run()

    return opened


def shown(at: AppTest) -> str:
    assert not at.exception
    return "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)


def fill(at: AppTest, turn: int = 0, word: str = "hold", reason: str = "Wait.", conditions: str = "") -> AppTest:
    at.radio(key=f"release-word-{turn}").set_value(word)
    at.text_area(key=f"release-reason-{turn}").set_value(reason)
    at.text_area(key=f"release-conditions-{turn}").set_value(conditions)
    return at


def press(at: AppTest, turn: int = 0) -> AppTest:
    next(button for button in at.button if button.key == f"release-sign-{turn}").click()
    return at.run()


def signed(tmp_path: Path) -> list[Event]:
    return [event for event in ReviewStore(tmp_path / "reviews.db").events() if event.kind == "signoff"]


def test_who_is_made_a_reviewer_with_the_page_open_signs_nothing(page, team: Path, tmp_path: Path) -> None:
    at = fill(page())
    team.write_text('[people]\ncat = "reviewer"\n# changed while the page was open\n')
    after = shown(press(at))
    assert "Not signed." in after
    assert "You cannot sign." in after
    assert not list(at.radio)
    assert signed(tmp_path) == []
    assert not (tmp_path / FOLDER).exists()


def test_a_reviewer_has_no_form_and_no_button(page, team: Path) -> None:
    team.write_text('[people]\ncat = "reviewer"\n')
    at = page()
    assert "You cannot sign." in shown(at)
    assert not [button for button in at.button if (button.key or "").startswith("release")]


def test_a_reviewer_gets_the_file_with_the_verdicts_of_others_after_their_own(page, team, tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "reviews.db")
    at = page()
    screen = at.session_state["release-asked"].screen
    for question in screen.flips[:2]:
        give(store, screen, question, "local:ben", "regression")
    press(fill(page()))
    assert len(signed(tmp_path)) == 1
    team.write_text('[people]\ncat = "reviewer"\n# no longer an adjudicator\n')
    assert "so that nobody is led by others" in shown(page())
    give(store, screen, screen.flips[0], "local:cat", "improvement")
    other = store.fold().standing("desk", screen.flips[1], "local:ben", screen.pair).verdict
    give(store, screen, screen.flips[1], "local:ben", None, "back", kind="retract", base_event=other.id)
    assert "so that nobody is led by others" in shown(page())  # it is still in the file
    give(store, screen, screen.flips[1], "local:cat", "improvement")
    assert "Anyone can check it without this dashboard" in shown(page())


def test_a_study_that_was_loaded_anew_is_not_signed_unseen(page, team, db: Path, tmp_path: Path) -> None:
    at = fill(page())
    content = db.read_bytes()
    try:
        other = desk.study(tmp_path, "desk", ["plain"], desk.flipped)
        load([other], db, verifier=verify)
        after = shown(press(at))
    finally:
        db.write_bytes(content)
    assert "its last lock is another one" in after
    assert signed(tmp_path) == []
    assert at.text_area(key="release-reason-0").value == "Wait."


def test_hostile_words_of_a_study_and_of_a_signer_are_only_words(page, team, tmp_path: Path) -> None:
    at = press(fill(page("hostile"), word="conditions", reason=desk.HOSTILE, conditions=desk.HIDDEN))
    after = shown(at)
    assert "Signed: Ship with conditions." in after
    assert "<img" not in after
    assert "&lt;img" in after
    assert "\\u202e" in after
    (event,) = signed(tmp_path)
    assert event.note == desk.HOSTILE
    assert event.subject.startswith("hostile-")
    press(fill(at, turn=1, word="ship", reason="Better now."), turn=1)
    assert [event.verdict for event in signed(tmp_path)] == ["conditions", "ship"]
    assert "Earlier decisions: 1" in [expander.label for expander in at.expander]


def test_a_lost_file_is_told_and_the_decision_still_shown(page, team, tmp_path: Path) -> None:
    at = press(fill(page()))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.unlink()
    after = shown(at.run())
    assert "cannot be read" in after
    assert "It may not go out." in after
