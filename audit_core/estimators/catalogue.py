"""Every estimate by its name: the one place that joins a name, a formula, a unit and a status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.estimators import bootstrap, churn, judges, overlap, stream, trajectories, utility
from audit_core.estimators import transitions as flows
from audit_core.model import Estimate, EstimateStatus
from audit_core.tensors import Answers

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NO_FLOOR = (
    "No noise floor: a state needs two answers per question before repeat noise can be subtracted, and no question "
    "has them in both states. The raw agreement is uncorrected."
)
UNCORRECTED = "Uncorrected: without two answers per state, repeat noise is part of this number."


@dataclass(frozen=True, slots=True)
class Settings:
    """What the protocol fixes for all estimates.

    Attributes:
        tail: Probability outside the confidence level.
        draws, seed: Of the locked stream.
        status: Status of an estimate by (kind, role), kind one of ``churn``, ``flips``, ``other``.
    """

    tail: Fraction
    draws: int
    seed: str
    status: Callable[[str, str], EstimateStatus]


def bounded(estimate: Estimate, values: Ints, denominator: int, settings: Settings) -> Estimate:
    """The estimate with its one-sided lower bound and two-sided interval.

    Args:
        values: One integer per question of the population, its share of the mean times `denominator`.
    """
    if len(values) < 2:
        detail = {**estimate.detail, "bounds": "A single question has no interval; resampling needs two or more."}
        return replace(estimate, detail=detail)
    low, high = settings.tail / 2, 1 - settings.tail / 2
    found = bootstrap.of_mean(values, denominator)
    if found is not None:
        quantiles = [found.quantile(level) for level in (settings.tail, low, high)]
        engine = "exact bootstrap"
    else:
        sums = stream.sums(values[:, None], np.arange(len(values)), settings.draws, settings.seed)[:, 0]
        quantiles = [
            Fraction(bootstrap.quantile(level, sums), denominator * len(values)) for level in (settings.tail, low, high)
        ]
        engine = f"{settings.draws} draws"
    detail = {**estimate.detail, "engine": engine}
    if (values == values[0]).all():
        detail["degenerate"] = "All questions are equal, so the bounds equal the estimate."
    return replace(estimate, lower=quantiles[0], interval=(quantiles[1], quantiles[2]), detail=detail)


def state_estimates(answers: Answers, settings: Settings) -> Iterator[Estimate]:
    """Within agreement, exact match, token F1 and UNKNOWN rate of each state."""
    status = settings.status("other", "state")
    for s, state in enumerate(answers.states):
        for name in answers.kernels:
            pairs = churn.within(answers.kernel(name), answers.repeats, s)
            yield _agreement(
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
                yield _undefined(
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
            yield _undefined(
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


def pair_estimates(answers: Answers, old: str, new: str, role: str, settings: Settings) -> Iterator[Estimate]:
    """Everything about one pair of states."""
    o, n = answers.index(old), answers.index(new)
    at = f"@{old}-{new}"
    main = answers.kernels[-1]
    found = {name: churn.contrast(answers.kernel(name), answers.repeats, o, n) for name in answers.kernels}
    for name, contrast in found.items():
        yield from _churn(answers, name, name, contrast, old, new, role, settings)
    for name, contrast in found.items():
        yield from _flips(answers, name, contrast, o, n, old, new, settings.status("flips", role))
    status = settings.status("other", role)
    yield from _transitions(answers, main, o, n, at, old, new, status)
    for measure, flags in (("exact_match", answers.em), ("unknown_rate", answers.unknown)):
        values, denominator, keep = utility.difference(flags, o, n)
        name = f"{measure}_difference{at}"
        if not keep.any():
            yield _undefined(
                name,
                f"{measure}_difference",
                status,
                None,
                old,
                new,
                "No gold for any answer." if measure == "exact_match" else "No question has answers in both.",
                len(answers),
                "answers",
            )
            continue
        yield bounded(
            Estimate(
                name,
                f"{measure}_difference",
                int(values[keep].sum()),
                denominator * int(keep.sum()),
                "answers",
                status,
                old=old,
                new=new,
                population=int(keep.sum()),
                excluded=int((~keep).sum()),
            ),
            values[keep],
            denominator,
            settings,
        )
    yield from _overlap(answers, found[main].flips, o, n, at, old, new, status, settings)


def _label_note(kernel: str) -> str:
    return " with all their labels" if kernel.startswith("semantic") else ""


def _agreement(
    name: str,
    measure: str,
    kernel: str | None,
    old: str | None,
    new: str | None,
    pairs: churn.Pairs,
    keep: Flags,
    status: EstimateStatus,
    settings: Settings,
    reason: str,
    note: str = "",
) -> Estimate:
    ratio = churn.mean_ratio(pairs.agree, pairs.pairs, keep)
    if ratio is None:
        return _undefined(name, measure, status, kernel, old, new, reason, len(keep), "pairs of answers")
    estimate = Estimate(
        name,
        measure,
        ratio[0],
        ratio[1],
        "pairs of answers",
        status,
        kernel,
        old,
        new,
        reason=note,
        population=int(keep.sum()),
        excluded=int((~keep).sum()),
    )
    sizes = np.unique(pairs.pairs[keep])
    denominator = int(np.lcm.reduce(sizes))
    if denominator >= churn.EXACT_LIMIT:
        return estimate
    return bounded(estimate, denominator // pairs.pairs[keep] * pairs.agree[keep], denominator, settings)


def _undefined(
    name: str,
    measure: str,
    status: EstimateStatus,
    kernel: str | None,
    old: str | None,
    new: str | None,
    reason: str,
    excluded: int,
    unit: str,
) -> Estimate:
    return Estimate(name, measure, None, None, unit, status, kernel, old, new, reason=reason, excluded=excluded)


def _churn(
    answers: Answers, label: str, kernel: str, found: churn.Contrast, old: str, new: str, role: str, settings: Settings
) -> Iterator[Estimate]:
    at, keep = f"@{old}-{new}", found.eligible
    status = settings.status("churn", role)
    other = settings.status("other", role)
    size, excluded = int(keep.sum()), int((~keep).sum())
    if size == 0:
        crossing = found.crossing
        reason = (
            NO_FLOOR
            if (answers.repeats.min(initial=9, axis=0) < 2).any()
            else ("No question has all its pairs labelled at both states.")
        )
        yield _agreement(
            f"cross_agreement[{label}]{at}",
            "cross_agreement",
            kernel,
            old,
            new,
            crossing,
            crossing.defined,
            other,
            settings,
            "No question has answers in both states.",
            UNCORRECTED,
        )
        for measure in ("baseline_agreement", "excess_churn"):
            yield _undefined(
                f"{measure}[{label}]{at}",
                measure,
                status if measure == "excess_churn" else other,
                kernel,
                old,
                new,
                reason,
                excluded,
                "pairs of answers",
            )
        return
    yield _agreement(
        f"cross_agreement[{label}]{at}", "cross_agreement", kernel, old, new, found.crossing, keep, other, settings, ""
    )
    values, denominator = churn.baseline_values(found)
    baseline = Estimate(
        f"baseline_agreement[{label}]{at}",
        "baseline_agreement",
        int(values.sum(dtype=object)),
        denominator * size,
        "pairs of answers",
        other,
        kernel,
        old,
        new,
        population=size,
        excluded=excluded,
    )
    yield bounded(baseline, values, denominator, settings) if values.dtype != object else baseline
    top, denominator = found.total
    within = {}
    for state, pairs in ((old, found.old), (new, found.new)):
        ratio = churn.mean_ratio(pairs.agree, pairs.pairs, keep)
        assert ratio is not None
        within[state] = str(Fraction(*ratio))
    estimate = Estimate(
        f"excess_churn[{label}]{at}",
        "excess_churn",
        top,
        denominator * size,
        "agreement",
        status,
        kernel,
        old,
        new,
        population=size,
        excluded=excluded,
        reason=""
        if not excluded
        else f"{excluded} questions have fewer than two answers in a state or an unlabelled "
        "pair; they are outside this number and listed.",
        detail={"within_old": within[old], "within_new": within[new], "value_denominator": str(denominator)},
    )
    yield bounded(estimate, found.scaled, denominator, settings) if found.values.dtype != object else estimate


def _flips(
    answers: Answers, kernel: str, found: churn.Contrast, o: int, n: int, old: str, new: str, status: EstimateStatus
) -> Iterator[Estimate]:
    at, size = f"[{kernel}]@{old}-{new}", int(found.eligible.sum())
    excluded = len(answers) - size

    def estimate(measure: str, top: int | None, bottom: int, unit: str = "questions", **detail: str) -> Estimate:
        if not size:
            return _undefined(measure + at, measure, status, kernel, old, new, NO_FLOOR, excluded, unit)
        return Estimate(
            measure + at,
            measure,
            top,
            bottom,
            unit,
            status,
            kernel,
            old,
            new,
            population=size,
            excluded=excluded,
            detail=detail,
        )

    flips = found.flips
    count = int(flips.sum())
    yield estimate("repeat_stable_flips", count, size)
    if not size:
        return
    total, denominator = found.total
    part = int(found.values[flips].sum(dtype=object)) if count else 0
    yield estimate("flip_contribution", part, denominator * size, "agreement")
    yield estimate("rest_contribution", total - part, denominator * size, "agreement")
    raw = answers.kernel("raw")
    verbatim = flips.copy()
    for state in (o, n):
        pairs = churn.within(raw, answers.repeats, state)
        verbatim &= pairs.agree == pairs.pairs
    yield estimate("verbatim_flips", int(verbatim.sum()), size)
    if (answers.em >= 0).any():
        yield estimate("nonmatch_flips", int((flips & all_nonmatch(answers, o, n)).sum()), size)
    if (answers.repeats[:, [o, n]][found.eligible] == 2).all():
        z = churn.noise_arrangements(answers.kernel(kernel), answers.repeats, found, o, n)
        yield estimate("expected_noise_flips", z, 2 * size, corrected=str(Fraction(2 * count - z, 2)))


def all_nonmatch(answers: Answers, old: int, new: int) -> Flags:
    """Questions with gold whose answers at both states are all EM-nonmatch."""
    em = answers.em[:, [old, new]]
    return (em != 1).all((1, 2)) & (em == 0).any((1, 2))


def _transitions(
    answers: Answers, kernel: str, o: int, n: int, at: str, old: str, new: str, status: EstimateStatus
) -> Iterator[Estimate]:
    found = flows.transitions(answers.em, answers.unknown, answers.kernel(kernel), o, n)
    total = found.totals()
    unequal = bool((answers.repeats[:, o] != answers.repeats[:, n]).any())
    note = "Not noise-corrected." + (" Repeats are unequal; the first of each state are matched." if unequal else "")
    questions = int((found.matched > 0).sum())

    def estimate(name: str, measure: str, top: int, bottom: int, **detail: str) -> Estimate:
        if not bottom:
            return _undefined(
                name,
                measure,
                status,
                kernel,
                old,
                new,
                "No matched repeats with gold.",
                len(answers),
                "matched repeats",
            )
        return Estimate(
            name,
            measure,
            top,
            bottom,
            "matched repeats",
            status,
            kernel,
            old,
            new,
            reason=note,
            population=questions,
            excluded=len(answers) - questions,
            detail=detail,
        )

    matched = total["matched"]
    known = {"lost": "lost_known", "gained": "gained_known", "different_nonmatch": "different_known"}
    for kind in ("lost", "gained", "both_match", "different_nonmatch", "same_nonmatch"):
        detail = {"between_answers": str(total[known[kind]])} if kind in known else {}
        yield estimate(f"transitions[{kind}]{at}", "transitions", total[kind], matched, **detail)
    yield estimate(f"net_transitions{at}", "net_transitions", total["gained"] - total["lost"], matched)
    yield estimate(f"gross_transitions{at}", "gross_transitions", total["gained"] + total["lost"], matched)
    for way in ("in", "out"):
        yield estimate(
            f"unknown_transitions[{way}]{at}", "unknown_transitions", total[f"unknown_{way}"], total["answered"]
        )


def _overlap(
    answers: Answers,
    flips: Flags,
    o: int,
    n: int,
    at: str,
    old: str,
    new: str,
    status: EstimateStatus,
    settings: Settings,
) -> Iterator[Estimate]:
    found = overlap.overlap(answers.documents, o, n)
    keep = found.present
    size, excluded = int(keep.sum()), int((~keep).sum())
    if not size:
        why = (
            "Nothing is retrieved in the closed-book state."
            if answers.closed_book[o] or answers.closed_book[n]
            else "The study holds no evidence for both states."
        )
        for measure in (
            "shared_documents",
            "zero_overlap",
            "identical_sets",
            "reordered_sets",
            "jaccard",
            "rank_biased_overlap",
        ):
            yield _undefined(measure + at, measure, status, None, old, new, why, excluded, "questions")
        return

    def share(measure: str, mask: Flags) -> Estimate:
        return Estimate(
            measure + at,
            measure,
            int((mask & keep).sum()),
            size,
            "questions",
            status,
            old=old,
            new=new,
            population=size,
            excluded=excluded,
        )

    shared = found.shared[keep]
    yield bounded(
        Estimate(
            "shared_documents" + at,
            "shared_documents",
            int(shared.sum()),
            size,
            "documents",
            status,
            old=old,
            new=new,
            population=size,
            excluded=excluded,
            detail={"depth": str(int((answers.documents[:, n] >= 0).sum(1).max()))},
        ),
        shared,
        1,
        settings,
    )
    zero = keep & (found.shared == 0)
    yield share("zero_overlap", zero)
    yield share("identical_sets", found.same_set)
    yield share("reordered_sets", found.same_set & ~found.same_order)
    ratios: dict[tuple[int, int], int] = {}
    for a, b in zip(shared.tolist(), found.union[keep].tolist(), strict=True):
        ratios[a, b] = ratios.get((a, b), 0) + 1
    jaccard = sum((Fraction(a, b) * c for (a, b), c in ratios.items()), Fraction(0)) / size
    yield Estimate(
        "jaccard" + at,
        "jaccard",
        jaccard.numerator,
        jaccard.denominator,
        "questions",
        status,
        old=old,
        new=new,
        population=size,
        excluded=excluded,
    )
    # Irrational weights 0.9^d: kept to 12 decimals, the same on every platform
    biased = round(float(found.rank_biased[keep].mean()) * 10**12)
    yield Estimate(
        "rank_biased_overlap" + at,
        "rank_biased_overlap",
        biased,
        10**12,
        "questions",
        status,
        old=old,
        new=new,
        population=size,
        excluded=excluded,
        detail={"persistence": "0.9"},
    )
    for word, mask in (("flips", keep & flips), ("nonflips", keep & ~flips)):
        count = int(mask.sum())
        name = f"shared_documents[{word}]{at}"
        yield (
            Estimate(
                name,
                "shared_documents",
                int(found.shared[mask].sum()),
                count,
                "documents",
                "post-hoc",
                old=old,
                new=new,
                population=count,
                excluded=len(answers) - count,
            )
            if count
            else _undefined(
                name,
                "shared_documents",
                "post-hoc",
                None,
                old,
                new,
                f"There are no {word} with evidence.",
                len(answers),
                "documents",
            )
        )
    both = int((zero & flips).sum())
    p = overlap.fisher_two_sided(both, int(zero.sum()), int((keep & flips).sum()), size)
    bins = [
        (low, high, keep & (found.shared >= low) & (found.shared <= high))
        for low, high in ((0, 0), (1, 1), (2, 2), (3, 10**9))
    ]
    yield Estimate(
        "zero_overlap_test" + at,
        "zero_overlap_test",
        both,
        size,
        "questions",
        "post-hoc",
        old=old,
        new=new,
        population=size,
        excluded=excluded,
        reason="A hint at a mechanism, not a cause.",
        detail={
            "fisher_p": f"{p:.6f}",
            "bins": "; ".join(
                f"{low if low < 3 else '≥ 3'}: {int((mask & flips).sum())} of {int(mask.sum())}"
                for low, _, mask in bins
            ),
        },
    )


def ladder_estimates(answers: Answers, endpoints: tuple[str, str] | None, settings: Settings) -> Iterator[Estimate]:
    """Steps together, X→Y→X, the middle states and the closed-book anchor of endpoint flips."""
    states, status = answers.states, settings.status("flips", "step")
    if len(states) < 3:
        return
    kernel_name = answers.kernels[-1]
    kernel = answers.kernel(kernel_name)
    steps = [churn.contrast(kernel, answers.repeats, s, s + 1).flips for s in range(len(states) - 1)]
    q = len(answers)

    def count(name: str, measure: str, mask: Flags, bottom: int | None = None) -> Estimate:
        size = q if bottom is None else bottom
        if not size:
            return _undefined(
                name, measure, status, kernel_name, None, None, "There is no question to count.", q, "questions"
            )
        return Estimate(
            name, measure, int(mask.sum()), size, "questions", status, kernel_name, population=size, excluded=q - size
        )

    yield count(f"adjacent_flips_union[{kernel_name}]", "adjacent_flips_union", trajectories.union(steps))
    for m in range(1, len(states) - 1):
        both = steps[m - 1] & steps[m]
        yield count(f"consecutive_flips[{kernel_name}]@{states[m]}", "consecutive_flips", both)
        back = trajectories.returning(kernel, answers.repeats, steps[m - 1], steps[m], m - 1, m + 1)
        yield count(f"returning_flips[{kernel_name}]@{states[m]}", "returning_flips", back)
    if endpoints is None:
        return
    o, n = answers.index(endpoints[0]), answers.index(endpoints[1])
    contrast = churn.contrast(kernel, answers.repeats, o, n)
    flips = contrast.flips
    for m in range(o + 1, n):
        found = trajectories.sides(kernel, answers.repeats, m, o, n)
        for side in trajectories.MIDDLE:
            yield count(f"middle_state[{side}]@{states[m]}", "middle_state", flips & found[side], int(flips.sum()))
        own = churn.within(kernel, answers.repeats, m)
        unstable = own.defined & (own.agree < own.pairs)
        for word, mask in (("flips", flips), ("others", ~flips & contrast.eligible)):
            yield count(f"middle_unstable[{word}]@{states[m]}", "middle_unstable", unstable & mask, int(mask.sum()))
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
            yield _undefined(
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
