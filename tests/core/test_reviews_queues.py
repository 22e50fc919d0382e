"""Queues, filters, order and export: the counts on screen are the sums of these masks."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.reviews.events import VERDICTS, Entry, Event, chained
from audit_core.reviews.export import EXPORTED, as_csv, as_jsonl, export, formula_safe
from audit_core.reviews.filters import Filters, parse
from audit_core.reviews.fold import Fold
from audit_core.reviews.queues import QUEUES, Marks, Table, members, ordered
from audit_core.reviews.team import Person, Role, Team
from dashboard.components.links import MOST_IDS, triage_params, triage_url


def columns(rows: Iterable[dict[str, object]]) -> dict[str, list[object]]:
    """Parallel lists from sparse rows; what a row leaves out is 0, or unknown for weight and shared."""
    rows = list(rows)
    names = {name for row in rows for name in row} | {"tags", "weight", "shared"}
    blank: dict[str, object] = {"tags": "[]", "weight": None, "shared": None}
    return {
        "question_id": [f"q{i}" for i in range(len(rows))],
        **{name: [row.get(name, blank.get(name, 0)) for row in rows] for name in names},
    }


def verdicts(*given: tuple[str, str, str | None], reviewer: str = "me") -> Fold:
    fold = Fold()
    for question, verdict, impact in given:
        entry = Entry(
            request_id=f"r{fold.last}",
            study_id="s",
            bundle="b",
            question_id=question,
            reviewer=reviewer,
            kind="verdict",
            item_sha256="c",
            at="t",
            verdict=verdict,
            impact=impact,
        )
        fold.add(chained(entry, fold.last + 1, fold.head))
    return fold


def marks_of(table: Table, team: Team | None = None, name: str = "me", role: Role = "adjudicator") -> Marks:
    return Marks(table, "s", ("", ""), Person(name, role), team or Team(), "2026-11-30")


def everyone(table: Table, fold: Fold | None = None, filters: Filters | None = None) -> dict[str, list[str]]:
    marks = marks_of(table).follow(fold or Fold())
    narrowed = filters.mask(table, marks, lambda text: set()) if filters else None
    return {name: [table.ids[i] for i in mask.nonzero()[0]] for name, mask in members(table, marks, narrowed).items()}


def test_each_queue_holds_exactly_its_questions() -> None:
    table = Table(columns([
        {"flip": 1, "within_old": 1, "within_old_pairs": 1, "within_new": 1, "within_new_pairs": 1},
        {"within_old": 0, "within_old_pairs": 1, "within_new": 1, "within_new_pairs": 1},
        {"within_old": 1, "within_old_pairs": 1, "within_new": 0, "within_new_pairs": 1},
        {"lost": 1}, {"gained": 2}, {"different_nonmatch": 1}, {"refusal_split": 1}, {"judges_disagree": 3},
        {"open_triangles": 1}, {"tags": '["priority", "x"]'},
    ]))  # fmt: skip
    found = everyone(table, verdicts(("q3", "regression", None)))
    assert {name: ids for name, ids in found.items() if name not in ("unreviewed", "reviewed", "all")} == {
        "flips": ["q0"],
        "unstable_old": ["q1"],
        "unstable_new": ["q2"],
        "lost": ["q3"],
        "gained": ["q4"],
        "different_nonmatch": ["q5"],
        "refusal_split": ["q6"],
        "judges_disagree": ["q7"],
        "nontransitive": ["q8"],
        "priority": ["q9"],
        "mine": ["q0"],
        "disputed": [],
        "quarantine": [],
    }
    assert found["reviewed"] == ["q3"]
    assert found["unreviewed"] == [f"q{i}" for i in range(10) if i != 3]
    assert found["all"] == table.ids
    assert set(found) == set(QUEUES)


def test_unknown_is_in_no_queue_and_absent_columns_are_unknown() -> None:
    table = Table(
        {"question_id": ["a", "b"], "flip": [None, 1], "within_old": [None, None], "within_old_pairs": [0, 0]}
    )
    found = everyone(table)
    assert found["flips"] == ["b"]
    assert found["unstable_old"] == found["lost"] == found["priority"] == []


def test_weights_that_are_all_equal_are_no_priority() -> None:
    assert everyone(Table(columns([{"weight": 5}, {"weight": 5}])))["priority"] == []
    heavy = everyone(Table(columns([{"weight": w} for w in range(20)])))["priority"]
    assert heavy == ["q17", "q18", "q19"]


def test_impact_first() -> None:
    table = Table(columns([
        {"shared": 5, "weight": 1}, {"shared": 0, "weight": 1}, {"lost": 1, "weight": 1}, {"weight": 9},
        {"lost": 1, "weight": 99}, {"weight": 9, "shared": 1},
    ]))  # fmt: skip
    marks = marks_of(table).follow(verdicts(("q4", "regression", "high")))
    everybody = members(table, marks)["all"]
    assert [table.ids[i] for i in ordered(table, marks, everybody, "impact")] == ["q2", "q5", "q3", "q1", "q0", "q4"]
    assert ordered(table, marks, everybody, "ladder") == list(range(6))


def test_random_order_is_stable_for_subsets() -> None:
    table = Table(columns([{"flip": i % 2} for i in range(200)]))
    marks = marks_of(table).follow(Fold())
    masks = members(table, marks)
    whole = ordered(table, marks, masks["all"], "random", 7)
    assert whole != list(range(200))
    assert sorted(whole) == list(range(200))
    assert ordered(table, marks, masks["flips"], "random", 7) == [i for i in whole if i % 2]
    assert whole != ordered(table, marks, masks["all"], "random", 8)


def test_marks_follow_undo_and_other_people() -> None:
    table = Table(columns([{}, {}]))
    marks = marks_of(table)
    fold = verdicts(("q0", "both_wrong", "high"))
    assert marks.follow(fold).verdict.tolist() == [3, -1]
    assert marks.impact.tolist() == [2, -1]

    def then(**changes: object) -> Event:
        base = {
            "request_id": f"x{fold.last}",
            "study_id": "s",
            "bundle": "b",
            "question_id": "q0",
            "reviewer": "me",
            "kind": "retract",
            "item_sha256": "c",
            "at": "t",
        }
        return chained(Entry(**(base | changes)), fold.last + 1, fold.head)  # type: ignore[arg-type]

    fold.add(then(reviewer="you", kind="verdict", verdict="regression", question_id="q1"))
    fold.add(then())
    assert marks.follow(fold).verdict.tolist() == [-1, -1]
    assert marks.follow(verdicts(("q1", "regression", None))).verdict.tolist() == [-1, 0]


def test_filters_narrow_by_and() -> None:
    table = Table(columns([
        {"numerator": 2, "denominator": 4, "shared": 0, "tags": '["a"]', "unknown_in": 1},
        {"numerator": 4, "denominator": 4, "shared": 0, "tags": '["b"]'},
        {"numerator": -1, "denominator": 4, "shared": 3, "tags": '["a", "b"]'},
        {"numerator": None, "denominator": None, "shared": None},
    ]))  # fmt: skip

    def ids(**parameters: list[str]) -> list[str]:
        found = parse(parameters)
        assert found.problems == ()
        return everyone(table, verdicts(("q1", "regression", "high")), found)["all"]

    assert ids(contrast=["0.5"]) == ["q0"]
    assert ids(contrast=["-1..0"]) == ["q2"]
    assert ids(shared=["0"]) == ["q0", "q1"]
    assert ids(shared=["0"], tag=["b"]) == ["q1"]
    assert ids(tag=["a", "b"]) == ["q0", "q1", "q2"]
    assert ids(only=["q2", "q0", "nobody"]) == ["q0", "q2"]
    assert ids(fact=["unknown_in"]) == ["q0"]
    assert ids(verdict=["none"]) == ["q0", "q2", "q3"]
    assert ids(verdict=["regression"], impact=["high"]) == ["q1"]
    assert ids(find=["nothing"]) == []


@given(
    st.dictionaries(
        st.sampled_from([*"qxyz", "contrast", "shared", "fact", "verdict", "impact", "of", "only", "tag"]),
        st.lists(st.text(max_size=30), max_size=3),
        max_size=8,
    )
)
def test_any_address_is_read_without_harm(parameters: dict[str, list[str]]) -> None:
    table = Table(columns([{"flip": 1}, {}]))
    found = parse(parameters)
    assert all(isinstance(problem, str) for problem in found.problems)
    assert set(everyone(table, filters=found)["all"]) <= {"q0", "q1"}


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5, unique=True),
    st.text(max_size=10),
    st.integers(-4, 4),
)
def test_a_link_reads_back_as_the_filter_it_was_made_for(ids: list[str], tag: str, quarters: int) -> None:
    url = triage_url("s", "n1", "n7", "exact", "lost", only=ids, tag=tag, contrast=(quarters / 4, 1), shared=0)
    parameters = parse_qs(urlsplit(url).query, keep_blank_values=True)
    assert parameters["queue"] == ["lost"]
    found = parse(parameters)
    assert found.only == tuple(ids)
    assert found.tags == (tag,)
    assert found.ranges == (("contrast", quarters / 4, 1.0), ("shared", 0.0, 0.0))


def test_a_long_list_of_ids_is_cut_and_says_so() -> None:
    parameters = triage_params("s", "a", "b", "exact", only=[f"q{i}" for i in range(MOST_IDS + 5)])
    assert len(parameters["only"]) == MOST_IDS
    assert parameters["of"] == str(MOST_IDS + 5)


def test_counts_at_100_000_questions_take_milliseconds() -> None:
    table = Table(
        columns([{"flip": int(i % 10 == 0), "lost": i % 3, "weight": i % 7, "shared": i % 8} for i in range(100_000)])
    )
    fold = verdicts(*((f"q{i}", "regression", "low") for i in range(500)))
    marks = marks_of(table).follow(fold)
    masks = members(table, marks)
    ordered(table, marks, masks["all"], "impact")
    started = time.perf_counter()
    for _ in range(5):
        masks = members(table, marks.follow(fold))
        counts = {name: int(mask.sum()) for name, mask in masks.items()}
    assert (time.perf_counter() - started) / 5 < 0.05
    assert counts["flips"] == 10_000
    assert counts["reviewed"] == 500


def test_export_rows() -> None:
    fold = verdicts(("q1", "regression", "high"), ("q0", "improvement", None), ("q1", "both_wrong", "low"))
    rows = export(fold, "s")
    assert [(row["question_id"], row["verdict"], row["event"]) for row in rows] == [
        ("q0", "improvement", 2),
        ("q1", "both_wrong", 3),
    ]
    assert [row["question_id"] for row in export(fold, "s", ["q1", "q0", "q9"])] == ["q1", "q0"]
    assert export(fold, "s", reviewer="you") == export(fold, "t") == []
    assert [json.loads(line)["event"] for line in as_jsonl(rows).splitlines()] == [2, 3]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "\uff1d1", "\uff0b1", "  =1", "\u200b=1", "\ufe63x"]
)
def test_formulas_are_disarmed(text: str) -> None:
    assert formula_safe(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "'=1", " plain", "é"])
def test_other_text_is_left_alone(text: str) -> None:
    assert formula_safe(text) == text


def test_csv_quotes_everything_and_keeps_line_ends() -> None:
    row = dict.fromkeys(EXPORTED, "x") | {
        "note": "p\rq",
        "causes": ["a", "b"],
        "event": 3,
        "gold_revealed": True,
        "impact": None,
    }
    data = as_csv([row]).decode("utf-8-sig")
    read = list(csv.reader(io.StringIO(data, newline="")))
    assert read[0] == list(EXPORTED)
    assert dict(zip(EXPORTED, read[1], strict=True)) | {"note": "p\rq"} == {
        **dict.fromkeys(EXPORTED, "x"),
        "note": "p\rq",
        "causes": "a; b",
        "event": "3",
        "gold_revealed": "yes",
        "impact": "",
    }
    assert len(read) == 2
    assert set(VERDICTS) >= {"regression"}
