"""The labelling desk without a browser: what each key stores, and what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from audit_core.reviews.events import LABELS, Event
from audit_core.reviews.labels import Asked
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person
from dashboard.components import label_card, labelling
from dashboard.components.key_log import Press
from dashboard.components.keys import sent
from dashboard.components.labelling import REGISTRY, Asking, LabelDesk
from tests.support.labelling import BUNDLE, NEW, OLD, Simulated

ANN = Person("local:ann", "reviewer")


class Seat:
    """One person at the desk, pressing keys that carry what is on screen."""

    def __init__(self, store: ReviewStore, study: Simulated, person: Person = ANN) -> None:
        sample = study.drawn(10)
        what = Asking(study.study_id, BUNDLE, OLD, NEW, sample.seed, sample.sha256, person.name)
        self.desk = LabelDesk(store, what, study.queue(sample, person.name))
        self.person, self.number = person, 0
        self.desk.refresh()
        self.desk.begin()
        self.look()

    def look(self) -> str:
        self.desk.put_on_screen()
        return label_card.card(self.desk)

    def press(self, action: str, item: str | None = None, undo: int | None = None, person: Person | None = None,
              request: str = "") -> None:  # fmt: skip
        self.number += 1
        offered = self.desk.offered()
        shown = Press(request or f"{self.person.name}:{self.number}", action, "", item or self.desk.item, None,
                      undo or (offered.id if offered else None))  # fmt: skip
        labelling.act(self.desk, shown, person or self.person)
        self.look()


@pytest.fixture(scope="module")
def study() -> Simulated:
    return Simulated(questions=40, flips=0.4)


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db", timeout=0.2, patience=0.2)


@pytest.fixture
def seat(store: ReviewStore, study: Simulated) -> Seat:
    return Seat(store, study)


def saved(store: ReviewStore) -> list[Event]:
    return store.events()


@pytest.mark.parametrize("value", list(LABELS))
def test_a_label_holds_what_was_shown_and_the_desk_goes_on(seat: Seat, store: ReviewStore, value: str) -> None:
    pair = seat.desk.pair
    seat.press(f"label:{value}")
    (event,) = saved(store)
    assert (event.kind, event.verdict, event.reviewer) == ("label", value, "local:ann")
    assert (event.question_id, event.subject, event.item_sha256) == (pair.question_id, pair.subject, pair.sha256)
    assert event.sides in (pair.first.name, pair.second.name)
    assert (event.old, event.new, event.bundle, event.visible) == (OLD, NEW, BUNDLE, ())
    assert seat.desk.current == 1
    assert seat.desk.given[pair.place] == event
    assert f"Saved #{event.id}" in label_card.panel(seat.desk, clock())


def clock():
    from datetime import UTC, datetime

    return label_card.Clock.of("UTC", datetime.now(UTC))


def test_the_side_that_is_recorded_is_the_one_called_a(seat: Seat, store: ReviewStore) -> None:
    for _ in range(8):
        pair = seat.desk.pair
        before = seat.look()
        seat.press("label:same")
        event = saved(store)[-1]
        first = pair.first if event.sides == pair.first.name else pair.second
        assert before.index(first.text) < before.index("Answer B")


def test_a_press_for_another_pair_is_dropped(seat: Seat, store: ReviewStore) -> None:
    before = seat.desk.item
    seat.press("label:same")
    seat.press("label:same", item=before)
    seat.press("label:different", item="f" * 20)
    seat.press("label:regression")
    assert len(saved(store)) == 1


def test_one_press_is_one_label_however_often_it_arrives(seat: Seat, store: ReviewStore) -> None:
    pair = seat.desk.item
    seat.press("label:same", request="tab:1")
    seat.desk.move(-1)
    seat.look()
    seat.press("label:same", item=pair, request="tab:1")
    assert len(saved(store)) == 1


@pytest.mark.parametrize(
    "person", [Person("local:ann", "viewer", reason="Look only."), Person("local:eve", "adjudicator")]
)
def test_a_viewer_and_somebody_else_in_the_seat_store_nothing(seat: Seat, store: ReviewStore, person: Person) -> None:
    seat.press("label:same", person=person)
    seat.press("undo", person=person)
    assert saved(store) == []
    assert seat.desk.current == 0
    if person.role == "viewer":
        assert "not saved" in label_card.panel(seat.desk, clock())


def test_undo_takes_back_what_the_screen_offered_and_keeps_history(seat: Seat, store: ReviewStore) -> None:
    first = seat.desk.pair
    seat.press("label:same")
    seat.press("label:different")
    seat.press("undo", undo=99)
    assert len(saved(store)) == 2
    seat.press("undo")
    seat.press("undo")
    assert [e.verdict for e in saved(store)] == ["same", "different", None, None]
    assert seat.desk.given == {}
    assert seat.desk.pair is first
    assert seat.desk.offered() is None


def test_a_label_may_be_changed_and_the_newest_counts(seat: Seat, store: ReviewStore) -> None:
    seat.press("label:same")
    seat.press("previous")
    assert 'aria-pressed="true"' in label_card.panel(seat.desk, clock())
    seat.press("label:different")
    assert [e.verdict for e in seat.desk.given.values()] == ["different"]
    assert len(saved(store)) == 2


def test_moves_say_where_the_ends_are_and_open_pairs_are_found(seat: Seat) -> None:
    seat.press("previous")
    assert seat.desk.message == "This is the first pair."
    seat.press("label:same")
    seat.press("previous")
    seat.press("open")
    assert seat.desk.current == 1
    for _ in seat.desk.queue:
        if seat.desk.pair.place not in seat.desk.given:
            seat.press("label:same")
    assert seat.desk.message == "Every pair of the sample has your label."
    assert "10 of 10 questions finished" in label_card.progress(seat.desk)


def test_a_refused_save_says_so_keeps_the_value_and_can_be_made_again(seat: Seat, store: ReviewStore) -> None:
    seat.press("label:same")
    held = sqlite3.connect(store.path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    item = seat.desk.item
    seat.press("label:different")
    assert seat.desk.item == item
    shown = label_card.panel(seat.desk, clock())
    assert "Different</b> is kept on this page and <b>not saved" in shown
    assert "Saved #2" not in shown
    held.execute("ROLLBACK")
    held.close()
    seat.press("retry")
    assert [e.verdict for e in saved(store)] == ["same", "different"]
    assert seat.desk.item != item
    assert "not saved" not in label_card.panel(seat.desk, clock())


def test_two_tabs_of_one_person_and_two_people_do_not_disturb_each_other(store: ReviewStore, study: Simulated) -> None:
    one, two = Seat(store, study), Seat(store, study)
    ben = Seat(store, study, Person("local:ben", "reviewer"))
    pair = one.desk.pair
    one.press("label:same")
    two.press("label:different", request="other tab")
    ben.press("label:cannot_tell")
    two.desk.refresh()
    assert two.desk.given[pair.place].verdict == "different"
    assert len(ben.desk.given) == 1
    assert len(saved(store)) == 3


def test_nothing_on_the_card_tells_states_repeats_or_labels(seat: Seat, study: Simulated) -> None:
    shown = seat.look() + label_card.panel(seat.desk, clock()) + label_card.progress(seat.desk)
    text = shown.replace(seat.desk.pair.first.text, "").replace(seat.desk.pair.second.text, "")
    for word in (OLD, NEW, "judge", "gold", "repeat", "snapshot", "evidence"):
        assert word not in text.lower()


def test_hostile_and_long_texts_are_shown_to_the_letter(store: ReviewStore) -> None:
    study = Simulated(questions=20, single=0)
    seat = Seat(store, study)
    evil = "<img src=x onerror=alert(1)> $x$ **b** \u202e" + "w " * 20_000
    answers = [seat.desk.pair.first, seat.desk.pair.second]
    object.__setattr__(answers[0], "text", evil)
    object.__setattr__(answers[1], "text", "  ")
    shown = seat.look()
    assert "<img" not in shown
    assert "&lt;img src=x" in shown
    assert "RLO" in shown
    assert "show all 40," in shown
    assert "(an empty answer)" in shown
    assert isinstance(seat.desk.pair, Asked)
    for side in "AB":
        labelling.act(seat.desk, Press(f"t:{side}", "full_text", side, seat.desk.item, None, None), ANN)
    assert "show all" not in seat.look()


def test_keys() -> None:
    keys = sent(REGISTRY)
    assert {name: keys[name] for name in "1s2d3c"} == {
        "1": "label:same", "s": "label:same", "2": "label:different", "d": "label:different",
        "3": "label:cannot_tell", "c": "label:cannot_tell",
    }  # fmt: skip
    assert set(keys) == {*"1s2d3cjknz"}
