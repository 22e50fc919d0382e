"""Everything about one pair of states: agreement, excess churn, flips, transitions, utility differences, overlap."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from audit_core.estimators import churn, utility
from audit_core.estimators import transitions as flows
from audit_core.estimators.bounds import NO_FLOOR, UNCORRECTED, Flags, Settings, agreement, bounded, undefined
from audit_core.estimators.turnover import overlap_estimates
from audit_core.model import Estimate, EstimateStatus
from audit_core.tensors import Answers


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
            yield undefined(
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
    yield from overlap_estimates(answers, found[main].flips, o, n, at, old, new, status, settings)


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
        yield agreement(
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
            yield undefined(
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
    yield agreement(
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
        else f"{excluded} of {len(answers)} questions have fewer than two answers in a state or an unlabelled "
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
            return undefined(measure + at, measure, status, kernel, old, new, NO_FLOOR, excluded, unit)
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
    found = flows.transitions(
        answers.em,
        answers.unknown,
        answers.kernel(kernel),
        o,
        n,
        flows.partners(answers.numbers, answers.repeats, o, n),
    )
    total = found.totals()
    unequal = bool((answers.repeats[:, o] != answers.repeats[:, n]).any())
    note = "Not noise-corrected." + (
        " Repeats are unequal; those that only one state has are matched in order." if unequal else ""
    )
    questions = int((found.matched > 0).sum())

    def estimate(name: str, measure: str, top: int, bottom: int, **detail: str) -> Estimate:
        if not bottom:
            return undefined(
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
