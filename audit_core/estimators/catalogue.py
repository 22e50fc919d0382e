"""Every estimate by its name: states, the ladder and the judges here, pairs of states in `pairs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from audit_core.estimators import churn, judges, stream, trajectories, utility
from audit_core.estimators.bounds import Flags, Settings, agreement, bounded, undefined
from audit_core.model import Estimate, EstimateStatus
from audit_core.tensors import Answers


def state_estimates(answers: Answers, settings: Settings) -> Iterator[Estimate]:
    """Within agreement, exact match, token F1 and UNKNOWN rate of each state."""
    status = settings.status("other", "state")
    for s, state in enumerate(answers.states):
        for name in answers.kernels:
            pairs = churn.within(answers.kernel(name), answers.repeats, s)
            yield agreement(
                f"within_agreement[{name}]@{state}",
                "within_agreement",
                name,
                state,
                None,
                pairs,
                pairs.defined,
                status,
                settings,
                "Undefined: no question has two answers here" + _label_note(name) + ".",
            )
        for measure, flags in (("exact_match", answers.em), ("unknown_rate", answers.unknown)):
            found = utility.rate(flags, s)
            if found is None:
                yield undefined(
                    f"{measure}@{state}",
                    measure,
                    status,
                    None,
                    state,
                    None,
                    "No gold for any answer." if measure == "exact_match" else "No answer in this state.",
                    len(answers),
                    "answers",
                )
                continue
            top, bottom, keep = found
            values, denominator, _ = utility.per_question(flags, s)
            yield bounded(
                Estimate(
                    f"{measure}@{state}",
                    measure,
                    top,
                    bottom,
                    "answers",
                    status,
                    old=state,
                    population=int(keep.sum()),
                    excluded=int((~keep).sum()),
                ),
                values[keep],
                denominator,
                settings,
            )
        f1 = utility.mean_f1(answers.f1, s)
        if f1 is None:
            yield undefined(
                f"token_f1@{state}",
                "token_f1",
                status,
                None,
                state,
                None,
                "No gold for any answer.",
                len(answers),
                "answers",
            )
        else:
            yield Estimate(
                f"token_f1@{state}",
                "token_f1",
                f1[0],
                f1[1],
                "answers",
                status,
                old=state,
                population=int(f1[2].sum()),
                excluded=int((~f1[2]).sum()),
            )


def _label_note(kernel: str) -> str:
    return " with all their labels" if kernel.startswith("semantic") else ""


def ladder_estimates(answers: Answers, endpoints: tuple[str, str] | None, settings: Settings) -> Iterator[Estimate]:
    """Steps together, X→Y→X, the middle states and the closed-book anchor of endpoint flips."""
    states, status = answers.states, settings.status("flips", "step")
    if len(states) < 3:
        return
    kernel_name = answers.kernels[-1]
    kernel = answers.kernel(kernel_name)
    contrasts = [churn.contrast(kernel, answers.repeats, s, s + 1) for s in range(len(states) - 1)]
    steps, able = [c.flips for c in contrasts], [c.eligible for c in contrasts]
    q = len(answers)

    def count(name: str, measure: str, mask: Flags, bottom: int | None = None) -> Estimate:
        size = q if bottom is None else bottom
        if not size:
            return undefined(
                name, measure, status, kernel_name, None, None, "There is no such question to count.", q, "questions"
            )
        return Estimate(
            name, measure, int(mask.sum()), size, "questions", status, kernel_name, population=size, excluded=q - size
        )

    yield count(
        f"adjacent_flips_union[{kernel_name}]",
        "adjacent_flips_union",
        trajectories.union(steps),
        int(trajectories.union(able).sum()),
    )
    for m in range(1, len(states) - 1):
        both = steps[m - 1] & steps[m]
        size = int((able[m - 1] & able[m]).sum())
        yield count(f"consecutive_flips[{kernel_name}]@{states[m]}", "consecutive_flips", both, size)
        back = trajectories.returning(kernel, answers.repeats, steps[m - 1], steps[m], m - 1, m + 1)
        yield count(f"returning_flips[{kernel_name}]@{states[m]}", "returning_flips", back, size)
    if endpoints is None:
        return
    o, n = answers.index(endpoints[0]), answers.index(endpoints[1])
    contrast = churn.contrast(kernel, answers.repeats, o, n)
    flips = contrast.flips
    for m in range(o + 1, n):
        found = trajectories.sides(kernel, answers.repeats, m, o, n)
        for side in trajectories.MIDDLE:
            size = int((flips & ~found["undefined"]).sum())
            yield count(f"middle_state[{side}]@{states[m]}", "middle_state", flips & found[side], size)
        own = churn.within(kernel, answers.repeats, m)
        unstable = own.defined & (own.agree < own.pairs)
        for word, part in (("flips", flips), ("others", ~flips & contrast.eligible)):
            size = int((part & own.defined).sum())
            yield count(f"middle_unstable[{word}]@{states[m]}", "middle_unstable", unstable & part, size)
    for a, closed in enumerate(answers.closed_book):
        if closed and a not in (o, n):
            found = trajectories.sides(kernel, answers.repeats, a, o, n)
            stable = flips & ~found["unstable"] & ~found["undefined"]
            for word, side in zip(trajectories.ANCHOR, ("old", "new", "third", "mixed"), strict=True):
                yield count(f"anchor[{word}]@{states[a]}", "anchor", stable & found[side], int(stable.sum()))


def judge_estimates(answers: Answers, endpoints: tuple[str, str] | None, settings: Settings) -> Iterator[Estimate]:
    """Transitivity of the primary judge's labels, and each supplementary judge beside it."""
    if answers.primary is None:
        return
    status: EstimateStatus = settings.status("other", "judge")
    asked = answers.labelled[answers.primary]
    triangles = judges.open_triangles(answers.labels[answers.primary])
    size = int(asked.sum())
    if size:
        yield Estimate(
            "open_triangles[semantic]",
            "open_triangles",
            int(triangles.sum()),
            size,
            "triples per question",
            status,
            "semantic",
            population=size,
            excluded=len(answers) - size,
        )
        yield Estimate(
            "nontransitive_questions[semantic]",
            "nontransitive_questions",
            int((triangles > 0).sum()),
            size,
            "questions",
            status,
            "semantic",
            population=size,
            excluded=len(answers) - size,
        )
    for judge in answers.supplementary:
        both = np.flatnonzero(asked & answers.labelled[judge])
        ids = [answers.question_ids[i] for i in both]
        rows = judges.counts(answers.labels[answers.primary][both], answers.labels[judge][both])[stream.order_of(ids)]
        found = judges.agreement(rows, draws=settings.draws, seed=f"{settings.seed}/judge:{judge}", tail=settings.tail)
        common: dict[str, Any] = {"population": found.questions, "excluded": len(answers) - found.questions}
        if not found.pairs:
            yield undefined(
                f"judge_agreement[{judge}]",
                "judge_agreement",
                status,
                None,
                None,
                None,
                "The two judges labelled no question in common.",
                len(answers),
                "pairs of answers",
            )
            continue
        draws = {"engine": f"{settings.draws} draws"}
        yield Estimate(
            f"judge_agreement[{judge}]",
            "judge_agreement",
            found.agreeing,
            found.pairs,
            "pairs of answers",
            status,
            interval=found.agreement_interval,
            detail=draws,
            **common,
        )
        value = found.kappa
        yield Estimate(
            f"judge_kappa[{judge}]",
            "judge_kappa",
            value.numerator if value is not None else None,
            value.denominator if value is not None else None,
            "Cohen's κ",
            status,
            interval=found.kappa_interval,
            reason="" if value is not None else "Only one label is in use, so chance agreement is complete.",
            detail={**draws, "undefined_draws": str(found.undefined_draws)},
            **common,
        )
        yield Estimate(
            f"identical_partitions[{judge}]",
            "identical_partitions",
            found.identical,
            found.questions,
            "questions",
            status,
            **common,
        )
        if endpoints is None:
            continue
        o, n = answers.index(endpoints[0]), answers.index(endpoints[1])
        part = answers.take(both)
        for label, kernel in (
            (f"semantic:{judge}", f"semantic:{judge}"),
            (f"semantic, questions of {judge}", "semantic"),
        ):
            contrast = churn.contrast(part.kernel(kernel), part.repeats, o, n)
            if contrast.eligible.any():
                top, denominator = contrast.total
                size = int(contrast.eligible.sum())
                name = f"excess_churn[{label}]@{endpoints[0]}-{endpoints[1]}"
                yield bounded(
                    Estimate(
                        name,
                        "excess_churn",
                        top,
                        denominator * size,
                        "agreement",
                        status,
                        label,
                        *endpoints,
                        population=size,
                        excluded=len(answers) - size,
                    ),
                    contrast.scaled,
                    denominator,
                    settings,
                )
