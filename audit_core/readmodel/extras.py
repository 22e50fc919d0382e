"""Rows beside the answers: what became of the excerpts that they carry, and what was asked again after the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from audit_core import probes
from audit_core.model import Cell, Dossier
from audit_core.rules.excerpts import check, evidence_of
from audit_core.rules.outcome import read
from audit_core.rules.shown import shown
from audit_core.study import Study

Row = tuple[Any, ...]
_QUOTES = ('"', "“", "„", "«")


def excerpts(
    dossier: Dossier, question: int, ladder: Mapping[str, int], text_of: Callable[[str], str]
) -> Iterator[Row]:
    """Rows of the table `excerpt`.

    Args:
        dossier: Of the question.
        question: Its key.
        ladder: Positions of the states.
        text_of: Text of a passage by its digest; empty where the study does not keep it.
    """
    for cell in dossier.cells:
        if _may_quote(cell):
            found = check(cell, shown(evidence_of(cell, dossier.evidence), text_of))
            for position, item in enumerate(found):
                yield question, ladder[cell.state], cell.repeat, position, item.kind


def _may_quote(cell: Cell) -> bool:
    """Whether it is worth looking: most answers hold no quotation mark."""
    return bool(cell.excerpts) or (cell.answer is not None and any(mark in cell.answer for mark in _QUOTES))


def probed(study: Study, questions: Mapping[str, int], ladder: Mapping[str, int]) -> Iterator[Row]:
    """Rows of the table `probe`, of the probes that are closed.

    Args:
        study: Verified.
        questions: Keys of the questions by id.
        ladder: Positions of the states.
    """
    protocol = study.protocol
    for number in probes.numbers(study):
        probe = probes.closed(study, number)
        for cell in probes.answers(study, probe) if probe else ():
            reading = read(cell.answer or "", protocol.unknown_texts, protocol.outcome_rule)
            yield questions[cell.question_id], ladder[cell.state], number, cell.repeat, cell.answer, reading.outcome
