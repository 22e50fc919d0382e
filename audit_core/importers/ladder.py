"""The order of the states and the primary pair, as asked for or as the files suggest."""

from __future__ import annotations

from audit_core.errors import InputError, Problem
from audit_core.importers.options import Options
from audit_core.importers.values import shown


def ladder(names: list[str], options: Options) -> tuple[list[str], tuple[str, str] | None]:
    """States in order, and old and new endpoint.

    Args:
        names: States in order of first appearance.
        options: Where a ladder or endpoints may be named.

    Raises:
        InputError: They name no such states, or contradict one another.
    """
    order = split_names(options.states, names) or names
    ends = split_names(options.endpoints, names)
    known = ", ".join(map(shown, names))
    problems = []
    if sorted(order) != sorted(names):
        found = ", ".join(map(shown, order))
        problems.append(
            Problem("the ladder is not the files' states", known, found, "--states", "Name every state once.")
        )
    if ends and (len(ends) != 2 or ends[0] == ends[1] or not set(ends) <= set(names)):
        problems.append(
            Problem(
                "no such endpoints",
                f"two of {known}",
                ", ".join(map(shown, ends)),
                "--endpoints",
                "Write --endpoints OLD,NEW.",
            )
        )
    if options.closed_book and options.closed_book not in names:
        problems.append(
            Problem("no such state", f"one of {known}", shown(options.closed_book), "--closed-book", "Check the name.")
        )
    # Estimates are named measure@old-new; a hyphen inside two names could give two pairs one name.
    pairs = [f"{one}-{other}" for one in names for other in names if one != other]
    if len(set(pairs)) < len(pairs):
        problems.append(
            Problem("two pairs of states would have one name", found=known, action="Rename a state in the files.")
        )
    if problems:
        raise InputError(problems)
    if not ends:
        return order, (order[0], order[1]) if len(order) == 2 else None
    old, new = ends
    if order.index(old) > order.index(new):
        if options.states:
            expected = "old before new on the ladder " + ", ".join(map(shown, order))
            raise InputError(
                Problem("the endpoints are in reverse", expected, f"{old}, {new}", "--endpoints", "Swap the two.")
            )
        order = [old, *(name for name in order if name not in ends), new]
    return order, (old, new)


def split_names(items: tuple[str, ...], known: list[str]) -> list[str]:
    """Names out of options like ``a,b``; a known name that holds a comma stays whole.

    Args:
        items: As given.
        known: Names of all states.
    """
    names: list[str] = []
    for item in items:
        parts = item.split(",")
        while parts:
            # The longest run of parts that is a state's name, else the first part as it stands.
            size = next((n for n in range(len(parts), 0, -1) if ",".join(parts[:n]) in known), 1)
            names.append(",".join(parts[:size]))
            parts = parts[size:]
    return [name if name in known else name.strip() for name in names]
