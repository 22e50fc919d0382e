"""Beyond the point estimate: another test, joint intervals, other kernels and bounds, parts and single questions.

Supportive where the study was preregistered, exploratory where it was not; what leaves out questions that were chosen
by their answers or tags is always exploratory. None of it can rescue or sink a decision. These estimates are newer than
some locked studies, whose results lack them as a group; see `results.differences`. Formulas are in docs/method.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bca, bootstrap, churn, influence, stream
from audit_core.estimators.bounds import NO_FLOOR, Settings, bounded, undefined
from audit_core.estimators.permutation import permutation
from audit_core.estimators.simultaneous import DRAWS, max_t
from audit_core.model import Estimate
from audit_core.tensors import Answers

MEASURES = frozenset({
    "permutation_p", "bca_excess_churn", "excess_churn_other_rule", "excess_churn_without_tag", "largest_influence",
    "dropped_to_margin", "dropped_to_zero", "simultaneous_excess_churn",
})  # fmt: skip
"""Measures of this module; no other estimate has one of them."""

FINEST = 1 << 20
"""Common denominator up to which sums of squares fit 64 bits at a million questions."""
RAGGED = "The numbers of repeats differ too much between questions for this estimate."
Order = npt.NDArray[np.intp]


def pair_estimates(
    answers: Answers, old: str, new: str, role: str, settings: Settings, margin: Fraction | None = None
) -> Iterator[Estimate]:
    """Everything about one pair of states.

    Args:
        margin: Of the protocol's rule, which is about the exact kernel; None where there is none.
    """
    order = stream.order_of(answers.question_ids)
    o, n = answers.index(old), answers.index(new)
    for kernel in answers.kernels:
        found = churn.contrast(answers.kernel(kernel), answers.repeats, o, n)
        yield _permutation(answers, kernel, found, old, new, role, order, settings)
        yield _bca(answers, kernel, found, old, new, role, settings)
        yield from _influence(answers, kernel, found, old, new, order, settings, margin if kernel == "exact" else None)
        yield from _tags(answers, kernel, found, old, new)
    for kernel in ("exact:raw", *(f"exact:{rule}" for rule in answers.others)):
        found = churn.contrast(answers.kernel(kernel), answers.repeats, o, n)
        status = settings.status("other", role)
        base = _base("excess_churn", kernel, found, old, new)
        base = replace(base, measure="excess_churn_other_rule", status=status)
        yield base if base.numerator is None else bounded(base, found.scaled, found.denominator, settings)


def step_estimates(answers: Answers, steps: list[tuple[str, str]], settings: Settings) -> Iterator[Estimate]:
    """Intervals of excess churn that hold for several pairs together, on the questions that all of them have.

    Args:
        steps: Pairs of states, two or more; fewer give nothing.
    """
    if len(steps) < 2:
        return
    status, measure = settings.status("other", "step"), "simultaneous_excess_churn"
    places = [(answers.index(old), answers.index(new)) for old, new in steps]
    found = {k: [churn.contrast(answers.kernel(k), answers.repeats, o, n) for o, n in places] for k in answers.kernels}
    alike: dict[bytes, list[str]] = {}  # kernels that have the same questions share the draws
    for kernel, contrasts in found.items():
        keep = np.logical_and.reduce([c.eligible for c in contrasts])
        reason = RAGGED if max(c.denominator for c in contrasts) >= FINEST else ""
        if keep.sum() < 2:
            reason = "A single question has no interval." if keep.any() else NO_FLOOR
        if not reason:
            alike.setdefault(keep.tobytes(), []).append(kernel)
            continue
        for old, new in steps:
            name = f"{measure}[{kernel}]@{old}-{new}"
            yield undefined(name, measure, status, kernel, old, new, reason, len(answers), "agreement")
    for code, kernels in alike.items():
        keep = np.frombuffer(code, np.bool_)
        families = [
            (np.stack([c.values[keep] for c in found[k]], 1), [c.denominator for c in found[k]]) for k in kernels
        ]
        order = stream.order_of([answers.question_ids[i] for i in np.flatnonzero(keep)])
        made = max_t(families, order, settings.tail, settings.seed)
        for kernel, (columns, denominators), joint in zip(kernels, families, made, strict=True):
            base = Estimate("", measure, None, None, "agreement", status, kernel, population=len(columns),
                            excluded=len(answers) - len(columns))  # fmt: skip
            for (old, new), column, denominator, interval in zip(
                steps, columns.T, denominators, joint.intervals, strict=True
            ):
                detail = {"engine": f"{DRAWS} draws, max-t over {len(steps)} steps"}
                if joint.critical is not None:
                    detail["critical"] = f"{joint.critical:.3f}"
                if (column == column[0]).all():
                    detail["degenerate"] = (
                        "All questions are equal in this step: it has no interval, and no part in the others'."
                    )
                elif interval is None:
                    detail["bounds"] = (
                        "In too many resamples a step did not vary at all, so there is no joint interval."
                    )
                yield replace(base, name=f"{measure}[{kernel}]@{old}-{new}", old=old, new=new, detail=detail,
                              numerator=int(column.sum()), denominator=denominator * len(columns),
                              interval=interval)  # fmt: skip


def _base(measure: str, kernel: str, found: churn.Contrast, old: str, new: str) -> Estimate:
    """D̂ without bounds, or undefined; the status is still to be set."""
    size, questions = int(found.eligible.sum()), len(found.eligible)
    name = f"{measure}[{kernel}]@{old}-{new}"
    if not size or found.values.dtype == object:
        reason = RAGGED if size else NO_FLOOR
        return undefined(name, measure, "exploratory", kernel, old, new, reason, questions, "agreement")
    top, denominator = found.total
    return Estimate(name, measure, top, denominator * size, "agreement", "exploratory", kernel, old, new,
                    population=size, excluded=questions - size)  # fmt: skip


def _permutation(
    answers: Answers, kernel: str, found: churn.Contrast, old: str, new: str, role: str, order: Order,
    settings: Settings,
) -> Estimate:  # fmt: skip
    base = replace(_base("permutation_p", kernel, found, old, new), unit="probability",
                   status=settings.status("other", role))  # fmt: skip
    if base.numerator is None:
        return base
    o, n = answers.index(old), answers.index(new)
    made = permutation(answers.kernel(kernel), answers.repeats, found.eligible, o, n, order, settings.seed)
    if made.p is None:
        return replace(base, numerator=None, denominator=None, reason=made.engine)
    detail = {"engine": made.engine, "informative": str(made.informative), "p": f"{float(made.p):.5e}"}
    reason = "" if made.informative else "However the answers are split, nothing changes: the test has nothing to test."
    return replace(base, numerator=made.p.numerator, denominator=made.p.denominator, reason=reason, detail=detail)


def _bca(
    answers: Answers, kernel: str, found: churn.Contrast, old: str, new: str, role: str, settings: Settings
) -> Estimate:
    base = replace(_base("bca_excess_churn", kernel, found, old, new), status=settings.status("other", role))
    if base.numerator is None:
        return base
    distribution = bootstrap.of_mean(found.scaled, found.denominator)
    levels = (settings.tail, settings.tail / 2, 1 - settings.tail / 2)
    made = None if distribution is None else bca.quantiles(found.scaled, distribution, levels)
    if made is None:
        return replace(base, detail={"bounds": "The corrected bounds are undefined: the questions hardly vary."})
    return replace(base, lower=made[0], interval=(made[1], made[2]), detail={"engine": "exact bootstrap, BCa"})


def _influence(
    answers: Answers, kernel: str, found: churn.Contrast, old: str, new: str, order: Order, settings: Settings,
    margin: Fraction | None,
) -> Iterator[Estimate]:  # fmt: skip
    base = _base("largest_influence", kernel, found, old, new)
    size = base.population
    if base.numerator is not None and size < 2:
        base = replace(base, numerator=None, denominator=None, reason="There is a single question.")
    counts = {"dropped_to_margin": margin is not None, "dropped_to_zero": True}
    if base.numerator is None:
        yield base
        for measure in (measure for measure, wanted in counts.items() if wanted):
            yield replace(base, name=f"{measure}[{kernel}]@{old}-{new}", measure=measure, unit="questions")
        return
    rows = np.flatnonzero(found.eligible)
    ids = [answers.question_ids[i] for i in rows]
    made = influence.largest(found.scaled, found.denominator, stream.order_of(ids))
    top, bottom = made.change
    yield replace(base, numerator=top, denominator=bottom,
                  detail={"question": ids[made.row], "ties": str(made.ties)})  # fmt: skip
    base = replace(base, unit="questions", detail={})
    if margin is not None:
        dropped = influence.until_below(found.scaled, found.denominator, margin)
        yield _count(base, "dropped_to_margin", dropped, size, "All that is left stays at the margin or above it.")
    dropped = influence.until_zero(found.scaled, found.denominator, settings.tail)
    yield _count(base, "dropped_to_zero", dropped, size, "The lower bound stays above zero whatever is dropped.")


def _count(base: Estimate, measure: str, dropped: int | None, size: int, never: str) -> Estimate:
    name = f"{measure}[{base.kernel}]@{base.old}-{base.new}"
    if dropped is None:
        return replace(base, name=name, measure=measure, numerator=None, denominator=None, reason=never)
    return replace(base, name=name, measure=measure, numerator=dropped, denominator=size)


def _tags(answers: Answers, kernel: str, found: churn.Contrast, old: str, new: str) -> Iterator[Estimate]:
    """D̂ without the questions of each tag that two or more and not all eligible questions carry."""
    size = int(found.eligible.sum())
    if not size or found.values.dtype == object:
        return
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for i in np.flatnonzero(found.eligible).tolist():
        for tag in set(answers.tags[i]):
            counts[tag] += 1
            sums[tag] += int(found.values[i])
    total, denominator = found.total
    for tag in sorted(tag for tag, count in counts.items() if 2 <= count < size):
        label, left = f"{kernel}, without tag {tag}", size - counts[tag]
        yield Estimate(
            f"excess_churn[{label}]@{old}-{new}", "excess_churn_without_tag", total - sums[tag], denominator * left,
            "agreement", "exploratory", label, old, new, population=left, excluded=len(answers) - left,
            detail={"tag": tag, "with_tag": str(counts[tag])},
        )  # fmt: skip
