"""The Refusals page on a study whose splits, siblings and excerpts are known."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core.model import Cell, Document, Evidence, Question
from audit_core.protocol import Protocol
from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.study import create_study
from audit_core.verify import verify
from dashboard import runtime
from dashboard.components import case
from dashboard.numbers import brief
from tests.dashboard.test_pages import questions_of
from tests.support import borderline as refusing
from tests.support.simulator import CREATED

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusing")
    estimate_study(refusing.build(folder / "refusing"), created=CREATED)
    load([folder / "refusing"], folder / "audit.db", verifier=verify)
    return folder / "audit.db"


@pytest.fixture
def show(monkeypatch, tmp_path):
    st.cache_data.clear()
    st.cache_resource.clear()

    def opened(database: Path, page: str = "refusals", **address: str) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(database))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        at = AppTest.from_file(APP, default_timeout=60)
        at.query_params["study"] = address.pop("study", "refusing")
        at.run()
        for key, value in address.items():
            at.query_params[key] = value
        if page != "summary":
            at.switch_page(f"views/{page}.py").run()
        assert not at.exception
        return at

    return opened


def words(at: AppTest) -> str:
    bodies = [block.proto.body for block in at.get("html") if "<style>" not in block.proto.body]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", "\n".join(bodies))).split())


def test_the_page_says_the_known_numbers(show, db):
    text = words(show(db))
    for expected in (
        "repeats do different things for 4 of 7 questions in before and 0 of 8 questions in after",
        "57.14% 4 of 7 questions 95% interval 18.41 to 90.10", "0.00% 0 of 8 questions",
        "+0 / −6 of 16 matched repeats", "with them 12.50 pp 3 questions without any refusal",
        "before one search 4 of 7 (18.41 to 90.10%) 5 of 8", "80.00%",
        "before 57.14% 100.00% 50.00% 12.50%",  # disagreement by evidence, and the two parts that add up to it
        "answered 9 0 0 partial 1 0 0 refused 6 0 0",
        "Between before and after two things differ: refusal rule, search",
    ):  # fmt: skip
        assert expected in text, expected


def test_a_number_of_the_states_opens_exactly_its_questions(show, db):
    at = show(db)
    links = [
        (html.unescape(address), int(number))
        for block in at.get("html")
        for address, number in re.findall(r'<a href="(triage[^"]+)">(\d+)</a>', block.proto.body)
        if 'class="n">to the letter</th>' not in block.proto.body  # one question may carry several excerpts
    ]
    assert [number for _, number in links] == [4, 5, 5]
    assert [questions_of(db, address) for address, _ in links] == [4, 5, 4]  # q5 refuses in both repeats


def test_the_first_case_is_a_split_with_the_same_evidence(show, db):
    text = words(show(db))
    assert "all repeats saw the same evidence, to the byte" in text
    assert "“which office receives it”, has no supporting passage in before and 1 in after" in text
    assert "a sibling of rank 7, “Handbook: where to apply”, mentions it and was not shown in before" in text
    assert "The office at Varn receives every such form" in text
    assert "none only named: 2 (bibliography)" in text
    assert "rule clauses/1: “UNKNOWN”" in text


def test_repeats_that_saw_other_evidence_are_set_side_by_side(show, db):
    text = words(show(db, case="q6", at="before"))
    assert "repeats saw different evidence" in text
    assert "repeat 1 of before" in text
    assert "repeat 2 of before" in text


def test_excerpts_are_counted_by_class(show, db):
    text = words(show(db))
    heads = "to the letter but for layout in another passage over two passages in none not checked"
    assert f"state {heads} after 4 4 0 0 4 0" in text


def test_an_address_with_an_unknown_question_says_so(show, db):
    assert "asks for the question “nobody”, which this study does not have" in words(show(db, case="nobody"))


def test_summary_leads_to_the_page(show, db):
    at = show(db, "summary")
    assert "Same evidence, different outcome: 4 questions in before" in words(at)
    assert "Refusals" in [link.label for link in at.get("page_link")]


def test_a_state_that_says_one_thing_is_an_alarm_on_both_pages(show, tmp_path):
    cells = [
        Cell(f"q{i}", state, repeat, "ok", "I cannot help with that." if state == "new" else f"answer {i}")
        for i in range(20) for state in ("old", "new") for repeat in (1, 2)
    ]  # fmt: skip
    protocol = Protocol(
        study_id="outage", title="Outage", origin="imported", provenance="Made for a test.", generator="none",
        states=(refusing.State("old"), refusing.State("new")), endpoints=("old", "new"), normalization="nq_open/1",
        draws=200,
    )  # fmt: skip
    questions = [Question(f"q{i}", f"Question {i}?") for i in range(20)]
    study = create_study(tmp_path / "outage", protocol, questions=questions, cells=cells, created=CREATED)
    estimate_study(study, created=CREATED)
    load([study.path], tmp_path / "audit.db", verifier=verify)
    for page in ("summary", "refusals"):
        text = words(show(tmp_path / "audit.db", page, study="outage"))
        assert "Alarm. 40 of 40 answers in new are one and the same (“I cannot help with that.”)" in text
    assert "All repeats of each question do the same in new." in text


def test_one_state_whose_repeats_have_evidence_of_their_own(show, tmp_path):
    cells = [Cell("q", "only", repeat, "ok", "UNKNOWN" if repeat == 2 else "at nine") for repeat in (0, 1, 2)]
    evidence = [Evidence("q", "only", (Document("d1", 1, "2.5"),), repeat) for repeat in (0, 1, 2)]
    protocol = Protocol(
        study_id="single", title="Single", origin="imported", provenance="Made for a test.", generator="none",
        states=(refusing.State("only"),), normalization="nq_open/1", draws=200,
    )  # fmt: skip
    questions = [Question("q", "When do the gates open?")]
    study = create_study(
        tmp_path / "single", protocol, questions=questions, cells=cells, evidence=evidence, created=CREATED
    )
    estimate_study(study, created=CREATED)
    load([study.path], tmp_path / "audit.db", verifier=verify)
    text = words(show(tmp_path / "audit.db", study="single"))
    assert "With the same documents in the same order, repeats do different things for 1 of 1 question in only" in text
    assert "all repeats saw the same documents in the same order; texts are not kept" in text
    assert "repeat 0 of only" in text


def test_text_of_a_study_is_text(show, tmp_path, monkeypatch):
    evil = "<script>document.title=1</script> **b** ![i](https://evil.example/a.png)"
    monkeypatch.setattr(refusing, "question", lambda number: f"{evil} how long and who {number}?")
    given = {
        key: tuple(f"{evil} {a}" if a != "UNKNOWN" else a for a in answers) for key, answers in refusing.GIVEN.items()
    }
    monkeypatch.setattr(refusing, "GIVEN", given)
    path = tmp_path / "evil"
    estimate_study(refusing.build(path), created=CREATED)
    load([path], tmp_path / "audit.db", verifier=verify)
    at = show(tmp_path / "audit.db", study="evil")
    bodies = "\n".join(block.proto.body for block in at.get("html"))
    assert "<script>document" not in bodies
    assert "evil.example" in html.unescape(bodies)
    shutil.rmtree(path)


def test_a_short_reason_says_more_than_undefined() -> None:
    assert brief("Undefined: no question has two answers here.") == "No question has two answers here."
    assert brief("No noise floor: a state needs two answers per question.") == "No noise floor."


def test_bytes_are_claimed_only_where_texts_are_kept() -> None:
    kept, bare = {"passage": "ab"}, {"passage": None}
    question = {"evidence_by_repeat": {"n1": {-1: [kept]}, "n2": {-1: [kept, bare]}}}
    assert case._texts_kept(question, "n1")
    assert not case._texts_kept(question, "n2")


def test_the_generator_has_no_part_where_no_two_repeats_saw_the_same(show, tmp_path):
    cells = [Cell("q", state, repeat, "ok", f"{state} {repeat}") for state in ("old", "new") for repeat in (1, 2)]
    seen = [Evidence("q", c.state, (Document(f"d{c.repeat}", 1, "1", "", None),), c.repeat) for c in cells]
    protocol = Protocol(
        study_id="moving", title="Moving", origin="imported", provenance="Made for a test.", generator="none",
        states=(refusing.State("old"), refusing.State("new")), endpoints=("old", "new"), normalization="nq_open/1",
        draws=200,
    )  # fmt: skip
    study = create_study(
        tmp_path / "moving", protocol, questions=[Question("q", "What?")], cells=cells, evidence=seen, created=CREATED
    )
    load([study.path], tmp_path / "audit.db", verifier=verify)
    text = words(show(tmp_path / "audit.db", study="moving")).split("Where does the noise come from?")[1]
    assert "old – 100.00% not measurable 100.00%" in text
    assert text.count("No two repeats of a question saw the same evidence here.") == 1
    assert "Population 1 question " in text
