"""The order of calls: Williams orders over the states, the next repeat in reverse.

In a Williams design every state stands equally often at every place, and every state follows every other equally
often, so that slow drift of a service falls on all states alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle


@dataclass(frozen=True, slots=True)
class Call:
    """One planned answer.

    Attributes:
        position: Place in the whole schedule, from 0.
        order: Place among the calls of this question and repeat, from 0.
    """

    question_id: str
    state: str
    repeat: int
    position: int
    order: int


def williams(n: int) -> list[list[int]]:
    """Rows of a Williams design of n treatments: n rows for an even n, 2·n for an odd one.

    Each row is an order of 0 … n-1; over all rows, each treatment follows each other equally often.
    """
    first = [0]
    low, high = 1, n - 1
    while len(first) < n:
        first.append(low)
        low += 1
        if len(first) < n:
            first.append(high)
            high -= 1
    rows = [[(place + shift) % n for place in first] for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def schedule(question_ids: Sequence[str], states: Sequence[str], repeats: int) -> Iterator[Call]:
    """All calls in their order: repeat by repeat, question by question.

    Question i takes row i of the design; every second repeat runs the row backwards.
    """
    position = 0
    for repeat in range(1, repeats + 1):
        for question_id, row in zip(question_ids, rows_of(len(states), repeat), strict=False):
            for order, place in enumerate(row):
                yield Call(question_id, states[place], repeat, position, order)
                position += 1


def rows_of(states: int, repeat: int) -> Iterator[list[int]]:
    """The order of the states for question after question of one repeat, without end."""
    return cycle([row if repeat % 2 else row[::-1] for row in williams(states)])


def in_order(question_ids: Sequence[str], states: Sequence[str], repeats: int) -> Iterator[Call]:
    """The same calls as `schedule`, in the order of cells: by question, state and repeat."""
    rows = [rows_of(len(states), repeat) for repeat in range(1, repeats + 1)]
    for number, question_id in enumerate(question_ids):
        orders = [{place: order for order, place in enumerate(next(row))} for row in rows]
        for place, state in enumerate(states):
            for repeat, order in enumerate(orders):
                position = (repeat * len(question_ids) + number) * len(states) + order[place]
                yield Call(question_id, state, repeat + 1, position, order[place])
