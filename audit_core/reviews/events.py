"""What a reviewer did, as one immutable record in a chain of digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem

Kind = Literal[
    "verdict", "draft", "retract", "dismiss", "reveal", "adjudicate", "quarantine", "release", "label", "sample",
    "signoff", "kept",
]  # fmt: skip
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

LABELS: dict[str, str] = {"same": "Same", "different": "Different", "cannot_tell": "Cannot tell"}
"""What a person says about a pair of answers."""

DECISIONS: dict[str, str] = {"ship": "Ship", "conditions": "Ship with conditions", "hold": "Hold"}
"""What a sign-off decides about a release."""

VALUES: dict[str, dict[str, str]] = {"label": LABELS, "signoff": DECISIONS}
"""Values of `Entry.verdict` by kind of event; all other kinds take `VERDICTS`."""

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
        kind: ``verdict`` sets one; ``adjudicate`` settles a question that reviewers see differently; ``draft`` keeps
            input that does not count (details without a verdict, or a verdict from a tab that had not seen the newest
            event); ``retract`` takes the standing verdict or adjudication back and restores the one before;
            ``dismiss`` closes an open draft; ``reveal`` records that something hidden was shown; ``quarantine`` and
            ``release`` set a question aside and take it back; ``label`` says whether two answers mean the same, or
            takes that back; ``sample`` fixes which pairs people label; ``signoff`` decides about a release; ``kept``
            is history from a merged file that counts for nothing.
        item_sha256: Digest of exactly what was shown.
        at: UTC, ISO 8601, ending in ``Z``.
        old: State shown as old; likewise `new` and `kernel`. A verdict belongs to its pair of states.
        verdict: The value, see `VERDICTS` and `VALUES`.
        base_event: The newest event of this question, pair and reviewer that the screen showed; None for none. Of an
            adjudication: the newest verdict or adjudication by anyone.
        sides: In masked review the state that was called A; empty where nothing was masked.
        visible: What was in sight beside question and answers: ``states``, ``evidence``, ``labels``, ``gold``,
            ``others`` (verdicts of others).
        group: Shared by events of one decision on several questions.
        source: Digest of the event that this one takes over: of an earlier study, or of a merged file.
        question_sha256: Digest of the question's normalized text, by which it is found again in another study.
        meanings: Digests of the normalized answers, each after ``old:`` or ``new:``.
        subject: What the event is about where that is no verdict: what was revealed (``gold`` when empty), the two
            cells of a label (``n1/1|n7/2``), the file of a sign-off.
        owner: Who looks after a question in quarantine.
        until: Last day of a quarantine, ISO 8601.
        content: Canonical JSON of a sample or of a sign-off.
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
    sides: str = ""
    visible: tuple[str, ...] = ()
    group: str = ""
    source: str = ""
    question_sha256: str = ""
    meanings: tuple[str, ...] = ()
    subject: str = ""
    owner: str = ""
    until: str = ""
    content: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Old and new state."""
        return self.old, self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Entry):
    """A stored entry.

    Attributes:
        id: 1, 2, 3, … without gaps over the whole store.
        prev_sha256: `sha256` of the event before; sixty-four zeros for the first.
        sha256: Digest of the canonical JSON of all other fields; those of `LATER` only where they hold something.
    """

    id: int
    prev_sha256: str
    sha256: str


ENTRY_COLUMNS = tuple(field.name for field in fields(Entry))
COLUMNS = tuple(field.name for field in fields(Event))
LATER = ("sides", "visible", "group", "source", "question_sha256", "meanings", "subject", "owner", "until", "content")
"""Fields that came after the first version. Empty ones are left out of digests and lines, so that old ones hold."""
_LISTS = ("causes", "visible", "meanings")


def chained(entry: Entry, event_id: int, prev_sha256: str) -> Event:
    """The entry as the event that follows another."""
    content = {name: getattr(entry, name) for name in ENTRY_COLUMNS} | {"id": event_id, "prev_sha256": prev_sha256}
    return Event(**content, sha256=sha256(canonical(_compact(content))))


def intact(event: Event) -> bool:
    """True where the event's digest is that of its content."""
    content = as_fields(event)
    del content["sha256"]
    return sha256(canonical(content)) == event.sha256


def line(event: Event) -> bytes:
    """The event as one line of canonical JSON, with its newline."""
    return canonical(as_fields(event)) + b"\n"


def as_fields(event: Event) -> dict[str, Any]:
    """The event's fields for a line of JSON, without the empty ones of `LATER`."""
    return _compact(asdict(event))


def _compact(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value or name not in LATER}


def from_fields(found: dict[str, Any]) -> Event:
    """An event from the fields of a line or a row; lists of text stand for tuples."""
    if not set(COLUMNS) - set(LATER) <= set(found) <= set(COLUMNS):
        raise ValueError(f"fields {sorted(set(found) ^ set(COLUMNS))}")
    return Event(**{**found, **{name: tuple(found[name]) for name in _LISTS if name in found}})


def checked(entry: Entry) -> Entry:
    """The entry with text the database can hold, or the reasons why it cannot be stored.

    Raises:
        InputError: A word outside the vocabulary, a note that is too long, a verdict without a value.
    """
    problems = []
    if entry.kind not in get_args(Kind):
        problems.append(Problem("unknown kind of event", " or ".join(get_args(Kind)), entry.kind))
    values = VALUES.get(entry.kind, VERDICTS)
    needed = entry.kind in ("verdict", "adjudicate", "signoff")
    if (needed or entry.verdict is not None) and entry.verdict not in values:
        problems.append(Problem("unknown verdict", " or ".join(values), str(entry.verdict)))
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
    lists: dict[str, Any] = {name: tuple(dict.fromkeys(map(_storable, getattr(entry, name)))) for name in _LISTS}
    return replace(entry, **texts, **lists)


def _storable(text: str) -> str:
    """Lone surrogates and NUL as U+FFFD: neither survives SQLite."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\x00", "\ufffd")
