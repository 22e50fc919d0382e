"""Which parts of a log tell its states apart: as asked for, else the fewest that tell all of them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import SEPARATOR, mixed
from audit_core.importers.options import Options
from audit_core.importers.sources import Source
from audit_core.importers.values import shown


@dataclass(frozen=True, slots=True)
class Settled:
    """The states of an import.

    Attributes:
        names: Of each combination of parts, in order of first appearance; several may have one name.
        order: Their numbers in the order that was asked for, which is that of first appearance where none was.
        parts: By which they are told apart.
    """

    names: tuple[str, ...]
    order: tuple[int, ...]
    parts: tuple[str, ...]


def settle(found: Sequence[str], known: Sequence[str], options: Options, sources: Sequence[Source]) -> Settled:
    """Name the states.

    Args:
        found: Combinations of parts, as the readers joined them.
        known: Parts that the kind knows, the most telling first.
        options: What was asked for.
        sources: The files, which may have been given a state each.

    Raises:
        InputError: What was asked for puts answers together that were made in different ways.
    """
    asked = tuple(part for part in options.state_parts if part not in known)
    parts = (*asked, *known)
    labels = Counter(source.label for source in sources)
    files = {
        source.name: options.named(source.path)
        or options.state
        or (source.label if labels[source.label] == 1 else source.name)
        for source in sources
    }
    at_file = parts.index("file")
    rows = [
        tuple(files[text] if at == at_file else text for at, text in enumerate(joined.split(SEPARATOR)))
        for joined in found
    ]
    if options.state_parts:
        chosen = tuple(parts.index(part) for part in options.state_parts)
        _whole(rows, parts, chosen)
    else:
        # A name that somebody gave to files is kept, and joined by what else differs.
        fixed = at_file if options.state or options.files else None
        chosen = _fewest(rows, len(parts), fixed)
    texts = {at: _unique_texts(rows, at) for at in chosen}
    names = [" / ".join(texts[at][row[at]] or "(none)" for at in chosen) for row in rows]
    if len(set(names)) < len({tuple(row[at] for at in chosen) for row in rows}):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    asked = tuple(old for _, old in options.renamed)
    order = sorted(range(len(names)), key=lambda at: asked.index(names[at]) if names[at] in asked else len(asked))
    return Settled(_renamed(names, options), tuple(order), tuple(parts[at] for at in chosen))


def _fewest(rows: Sequence[tuple[str, ...]], count: int, fixed: int | None) -> tuple[int, ...]:
    """The fewest parts that tell apart all that all of them tell apart; without choice, the first."""
    whole = len(set(rows))
    told = [at for at in range(count) if any(row[at] for row in rows)]
    for size in range(1, len(told) + 1):
        for chosen in combinations(told, size):
            if (fixed is None or fixed in chosen) and len({tuple(row[at] for at in chosen) for row in rows}) == whole:
                return chosen
    return tuple(range(count))


def _whole(rows: Sequence[tuple[str, ...]], parts: Sequence[str], chosen: tuple[int, ...]) -> None:
    """Refuse one state out of several ways to answer; several files or runs of one state are its repeats."""
    for at, part in enumerate(parts):
        if part in ("file", "run id") or at in chosen:
            continue
        seen: dict[tuple[str, ...], str] = {}
        for row in rows:
            state = tuple(row[i] for i in chosen)
            if seen.setdefault(state, row[at]) != row[at]:
                asked = ",".join(parts[i] for i in chosen)
                raise InputError(
                    Problem(
                        f"one state holds answers of several kinds: {part}",
                        f"one {part} for each state",
                        mixed([seen[state], row[at]]),
                        f"--state-from {asked}",
                        f"Add it: --state-from {asked},{part}",
                    )
                )


def _renamed(names: list[str], options: Options) -> tuple[str, ...]:
    """Names as ``--state NAME=FOUND`` changes them; two found states with one name are repeats of one state."""
    new = {old: name for name, old in options.renamed}
    unknown = [old for old in new if old not in names]
    if unknown:
        known = mixed(list(dict.fromkeys(names)))
        action = "Write --state NAME=FILE, or --state NAME=STATE with a state of the files."
        raise InputError(Problem("no such file or state", known, shown(unknown[0]), "--state", action))
    return tuple(new.get(name, name) for name in names)


def _unique_texts(rows: Sequence[tuple[str, ...]], at: int) -> dict[str, str]:
    """Texts short enough for the name of a state, still different where the whole texts are."""
    texts = dict.fromkeys(row[at] for row in rows)
    short = {text: shown(" ".join(text.split()), 60) for text in texts}
    counts: dict[str, int] = {}
    for text, cut in short.items():
        counts[cut] = counts.get(cut, 0) + 1
        if counts[cut] > 1:
            short[text] = f"{shown(cut, 52)} ({counts[cut]})"
    return short
