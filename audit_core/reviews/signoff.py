"""Signing: a release decision becomes a locked file beside the verdicts, then an event that names it.

The file comes first. A crash between the two leaves a file that nothing names, which is harmless; the other order
could leave a decision without its proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem, StorageError
from audit_core.reviews import signed
from audit_core.reviews.decided import Signed, decisions
from audit_core.reviews.events import DECISIONS, LONGEST_NOTE, Entry
from audit_core.reviews.fold import Fold
from audit_core.reviews.proofs import FOLDER, content_of, place
from audit_core.reviews.signed import Screen
from audit_core.reviews.store import ConflictError, ReviewStore
from audit_core.reviews.team import Person, permit


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody decides.

    Attributes:
        decision: One of `DECISIONS`.
        reason: Required.
        conditions: Required for ``conditions``, refused for the others.
    """

    decision: str
    reason: str
    conditions: str = ""


def sign(
    store: ReviewStore,
    person: Person,
    before: Screen,
    current: Callable[[Fold], Screen],
    wish: Wish,
    *,
    request_id: str,
    at: str,
) -> Signed:
    """Decide about a release.

    Args:
        store: Where the verdicts are.
        person: Who decides.
        before: What was on screen when they decided.
        current: What would be on screen now.
        wish: What they decide.
        request_id: Unique for one press; the same one twice is one decision.
        at: UTC, ISO 8601.

    Raises:
        RefusedError: The person may not.
        InputError: The decision is not complete, or it would ship what failed its checks.
        ConflictError: What was on screen is no longer so; the message says what changed.
        StorageError: Nothing was signed.
    """
    permit(person, "signoff")
    fold = store.fold()
    own = (e for e in fold.of_kind(before.study_id, "signoff") if e.reviewer == person.name)
    known = next((e for e in own if e.request_id == request_id), None)
    if known is not None:
        return Signed(known, content_of(known) or {})
    wish = _complete(wish, before)
    now = current(fold)
    if changes := before.changes(now):
        raise ConflictError(_moved(changes))
    earlier, shown = decisions(fold, before.study_id, before.pair), now.digest
    decision = {
        "decision": wish.decision,
        "conditions": wish.conditions,
        "reason": wish.reason,
        "by": person.name,
        "proved": person.proved,
        "at": at,
        "screen": shown,
        "replaces": earlier[0].content["sha256"] if earlier else "",
    }
    data = signed.write(now, decision)
    digest = sha256(data)
    name = f"{_slug(before.study_id)}-{digest[:16]}.jsonl"
    place(store.path.parent / FOLDER, name, data)
    content = {
        "sha256": digest,
        "screen": shown,
        "last_lock": now.last_lock,
        "standing": signed.standing(now.events),
        "conditions": wish.conditions,
        "proved": person.proved,
        "counts": now.counts(),
    }
    saved = store.append(
        Entry(
            request_id=request_id, study_id=now.study_id, bundle=now.bundle, question_id="", reviewer=person.name,
            kind="signoff", item_sha256=shown, at=at, old=now.old, new=now.new, kernel=now.kernel,
            verdict=wish.decision, note=wish.reason, base_event=now.newest, subject=name,
            content=canonical(content).decode(),
        )
    )  # fmt: skip
    return Signed(saved.event, content)


def read(store: ReviewStore, decision: Signed) -> bytes:
    """The file of a sign-off, as it was signed.

    Raises:
        StorageError: It is missing or was changed.
    """
    path = store.path.parent / FOLDER / decision.name
    try:
        data = path.read_bytes() if Path(decision.name).name == decision.name else b""
    except OSError as error:
        raise StorageError(
            Problem(
                "the file of this sign-off cannot be read",
                "the file that was signed",
                error.strerror or str(error),
                str(path),
                "Restore it from a backup; the decision itself is stored with the verdicts.",
            )
        ) from error
    if sha256(data) != decision.content["sha256"]:
        raise StorageError(
            Problem(
                "the file of this sign-off was changed",
                f"sha256 {decision.content['sha256'][:12]}…",
                f"sha256 {sha256(data)[:12]}…",
                str(path),
                "Restore it from a backup; a sign-off is never edited.",
            )
        )
    return data


def _complete(wish: Wish, before: Screen) -> Wish:
    """The wish with its texts trimmed.

    Raises:
        InputError: Something is missing, or contradicts the rest.
    """
    problems = []
    reason, conditions = (text.strip().replace("\x00", "\ufffd") for text in (wish.reason, wish.conditions))
    reason, conditions = (
        text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for text in (reason, conditions)
    )
    if wish.decision not in DECISIONS:
        problems.append(Problem("no decision is chosen", " or ".join(DECISIONS.values()), action="Choose one."))
    if not reason:
        problems.append(Problem("there is no reason", "why you decide so", action="Write the reason."))
    if wish.decision == "conditions" and not conditions:
        problems.append(Problem("there are no conditions", "what must be done", action="Write the conditions."))
    if wish.decision in ("ship", "hold") and conditions:
        action = "Choose “Ship with conditions”, or empty the field of the conditions."
        problems.append(Problem("conditions without the decision that has them", "none", conditions[:60], "", action))
    for name, text in (("reason", reason), ("conditions", conditions)):
        if len(text) > LONGEST_NOTE:
            problems.append(Problem(f"the {name} is too long", f"at most {LONGEST_NOTE} characters", str(len(text))))
    if before.checks == "failed" and wish.decision != "hold":
        problems.append(
            Problem(
                "this study failed its integrity check",
                "Hold",
                DECISIONS.get(wish.decision, "nothing"),
                before.study_id,
                "Restore the study and load it again before a release is decided on it.",
            )
        )
    if problems:
        raise InputError(problems)
    return Wish(wish.decision, reason, conditions)


def _moved(changes: list[str]) -> Problem:
    return Problem(
        "what you saw has changed since this page was drawn",
        "the screen that you decided on",
        " ".join(changes).removesuffix("."),
        action="Look at the page as it is now, then decide again; nothing was signed.",
    )


def _slug(study_id: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", study_id.lower()).strip("-.")[:60] or "study"
