"""The exact interval of a share: Clopper and Pearson, *The use of confidence or fiducial limits*, Biometrika 26 (1934).

A bound is found by bisection on multiples of 10⁻¹². The tail that decides is summed in integers of `BITS` bits, so
the bounds are the same on every machine; what the cuts leave out is below 10⁻²⁵ of the tail, whatever the size.
"""

from __future__ import annotations

from fractions import Fraction

BITS = 128
PLACES = 10**12
"""Bounds are multiples of one over this."""


def lower(count: int, size: int, tail: Fraction) -> Fraction:
    """Largest share, rounded down to 12 places, under which `count` or more of `size` has at most the probability.

    Args:
        count: From 0 to `size`.
        size: At least 1.
        tail: Above 0, below 1/2.
    """
    if count == 0:
        return Fraction(0)
    choose = _choose(size, min(count, size - count))
    low, high = 0, -(-count * PLACES // size)
    while high - low > 1:
        middle = (low + high) // 2
        if _at_most(middle, count, size, choose, tail):
            low = middle
        else:
            high = middle
    return Fraction(low, PLACES)


def upper(count: int, size: int, tail: Fraction) -> Fraction:
    """Smallest share, rounded up to 12 places, under which `count` or fewer of `size` has at most the probability."""
    return 1 - lower(size - count, size, tail)


_Float = tuple[int, int]
"""A mantissa of `BITS` bits and a power of two."""


def _at_most(share: int, count: int, size: int, choose: _Float, tail: Fraction) -> bool:
    """Whether P(X ≥ count) ≤ tail for X binomial with `size` and share / `PLACES`, the share at most count / size."""
    rest = PLACES - share
    if not rest:
        return False
    # all terms relative to the first, in units of 2^-BITS; they fall from there on
    term = total = 1 << BITS
    for k in range(count, size):
        term = term * ((size - k) * share) // ((k + 1) * rest)
        if not term:
            break
        total += term
    first = _times(_times(choose, _power(share, count)), _power(rest, size - count))
    mantissa, exponent = _times(first, _cut(total, -BITS))
    scale, shift = _power(PLACES, size)
    left, right = mantissa * tail.denominator, scale * tail.numerator
    return left << max(exponent - shift, 0) <= right << max(shift - exponent, 0)


def _choose(size: int, count: int) -> _Float:
    """Binomial coefficient."""
    value, exponent = 1, 0
    for k in range(1, count + 1):
        value = value * (size - count + k)
        if value.bit_length() < 2 * BITS:
            value, exponent = value << BITS, exponent - BITS
        value, exponent = _cut(value // k, exponent, BITS + 64)
    return _cut(value, exponent)


def _power(base: int, exponent: int) -> _Float:
    result, square = (1, 0), (base, 0)
    while exponent:
        if exponent & 1:
            result = _times(result, square)
        square = _times(square, square)
        exponent >>= 1
    return result


def _times(a: _Float, b: _Float) -> _Float:
    return _cut(a[0] * b[0], a[1] + b[1])


def _cut(value: int, exponent: int, bits: int = BITS) -> _Float:
    spare = max(value.bit_length() - bits, 0)
    return value >> spare, exponent + spare
