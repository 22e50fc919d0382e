"""Looking at a verdict store without changing it: both media, its sign-offs, its newest copy."""

from __future__ import annotations

from pathlib import Path

from audit_core.digests import sha256_file
from audit_core.errors import AuditError
from audit_core.model import CheckResult
from audit_core.reviews import proofs
from audit_core.reviews.backup import copies, events_of, sound
from audit_core.reviews.events import DECISIONS, Event
from audit_core.reviews.journal import Journal
from audit_core.reviews.restore import whole
from audit_core.reviews.store import JOURNAL


def check(path: Path) -> list[CheckResult]:
    """Both media of a store, its sign-offs and its newest copy, looked at without changing anything."""
    found: list[CheckResult] = []

    def say(check: str, title: str, bad: str, good: str) -> None:
        found.append(CheckResult(check, title, "failed" if bad else "passed", bad or good))

    stored, bad = _looked_at(path)
    say("R01", "The database is whole and its events follow one another", bad, f"{len(stored)} events.")
    lines, bad = _lines(path.with_name(JOURNAL))
    say("R02", "The second medium holds whole events", bad, f"{len(lines)} lines.")
    here, there = ({event.request_id: event for event in events} for events in (stored, lines))
    only = [(medium, [r for r in one if r not in other]) for medium, one, other in (
        ("the database", here, there), (JOURNAL, there, here))]  # fmt: skip
    missing = "; ".join(
        f"only in {medium}: {len(requests)} events ({', '.join(r[:40] for r in requests[:3])}"
        f"{', …' if len(requests) > 3 else ''})"
        for medium, requests in only
        if requests
    )
    say("R03", "Both media hold the same events", missing and f"{missing}. The next start completes them.", "Equal.")
    signed = [e for e in stored if e.kind in ("signoff", "kept") and e.verdict in DECISIONS]
    lost = [e.subject for e in signed if not _proved(path.parent / proofs.FOLDER, e)]
    say("R04", "Every sign-off has its file, unchanged", f"Missing or changed: {', '.join(lost)}." if lost else "",
        f"{len(signed)} sign-offs.")  # fmt: skip
    newest = next(iter(copies(path)), None)
    if newest is None:
        found.append(CheckResult("R05", "The newest copy is whole", "could not check", "There is no copy yet."))
    else:
        copied, bad = _looked_at(newest)
        behind = len(here.keys() - {event.request_id for event in copied})
        say(
            "R05",
            "The newest copy is whole",
            bad and f"{newest.name}: {bad}",
            f"{newest.name}, {behind} events behind.",
        )
    return found


def _looked_at(path: Path) -> tuple[list[Event], str]:
    if not path.is_file():
        return [], f"There is no {path.name}."
    try:
        sound(path)
        return events_of(path), ""
    except AuditError as error:
        return [], str(error.problems[0])


def _lines(path: Path) -> tuple[list[Event], str]:
    try:
        events, torn = Journal(path).read(), path.is_file() and path.stat().st_size and path.read_bytes()[-1:] != b"\n"
        return events, "The last line has no end; the next save repairs it." if torn else ""
    except AuditError as error:
        return whole(path), str(error.problems[0])


def _proved(folder: Path, event: Event) -> bool:
    content, file = proofs.content_of(event), folder / event.subject
    return bool(content and file.name == event.subject and file.is_file() and sha256_file(file) == content["sha256"])
