"""Filters on a queue, as the address of a page spells them (see `dashboard.components.links`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from audit_core.reviews.events import IMPACTS, VERDICTS
from audit_core.reviews.queues import COLUMNS, Marks, Mask, Table

RANGES = ("contrast", "shared", "weight")
FACTS = frozenset(COLUMNS) - {"numerator", "denominator", "weight"}
PARAMETERS = ("only", "of", "tag", "fact", *RANGES, "verdict", "impact", "find")
NONE, ANY, OTHER = "none", "any", "other"


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions joined by *and*; an empty one holds for every question.

    Attributes:
        only: Exactly these ids.
        of: How many ids there were when a link had to be cut; 0 where it was not.
        tags: Any of these.
        facts: Columns that must be above 0.
        ranges: Inclusive bounds by name of `RANGES`.
        verdict: The verdict that counts for the question, ``any`` of them, or ``none`` where none counts yet.
        impact: Its impact; ``other`` for one that is not high or that nobody gave.
        find: Text in id, question or answers.
        problems: Sentences about parts that could not be understood.
    """

    only: tuple[str, ...] | None = None
    of: int = 0
    tags: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    ranges: tuple[tuple[str, float, float], ...] = ()
    verdict: str | None = None
    impact: str | None = None
    find: str = ""
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Filters(problems=self.problems)

    @property
    def settled(self) -> bool:
        """Whether it asks for questions whose verdict counts, which are looked up and not waiting for anyone."""
        return self.verdict not in (None, NONE) or self.impact is not None

    def mask(self, table: Table, marks: Marks, search: Callable[[str], set[str]]) -> Mask:
        """Questions that pass.

        Args:
            table: The questions.
            marks: What the reviewer has said.
            search: Text → ids of the questions that contain it.
        """
        mask = np.ones(len(table), np.bool_)
        if self.only is not None:
            mask &= _among(table, set(self.only))
        if self.find:
            mask &= _among(table, search(self.find))
        if self.tags:
            wanted = set(self.tags)
            mask &= np.fromiter((not wanted.isdisjoint(tags) for tags in table.tags), np.bool_, len(table))
        for name in self.facts:
            mask &= table[name] > 0
        for name, low, high in self.ranges:
            values = table.contrast if name == "contrast" else table[name]
            mask &= (values >= low - 1e-9) & (values <= high + 1e-9)
        if self.verdict == NONE:
            mask &= ~marks.settled
        elif self.verdict == ANY:
            mask &= marks.settled
        elif self.verdict:
            mask &= marks.outcome == list(VERDICTS).index(self.verdict)
        if self.impact == OTHER:
            mask &= (marks.outcome >= 0) & (marks.outcome_impact != list(IMPACTS).index("high"))
        elif self.impact:
            mask &= marks.outcome_impact == list(IMPACTS).index(self.impact)
        return mask


def parse(parameters: Mapping[str, Sequence[str]]) -> Filters:
    """Filters from the parameters of an address; what cannot be understood becomes a sentence and filters nothing."""
    problems: list[str] = []

    def one(name: str) -> str | None:
        values = parameters.get(name) or ()
        return values[-1] if values else None

    def word(name: str, known: Sequence[str]) -> str | None:
        value = one(name)
        if value is not None and value not in known:
            problems.append(f"The address asks for the {name} “{value}”, which does not exist; it was left out.")
            return None
        return value

    ranges = []
    for name in RANGES:
        if (text := one(name)) is not None:
            bounds = _range(text)
            if bounds is None:
                problems.append(
                    f"The address limits {name} by “{text}”, which is not a number or a range such as "
                    "0.25..1; it was left out."
                )
            else:
                ranges.append((name, *bounds))
    facts = tuple(fact for fact in parameters.get("fact") or () if fact in FACTS)
    problems += [
        f"The address asks for the fact “{fact}”, which does not exist; it was left out."
        for fact in parameters.get("fact") or ()
        if fact not in FACTS
    ]
    of = one("of") or ""
    return Filters(
        only=tuple(parameters["only"]) if parameters.get("only") else None,
        of=int(of) if of.isdecimal() and len(of) < 10 else 0,
        tags=tuple(parameters.get("tag") or ()),
        facts=facts,
        ranges=tuple(ranges),
        verdict=word("verdict", [*VERDICTS, NONE, ANY]),
        impact=word("impact", [*IMPACTS, OTHER]),
        find=one("find") or "",
        problems=tuple(problems),
    )


def _among(table: Table, ids: set[str]) -> Mask:
    mask = np.zeros(len(table), np.bool_)
    mask[[i for question_id in ids if (i := table.index.get(question_id)) is not None]] = True
    return mask


def _range(text: str) -> tuple[float, float] | None:
    low, dots, high = text.partition("..")
    try:
        bounds = float(low), float(high if dots else low)
    except ValueError:
        return None
    return bounds if all(map(math.isfinite, bounds)) else None
