"""What the flips of a pair answered along the ladder: the alluvial of the Trajectories page."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from dashboard import data, display, sentences
from dashboard.comparison import Comparison
from dashboard.display import plain
from dashboard.figures.flow import Group, Ribbon, flows
from dashboard.figures.palette import Palette
from dashboard.numbers import plural
from dashboard.state import KERNELS


def panel(comparison: Comparison, names: list[str]) -> None:
    """Draw the panel."""
    selection, kernel = comparison.selection, comparison.study["main_kernel"]
    old, new = selection.old, selection.new
    display.section(
        f"The flips from {sentences.states(comparison)} along the ladder",
        "A is what the old state answered, B what the new one did; C and on are other answers, ? is UNKNOWN, ~ a state "
        "whose repeats disagree. A state joins a class by its first answer, so counts can differ by a few from the "
        "table below, which asks all pairs.",
    )
    ids, letters = data.paths(selection.study, kernel, old, new)
    if not ids:
        flips = comparison.pair("repeat_stable_flips", kernel)
        why = "Nothing to follow along the ladder." if flips["numerator"] == 0 else plain(flips["reason"])
        display.empty("There are no repeat-stable flips between these states.", why)
        return
    palette = display.palette()
    groups = [[_group(letter, palette) for letter in sorted(set(letters[name]), key=_place)] for name in names]
    ribbons, opens, rows = [], {}, []
    for column, (first, second) in enumerate(pairwise(names)):
        for (a, b), size in sorted(Counter(zip(letters[first], letters[second], strict=True)).items()):
            name = f"{column}:{a}>{b}"
            ribbons.append(Ribbon(column, a, b, size, str(size), _colour(b, palette), name, at=0.2))
            members = [q for q, x, y in zip(ids, letters[first], letters[second], strict=True) if (x, y) == (a, b)]
            opens[name] = display.into(selection, kernel=kernel, queue="all", only=members)
            rows.append({"from": first, "to": second, "class before": a, "class after": b, "flips": size})
    display.figure(
        flows(names, groups, ribbons, palette, height=430),
        "classes",
        "Semantic classes of the flips over the ladder",
        opens=opens,
    )
    display.facts(
        population=plural(len(ids), "repeat-stable flip"),
        unit="questions",
        kernel=KERNELS[kernel],
        status="post-hoc" if comparison.locked else "exploratory",
    )
    display.link(f"Open {plural(len(ids), 'flip')}", display.into(selection, kernel=kernel))
    display.table(rows, "classes")


def _place(letter: str) -> tuple[int, str]:
    return ({"?": 1, "~": 2, " ": 3}.get(letter, 0), letter)


def _group(letter: str, palette: Palette) -> Group:
    words = {"A": "A · as old", "B": "B · as new", "?": "? · UNKNOWN", "~": "~ · unstable", " ": "no answer"}
    return Group(letter, words.get(letter, letter), _colour(letter, palette))


def _colour(letter: str, palette: Palette) -> str:
    if letter in "?~ ":
        return palette.neutral
    return palette.classes[min(ord(letter) - ord("A"), len(palette.classes) - 1)]
