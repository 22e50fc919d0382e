"""Selection and schedule: outcome-blind, balanced, complete."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.errors import InputError
from audit_core.schedule import schedule, williams
from audit_core.selection import select


@pytest.mark.parametrize("n", range(1, 9))
def test_williams_balances_places_and_neighbours(n: int) -> None:
    rows = williams(n)
    assert len(rows) == (n if n % 2 == 0 else 2 * n)
    assert all(sorted(row) == list(range(n)) for row in rows)
    places = Counter((place, item) for row in rows for place, item in enumerate(row))
    assert len(set(places.values())) == 1
    assert len(places) == n * n
    followers = Counter(pair for row in rows for pair in pairwise(row))
    if n > 1:
        assert len(followers) == n * (n - 1)
        assert len(set(followers.values())) == 1


def test_every_cell_is_called_once_and_repeats_run_backwards() -> None:
    questions, states = [f"q{i}" for i in range(10)], ["n0", "n1", "n3", "n7"]
    calls = list(schedule(questions, states, 3))
    assert [c.position for c in calls] == list(range(120))
    assert len({(c.question_id, c.state, c.repeat) for c in calls}) == 120
    for question in questions:
        runs = [[c.state for c in calls if c.question_id == question and c.repeat == r] for r in (1, 2, 3)]
        assert runs[1] == runs[0][::-1]
        assert runs[2] == runs[0]


ids = st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=3, max_size=30)


@given(ids, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.randoms())
def test_selection_depends_on_seed_and_ids_only(population: set[str], seed: str, random: object) -> None:
    shuffled = list(population)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    chosen = select(shuffled, seed, 3)
    assert chosen == select(sorted(population), seed, 3)
    assert chosen == sorted(population, key=lambda i: (hashlib.sha256(f"{seed}\0{i}".encode()).hexdigest(), i))[:3]
    assert chosen[0] not in select(shuffled, seed, 2, excluded=[chosen[0]])


def test_impossible_selections_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        select(["a", "b"], "s", 3)
    with pytest.raises(InputError, match="twice"):
        select(["a", "a"], "s", 1)
