"""From the desk to the disk: who reviews, what is stored, and what happened to it.

The rule behind it (measured): every `st.*` call and every access to the session is a point at which Streamlit may
stop a run, so callers read all input first, and nothing here touches Streamlit until the commit has returned.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews.events import Entry, Event, Kind
from audit_core.reviews.fold import Standing
from audit_core.reviews.store import ReviewStore, Saved
from dashboard import runtime


@st.cache_resource(show_spinner=False)
def _store(path: Path) -> ReviewStore:
    return ReviewStore(path)


def store() -> ReviewStore:
    """The verdict store of this process."""
    return _store(runtime.reviews().absolute())


def reviewer() -> str:
    """Who is reviewing: the signed-in address, else the local account, marked as not authenticated."""
    address = st.user.get("email")
    if address:
        return str(address)
    try:
        return f"local:{getpass.getuser()}"
    except (KeyError, OSError):  # an account without a name, as in many containers
        return f"local:{os.getuid()}"


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a save: the event read back from the disk, or the reason why there is none."""

    saved: Saved | None = None
    problem: AuditError | None = None

    @property
    def event(self) -> Event | None:
        """The stored event."""
        return self.saved.event if self.saved else None


def save(reviews: ReviewStore, who: str, shown: Shown, request: str, kind: Kind, verdict: str | None,
         details: Details) -> Outcome:
    """Store one event; the outcome says *saved* only after it was read back."""
    entry = Entry(
        request_id=request, study_id=shown.study_id, bundle=shown.bundle, question_id=shown.question_id, reviewer=who,
        kind=kind, item_sha256=shown.item_sha256, at=_now(), old=shown.old, new=shown.new, kernel=shown.kernel,
        verdict=verdict, impact=details.impact, causes=details.causes, note=details.note, base_event=shown.base,
    )
    try:
        return Outcome(reviews.append(entry))
    except AuditError as error:
        return Outcome(problem=error)


def keep(reviews: ReviewStore, who: str, shown: Shown, request: str, standing: Standing, details: Details) -> Outcome:
    """Store changed details: with the verdict that stands, else as a draft, so that a crash loses no word."""
    verdict = standing.verdict.verdict if standing.verdict else None
    return save(reviews, who, shown, request, "verdict" if verdict else "draft", verdict, details)


def rebased(shown: Shown, own: int | None) -> Shown:
    """What was shown, with this tab's own later event as the base; another tab's is not taken over."""
    return replace(shown, base=max(filter(None, (shown.base, own)), default=None))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
