"""Numbers as people read them: rounded half up from the exact fraction, with a proper minus sign, never NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

UNDEFINED = "not measurable"
"""Shown in place of a number that the data cannot give; the reason always stands beside it."""

Row = Mapping[str, Any]
Number = Fraction | float | int


def exact(row: Row) -> Fraction | None:
    """The exact value of an estimate's row, or None where it is undefined.

    A fraction too long for SQLite's integers comes as a double; that is then as exact as it gets.
    """
    if row["numerator"] is not None and row["denominator"]:
        return Fraction(row["numerator"], row["denominator"])
    return None if row["value"] is None else Fraction(repr(row["value"]))


def decimal(value: Number | None, places: int, scale: int = 1) -> str:
    """A number with fixed decimals; a double is read by its shortest decimal text, as it was written."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNDEFINED
    if isinstance(value, float):
        scaled = Decimal(repr(value)) * scale
    else:
        fraction = Fraction(value) * scale
        scaled = Decimal(fraction.numerator) / Decimal(fraction.denominator)
    text = f"{scaled.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP):,}"
    if text.startswith("-"):
        text = text[1:] if set(text) <= set("-0.,") else "−" + text[1:]
    return text


def percent(value: Number | None, places: int = 2) -> str:
    """A share as ``89.13%``."""
    text = decimal(value, places, 100)
    return text if text == UNDEFINED else text + "%"


def probability(value: Number | None) -> str:
    """A p-value: ``0.018``, or ``8.0 × 10⁻¹⁶`` below a thousandth."""
    if value is None:
        return UNDEFINED
    if value >= Fraction(1, 1000):
        return decimal(value, 3)
    digits, _, power = f"{float(value):.1e}".partition("e")
    return f"{digits} × 10" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def points(value: Number | None, places: int = 2, *, sign: bool = False) -> str:
    """A difference of shares as ``10.25 pp``; with `sign` a plus stands before a gain."""
    text = decimal(value, places, 100)
    if text == UNDEFINED:
        return text
    plus = "+" if sign and value is not None and value > 0 else ""
    return f"{plus}{text} pp"


def count(value: int | None) -> str:
    """A whole number with thousands separators."""
    return UNDEFINED if value is None else decimal(value, 0)


def plural(number: int, noun: str, many: str = "") -> str:
    """``1 question``, ``40 questions``."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"
