"""People against the judge, for the pages: what was drawn, its pairs, what came of the labels. Cached as in `data`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from audit_core import results
from audit_core.model import Cell
from audit_core.protocol import from_record
from audit_core.readmodel import read
from audit_core.report.labelled import Frame, frame
from audit_core.report.people import Checked, check
from audit_core.reviews import labels
from dashboard import data
from dashboard.components.saving import store
from dashboard.state import Selection


@dataclass(frozen=True)
class Checking:
    """How far people have checked a study's judge on a pair of states.

    Attributes:
        frame: All questions.
        sample: The newest draw; None before the first.
        drawn: Drawn questions by stratum, in order.
        pairs: Pairs of each drawn question.
        stale: Draws from answers or labels that the study no longer has.
        checked: The judge beside everyone who gave a label; None before the first.
    """

    frame: Frame
    sample: labels.Sample | None
    drawn: dict[str, list[str]]
    pairs: dict[str, list[labels.Asked]]
    stale: int
    checked: Checked | None


@st.cache_resource(show_spinner=False, max_entries=8)
def _frame(mark: data.Stamp, study_id: str, old: str, new: str) -> Frame:
    return frame(data.arrays(study_id), old, new)


@st.cache_resource(show_spinner=False, max_entries=8)
def _pairs(mark: data.Stamp, study_id: str, old: str, new: str, ids: tuple[str, ...]) -> dict[str, list[labels.Asked]]:
    out = {}
    for question_id in ids:
        row = read.question(Path(mark[0]), study_id, question_id) or {"text": None, "cells": []}
        cells = (Cell(question_id, c["state_name"], c["repeat"], c["status"], c["answer"]) for c in row["cells"])
        out[question_id] = labels.pairs_of(question_id, row["text"], cells, (old, new))
    return out


@st.cache_resource(show_spinner="Comparing the judge with people …", max_entries=8)
def _checked(mark: data.Stamp, study_id: str, old: str, new: str, sample: str, last: int, _given: Any) -> Checked:
    found = _frame(mark, study_id, old, new)
    drawn = next(s for s in _given[0] if s.sha256 == sample)
    questions = tuple(q for ids in (drawn.questions(found.strata) or {}).values() for q in ids)
    settings = results.settings_of(from_record(data.study(study_id)["protocol"]))
    return check(found, drawn, _pairs(mark, study_id, old, new, questions), _given[1], settings)


def checking(selection: Selection, *, numbers: bool = True) -> Checking:
    """How far people have checked the judge.

    Args:
        selection: Study and states.
        numbers: Whether agreement and estimates are wanted; the labelling desk can do without.

    Raises:
        NotMeasurableError: The study has no judge, or nothing to check at these states.
        StorageError: The verdict store cannot be read.
    """
    mark, study_id, pair = data.stamp(), selection.study, (selection.old, selection.new)
    found = _frame(mark, study_id, *pair)
    fold = store().fold()
    draws = labels.samples(fold, study_id, pair, found.judge, found.strata)
    recorded = [s for event in fold.of_kind(study_id, "sample") if (s := labels.parse(event))]
    stale = sum((s.old, s.new, s.judge) == (*pair, found.judge) and s.questions(found.strata) is None for s in recorded)
    if not draws:
        return Checking(found, None, {}, {}, stale, None)
    sample = draws[-1]
    drawn = sample.questions(found.strata) or {}
    pairs = _pairs(mark, study_id, *pair, tuple(q for ids in drawn.values() for q in ids))
    own = labels.given(fold, study_id)
    places = {p.place for asked in pairs.values() for p in asked if p.asked}
    own = {who: kept for who, said in own.items() if (kept := {p: e for p, e in said.items() if p in places})}
    checked = None
    if own and numbers:
        last = max(event.id for event in fold.of_kind(study_id, "label"))
        checked = _checked(mark, study_id, *pair, sample.sha256, last, (draws, own))
    return Checking(found, sample, drawn, pairs, stale, checked)
