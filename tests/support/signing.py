"""The screen that a study and some verdicts give, without a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from audit_core import explore
from audit_core.results import arrays_of, as_row, from_record
from audit_core.reviews import signed
from audit_core.reviews.events import Entry
from audit_core.reviews.fold import Fold
from audit_core.reviews.signed import Screen
from audit_core.reviews.store import ReviewStore
from audit_core.study import Study

AT = "2026-11-30T15:00:00.000Z"


def screens(
    path: Path, kernel: str = "exact", needed: int = 1, pair: tuple[str, str] | None = None
) -> Callable[[Fold], Screen]:
    """What Summary shows of a study's endpoints or of another pair, as a function of what stands."""
    study = Study(path)
    old, new = pair or study.protocol.endpoints or ("", "")
    answers = arrays_of(study.protocol, study.dossiers())
    results = study.results() or {}
    rows = {e["name"]: as_row(from_record(e)) for e in results.get("estimates", [])}
    if not any(name.endswith(f"@{old}-{new}") for name in rows):
        rows = {e.name: as_row(e) for e in explore.pair_estimates(answers, old, new)}
    table = explore.columns(answers, kernel, old, new)

    def current(fold: Fold) -> Screen:
        return signed.screen(
            fold,
            {"study_id": study.protocol.study_id, "bundle": study.bundle, "verified": "passed"},
            (old, new),
            kernel,
            locks=[(lock.gate, lock.sha256) for lock in study.chain],
            estimates=[rows[name] for name in signed.estimate_names(answers.kernels, (old, new)) if name in rows],
            flips=[q for q, flip in zip(table["question_id"], table["flip"], strict=True) if flip],
            rule=results.get("decision") if (old, new) == study.protocol.endpoints else None,
            needed=needed,
        )

    return current


def give(
    store: ReviewStore, screen: Screen, question: str, who: str, verdict: str | None, request: str = "", **more: object
):
    """One person's verdict on what a screen shows."""
    own = store.fold().standing(screen.study_id, question, who, screen.pair).newest
    entry = Entry(
        request_id=request or f"{who}-{question}-{own}", study_id=screen.study_id, bundle=screen.bundle,
        question_id=question, reviewer=who, kind="verdict", item_sha256="c" * 64, at=AT, old=screen.old,
        new=screen.new, kernel=screen.kernel, verdict=verdict, base_event=own)  # fmt: skip
    return store.append(replace(entry, **more)).event  # type: ignore[arg-type]
