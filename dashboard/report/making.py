"""From a loaded study and what people said to the bytes of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audit_core.codec import Record
from audit_core.errors import InputError, Problem
from audit_core.printed import Row, Source
from audit_core.readmodel import read
from audit_core.readmodel.printed import source
from audit_core.reviews import signed
from audit_core.reviews.carried import carried, decided, reviewed
from audit_core.reviews.fold import Fold, Pair
from audit_core.reviews.signoff import decisions, outdated
from dashboard.report.document import document, first_page
from dashboard.report.examples import chosen
from dashboard.selection import Selection, default_pair


def render(db: Path, study_id: str, fold: Fold, *, needed: int = 1, pair: Pair | None = None, redacted: bool) -> bytes:
    """A report on a pair of states of a loaded study.

    Args:
        db: The database.
        study_id: A study in it.
        fold: What people said.
        needed: Independent verdicts that a question needs.
        pair: Old and new state; the endpoints when None.
        redacted: Whether texts of the study are left out.

    Raises:
        InputError: The pair is not part of the study's estimates.
    """
    made = _gathered(db, study_id, fold, needed, pair, redacted)
    return document(made.study, made.source, made.selection, made.flips, made.carried, redacted=redacted)


def preview(db: Path, study_id: str, fold: Fold, *, needed: int = 1, pair: Pair | None = None, redacted: bool) -> str:
    """The first page of `render` as markup, without figures; arguments as there."""
    made = _gathered(db, study_id, fold, needed, pair, redacted)
    return first_page(made.study, made.source, made.selection, redacted=redacted)


@dataclass(frozen=True, slots=True)
class _Gathered:
    study: Row
    source: Source
    selection: Selection
    flips: list[str]
    carried: Record


def _gathered(db: Path, study_id: str, fold: Fold, needed: int, pair: Pair | None, redacted: bool) -> _Gathered:
    study = read.study(db, study_id)
    old, new = pair or default_pair(study)
    kernel = study["main_kernel"]
    if old == new:
        raise InputError(Problem("a report compares two states", "two states", f"{old} alone", study_id,
                                 "Collect or import a second state."))  # fmt: skip
    table = read.columns(db, study_id, kernel, old, new)
    if table is None:
        listed = "; ".join(f"{p['old']} {p['new']}" for p in study["pairs"]) or "none"
        raise InputError(
            Problem("this pair of states is not part of the study's estimates", listed, f"{old} {new}", study_id,
                    "Name one of these pairs; others are explored on the dashboard and are in no report.")
        )  # fmt: skip
    flips = [question for question, flip in zip(table["question_id"], table["flip"], strict=True) if flip]
    locks = [(lock["gate"], lock["sha256"]) for lock in read.locks(db, study_id)]
    rows = read.estimates(db, study_id)
    names = signed.estimate_names(study["kernels"], (old, new))
    rule = study["decision"] if (study["old_state"], study["new_state"]) == (old, new) else None
    screen = signed.screen(
        fold, study, (old, new), kernel, locks=locks, estimates=[rows[name] for name in names if name in rows],
        flips=flips, rule=rule, needed=needed,
    )  # fmt: skip
    found = decisions(fold, study_id, (old, new))
    signoff = decided(found[0], outdated(found[0], screen, fold)) if found else None
    if redacted and signoff:
        signoff |= {"by": "", "reason": "", "conditions": ""}
    verdicts = reviewed(carried(screen.events, needed, None, noted=()), study_id, flips, (old, new)).verdicts
    noted: Sequence[str] = [] if redacted else chosen(flips, verdicts)
    held = reviewed(carried(screen.events, needed, signoff, noted=noted), study_id, flips, (old, new))
    selection = Selection(study_id, old, new, kernel)
    return _Gathered(study, source(db, study, held, None), selection, flips, held.record)
