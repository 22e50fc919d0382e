"""Pieces of the Triage page as pure functions: text, words, letters, evidence, keys."""

from __future__ import annotations

import html
import itertools
import re
import string
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.reviews.events import IMPACTS, VERDICTS
from audit_core.verify import verify
from dashboard.components import key_log
from dashboard.components.agreement import by_exact, by_labels, classes, counts, letter, standing
from dashboard.components.evidence import compared, sentence, table
from dashboard.components.key_log import new_presses
from dashboard.components.keys import BY_ACTION, REGISTRY, SENT
from dashboard.components.pairs import pairs
from dashboard.components.text import clipped, escaped, shown
from dashboard.components.words import MOST_WORDS, cut, difference, difference_markup, excerpt, mentions, news_markup
from tests.support import desk

ANY = st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=200)
WORDS = st.lists(st.sampled_from(["a", "b", "the", "24", "hours", "7", "days,", "x."]), max_size=30).map(" ".join)


@pytest.fixture(scope="module")
def nq(tmp_path_factory: pytest.TempPathFactory, studies: Path) -> Path:
    path = tmp_path_factory.mktemp("nq") / "audit.db"
    load([studies / "nq-400"], path, verifier=lambda _path: [])
    return path


def unescaped(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


@given(ANY)
def test_escaped_text_holds_no_markup_but_its_own_marks(text: str) -> None:
    markup = escaped(text)
    left = re.sub(r'<mark class="sa-hidden" title="U\+[0-9A-F]{4,6}">[A-Z0-9+]+</mark>', "", markup)
    assert not set("<>\"'") & set(left)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", markup)


@pytest.mark.parametrize(
    ("character", "name"),
    [("\u202e", "RLO"), ("\u200b", "ZWSP"), ("\x1b", "ESC"), ("\r", "CR"), ("\ufeff", "BOM"), ("\x00", "NUL"),
     ("\U000e0041", "U+E0041")],
)  # fmt: skip
def test_hidden_characters_are_named(character: str, name: str) -> None:
    assert f">{name}</mark>" in escaped(f"a{character}b")


def test_text_keeps_its_line_breaks_and_its_direction_to_itself() -> None:
    assert shown("a\nb & <i>") == '<span dir="auto" class="sa-text ">a\nb &amp; &lt;i&gt;</span>'
    assert clipped("a  b\nc " * 40, 20) == "a b c a b c a b c a…"
    assert clipped("short", 20) == "short"


@given(WORDS, WORDS)
def test_a_difference_gives_both_texts_back(old: str, new: str) -> None:
    runs = difference(old, new)
    for side, text in (("old", old), ("new", new)):
        joined = "".join(run for change, run in runs if change in ("same", side))
        assert joined.split() == text.split()
    assert difference(old, old) == ([("same", old)] if old else [])


@given(WORDS, WORDS)
def test_the_shared_words_are_a_longest_common_subsequence(old: str, new: str) -> None:
    pieces = re.compile(r"\w+|[^\w\s]+")
    a, b = pieces.findall(old), pieces.findall(new)
    table_ = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in itertools.product(range(len(a)), range(len(b))):
        table_[i + 1][j + 1] = table_[i][j] + 1 if a[i] == b[j] else max(table_[i][j + 1], table_[i + 1][j])
    same = "".join(run + " " for change, run in difference(old, new) if change == "same")
    assert len(pieces.findall(same)) == table_[len(a)][len(b)]


def test_repetitive_texts_are_compared_in_bounded_time() -> None:
    started = time.process_time()
    difference("x " * 10 * MOST_WORDS, "x y " * 10 * MOST_WORDS)
    assert time.process_time() - started < 5
    assert cut("x " * 2 * MOST_WORDS)
    assert not cut("x " * MOST_WORDS)


def test_differences_as_markup_are_escaped() -> None:
    assert difference_markup("<b> x", "<i> x") == "&lt;<del>b</del><ins>i</ins>&gt; x"
    assert news_markup("24 hours after booking", "Within 24 hours of booking") == (
        "<mark>Within </mark>24 hours <mark>of </mark>booking")  # fmt: skip
    assert "<script" not in difference_markup("a", desk.HOSTILE)


@pytest.mark.parametrize(
    ("passage", "answer", "found"),
    [
        ("You may cancel within 24 hours of booking.", "24 hours after booking", ["24 hours"]),
        ("until seven  Days\nbefore departure.", "seven days before departure", ["seven  Days\nbefore departure"]),
        ("Paris is the capital; parisian no.", "Paris", ["Paris"]),
        ("Nothing here.", "24 hours", []),
        ("a a a", "a", []),
        ("1.10 and 110", "1.10", ["1.10"]),
        ("$5 (or more)", "$5 (or", ["5 (or"]),
    ],
)
def test_mentions(passage: str, answer: str, found: list[str]) -> None:
    assert [passage[start:end] for start, end in mentions(passage, [answer])] == found


@given(ANY, st.lists(ANY, max_size=3))
def test_mentions_are_in_order_and_apart(passage: str, answers: list[str]) -> None:
    places = mentions(passage, answers)
    assert all(0 <= start < end <= len(passage) for start, end in places)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert not re.search("<(?!/?mark)", excerpt(passage, places))


def cell(key: int, state: str, answer: str | None = "x", *, unknown: int = 0, status: str = "ok") -> dict[str, Any]:
    return {"cell_key": key, "state_name": state, "repeat": key, "answer": answer, "exact_key": answer,
            "unknown": unknown, "status": status}  # fmt: skip


def labelled(*same: tuple[int, int], apart: tuple[tuple[int, int], ...] = ()) -> Any:
    table_ = {pair: 1 for a, b in same for pair in ((a, b), (b, a))}
    return by_labels(table_ | {pair: 0 for a, b in apart for pair in ((a, b), (b, a))})


def test_letters_start_at_the_endpoints() -> None:
    cells = [cell(1, "n0", "z"), cell(2, "n1", "a"), cell(3, "n3", "b"), cell(4, "n7", "b")]
    found = classes(cells, by_exact, ("n1", "n7"))
    assert found.letters == {1: "C", 2: "A", 3: "B", 4: "B"}
    assert found.transitive


def test_unknown_errors_and_unlabelled_answers_have_no_letter() -> None:
    cells = [cell(1, "n1", "UNKNOWN", unknown=1), cell(2, "n1", None, status="error"), cell(3, "n7"),
             cell(4, "n7", "y"), cell(5, "n7", "w")]  # fmt: skip
    assert classes(cells, labelled((3, 4))).letters == {1: "?", 2: "?", 3: "A", 4: "A", 5: "?"}


def test_contradicting_labels_are_told() -> None:
    cells = [cell(i, "n1", str(i)) for i in (1, 2, 3)]
    found = classes(cells, labelled((1, 2), (2, 3), apart=((1, 3),)))
    assert not found.transitive
    assert set(found.letters.values()) == {"A"}
    assert classes(cells, labelled((1, 2), apart=((1, 3), (2, 3)))).transitive


def test_blue_is_old_and_orange_is_new_also_when_one_of_them_is_unknown() -> None:
    unknown = [cell(1, "n1", "a"), cell(2, "n7", "UNKNOWN", unknown=1), cell(3, "n0", "z"), cell(4, "n3", "y")]
    assert classes(unknown, by_exact, ("n1", "n7")).colours == {"?": "u", "A": "old", "B": "c", "C": "d"}
    same = [cell(1, "n1", "a"), cell(2, "n7", "a"), cell(3, "n3", "z")]
    assert classes(same, by_exact, ("n1", "n7")).colours == {"?": "u", "A": "old", "B": "c"}
    flip = [cell(1, "n1", "a"), cell(2, "n1", "b"), cell(3, "n7", "c")]
    assert classes(flip, by_exact, ("n1", "n7")).colours == {"?": "u", "A": "old", "C": "new", "B": "c"}


def test_letters_go_on_after_z() -> None:
    assert [letter(n) for n in (0, 25, 26, 51, 52)] == ["A", "Z", "A2", "Z2", "A3"]


@pytest.mark.parametrize(
    ("middle", "closed", "words"),
    [
        (("a", "a"), False, "sides with the old"), (("b", "b"), False, "sides with the new"),
        (("c", "c"), False, "third answer"), (("c", "c"), True, "aligns with neither end"),
        (("a", "b"), False, "disagrees with itself"), (("a", "a"), True, "aligns with the old"),
    ],
)  # fmt: skip
def test_where_a_middle_state_stands(middle: tuple[str, str], closed: bool, words: str) -> None:
    cells = [cell(1, "n1", "a"), cell(2, "n1", "a"), cell(3, "m", middle[0]), cell(4, "m", middle[1]),
             cell(5, "n7", "b"), cell(6, "n7", "b")]  # fmt: skip
    assert words in standing(cells, by_exact, "m", "n1", "n7", closed_book=closed)


def test_pair_counts_on_the_card_are_those_of_the_estimators(nq: Path) -> None:
    """The card counts labels; the read model's contrasts come from the estimators. They are equal."""
    for kernel in ("semantic", "exact"):
        columns = read.columns(nq, "nq-400", kernel, "n1", "n7")
        assert columns is not None
        for i in range(0, 400, 3):
            question = read.question(nq, "nq-400", columns["question_id"][i])
            assert question is not None
            same = by_exact if kernel == "exact" else by_labels(question["labels"]["primary"])
            stored = [columns[name][i] for name in ("within_old", "within_old_pairs", "within_new", "within_new_pairs",
                                                    "crossing", "cross_pairs")]  # fmt: skip
            shown_ = [
                n for a, b in (("n1", "n1"), ("n7", "n7"), ("n1", "n7")) for n in counts(question["cells"], same, a, b)
            ]
            assert shown_ == stored


def document(rank: int, name: str, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "document_id": name, "score": None, "title": "", "passage_text": None, **more}


def test_evidence_kept_moved_lost_gained_and_listed_twice() -> None:
    old = [document(1, "a"), document(2, "b"), document(3, "c"), document(4, "a")]
    new = [document(1, "a"), document(2, "d"), document(3, "b")]
    left, right = compared(old, new)
    assert [(r.fate, r.elsewhere, r.twice) for r in left] == [
        ("kept", 1, False), ("moved", 3, False), ("lost", None, False), ("moved", 1, True)]  # fmt: skip
    assert [r.fate for r in right] == ["kept", "gained", "moved"]
    assert sentence(left, right) == "2 in both (1 moved), 1 only in old, 1 only in new."
    assert sentence(*compared(old[:2], old[:2])) == "The same 2 documents in the same order."
    turned = [document(1, "b"), document(2, "a")]
    assert sentence(*compared(old[:2], turned)) == "The same 2 documents, 2 of them at another rank."


def test_evidence_table_marks_mentions_and_escapes() -> None:
    side, _ = compared(
        [document(1, "<b>", title=desk.HOSTILE, passage_text=f"{desk.HOSTILE} in 24 hours", score="9.5")], []
    )
    markup = table(side, ["24 hours"], ("old", "new"), 0, full=True)
    assert "<mark>24 hours</mark>" in markup
    assert "mentions an answer" in markup
    assert "<img" not in markup
    assert desk.HOSTILE in unescaped(markup)


def test_pairs_markup_shows_every_kernel_and_says_when_nothing_is_labelled() -> None:
    question = {"cells": [cell(1, "n1", "a"), cell(2, "n7", "b")], "labels": {}}
    assert "No judge has labelled" in pairs(question, "n1", "n7", full=False)
    question["labels"] = {"<judge>": {(1, 2): 1, (2, 1): 1}}
    markup = pairs(question, "n1", "n7", full=True)
    assert "1 / 1" in markup
    assert "0 / 1" in markup
    assert "&lt;judge&gt;" in markup


def test_the_registry_is_closed_and_unambiguous() -> None:
    assert len({key.key for key in REGISTRY}) == len(REGISTRY) == len(BY_ACTION)
    assert "".join(key.key for key in REGISTRY[:9]) == "123456qwe"
    assert [key.action for key in REGISTRY[:9]] == [
        *(f"verdict:{v}" for v in VERDICTS),
        *(f"impact:{i}" for i in IMPACTS),
    ]
    assert {key.key for key in REGISTRY} == {*"123456qwejknzgvdaxbumtp/?", "escape"}
    assert set(SENT) == {*"123456qwejknzgvdaxbumtp"}
    assert not set(SENT) & {"c", "r"}  # the frame's own shortcuts
    assert all(key.help.endswith(".") for key in REGISTRY)


def entry(number: int, action: str = "next", **more: Any) -> dict[str, Any]:
    return {"n": number, "t": "tab", "a": action, "v": "", "i": "item", "b": 0, "u": 0, **more}


def test_presses_are_taken_once_and_in_order() -> None:
    acked: dict[str, int] = {}
    first = new_presses([entry(1), entry(2, "undo", u=7, b=3)], acked)
    assert [(p.request, p.action, p.base, p.undo) for p in first] == [
        ("tab:1", "next", None, None),
        ("tab:2", "undo", 3, 7),
    ]
    assert acked == {"tab": 2}
    assert [p.request for p in new_presses([entry(1), entry(2), entry(3)], acked)] == ["tab:3"]
    assert [p.request for p in new_presses([entry(1, t="other")], acked)] == ["other:1"]


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(string.printable, max_size=9),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ntavibux"), inner),
                    max_leaves=20))  # fmt: skip
def test_whatever_a_browser_sends_is_no_harm(log: Any) -> None:
    for press in new_presses(log, {}):
        assert isinstance(press.request, str)
        assert press.base is None or press.base > 0


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1.5, 1e308, 10**40, 0, -1, "1", None])
def test_a_number_that_is_none_is_no_press_and_is_not_asked_again(number: Any) -> None:
    acked: dict[str, int] = {}
    assert [new_presses([entry(number)], acked) for _ in range(3)] == [[], [], []]
    (press,) = new_presses([entry(1, b=number, u=number)], acked)
    assert (press.base, press.undo) == (None, None)


def test_no_study_text_reaches_the_component() -> None:
    """The listener's script is a literal; only digests and registry texts are handed to it."""
    assert "innerHTML" not in key_log._JS
    assert "{" not in key_log._HTML


def test_verified_fixture_studies_are_valid(tmp_path: Path) -> None:
    assert not [check for check in verify(desk.contradiction(tmp_path)) if check.result == "failed"]
