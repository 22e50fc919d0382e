"""The release rule on Summary: the gate's own outcome, as far as whoever looks may know what others said."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core.cli import main
from audit_core.reviews.store import ReviewStore
from dashboard import identity, runtime
from tests.support import desk
from tests.support.ruled import BOTH, MOVED, PEOPLE, build, review, signs
from tests.support.signing import give, screens

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("ruled")
    both = build(folder / "both", BOTH, **MOVED)
    people = build(folder / "people", PEOPLE, questions=24, states=("n1", "n3", "n7"))
    free = build(folder / "free", None, questions=12)
    return folder, desk.database(folder, both, people, free)


@pytest.fixture
def page(made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    st.cache_data.clear()
    st.cache_resource.clear()
    identity._watched.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(runtime.DATABASE, str(made[1]))
    monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
    monkeypatch.delenv(runtime.TEAM, raising=False)
    monkeypatch.setenv(runtime.REVIEWER, "ann")

    def opened(study: str, **address: str) -> str:
        at = AppTest.from_file(APP, default_timeout=60)
        for key, value in {"study": study, **address}.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception
        return "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)

    return opened


def rows(text: str) -> list[tuple[str, ...]]:
    table = text[text.index('id="release-outcome"') :].partition("</table>")[0]
    found = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", table)
    return [tuple(html.unescape(re.sub("<[^>]+>", "", cell)) for cell in row) for row in found]


def test_the_page_says_what_the_gate_says(page, made: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    import json

    store, folder = ReviewStore(tmp_path / "reviews.db"), made[0]
    for step in range(3):
        if step == 1:
            review(folder / "people", store)
        if step == 2:
            signs(folder / "people", store)
        for study in ("both", "people"):
            main(["gate", str(folder / study), "--reviews", str(store.path), "--json"])
            facts = json.loads(capsys.readouterr().out)
            shown = page(study)
            if store.path.exists():
                assert [text for _, _, text in rows(shown)] == [c["sentence"] for c in facts["conditions"]]
                assert facts["headline"] in html.unescape(shown)
                signs_ = {True: "✓ met", False: "✗ not met", None: "— cannot be decided"}
                assert [word for word, _, _ in rows(shown)] == [signs_[c["met"]] for c in facts["conditions"]]
            else:
                assert rows(shown)[-1][2] == "Nobody has signed a release decision on this pair of states."


def test_another_pair_and_another_study_have_no_rule(page) -> None:
    assert "release-outcome" in page("people")
    assert "release-outcome" not in page("people", old="n1", new="n3")
    assert "release-outcome" not in page("free")


def test_a_reviewer_is_not_told_what_others_said(
    page, made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team.toml").write_text('[people]\nben = "reviewer"\nann = "adjudicator"\n')
    monkeypatch.setenv(runtime.TEAM, str(tmp_path / "team.toml"))
    store, study = ReviewStore(tmp_path / "reviews.db"), made[0] / "people"
    review(study, store, "regression", impact="high")
    signs(study, store, "conditions")
    monkeypatch.setenv(runtime.REVIEWER, "ben")
    shown = page("people")
    assert "Not shown yet" in shown
    assert "high-impact regression" not in " ".join(text for _, _, text in rows(shown))
    assert rows(shown)[-1][0] == "not shown"
    screen = screens(study, "semantic")(store.fold())
    for question in screen.flips:
        give(store, screen, question, "local:ben", "both_acceptable")
    shown = page("people")
    assert "Not shown yet" not in shown
    assert "not shown" not in [word for word, _, _ in rows(shown)]
    assert ("✗ not met", "No open high-impact regression") in [(word, title) for word, title, _ in rows(shown)]
