"""What a report carries of the review, so that its counts can be derived again without the store of verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from audit_core.codec import Record
from audit_core.digests import sha256
from audit_core.errors import InputError, Problem
from audit_core.reviews import signed
from audit_core.reviews.decided import Signed
from audit_core.reviews.events import DECISIONS, VERDICTS, Event
from audit_core.reviews.fold import Fold, Pair
from audit_core.reviews.names import LOCAL

_KEPT = ("verdict", "adjudicate")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What people said about the flips of a pair of states, as a report prints it.

    Attributes:
        counts: Verdicts on the flips; ``verdict.regression`` and so on for each verdict.
        verdicts: Of each question whose verdict counts: the verdict and its impact, in words.
        fold: What stands, of nameless people.
        notes: What was noted with that verdict, where something was.
        signoff: The decision in force by field; None where nobody has signed.
        record: All of this but the notes as the report carries it: `carried`.
    """

    counts: dict[str, int]
    verdicts: dict[str, tuple[str, str]]
    notes: dict[str, str]
    signoff: dict[str, str] | None
    fold: Fold
    record: Record


def carried(events: Iterable[Event], needed: int, signoff: dict[str, str] | None, *, noted: Collection[int]) -> Record:
    """Standing verdicts without the names of the people, for a report.

    Args:
        events: Standing verdicts and rulings on the pair, in the order of the store.
        needed: Independent verdicts that a question needs.
        signoff: The decision in force by field.
        noted: Numbers of the events whose notes the report prints.
    """
    people: dict[str, str] = {}
    lines = []
    for event in events:
        name = people.setdefault(event.reviewer, f"reviewer {len(people) + 1}")
        note = event.note if event.id in noted else ""
        bare = replace(
            event, request_id=sha256(event.request_id.encode())[:16], reviewer=name, note=note, causes=(), content="",
            owner="", meanings=(), visible=(), item_sha256="", prev_sha256="", sha256="", question_sha256="",
        )  # fmt: skip
        lines.append(signed.plain_fields(bare))
    return {"needed": needed, "events": lines, "signoff": signoff}


def reviewed(record: Any, study_id: str, flips: Collection[str], pair: Pair) -> Reviewed:
    """What follows from the verdicts that a report carries.

    Raises:
        InputError: They are not verdicts.
    """
    try:
        events = [signed.event_of({"event": fields}) for fields in record["events"]]
        needed, decided = int(record["needed"]), record["signoff"]
        if decided is not None:
            decided = {str(key): str(value) for key, value in decided.items()}
            if decided["decision"] != DECISIONS[decided["verdict"]]:
                raise ValueError
        if any(event.kind not in _KEPT or event.verdict not in VERDICTS for event in events):
            raise ValueError
        counts = signed.counted(events, study_id, flips, pair, needed)
        fold = Fold(events)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            Problem("the verdicts that the report carries are damaged", "standing verdicts", "something else",
                    action="Render the report again.")
        ) from None  # fmt: skip
    flat = {name: value for name, value in counts.items() if isinstance(value, int)}
    flat |= {f"verdict.{name}": number for name, number in counts["by_verdict"].items()}
    flat["waiting"] = flat["total"] - flat["reviewed"]
    found = {q: event for q in flips if (event := fold.review(study_id, q, pair).outcome(needed))}
    return Reviewed(
        flat,
        {q: (VERDICTS[str(e.verdict)], e.impact or "") for q, e in found.items()},
        {q: e.note.strip() for q, e in found.items() if e.note.strip()},
        decided,
        fold,
        record,
    )


def decided(decision: Signed, since: Iterable[str], fault: str) -> dict[str, str]:
    """A sign-off as a report prints it.

    Args:
        decision: The one in force.
        since: Why it no longer holds, in sentences; empty where it does.
        fault: What is wrong with its file; empty where that is as it was signed.
    """
    event, content = decision.event, decision.content
    return {
        "verdict": str(event.verdict),
        "decision": DECISIONS[str(event.verdict)],
        "by": event.reviewer.removeprefix(LOCAL),
        "proved": "yes" if content["proved"] else "",
        "at": event.at[:16].replace("T", " "),
        "reason": event.note,
        "conditions": str(content["conditions"]),
        "sha256": str(content["sha256"]),
        "reviewed": str(content["counts"]["reviewed"]),
        "total": str(content["counts"]["total"]),
        "outdated": " ".join(since),
        "fault": fault,
    }
