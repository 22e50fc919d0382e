"""Repeats that say the same to the letter stand together where they are many or long."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from audit_core.reviews.fold import Standing
from dashboard.components.agreement import by_exact, classes
from dashboard.components.card import HEADLINE, View, _groups, card
from dashboard.components.text import LONGEST


def rows(*answers: str | None) -> list[dict]:
    return [
        {
            "cell_key": i,
            "repeat": i,
            "state": 0,
            "state_name": "n1",
            "status": "ok" if text is not None else "error",
            "answer": text,
            "error": None if text is not None else "503",
            "exact_key": text,
            "unknown": 0,
            "em": None,
        }
        for i, text in enumerate(answers)
    ]


def sizes(*answers: str | None) -> list[int]:
    cells = rows(*answers)
    return [len(group) for group in _groups(cells, classes(cells, by_exact, ("n1", "n7")))]


def test_two_short_repeats_stay_apart() -> None:
    assert sizes("same", "same") == [1, 1]


def test_many_identical_repeats_are_one_line_and_nothing_is_lost() -> None:
    assert sizes(*["same"] * 10) == [10]
    assert sizes("a", "b", "a", "a", None) == [3, 1, 1]


def test_two_long_repeats_are_one_text() -> None:
    long = "word " * HEADLINE
    assert sizes(long, long) == [2]
    assert sizes(long, long + ".") == [1, 1]


def masked(said: dict[str, tuple[str, str]], first: str, second: str, same: int = 1) -> str:
    """A masked card on which a state is called A: the answers of each state, in the order of the ladder."""
    cells = [
        {**rows(text)[0], "cell_key": 2 * i + repeat, "repeat": repeat, "state_name": state}
        for i, state in enumerate(("n1", "n7"))
        for repeat, text in enumerate(said[state], 1)
    ]
    documents = {
        state: [{"document_id": f"d {said[state][0][:9]} {rank}", "rank": rank, "title": None, "score": None,
                 "passage_text": said[state][0][:200]} for rank in (1, 2)]
        for state in said
    }  # fmt: skip
    question = {
        "question_id": "q", "text": "What?", "tags": [], "gold": ["gold"], "cells": cells, "documents": documents,
        "labels": {"judge": {(a["cell_key"], b["cell_key"]): same for a in cells for b in cells if a is not b}},
    }  # fmt: skip
    states = [{"state": state, "label": f"label of {state}", "closed_book": 0} for state in said]
    study = {"judges": [{"judge": "judge", "role": "primary"}], "has_evidence": 1, "states": states}
    at = [next(i for i, cell in enumerate(cells) if cell["state_name"] == state) for state in (first, second)]
    seen = Standing(revealed={"evidence": None, "gold": SimpleNamespace(id=3)})  # type: ignore[dict-item]
    row = {"matched": 2, "lost": 2, "shared": 0, "documents": 2, "flip": 1, "numerator": 1}
    return card(View(question, study, row, first, second, "semantic", seen, None, "item", None, "1 of 1",
                     (at[0], at[1]), False, (), False, masked=True))  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [(("yes", "yes"), ("no", "no")), (("yes", "maybe"), ("no", "no")), (("y " * LONGEST,) * 2, ("n " * LONGEST,) * 2)],
)
def test_a_masked_card_is_the_same_whichever_state_is_old(texts: tuple[tuple[str, str], tuple[str, str]]) -> None:
    """To the last attribute: nothing in the page tells which side is which."""
    one, other = texts
    old_first = masked({"n1": one, "n7": other}, "n1", "n7")
    assert masked({"n1": other, "n7": one}, "n7", "n1") == old_first
    assert masked({"n1": one, "n7": other}, "n1", "n7", same=0) == old_first  # nor what the judge says
    assert not re.search(r"n1|n7|label of", old_first)
