"""The judge against a reader: a blind sheet of answers to sort by meaning, and how far the judge agrees with it.

A sheet holds, per question, its different answers in an order that only the study's seed decides; no state, repeat,
evidence, gold or label of the judge. The reader gives answers of one meaning one number. That labels every pair of the
question's answers, and the reader then counts as one more judge: agreement, κ and excess churn under the reader's
labels are those of two judges, with whole questions resampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from audit_core import codec
from audit_core.errors import InputError, NotMeasurableError, Problem
from audit_core.estimators import judges, stream
from audit_core.estimators.catalogue import judge_estimates
from audit_core.model import Dossier, Estimate, Judgment
from audit_core.prompts import packet_order
from audit_core.protocol import Judge
from audit_core.results import arrays_of, settings_of
from audit_core.study import Study

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

    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
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


def _judged(dossier: Dossier, meanings: Meanings, reader: str) -> Dossier:
    held = [cell for cell in dossier.cells if cell.status == "ok"]
    known = meanings.get(dossier.question.question_id)
    if len(held) < 2 or (known is None and len(_texts(dossier)) > 1):
        return dossier
    of = [(known or {}).get(cell.answer or "", 1) for cell in held]
    labels = tuple((i, j, int(of[i] == of[j])) for i, j in combinations(range(len(held)), 2))
    judgment = Judgment(dossier.question.question_id, tuple((c.state, c.repeat) for c in held), labels)
    return replace(dossier, judgments={**dossier.judgments, reader: judgment})


def check(study: Study, meanings: Meanings) -> dict[str, Any]:
    """How far the primary judge's labels agree with a reader's.

    Args:
        study: With labels of its primary judge.
        meanings: Of a filled sheet.

    Returns:
        ``estimates`` (agreement, κ and excess churn under the reader's labels, over all pairs of the questions read);
        ``different`` (agreement and κ over pairs whose texts differ, where there is something to judge); and
        ``confusion`` over those pairs, as judge/reader.

    Raises:
        NotMeasurableError: The study has no labels of a judge.
    """
    protocol, primary = study.protocol, study.protocol.primary_judge
    if primary is None or not study.has(f"judgments/{primary.name}/cells.jsonl"):
        raise NotMeasurableError(
            Problem(
                "there is no judge to check",
                "a study with semantic labels",
                "the exact kernel alone",
                str(study.path),
                "Choose a study that a judge labelled.",
            )
        )
    name = next(n for n in (READER, *(f"{READER}-{i}" for i in range(2, 99))) if n not in
                {judge.name for judge in protocol.judges})  # fmt: skip
    judge = Judge(name, "supplementary", True, "sorted by hand")
    read = replace(protocol, judges=(*protocol.judges, judge))
    answers = arrays_of(read, (_judged(dossier, meanings, name) for dossier in study.dossiers()))
    settings = settings_of(read)
    estimates: list[Estimate] = [
        estimate
        for estimate in judge_estimates(answers, protocol.endpoints, settings)
        if estimate.name.partition("]")[0].endswith((f"[{name}", f":{name}"))
    ]
    texts = answers.raw.reshape(len(answers), -1)
    differ = texts[:, :, None] != texts[:, None, :]
    first = np.where(differ, answers.labels[primary.name], -1).astype(np.int8)
    second = np.where(differ, answers.labels[name], -1).astype(np.int8)
    both = np.flatnonzero(((first >= 0) & (second >= 0)).any((1, 2)))
    ids = [answers.question_ids[i] for i in both]
    rows = judges.counts(first[both], second[both])[stream.order_of(ids)]
    seed = f"{settings.seed}/judge:{name}/differ"
    found = judges.agreement(rows, draws=settings.draws, seed=seed, tail=settings.tail)
    pairs, agreeing, judge_same, reader_same = (int(v) for v in rows.sum(0)) if len(rows) else (0, 0, 0, 0)
    both_same = (agreeing + judge_same + reader_same - pairs) // 2
    return {
        "judge": primary.description,
        "estimates": estimates,
        "different": found,
        "confusion": {
            "same/same": both_same,
            "same/different": judge_same - both_same,
            "different/same": reader_same - both_same,
            "different/different": agreeing - both_same,
        },
    }
