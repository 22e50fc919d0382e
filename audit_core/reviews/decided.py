"""Sign-offs that are in force, and whether they still hold. Pure: no database, no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from audit_core.reviews import signed
from audit_core.reviews.events import DECISIONS, Event
from audit_core.reviews.fold import Fold, Pair
from audit_core.reviews.proofs import content_of
from audit_core.reviews.signed import Screen


@dataclass(frozen=True, slots=True)
class Signed:
    """A sign-off as the store knows it.

    Attributes:
        event: What was stored.
        content: Digests that it rests on: `sha256` of the file, `last_lock`, `standing` verdicts, and `conditions`,
            `proved`, `needed`, `counts`.
    """

    event: Event
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of its file."""
        return self.event.subject


def decisions(fold: Fold, study_id: str, pair: Pair) -> list[Signed]:
    """Sign-offs of a pair of states, the one in force first; earlier ones from merged stores come last."""
    found = [e for e in fold.of_kind(study_id, "signoff", "kept") if e.pair == pair and e.verdict in DECISIONS]
    found.sort(key=lambda event: (event.kind == "signoff", event.id), reverse=True)
    return [Signed(event, content) for event in found if (content := content_of(event)) is not None]


def outdated(decision: Signed, now: Screen, fold: Fold) -> list[str]:
    """What came after a sign-off that would have been on its screen, in sentences; empty where it still holds."""
    said = []
    if decision.content["last_lock"] != now.last_lock:
        said.append("The study that is loaded now has another last lock than the one that was signed.")
    if decision.content["standing"] != signed.standing(now.events):
        since = [e for e in signed.moves(fold, now.study_id, now.pair) if e.id > decision.event.id]
        kept = {event.id for event in now.events}
        given, taken = sum(e.id in kept for e in since), sum(e.kind == "retract" for e in since)
        parts = [f"{number} {what}" for number, what in ((given, _verdicts(given)), (taken, "taken back")) if number]
        said.append((" and ".join(parts) + " since.") if parts else "The verdicts are not those that were signed.")
    return said


def _verdicts(number: int) -> str:
    return "verdict" if number == 1 else "verdicts"
