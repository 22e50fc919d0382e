"""The Triage page on every kind of study, drawn without a browser; presses are in tests/browser."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.events import Entry
from audit_core.reviews.store import ReviewStore
from audit_core.verify import verify
from dashboard import runtime
from dashboard.state import default_pair
from tests.support import desk
from tests.support.zoo import EVIL, ZOO, build

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")
Show = Callable[..., AppTest]
ME = "local:Robin"


@pytest.fixture(scope="module")
def bundled_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("bundled") / "audit.db"
    load(bundled.studies(), db, verifier=verify)
    return db


@pytest.fixture(scope="module")
def zoo_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(scope="module")
def made_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    return desk.database(folder, desk.contradiction(folder), desk.hostile(folder), desk.twins(folder))


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db")


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Show:
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()

    def opened(db: Path, **address: str | list[str]) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(db))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        monkeypatch.setenv(runtime.REVIEWER, ME.removeprefix("local:"))
        at = AppTest.from_file(APP, default_timeout=60)
        at.run()
        at.switch_page("views/triage.py")
        for key, value in address.items():
            at.query_params[key] = value
        return at.run()

    return opened


def markup(at: AppTest) -> str:
    return "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)


def words(at: AppTest) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup(at))).split())


def shown(at: AppTest) -> str:
    value = at.query_params["q"]
    return value if isinstance(value, str) else value[0]


def entry(db: Path, study: str, question: str, **changes: object) -> Entry:
    row, found = read.study(db, study), read.question(db, study, question)
    assert found is not None
    values = {
        "request_id": f"{question}-{len(changes)}", "study_id": study, "bundle": row["bundle"], "question_id": question,
        "reviewer": ME, "kind": "verdict", "verdict": "regression",
        "item_sha256": found["content_sha256"], "at": "2026-01-31T09:00:00.000Z",
        **dict(zip(("old", "new"), default_pair(row), strict=True)),
    }  # fmt: skip
    return Entry(**(values | changes))  # type: ignore[arg-type]


def test_the_first_flip_of_the_main_study(show: Show, bundled_db: Path) -> None:
    at = show(bundled_db, study="nq-400")
    assert not at.exception
    text = words(at)
    for expected in ("Question 1 of 40", "0 of 40 reviewed", "Robin", "Old snapshot · n1 · one shard",
                     "New snapshot · n7 · seven shards", "Across the ladder", "of 8 documents shared",
                     "same letter = same answer, by the blind judge",
                     "Gold answer hidden", "No verdict on this question yet", "This study holds ids only",
                     "within old 1 / 1", "across 0 / 4"):  # fmt: skip
        assert expected in text
    assert text.count("repeat-stable flip") >= 1
    assert at.query_params["queue"] in ("flips", ["flips"])


def test_counts_in_the_menu_are_those_of_the_estimates(show: Show, bundled_db: Path) -> None:
    at = show(bundled_db, study="nq-400")
    counts = dict(
        re.findall(r'data-action="queue" data-value="(\w+)"[^>]*>[^<]*<i>([\d,]+)', markup(at))
    )
    assert counts["flips"] == "40"
    assert counts["all"] == counts["unreviewed"] == "400"
    assert counts["reviewed"] == "0"
    columns = read.columns(bundled_db, "nq-400", "semantic", "n1", "n7")
    assert columns is not None
    assert int(counts["lost"]) == sum(value > 0 for value in columns["lost"])
    estimates = read.estimates(bundled_db, "nq-400")
    assert int(counts["nontransitive"]) == estimates["nontransitive_questions[semantic]"]["numerator"]


@pytest.mark.parametrize("queue", ["flips", "all", "lost", "unstable_old", "reviewed"])
@pytest.mark.parametrize("study", ZOO)
def test_studies_at_the_edges(show: Show, zoo_db: Path, study: str, queue: str) -> None:
    at = show(zoo_db, study=study, queue=queue)
    assert not at.exception
    text = words(at)
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b|Traceback", text)
    assert "Queue:" in text
    assert re.search(r"Question \d|no questions\.", text)


def test_a_bare_study_says_what_is_missing(show: Show, zoo_db: Path) -> None:
    text = words(show(zoo_db, study="bare", queue="all"))
    for expected in ("This study holds ids only", "This study holds no evidence",
                     "this study has none for this question", "No judge has labelled this question",
                     "same letter = same answer after normalization (exact)",
                     "no gold answer"):  # fmt: skip
        assert expected in text


def test_a_study_of_one_state_can_be_read(show: Show, zoo_db: Path) -> None:
    at = show(zoo_db, study="one-state", queue="all")
    assert "Question 1 of 30" in words(at)
    assert "repeat-stable flip" not in words(at)


def test_errors_are_shown_as_errors(show: Show, zoo_db: Path) -> None:
    text = words(show(zoo_db, study="ragged", queue="all", q="q00001"))
    assert "no answer came back: 503 from the service" in text


def test_no_text_of_a_study_reaches_a_call_that_renders(show: Show, made_db: Path, zoo_db: Path) -> None:
    for db, study, evil in ((made_db, "hostile", desk.HOSTILE), (zoo_db, "hostile", EVIL)):
        at = show(db, study=study, queue="all")
        assert not at.exception
        assert evil in html.unescape(re.sub(r"</?mark>|<del>|</del>|<ins>|</ins>", "", markup(at)))
        assert "<img" not in markup(at)
        assert "<script" not in markup(at)
        for kind in ("markdown", "caption", "title", "header", "subheader", "metric", "button", "expander"):
            assert not any("evil.example" in str(element.proto) for element in at.get(kind))


def test_an_earlier_verdict_is_shown_and_an_earlier_text_is_told(
    show: Show, bundled_db: Path, reviews: ReviewStore
) -> None:
    question = shown(show(bundled_db, study="nq-400"))
    reviews.append(entry(bundled_db, "nq-400", question, impact="high", note="**n** <b>x</b>"))
    at = show(bundled_db, study="nq-400", q=question)
    assert "This question: Regression, high impact" in words(at)
    assert "1 of 40 reviewed" in words(at)
    assert "1 high impact" in words(at)
    assert "earlier text" not in words(at)
    assert "**n** <b>x</b>" in words(at)
    assert re.search(r"<textarea[^>]*>\n\*\*n\*\* &lt;b&gt;x&lt;/b&gt;</textarea>", markup(at))
    later = {"item_sha256": "0" * 64, "base_event": 1, "verdict": "improvement", "old": "n1", "new": "n7"}
    reviews.append(entry(bundled_db, "nq-400", question, **later))
    assert "Given for an earlier text" in words(show(bundled_db, study="nq-400", q=question))
    other = words(show(bundled_db, study="nq-400", old="n3", new="n7", queue="all", q=question))
    assert "No verdict on this question yet" in other  # a verdict belongs to its pair of states


def test_gold_is_not_in_the_page_before_it_is_revealed(show: Show, made_db: Path, reviews: ReviewStore) -> None:
    at = show(made_db, study="desk", queue="all", q="plain")
    assert "gold of plain" not in markup(at)
    reviews.append(entry(made_db, "desk", "plain", kind="reveal", verdict=None))
    at = show(made_db, study="desk", queue="all", q="plain")
    assert "gold of plain" in markup(at)
    assert "event #1" in words(at)


def test_an_answer_of_a_million_characters_is_cut_first(show: Show, made_db: Path) -> None:
    at = show(made_db, study="desk", queue="all", q="long")
    assert "show all 1,000," in words(at)
    assert len(markup(at)) < 400_000


def test_search_finds_questions_and_says_when_there_are_none(show: Show, made_db: Path) -> None:
    at = show(made_db, study="desk", queue="all")
    at.text_input(key="triage-find").set_value("plain").run()
    assert shown(at) == "plain"
    assert at.query_params["find"] in ("plain", ["plain"])
    assert "1 question passes" in words(at)
    at.text_input(key="triage-find").set_value("nowhere to be found").run()
    assert "No question of this queue passes the filter" in words(at)
    at.text_input(key="triage-find").set_value("").run()
    assert "Question 1 of 3" in words(at)


def test_another_cause_tag_can_be_added(show: Show, made_db: Path) -> None:
    at = show(made_db, study="desk", queue="all")
    at.text_input(key="triage-cause").set_value("  wrong   <b>entity</b> ").run()
    assert "wrong &lt;b&gt;entity&lt;/b&gt;" in markup(at)
    assert at.text_input(key="triage-cause").value == ""


def test_a_damaged_store_is_told_and_the_card_is_still_there(show: Show, bundled_db: Path, tmp_path: Path) -> None:
    (tmp_path / "reviews.db").write_bytes(b"not a database at all" * 300)
    at = show(bundled_db, study="nq-400")
    assert not at.exception
    assert "this is not a verdict store, or it is damaged" in words(at)
    assert "Question 1 of 40" in words(at)


def test_exact_kernel_and_another_pair(show: Show, bundled_db: Path) -> None:
    at = show(bundled_db, study="nq-400", kernel="exact", old="n0", new="n3", queue="all")
    assert not at.exception
    assert "same letter = same answer after normalization (exact)" in words(at)
    assert "Old snapshot · n0 · no retrieval" in words(at)


def test_changing_the_pair_keeps_the_question(show: Show, bundled_db: Path) -> None:
    at = show(bundled_db, study="nq-400", queue="all", q="nq-0123")
    at.selectbox(key="pick-new").set_value("n3").run()
    assert shown(at) == "nq-0123"
    assert "New snapshot · n3" in words(at)
