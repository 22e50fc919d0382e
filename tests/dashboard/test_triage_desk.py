"""The desk without a browser: what a press does, what is refused, what stays when the disk fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.reviews.events import LONGEST_NOTE
from audit_core.reviews.queues import Table
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person, Team
from dashboard.components.desk import Compared, Desk, item_of, pairs_of
from dashboard.components.key_log import Press
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


class Hand:
    """Presses as a page would send them, with what is on screen."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.number = desk, 0
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
        press = Press(f"t{id(self)}:{self.number}", action, value, on_screen if item is None else item, base, undo)
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
        names = {item_of("s", question): question for question in IDS}
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
    assert hand.desk.message == "Every question of this queue has a verdict."


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
