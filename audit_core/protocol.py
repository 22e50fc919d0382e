"""The frozen description of a study: what was asked, in which states, how agreement is decided."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from audit_core import release
from audit_core.codec import CodecError, Field, Record, check_fields, from_state
from audit_core.errors import InputError, Problem
from audit_core.model import Origin, State
from audit_core.normalize import RULES
from audit_core.release import ReleaseRule
from audit_core.rules.outcome import OUTCOME_RULES, OutcomeRule

STUDY_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
DECIMAL = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,12})?")
KERNELS = ("exact", "semantic")


def study_id_of(name: str) -> str:
    """An identifier out of a folder's name."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.casefold()).strip("-._")[:64] or "imported"


@dataclass(frozen=True, slots=True)
class Judge:
    """Who labelled pairs of answers.

    Attributes:
        name: Folder under ``judgments/``.
        role: ``primary`` labels decide semantic agreement; ``supplementary`` labels check them.
        blind: Whether it saw only the question and anonymous answers; None where nothing shows it.
        description: Words for people.
    """

    name: str
    role: str
    blind: bool | None
    description: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file that an imported study was read from; the path is not kept."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Rule:
    """The confirmatory decision: an intersection of conditions, fixed before collection.

    Attributes:
        margin: Least exact excess churn that counts, as a fraction.
        lower_above_zero: Kernels whose one-sided lower bound must be above 0.
    """

    margin: str
    lower_above_zero: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protocol:
    """All that was fixed before the first answer, or is known about an import.

    Attributes:
        study_id: Lower-case identifier of the study.
        title: Words for people.
        origin: ``collected``, ``imported`` or ``reconstructed``.
        provenance: One sentence that every page shows when the origin is not ``collected``.
        generator: What answered.
        differs: What differs between the states.
        states: The ladder, in order.
        endpoints: The primary pair (old, new); None where a study names none.
        normalization: Key of `normalize.RULES`.
        unknown_texts: Stripped answers that count as UNKNOWN, ignoring case.
        retrieval_depth: Documents per question and state; None where unknown.
        judges: At most one of them primary.
        draws: Number of bootstrap draws of the locked stream.
        seed: Text that, with N and the draws, describes the locked stream.
        level: Confidence of the bounds.
        decision: None where a study was not preregistered.
        gold_commit: SHA-256 of nonce and gold, made before the answers; None where gold was not sealed.
        limits: Sentences on what this study cannot prove.
        sources: Files of an import.
        parent: Study whose questions this one repeats.
        outcomes: Which answers count as partial or refused; the shipped texts where a study names none.
        release: What must hold before the new state may go out; None where nothing was fixed.
    """

    study_id: str
    title: str
    origin: Origin
    provenance: str
    generator: str
    states: tuple[State, ...]
    normalization: str
    differs: str = "the index snapshot"
    endpoints: tuple[str, str] | None = None
    unknown_texts: tuple[str, ...] = ("UNKNOWN",)
    retrieval_depth: int | None = None
    judges: tuple[Judge, ...] = ()
    draws: int = 50_000
    seed: str = "1"
    level: str = "0.95"
    decision: Rule | None = None
    gold_commit: str | None = None
    limits: tuple[str, ...] = ()
    sources: tuple[Source, ...] = field(default=())
    parent: str | None = None
    outcomes: OutcomeRule | None = None
    release: ReleaseRule | None = None

    @property
    def outcome_rule(self) -> OutcomeRule:
        """The rule by which answers are read as answered, partial or refused."""
        return self.outcomes or OutcomeRule()

    @property
    def primary_judge(self) -> Judge | None:
        """The judge whose labels decide semantic agreement."""
        return next((judge for judge in self.judges if judge.role == "primary"), None)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels that this study supports."""
        return KERNELS if self.primary_judge else ("exact",)

    @property
    def main_kernel(self) -> str:
        """The kernel that flips and queues use: semantic where there are labels."""
        return self.kernels[-1]

    @property
    def tail(self) -> Fraction:
        """Probability outside the confidence level, exact."""
        return 1 - Fraction(self.level)

    def differences(self, old: str, new: str) -> list[tuple[str, str, str]]:
        """What is set differently in two states, as (name, value at old, value at new) by name.

        Empty where nothing is known of the states' settings.
        """
        settings = {state.name: dict(state.settings) for state in self.states}
        names = sorted(settings[old].keys() | settings[new].keys())
        found = [(name, settings[old].get(name, "no"), settings[new].get(name, "no")) for name in names]
        return [(name, a, b) for name, a, b in found if a != b]

    def pairs(self) -> list[tuple[str, str, str]]:
        """Pairs of states that have locked estimates, as (old, new, role).

        Returns:
            The endpoints first, then the steps of the ladder; every pair where no endpoints are named.
        """
        names = [state.name for state in self.states]
        steps = list(pairwise(names))
        if self.endpoints is None:
            every = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
            return [(a, b, "step" if (a, b) in steps else "pair") for a, b in every]
        found = [(*self.endpoints, "endpoints")]
        return found + [(a, b, "step") for a, b in steps if (a, b) != self.endpoints]


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_list(value: Any) -> bool:
    return type(value) is list


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value in words


_FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (_one_of("audit.protocol"), "audit.protocol", True),
    "study_id": (lambda v: _is_text(v) and bool(STUDY_ID.fullmatch(v)), "lower-case letters, digits, _ . -", True),
    "title": (_is_text, "text", True),
    "origin": (_one_of("collected", "imported", "reconstructed"), "collected, imported or reconstructed", True),
    "provenance": (_is_text, "text", True),
    "generator": (_is_text, "text", True),
    "differs": (_is_text, "text", True),
    "states": (_is_list, "a list of states", True),
    "endpoints": (lambda v: v is None or (_is_list(v) and len(v) == 2), "[old, new] or null", True),
    "normalization": (_one_of(*RULES), "one of " + ", ".join(RULES), True),
    "unknown_texts": (lambda v: _is_list(v) and all(map(_is_text, v)), "a list of texts", True),
    "retrieval_depth": (lambda v: v is None or (type(v) is int and v > 0), "a positive number or null", True),
    "judges": (_is_list, "a list of judges", True),
    "bootstrap": (lambda v: type(v) is dict, "an object", True),
    "decision": (lambda v: v is None or type(v) is dict, "an object or null", True),
    "gold_commit": (lambda v: v is None or (_is_text(v) and len(v) == 64), "a SHA-256 or null", True),
    "limits": (lambda v: _is_list(v) and all(map(_is_text, v)), "a list of texts", True),
    "sources": (_is_list, "a list of files", True),
    "parent": (lambda v: v is None or _is_text(v), "a study id or null", True),
    "outcomes": (lambda v: type(v) is dict, "an object", False),
    "release": (lambda v: type(v) is dict, "an object", False),
}
_OUTCOMES: dict[str, Field] = {
    "rule": (_one_of(*OUTCOME_RULES), "one of " + ", ".join(OUTCOME_RULES), True),
    "refusals": (lambda v: _is_list(v) and all(map(_is_text, v)), "a list of texts", True),
    "gaps": (lambda v: _is_list(v) and all(map(_is_text, v)), "a list of texts", True),
}
_STATE: dict[str, Field] = {
    "name": (lambda v: _is_text(v) and 0 < len(v) <= 200, "text of 1 to 200 characters", True),
    "label": (_is_text, "text", True),
    "closed_book": (lambda v: type(v) is bool, "true or false", True),
    "settings": (
        lambda v: type(v) is dict and bool(v) and all(_is_text(item) for item in v.values()),
        "texts by name",
        False,
    ),
}
_JUDGE: dict[str, Field] = {
    "name": (lambda v: _is_text(v) and bool(STUDY_ID.fullmatch(v)), "lower-case letters, digits, _ . -", True),
    "role": (_one_of("primary", "supplementary"), "primary or supplementary", True),
    "blind": (lambda v: v is None or type(v) is bool, "true, false or null", True),
    "description": (_is_text, "text", True),
}
_SOURCE: dict[str, Field] = {
    "name": (_is_text, "text", True),
    "sha256": (lambda v: _is_text(v) and len(v) == 64, "a SHA-256", True),
    "size": (lambda v: type(v) is int and v >= 0, "bytes", True),
}
_BOOTSTRAP: dict[str, Field] = {
    "draws": (lambda v: type(v) is int and 0 < v <= 10_000_000, "1 to 10,000,000", True),
    "seed": (_is_text, "text", True),
    "level": (
        lambda v: _is_text(v) and bool(DECIMAL.fullmatch(v)) and 0 < Fraction(v) < 1,
        "decimal text in (0, 1)",
        True,
    ),
}
_RULE: dict[str, Field] = {
    "margin": (lambda v: _is_text(v) and bool(DECIMAL.fullmatch(v)), "decimal text", True),
    "lower_above_zero": (lambda v: _is_list(v) and set(v) <= set(KERNELS), "kernels", True),
}


def to_record(protocol: Protocol) -> Record:
    """The protocol as it is stored in ``protocol/protocol.json``."""
    return {
        "v": 1,
        "kind": "audit.protocol",
        "study_id": protocol.study_id,
        "title": protocol.title,
        "origin": protocol.origin,
        "provenance": protocol.provenance,
        "generator": protocol.generator,
        "differs": protocol.differs,
        "states": [from_state(state) for state in protocol.states],
        "endpoints": list(protocol.endpoints) if protocol.endpoints else None,
        "normalization": protocol.normalization,
        "unknown_texts": list(protocol.unknown_texts),
        "retrieval_depth": protocol.retrieval_depth,
        "judges": [
            {"name": j.name, "role": j.role, "blind": j.blind, "description": j.description} for j in protocol.judges
        ],
        "bootstrap": {"draws": protocol.draws, "seed": protocol.seed, "level": protocol.level},
        "decision": None
        if protocol.decision is None
        else {"margin": protocol.decision.margin, "lower_above_zero": list(protocol.decision.lower_above_zero)},
        "gold_commit": protocol.gold_commit,
        "limits": list(protocol.limits),
        "sources": [{"name": s.name, "sha256": s.sha256, "size": s.size} for s in protocol.sources],
        "parent": protocol.parent,
        **({} if protocol.outcomes is None else {"outcomes": _outcomes_record(protocol.outcomes)}),
        **({} if protocol.release is None else {"release": release.to_record(protocol.release)}),
    }


def _outcomes_record(rule: OutcomeRule) -> Record:
    return {"rule": rule.rule, "refusals": list(rule.refusals), "gaps": list(rule.gaps)}


def from_record(record: Any) -> Protocol:
    """A protocol from its stored form.

    Raises:
        InputError: A field is missing, unknown or ill-typed, or the parts contradict one another.
    """
    try:
        check_fields(record, _FIELDS, "protocol")
        states = tuple(_state(check_fields(item, _STATE, "state")) for item in record["states"])
        judges = tuple(Judge(**check_fields(item, _JUDGE, "judge")) for item in record["judges"])
        sources = tuple(Source(**check_fields(item, _SOURCE, "source")) for item in record["sources"])
        bootstrap = check_fields(record["bootstrap"], _BOOTSTRAP, "bootstrap")
        rule = record["decision"]
        if rule is not None:
            check_fields(rule, _RULE, "decision")
        protocol = Protocol(
            study_id=record["study_id"],
            title=record["title"],
            origin=record["origin"],
            provenance=record["provenance"],
            generator=record["generator"],
            differs=record["differs"],
            states=states,
            endpoints=tuple(record["endpoints"]) if record["endpoints"] else None,
            normalization=record["normalization"],
            unknown_texts=tuple(record["unknown_texts"]),
            retrieval_depth=record["retrieval_depth"],
            judges=judges,
            draws=bootstrap["draws"],
            seed=bootstrap["seed"],
            level=bootstrap["level"],
            decision=None if rule is None else Rule(rule["margin"], tuple(rule["lower_above_zero"])),
            gold_commit=record["gold_commit"],
            limits=tuple(record["limits"]),
            sources=sources,
            parent=record["parent"],
            outcomes=_outcomes(record.get("outcomes")),
            release=release.from_record(record["release"]) if "release" in record else None,
        )
    except CodecError as error:
        raise InputError(
            Problem(str(error), where="protocol.json", action="Restore or correct the protocol.")
        ) from None
    faults = contradictions(protocol)
    if faults:
        raise InputError(faults)
    return protocol


def _outcomes(record: Record | None) -> OutcomeRule | None:
    if record is None:
        return None
    check_fields(record, _OUTCOMES, "outcomes")
    return OutcomeRule(record["rule"], tuple(record["refusals"]), tuple(record["gaps"]))


def _state(record: Record) -> State:
    settings = tuple(sorted(record.get("settings", {}).items()))
    return State(record["name"], record["label"], record["closed_book"], settings)


def contradictions(protocol: Protocol) -> list[Problem]:
    """Parts of a protocol that cannot all be true; empty when there are none."""
    faults = []

    def fault(what: str, expected: str, found: str) -> None:
        faults.append(Problem(what, expected, found, "protocol", "Correct the protocol before it is locked."))

    names = [state.name for state in protocol.states]
    if not names:
        fault("a study needs a state", "one state or more", "none")
    if len(set(names)) != len(names):
        fault("two states have one name", "unique names", ", ".join(names))
    if protocol.endpoints:
        old, new = protocol.endpoints
        if old not in names or new not in names or names.index(old) >= names.index(new):
            fault("the endpoints are not two states in ladder order", " < ".join(names), f"{old}, {new}")
    if sum(judge.role == "primary" for judge in protocol.judges) > 1:
        fault("two judges are primary", "at most one", "several")
    if len({judge.name for judge in protocol.judges}) != len(protocol.judges):
        fault("two judges have one name", "unique names", ", ".join(j.name for j in protocol.judges))
    if protocol.decision:
        missing = set(protocol.decision.lower_above_zero) - set(protocol.kernels)
        if missing:
            fault("the decision needs a kernel that the study lacks", ", ".join(protocol.kernels), ", ".join(missing))
        if not protocol.endpoints:
            fault("the decision needs endpoints", "[old, new]", "none")
    if protocol.release:
        margin = protocol.decision.margin if protocol.decision else None
        for what, expected, found in protocol.release.contradictions(protocol.kernels, protocol.endpoints, margin):
            fault(what, expected, found)
    return faults


NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def attribution(protocol: Protocol, old: str, new: str) -> str:
    """What stands in the way of a cause: a sentence where two states differ in more than one setting, else nothing.

    Args:
        old, new: Names of two states.
    """
    names = [name for name, _, _ in protocol.differences(old, new)]
    if len(names) < 2:
        return ""
    number = NUMBERS[len(names)] if len(names) < len(NUMBERS) else str(len(names))
    return (
        f"Between {old} and {new} {number} things differ: {', '.join(names)}; "
        "churn cannot be attributed to one of them."
    )


def attributions(protocol: Protocol) -> list[str]:
    """The sentences of `attribution` for the endpoints and the steps of the ladder."""
    return [sentence for old, new, _ in protocol.pairs() if (sentence := attribution(protocol, old, new))]
