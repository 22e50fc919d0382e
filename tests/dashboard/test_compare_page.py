"""The page Compare: numbers, words where there is nothing, links, deep links. And How sure is this, on Churn."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled
from audit_core.cli import main
from audit_core.readmodel.load import load
from audit_core.verify import verify
from dashboard import runtime
from dashboard.numbers import probability
from tests.support.simulator import StudySimulator

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    db = tmp_path_factory.mktemp("compare") / "audit.db"
    load(bundled.studies(), db, verifier=verify)
    return db


@pytest.fixture
def show(monkeypatch, tmp_path, loaded):
    def opened(page: str, db: Path = loaded, **address: str) -> AppTest:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(runtime.DATABASE, str(db))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        st.cache_data.clear()
        st.cache_resource.clear()
        at = AppTest.from_file(APP, default_timeout=60)
        for key, value in address.items():
            at.query_params[key] = value
        at.run()
        at.switch_page(f"views/{page}.py").run()
        assert not at.exception
        return at

    return opened


def blocks(at: AppTest) -> str:
    return "\n".join(str(element.proto.body) for element in at.get("html"))


def words(at: AppTest) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", blocks(at))).split())


def test_two_studies_side_by_side(show):
    at = show("compare", study="v4pro-100", other="nq-400")
    text = words(at)
    assert "On 100 questions that both can measure, v4pro-100 moves 8.75 pp and nq-400 9.25 pp (semantic)." in text
    assert "Descriptive: the judge saw packets of different make-up." in text
    assert "The difference is then no estimate of an effect." in text
    assert "100 questions of 100 of the first study" in text
    assert "first +3.00 pp −2.00 to 8.50 second 0.00 pp" in text
    assert text.count("Status exploratory") == 4
    links = [parse_qs(urlsplit(html.unescape(a)).query) for a in re.findall(r'href="(triage[^"]*)"', blocks(at))]
    counts = [(link["study"], link["kernel"], len(link["only"])) for link in links]
    assert counts == [
        (["v4pro-100"], ["semantic"], 2), (["v4pro-100"], ["semantic"], 4), (["nq-400"], ["semantic"], 7),
        (["v4pro-100"], ["exact"], 4), (["nq-400"], ["exact"], 3),
    ]  # fmt: skip


def test_the_picker_offers_what_can_be_compared_and_writes_the_address(show, tmp_path):
    at = show("compare", study="nq-400")
    picker = at.selectbox(key="compare-other")
    assert picker.options == ["v4pro-100 · Natural Questions, second generator · 100 shared questions"]
    assert "100 questions of 400 of the first study" in words(at)
    studies = [
        StudySimulator(study_id=name, questions=n, seed=n).build(tmp_path / name).path
        for name, n in (("a", 8), ("b", 9), ("c", 10))
    ]
    load(studies, tmp_path / "three.db", verifier=verify)
    at = show("compare", tmp_path / "three.db", study="a")
    assert at.selectbox(key="compare-other").value == "b"
    at.selectbox(key="compare-other").set_value("c").run()
    assert at.query_params["other"] == "c"
    assert "a moves" in words(at)
    assert "and c " in words(at)


def test_an_address_that_names_no_study_says_so(show):
    text = words(show("compare", study="nq-400", other="nobody"))
    assert "The address asks for the second study “nobody”, which is not there. Shown instead: “v4pro-100”." in text


def test_nothing_to_compare_is_explained_study_by_study(show):
    text = words(show("compare", study="help-centre", other="borderline-refusal"))
    assert "No other study here can be compared with this one." in text
    assert "nq-400 0 no question in common" in text
    other = words(show("compare", study="nq-400", old="n0", new="n7"))
    assert "v4pro-100 100 lacks n0 or n7" in other


def test_a_study_whose_ids_stand_for_other_questions_is_not_offered(show, tmp_path):
    for name, change in (("one", {}), ("two", {"text": "Another question?"})):
        rows = [("q1", change.get("text", "A question?")), ("q2", "The same?")]
        lines = [f"{q},{text},{state},{n},x,x" for q, text in rows for state in "ab" for n in (1, 2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["question_id,question,state,repeat,answer,gold", *lines]))
        assert main(["import", "table", str(tmp_path / f"{name}.csv"), "--study", str(tmp_path / name)]) == 0
    load([tmp_path / "one", tmp_path / "two"], tmp_path / "both.db", verifier=verify)
    text = words(show("compare", tmp_path / "both.db", study="one"))
    assert "two 2 another question, or another gold, under the same id: q1" in text


def test_a_single_study_says_how_to_load_another(show, tmp_path):
    load([bundled.resolve("v4pro-100")], tmp_path / "one.db", verifier=verify)
    text = words(show("compare", tmp_path / "one.db"))
    assert "This is the only study here." in text
    assert "load STUDY --add" in text


def test_how_sure_is_this(show):
    text = words(show("churn", study="nq-400", kernel="exact"))
    assert "How sure is this?" in text
    assert "Nothing here can rescue or sink a decision." in text
    assert "Chance of as much excess if the two states were one 8.0 × 10⁻¹² 66 questions can tell; exact" in text
    assert "Largest contrasts to drop until the lower bound is at zero 30 7.5% of 400 questions" in text
    assert "… until the number is below the margin 15 3.8% of 400 questions" in text
    assert "n3 → n7 3.75 pp" in text
    semantic = words(show("churn", study="nq-400", kernel="semantic"))
    assert "8.0 × 10⁻¹⁶" in semantic
    assert "below the margin" not in semantic.split("How sure is this?")[1].split("Every state")[0]


def test_how_sure_is_computed_live_for_a_pair_outside_the_results(show):
    text = words(show("churn", study="nq-400", old="n0", new="n7"))
    part = text.split("How sure is this?")[1].split("Every state against")[0]
    assert "questions can tell" in part
    assert "confirmatory" not in part


def test_the_second_judge_and_tags_are_among_the_ways(show):
    at = show("churn", study="nq-400", kernel="semantic")
    drawn = " ".join(str(chart.proto.spec) for chart in at.get("plotly_chart"))
    assert "second judge" in drawn
    assert "first judge, same ones" in drawn
    at = show("churn", study="help-centre", kernel="semantic")
    drawn = " ".join(str(chart.proto.spec) for chart in at.get("plotly_chart"))
    assert "without tag version" in drawn
    assert "Of the tags, the two are shown" in words(at)


def test_probabilities_as_people_read_them():
    assert [probability(p) for p in (None, 1.0, 0.0178326, 0.001, 7.9865e-16)] == [
        "not measurable", "1.000", "0.018", "0.001", "8.0 × 10⁻¹⁶",
    ]  # fmt: skip
