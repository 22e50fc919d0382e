"""An independent estimator in exact fractions and plain loops, written from the definitions and not from the code."""

from __future__ import annotations

import itertools
from fractions import Fraction

from audit_core.model import Dossier
from audit_core.normalize import RULES, exact_key


def agree(dossier: Dossier, kernel: str, rule: str, a: tuple[str, int], b: tuple[str, int]) -> bool:
    text = {(c.state, c.repeat): c.answer for c in dossier.cells if c.status == "ok"}
    if kernel == "exact":
        return exact_key(RULES[rule], text[a])[0] == exact_key(RULES[rule], text[b])[0]
    judgment = dossier.judgments["primary"]
    i, j = sorted((judgment.slots.index(a), judgment.slots.index(b)))
    return next(same for x, y, same in judgment.labels if (x, y) == (i, j)) == 1


def contrast(dossier: Dossier, kernel: str, rule: str, old: str, new: str) -> Fraction | None:
    """D of one question, or None where a state has fewer than two answers."""
    slots = {s: [(c.state, c.repeat) for c in dossier.cells if c.state == s and c.status == "ok"] for s in (old, new)}
    if min(len(slots[old]), len(slots[new])) < 2:
        return None
    means = []
    for state in (old, new):
        pairs = list(itertools.combinations(slots[state], 2))
        means.append(Fraction(sum(agree(dossier, kernel, rule, a, b) for a, b in pairs), len(pairs)))
    cross = [(a, b) for a in slots[old] for b in slots[new]]
    crossing = Fraction(sum(agree(dossier, kernel, rule, a, b) for a, b in cross), len(cross))
    return (means[0] + means[1]) / 2 - crossing


def convolved(values: list[int]) -> dict[int, Fraction]:
    """Exact bootstrap distribution of the sum, by convolution of fractions."""
    n = len(values)
    single: dict[int, Fraction] = {}
    for value in values:
        single[value] = single.get(value, Fraction(0)) + Fraction(1, n)
    total = {0: Fraction(1)}
    for _ in range(n):
        step: dict[int, Fraction] = {}
        for a, p in total.items():
            for b, q in single.items():
                step[a + b] = step.get(a + b, Fraction(0)) + p * q
        total = step
    return total
