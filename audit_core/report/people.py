"""People against a study's judge: its arrays joined with the labels that people gave to a drawn sample.

A question counts for a person when every pair of it is labelled and so is every question drawn before it in its
stratum; then the counted ones are a random part of the stratum, wherever the person stopped. *Cannot tell* takes a
pair out of agreement and κ, and its question out of the corrected estimate; both are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.estimators import judges, people, stream
from audit_core.estimators.bounds import Settings
from audit_core.model import Estimate
from audit_core.report.corrected import Corrected, corrected_by, sizes, uncorrected
from audit_core.report.labelled import OPEN, Frame, Joined, Labels, blank
from audit_core.reviews.events import Event
from audit_core.reviews.labels import Asked, Place, Sample

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Progress:
    """How far one person is.

    Attributes:
        asked: Different pairs of texts in the sample.
        labelled: Pairs with a label, *cannot tell* included.
        cannot_tell: Those among them.
        finished: Questions with all their pairs labelled.
        counted: Those of them that no open question stands before, by stratum.
        outdated: Labels of answers that the study no longer has; they do not count.
    """

    reviewer: str
    asked: int
    labelled: int
    cannot_tell: int
    finished: int
    counted: dict[str, int]
    outdated: int


@dataclass(frozen=True)
class Against:
    """The judge and one person, or two people, on the pairs that both labelled.

    Attributes:
        first, second: Names; empty for the judge.
        confusion: Pairs: same by both, same by the first only, by the second only, by neither.
        agreement, kappa: As they are in the sample.
        weighted: Shares of the same four, weighted back to all questions; None where that cannot be done.
        weighted_agreement, weighted_kappa: From them; None between people.
    """

    first: str
    second: str
    confusion: tuple[int, int, int, int]
    agreement: Estimate
    kappa: Estimate
    weighted: tuple[Fraction, Fraction, Fraction, Fraction] | None = None
    weighted_agreement: Estimate | None = None
    weighted_kappa: Estimate | None = None


@dataclass(frozen=True)
class Disagreement:
    """A pair that judge and people, or people among themselves, see differently.

    Attributes:
        judge: 1 same, 0 different.
        said: Value by person, of those who labelled it.
        finished: Who has labelled every pair of its question.
    """

    asked: Asked
    judge: int
    said: dict[str, str]
    finished: frozenset[str]


@dataclass(frozen=True)
class Checked:
    """A judge beside people.

    Attributes:
        progress: Of everyone who gave a label.
        against: The judge with each person.
        between: Two people with each other; empty for one or more than two.
        alpha: Krippendorff's α of more than two people.
        uncorrected: Excess churn by the judge alone.
        corrected: By each person, then the mean of all where there are several.
    """

    progress: tuple[Progress, ...]
    against: tuple[Against, ...]
    between: tuple[Against, ...]
    alpha: Estimate | None
    uncorrected: Estimate
    corrected: tuple[Corrected, ...]
    disagreements: tuple[Disagreement, ...]


def check(
    found: Frame,
    sample: Sample,
    pairs: Mapping[str, Sequence[Asked]],
    given: Mapping[str, Mapping[Place, Event]],
    settings: Settings,
) -> Checked:
    """How far the judge agrees with people, people with each other, and excess churn corrected by their labels.

    Args:
        found: All questions.
        sample: What was drawn, from these questions.
        pairs: Pairs of each drawn question.
        given: Newest label by reviewer and pair, from `labels.given`.
        settings: Level, stream and statuses of the protocol.
    """
    drawn = sample.questions(found.strata)
    assert drawn is not None, "the sample was drawn from other questions"
    joined = Joined(found, drawn, pairs, given)
    names = list(joined.said)
    judge = joined.part.labels[found.judge]
    alpha = _alpha(joined, names, settings) if len(names) > 2 else None
    corrected = [corrected_by(joined, [name], settings) for name in names]
    if len(names) > 1:
        corrected.append(corrected_by(joined, names, settings))
    return Checked(
        tuple(_progress(joined, name) for name in names),
        tuple(_weighted(joined, _against(joined, judge, "", name, settings), settings) for name in names),
        tuple(_against(joined, joined.said[a], a, b, settings) for a, b in combinations(names, 2))
        if len(names) == 2
        else (),
        alpha,
        uncorrected(found, settings),
        tuple(corrected),
        _disagreements(joined, judge),
    )


def _progress(joined: Joined, who: str) -> Progress:
    finished = joined.finished(who)
    values = joined.values[who].values()
    return Progress(
        who,
        len(joined.pairs),
        len(values),
        sum(value == "cannot_tell" for value in values),
        int(finished.sum()),
        {name: len(rows) for name, rows in joined.by_stratum(joined.counted(finished)).items()},
        joined.outdated[who],
    )


def _counts(joined: Joined, first: Labels, who: str) -> npt.NDArray[np.int64]:
    """`judges.counts` of each drawn question over the asked pairs."""
    second = joined.said[who]
    known = joined.asked & (first >= 0) & (second >= 0)
    return judges.counts(*(np.where(known, labels, -1).astype(np.int8) for labels in (first, second)))


def _against(joined: Joined, labels: Labels, first: str, second: str, settings: Settings) -> Against:
    rows = _counts(joined, labels, second)
    both = np.flatnonzero(rows[:, 0])
    rows = rows[both[stream.order_of([joined.ids[i] for i in both])]]
    seed = f"{settings.seed}/people:{first or joined.frame.judge}:{second}"
    found = judges.agreement(rows, draws=settings.draws, seed=seed, tail=settings.tail)
    pairs, agreeing, one, other = (int(v) for v in rows.sum(0)) if len(rows) else (0, 0, 0, 0)
    both_same = (agreeing + one + other - pairs) // 2
    base = blank(joined, f"{first}, {second}" if first else second, settings)
    base = replace(base, population=found.questions, excluded=len(joined.ids) - found.questions)
    return Against(
        first,
        second,
        (both_same, one - both_same, other - both_same, agreeing - both_same),
        _named(base, "people_agreement", Fraction(agreeing, pairs) if pairs else None, found.agreement_interval),
        _named(base, "people_kappa", found.kappa, found.kappa_interval),
    )


def _weighted(joined: Joined, found: Against, settings: Settings) -> Against:
    counted = joined.by_stratum(joined.counted(joined.finished(found.second)))
    rows = _counts(joined, joined.part.labels[joined.frame.judge], found.second)
    strata = []
    for name, mine in counted.items():
        order = stream.order_of([joined.ids[i] for i in mine])
        strata.append((len(joined.frame.strata[name]), rows[np.array(mine, np.intp)[order]]))
    seed = f"{settings.seed}/people:{joined.frame.judge}:{found.second}:weighted"
    got = people.weighted(strata, draws=settings.draws, seed=seed, tail=settings.tail)
    base = blank(joined, f"{found.second}, weighted", settings)
    base = replace(base, population=sum(size for size, _ in strata), detail=base.detail | sizes(counted))
    return replace(
        found,
        weighted=got.confusion,
        weighted_agreement=_named(base, "people_agreement", got.agreement, got.agreement_interval),
        weighted_kappa=_named(base, "people_kappa", got.kappa, got.kappa_interval),
    )


def _named(base: Estimate, measure: str, value: Fraction | None, ends: Interval | None) -> Estimate:
    reason = "" if value is not None else people.NOBODY
    if value is None and base.population and measure.endswith("kappa"):
        reason = "Only one label is in use, or too few questions are finished, so κ is not defined."
    return replace(
        base,
        name=measure + base.name,
        measure=measure,
        numerator=None if value is None else value.numerator,
        denominator=None if value is None else value.denominator,
        interval=ends,
        reason=reason,
        unit="Cohen's κ" if measure.endswith("kappa") else base.unit,
    )


def _alpha(joined: Joined, names: Sequence[str], settings: Settings) -> Estimate:
    order = stream.order_of(joined.ids)
    upper = np.triu_indices(joined.asked.shape[1], 1)
    tables = [np.where(joined.asked, joined.said[name], OPEN) for name in names]
    stacked = np.stack([table[:, upper[0], upper[1]] for table in tables], 2)[order]
    found = people.reliability(
        np.maximum(stacked, OPEN).astype(np.int8),
        draws=settings.draws,
        seed=f"{settings.seed}/people:alpha",
        tail=settings.tail,
    )
    questions = int(((stacked >= 0).sum(2) > 1).any(1).sum())
    base = replace(blank(joined, "all", settings), population=questions, excluded=len(joined.ids) - questions)
    return replace(_named(base, "people_alpha", found.alpha, found.interval), unit="Krippendorff's α")


def _disagreements(joined: Joined, judge: Any) -> tuple[Disagreement, ...]:
    words = {"same": 1, "different": 0}
    finished = {who: joined.finished(who) for who in joined.said}
    out = []
    for place, pair in joined.pairs.items():
        said = {who: values[place] for who, values in joined.values.items() if place in values}
        row = joined.where[place][0][0]
        done = frozenset(who for who, of in finished.items() if of[row])
        for label in sorted({int(judge[at]) for at in joined.where[place]}):
            if {words[value] for value in said.values() if value in words} - {label}:
                out.append(Disagreement(pair, label, said, done))
    return tuple(out)
