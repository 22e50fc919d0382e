"""Every page on every kind of study: the right numbers, in words where there are none, never a traceback."""

from __future__ import annotations

import html
import re
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.events import Entry
from audit_core.reviews.filters import parse
from audit_core.reviews.fold import Fold
from audit_core.reviews.queues import QUEUES, Marks, Table, members
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Team
from audit_core.verify import verify
from dashboard import runtime, sentences
from tests.support.simulator import StudySimulator
from tests.support.zoo import EVIL, ZOO, build

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")
PAGES = (
    "summary", "churn", "transitions", "evidence", "trajectories", "refusals", "judges", "compare", "ledger", "report",
)  # fmt: skip
BUNDLED = ("nq-400", "triviaqa-200", "v4pro-100")


@pytest.fixture(scope="module")
def bundled_db(tmp_path_factory):
    db = tmp_path_factory.mktemp("bundled") / "audit.db"
    load(bundled.studies(), db, verifier=verify)
    return db


@pytest.fixture(scope="module")
def zoo_db(tmp_path_factory):
    return build(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(autouse=True)
def own_place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def show(monkeypatch, tmp_path):
    def opened(db: Path, page: str = "summary", **address: str) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(db))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        at = AppTest.from_file(APP, default_timeout=60)
        for key, value in address.items():
            at.query_params[key] = value
        at.run()
        if page != "summary":
            at.switch_page(f"views/{page}.py").run()
        return at

    return opened


def blocks(at: AppTest) -> str:
    return "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)


def words(at: AppTest) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", blocks(at))).split())


def figures(at: AppTest) -> str:
    return "\n".join(figure.proto.spec for figure in at.get("plotly_chart"))


@pytest.mark.parametrize("view", PAGES)
@pytest.mark.parametrize("study", BUNDLED)
def test_bundled_studies_on_every_page(show, bundled_db, study, view):
    at = show(bundled_db, view, study=study)
    assert not at.exception
    assert "Reconstructed from published figures; ids only" in words(at)
    assert "Ledger verified" in words(at)
    assert re.search(r"<h1>.+</h1>", blocks(at))
    assert "NaN" not in figures(at)


@pytest.mark.parametrize("view", PAGES)
@pytest.mark.parametrize("study", ZOO)
def test_studies_at_the_edges_on_every_page(show, zoo_db, study, view):
    at = show(zoo_db, view, study=study)
    assert not at.exception
    text = words(at)
    assert re.search(r"<h1>.+</h1>", blocks(at))
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b|Traceback", text)
    assert "NaN" not in figures(at)


def test_the_summary_of_the_main_study_says_the_published_numbers(show, bundled_db):
    at = show(bundled_db, study="nq-400")
    text = words(at)
    for expected in (
        "changed answers beyond ordinary repeat noise",
        "78.88%", "same-snapshot baseline 89.13%", "10.25 pp", "one-sided 95% lower bound 7.69", "6.44 pp",
        "one-sided 95% lower bound 4.56", "−1.50 pp", "5.75% lost, 4.25% gained, 19.38% changed unseen",
        "40 of 400", "not started", "invisible to accuracy 35", "churn confirmed",
    ):  # fmt: skip
        assert expected in text
    assert "10.88 noise" in figures(at)
    assert "74.75 noise" in figures(at)
    labels = [link.proto.label for link in at.get("page_link")]
    assert "40 repeat-stable flips" in labels
    assert {"46 lost", "34 gained", "155 unseen"} <= set(labels)


@pytest.mark.parametrize(
    ("study", "title"),
    [
        ("moved", "The step from n1 to n7 changed answers beyond ordinary repeat noise."),
        ("quiet", "From n1 to n7, movement beyond ordinary repeat noise is not established."),
        ("still", "From n1 to n7, no answer differed, between states or between repeats."),
        ("one-repeat", "From n1 to n7, movement cannot be told from repeat noise."),
        ("ragged", "The rule fixed in the protocol cannot be decided on these data."),
        ("bare", "From n1 to n7, answer wording changed beyond ordinary repeat noise."),
        ("broken", "Nothing can be concluded from this study: an integrity check failed."),
        ("one-state", "This study has a single state."),
    ],
)
def test_the_verdict_is_true_of_each_case(show, zoo_db, study, title):
    at = show(zoo_db, study=study)
    assert f"<h1>{title}</h1>" in blocks(at)


def test_a_ladder_asked_once_is_not_called_still(show, zoo_db):
    text = words(show(zoo_db, "trajectories", study="one-repeat-ladder"))
    assert "No answer can be followed along the ladder." in text
    assert "flip at one step" not in text


def test_format_differences_are_named_where_only_the_exact_kernel_exists(show, zoo_db):
    text = words(show(zoo_db, study="bare"))
    assert "differences of format may explain it" in text
    assert "Exact kernel only: no semantic labels" in text
    assert "Imported: how the answers were made is not proved" in text


@pytest.mark.parametrize("view", PAGES)
def test_a_failed_check_is_a_banner_on_every_page(show, zoo_db, view):
    at = show(zoo_db, view, study="broken")
    assert 'role="alert"' in blocks(at)
    assert "Do not rely on any number here" in words(at)
    assert "C15" in words(at)


@pytest.mark.parametrize("view", PAGES)
def test_hostile_text_stays_text(show, zoo_db, view):
    at = show(zoo_db, view, study="hostile")
    assert not at.exception
    assert "<img" not in blocks(at)
    assert html.escape(EVIL) in blocks(at)
    assert "<img" not in figures(at)
    for link in at.get("page_link"):
        assert not set(link.proto.label) & set("*[]!$:<_")
    for element in (*at.markdown, *at.caption, *at.metric, *at.error, *at.warning, *at.info, *at.success):
        assert "evil" not in str(element.value)


def test_three_numbers_stand_together(show, bundled_db):
    for view in ("churn", "transitions"):
        text = words(show(bundled_db, view, study="nq-400"))
        assert "Still agree across snapshots (semantic) 78.88%" in text
        assert "Excess churn (semantic) 10.25 pp one-sided 95% lower bound 7.69 95% interval 7.25 to 13.44" in text
        assert "Repeat-stable flips (semantic) 40 of 400 questions, 10.00%" in text


def test_the_uncorrected_view_is_a_switch_and_says_what_it_is(show, bundled_db):
    at = show(bundled_db, study="nq-400")
    assert "one answer with one answer" not in words(at)
    at.toggle(key="pick-view").set_value(True).run()
    text = words(at)
    assert (
        "Uncorrected view. Comparing one answer with one answer would have claimed that 21.13% of answers changed"
        in text
    )
    assert "only 10.25 pp are beyond that noise" in text
    assert at.query_params["view"] == "uncorrected"
    at.switch_page("views/churn.py").run()
    assert "21.13% of answers changed" in words(at)


def test_the_selection_lives_in_the_address_and_persists_over_pages(show, bundled_db):
    at = show(bundled_db, study="triviaqa-200", old="n1", new="n3", kernel="exact")
    assert "TriviaQA" in words(at)
    at.switch_page("views/churn.py").run()
    assert at.query_params["study"] == "triviaqa-200"
    assert (at.query_params["old"], at.query_params["new"]) == ("n1", "n3")
    assert at.query_params["kernel"] == "exact"
    at.selectbox(key="pick-study").set_value("nq-400").run()
    assert at.query_params["study"] == "nq-400"
    assert (at.query_params["old"], at.query_params["new"]) == ("n1", "n7")


def test_choosing_the_other_state_swaps_the_two(show, bundled_db):
    at = show(bundled_db, study="nq-400", old="n1", new="n7")
    at.selectbox(key="pick-old").set_value("n7").run()
    assert (at.query_params["old"], at.query_params["new"]) == ("n7", "n1")
    assert not at.exception


def test_a_pair_outside_the_locked_results_is_labelled_exploratory(show, bundled_db):
    at = show(bundled_db, study="nq-400", old="n0", new="n7")
    text = words(at)
    assert "Exploratory: this pair is not part of the locked results" in text
    assert "78.63%" in text
    assert "none was fixed in advance for this pair" in text
    assert "Exploratory" not in words(show(bundled_db, study="nq-400", old="n1", new="n3"))


@pytest.mark.parametrize(
    ("address", "message", "agreement"),
    [
        ({"study": "no-such"}, "asks for the study “no-such”", "54.06%"),
        ({"study": "nq-400", "old": "n99"}, "asks for the old state “n99”", "78.88%"),
        ({"study": "nq-400", "kernel": "<b>x</b>"}, "asks for the kernel “<b>x</b>”", "78.88%"),
        ({"study": "nq-400", "old": "n1", "new": "n1"}, "compares a state with itself", "78.88%"),
    ],
)
def test_a_wrong_address_is_said_and_falls_back(show, bundled_db, address, message, agreement):
    at = show(bundled_db, **address)
    assert not at.exception
    assert message in words(at)
    assert agreement in words(at)
    study = "help-centre" if address["study"] == "no-such" else address["study"]
    assert at.query_params["study"] == study


@pytest.mark.parametrize("what", ["missing", "empty", "another file", "another version"])
def test_without_a_database_the_page_says_what_to_run(show, tmp_path, bundled_db, what):
    db = tmp_path / "audit.db"
    if what == "empty":
        db.write_bytes(b"")
    elif what == "another file":
        db.write_bytes(b"not a database" * 100)
    elif what == "another version":
        shutil.copy(bundled_db, db)
        with sqlite3.connect(db) as connection:
            connection.execute("PRAGMA user_version = 99")
    at = show(db)
    assert not at.exception
    text = words(at)
    assert "No study to show yet." in text
    assert "snapshot-audit load STUDY…" in text


def test_a_database_loaded_again_is_picked_up(show, tmp_path, bundled_db, zoo_db):
    db = tmp_path / "audit.db"
    shutil.copy(bundled_db, db)
    at = show(db, study="nq-400")
    assert "78.88%" in words(at)
    other = tmp_path / "other.db"
    shutil.copy(zoo_db, other)
    other.replace(db)
    at.run()
    assert not at.exception
    assert "is not there" in words(at)
    assert "Simulated study" in words(at)


def test_a_verdict_store_that_cannot_be_read_is_said_and_the_rest_stays(show, tmp_path, bundled_db):
    (tmp_path / "reviews.db").write_bytes(b"not a database" * 100)
    at = show(bundled_db, study="nq-400")
    assert not at.exception
    assert 'role="alert"' in blocks(at)
    assert "78.88%" in words(at)


def test_verdicts_move_the_progress_of_the_review(show, tmp_path, bundled_db):
    columns = read.columns(bundled_db, "nq-400", "semantic", "n1", "n7")
    flips = [q for q, flip in zip(columns["question_id"], columns["flip"], strict=True) if flip]
    said = [("regression", "high"), ("regression", "low"), ("improvement", None), ("both_acceptable", None)]
    said += [("both_acceptable", None), ("not_a_real_change", "low"), ("cannot_tell", None)]
    bystander = next(q for q, flip in zip(columns["question_id"], columns["flip"], strict=True) if not flip)
    reviews = ReviewStore(tmp_path / "reviews.db")
    for number, (question, (verdict, impact)) in enumerate(
        [
            *zip(flips, said, strict=False),
            (bystander, ("regression", "high")),
            (flips[0], ("improvement", "low")),
            (flips[20], ("regression", "high")),
        ]
    ):
        # a verdict on another pair says nothing about this one, and takes nothing from what was said about it
        old = "n3" if number > len(said) else "n1"
        reviews.append(
            Entry(
                request_id=f"r{number}",
                base_event=1 if number == len(said) + 1 else None,
                study_id="nq-400",
                bundle="0" * 64,
                question_id=question,
                reviewer="me",
                kind="verdict",
                item_sha256="0" * 64,
                at="2026-01-31T09:00:00Z",
                old=old,
                new="n7",
                verdict=verdict,
                impact=impact,
            )
        )
    at = show(bundled_db, study="nq-400")
    text = words(at)
    for expected in (
        "40 of 400 reviewed 7", "regression, high impact 1", "regression, other impact 1",
        "improvement or acceptable 1 + 2", "not a real change (judge error) 1", "both wrong or cannot tell 1",
    ):  # fmt: skip
        assert expected in text
    assert "Review 33 open flips" in [link.proto.label for link in at.get("page_link")]


def fails():
    from dashboard import asgi

    asgi.failed(KeyError("<b>secret</b>"))


def test_a_page_that_fails_shows_a_sentence_and_no_trace():
    at = AppTest.from_function(fails).run()
    assert "This page could not be drawn. Nothing was changed or lost." in words(at)
    assert "secret" not in blocks(at)


def questions_of(db: Path, address: str) -> int:
    """How many questions Triage would open for an address; fails where it would not understand it."""
    found = parse_qs(urlsplit(address).query, keep_blank_values=True)
    study, old, new, kernel = (found[name][0] for name in ("study", "old", "new", "kernel"))
    columns = read.columns(db, study, kernel, old, new)
    assert columns is not None, address
    table = Table(columns)
    marks = Marks(table, study, (old, new), Person("nobody", "reviewer"), Team(), "2026-11-30").follow(Fold())
    filters = parse(found)
    assert not filters.problems, address
    assert found["queue"][0] in QUEUES
    mask = filters.mask(table, marks, lambda text: set())
    return int(members(table, marks, mask)[found["queue"][0]].sum())


@pytest.mark.parametrize("view", ["churn", "trajectories"])
def test_a_number_in_a_table_opens_exactly_that_many_questions(show, bundled_db, zoo_db, view):
    for db, study in ((bundled_db, "nq-400"), (zoo_db, "moved")):
        at = show(db, view, study=study)
        links = re.findall(r'<a href="([^"]+)">([\d,]+)</a>', blocks(at))
        assert links or view == "churn"
        for address, number in links:
            assert questions_of(db, html.unescape(address)) == int(number.replace(",", "")), address


@pytest.mark.parametrize("view", ["summary", "transitions", "evidence", "judges"])
def test_every_other_link_opens_questions(show, bundled_db, view):
    at = show(bundled_db, view, study="nq-400")
    links = [html.unescape(a) for a in re.findall(r'<a href="([^"]+)">', blocks(at))]
    links += ["triage?" + link.proto.query_string for link in at.get("page_link") if link.proto.page == "triage"]
    assert links
    for address in links:
        assert questions_of(bundled_db, address) > 0, address


def test_every_figure_says_population_unit_kernel_and_status(show, bundled_db):
    for view in ("summary", "churn", "transitions", "evidence", "trajectories", "refusals", "judges"):
        at = show(bundled_db, view, study="nq-400")
        said = [block.proto.body for block in at.get("html") if "<b>Population</b>" in block.proto.body]
        assert len(said) >= len(at.get("plotly_chart")), view
        for body in said:
            assert all(f"<b>{word}</b>" in body for word in ("Unit", "Kernel", "Status"))
        assert len(at.get("download_button")) >= len(at.get("plotly_chart")), view


def test_failed_calls_are_said_and_not_taken_for_missing_repeats(show, zoo_db):
    text = words(show(zoo_db, study="all-failed"))
    assert text.count("All 20 calls in n7 failed; run them again.") >= 3  # lead, exact match, what this does not show
    assert "at least twice" not in text
    assert "No gold" not in text
    assert "one answer per question" not in text
    assert "No gold" not in words(show(zoo_db, "transitions", study="all-failed"))
    assert "1 of 60 calls in n1 failed." in words(show(zoo_db, study="ragged"))


def test_no_chip_is_green_where_movement_is_not_established(show, zoo_db):
    chips = {study: re.findall(r'sa-pill ?(\w*)">Movement beyond noise: ([^<]*)', blocks(show(zoo_db, study=study)))
             for study in ("quiet", "one-question")}  # fmt: skip
    assert chips == {"quiet": [("", "not established")], "one-question": [("warn", "cannot be decided")]}


def test_an_interval_that_is_none_is_said_to_be_none(show, zoo_db):
    text = words(show(zoo_db, "transitions", study="one-question"))
    assert "no interval: a single question has no interval; resampling needs two or more." in text
    assert "no interval: all questions are equal, so bounds say nothing." in words(
        show(zoo_db, "transitions", study="still")
    )


def test_an_unlocked_study_has_no_locked_cell_and_says_each_reason_once(show, tmp_path):
    states = ("n1", "n3", "n5", "n7")
    flipped = {("q00000", "n7", repeat): "other" for repeat in (1, 2)}
    made = StudySimulator(study_id="open", states=states, noise=0, flips=0, answers=flipped, evidence=False)
    db = tmp_path / "open.db"
    load([made.build(tmp_path / "open").path], db, verifier=verify)
    text = words(show(db, "churn", study="open"))
    assert "This study has no locked results, so every cell is exploratory." in text
    assert "Status locked" not in text
    assert "1 repeat-stable flip contributes" in text
    assert "1 question can tell" in text
    steps = text.split("All steps of the ladder at once")[1].split("Unit")[0]
    assert "n1 → n3 0.00 pp none – n3 → n5 0.00 pp none – n5 → n7" in steps
    assert steps.count("– All") == 1, steps
    text = words(show(db, "refusals", study="open"))
    assert text.count("It is not known which evidence the repeats of a question saw here.") == 1
    assert "Population 30 questions Unit questions Kernel outcome of an answer" in text


def test_an_empty_queue_still_has_the_heading_of_the_page(show, zoo_db):
    at = show(zoo_db, "triage", study="still")
    assert blocks(at).count("<h1>Which flips need a person, one by one?</h1>") == 1
    assert "Repeat-stable flips: no questions." in words(at)


@pytest.mark.parametrize(("origin", "description", "told"), [
    ("collected", "a judge", True), ("imported", "offline judge, κ 0.535 against people", True),
    ("imported", "labels of the log", False), ("reconstructed", "a judge", False),
])  # fmt: skip
def test_a_judge_is_named_wherever_it_is_known_how_it_labelled(origin: str, description: str, told: bool) -> None:
    judges = [{"role": "primary", "description": description}, {"role": "second", "description": "against people"}]
    assert sentences.told_judges({"origin": origin, "judges": judges}) == judges[: int(told)]
