"""Repeats asked again only where the first ones had agreed, differed or failed: a noise floor that was chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from audit_core.estimators.overlap import fisher_two_sided
from audit_core.importers.staging import BLANK, TEXT, Entry

LEVEL = 0.001
"""A choice of questions that chance makes less often than this is no chance."""
_WORDS = {"agreed": "had agreed", "differed": "had differed", "failed": "had failed"}


class Redraw:
    """Takes in the repeats of one state, question by question."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[int, str]] = Counter()

    def observe(self, cells: Sequence[Entry]) -> None:
        """Take in one question's cells in order of their repeats, errors included."""
        self._seen[len(cells), _outcome(cells[:2])] += 1

    def chosen(self) -> Iterator[str]:
        """In words, by what the questions with more repeats than the others were chosen."""
        sizes: Counter[int] = Counter()
        for (size, _), count in self._seen.items():
            sizes[size] += count
        if len(sizes) < 2:
            return
        usual = min(sizes, key=lambda size: (-sizes[size], size))
        more = sum(count for size, count in sizes.items() if size > usual)
        whole = sum(count for size, count in sizes.items() if size >= usual)
        for outcome, words in _WORDS.items():
            both = sum(n for (size, found), n in self._seen.items() if size > usual and found == outcome)
            with_it = sum(n for (size, found), n in self._seen.items() if size >= usual and found == outcome)
            often = both * (whole - more) > (with_it - both) * more
            if more and often and fisher_two_sided(both, more, with_it, whole) < LEVEL:
                yield (
                    f"{both:,} of {more:,} questions with more than {usual} repeats {words} at first, and "
                    f"{with_it - both:,} of {whole - more:,} others"
                )


def _outcome(first: Sequence[Entry]) -> str:
    if any(cell.kind not in (TEXT, BLANK) for cell in first):
        return "failed"
    if len(first) < 2:
        return "alone"
    return "agreed" if first[0].answer == first[1].answer else "differed"
