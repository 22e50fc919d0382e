"""The offline judge: rules for the clear cases, else a small logistic model over how two answers are worded.

It needs no model service and gives the same label on every machine: features are whole numbers and the coefficients
decimals, so the sum is exact. It is a weak judge, and says how weak: `description` carries its kappa against people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import lcm
from pathlib import Path
from typing import Any

from audit_core.adapters.extractive import message
from audit_core.adapters.wording import ONE, Wording, features, negation, number_conflict, wording
from audit_core.digests import sha256

MODEL = "lexical-1"
FILE = Path(__file__).with_name("lexical.json")
CERTAIN = 10**30
"""Score of a pair that a rule decides; larger than any that the model gives."""
SHORT = 20
"""Words of the longer answer up to which numbers decide; measured on the half of EVOUNA that fits."""
_UNKNOWN = ("unknown",)
_POLES = frozenset({"yes", "no"})


def decided(a: Wording, b: Wording) -> bool | None:
    """What the rules say of a pair; None where they say nothing.

    UNKNOWN is the same as UNKNOWN only. Where a normal form is empty, the stripped texts are compared. Two quantities
    are compared as numbers, and a missing unit fits any. Equal normal forms are the same. A yes is not a no; two
    answers that differ in negations alone differ; two short ones of which each holds a number that the other lacks
    differ.
    """
    if a.words == _UNKNOWN or b.words == _UNKNOWN:
        return a.words == b.words
    if not a.words or not b.words:
        return a.raw == b.raw
    if a.quantity and b.quantity:
        return a.quantity.equals(b.quantity)
    if a.words == b.words:
        return True
    poles = [_POLES.intersection(x.words) for x in (a, b)]
    opposite = len(poles[0]) == len(poles[1]) == 1 and poles[0] != poles[1]
    denied = a.negated != b.negated and _bare(a) == _bare(b)
    changed = max(len(a.words), len(b.words)) <= SHORT and number_conflict(a, b)
    return False if opposite or denied or changed else None


def _bare(a: Wording) -> list[str]:
    return [word for word in a.words if not negation(word)]


def weights_of(model: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
    """A model's constant and weights as whole numbers over one denominator; the sum's sign is the label."""
    scaled = [Fraction(c) / Fraction(s) for c, s in zip(model["coefficients"], model["scales"], strict=True)]
    constant = Fraction(model["intercept"]) - Fraction(model["threshold"])
    constant -= sum((w * Fraction(m) for w, m in zip(scaled, model["means"], strict=True)), Fraction(0))
    scaled = [w / ONE for w in scaled]
    whole = lcm(constant.denominator, *(w.denominator for w in scaled))
    return int(constant * whole), tuple(int(w * whole) for w in scaled)


def score(question: str, a: Wording, b: Wording, weights: tuple[int, tuple[int, ...]]) -> int:
    """Exact score of a pair; 0 or more is the same answer."""
    rule = decided(a, b)
    if rule is not None:
        return CERTAIN if rule else -CERTAIN
    constant, each = weights
    return constant + sum(w * f for w, f in zip(each, features(question, a, b), strict=True))


@lru_cache(maxsize=1)
def model() -> tuple[dict[str, Any], str]:
    """The model of this version, and the SHA-256 of its file."""
    data = FILE.read_bytes()
    return json.loads(data), sha256(data)


@lru_cache(maxsize=1)
def _weights() -> tuple[int, tuple[int, ...]]:
    return weights_of(model()[0])


@lru_cache(maxsize=1 << 16)
def same(question: str, a: str, b: str) -> bool:
    """Whether two answers mean the same answer to the question, as this judge sees it."""
    return score(question, wording(a), wording(b), _weights()) >= 0


def description() -> str:
    """What this judge is and how well it agrees with people, for every page that shows its labels."""
    held, short = model()[0]["held_out"], model()[0]["held_out_short"]
    low, high = held["kappa_interval"]
    return (
        f"offline lexical judge (logistic on lexical features; κ {held['kappa']} [{low}, {high}] "
        f"against people on held-out EVOUNA, {short['kappa']} where no answer is longer than 10 words)"
    )


def labels(question: str, answers: Sequence[str]) -> list[list[int]]:
    """Every pair i < j with its label."""
    return [
        [i, j, int(same(question, answers[i], answers[j]))] for i, j in combinations(range(len(answers)), 2)
    ]  # fmt: skip


def reply(prompt: str) -> bytes:
    """The body of a Messages response that labels one packet.

    Args:
        prompt: As `prompts.judge_prompt` makes it.
    """
    data = prompt.rpartition("\n<data ")[2].partition("\n")[2].rpartition("\n</data ")[0]
    packet = json.loads(data)
    text = json.dumps({"labels": labels(packet["question"], packet["answers"])}, separators=(",", ":"))
    return json.dumps(message(text, MODEL)).encode()
