"""What happens along the ladder: steps, middle states, the closed-book anchor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from audit_core.estimators.churn import Pairs, cross, within
from audit_core.kernels import Kernel

Flags = npt.NDArray[np.bool_]

MIDDLE = ("old", "new", "third", "unstable", "mixed")
ANCHOR = ("old", "new", "neither", "other")


def _all(pairs: Pairs) -> Flags:
    return pairs.defined & (pairs.agree == pairs.pairs)


def _none(pairs: Pairs) -> Flags:
    return pairs.defined & (pairs.agree == 0)


def sides(kernel: Kernel, repeats: npt.NDArray[np.int32], state: int, old: int, new: int) -> dict[str, Flags]:
    """With which endpoint a further state's answers agree, per question.

    Returns:
        Masks of length Q: ``unstable`` (the state disagrees with itself, tested first), ``old`` (all pairs agree with
        the old state, none with the new), ``new``, ``third`` (neither), ``mixed`` (anything else, possible only with
        non-transitive labels), ``undefined`` (fewer than two answers or an unknown label).
    """
    own = within(kernel, repeats, state)
    to_old, to_new = cross(kernel, repeats, old, state), cross(kernel, repeats, state, new)
    defined = own.defined & to_old.defined & to_new.defined
    stable = defined & _all(own)
    found = {
        "unstable": defined & ~_all(own),
        "old": stable & _all(to_old) & _none(to_new),
        "new": stable & _none(to_old) & _all(to_new),
        "third": stable & _none(to_old) & _none(to_new),
    }
    found["mixed"] = stable & ~(found["old"] | found["new"] | found["third"])
    found["undefined"] = ~defined
    return found


def returning(
    kernel: Kernel, repeats: npt.NDArray[np.int32], first: Flags, second: Flags, start: int, end: int
) -> Flags:
    """X→Y→X: flips at two neighbouring steps after which all answers agree with those at the start."""
    return first & second & _all(cross(kernel, repeats, start, end))


def union(flips: Sequence[Flags]) -> Flags:
    """Questions that flip at any of the given steps."""
    return np.logical_or.reduce(list(flips))
