"""The Judges page and the labelling desk's door: drawing, the numbers of the core, and what nobody may see or do."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core.readmodel import read
from audit_core.report.labelled import frame
from audit_core.report.people import Checked, check
from audit_core.results import as_row, settings_of
from audit_core.reviews import labels
from audit_core.reviews.store import ReviewStore
from dashboard import runtime
from dashboard.numbers import points
from dashboard.people import ratio
from tests.support.labelling import NEW, OLD, Says, Simulated, erring, label, truly
from tests.support.zoo import build

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")
ANN, BEN, CAT = (erring(name, 0.1, 0.1) for name in ("ann", "ben", "cat"))
Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def study() -> Simulated:
    return Simulated(questions=60, flips=0.4, seed=5)


@pytest.fixture(scope="module")
def db(study: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study.database(tmp_path_factory.mktemp("judges"))


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db")


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, db: Path) -> Open:
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()

    def opened(page: str = "judges", who: str = "ann", path: Path = db, **address: str) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(path))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        monkeypatch.setenv(runtime.REVIEWER, who)
        at = AppTest.from_file(APP, default_timeout=60)
        for key, value in address.items():
            at.query_params[key] = value
        at.run()
        at.switch_page(f"views/{page}.py").run()
        assert not at.exception
        return at

    return opened


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    def written(**roles: str) -> None:
        lines = "\n".join(f'"{name}" = "{role}"' for name, role in roles.items())
        (tmp_path / "team.toml").write_text(f"[people]\n{lines}\n")
        monkeypatch.setenv(runtime.TEAM, str(tmp_path / "team.toml"))

    return written


def words(at: AppTest) -> str:
    found = "\n".join(b.proto.body for b in at.get("html") if "<style>" not in b.proto.body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


def buttons(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def draw(at: AppTest, size: int | None = None) -> AppTest:
    if size is not None:
        at.number_input[0].set_value(size)
    at.button(key="people-draw").click().run()
    return at


def labelled(study: Simulated, store: ReviewStore, people: dict[str, Says], stop: int | None = None) -> None:
    event = next(e for e in reversed(store.events()) if e.kind == "sample")
    sample = labels.parse(event)
    assert sample is not None
    for who, says in people.items():
        for pair in study.queue(sample, who)[:stop]:
            value = says(pair)
            if value:
                store.append(label(study.study_id, who, pair, value))


def core(study: Simulated, store: ReviewStore, db: Path) -> Checked:
    """What the core says about the same events, from the database."""
    found = frame(read.arrays(db, study.study_id), OLD, NEW)
    fold = store.fold()
    sample = labels.samples(fold, study.study_id, (OLD, NEW), "primary", found.strata)[-1]
    own = labels.given(fold, study.study_id)
    return check(found, sample, study.asked(sample), own, settings_of(study.protocol))


def test_an_adjudicator_draws_a_sample_once_and_enlarges_it(show: Open, store: ReviewStore, study: Simulated) -> None:
    at = show()
    assert "No sample has been drawn." in words(at)
    assert "Label" not in " ".join(buttons(at))
    draw(at, 10)
    (event,) = store.events()
    assert (event.kind, event.reviewer, event.question_id) == ("sample", "local:ann", "")
    sample = labels.parse(event)
    assert sample is not None
    assert sample.seed == study.protocol.seed
    assert sample.sizes == {"moved": 5, "still": 5}
    assert sample == labels.drawn(study.frame.strata, (OLD, NEW), "primary", study.protocol.seed, 10)
    assert "A sample of 10 questions , drawn by ann" in words(at)
    assert "Recorded: 10 questions, event #1." in words(at)
    assert "Nobody has labelled a pair yet." in words(at)
    draw(at, 24)
    assert [labels.parse(e).size for e in store.events()] == [10, 24]  # type: ignore[union-attr]
    assert "A sample of 24 questions" in words(at)


def test_the_page_shows_the_numbers_of_the_core(show: Open, store: ReviewStore, study: Simulated, db: Path) -> None:
    draw(show(), 24)
    labelled(study, store, {"local:ann": ANN, "local:ben": BEN})
    at, found = show(), core(study, store, db)
    text = words(at)
    assert "2 people have labelled pairs" in text
    for corrected in found.corrected:
        row = as_row(corrected.estimate)
        assert points(corrected.estimate.value) in text
        assert f"{row['low'] * 100:.2f}"[:-1].replace("-", "−") in text
    assert points(found.uncorrected.value) in text
    for against in found.against:
        assert ratio(as_row(against.kappa)) in text
        assert against.weighted_kappa is not None
        assert ratio(as_row(against.weighted_kappa)) in text
    assert ratio(as_row(found.between[0].kappa)) in text
    assert "ann and ben" in text
    assert "One person only" not in text
    drawing = "\n".join(figure.proto.spec for figure in at.get("plotly_chart"))
    assert "corrected, mean of all" in drawing
    assert f"Pairs on which they differ: {len(found.disagreements)}" in text


def test_one_person_and_three(show: Open, store: ReviewStore, study: Simulated) -> None:
    draw(show(), 10)
    labelled(study, store, {"local:ann": ANN})
    assert "One person only" in words(show())
    labelled(study, store, {"local:ben": BEN, "local:cat": CAT})
    text = words(show())
    assert "all people as sampled α" in text
    assert "One person only" not in text


def test_too_few_labels_say_what_is_missing(show: Open, store: ReviewStore, study: Simulated) -> None:
    draw(show(), 10)
    labelled(study, store, {"local:ann": truly}, stop=5)
    text = words(show())
    assert "ann: not measurable yet. Too few labels" in text or "No question has all its pairs labelled yet" in text
    assert "not yet enough to correct the judge's number" in text


def test_only_an_adjudicator_may_draw_whatever_the_page_showed(
    show: Open, team: Callable[..., None], store: ReviewStore
) -> None:
    team(ann="reviewer", ada="adjudicator", vi="viewer")
    for who in ("ann", "vi"):
        assert "Draw the sample" not in buttons(show(who=who))
    at = show(who="ada")
    assert "Draw the sample" in buttons(at)
    team(ada="viewer")
    draw(at)
    assert store.events() == []
    assert "you may not record this" in words(at)


def test_a_viewer_reads_and_cannot_label(
    show: Open, team: Callable[..., None], store: ReviewStore, study: Simulated
) -> None:
    draw(show(), 10)
    team(vi="viewer", ann="reviewer")
    at = show(who="vi")
    assert not any("Label pairs" in name for name in buttons(at))
    assert "You may not label pairs." in words(show("labels", who="vi"))
    assert any("Label pairs" in name for name in buttons(show(who="ann")))
    desk = show("labels", who="ann")
    assert "Do A and B mean the same answer?" in words(desk)
    assert len(store.events()) == 1


def test_what_others_said_is_hidden_from_whoever_is_still_labelling(
    show: Open, team: Callable[..., None], store: ReviewStore, study: Simulated
) -> None:
    draw(show(), 10)
    team(ann="reviewer", ben="reviewer", ada="adjudicator", vi="viewer")
    labelled(study, store, {"local:ann": erring("ann", 0.5, 0.5)})
    every = re.compile(r"(\d+) pairs hidden: they stand in questions that you have not finished")
    assert every.search(words(show(who="ben")))
    for who in ("ann", "ada", "vi"):
        assert not every.search(words(show(who=who))), who
    at = show(who="ben")
    assert not [b for b in at.get("download_button") if "people-disagreements" in b.proto.id]
    assert [b for b in show(who="vi").get("download_button") if "people-disagreements" in b.proto.id]


def test_without_judge_repeats_or_a_second_state_the_page_says_why(
    show: Open, tmp_path_factory: pytest.TempPathFactory
) -> None:
    zoo = build(tmp_path_factory.mktemp("zoo"), ("bare", "one-repeat", "one-state"))
    for name, sentence in (
        ("bare", "This study has no judge."),
        ("one-repeat", "There is nothing to label at these states."),
        ("one-state", "There is nothing to label at these states."),
    ):
        assert sentence in words(show(path=zoo, study=name)), name
        assert "There is no pair to label." in words(show("labels", path=zoo, study=name)), name
    assert "There is no pair to label yet." in words(show("labels"))


def test_a_study_labelled_anew_leaves_the_old_sample_behind(
    show: Open, store: ReviewStore, study: Simulated, tmp_path: Path
) -> None:
    draw(show(), 10)
    labelled(study, store, {"local:ann": truly})
    (tmp_path / "other").mkdir()
    other = Simulated(questions=60, flips=0.4, seed=6).database(tmp_path / "other")
    moved = tmp_path / "audit.db"
    shutil.copy(other, moved)
    text = words(show(path=moved))
    assert "drawn from answers or labels that this study no longer has" in text
    assert "No sample has been drawn." in text
