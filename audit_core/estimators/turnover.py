"""Overlap of the evidence of two states by name, with flips beside nonflips."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from audit_core.estimators import overlap
from audit_core.estimators.bounds import Flags, Settings, bounded, undefined
from audit_core.model import Estimate, EstimateStatus
from audit_core.tensors import Answers


def overlap_estimates(
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
    """Shared documents, zero overlap, Jaccard and the rest for the states at positions `o` and `n`."""
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
            yield undefined(measure + at, measure, status, None, old, new, why, excluded, "questions")
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
            else undefined(
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
