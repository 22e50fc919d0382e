"""Joining the verdicts of people who worked apart: every event of every file once, and nobody's verdict overwritten.

A file is another `reviews.db`, or a `verdicts.jsonl`; `joining` says how its events are taken in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from audit_core.errors import AuditError, InputError, Problem
from audit_core.reviews import proofs
from audit_core.reviews.events import FIRST, Entry, Event, chained, checked
from audit_core.reviews.joining import Joined, agree, join
from audit_core.reviews.journal import Journal
from audit_core.reviews.store import ReviewStore, verified

SQLITE = b"SQLite format 3\x00"


def merge(store: ReviewStore, paths: Sequence[Path], *, dry_run: bool = False) -> list[Joined]:
    """Join files into a store, all in one transaction; again, it does nothing.

    Args:
        store: What they are joined into; made where there is none.
        paths: The files, in any order.
        dry_run: Say what would happen, and write nothing.

    Raises:
        InputError: A file is none, is damaged, or contradicts what is here; nothing was written.
        StorageError: The store refused; nothing was written.
    """
    sources = [(path, read(path, store.path)) for path in paths]
    found: list[Joined] = []

    def make(present: list[Event]) -> Iterator[Entry]:
        everything = list(present)
        for path, incoming in sources:
            joined = join(everything, incoming, path.name)
            found.append(joined)
            for entry in joined.entries:
                last = everything[-1] if everything else None
                everything.append(chained(entry, last.id + 1 if last else 1, last.sha256 if last else FIRST))
                yield entry

    if dry_run:
        present = store.events()
        verified(present, 0, FIRST, store.path)
        list(make(present))
    else:
        store.extend(make)
        for (path, incoming), joined in zip(sources, found, strict=True):
            joined.notes += proofs.adopt(store.path.parent / proofs.FOLDER, incoming, path.parent / proofs.FOLDER)
    return found


def read(path: Path, target: Path | None = None) -> list[Event]:
    """Events of a file, checked: digests, chain, and one content for each request.

    Raises:
        InputError: It is not one, or it is damaged.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise _refused(path, "no regular file", "Name a reviews.db or a verdicts.jsonl.")
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE))
            stream.seek(0, os.SEEK_END)
            ended = stream.tell() == 0 or (stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) == b"\n")
    except OSError as error:
        raise _refused(path, error.strerror or str(error), "Name a reviews.db or a verdicts.jsonl.") from error
    if target is not None and target.exists() and path.samefile(target):
        raise _refused(path, "the store itself", "Name the file of somebody else.")
    try:
        if head == SQLITE:
            events = ReviewStore(path).events()
            verified(events, 0, FIRST, path)
        elif not head and path.suffix != ".jsonl":
            raise _refused(path, "an empty file", "Ask for the file again, as a whole.")
        elif not ended:
            raise _refused(path, "a last line without an end", "Copy the file again, as a whole.")
        else:
            events = _chain(Journal(path).read(), path)
    except InputError:
        raise
    except AuditError as error:
        if b'"gold_revealed":' in _start(path):
            raise _refused(
                path,
                "an export of the verdicts that stand, without their history",
                "Take the verdicts.jsonl beside reviews.db, or one of `snapshot-audit reviews export --format events`.",
            ) from error
        problem = error.problems[0]
        raise _refused(path, f"{problem.what}: {problem.found or problem.expected}", "Ask for the file again, or for "
                       "another copy.", problem.where) from error  # fmt: skip
    for event in events:
        try:
            checked(replace(event, verdict=None) if event.kind == "kept" else event)
        except InputError as error:
            raise _refused(path, str(error.problems[0]), "Ask for the file again.", f"event {event.id}") from error
    return events


def _start(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.readline()


def _chain(lines: list[Event], path: Path) -> list[Event]:
    """Events of a `verdicts.jsonl` by their numbers; of an event that was numbered anew, the last line counts."""
    digests = {event.sha256: event for event in lines}
    latest: dict[str, Event] = {}
    for event in lines:
        before = digests.get(event.prev_sha256)
        if event.prev_sha256 != FIRST and (before is None or before.id != event.id - 1):
            raise _refused(
                path, "a line is missing or was changed", "Ask for the whole file.", f"before event {event.id}"
            )
        if event.request_id in latest:
            agree(latest[event.request_id], event, path.name)
        latest[event.request_id] = event
    return sorted(latest.values(), key=lambda event: event.id)


def _refused(path: Path, found: str, action: str, where: str = "") -> InputError:
    return InputError(
        Problem(
            "this file cannot be merged",
            "a whole reviews.db or verdicts.jsonl",
            found,
            where if str(path) in where else f"{path}{': ' if where else ''}{where}",
            f"{action} Nothing was written.",
        )
    )


def totals(found: Iterable[Joined]) -> tuple[int, int]:
    """Events appended, and events that were here already."""
    everything = list(found)
    return sum(len(joined.entries) for joined in everything), sum(joined.known for joined in everything)
