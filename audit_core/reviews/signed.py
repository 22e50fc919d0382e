"""What a sign-off holds: the screen that was decided on and the decision, as lines that a stranger can check.

A file is a ledger like those of a study (canonical JSON lines with ``prev``, ``seq`` and ``v``): its first line names
the study's last lock, its last one closes it with the SHA-256 of everything before. Pure: no database, no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit_core.codec import CodecError, Field, Record, check_fields, decode, encode
from audit_core.codec.fields import is_count, is_flag, is_hex, is_list, is_name, is_text, is_texts
from audit_core.digests import canonical, sha256
from audit_core.errors import InputError, Problem
from audit_core.reviews.events import DECISIONS, VERDICTS, Event, as_fields, from_fields
from audit_core.reviews.fold import Fold, Pair, progress

PAIR_MEASURES = (
    "exact_match_difference",
    "transitions[lost]",
    "transitions[gained]",
    "transitions[different_nonmatch]",
)
KERNEL_MEASURES = ("cross_agreement", "baseline_agreement", "excess_churn", "repeat_stable_flips", "nonmatch_flips")
"""Estimates that Summary shows, of the pair and of each kernel; a sign-off holds them."""

_NUMBERS = ("numerator", "denominator", "lower", "low", "high")
_COUNTED = ("total", "reviewed", "high_impact", "high_impact_regressions", "disputed", "begun")


def _maybe_text(value: Any) -> bool:
    return value is None or is_text(value)


KINDS: dict[str, dict[str, Field]] = {
    "screen": {
        "study_id": (is_name, "non-empty text", True),
        "bundle": (is_hex, "64 hexadecimal digits", True),
        "old": (is_name, "non-empty text", True),
        "new": (is_name, "non-empty text", True),
        "kernel": (is_name, "non-empty text", True),
        "checks": (is_text, "text", True),
    },
    "lock": {"gate": (is_name, "non-empty text", True), "sha256": (is_hex, "64 hexadecimal digits", True)},
    "estimate": {
        "name": (is_name, "non-empty text", True),
        **dict.fromkeys(_NUMBERS, (_maybe_text, "text or null", True)),
        "status": (is_text, "text", True),
        "reason": (is_text, "text", True),
        "population": (is_count, "a whole number", True),
        "excluded": (is_count, "a whole number", True),
    },
    "flip": {"question_id": (is_name, "non-empty text", True)},
    "event": {"event": (lambda v: type(v) is dict, "an object", True)},
    "counts": {
        "needed": (is_count, "a whole number", True),
        **dict.fromkeys(_COUNTED, (is_count, "a whole number", True)),
        "by_verdict": (
            lambda v: type(v) is dict and set(v) == set(VERDICTS) and all(map(is_count, v.values())),
            "a whole number for each verdict",
            True,
        ),
    },
    "rule": {"outcome": (is_text, "text", True), "conditions": (is_list, "a list", True)},
    "decision": {
        "decision": (is_text, "text", True),
        "conditions": (is_text, "text", True),
        "reason": (is_text, "text", True),
        "by": (is_name, "non-empty text", True),
        "proved": (is_flag, "true or false", True),
        "at": (is_name, "non-empty text", True),
        "screen": (is_hex, "64 hexadecimal digits", True),
        "replaces": (is_text, "text", True),
    },
    "end": {"lines": (is_count, "a whole number", True), "sha256": (is_hex, "64 hexadecimal digits", True)},
}
"""Fields of each kind of line, in the order in which the kinds stand in a file."""
ONCE = ("screen", "counts", "decision", "end")
_CHAIN: dict[str, Field] = {
    "kind": (is_text, "text", True),
    "prev": (is_hex, "64 hexadecimal digits", True),
    "seq": (is_count, "a whole number", True),
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
}
_FIELDS = {kind: {**fields, **_CHAIN} for kind, fields in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Screen:
    """What somebody who decides about a release has before them.

    Attributes:
        checks: Outcome of the study's integrity checks as loaded: ``passed``, ``failed`` or ``incomplete``.
        needed: Independent verdicts that a question needs.
        locks: Gate and id of every lock, in order.
        estimates: As `shown` gives them.
        flips: Ids of the repeat-stable flips, the population of the counts.
        rule: Outcome of the protocol's release rule; None where it has none for this pair.
        events: Standing verdicts and rulings on the pair by anyone, in the order of the store.
        newest: Number of the last event that set or took back a verdict on the pair.
    """

    study_id: str
    bundle: str
    old: str
    new: str
    kernel: str
    checks: str
    needed: int
    locks: tuple[tuple[str, str], ...]
    estimates: tuple[Record, ...]
    flips: tuple[str, ...]
    rule: Record | None
    events: tuple[Event, ...]
    newest: int | None = None

    @property
    def pair(self) -> Pair:
        """Old and new state."""
        return self.old, self.new

    @property
    def last_lock(self) -> str:
        """Id of the study's last lock."""
        return self.locks[-1][1] if self.locks else "0" * 64

    def counts(self) -> Record:
        """Verdicts on the flips, counted."""
        return counted(self.events, self.study_id, self.flips, self.pair, self.needed)

    def records(self) -> list[Record]:
        """The lines of a file before the decision, without their chain."""
        head = {name: getattr(self, name) for name in KINDS["screen"]}
        found: list[Record] = [{"kind": "screen", **head}]
        found += [{"kind": "lock", "gate": gate, "sha256": digest} for gate, digest in self.locks]
        found += [{"kind": "estimate", **record} for record in self.estimates]
        found += [{"kind": "flip", "question_id": question} for question in self.flips]
        found += [{"kind": "event", "event": plain_fields(event)} for event in self.events]
        found.append({"kind": "counts", **self.counts()})
        return found + ([{"kind": "rule", **self.rule}] if self.rule else [])

    @property
    def digest(self) -> str:
        """SHA-256 over everything above: what was on screen."""
        return digest_of(self.records())

    def changes(self, later: Screen) -> list[str]:
        """What another screen shows that this one did not, in sentences; empty for the same."""
        if self == later:
            return []
        said = []
        if self.locks != later.locks:
            said.append("The study was loaded again and its last lock is another one.")
        elif (self.estimates, self.flips, self.rule) != (later.estimates, later.flips, later.rule):
            said.append("The numbers shown are others than before.")
        if self.needed != later.needed:
            said.append(f"A question now needs {later.needed} verdicts, before {self.needed}.")
        before, after = ({event.request_id: event for event in screen.events} for screen in (self, later))
        said += [f"New: {_said(event)}." for request, event in after.items() if request not in before][:5]
        said += [f"No longer there: {_said(event)}." for request, event in before.items() if request not in after][:5]
        if not said and self.digest != later.digest:
            said.append("The screen changed since it was drawn.")
        return said


def screen(
    fold: Fold,
    study: Mapping[str, Any],
    pair: Pair,
    kernel: str,
    *,
    locks: Sequence[tuple[str, str]],
    estimates: Iterable[Mapping[str, Any]],
    flips: Iterable[str],
    rule: Mapping[str, Any] | None,
    needed: int,
) -> Screen:
    """The screen as it is now.

    Args:
        fold: What stands, from `ReviewStore.fold`.
        study: Row of the read model: `study_id`, `bundle`, `verified`.
        estimates: Rows of the read model or of `results.as_row`.
    """
    study_id = study["study_id"]
    # First, because other threads extend the fold meanwhile: what comes after it is then refused, never overlooked.
    moving = [event.id for event in moves(fold, study_id, pair)]
    events: dict[int, Event] = {}
    rulings: dict[str, Event] = {}
    for who in fold.reviewers(study_id, pair):
        for question, found in fold.standings(study_id, who, pair):
            if found.verdict:
                events[found.verdict.id] = found.verdict
            if found.ruling and (question not in rulings or rulings[question].id < found.ruling.id):
                rulings[question] = found.ruling
    events |= {event.id: event for event in rulings.values()}
    return Screen(
        study_id, study["bundle"], *pair, kernel, study["verified"], needed, tuple(locks),
        tuple(map(shown, estimates)), tuple(flips), dict(rule) if rule else None,
        tuple(events[number] for number in sorted(events)), moving[-1] if moving else None)  # fmt: skip


def moves(fold: Fold, study_id: str, pair: Pair) -> list[Event]:
    """Events that set or took back a verdict on a pair."""
    return [e for e in fold.of_kind(study_id, "verdict", "adjudicate", "retract") if e.pair == pair]


def standing(events: Iterable[Event]) -> str:
    """Digest of which verdicts stand; it survives a merge, which gives events other numbers."""
    return sha256("\n".join(sorted(event.request_id for event in events)).encode())


def estimate_names(kernels: Iterable[str], pair: Pair) -> list[str]:
    """Names of the estimates that a sign-off holds."""
    ending = f"@{pair[0]}-{pair[1]}"
    return [f"{measure}[{kernel}]{ending}" for kernel in kernels for measure in KERNEL_MEASURES] + [
        measure + ending for measure in PAIR_MEASURES
    ]


def shown(row: Mapping[str, Any]) -> Record:
    """An estimate with its numbers as text; bounds as the shortest text of the nearest double."""
    numbers = {name: None if row[name] is None else str(row[name]) for name in _NUMBERS}
    return {
        "name": row["name"],
        **numbers,
        **{name: row[name] for name in ("status", "reason", "population", "excluded")},
    }


def counted(events: Iterable[Event], study_id: str, flips: Iterable[str], pair: Pair, needed: int) -> Record:
    """Counts of verdicts on the flips, from the standing events alone."""
    found = progress(Fold(events), study_id, flips, pair, needed)
    return {"needed": needed, **{name: getattr(found, name) for name in _COUNTED}, "by_verdict": dict(found.by_verdict)}


def digest_of(records: Iterable[Record]) -> str:
    """SHA-256 over records without their chain."""
    return sha256(b"".join(canonical(record) + b"\n" for record in records))


def write(before: Screen, decision: Record) -> bytes:
    """A whole file.

    Args:
        before: What was on screen.
        decision: The fields of the line ``decision``.

    Raises:
        InputError: Text that no ledger can hold.
    """
    records = before.records()
    try:
        lines = _chained([*records, {"kind": "decision", **decision}], before.last_lock)
        body = b"".join(lines)
        end: Record = {"kind": "end", "lines": len(lines), "sha256": sha256(body)}
        return body + encode({**end, "prev": sha256(lines[-1][:-1]), "seq": len(lines), "v": 1}) + b"\n"
    except CodecError as error:
        raise InputError(
            Problem("the decision cannot be stored", "text", str(error), action="Correct it; nothing was saved.")
        ) from None


def _chained(records: Iterable[Record], prev: str) -> list[bytes]:
    lines = []
    for number, record in enumerate(records):
        line = encode({**record, "prev": prev, "seq": number, "v": 1})
        prev = sha256(line)
        lines.append(line + b"\n")
    return lines


def check_record(record: Any) -> str:
    """Kind of a line whose fields are those of its kind.

    Raises:
        CodecError: They are not.
    """
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise CodecError("not a line of a sign-off")
    check_fields(record, _FIELDS[kind], f"a line of the kind {kind}")
    if kind == "rule" and not all(_is_condition(item) for item in record["conditions"]):
        raise CodecError("a condition of the rule is not one")
    return kind


def plain_fields(event: Event) -> Record:
    """The event's fields with lists for tuples, as a line holds them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in as_fields(event).items()}


def event_of(record: Record) -> Event:
    """The event in a line.

    Raises:
        ValueError, TypeError: It is not an event.
    """
    found: dict[str, Any] = record["event"]
    for name in ("causes", "visible", "meanings"):
        if name in found and not is_texts(found[name]):
            raise TypeError(f"{name} is not a list of texts")
    return from_fields(found)


def questions(data: bytes) -> set[str]:
    """Questions on which a file that was signed holds verdicts, also those that were taken back since."""
    records = (decode(line) for line in data.splitlines() if b'"kind":"event"' in line)
    return {event_of(record).question_id for record in records if record["kind"] == "event"}


def _is_condition(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and set(item) == {"name", "met", "sentence"}
        and is_text(item["name"])
        and is_text(item["sentence"])
        and (item["met"] is None or is_flag(item["met"]))
    )


def _said(event: Event) -> str:
    word = {**VERDICTS, **DECISIONS}.get(str(event.verdict), str(event.verdict))
    how = "ruled" if event.kind == "adjudicate" else "said"
    return f"{event.reviewer} {how} {word} on {event.question_id[:80]}"
