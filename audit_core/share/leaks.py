"""Ids and tags that quote the study: names are all the text that a bundle takes over, so they are held against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

WORDS, CHARACTERS = 4, 12
"""So many words in a row, of so many characters together, are a quotation; a text of fewer words is one as a whole."""
_WORD = re.compile(r"\w+")


class Quotations:
    """Looks for names in the texts of a study.

    Args:
        names: That the bundle would hold.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._runs = {run: name for name in names for run in _runs(name) if len(run) >= CHARACTERS}
        self.found: dict[str, None] = {}

    def look(self, text: str | None) -> None:
        """Note in `found` each name that quotes a text."""
        if text and self._runs:
            self.found.update((self._runs[run], None) for run in _runs(text) if run in self._runs)


def _runs(text: str) -> Iterator[str]:
    words = _WORD.findall(text.casefold())
    return (" ".join(words[i : i + WORDS]) for i in range(max(len(words) - WORDS, 0) + 1))
