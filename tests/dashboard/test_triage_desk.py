"""The desk without a browser: what a press does, what is refused, what stays when the disk fails."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.reviews.events import LONGEST_NOTE, VERDICTS
from audit_core.reviews.masking import sides
from audit_core.reviews.queues import Table
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Role, Team
from dashboard.components.desk import Compared, Desk, item_of, pairs_of
from dashboard.components.group import members
from dashboard.components.group_card import group_card
from dashboard.components.key_log import Press
from dashboard.components.panel import aside_form, words
from dashboard.components.presses import act
from dashboard.components.saving import Details
from tests.support.desk import TWINS

IDS = [f"q{i}" for i in range(6)]
ME = Person("local:me", "adjudicator")
WHAT = Compared("s", "b" * 64, "n1", "n7", "semantic")


def table(ids: list[str] | tuple[str, ...] = tuple(IDS), **columns: list[Any]) -> Table:
    return Table({"question_id": list(ids), "flip": [1] * len(ids), "tags": ["[]"] * len(ids), **columns})


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Desk]:
    def made(**changes: Any) -> Desk:
        reviews = ReviewStore(tmp_path / "reviews.db", timeout=0.3, patience=0.2)
        desk = Desk(
            reviews,
            ME,
            Team(),
            WHAT,
            changes.pop("table", table()),
            content=content,
            search=lambda _text: set(),
            **changes,
        )
        desk.refresh()
        desk.adopt({})
        return desk

    return made


@pytest.fixture
def desk(make: Callable[..., Desk]) -> Desk:
    return make()


def content(question: str) -> dict[str, Any]:
    return {"question_id": question, "content_sha256": f"digest of {question}"}


HANDS = itertools.count()
"""A name for each hand that no other one has, also when the other one is gone."""


class Hand:
    """Presses as a page would send them, with what is on screen."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.name, self.number = desk, f"t{next(HANDS)}", 0
        self.draw()

    def draw(self) -> None:
        """The page is drawn: what it shows is noted."""
        self.desk.refresh()
        if self.desk.current is not None:
            self.desk.put_on_screen(content(self.desk.current))
        undo = self.desk.offered()
        self.screen = (self.desk.item, self.desk.standing(self.desk.current or "").newest, undo.id if undo else None)

    def lag(self) -> None:
        """The server has drawn the next question, and the browser has not painted it yet."""
        if self.desk.current is not None:
            self.desk.put_on_screen(content(self.desk.current))

    def press(self, action: str, value: str = "", *, draw: bool = True, item: str | None = None) -> None:
        self.number += 1
        on_screen, base, undo = self.screen
        press = Press(f"{self.name}:{self.number}", action, value, on_screen if item is None else item, base, undo)
        act(self.desk, press)
        if draw:
            self.draw()


def stored(desk: Desk) -> list[tuple[str, str, str | None]]:
    return [(event.kind, event.question_id, event.verdict) for event in ReviewStore(desk.reviews.path).events()]


def test_a_verdict_is_stored_with_exactly_what_was_shown(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("impact:high")
    hand.press("cause", item_of("cause", "distractor"))
    hand.press("note", "why")
    hand.press("verdict:regression")
    event = desk.reviews.events()[-1]
    assert (event.question_id, event.item_sha256, event.bundle) == ("q0", "digest of q0", WHAT.bundle)
    assert (event.old, event.new, event.kernel, event.reviewer) == ("n1", "n7", "semantic", "local:me")
    assert (event.verdict, event.impact, event.causes, event.note) == ("regression", "high", ("distractor",), "why")
    assert desk.current == "q1"
    assert desk.last == event


def test_a_press_for_a_question_that_is_gone_is_dropped(desk: Desk) -> None:
    hand = Hand(desk)
    for action in ("verdict:regression", "verdict:improvement", "impact:high", "reveal"):
        hand.press(action, draw=False)
        hand.lag()
    assert stored(desk) == [("verdict", "q0", "regression")]
    assert desk.current == "q1"


def test_details_before_a_verdict_are_on_disk_and_not_counted(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("impact:low")
    assert stored(desk) == [("draft", "q0", None)]
    assert desk.progress() == (0, 6, 0)
    hand.press("impact:low")
    assert desk.details() == Details()
    hand.press("note", "kept")
    again = Desk(ReviewStore(desk.reviews.path), ME, Team(), WHAT, table(), content, lambda _text: set())
    again.refresh()
    again.adopt({})
    assert again.details().note == "kept"


def test_a_note_is_stored_where_it_was_typed_also_when_the_desk_has_moved_on(desk: Desk) -> None:
    hand = Hand(desk)
    typed_on = desk.item
    hand.press("next")
    hand.press("note", "for the first one", item=typed_on)
    hand.press("note", "for nobody", item="unknown item")
    event = desk.reviews.events()[-1]
    assert (event.kind, event.question_id, event.note) == ("draft", "q0", "for the first one")
    assert len(desk.reviews.events()) == 1
    assert desk.current == "q1"


def test_the_field_of_a_note_is_not_drawn_anew_by_its_own_change(desk: Desk) -> None:
    hand = Hand(desk)
    assert desk.note_drawn() == ""
    hand.press("note", "typed")
    assert desk.note_drawn() == ""  # the browser has it already, and may be typing on
    hand.press("next")
    assert desk.note_drawn() == ""
    hand.press("previous")
    assert desk.note_drawn() == "typed"


def test_unknown_actions_and_values_do_nothing(desk: Desk) -> None:
    hand = Hand(desk)
    for action, value in (
        ("verdict:harm", ""),
        ("impact:huge", ""),
        ("cause", "nope"),
        ("queue", "nobody"),
        ("sort", "?"),
        ("resolve:draft", ""),
        ("", ""),
        ("verdict", "regression"),
        ("retry", ""),
    ):
        hand.press(action, value)
    assert stored(desk) == []
    assert (desk.queue, desk.sort, desk.current) == ("flips", "impact", "q0")


@given(
    st.lists(
        st.sampled_from(["verdict:regression", "next", "previous", "unreviewed", "undo", "impact:high", "reveal"]),
        max_size=25,
    ),
    st.randoms(use_true_random=False),
)
def test_no_order_of_presses_stores_for_a_question_that_was_not_on_screen(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str], rng: Any
) -> None:
    reviews = ReviewStore(tmp_path_factory.mktemp("any") / "reviews.db")
    desk = Desk(reviews, ME, Team(), WHAT, table(), content, lambda _text: set())
    desk.refresh()
    desk.adopt({})
    hand = Hand(desk)
    seen: list[tuple[str, str]] = []
    for action in actions:
        names = {desk.name_of(question): question for question in IDS}
        seen.append((action, names[hand.screen[0]]))
        hand.press(action, draw=rng.random() < 0.6)
        if rng.random() < 0.5:
            hand.lag()
    given_ = [question for action, question in seen if action == "verdict:regression"]
    for event in reviews.events():
        if event.kind == "verdict" and event.impact is None:
            assert event.question_id in given_
    assert reviews.fold().last == len(reviews.events())


def test_undo_takes_back_what_the_screen_offered_and_nothing_else(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("verdict:regression")
    hand.press("verdict:improvement", draw=False)
    hand.press("undo", draw=False)  # the screen still offers the first one
    assert [kind for kind, _, _ in stored(desk)] == ["verdict", "verdict"]
    hand.draw()
    hand.press("undo")
    assert desk.current == "q1"
    assert stored(desk)[-1] == ("retract", "q1", None)
    assert "Taken back: event #2, by event #3" in desk.message
    hand.press("undo")
    assert desk.current == "q0"
    hand.press("undo")
    assert len(stored(desk)) == 4


def test_an_undone_verdict_leaves_its_note(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("impact:medium")
    hand.press("note", "a long thought", draw=False)
    hand.press("verdict:both_wrong")
    hand.press("undo")
    assert desk.details() == Details("medium", (), "a long thought")
    hand.press("verdict:cannot_tell")
    assert desk.reviews.events()[-1].note == "a long thought"


def test_two_tabs(make: Callable[..., Desk]) -> None:
    one, two = Hand(make()), Hand(make())
    one.press("verdict:regression")
    two.press("verdict:improvement")
    assert two.desk.current == "q0"
    conflict = two.desk.standing("q0").conflict
    assert conflict is not None
    assert conflict.verdict == "improvement"
    two.press("resolve:draft")
    assert stored(two.desk)[-1] == ("verdict", "q0", "improvement")
    one.desk.show("q0")
    one.draw()
    assert one.desk.standing("q0").conflict is None
    one.press("verdict:both_acceptable")
    assert stored(one.desk)[-1] == ("verdict", "q0", "both_acceptable")


def test_the_first_tab_can_be_kept(make: Callable[..., Desk]) -> None:
    one, two = Hand(make()), Hand(make())
    one.press("verdict:regression")
    two.press("verdict:improvement")
    two.press("resolve:saved")
    assert [kind for kind, _, _ in stored(two.desk)] == ["verdict", "draft", "dismiss"]
    assert two.desk.progress() == (1, 6, 0)


def test_a_note_of_another_tab_is_not_overwritten_by_an_old_field(make: Callable[..., Desk]) -> None:
    one, two = Hand(make()), Hand(make())
    assert two.desk.note_drawn() == ""
    one.press("note", "from the first tab")
    two.draw()
    assert two.desk.note_drawn() == "from the first tab"


def test_a_locked_disk_keeps_verdict_note_and_question(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("impact:high")
    holder = sqlite3.connect(desk.reviews.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    hand.press("note", "precious", draw=False)
    hand.press("verdict:regression")
    assert desk.current == "q0"
    assert "busy" in str(desk.problem)
    assert desk.unsaved[desk.item] == ("regression", Details("high", (), "precious"))
    assert desk.details().note == "precious"
    assert desk.last is not None
    assert desk.last.kind == "draft"
    holder.execute("ROLLBACK")
    holder.close()
    hand.press("retry")
    assert desk.problem is None
    assert desk.unsaved == {}
    assert stored(desk)[-1] == ("verdict", "q0", "regression")
    assert desk.reviews.events()[-1].note == "precious"
    assert desk.current == "q1"


def test_a_damaged_store_is_told_and_input_stays(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("verdict:regression")
    desk.reviews.path.write_bytes(b"SQLite format 3\x00" + b"\x00" * 5000)
    hand.press("verdict:improvement")
    assert desk.current == "q1"
    assert desk.problem is not None
    assert "verdicts.jsonl" in str(desk.unread)
    assert desk.progress()[0] == 1  # what was read before stays on screen
    desk.reviews.path.unlink()
    hand.press("retry")
    assert [question for _, question, _ in stored(desk)] == ["q0", "q1"]


def test_a_note_beyond_the_limit_is_refused_in_words(desk: Desk) -> None:
    hand = Hand(desk)
    hand.press("note", "x" * (LONGEST_NOTE + 1))
    assert "too long" in str(desk.problem)
    assert stored(desk) == []


def test_the_order_is_fixed_while_one_works(make: Callable[..., Desk]) -> None:
    desk = make(table=table(lost=[0, 0, 1, 0, 1, 0]))
    hand = Hand(desk)
    assert [desk.table.ids[i] for i in desk.order] == ["q2", "q4", "q0", "q1", "q3", "q5"]
    for expected in ("q4", "q0", "q1"):
        hand.press("verdict:regression")
        assert desk.current == expected
    hand.press("previous")
    hand.press("previous")
    assert desk.current == "q4"
    hand.press("verdict:improvement")
    assert desk.current == "q1"
    hand.press("next")
    hand.press("next")
    hand.press("next")
    assert desk.current == "q5"
    assert desk.message == "This is the last question of the queue."
    assert desk.progress() == (3, 6, 0)


def test_next_unreviewed_goes_round_and_ends(make: Callable[..., Desk]) -> None:
    hand = Hand(make())
    hand.desk.show("q4")
    hand.draw()
    for _ in range(6):
        hand.press("verdict:cannot_tell")
    assert len({question for _, question, _ in stored(hand.desk)}) == 6
    assert hand.desk.message == "Every question of this queue has your verdict."


def test_address_round_trip(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.adopt({"queue": ["all"], "sort": ["random"], "seed": ["3"], "only": ["q1", "q3", "nobody"], "q": ["q3"]})
    assert desk.address() == {
        "queue": ["all"],
        "sort": ["random"],
        "seed": ["3"],
        "only": ["q1", "q3", "nobody"],
        "q": ["q3"],
    }
    assert sorted(desk.order) == [1, 3]
    other = make()
    other.adopt(desk.address())
    assert (other.order, other.current, other.problems) == (desk.order, "q3", [])
    desk.adopt({"queue": ["flips"], "q": ["q5"]})
    assert (desk.current, desk.place()) == ("q5", 5)


def test_a_question_outside_the_queue_is_shown_all_the_same(make: Callable[..., Desk]) -> None:
    desk = make(table=table(flip=[1, 0, 1, 0, 0, 0]))
    desk.adopt({"q": ["q3"]})
    assert (desk.current, desk.place()) == ("q3", None)
    desk.move(1)
    assert desk.current == "q0"


def test_an_empty_queue_has_no_question_and_nothing_breaks(make: Callable[..., Desk]) -> None:
    desk = make(table=table(flip=[0] * 6))
    assert (desk.current, desk.item, desk.order) == (None, "", [])
    hand = Hand(desk)
    for action in ("verdict:regression", "next", "previous", "unreviewed", "undo", "reveal", "impact:high", "evidence"):
        hand.press(action)
    assert stored(desk) == []


def test_ids_that_look_alike_have_their_own_names() -> None:
    assert len({item_of("s", question) for question in TWINS}) == len(TWINS)
    assert item_of("s", "a\nb") != item_of("s\na", "b")
    assert item_of("s", "x") != item_of("t", "x")


def test_causes_of_the_study_are_offered_again(make: Callable[..., Desk]) -> None:
    hand = Hand(make())
    hand.desk.causes.append("</style> odd cause")
    hand.press("cause", item_of("cause", "</style> odd cause"))
    again = make()
    again.gather_causes()
    assert "</style> odd cause" in again.causes_offered().values()


def test_pairs_to_compare_begin_across_the_endpoints() -> None:
    cells = [{"state_name": s} for s in ("n0", "n1", "n1", "n7", "n7")]
    pairs = pairs_of(cells, "n1", "n7")
    assert pairs[:6] == [(1, 3), (1, 4), (2, 3), (2, 4), (1, 2), (3, 4)]
    assert sorted(map(sorted, pairs)) == sorted([i, j] for i in range(5) for j in range(i + 1, 5))
    assert pairs_of(cells[:1], "n1", "n7") == []


# several people, masked answers, groups, memory, quarantine


def asked(question: str, old: str = "05:30", new: str = "06:00") -> dict[str, Any]:
    cells = [
        {"state_name": state, "answer": answer, "repeat": repeat, "cell_key": 4 * i + repeat}
        for i, (state, answer) in enumerate((("n1", old), ("n7", new)))
        for repeat in (1, 2)
    ]
    return {"question_id": question, "content_sha256": f"digest of {question}", "text": f"{question}?", "cells": cells}


class Seat(Hand):
    """A hand of a named person, on a desk whose questions have texts and answers."""

    def __init__(
        self, reviews: Path, name: str, role: Role = "reviewer", team: Team | None = None, **more: Any
    ) -> None:
        what = more.pop("what", WHAT)
        columns = more.pop("columns", {})
        texts = table(text=[f"{q}?" for q in IDS], **columns)
        found = Desk(ReviewStore(reviews, timeout=2), Person(name, role), team or Team(), what, texts, asked,
                     lambda _text: set(), **more)  # fmt: skip
        found.refresh()
        found.adopt({})
        super().__init__(found)

    def draw(self) -> None:
        self.desk.refresh()
        if self.desk.current is not None and not self.desk.grouping:
            self.desk.put_on_screen(asked(self.desk.current))
        undo = self.desk.offered()
        shown = self.desk.shown.get(self.desk.item)
        self.screen = (self.desk.item, shown.base if shown else None, undo.id if undo else None)

    def at(self, question: str, queue: str | None = None) -> Seat:
        if queue:
            self.desk.enter(queue, self.desk.sort)
        self.desk.show(question)
        self.draw()
        return self


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reviews.db"


def test_a_viewer_stores_nothing_by_any_press(path: Path) -> None:
    viewer = Seat(path, "vera", "viewer")
    for action, value in (
        *((f"verdict:{verdict}", "") for verdict in VERDICTS), ("impact:high", ""), ("note", "x"), ("reveal", ""),
        ("accept", ""), ("undo", ""), ("pick", ""), ("group", ""), ("fill", "queue"), ("unseen", ""),
        ("verdict:regression", ""), ("group", ""), ("resolve:saved", ""), ("release", ""),
        ("aside", json.dumps({"reason": "x", "until": viewer.desk.today})),
    ):  # fmt: skip
        viewer.press(action, value)
    assert viewer.desk.reviews.events() == []
    assert "role" in str(viewer.desk.problem)


def test_a_role_that_was_taken_away_counts_at_the_next_press(path: Path) -> None:
    seat = Seat(path, "ada")
    seat.press("verdict:regression")
    seat.desk.sits(Person("ada", "viewer"), Team())
    seat.press("verdict:regression")
    assert [event.question_id for event in seat.desk.reviews.events()] == ["q0"]


def test_others_are_hidden_until_the_own_verdict(path: Path) -> None:
    team = Team({"ada": "reviewer", "ben": "reviewer"}, needed=2)
    ada, ben = Seat(path, "ada", team=team), Seat(path, "ben", team=team)
    ada.press("verdict:regression")
    ben.at("q0")
    assert not ben.desk.others_visible("q0")
    assert ben.desk.counts()["disputed"] == 0
    ben.press("verdict:improvement")
    ben.at("q0")
    assert ben.desk.others_visible("q0")
    assert ben.desk.counts()["disputed"] == 1
    assert "others" not in ben.desk.reviews.events()[-1].visible  # what was in sight when it was given
    ben.press("verdict:regression")
    assert "others" in ben.desk.reviews.events()[-1].visible
    outsider = Seat(path, "cleo", team=team)
    assert outsider.desk.counts()["disputed"] == 0


def test_an_adjudicator_settles_and_a_stale_ruling_is_refused(path: Path) -> None:
    ada, ben = Seat(path, "ada"), Seat(path, "ben")
    ada.press("verdict:regression")
    ben.press("verdict:improvement")
    cleo = Seat(path, "cleo", "adjudicator").at("q0", "disputed")
    assert cleo.desk.ruling("q0")
    ben.at("q0").press("verdict:both_acceptable")  # after the adjudicator's page was drawn
    cleo.press("verdict:regression", draw=False)
    assert "ben: both_acceptable" in str(cleo.desk.problem)
    cleo.draw()
    cleo.press("verdict:regression")
    assert [(e.kind, e.reviewer, e.verdict) for e in cleo.desk.reviews.events()] == [
        ("verdict", "ada", "regression"), ("verdict", "ben", "improvement"), ("verdict", "ben", "both_acceptable"),
        ("adjudicate", "cleo", "regression"),
    ]  # fmt: skip
    assert cleo.desk.counts()["disputed"] == 0
    review = cleo.desk.review("q0")
    assert [v.verdict for v in review.verdicts] == ["regression", "both_acceptable"]
    cleo.press("undo")
    assert cleo.desk.counts()["disputed"] == 1


def test_what_an_adjudicator_notes_before_settling_is_no_second_opinion(path: Path) -> None:
    Seat(path, "ada").press("verdict:regression")
    cleo = Seat(path, "cleo", "adjudicator")
    cleo.press("verdict:improvement")
    cleo.at("q0", "disputed").press("impact:high")
    assert cleo.desk.standing("q0").conflict is None
    assert cleo.desk.details().impact == "high"
    assert cleo.at("q0", "all").desk.details().impact is None  # the own verdict keeps its own
    cleo.at("q0", "disputed").press("verdict:regression")
    ruling = cleo.desk.standing("q0").ruling
    assert ruling is not None
    assert ruling.impact == "high"


def test_a_quarantine_ends_on_a_desk_that_stays_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seat = Seat(path, "ada")
    seat.press("aside", json.dumps({"reason": "r", "until": seat.desk.today}))
    assert seat.desk.counts()["quarantine"] == 1
    monkeypatch.setattr("dashboard.components.round._today", lambda: "9999-01-01")
    seat.draw()
    assert seat.desk.counts()["quarantine"] == 0


@given(st.sampled_from(IDS), st.text("abc", min_size=1, max_size=6), st.sampled_from(list(VERDICTS)))
def test_masked_verdicts_mean_what_was_on_that_side(
    tmp_path_factory: pytest.TempPathFactory, question: str, name: str, pressed: str
) -> None:
    seat = Seat(tmp_path_factory.mktemp("masked") / "reviews.db", name, masked=True).at(question)
    first, _ = seat.desk.sides(question)
    seat.press(f"verdict:{pressed}")
    event = seat.desk.reviews.events()[0]
    assert event.sides == first
    assert event.visible == ()
    better = {"regression": first, "improvement": "n7" if first == "n1" else "n1"}.get(pressed)
    if better is None:
        assert event.verdict == pressed
    else:  # the better side is old: a regression; new: an improvement
        assert event.verdict == ("regression" if better == "n1" else "improvement")
    assert not seat.desk.masked_now(question)
    assert seat.at(question).desk.pressed(event.verdict) == event.verdict


def test_sides_differ_between_reviewers_and_questions() -> None:
    drawn = {(who, q): sides("s", q, who, ("n1", "n7"))[0] for who in ("ada", "ben") for q in IDS}
    assert set(drawn.values()) == {"n1", "n7"}
    assert any(drawn["ada", q] != drawn["ben", q] for q in IDS)


def test_a_press_made_while_masked_is_not_taken_for_an_open_one(path: Path) -> None:
    seat = Seat(path, "ada", masked=True)
    masked_item = seat.screen
    seat.press("masked")
    seat.press("verdict:regression", item=masked_item[0])
    assert seat.desk.reviews.events() == []


def test_evidence_and_gold_are_revealed_on_the_record(path: Path) -> None:
    seat = Seat(path, "ada", masked=True)
    seat.press("evidence")
    seat.press("reveal")
    seat.press("verdict:both_wrong")
    events = seat.desk.reviews.events()
    assert [(e.kind, e.subject) for e in events] == [("reveal", "evidence"), ("reveal", "gold"), ("verdict", "")]
    assert set(events[-1].visible) == {"evidence", "gold"}


def test_a_group_covers_what_was_seen_and_is_not_of_high_impact(path: Path) -> None:
    seat = Seat(path, "ada", columns={"tags": ["[]"] * 5 + ['["priority"]']})
    seat.at("q0").press("pick")
    seat.at("q1").press("pick")
    seat.at("q2").press("impact:high")
    seat.press("pick")
    seat.at("q3").press("verdict:improvement", draw=False)
    seat.at("q3").press("pick")
    seat.at("q0").press("group")
    seat.press("fill", "queue")
    found = {m.question_id: (m.left_out, m.opened) for m in members(seat.desk)}
    assert list(found) == ["q0", "q1", "q2", "q3", "q4", "q5"]
    assert [q for q, (reason, _) in found.items() if reason] == ["q2", "q3", "q5"]
    assert found["q4"] == ("", False)
    seat.press("impact:high")
    assert seat.desk.together_details.impact is None
    seat.press("impact:low")
    seat.press("verdict:regression")
    events = seat.desk.reviews.events()[-2:]
    assert [(e.question_id, e.verdict, e.impact) for e in events] == [
        ("q0", "regression", "low"), ("q1", "regression", "low")]  # fmt: skip
    assert len({e.group for e in events}) == 1
    seat.draw()
    seat.press("undo")
    assert [e.kind for e in seat.desk.reviews.events()[-2:]] == ["retract", "retract"]
    assert all(seat.desk.standing(q).verdict is None for q in ("q0", "q1"))


def test_a_shared_verdict_drops_no_note_and_its_undo_gives_it_back(path: Path) -> None:
    seat = Seat(path, "ada")
    seat.at("q0").press("note", "two policies", draw=False)
    seat.press("pick")
    seat.at("q1").press("pick")
    seat.press("group")
    seat.press("note", "same page", draw=False)
    seat.press("verdict:regression")
    assert [e.note for e in seat.desk.reviews.events()[-2:]] == ["two policies\nsame page", "same page"]
    seat.draw()
    seat.press("undo")
    assert seat.at("q0").desk.details().note.startswith("two policies")


def test_what_a_shared_verdict_left_out_does_not_stay_picked(path: Path) -> None:
    seat = Seat(path, "ada")
    seat.at("q0").press("verdict:improvement", draw=False)
    seat.at("q0").press("pick")
    seat.at("q1").press("pick")
    seat.press("group")
    seat.press("verdict:regression")
    assert not seat.desk.chosen


def test_the_form_to_set_aside_is_drawn_anew_for_another_question(path: Path) -> None:
    seat = Seat(path, "ada")
    first = aside_form(seat.at("q0").desk)
    assert first == aside_form(seat.at("q0").desk)
    assert first != aside_form(seat.at("q1").desk)


def test_a_group_takes_in_the_unseen_only_when_told_so(path: Path) -> None:
    seat = Seat(path, "ada")
    seat.press("group")
    seat.press("fill", "queue")
    seat.press("unseen")
    seat.press("verdict:regression")
    assert len([e for e in seat.desk.reviews.events() if e.kind == "verdict"]) == 6
    late = Seat(path, "ben")
    late.press("group")
    late.press("fill", "queue")
    before = late.screen[0]
    late.press("unseen")
    late.press("verdict:regression", item=before)  # pressed on a page that did not yet include them
    assert len([e for e in late.desk.reviews.events() if e.reviewer == "ben"]) == 0


def test_disputes_are_settled_one_by_one(path: Path) -> None:
    for question in ("q0", "q1"):
        Seat(path, "ada").at(question).press("verdict:regression")
        Seat(path, "ben").at(question).press("verdict:improvement")
    cleo = Seat(path, "cleo", "adjudicator").at("q0", "disputed")
    cleo.press("pick")
    cleo.press("group")
    assert [m.left_out for m in members(cleo.desk)] == ["disputed: settle it by itself"]
    cleo.press("verdict:regression")
    assert [e for e in cleo.desk.reviews.events() if e.reviewer == "cleo"] == []


def test_a_note_of_one_question_never_becomes_the_groups(path: Path) -> None:
    seat = Seat(path, "ada")
    item = seat.screen[0]
    seat.press("pick")
    seat.press("group")
    seat.press("note", "about q0 alone", item=item)  # sent again after the desk has moved on
    assert seat.desk.together_details.note == ""
    assert seat.desk.standing("q0").details is not None
    assert seat.desk.standing("q0").details.note == "about q0 alone"


def test_a_verdict_of_last_time_is_offered_and_accepted(path: Path) -> None:
    first = Seat(path, "ada", what=Compared("spring", "b" * 64, "n1", "n7", "semantic"))
    first.press("impact:high")
    first.press("note", "the old hours were right")
    first.press("verdict:regression")
    now = Seat(path, "ben")
    offer = now.desk.remembered("q0")
    assert offer is not None
    assert (offer.reviewer, offer.study_id, offer.note) == ("ada", "spring", "the old hours were right")
    now.press("accept", "0" * 64)
    assert len(now.desk.reviews.events()) == 3  # that is not what is offered
    now.press("accept")
    event = now.desk.reviews.events()[-1]
    assert (event.reviewer, event.verdict, event.impact, event.source) == ("ben", "regression", "high", offer.sha256)
    assert now.at("q1").desk.remembered("q1") is None
    assert Seat(path, "cleo", masked=True).desk.remembered("q0") is None


def test_quarantine_needs_a_reason_and_a_day_and_comes_back(path: Path) -> None:
    seat = Seat(path, "ada")
    for form in ({}, {"reason": " ", "until": seat.desk.today}, {"reason": "r", "until": "2020-01-01"},
                 {"reason": "r", "until": "9999-01-01"}, {"reason": "r", "until": "soon"}):  # fmt: skip
        seat.press("aside", json.dumps(form))
        assert seat.desk.problem is not None
    seat.press("aside", "[1")
    assert seat.desk.reviews.events() == []
    seat.press("aside", json.dumps({"reason": "no two answers agree", "owner": "ben", "until": seat.desk.today}))
    event = seat.desk.reviews.events()[-1]
    assert (event.kind, event.note, event.owner) == ("quarantine", "no two answers agree", "ben")
    assert seat.desk.current == "q1"
    assert seat.desk.set_aside() == 1
    assert seat.desk.counts()["flips"] == 5
    assert seat.desk.counts()["quarantine"] == 1
    seat.at("q0", "quarantine").press("release")
    assert seat.desk.counts()["flips"] == 6


def test_shares_make_a_queue_of_ones_own(path: Path) -> None:
    team = Team({"ada": "reviewer", "ben": "reviewer"}, assignment="share")
    seats = [Seat(path, name, team=team) for name in ("ada", "ben")]
    assert all(seat.desk.queue == "mine" for seat in seats)
    mine = [seat.desk.ids() for seat in seats]
    assert sorted(mine[0] + mine[1]) == IDS
    for seat in seats:
        for _ in seat.desk.ids():
            seat.press("verdict:both_wrong")
    assert seats[0].desk.settled() == len(mine[0])
    seats[0].desk.refresh()
    assert {name: done for name, done, _ in Seat(path, "ada", team=team).at("q0", "flips").desk.people()} == {
        "ada": len(mine[0]), "ben": len(mine[1])}  # fmt: skip


def test_the_history_of_a_question_is_that_of_its_pair(path: Path) -> None:
    """On another pair of states others may have spoken where the own verdict is still to come; own words turn there."""
    other = Compared("s", "b" * 64, "n1", "n3", "semantic")
    ada = Seat(path, "ada", what=other).at("q0")
    ada.press("verdict:both_wrong")
    ben = Seat(path, "ben").at("q0")
    ben.press("verdict:regression")
    assert [event.reviewer for event in ben.at("q0").desk.history()] == ["ben"]
    again = Seat(path, "ben", what=other, masked=True).at("q0")
    assert again.desk.history() == []
    again.press("aside", json.dumps({"reason": "flaky", "until": again.desk.today}))
    assert [event.kind for event in again.at("q0").desk.history()] == ["quarantine"]
    assert ada.at("q0").desk.history()[0].reviewer == "ada"


def test_a_verdict_on_another_pair_gives_no_side_away(path: Path) -> None:
    seat = Seat(path, "ada").at("q0")
    seat.press("verdict:regression")
    there = Seat(path, "ada", what=Compared("s", "b" * 64, "n1", "n3", "semantic"), masked=True)
    there.desk.inherit(seat.desk)
    there.desk.masked = True
    there.at("q0")
    assert there.desk.last is not None
    assert words(there.desk, there.desk.last) == "Regression"


def test_picked_questions_are_masked_like_single_ones(path: Path) -> None:
    seat = Seat(path, "ada", masked=True).at("q0")
    seat.press("pick")
    seat.press("group")
    assert "05:30" not in group_card(seat.desk)
    assert "06:00" not in group_card(seat.desk)
    seat.desk.masked = False
    assert "05:30" in group_card(seat.desk)


def test_whoever_sits_down_next_sees_nothing_of_the_one_before(path: Path) -> None:
    seat = Seat(path, "ada", team=Team({"ada": "reviewer", "ben": "reviewer"}, needed=2)).at("q0")
    seat.press("cause", item_of("cause", "stale document"))
    seat.desk.causes.append("a cause of ada's")
    seat.press("note", "what ada thinks")
    seat.press("verdict:regression")
    seat.press("pick")
    seat.desk.unsaved[seat.desk.item] = ("improvement", Details(note="ada's"))
    seat.desk.sits(Person("ben", "reviewer"), seat.desk.team)
    seat.draw()
    desk = seat.desk
    assert (desk.last, desk.unsaved, desk.chosen, desk.own, desk.opened - {desk.current}) == (None, {}, {}, {}, set())
    assert "a cause of ada's" not in desk.causes_offered().values()
    assert "Somebody else" in desk.message
    desk.sits(Person("ben", "viewer"), desk.team)  # another role, the same person
    assert desk.current is not None
