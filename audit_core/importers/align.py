"""Rows → cells: by id, state and repeat, never by row number; what cannot be one cell is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from audit_core.errors import Problem
from audit_core.importers.sources import Source
from audit_core.importers.staging import BLANK, FAILED, NO_KEY, NULL, TEXT, Entry, Staging
from audit_core.importers.values import shown

_BEST = {kind: rank for rank, kind in enumerate((TEXT, FAILED, BLANK, NULL, NO_KEY))}
"""Which of several rows of one cell says what stands where the answer should be."""


class ConflictError(ValueError):
    """Two rows claim one cell; `rows` are the two."""

    def __init__(self, one: Entry, other: Entry) -> None:
        super().__init__("two rows claim one cell")
        self.rows = one, other


class Alignment:
    """The cells of an import, question by question, as often as they are needed.

    Attributes:
        duplicates: Rows that repeat another one exactly; counted by each pass anew.
        conflicts: Cells claimed twice, likewise.
    """

    def __init__(
        self, staging: Staging, ids: Sequence[str], states: Sequence[str], sources: Sequence[Source], advice: str = ""
    ) -> None:
        self._staging, self._ids, self._states, self._sources = staging, ids, states, sources
        self._advice = advice or (
            "Check the columns of state and repeat, or add --number-repeats where rows of one question and state "
            "are repeats without a number."
        )
        self.duplicates = 0
        self.conflicts: list[Problem] = []

    def questions(self) -> Iterator[tuple[int, list[Entry]]]:
        """Key of each question, and its cells by state and repeat."""
        self.duplicates, self.conflicts = 0, []
        for key, groups in self._staging.cells(len(self._ids)):
            cells = []
            for rows in groups:
                try:
                    cells.append(rows[0] if len(rows) == 1 else self._merge(rows))
                except ConflictError as error:
                    self._conflict(*error.rows)
            yield key, cells

    def place(self, entry: Entry) -> str:
        """A cell in words."""
        return f"{shown(self._ids[entry.question])} / {shown(self._states[entry.state])} / repeat {entry.repeat}"

    def line(self, entry: Entry) -> str:
        """Where a row stands."""
        return str(self._sources[entry.source].at(entry.line))

    def _merge(self, rows: list[Entry]) -> Entry:
        first = rows[0]
        other = next((row for row in rows if row.number_id != first.number_id), None)
        if other is not None:
            raise ConflictError(first, other)
        if all(row.single for row in rows):
            return self._passages(rows)
        said = _said(first)
        other = next((row for row in rows if _said(row) != said), None)
        if other is not None:
            raise ConflictError(first, other)
        self.duplicates += len(rows) - 1
        return first

    def _passages(self, rows: list[Entry]) -> Entry:
        """One cell out of rows that hold a passage each: evidence in order, one answer."""
        best = min(rows, key=lambda row: _BEST[row.kind])
        if best.kind == TEXT:
            other = next((row for row in rows if row.kind == TEXT and row.answer != best.answer), None)
            if other is not None:
                raise ConflictError(best, other)
        documents: dict[str, None] = {}
        for row in rows:
            for document in json.loads(row.evidence) if row.evidence else ():
                documents.setdefault(json.dumps(document, ensure_ascii=False))
        self.duplicates += len(rows) - len({_said(row) for row in rows})
        return best._replace(evidence="[" + ",".join(documents) + "]" if documents else None)

    def _conflict(self, one: Entry, other: Entry) -> None:
        if len(self.conflicts) == 100:
            return
        if one.number_id != other.number_id:
            found = "an id as a number and as text"
            action = "Write ids in one form, or give one of the two questions another id."
        else:
            found = f"{_words(one)} and {_words(other)}"
            action = self._advice
        self.conflicts.append(
            Problem(
                f"two rows for the cell {self.place(one)}",
                "one row for each question, state and repeat",
                found,
                f"{self.line(one)}; {self.line(other)}",
                action,
            )
        )


def _said(entry: Entry) -> tuple[object, ...]:
    return entry.kind, entry.answer, entry.error, entry.evidence, entry.outcome, entry.excerpts


def _words(entry: Entry) -> str:
    return {TEXT: repr(shown(entry.answer)), BLANK: "a blank answer", FAILED: "an error"}.get(entry.kind, "no answer")
