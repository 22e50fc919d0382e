"""Outcomes, splits and sources of noise in exact fractions and plain loops, from the definitions and not the code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from audit_core.model import Cell, Dossier, Evidence
from tests.support.oracle import agree


def answered_cells(dossier: Dossier, state: str) -> list[Cell]:
    return [cell for cell in dossier.cells if cell.state == state and cell.status == "ok"]


def outcomes(dossier: Dossier, state: str) -> list[str]:
    """Of the accepted answers, as structured output says or as the handed texts below mean."""
    plain = {"UNKNOWN": "refused", "I cannot answer this.": "refused"}
    return [c.outcome or plain.get(str(c.answer), "answered") for c in answered_cells(dossier, state)]


def evidence_of(dossier: Dossier, cell: Cell) -> Evidence | None:
    own = [e for e in dossier.evidence if e.state == cell.state and e.repeat == cell.repeat]
    shared = [e for e in dossier.evidence if e.state == cell.state and e.repeat is None]
    return next(iter([*own, *shared]), None)


def bytes_of(evidence: Evidence) -> list[tuple[str, str | None, str | None]]:
    return [(d.document_id, d.passage, d.score) for d in sorted(evidence.documents, key=lambda d: d.rank)]


def same_evidence(dossier: Dossier, state: str) -> bool | None:
    seen = [evidence_of(dossier, cell) for cell in answered_cells(dossier, state)]
    known = [bytes_of(e) for e in seen if e is not None]
    if any(a != b for a, b in itertools.combinations(known, 2)):
        return False
    return True if seen and len(known) == len(seen) else None


def split(dossier: Dossier, state: str) -> bool:
    return len(set(outcomes(dossier, state))) > 1


def refusal_split(dossier: Dossier, state: str) -> bool:
    found = {outcome == "refused" for outcome in outcomes(dossier, state)}
    return len(found) == 2


def rate(dossiers: Sequence[Dossier], state: str, word: str) -> Fraction | None:
    shares = [Fraction(found.count(word), len(found)) for d in dossiers if (found := outcomes(d, state))]
    return sum(shares, Fraction(0)) / len(shares) if shares else None


def splits(dossiers: Sequence[Dossier], state: str, *, same: bool) -> tuple[int, int]:
    """Questions that split, of those that can; with `same` only where all repeats surely saw the same."""
    able = [d for d in dossiers if len(answered_cells(d, state)) > 1]
    able = [d for d in able if not same or same_evidence(d, state) is True]
    return sum(split(d, state) for d in able), len(able)


def disagreeing(dossier: Dossier, kernel: str, state: str) -> list[tuple[Cell, Cell, bool]]:
    """All pairs of different repeats, with whether they disagree."""
    return [
        (a, b, not agree(dossier, kernel, "nq_open/1", (a.state, a.repeat), (b.state, b.repeat)))
        for a, b in itertools.combinations(answered_cells(dossier, state), 2)
    ]


def split_share(dossiers: Sequence[Dossier], kernel: str, state: str) -> Fraction | None:
    every = inside = Fraction(0)
    for dossier in dossiers:
        pairs = disagreeing(dossier, kernel, state)
        if pairs:
            part = Fraction(sum(differ for _, _, differ in pairs), len(pairs))
            every += part
            inside += part if refusal_split(dossier, state) else 0
    return inside / every if every else None


def noise(
    dossiers: Sequence[Dossier], kernel: str, state: str, *, same: bool
) -> tuple[Fraction | None, Fraction | None, int]:
    """Disagreement among pairs with the same (or with other) evidence, its part of the whole, and questions."""
    top = bottom = Fraction(0)
    size = 0
    for dossier in dossiers:
        pairs = disagreeing(dossier, kernel, state)
        if not pairs or any(evidence_of(dossier, c) is None for c in answered_cells(dossier, state)):
            continue
        size += 1
        for a, b, differ in pairs:
            first, second = evidence_of(dossier, a), evidence_of(dossier, b)
            assert first is not None
            assert second is not None
            if (bytes_of(first) == bytes_of(second)) is same:
                bottom += Fraction(1, len(pairs))
                top += Fraction(int(differ), len(pairs))
    return top / bottom if bottom else None, top / size if size else None, size


def moves(dossiers: Sequence[Dossier], old: str, new: str) -> dict[tuple[str, str], int]:
    """Matched repeats by outcome before and after; here every repeat number is in both or in one state only."""
    out: dict[tuple[str, str], int] = {}
    for dossier in dossiers:
        before, after = ({c.repeat: o for c, o in zip(answered_cells(dossier, s), outcomes(dossier, s), strict=True)}
                         for s in (old, new))  # fmt: skip
        common = sorted(before.keys() & after.keys())
        rest = zip(sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys()), strict=False)
        for a, b in [*((r, r) for r in common), *rest]:
            out[before[a], after[b]] = out.get((before[a], after[b]), 0) + 1
    return out
