"""Labels for a study that came without any: a new study of the same answers, judged offline or from a file.

A locked study is never changed, so the labels make another one, which names the lock of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from audit_core.adapters import lexical
from audit_core.errors import InputError, Problem
from audit_core.files import RECORDS, lines
from audit_core.importers.cells import text_of, whole_of
from audit_core.importers.jsonl import decode
from audit_core.model import Cell, Dossier, Judgment
from audit_core.protocol import Judge
from audit_core.study import Study, create_study
from audit_core.study.relabelled import check_unlabelled, findings_of, relabelled

NAME = "primary"
Labels = Callable[[Dossier], Judgment | None]
Progress = Callable[[str, int, int | None], None]
Known = dict[frozenset[tuple[str, int]], int]
"""Labels of one question: 1 same, 0 different, by the two cells."""


def judged(
    source: Study, target: Path, judge: Judge, labels: Labels, created: str, progress: Progress | None = None
) -> Study:
    """A new study of the same answers with a judge's labels.

    Args:
        source: Imported, and verified by whoever calls this.
        target: Must not exist.
        judge: Who labels.
        labels: Of one question; None for none.
        created: Time for the locks.
        progress: Told how many questions are labelled.

    Raises:
        InputError: The study has a judge already or was collected, or something is at the target.
    """
    check_unlabelled(source)
    tell = progress or (lambda _stage, _done, _total: None)

    def made() -> Iterator[Judgment]:
        for number, dossier in enumerate(source.dossiers(), 1):
            judgment = labels(dossier)
            if judgment is not None:
                yield judgment
            if not number % 500:
                tell("labelling", number, None)

    return create_study(
        target,
        relabelled(source, target, judge),
        questions=list(source.questions()),
        cells=(cell for dossier in source.dossiers() for cell in dossier.cells),
        evidence=(record for dossier in source.dossiers() for record in dossier.evidence),
        passages=dict(source.passages()),
        judgments={judge.name: made()},
        gold=(dossier.gold for dossier in source.dossiers() if dossier.gold is not None),
        findings=findings_of(source),
        created=created,
    )


def offline() -> tuple[Judge, Labels]:
    """The judge that works without a model: blind, because it is given the question and the answers alone."""

    def labels(dossier: Dossier) -> Judgment | None:
        held = _held(dossier)
        if len(held) < 2:
            return None
        question = dossier.question.text or dossier.question.question_id
        found = lexical.labels(question, [cell.answer or "" for cell in held])
        slots = tuple((cell.state, cell.repeat) for cell in held)
        return Judgment(dossier.question.question_id, slots, tuple((i, j, label) for i, j, label in found))

    return Judge(NAME, "primary", True, lexical.description()), labels


def from_file(path: Path, description: str, source: Study) -> tuple[Judge, Labels]:
    """Labels that came with the logs: one JSON object a line, ``question_id``, ``first``, ``second``, ``label``.

    ``first`` and ``second`` are ``[state, repeat]``, ``label`` is ``same`` or ``different``. A question that has any
    label needs one for every pair of its answers; answers that are equal to the letter are the same without one.
    Nothing shows that such labels are blind.

    Raises:
        InputError: Lines that are no labels, two labels for one pair, cells that the study does not have, or pairs
            without a label; every fault is named.
    """
    found, faults = _lines(path)
    unused = dict.fromkeys(found)
    for dossier in source.dossiers():
        question_id = dossier.question.question_id
        if question_id not in found:
            continue
        del unused[question_id]
        known = found[question_id]
        slots = {(cell.state, cell.repeat) for cell in _held(dossier)}
        strange = sum(not pair <= slots for pair in known)
        missing = sum(label is None for _, _, label in _pairs(dossier, known))
        if strange or missing:
            what = f"{strange} labels name cells that hold no answer" if strange else f"{missing} pairs have no label"
            faults.append(Problem(f"the labels of {question_id} do not fit its answers", "a label for every pair",
                                  what, str(path), "Complete the labels, or leave the question out."))  # fmt: skip
    faults += [
        Problem("a label is of a question that the study does not have", "a question id", question_id, str(path),
                "Correct or remove it.")
        for question_id in unused
    ]  # fmt: skip
    if faults:
        raise InputError(faults)

    def labels(dossier: Dossier) -> Judgment | None:
        known = found.get(dossier.question.question_id)
        held = _held(dossier)
        if not known or len(held) < 2:
            return None
        slots = tuple((cell.state, cell.repeat) for cell in held)
        made = tuple((i, j, int(label or 0)) for i, j, label in _pairs(dossier, known))
        return Judgment(dossier.question.question_id, slots, made)

    return Judge(NAME, "primary", None, description), labels


def _held(dossier: Dossier) -> list[Cell]:
    return [cell for cell in dossier.cells if cell.status == "ok"]


def _pairs(dossier: Dossier, known: Known) -> Iterator[tuple[int, int, int | None]]:
    """Every pair of answers with its label, None where there is none."""
    held = _held(dossier)
    for i, j in combinations(range(len(held)), 2):
        pair = frozenset((cell.state, cell.repeat) for cell in (held[i], held[j]))
        yield i, j, known.get(pair, 1 if held[i].answer == held[j].answer else None)


def _cell(value: Any) -> tuple[str, int]:
    """State and repeat, read as an import reads them.

    Raises:
        ValueError: They are neither text nor number, or the repeat is no whole number.
    """
    if type(value) is not list or len(value) != 2 or not (state := text_of(value[0])):
        raise ValueError
    return state, whole_of(value[1])


def _lines(path: Path) -> tuple[dict[str, Known], list[Problem]]:
    found: dict[str, Known] = {}
    faults: list[Problem] = []
    for number, line in lines(path, RECORDS, "a file of labels"):
        try:
            record = decode(line.decode())
            question, label = record["question_id"], {"same": 1, "different": 0}[record["label"]]
            pair = frozenset(map(_cell, (record["first"], record["second"])))
            if len(pair) != 2 or type(question) is not str or pair in found.get(question, {}):
                raise ValueError
        except (KeyError, TypeError, ValueError, RecursionError):
            expected = '{"question_id": …, "first": [state, repeat], "second": […], "label": "same" or "different"}'
            faults.append(Problem("a line is no label of a new pair", expected, line[:80].decode("utf-8", "replace"),
                                  f"{path}:{number}", "Correct the line; nothing was written."))  # fmt: skip
            continue
        found.setdefault(question, {})[pair] = label
    return found, faults
