"""The Report page for a team: nobody learns from it what others said before they have judged themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled, explore
from audit_core.readmodel.load import load
from audit_core.results import arrays_of
from audit_core.reviews.store import ReviewStore
from audit_core.study import Study
from audit_core.verify import verify
from dashboard import identity, runtime
from tests.support.signing import give, screens

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture
def show(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()
    identity._watched.cache_clear()
    load([bundled.resolve("v4pro-100")], tmp_path / "audit.db", verifier=verify)
    (tmp_path / "team.toml").write_text('[people]\nRobin = "reviewer"\nAnn = "adjudicator"\n', "utf-8")
    monkeypatch.setenv(runtime.DATABASE, str(tmp_path / "audit.db"))
    monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
    monkeypatch.setenv(runtime.TEAM, str(tmp_path / "team.toml"))

    def opened(who: str) -> str:
        monkeypatch.setenv(runtime.REVIEWER, who)
        identity._watched.cache_clear()
        at = AppTest.from_file(APP, default_timeout=60)
        at.run()
        at.switch_page("views/report.py").run()
        assert not at.exception
        return " ".join(str(block.proto.body) for block in at.get("html"))

    return opened


def test_an_independent_reviewer_gets_no_report_before_judging_what_others_judged(show, tmp_path):
    study = bundled.resolve("v4pro-100")
    store, screen = ReviewStore(tmp_path / "reviews.db"), screens(study, "semantic")
    flips = screen(store.fold()).flips
    known = Study(study)
    columns = explore.columns(arrays_of(known.protocol, known.dossiers()), "semantic", "n1", "n7")
    other = next(q for q, flip in zip(columns["question_id"], columns["flip"], strict=True) if not flip)
    for question in flips:
        give(store, screen(store.fold()), question, "local:Robin", "improvement")
    assert "What is true now" in show("Robin")
    give(store, screen(store.fold()), other, "local:Ann", "regression", impact="high")
    told = show("Robin")
    assert "1 question still waits for your own verdict" in told
    assert "What is true now" not in told
    assert "What is true now" in show("Ann")
    give(store, screen(store.fold()), other, "local:Robin", "both_wrong")
    assert "What is true now" in show("Robin")
