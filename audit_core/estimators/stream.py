"""The locked stream of bootstrap draws, reproducible to the bit on any platform, whatever the chunk size.

Word t = b·N + j of Philox4x64-10 with the first 16 bytes of SHA-256 of the canonical JSON of the stream's
description as key and counter 0, read through ``BitGenerator.random_raw`` (which numpy keeps stable, unlike the
methods of ``Generator``); position j of draw b is question floor(word · N / 2^64). Questions are numbered by the
bytes of their ids, so that every statistic sees the same resamples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from audit_core.digests import canonical

NAME = "sca-bootstrap/1"
INDEX_LIMIT = 5_000
"""Most questions for which the stream over indexes is affordable; above, draws are made over distinct rows."""
CHUNK = 1 << 20

Draws = npt.NDArray[np.int64]


def description(n: int, draws: int, seed: str) -> dict[str, str | int]:
    """What identifies a stream."""
    return {"stream": NAME, "N": n, "B": draws, "seed": seed}


def _bits(n: int, draws: int, seed: str) -> np.random.Philox:
    digest = hashlib.sha256(canonical(description(n, draws, seed))).digest()
    key = [int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")]
    return np.random.Philox(key=np.array(key, np.uint64), counter=np.zeros(4, np.uint64))


def indexes(n: int, draws: int, seed: str, chunk: int = CHUNK) -> Iterator[npt.NDArray[np.int64]]:
    """Question numbers of the draws.

    Args:
        n: Questions.
        draws: Number of resamples.
        chunk: Words held at once; any value gives the same stream.

    Yields:
        Arrays of shape (some draws, n).
    """
    low, half, count = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(n)
    for word in words(n, draws, seed, chunk):
        # floor(word · n / 2^64) by halves: the product of a 64-bit word and n does not fit one word
        index = ((word >> half) * count + (((word & low) * count) >> half)) >> half
        yield index.astype(np.int64)


def words(n: int, draws: int, seed: str, chunk: int = CHUNK) -> Iterator[npt.NDArray[np.uint64]]:
    """The stream itself: n words a draw, in arrays of shape (some draws, n)."""
    bits, done = _bits(n, draws, seed), 0
    while done < draws:
        rows = min(max(chunk // n, 1), draws - done)
        yield bits.random_raw(rows * n).reshape(rows, n)
        done += rows


def sums(columns: npt.NDArray[np.int64], order: npt.NDArray[np.intp], draws: int, seed: str) -> Draws:
    """Sums of integer statistics over each resample.

    Args:
        columns: (N, c) integers, one row per question.
        order: Question rows sorted by the bytes of their ids.

    Returns:
        (draws, c) sums. Up to 5,000 questions by the stream of indexes; above, by counts of distinct rows drawn from
        the same key, which has the same distribution at a cost that does not grow with N.
    """
    rows = np.ascontiguousarray(columns[order])
    n = len(rows)
    out = np.empty((draws, rows.shape[1]), np.int64)
    cells, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    if n <= INDEX_LIMIT:
        done, place, size = 0, place.reshape(-1), len(cells)
        for index in indexes(n, draws, seed):
            start = size * np.arange(len(index))[:, None]
            times = np.bincount((place[index] + start).ravel(), minlength=size * len(index)).reshape(-1, size)
            out[done : done + len(index)] = times @ cells
            done += len(index)
        return out
    generator = np.random.RandomState(_bits(n, draws, seed))
    for done in range(0, draws, 4096):
        size = min(4096, draws - done)
        out[done : done + size] = generator.multinomial(n, counts / n, size=size) @ cells
    return out


def weights(n: int, draws: int, seed: str) -> Iterator[npt.NDArray[np.int64]]:
    """How often each question enters each resample, for ratios: arrays of shape (some draws, n)."""
    for index in indexes(n, draws, seed):
        rows = len(index)
        flat = index + n * np.arange(rows)[:, None]
        yield np.bincount(flat.ravel(), minlength=rows * n).reshape(rows, n)


def order_of(question_ids: list[str]) -> npt.NDArray[np.intp]:
    """Rows in the order of the UTF-8 bytes of their ids."""
    return np.array(sorted(range(len(question_ids)), key=lambda i: question_ids[i].encode()), np.intp)


def digest(column: Draws) -> str:
    """SHA-256 of the sums as little-endian 64-bit integers."""
    return hashlib.sha256(np.ascontiguousarray(column, dtype="<i8").tobytes()).hexdigest()
