"""The judge against a reader: a blind sheet of answers to sort by meaning, and how far the judge agrees with it.

A sheet holds, per question, its different answers in an order that only the study's seed decides; no state, repeat,
evidence, gold or label of the judge. The reader gives answers of one meaning one number. That labels every pair of the
question's answers, and the reader then counts as one more judge: agreement, κ and excess churn under the reader's
labels are those of two judges, with whole questions resampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from audit_core import codec
from audit_core.errors import InputError, NotMeasurableError, Problem
from audit_core.estimators import judges, stream
from audit_core.estimators.bounds import Settings
from audit_core.estimators.catalogue import judge_estimates
from audit_core.files import RECORDS, lines
from audit_core.model import Dossier, Estimate, Judgment
from audit_core.prompts import packet_order
from audit_core.protocol import Judge
from audit_core.results import arrays_of, settings_of
from audit_core.study import Study, judgments_of
from audit_core.tensors import Answers

READER = "reader"
Meanings = dict[str, dict[str, int]]
"""By question id and answer text: the number of its meaning."""


def sheet(study: Study) -> Iterator[codec.Record]:
    """Lines of a blank sheet: every question with two different answers or more."""
    for dossier in study.dossiers():
        texts = _texts(dossier)
        if len(texts) > 1:
            question = dossier.question
            order = packet_order(f"{study.protocol.seed}/sheet", question.question_id, len(texts))
            yield {
                "question_id": question.question_id,
                "question": question.text or question.question_id,
                "answers": [texts[i] for i in order],
                "meanings": [0] * len(texts),
            }


def _texts(dossier: Dossier) -> list[str]:
    return sorted({cell.answer or "" for cell in dossier.cells if cell.status == "ok"})


def read_sheet(path: Path, study: Study) -> Meanings:
    """A filled sheet.

    Raises:
        InputError: A line is not one of this study's sheet, or not filled; every fault is listed.
    """
    expected = {str(line["question_id"]): line for line in sheet(study)}
    found: Meanings = {}
    faults: list[Problem] = []

    def fault(what: str, wanted: str, seen: object, number: int) -> None:
        faults.append(Problem(what, wanted, str(seen)[:80], f"{path}:{number}", "Correct the line; nothing was used."))

    for number, line in lines(path, RECORDS, "a filled sheet"):
        try:
            record = codec.parse(line)
        except codec.CodecError as error:
            fault("a line of the sheet cannot be read", "one JSON object", error, number)
            continue
        blank = expected.get(record.get("question_id", "")) if isinstance(record, dict) else None
        if blank is None:
            fault("a line is of another study", "a question of this study with different answers", line[:60], number)
        elif record.get("answers") != blank["answers"]:
            fault("the answers are not the study's", "the sheet that this study gives", record.get("answers"), number)
        elif blank["question_id"] in found:
            fault("a question is there twice", "once", blank["question_id"], number)
        else:
            meanings = record.get("meanings")
            whole = isinstance(meanings, list) and all(type(m) is int and m > 0 for m in meanings)
            if not whole or len(meanings) != len(blank["answers"]):
                fault("a question is not filled in", "a number from 1 for every answer", meanings, number)
            else:
                found[str(blank["question_id"])] = dict(zip(blank["answers"], meanings, strict=True))
    if faults:
        raise InputError(faults)
    return found


def _judged(dossier: Dossier, readers: dict[str, Meanings]) -> Dossier:
    held = [cell for cell in dossier.cells if cell.status == "ok"]
    judgments = dict(dossier.judgments)
    for reader, meanings in readers.items():
        known = meanings.get(dossier.question.question_id)
        if len(held) < 2 or (known is None and len(_texts(dossier)) > 1):
            continue
        of = [(known or {}).get(cell.answer or "", 1) for cell in held]
        labels = tuple((i, j, int(of[i] == of[j])) for i, j in combinations(range(len(held)), 2))
        slots = tuple((cell.state, cell.repeat) for cell in held)
        judgments[reader] = Judgment(dossier.question.question_id, slots, labels)
    return replace(dossier, judgments=judgments)


@dataclass(frozen=True)
class Compared:
    """Two who labelled the same pairs.

    Attributes:
        first, second: Their names; the study's judge is ``judge``.
        everything: Over all pairs of the questions that both labelled.
        different: Over the pairs whose texts differ, where there is something to judge.
        confusion: Counts of those pairs: same by both, same by the first only, by the second only, by neither.
    """

    first: str
    second: str
    everything: judges.JudgeAgreement
    different: judges.JudgeAgreement
    confusion: tuple[int, int, int, int]


@dataclass(frozen=True)
class Checked:
    """A judge beside readers.

    Attributes:
        judge: Its description.
        compared: The judge with each reader, then the readers with each other.
        churn: Excess churn at the endpoints under each reader's labels.
    """

    judge: str
    compared: tuple[Compared, ...]
    churn: tuple[Estimate, ...]


def check(study: Study, sheets: Sequence[Meanings]) -> Checked:
    """How far the primary judge's labels agree with readers', and readers with each other.

    Args:
        study: With labels of its primary judge.
        sheets: Filled, one a reader.

    Raises:
        NotMeasurableError: The study has no labels of a judge.
    """
    protocol, primary = study.protocol, study.protocol.primary_judge
    if primary is None or not study.has(judgments_of(primary.name)):
        raise NotMeasurableError(
            Problem(
                "there is no judge to check",
                "a study with semantic labels",
                "the exact kernel alone",
                str(study.path),
                "Choose a study that a judge labelled.",
            )
        )
    readers = {f"{READER}-{number}": meanings for number, meanings in enumerate(sheets, 1)}
    added = tuple(Judge(name, "supplementary", True, "sorted by hand") for name in readers)
    beside = replace(protocol, judges=(primary, *added))
    answers = arrays_of(beside, (_judged(dossier, readers) for dossier in study.dossiers()))
    settings = settings_of(beside)
    churn = tuple(e for e in judge_estimates(answers, protocol.endpoints, settings) if e.measure == "excess_churn")
    names = {primary.name: "judge", **{name: name for name in readers}}
    compared = tuple(_compared(answers, a, b, names, settings) for a, b in combinations(names, 2))
    return Checked(primary.description, compared, churn)


def _compared(answers: Answers, a: str, b: str, names: dict[str, str], settings: Settings) -> Compared:
    texts = answers.raw.reshape(len(answers), -1)
    differ = texts[:, :, None] != texts[:, None, :]

    def agreement(mask: Any, word: str) -> tuple[judges.JudgeAgreement, Any]:
        first = np.where(mask, answers.labels[a], -1).astype(np.int8)
        second = np.where(mask, answers.labels[b], -1).astype(np.int8)
        both = np.flatnonzero(((first >= 0) & (second >= 0)).any((1, 2)))
        ids = [answers.question_ids[i] for i in both]
        rows = judges.counts(first[both], second[both])[stream.order_of(ids)]
        seed = f"{settings.seed}/readers:{names[a]}:{names[b]}:{word}"
        return judges.agreement(rows, draws=settings.draws, seed=seed, tail=settings.tail), rows

    everything, _ = agreement(np.ones_like(differ), "all")
    different, rows = agreement(differ, "different")
    pairs, agreeing, first_same, second_same = (int(v) for v in rows.sum(0)) if len(rows) else (0, 0, 0, 0)
    both_same = (agreeing + first_same + second_same - pairs) // 2
    confusion = (both_same, first_same - both_same, second_same - both_same, agreeing - both_same)
    return Compared(names[a], names[b], everything, different, confusion)
