"""What a reviewer did, as one immutable record in a chain of digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem

Kind = Literal["verdict", "draft", "retract", "dismiss", "reveal", "adjudicate"]
Verdict = Literal["regression", "improvement", "both_acceptable", "both_wrong", "not_a_real_change", "cannot_tell"]
Impact = Literal["low", "medium", "high"]

VERDICTS: dict[str, str] = {
    "regression": "Regression",
    "improvement": "Improvement",
    "both_acceptable": "Both acceptable",
    "both_wrong": "Both wrong",
    "not_a_real_change": "Not a real change",
    "cannot_tell": "Cannot tell",
}
"""Stored value and words for people, in the order of the keys 1 to 6."""

IMPACTS: dict[str, str] = {"low": "Low", "medium": "Medium", "high": "High"}

CAUSES = (
    "stale document",
    "conflicting evidence",
    "ambiguous question",
    "distractor",
    "missing evidence",
    "borderline refusal",
)
"""Cause tags offered where a study names none. They are a reviewer's hints, never claims."""

LONGEST_NOTE = 20_000
LONGEST_CAUSE = 60
FIRST = "0" * 64
"""What the first event names as the one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a reviewer did, before the store numbers it.

    Attributes:
        request_id: Unique for one press or click; the same request twice is one event.
        study_id: Together with `question_id` the place a verdict belongs to, whatever is loaded again later.
        bundle: SHA-256 of the study's protocol lock when the reviewer saw it.
        kind: ``verdict`` sets one; ``draft`` keeps input that does not count (details without a verdict, or a verdict
            from a tab that had not seen the newest event); ``retract`` takes the standing verdict back and restores the
            one before; ``dismiss`` closes an open draft; ``reveal`` records that gold was shown.
        item_sha256: Digest of exactly what was shown.
        at: UTC, ISO 8601, ending in ``Z``.
        old: State shown as old; likewise `new` and `kernel`.
        base_event: The newest event of this question and reviewer that the screen showed; None for none.
    """

    request_id: str
    study_id: str
    bundle: str
    question_id: str
    reviewer: str
    kind: Kind
    item_sha256: str
    at: str
    old: str = ""
    new: str = ""
    kernel: str = ""
    verdict: str | None = None
    impact: str | None = None
    causes: tuple[str, ...] = ()
    note: str = ""
    base_event: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Entry):
    """A stored entry.

    Attributes:
        id: 1, 2, 3, … without gaps over the whole store.
        prev_sha256: `sha256` of the event before; sixty-four zeros for the first.
        sha256: Digest of the canonical JSON of all other fields.
    """

    id: int
    prev_sha256: str
    sha256: str


ENTRY_COLUMNS = tuple(field.name for field in fields(Entry))
COLUMNS = tuple(field.name for field in fields(Event))


def chained(entry: Entry, event_id: int, prev_sha256: str) -> Event:
    """The entry as the event that follows another."""
    content = {name: getattr(entry, name) for name in ENTRY_COLUMNS} | {"id": event_id, "prev_sha256": prev_sha256}
    return Event(**content, sha256=sha256(canonical(content)))


def intact(event: Event) -> bool:
    """True where the event's digest is that of its content."""
    content = asdict(event)
    del content["sha256"]
    return sha256(canonical(content)) == event.sha256


def line(event: Event) -> bytes:
    """The event as one line of canonical JSON, with its newline."""
    return canonical(asdict(event)) + b"\n"


def from_fields(found: dict[str, Any]) -> Event:
    """An event from the fields of a line or a row; `causes` is a list of text."""
    if set(found) != set(COLUMNS):
        raise ValueError(f"fields {sorted(set(found) ^ set(COLUMNS))}")
    return Event(**{**found, "causes": tuple(found["causes"])})


def checked(entry: Entry) -> Entry:
    """The entry with text the database can hold, or the reasons why it cannot be stored.

    Raises:
        InputError: A word outside the vocabulary, a note that is too long, a verdict without a value.
    """
    problems = []
    if entry.kind not in get_args(Kind):
        problems.append(Problem("unknown kind of event", " or ".join(get_args(Kind)), entry.kind))
    if (entry.kind == "verdict" or entry.verdict is not None) and entry.verdict not in VERDICTS:
        problems.append(Problem("unknown verdict", " or ".join(VERDICTS), str(entry.verdict)))
    if entry.impact is not None and entry.impact not in IMPACTS:
        problems.append(Problem("unknown impact", " or ".join(IMPACTS), str(entry.impact)))
    if len(entry.note) > LONGEST_NOTE:
        problems.append(
            Problem(
                "the note is too long",
                f"at most {LONGEST_NOTE} characters",
                str(len(entry.note)),
                action="Shorten it; nothing was saved.",
            )
        )
    if any(not cause or len(cause) > LONGEST_CAUSE for cause in entry.causes):
        problems.append(Problem("a cause tag is empty or too long", f"1 to {LONGEST_CAUSE} characters"))
    if problems:
        raise InputError(problems)
    texts: dict[str, Any] = {
        name: _storable(value) for name in ENTRY_COLUMNS if isinstance(value := getattr(entry, name), str)
    }
    return replace(entry, **texts, causes=tuple(dict.fromkeys(map(_storable, entry.causes))))


def _storable(text: str) -> str:
    """Lone surrogates and NUL as U+FFFD: neither survives SQLite."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\x00", "\ufffd")
