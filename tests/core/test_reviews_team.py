"""Several people: what counts, what is disputed, who gets what, what is set aside, what is remembered."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.errors import StorageError
from audit_core.reviews import memory
from audit_core.reviews.events import VERDICTS, Entry, Event, chained
from audit_core.reviews.export import export, visible_to
from audit_core.reviews.filters import parse
from audit_core.reviews.fold import Fold, progress
from audit_core.reviews.queues import Marks, Table, members
from audit_core.reviews.store import ConflictError, ReviewStore
from audit_core.reviews.team import Person, RefusedError, Team, permit

PAIR = ("n1", "n7")
BLANK = Entry(
    request_id="", study_id="s", bundle="b" * 64, question_id="q1", reviewer="ada", kind="verdict",
    item_sha256="c" * 64, at="2026-11-30T14:02:11.000Z", old="n1", new="n7", kernel="semantic",
)  # fmt: skip


def fold(*changes: dict[str, object]) -> Fold:
    found = Fold()
    for number, change in enumerate(changes):
        found.add(chained(replace(BLANK, request_id=f"r{number}", **change), found.last + 1, found.head))  # type: ignore[arg-type]
    return found


def says(who: str, verdict: str, **more: object) -> dict[str, object]:
    return {"reviewer": who, "verdict": verdict, **more}


def test_a_question_counts_once_enough_people_agree() -> None:
    one = fold(says("ada", "regression", impact="low"))
    review = one.review("s", "q1", PAIR)
    assert review.outcome(1) is not None
    assert review.outcome(2) is None
    two = fold(says("ada", "regression", impact="high"), says("ben", "regression", impact="low"))
    counted = two.review("s", "q1", PAIR).outcome(2)
    assert counted is not None
    assert counted.reviewer == "ada"  # of verdicts that agree the one of highest impact


def test_a_dispute_is_settled_by_a_ruling_that_keeps_the_losing_verdict() -> None:
    said = [says("ada", "regression"), says("ben", "improvement")]
    assert fold(*said).review("s", "q1", PAIR).disputed
    ruled = fold(*said, says("cleo", "improvement", kind="adjudicate", impact="medium"))
    review = ruled.review("s", "q1", PAIR)
    assert not review.disputed
    assert [v.verdict for v in review.verdicts] == ["regression", "improvement"]
    found = progress(ruled, "s", ["q1"], PAIR, needed=2)
    assert (found.reviewed, found.by_verdict["improvement"], found.disputed) == (1, 1, 0)
    again = fold(*said, says("cleo", "improvement", kind="adjudicate"), says("dan", "both_wrong"))
    assert again.review("s", "q1", PAIR).disputed
    agreed = fold(*said, says("cleo", "improvement", kind="adjudicate"), says("dan", "improvement"))
    assert not agreed.review("s", "q1", PAIR).disputed
    back = fold(*said, says("cleo", "improvement", kind="adjudicate"), {"reviewer": "cleo", "kind": "retract"})
    assert back.review("s", "q1", PAIR).disputed


def test_an_adjudicator_who_also_reviews_has_a_verdict_and_a_ruling() -> None:
    both = fold(says("ada", "regression"), says("cleo", "improvement"), says("cleo", "regression", kind="adjudicate"))
    standing = both.standing("s", "q1", "cleo", PAIR)
    assert standing.verdict is not None
    assert standing.verdict.verdict == "improvement"
    assert standing.ruling is not None
    assert both.last_given("s", "cleo", PAIR) == standing.ruling


def test_a_verdict_says_nothing_about_another_pair() -> None:
    found = fold(says("ada", "regression"), says("ada", "improvement", old="n3"))
    assert progress(found, "s", ["q1"], PAIR).by_verdict["regression"] == 1
    assert progress(found, "s", ["q1"], ("n3", "n7")).by_verdict["improvement"] == 1
    assert found.standing("s", "q1", "ada", PAIR).newest == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(VERDICTS)), st.booleans()), max_size=12))
def test_marks_follow_one_by_one_as_they_do_at_once(said: list[tuple[str, str, bool]]) -> None:
    """The arrays that a session extends event by event equal those of a fresh session."""
    table = Table({"question_id": ["q1", "q2"], "flip": [1, 1], "tags": ["[]"] * 2})
    person, team = Person("a", "adjudicator"), Team(needed=2)
    growing, found = Marks(table, "s", PAIR, person, team, "2026-11-30"), Fold()
    for number, (who, verdict, ruling) in enumerate(said):
        entry = replace(
            BLANK, request_id=f"r{number}", reviewer=who, verdict=verdict, kind="adjudicate" if ruling else "verdict"
        )
        found.add(chained(entry, found.last + 1, found.head))
        growing.follow(found)
    fresh = Marks(table, "s", PAIR, person, team, "2026-11-30").follow(found)
    for name in ("verdict", "impact", "disputed", "settled", "aside", "outcome", "outcome_impact"):
        assert getattr(growing, name).tolist() == getattr(fresh, name).tolist()
    assert {who: m.tolist() for who, m in growing.people.items()} == {
        who: m.tolist() for who, m in fresh.people.items()
    }
    review = found.review("s", "q1", PAIR)
    assert fresh.settled[0] == (review.outcome(2) is not None)
    assert not (review.disputed and review.outcome(2))


def test_roles() -> None:
    for role, kind, may in [
        ("viewer", "verdict", False), ("viewer", "reveal", False), ("viewer", "label", False),
        ("reviewer", "verdict", True), ("reviewer", "adjudicate", False), ("reviewer", "signoff", False),
        ("adjudicator", "signoff", True), ("adjudicator", "verdict", True),
    ]:  # fmt: skip
        person = Person("ada", role)  # type: ignore[arg-type]
        assert person.may(kind) == may  # type: ignore[arg-type]
        if not may:
            with pytest.raises(RefusedError):
                permit(person, kind)  # type: ignore[arg-type]


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 5))
def test_shares_are_even_and_stable(people: int, needed: int, seed: int) -> None:
    names = [f"p{i}" for i in range(people)]
    team = Team(dict.fromkeys(names, "reviewer"), needed=min(needed, people), assignment="share", seed=str(seed))
    questions = [f"q{i}" for i in range(60)]
    shares = {q: team.assigned("s", q, ()) for q in questions}
    assert all(share is not None and len(set(share)) == team.needed for share in shares.values())
    fewer = Team(dict.fromkeys(names[1:], "reviewer"), needed=1, assignment="share", seed=str(seed))
    one = replace(team, needed=1)
    moved = [q for q in questions if one.assigned("s", q, ()) != fewer.assigned("s", q, ())]
    assert all(one.assigned("s", q, ()) == (names[0],) for q in moved)  # who leaves takes only their own along


def test_tags_go_to_those_named_and_the_rest_is_shared_out() -> None:
    team = Team({"ada": "reviewer", "ben": "reviewer"}, assignment="tag", tags={"billing": ["ada"]})
    assert team.assigned("s", "q1", ["billing"]) == ("ada",)
    rest = {team.assigned("s", f"q{i}", []) for i in range(40)}
    assert rest == {("ada",), ("ben",)}


def test_a_filter_by_verdict_means_the_one_that_counts() -> None:
    table = Table({"question_id": ["q1", "q2", "q3"], "flip": [1] * 3, "tags": ["[]"] * 3})
    found = fold(
        says("ada", "regression", impact="high"), says("ben", "regression"),
        says("ada", "improvement", question_id="q2"), says("ben", "both_wrong", question_id="q3"),
        says("cai", "both_wrong", question_id="q3"),
    )  # fmt: skip

    def passing(person: Person, **parameters: str) -> list[str]:
        marks = Marks(table, "s", PAIR, person, Team(needed=2), "2026-11-30").follow(found)
        mask = parse({name: [value] for name, value in parameters.items()}).mask(table, marks, lambda _: set())
        return [table.ids[i] for i in mask.nonzero()[0]]

    ada, cleo = Person("ada", "reviewer"), Person("cleo", "adjudicator")
    assert passing(cleo, verdict="any") == ["q1", "q3"]
    assert passing(cleo, verdict="none") == ["q2"]
    assert passing(cleo, verdict="both_wrong") == ["q3"]
    assert passing(cleo, verdict="regression", impact="high") == ["q1"]
    assert passing(ada, verdict="regression") == ["q1"]
    assert passing(ada, verdict="both_wrong") == []  # she has not judged it, so she is not told


def test_quarantine_hides_but_counts_until_it_ends() -> None:
    table = Table({"question_id": ["q1", "q2"], "flip": [1, 1], "tags": ["[]"] * 2, "text": ["Who?", "What?"]})
    digest = memory.question_digest(" who? ")
    assert digest == memory.question_digest("Who?")
    aside = {"kind": "quarantine", "note": "asks for a random number", "owner": "ben", "until": "2026-12-31"}
    for found in (
        fold({**aside, "question_sha256": digest}),
        fold({**aside, "question_sha256": digest, "study_id": "an earlier one", "question_id": "other id"}),
    ):
        marks = Marks(table, "s", PAIR, Person("ada", "reviewer"), Team(), "2026-11-30").follow(found)
        queues = {name: mask.tolist() for name, mask in members(table, marks).items()}
        assert queues["flips"] == [False, True]
        assert queues["all"] == [False, True]
        assert queues["quarantine"] == [True, False]
    later = Marks(table, "s", PAIR, Person("ada", "reviewer"), Team(), "2027-01-01").follow(found)
    assert members(table, later)["flips"].tolist() == [True, True]
    released = fold({**aside, "question_sha256": digest}, {"kind": "release", "question_sha256": digest})
    assert released.set_aside("s", "q1", digest, "2026-11-30") is None


def test_a_verdict_of_an_earlier_study_is_offered_for_the_same_move_only() -> None:
    digest = memory.question_digest("When does it open?")
    before = memory.meanings(["05:30", "It opens at 05:30."], ["06:00"])
    given_ = says("ada", "regression", study_id="spring", question_sha256=digest, meanings=before)
    found = fold(given_)

    def offer(old: list[str | None], new: list[str | None], study: str = "autumn") -> Event | None:
        return memory.offered(found.remembered(digest), study, memory.meanings(old, new))

    assert offer(["05:30."], ["06:00", "0600"]) is not None  # the rule drops the full stop
    assert offer(["06:00"], ["05:30"]) is None  # back again is another move
    assert offer(["05:30"], ["07:00"]) is None
    assert offer(["05:30"], [None]) is None
    assert offer(["05:30"], ["06:00"], study="spring") is None
    assert found.remembered(memory.question_digest("When does it close?")) == []
    back = fold(given_, {"reviewer": "ada", "study_id": "spring", "kind": "retract"})
    assert back.remembered(digest) == []


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db", timeout=2)


def test_a_stale_ruling_is_refused_with_what_changed(store: ReviewStore) -> None:
    store.append(replace(BLANK, request_id="a", verdict="regression"))
    store.append(replace(BLANK, request_id="b", reviewer="ben", verdict="improvement"))
    ruling = replace(BLANK, request_id="c", reviewer="cleo", kind="adjudicate", verdict="regression", base_event=1)
    with pytest.raises(ConflictError, match=r"ben: improvement .* event 2"):
        store.append(ruling)
    assert len(store.events()) == 2
    assert store.append(replace(ruling, base_event=2)).event.kind == "adjudicate"


def test_a_group_is_all_or_nothing(store: ReviewStore) -> None:
    store.append(replace(BLANK, request_id="a", question_id="q2", verdict="regression"))
    group = [
        replace(BLANK, request_id=f"g{i}", question_id=f"q{i}", verdict="improvement", group="g") for i in range(4)
    ]
    with pytest.raises(ConflictError):
        store.append_group(group)  # q2 has a verdict that the page had not shown
    assert [event.request_id for event in store.events()] == ["a"]
    group[2] = replace(group[2], base_event=1)
    assert [s.event.group for s in store.append_group(group)] == ["g"] * 4
    assert all(saved.repeated for saved in store.append_group(group))
    assert len(store.events()) == len(store.journal.read()) == 5


def test_a_press_of_somebody_else_is_refused(store: ReviewStore) -> None:
    store.append(replace(BLANK, request_id="a", verdict="regression"))
    with pytest.raises(ConflictError, match="somebody else"):
        store.append(replace(BLANK, request_id="a", reviewer="ben", verdict="improvement"))
    assert len(store.events()) == 1


def test_an_export_shows_a_reviewer_others_only_where_they_have_judged() -> None:
    found = fold(says("ada", "regression"), says("ben", "improvement"), says("ben", "improvement", question_id="q2"))
    rows = export(found, "s")
    assert [(r["reviewer"], r["question_id"]) for r in visible_to(Person("ada", "reviewer"), rows)] == [
        ("ada", "q1"), ("ben", "q1")]  # fmt: skip
    assert visible_to(Person("cleo", "adjudicator"), rows) == rows == visible_to(Person("vera", "viewer"), rows)
    assert visible_to(Person("dan", "reviewer"), rows) == []


FIRST_VERSION = (
    """CREATE TABLE verdict_event(
      id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, study_id TEXT NOT NULL, bundle TEXT NOT NULL,
      question_id TEXT NOT NULL, reviewer TEXT NOT NULL,
      kind TEXT NOT NULL CHECK(kind IN ('verdict','draft','retract','dismiss','reveal','adjudicate')),
      item_sha256 TEXT NOT NULL, at TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, kernel TEXT NOT NULL,
      verdict TEXT, impact TEXT CHECK(impact IN ('low','medium','high')), causes TEXT NOT NULL, note TEXT NOT NULL,
      base_event INTEGER, prev_sha256 TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE,
      CHECK(kind <> 'verdict' OR verdict IS NOT NULL)) STRICT""",
    "CREATE INDEX verdict_event_item ON verdict_event(study_id, question_id, reviewer)",
    "CREATE TRIGGER verdict_event_no_update BEFORE UPDATE ON verdict_event BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER verdict_event_no_delete BEFORE DELETE ON verdict_event BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER verdict_event_in_order BEFORE INSERT ON verdict_event WHEN NEW.id < 0 BEGIN SELECT 1; END",
)
# an event as the first version wrote it, with the digest that it computed
OLD_EVENT = {
    "at": "2026-11-30T14:02:11.000Z", "base_event": None, "bundle": "b" * 64, "causes": ["distractor"], "id": 1,
    "impact": "high", "item_sha256": "c" * 64, "kernel": "semantic", "kind": "verdict", "new": "n7", "note": "n",
    "old": "n1", "prev_sha256": "0" * 64, "question_id": "q1", "request_id": "r1", "reviewer": "local:me",
    "sha256": "7033be3899a245dcd4ea6f512bd1992bc9c100253898d37e5e98bf7f59173987", "study_id": "s",
    "verdict": "regression",
}  # fmt: skip


def first_version(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        for statement in FIRST_VERSION:
            connection.execute(statement)
        row = OLD_EVENT | {"causes": '["distractor"]'}
        names = ", ".join(row)
        connection.execute(f"INSERT INTO verdict_event({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
        connection.execute("PRAGMA application_id=1396789846")
        connection.execute("PRAGMA user_version=1")
    connection.close()


def test_a_store_of_the_first_version_is_read_and_then_migrated(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    first_version(path)
    before = path.read_bytes()
    store = ReviewStore(path)
    assert [event.sha256 for event in store.fold().trail] == [OLD_EVENT["sha256"]]
    store.append(
        replace(BLANK, request_id="r2", reviewer="cleo", kind="adjudicate", verdict="regression", base_event=1)
    )
    assert [event.kind for event in ReviewStore(path).fold().trail] == ["verdict", "adjudicate"]
    copies = list(tmp_path.glob("reviews.db.version-1"))
    assert len(copies) == 1
    assert [e.sha256 for e in ReviewStore(copies[0]).events()] == [OLD_EVENT["sha256"]]
    assert before != path.read_bytes()
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM verdict_event")


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    first_version(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=3")
    with pytest.raises(StorageError, match="newer version"):
        ReviewStore(path).events()


def test_people_who_work_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """Every order of two people's events on two questions gives the same outcome for both."""
    steps = [("ada", "q1"), ("ada", "q2"), ("ben", "q1"), ("ben", "q2")]
    outcomes = set()
    for number, order in enumerate(itertools.permutations(steps)):
        store = ReviewStore(tmp_path / f"{number}.db") if number < 3 else None
        found = fold(*[says(who, "regression", question_id=question) for who, question in order])
        if store:
            for who, question in order:
                entry = replace(
                    BLANK, request_id=f"{who}{question}", reviewer=who, question_id=question, verdict="regression"
                )
                store.append(entry)
            assert len(store.events()) == 4
        outcomes.add(tuple(found.review("s", q, PAIR).outcome(2) is not None for q in ("q1", "q2")))
    assert outcomes == {(True, True)}
