"""Presenter mode: its slides and their order, what it must never show, and what its keys do; see tests/browser too."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled
from audit_core.numerals import percent
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.signoff import Wish, sign
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person
from audit_core.verify import verify
from dashboard import identity, runtime
from dashboard.components.key_log import Press
from dashboard.components.keys import sent
from dashboard.numbers import exact, interval
from dashboard.presenting import picks
from dashboard.presenting.keys import REGISTRY
from dashboard.presenting.markup import LINES, pages
from dashboard.presenting.picks import MOST
from dashboard.presenting.show import Show, Sight, act
from tests.support import desk, ruled
from tests.support.signing import AT, give, screens
from tests.support.zoo import EVIL, ZOO, build

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")
NOTE = "a note that is for reviewers only"


@pytest.fixture(scope="module")
def bundled_db(tmp_path_factory):
    db = tmp_path_factory.mktemp("bundled") / "audit.db"
    load([bundled.resolve(name) for name in ("nq-400", "help-centre")], db, verifier=verify)
    return db


@pytest.fixture(scope="module")
def zoo_db(tmp_path_factory):
    return build(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    study = desk.study(folder, "plain", [f"q{n:02}" for n in range(14)], desk.flipped, text=lambda q: f"What of {q}?",
                       passage=lambda q, state, rank: f"Passage {rank} of {state}.")  # fmt: skip
    people = ruled.build(folder / "people", ruled.PEOPLE, questions=24)
    db = desk.database(folder, study, people, desk.hostile(folder), desk.contradiction(folder))
    return folder, db


@pytest.fixture
def store(tmp_path):
    return ReviewStore(tmp_path / "reviews.db")


@pytest.fixture
def show(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()
    identity._watched.cache_clear()
    monkeypatch.delenv(runtime.TEAM, raising=False)
    monkeypatch.setenv(runtime.REVIEWER, "Robin")

    def opened(db: Path, **address: str | list[str]) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(db))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        at = AppTest.from_file(APP, default_timeout=60)
        at.run()
        for key, value in address.items():
            at.query_params[key] = value
        at.switch_page("views/present.py").run()
        assert not at.exception
        return at

    return opened


@pytest.fixture
def team(monkeypatch, tmp_path):
    def of(role: str, review: str = "") -> None:
        path = tmp_path / "team.toml"
        path.write_text(f'[people]\nRobin = "{role}"\nAnn = "adjudicator"\n[review]\n{review}\n', "utf-8")
        monkeypatch.setenv(runtime.TEAM, str(path))
        identity._watched.cache_clear()

    return of


def told(at: AppTest) -> Show:
    return at.session_state["present-show"]


def keys(at: AppTest) -> list[str]:
    return [slide.key for slide in told(at).slides]


def blocks(at: AppTest) -> str:
    return "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)


def words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def every(found: Show, sight: Sight = Sight()) -> dict[str, str]:  # noqa: B008  a frozen value
    """Markup of every slide."""
    contents = {slide.key: slide.draw(sight) for slide in found.slides}
    return {key: content.markup + content.below for key, content in contents.items()}


def press(found: Show, action: str, value: str = "", item: str | None = None, n: int = 0) -> None:
    request = f"tab:{n or id(object())}"
    act(found, Press(request, action, value, found.item if item is None else item, None, None))


def test_slides_in_their_order(show, bundled_db):
    at = show(bundled_db, study="nq-400")
    found = keys(at)
    assert found[:5] == ["title", "numbers", "noise", "accuracy", "ladder"]
    assert [key.partition(":")[0] for key in found[5:]] == [
        *["flip"] * MOST, "protocol-0", "review", "signoff", *[f"limits-{n}" for n in range(len(found) - 18)],
    ]  # fmt: skip
    assert len(set(found)) == len(found)
    text = words(blocks(at))
    assert "The step from n1 to n7 changed answers beyond ordinary repeat noise." in text
    assert "Reconstructed from published figures; ids only" in text
    assert f"1 / {len(found)}" in text
    assert at.query_params["slide"] in ("1", ["1"])


def test_numbers_are_those_of_the_estimates(show, bundled_db):
    found = every(told(show(bundled_db, study="nq-400")))
    rows = read.estimates(bundled_db, "nq-400")
    text = words(found["numbers"])
    within, across, excess = (
        rows[f"{name}[semantic]@n1-n7"] for name in ("baseline_agreement", "cross_agreement", "excess_churn")
    )
    shares = [percent(exact(row)) for row in (within, across)]
    for expected in ("10.25 pp", *shares, "40 of 400 questions", f"95% interval {interval(excess)}"):
        assert expected in text
    flows = [rows[f"transitions[{kind}]@n1-n7"]["numerator"] for kind in ("lost", "gained", "different_nonmatch")]
    assert re.findall(r'<b class="">(\d+)</b>', found["accuracy"]) == list(map(str, flows))
    assert "59 questions of 400 flip" in found["ladder"]
    assert "0 of 40 repeat-stable flips have a verdict" in words(found["review"])


def test_no_page_furniture_is_drawn(show, bundled_db):
    at = show(bundled_db, study="nq-400")
    assert not at.selectbox
    assert not at.toggle
    assert "Robin" not in blocks(at)
    assert "sa-who" not in blocks(at)


@pytest.mark.parametrize("study", ZOO)
def test_studies_at_the_edges(show, zoo_db, study):
    at = show(zoo_db, study=study)
    found = told(at)
    for key, markup in every(found, Sight(True, True, True)).items():
        assert markup.count("<h1 ") == 1, key
        assert not re.search(r"\bnan\b|\bNone\b|\binf\b|Traceback", words(markup)), key
        assert EVIL not in markup
        assert "<img" not in markup
        assert "<a " not in markup
    assert (found.alarm != "") == (study == "broken")
    expected = {
        "one-state": "This study has a single state.",
        "one-repeat": "movement cannot be told from repeat noise",
        "broken": "This study failed its integrity check. Do not rely on any number here.",
        "bare": "Exact kernel only",
    }
    assert expected.get(study, "") in words(blocks(at))


def test_what_is_missing_is_said(show, zoo_db):
    quiet = every(told(show(zoo_db, study="still")))
    assert "No question has repeats that agree" in quiet["flips"]
    assert "no question waits for a person" in quiet["review"]
    once = every(told(show(zoo_db, study="one-repeat")))
    assert "No noise floor" in once["flips"]
    assert "Noise and update cannot be told apart" in once["noise"]
    bare = every(told(show(zoo_db, study="bare")))
    assert "cannot be measured" in bare["accuracy"]
    assert "No rule was fixed in advance" in bare["rules"]
    assert keys(show(zoo_db, study="one-state")) == ["title", "limits-0"]


@pytest.mark.parametrize("slide", ["2", "6", "8"])
def test_a_failed_check_stands_on_every_slide_and_shows_no_outcome(show, zoo_db, slide):
    at = show(zoo_db, study="broken", slide=slide)
    assert '<p class="sa-banner bad sa-alarm" role="alert">This study failed its integrity check.' in blocks(at)
    rule = every(told(at))["protocol-0"]
    assert "rests on data that failed a check" in rule
    assert "met" not in words(rule)


def test_a_deep_link_opens_its_slide_and_says_where_there_is_none(show, bundled_db):
    assert told(show(bundled_db, study="help-centre", slide="3")).at == 2
    for wrong in ("0", "99", "x", "²"):
        at = show(bundled_db, study="help-centre", slide=wrong)
        assert told(at).at == 0
        assert "The address asks for a slide that is not there" in words(blocks(at))


def test_flips_with_a_verdict_come_first_by_the_rule_on_screen(show, made, store):
    folder, db = made
    screen = screens(folder / "plain", "semantic")
    said = [("improvement", "high"), ("regression", None), ("regression", "low"), ("regression", "high")]
    for number, (verdict, impact) in enumerate(said, start=10):
        give(store, screen(store.fold()), f"q{number}", "local:Robin", verdict, impact=impact, note=NOTE)
    at = show(db, study="plain")
    assert keys(at)[4:14] == [f"flip:q{n:02}" for n in (13, 12, 11, 10, 0, 1, 2, 3, 4, 5)]
    text = words(every(told(at))["flip:q13"])
    assert "Question 1 of 10" in text
    assert "Regression, high impact" in text
    assert "of 14 questions in the queue “Repeat-stable flips”, at most 10; first those with a verdict that" in text


def test_picked_questions_and_nothing_else_in_the_order_of_picking(show, made, monkeypatch):
    at = show(made[1], study="plain", queue="all", only=["q07", "q02", "nowhere", "q07"])
    assert [key for key in keys(at) if key.startswith("flip")] == ["flip:q07", "flip:q02"]
    assert "3 questions of the study, in the order of picking. 1 left out" in every(told(at))["flip:q02"]
    monkeypatch.setattr(picks, "NAMED", 3)
    at = show(made[1], study="plain", queue="all", only=["q07", "q02", "q05", "q01"])
    assert [key for key in keys(at) if key.startswith("flip")] == ["flip:q07", "flip:q02", "flip:q05"]
    assert "The first 3 are shown." in every(told(at))["flip:q02"]


def test_another_queue_and_its_filter(show, made):
    at = show(made[1], study="plain", queue="all", sort="ladder", find="q05")
    assert [key for key in keys(at) if key.startswith("flip")] == ["flip:q05"]
    at = show(made[1], study="plain", queue="nonsense")
    assert "The address asks for the queue “nonsense”" in words(blocks(at))


def test_gold_is_nowhere_before_its_reveal_which_is_recorded(show, made, store):
    at = show(made[1], study="plain", slide="5")
    found = told(at)
    assert found.slide.question == "q00"
    assert "gold of" not in blocks(at)
    assert not any("gold of" in markup for markup in every(found, Sight(evidence=True, names=True)).values())
    press(found, "gold", item="of another slide")
    assert not found.gold
    press(found, "gold")
    assert "gold of q00" in found.slide.draw(found.sight).markup
    press(found, "gold")
    assert not found.gold
    press(found, "gold")
    events = store.events()
    assert [(e.kind, e.subject, e.question_id, e.reviewer, e.visible) for e in events] == [
        ("reveal", "gold", "q00", "local:Robin", ("states", "evidence", "labels"))
    ]
    press(found, "next")
    press(found, "next")
    assert (found.slide.question, found.gold, found.evidence) == ("q01", False, False)
    assert "gold of" not in found.slide.draw(found.sight).markup


def test_gold_that_was_shown_in_triage_is_hidden_again_here(show, made, store):
    screen = screens(made[0] / "plain", "semantic")(store.fold())
    give(store, screen, "q00", "local:Robin", None, kind="reveal", subject="gold")
    found = told(show(made[1], study="plain", slide="5"))
    assert not found.gold
    press(found, "gold")
    assert found.gold
    assert len(store.events()) == 1


def test_a_viewer_records_nothing(show, made, store, team):
    team("viewer")
    found = told(show(made[1], study="plain", slide="5"))
    press(found, "gold")
    assert found.gold
    assert not store.path.exists() or store.events() == []


def test_gold_that_cannot_be_recorded_is_not_shown(show, made, tmp_path):
    (tmp_path / "reviews.db").mkdir()
    found = told(show(made[1], study="plain", slide="5"))
    press(found, "gold")
    assert not found.gold
    assert found.problem is not None


def test_names_are_shown_only_where_chosen_and_notes_never(show, made, store):
    folder, db = made
    screen = screens(folder / "plain", "semantic")
    give(store, screen(store.fold()), "q03", "local:Boadicea", "regression", impact="high", note=NOTE)
    ann = Person("local:Annabel", "adjudicator")
    wish = Wish("conditions", f"Reason: {NOTE}", "Fix q03 first.")
    sign(store, ann, screen(store.fold()), screen, wish, request_id="s", at=AT)
    at = show(db, study="plain", slide="5")
    found = told(at)
    assert not found.names
    hidden, named = every(found), every(found, Sight(names=True))
    for markup in (*hidden.values(), blocks(at)):
        assert "Boadicea" not in markup
        assert "Annabel" not in markup
    assert "by Boadicea" in words(named["flip:q03"])
    assert "Signed by Annabel (a name chosen on the machine, not proved)" in words(named["signoff"])
    assert "Ship with conditions" in hidden["signoff"]
    assert "Fix q03 first." in hidden["signoff"]
    assert not any(NOTE in markup for markup in (*hidden.values(), *named.values()))
    press(found, "names")
    assert found.names
    assert not told(show(db, study="plain", slide="5")).names


def test_an_independent_reviewer_learns_nothing_of_others(show, made, store, team):
    folder, db = made
    for study in ("plain", "people"):
        screen = screens(folder / study, "semantic")
        ids = screen(store.fold()).flips
        give(store, screen(store.fold()), ids[-1], "local:Boadicea", "regression", impact="high")
        give(store, screen(store.fold()), ids[0], "local:Boadicea", "improvement")
        give(store, screen(store.fold()), ids[0], "local:Robin", "improvement")
    team("reviewer")
    found = told(show(db, study="plain"))
    shown = every(found, Sight(names=True))
    assert keys(show(db, study="plain"))[4:6] == ["flip:q00", "flip:q01"]  # q13, with a regression, is not put first
    assert "Improvement" in shown["flip:q00"]
    assert "by Boadicea, Robin" in words(shown["flip:q00"])
    assert not any("Regression" in markup for key, markup in shown.items() if key.startswith("flip"))
    assert "Regressions" not in shown["review"]
    assert "only on questions that you have judged yourself" in shown["review"]
    rule = words(every(told(show(db, study="people")))["release-0"])
    assert "Shown to you once you have judged every question" in rule
    assert "high-impact regression is" not in rule
    team("adjudicator")
    assert "Regression, high impact" in every(told(show(db, study="plain")))["flip:q13"]


def test_masked_questions_are_left_out_until_the_own_verdict(show, made, store, team):
    folder, db = made
    screen = screens(folder / "plain", "semantic")
    give(store, screen(store.fold()), "q04", "local:Robin", "improvement")
    give(store, screen(store.fold()), "q05", "local:Boadicea", "improvement")
    team("reviewer", "masked = true")
    at = show(db, study="plain", slide="5")
    assert [key for key in keys(at) if key.startswith("flip")] == ["flip:q04"]
    assert "13 left out: masked until you have judged them" in words(blocks(at))
    team("adjudicator", "masked = true")
    at = show(db, study="plain", queue="all", only=["q05", "q06"])
    assert [key for key in keys(at) if key.startswith("flip")] == ["flip:q05"]
    team("viewer", "masked = true")
    assert len([key for key in keys(show(db, study="plain")) if key.startswith("flip")]) == MOST


def test_hostile_text_is_text_and_long_answers_end_in_an_ellipsis(show, made):
    hostile = every(told(show(made[1], study="hostile", queue="all")), Sight(True, True, True))
    together = "\n".join(hostile.values())
    assert "&lt;script&gt;document.title=1&lt;/script&gt;" in together
    for raw in ("<script", "<img", "<style", "<a ", "\u202e", "\u200b", "\x1b"):
        assert raw not in together
    assert 'title="U+202E">RLO</mark>' in together
    long = every(told(show(made[1], study="desk")))["flip:long"]
    assert len(long) < 6_000
    assert "…</span>" in long
    assert "only the beginning is compared" in long


def test_steps_of_a_flip_ends_and_jumps(show, made):
    found = told(show(made[1], study="plain", slide="5"))
    press(found, "next")
    assert (found.at, found.evidence) == (4, True)
    assert "Documents:" in found.slide.draw(found.sight).markup
    assert "Passage 1 of n7." in found.slide.draw(found.sight).markup
    press(found, "next")
    assert (found.at, found.evidence) == (5, False)
    press(found, "evidence")
    press(found, "previous")
    assert (found.at, found.evidence) == (5, False)
    press(found, "previous")
    assert found.at == 4
    press(found, "first")
    press(found, "previous")
    assert (found.at, found.message) == (0, "This is the first slide.")
    press(found, "evidence")
    press(found, "gold")
    assert not found.evidence
    assert not found.gold
    press(found, "last")
    press(found, "next")
    assert (found.at, found.message) == (len(found.slides) - 1, "This is the last slide.")
    press(found, "jump", "3")
    assert (found.at, found.message) == (2, "")
    for wrong in ("0", "99", "²", "", "9" * 40):
        press(found, "jump", wrong)
        assert found.at == 2
        assert found.message.startswith("There is no slide")
    press(found, "close")
    assert found.closing


def test_one_registry_feeds_listener_help_and_documentation():
    assert len({key.key for key in REGISTRY}) == len({key.action for key in REGISTRY}) == len(REGISTRY)
    listened = sent(REGISTRY)
    assert {name: listened[name] for name in (" ", "pagedown", "pageup", "arrowright", "escape", "q")} == {
        " ": "next", "pagedown": "next", "pageup": "previous", "arrowright": "next", "escape": "close", "q": "close",
    }  # fmt: skip
    assert sent(REGISTRY, own=True) == {"digits": "jump", "b": "black", ".": "black", "f": "screen", "?": "help"}
    documentation = (Path(__file__).parents[2] / "docs" / "present.md").read_text("utf-8")
    for key in REGISTRY:
        assert key.help in documentation, key.action


def test_lists_are_split_over_slides():
    assert pages([]) == [[]]
    assert pages(["short"] * 3) == [["short"] * 3]
    many = [f"{n} " + "word " * 60 for n in range(12)]
    found = pages(many)
    assert [item for page in found for item in page] == many
    assert all(len(page) * 4 <= LINES for page in found)
