"""From the desk to the disk: what is stored, by whom, and what happened to it.

The rule behind it (measured): every `st.*` call and every access to the session is a point at which Streamlit may
stop a run, so callers read all input first, and nothing here touches Streamlit until the commit has returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews.events import Entry, Event, Kind
from audit_core.reviews.fold import RULING
from audit_core.reviews.store import ReviewStore, Saved
from audit_core.reviews.team import Person, permit
from dashboard import runtime


@st.cache_resource(show_spinner=False)
def _store(path: Path) -> ReviewStore:
    return ReviewStore(path)


def store() -> ReviewStore:
    """The verdict store of this process."""
    return _store(runtime.reviews().absolute())


@dataclass(frozen=True, slots=True)
class Details:
    """What is said about a question beside the verdict."""

    impact: str | None = None
    causes: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, event: Event | None) -> Details:
        """Details of an event; empty ones for none."""
        return cls(event.impact, event.causes, event.note) if event else cls()


@dataclass(frozen=True, slots=True)
class Shown:
    """Exactly what a reviewer had on screen when they pressed; verdicts are stored against it."""

    study_id: str
    bundle: str
    question_id: str
    item_sha256: str
    old: str
    new: str
    kernel: str
    base: int | None
    ruling: bool = False
    sides: str = ""
    visible: tuple[str, ...] = ()
    question_sha256: str = ""
    meanings: tuple[str, ...] = ()

    def entry(self, who: str, request: str, kind: Kind, verdict: str | None, details: Details, **more: Any) -> Entry:
        """An event on this question, as it was shown."""
        fields = {
            "request_id": request, "study_id": self.study_id, "bundle": self.bundle, "question_id": self.question_id,
            "reviewer": who, "kind": kind, "item_sha256": self.item_sha256, "at": now(), "old": self.old,
            "new": self.new, "kernel": self.kernel, "verdict": verdict, "impact": details.impact,
            "causes": details.causes, "note": details.note, "base_event": self.base, "sides": self.sides,
            "visible": self.visible, "question_sha256": self.question_sha256, "meanings": self.meanings,
        }
        return Entry(**(fields | more))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a save: the event read back from the disk, or the reason why there is none."""

    saved: Saved | None = None
    problem: AuditError | None = None

    @property
    def event(self) -> Event | None:
        """The stored event."""
        return self.saved.event if self.saved else None


def save(reviews: ReviewStore, person: Person, shown: Shown, request: str, kind: Kind, verdict: str | None,
         details: Details, **more: Any) -> Outcome:
    """Store one event; the outcome says *saved* only after it was read back.

    Args:
        reviews: The store.
        person: Who is at the desk at this moment; their role decides whether anything is stored.
        shown: What was on screen.
        request: Identity of the press.
        kind: Kind of event; likewise `verdict` and `details`.
        more: Further fields of the event.
    """
    try:
        permit(person, kind)
        return Outcome(reviews.append(shown.entry(person.name, request, kind, verdict, details, **more)))
    except AuditError as error:
        return Outcome(problem=error)


def save_group(reviews: ReviewStore, person: Person, entries: Sequence[Entry]) -> tuple[list[Saved], AuditError | None]:
    """Store one decision on several questions, all of it or nothing: what was stored, or why it was not."""
    try:
        for kind in {entry.kind for entry in entries}:
            permit(person, kind)
        return reviews.append_group(entries), None
    except AuditError as error:
        return [], error


def keep(reviews: ReviewStore, person: Person, shown: Shown, request: str, decided: Event | None,
         details: Details) -> Outcome:
    """Store changed details: with what this person decided, else as a draft, so that a crash loses no word."""
    if decided is None:
        subject = RULING if shown.ruling else ""
        return save(reviews, person, shown, request, "draft", None, details, subject=subject)
    return save(reviews, person, shown, request, decided.kind, decided.verdict, details)


def rebased(shown: Shown, own: int | None) -> Shown:
    """What was shown, with this tab's own later event as the base; another tab's is not taken over."""
    return replace(shown, base=max(filter(None, (shown.base, own)), default=None))


def now() -> str:
    """UTC to the millisecond, as events carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
