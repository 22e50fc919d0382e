"""Repeats that say the same to the letter stand together where they are many or long."""

from __future__ import annotations

from dashboard.components.agreement import by_exact, classes
from dashboard.components.card import HEADLINE, _groups


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
