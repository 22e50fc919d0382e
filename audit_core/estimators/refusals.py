"""Estimates about outcomes of answers and the evidence of repeats; formulas are in docs/method.md.

They are newer than some locked studies, whose results lack them as a group; see `results.differences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from audit_core.estimators import binomial, churn, noise, outcomes, utility
from audit_core.estimators import transitions as flows
from audit_core.estimators.bounds import NO_FLOOR, Flags, Settings, agreement, bounded, undefined
from audit_core.model import Estimate, EstimateStatus
from audit_core.tensors import OUTCOMES, Answers

MEASURES = frozenset({
    "outcome_rate", "outcome_split", "outcome_split_any", "split_share", "one_answer", "noise", "noise_contribution",
    "outcome_transitions", "excess_churn_without_refusals",
})  # fmt: skip
"""Measures of this module; no other estimate has one of them."""

ENOUGH = 20
"""From so many answers on, one text for nearly all of them is no accident."""
MOSTLY = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Alarm:
    """A state of which a number that looks good means nothing."""

    state: str
    sentence: str


def alarms(estimates: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """States in which nearly all answers are one text.

    Args:
        estimates: As `results.as_row` or the read model gives them.
    """
    found = []
    for row in estimates:
        count, size = row["numerator"], row["denominator"]
        if row["measure"] == "one_answer" and count is not None and size >= ENOUGH and count >= MOSTLY * size:
            text = row["detail"].get("text", "")
            sentence = (
                f"{count:,} of {size:,} answers in {row['old']} are one and the same"
                + (f" (“{text}”)" if text else "")
                + "; such agreement means nothing, and churn against it is not churn between answers."
            )
            found.append(Alarm(row["old"], sentence))
    return found


def state_estimates(answers: Answers, state: str, settings: Settings) -> Iterator[Estimate]:
    """Outcomes, splits, one text for all, and where the noise of one state comes from."""
    s, status = answers.index(state), settings.status("other", "state")
    yield from _rates(answers, s, state, status, settings)
    yield from _splits(answers, s, state, status, settings)
    yield _one_answer(answers, s, state, status)
    for name in answers.kernels:
        yield from _noise(answers, name, s, state, status, settings)


def pair_estimates(answers: Answers, old: str, new: str, role: str, settings: Settings) -> Iterator[Estimate]:
    """What becomes of outcomes between two states, and excess churn where nobody refuses."""
    status = settings.status("other", role)
    yield from _transitions(answers, old, new, status)
    o, n = answers.index(old), answers.index(new)
    refused = (answers.outcome[:, [o, n]] == outcomes.REFUSED).any((1, 2))
    for kernel in answers.kernels:
        found = churn.contrast(answers.kernel(kernel), answers.repeats, o, n)
        keep = found.eligible & ~refused
        label = f"{kernel}, without refusals"
        name, measure = f"excess_churn[{label}]@{old}-{new}", "excess_churn_without_refusals"
        size = int(keep.sum())
        if not size:
            reason = NO_FLOOR
            if found.eligible.any():
                reason = "Every question that can be compared has a refusal in one of the two states."
            yield undefined(name, measure, status, label, old, new, reason, len(answers), "agreement")
            continue
        values = found.values[keep]
        estimate = Estimate(
            name, measure, int(values.sum(dtype=object)), found.denominator * size, "agreement", status, label, old,
            new, population=size, excluded=len(answers) - size,
            detail={"with_refusal": str(int((found.eligible & refused).sum()))},
        )  # fmt: skip
        yield bounded(estimate, values, found.denominator, settings) if values.dtype != object else estimate


def _rates(answers: Answers, s: int, state: str, status: EstimateStatus, settings: Settings) -> Iterator[Estimate]:
    said = answers.outcome[:, [s]]
    for kind, word in enumerate(OUTCOMES):
        flags = np.where(said < 0, np.int8(-1), said == kind).astype(np.int8)
        values, denominator, keep = utility.per_question(flags, 0)
        name, size = f"outcome_rate[{word}]@{state}", int(keep.sum())
        if not size:
            yield undefined(name, "outcome_rate", status, None, state, None, "No answer in this state.",
                            len(answers), "answers")  # fmt: skip
            continue
        estimate = Estimate(name, "outcome_rate", int(values[keep].sum()), denominator * size, "answers", status,
                            old=state, population=size, excluded=len(answers) - size)  # fmt: skip
        yield bounded(estimate, values[keep], denominator, settings)


def _splits(answers: Answers, s: int, state: str, status: EstimateStatus, settings: Settings) -> Iterator[Estimate]:
    several = answers.repeats[:, s] > 1
    same = outcomes.same_evidence(answers.evidence, answers.repeats, s)
    split, refusing = outcomes.split(answers.outcome, s), outcomes.refusal_split(answers.outcome, s)
    few = {"fewer_answers": str(int((~several).sum()))}
    left_out = {
        "other_evidence": str(int((several & (same == 0)).sum())),
        "unknown_evidence": str(int((several & (same < 0)).sum())),
    }
    for measure, keep, detail in (
        ("outcome_split", several & (same == 1), {**left_out, **few}),
        ("outcome_split_any", several, few),
    ):
        size, count = int(keep.sum()), int((keep & split).sum())
        if not size:
            reason = "No question has two answers here."
            if several.any():
                reason = "Of no question with two answers here is it known that all its repeats saw the same evidence."
            yield undefined(f"{measure}@{state}", measure, status, None, state, None, reason, len(answers), "questions")
            continue
        tail = settings.tail
        yield Estimate(
            f"{measure}@{state}", measure, count, size, "questions", status, old=state,
            lower=binomial.lower(count, size, tail),
            interval=(binomial.lower(count, size, tail / 2), binomial.upper(count, size, tail / 2)),
            population=size, excluded=len(answers) - size,
            detail={**detail, "refusal_splits": str(int((keep & refusing).sum())), "engine": "Clopper-Pearson"},
        )  # fmt: skip
    kind = answers.outcome[:, s]
    refused = kind == outcomes.REFUSED
    one_refuses, other_outcome = (x[:, :, None] != x[:, None, :] for x in (refused, kind))
    for kernel in answers.kernels:
        name, blank = f"split_share[{kernel}]@{state}", partial(
            undefined, measure="split_share", status=status, kernel=kernel, old=state, new=None,
            excluded=len(answers), unit="pairs of answers",
        )  # fmt: skip
        found = noise.disagreement(answers.kernel(kernel), answers.repeats, s, one_refuses)
        if not found.defined.any():
            yield blank(name, reason="Undefined: no question has two answers here with all their labels.")
            continue
        other = noise.disagreement(answers.kernel(kernel), answers.repeats, s, other_outcome)
        every, inside, any_split, refusing_pairs, other_pairs = noise.weighted(
            [found.differ, found.differ * refusing, found.differ * split, found.chosen_differ, other.chosen_differ],
            found.pairs, found.defined,
        )  # fmt: skip
        if not every:
            yield blank(name, reason="All repeats of a question agree here, so there is no disagreement to share out.")
            continue
        size = int(found.defined.sum())
        yield Estimate(
            name, "split_share", inside, every, "pairs of answers", status, kernel, state, population=size,
            excluded=len(answers) - size,
            detail={
                "outcome_splits": str(Fraction(any_split, every)),
                "pairs_one_refuses": str(Fraction(refusing_pairs, every)),
                "pairs_other_outcome": str(Fraction(other_pairs, every)),
            },
        )  # fmt: skip


def _one_answer(answers: Answers, s: int, state: str, status: EstimateStatus) -> Estimate:
    numbers = answers.text[:, s][answers.text[:, s] >= 0]
    name = f"one_answer@{state}"
    if not len(numbers):
        return undefined(name, "one_answer", status, None, state, None, "No answer in this state.", len(answers),
                         "answers")  # fmt: skip
    distinct, sizes = np.unique(numbers, return_counts=True)
    most = int(sizes.argmax())
    number, text = answers.common[s]
    detail = {"texts": str(len(distinct))}
    if number == distinct[most]:
        detail["text"] = text if len(text) <= 120 else text[:119] + "…"
    asked = int((answers.repeats[:, s] > 0).sum())
    return Estimate(name, "one_answer", int(sizes[most]), len(numbers), "answers", status, old=state,
                    population=asked, excluded=len(answers) - asked, detail=detail)  # fmt: skip


def _noise(
    answers: Answers, kernel: str, s: int, state: str, status: EstimateStatus, settings: Settings
) -> Iterator[Estimate]:
    seen = answers.evidence[:, s]
    equal = seen[:, :, None] == seen[:, None, :]
    unknown = ((seen < 0) & (answers.text[:, s] >= 0)).any(1)
    for words, kind in (("same evidence", equal), ("other evidence", ~equal)):
        label = f"{kernel}, {words}"
        found = noise.disagreement(answers.kernel(kernel), answers.repeats, s, kind)
        keep: Flags = found.defined & ~unknown
        size = int(keep.sum())
        reason = "Undefined: no question has two answers here with all their labels."
        if found.defined.any():
            reason = "It is not known which evidence the repeats of a question saw here."
        differ, pairs = noise.weighted([found.chosen_differ, found.chosen], found.pairs, keep)
        counted = {"pairs": str(int(found.chosen[keep].sum())), "differ": str(int(found.chosen_differ[keep].sum()))}
        if not pairs:
            if size:
                reason = (
                    "All repeats of a question saw the same evidence here, so none of the disagreement is retrieval's."
                    if words == "other evidence"
                    else "No two repeats of a question saw the same evidence here."
                )
            yield undefined(f"noise[{label}]@{state}", "noise", status, label, state, None, reason, len(answers) - size,
                            "pairs of answers")  # fmt: skip
        else:
            yield Estimate(
                f"noise[{label}]@{state}", "noise", differ, pairs, "pairs of answers", status, label, state,
                population=size, excluded=len(answers) - size, detail=counted,
            )  # fmt: skip
        parts = churn.Pairs(found.chosen_differ, found.pairs, found.pairs)
        yield agreement(f"noise_contribution[{label}]@{state}", "noise_contribution", label, state, None, parts, keep,
                        status, settings, reason)  # fmt: skip


def _transitions(answers: Answers, old: str, new: str, status: EstimateStatus) -> Iterator[Estimate]:
    o, n = answers.index(old), answers.index(new)
    moved = outcomes.moves(answers.outcome, o, n, flows.partners(answers.numbers, answers.repeats, o, n))
    total = moved.sum(0)
    matched, questions = int(total.sum()), int((moved.sum((1, 2)) > 0).sum())
    for kind in (outcomes.REFUSED, outcomes.PARTIAL):
        for way, row in (("to", total[:, kind]), ("from", total[kind])):
            name = f"outcome_transitions[{way}_{OUTCOMES[kind]}]@{old}-{new}"
            if not matched:
                yield undefined(name, "outcome_transitions", status, None, old, new,
                                "No question has answers in both.", len(answers), "matched repeats")  # fmt: skip
                continue
            others = {OUTCOMES[other]: int(row[other]) for other in range(3) if other != kind}
            yield Estimate(
                name, "outcome_transitions", sum(others.values()), matched, "matched repeats", status, old=old,
                new=new, reason="Not noise-corrected.", population=questions, excluded=len(answers) - questions,
                detail={word: str(count) for word, count in others.items()},
            )  # fmt: skip
