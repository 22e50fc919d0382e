"""Studies with a release rule, and what people must have said for it to be met."""

from __future__ import annotations

from pathlib import Path

from audit_core.release import ReleaseRule
from audit_core.results import estimate_study
from audit_core.reviews.signoff import Wish, sign
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person
from tests.support.signing import AT, give, screens
from tests.support.simulator import CREATED, StudySimulator

ANN = Person("ann@example.org", "adjudicator", proved=True)
NUMBERS = ReleaseRule("semantic", tolerance="0.03", margin="0.03", em_loss="0.04", refusal_gain="0.02")
PEOPLE = ReleaseRule("semantic", every_flip_reviewed=True, no_open_high_impact_regression=True, signoff=True)
BOTH = ReleaseRule("semantic", "0.03", "0.03", "0.04", "0.02", True, True, True)

CALM = {"questions": 400, "flips": 0.003, "noise": 0.03, "seed": 5}
"""Hardly anything moves: compatible. One question flips."""
MOVED = {"questions": 100, "flips": 0.2}
FEW = {"questions": 30, "flips": 0.02}
"""Too few to say."""


def build(path: Path, rule: ReleaseRule | None, **how: object) -> Path:
    """A simulated study with its results locked."""
    study = StudySimulator(study_id=path.name, **how).build(path, release=rule)  # type: ignore[arg-type]
    estimate_study(study, created=CREATED)
    return path


def review(study: Path, store: ReviewStore, verdict: str = "both_acceptable", **more: object) -> None:
    """One verdict on each repeat-stable flip."""
    screen = screens(study, "semantic")(store.fold())
    for question in screen.flips:
        give(store, screen, question, "ann", verdict, **more)


def signs(study: Path, store: ReviewStore, word: str = "ship", request: str = "press") -> None:
    """A sign-off on what stands."""
    current = screens(study, "semantic")
    wish = Wish(word, "Read them all.", "Remove shard 7 first." if word == "conditions" else "")
    sign(store, ANN, current(store.fold()), current, wish, request_id=request, at=AT)
