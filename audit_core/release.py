"""The release rule: what must hold before a new state may go out, fixed before the first answer.

Every condition is optional and at least one is needed; all that are named must hold. The rule is part of the protocol,
or of a file ``[release]`` for a study that was imported. How each condition is decided: ``docs/gate.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from audit_core.codec import Field, Record, check_fields

SHARE = re.compile(r"[01](\.[0-9]{1,12})?")
LIMITS = ("tolerance", "em_loss", "refusal_gain")
"""Conditions that are limits on a number."""
SWITCHES = ("every_flip_reviewed", "no_open_high_impact_regression", "signoff")
"""Conditions on what people said."""
JUDGED = SWITCHES[:2]
"""Those that rest on verdicts, for which `ReleaseRule.needed` counts."""

Fault = Callable[[str, str, object, str], None]


@dataclass(frozen=True, slots=True)
class ReleaseRule:
    """Conditions for a release; shares are decimal text, None where a condition is not asked for.

    Attributes:
        kernel: Of the churn condition and of the repeat-stable flips that must be reviewed.
        tolerance: The upper limit of excess churn must be below it; then the states are *compatible*.
        margin: Least excess churn that counts as *moved*, where its lower bound is above 0; goes with `tolerance`.
        em_loss: Largest tolerated loss of exact match, old minus new.
        refusal_gain: Largest tolerated rise of the share of refused answers.
        every_flip_reviewed: Each repeat-stable flip has a verdict that counts.
        no_open_high_impact_regression: No verdict of a high-impact regression stands.
        signoff: Somebody signed *ship* or *ship with conditions*, and it is not outdated.
        needed: Independent verdicts that a question needs before they count.
    """

    kernel: str
    tolerance: str | None = None
    margin: str | None = None
    em_loss: str | None = None
    refusal_gain: str | None = None
    every_flip_reviewed: bool = False
    no_open_high_impact_regression: bool = False
    signoff: bool = False
    needed: int = 1

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the conditions that are asked for, in their order."""
        return tuple(name for name in (*LIMITS, *SWITCHES) if getattr(self, name))

    @property
    def asks_people(self) -> bool:
        """Whether a condition rests on what people said."""
        return any(getattr(self, name) for name in SWITCHES)

    def same(self, other: ReleaseRule) -> bool:
        """Whether two rules ask for the same, however their decimals are written."""

        def plain(rule: ReleaseRule) -> dict[str, Any]:
            texts = {name: getattr(rule, name) for name in (*LIMITS, "margin")}
            return asdict(rule) | {name: text and Fraction(text) for name, text in texts.items()}

        return plain(self) == plain(other)

    def contradictions(
        self, kernels: Sequence[str], endpoints: tuple[str, str] | None, margin: str | None
    ) -> list[tuple[str, str, str]]:
        """What cannot all be true, as (what, expected, found).

        Args:
            kernels: That the study has.
            endpoints: Its primary pair.
            margin: Of the protocol's decision; None without one.
        """
        found = []
        if not self.conditions:
            found.append(("the release rule asks for nothing", "one condition or more", "none"))
        if endpoints is None:
            found.append(("the release rule needs endpoints", "[old, new]", "none"))
        if self.kernel not in kernels:
            found.append(("the release rule needs a kernel that the study lacks", ", ".join(kernels), self.kernel))
        if (self.tolerance is None) != (self.margin is None):
            expected = "tolerance with the margin of [decision] or one of its own, or neither"
            found.append(("tolerance and margin go together", expected, "one of them"))
        elif self.tolerance and self.margin and Fraction(self.tolerance) > Fraction(self.margin):
            what = "the tolerance is above the margin, so a study could be moved and compatible at once"
            found.append((what, f"at most {self.margin}", self.tolerance))
        if self.margin and margin is not None and Fraction(self.margin) != Fraction(margin):
            found.append(("the release rule has another margin than the decision", margin, self.margin))
        if self.needed != 1 and not any(getattr(self, name) for name in JUDGED):
            found.append(("needed counts verdicts, and no condition asks for any", " or ".join(JUDGED), "neither"))
        return found


def read(table: Any, kernel: str, margin: str | None, fault: Fault) -> ReleaseRule:
    """The rule of a table ``[release]``; what is wrong with it is noted as a fault.

    Args:
        table: As TOML gives it.
        kernel: Where the table names none.
        margin: Of the protocol's decision, where there is one; the table may leave it out then.
        fault: Takes what, expected, found, where.
    """
    plain = ReleaseRule(kernel)
    if not isinstance(table, dict):
        fault("release is not a table", "[release]", repr(table), "[release]")
        return replace(plain, signoff=True)  # so that nothing else is said of it
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _FIELDS:
            fault("there is a key too many", "one of " + ", ".join(_FIELDS), name, "[release]")
        elif value is None or not _FIELDS[name][0](value):
            fault(f"{name} is not what it must be", _FIELDS[name][1].removesuffix(" or null"), repr(value), "[release]")
        else:
            found[name] = value
    if "tolerance" in found:
        found.setdefault("margin", margin)
    return replace(plain, **found)


def to_record(rule: ReleaseRule) -> Record:
    """The rule as it is stored in ``protocol/protocol.json``."""
    return asdict(rule)


def from_record(record: Any) -> ReleaseRule:
    """A rule from its stored form.

    Raises:
        CodecError: A field is missing, unknown or ill-typed.
    """
    return ReleaseRule(**check_fields(record, _FIELDS, "release"))


def _share(value: Any) -> bool:
    return value is None or (type(value) is str and SHARE.fullmatch(value) is not None and 0 < Fraction(value) <= 1)


_SHARE: Field = (_share, 'decimal text above 0, at most "1" or null', True)
_SWITCH: Field = (lambda value: type(value) is bool, "true or false", True)
_FIELDS: dict[str, Field] = {
    "kernel": (lambda value: value in ("exact", "semantic"), "exact or semantic", True),
    **dict.fromkeys(("tolerance", "margin", "em_loss", "refusal_gain"), _SHARE),
    **dict.fromkeys(SWITCHES, _SWITCH),
    "needed": (lambda value: type(value) is int and 1 <= value <= 99, "a number from 1 to 99", True),
}
