"""Which answers of one question are the same: letters, pair counts, and where the other states stand.

It reads labels as they were given; nothing here is an estimate, and nothing here feeds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

Cell = dict[str, Any]
Same = Callable[[Cell, Cell], bool | None]
"""Two cells → same, different, or not labelled."""


def by_exact(a: Cell, b: Cell) -> bool | None:
    """Equality after the study's normalization."""
    if a["status"] != "ok" or b["status"] != "ok":
        return None
    return bool(a["exact_key"] == b["exact_key"])


def by_labels(labels: dict[tuple[int, int], int]) -> Same:
    """A judge's labels of one question, as `read.question` gives them."""

    def same(a: Cell, b: Cell) -> bool | None:
        label = labels.get((a["cell_key"], b["cell_key"]))
        return None if label is None else bool(label)

    return same


@dataclass(frozen=True, slots=True)
class Classes:
    """Letters of the answers of one question.

    Attributes:
        letters: Cell key → ``A``, ``B``, …; ``?`` for UNKNOWN, an error or an answer nobody labelled.
        transitive: False where labels contradict themselves (1 = 2, 2 = 3, 1 ≠ 3); a letter then means *connected*.
        colours: Letter → its colour: ``old`` for the first class of the old state, ``new`` for the first of the new
            state that the old one does not have, then ``c``, ``d``, ``e``, and ``u`` for ``?`` and what is left.
    """

    letters: dict[int, str]
    transitive: bool
    colours: dict[str, str]


def classes(cells: Sequence[Cell], same: Same, first: Iterable[str] = ()) -> Classes:
    """Classes of equal answers, lettered in ladder order after the states named first.

    Args:
        cells: All cells of the question in ladder and repeat order.
        same: Labels or exact equality.
        first: States whose answers get the first letters, such as the endpoints.
    """
    ahead = {state: i for i, state in enumerate(first)}
    answered = sorted((c for c in cells if c["status"] == "ok" and not c["unknown"]),
                      key=lambda c: ahead.get(c["state_name"], len(ahead)))
    leader = {cell["cell_key"]: cell["cell_key"] for cell in answered}

    def root(key: int) -> int:
        while leader[key] != key:
            leader[key] = key = leader[leader[key]]
        return key

    labelled: set[int] = set()
    apart: list[tuple[int, int]] = []
    for a, b in combinations(answered, 2):
        label = same(a, b)
        if label is not None:
            labelled |= {a["cell_key"], b["cell_key"]}
        if label:
            leader[root(b["cell_key"])] = root(a["cell_key"])
        elif label is False:
            apart.append((a["cell_key"], b["cell_key"]))
    letters: dict[int, str] = {cell["cell_key"]: "?" for cell in cells}
    names: dict[int, str] = {}
    for cell in answered:
        if cell["cell_key"] in labelled or len(answered) == 1:
            names.setdefault(root(cell["cell_key"]), letter(len(names)))
            letters[cell["cell_key"]] = names[root(cell["cell_key"])]
    return Classes(letters, all(root(a) != root(b) for a, b in apart), _colours(cells, letters, tuple(ahead)))


def _colours(cells: Sequence[Cell], letters: dict[int, str], ends: Sequence[str]) -> dict[str, str]:
    colours = {"?": "u"}
    for state, colour in zip(ends[:2], ("old", "new"), strict=False):
        own = sorted({letters[cell["cell_key"]] for cell in cells if cell["state_name"] == state} - set(colours))
        if own:
            colours[own[0]] = colour
    left = [name for name in dict.fromkeys(letters.values()) if name not in colours]
    return colours | dict(zip(sorted(left), [*"cde", *"u" * len(left)], strict=False))


def letter(number: int) -> str:
    """A, B, …, Z, then A2, B2, … for the letter of a class by its number."""
    return chr(ord("A") + number % 26) + (str(number // 26 + 1) if number >= 26 else "")


def counts(cells: Sequence[Cell], same: Same, one: str, other: str) -> tuple[int, int]:
    """Labelled pairs that agree, and labelled pairs: inside a state without self-pairs, or between two states."""
    a = [cell for cell in cells if cell["state_name"] == one]
    b = [cell for cell in cells if cell["state_name"] == other]
    pairs = combinations(a, 2) if one == other else product(a, b)
    labels = [label for x, y in pairs if (label := same(x, y)) is not None]
    return sum(labels), len(labels)


def standing(cells: Sequence[Cell], same: Same, state: str, old: str, new: str, *, closed_book: bool) -> str:
    """Where a state outside the endpoints stands, as a sentence without the state's name; empty where unknown.

    The rules are those of the trajectories: unstable inside, else by its agreement with each end.
    """
    inside, pairs = counts(cells, same, state, state)
    to_old, to_new = counts(cells, same, state, old), counts(cells, same, state, new)
    if not to_old[1] or not to_new[1]:
        return ""
    if inside < pairs:
        return "disagrees with itself across repeats."
    ends = _share(*to_old), _share(*to_new)
    verb = "aligns" if closed_book else "sides"
    return {
        (1, 0): f"{verb} with the old snapshot.",
        (0, 1): f"{verb} with the new snapshot.",
        (0, 0): "aligns with neither end." if closed_book else "gives a third answer.",
        (1, 1): "agrees with both ends.",
    }.get(ends, "agrees with some answers of an end and not with others.")


def _share(agree: int, pairs: int) -> int:
    """1 for all pairs, 0 for none, -1 for some."""
    return 1 if agree == pairs else 0 if agree == 0 else -1
