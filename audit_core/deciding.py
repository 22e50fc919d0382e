"""The release rule's outcome: what the ledgers say, as locked, and what people said, as it stands now.

`release_outcome` is the only place where it is decided; the command ``gate``, the page Summary and reports all ask it.
An intersection: one condition that is not met decides, then one that is open; no slice and no other estimate has a say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from audit_core.codec import Record
from audit_core.errors import AuditError
from audit_core.estimators.gate import Condition, points
from audit_core.explore import columns
from audit_core.protocol import Protocol
from audit_core.release import ReleaseRule
from audit_core.results import arrays_of, as_row, estimate_all, from_record, release_of
from audit_core.reviews import signed
from audit_core.reviews.carried import Reviewed
from audit_core.reviews.decided import Signed, decisions, outdated
from audit_core.reviews.events import DECISIONS, Event
from audit_core.reviews.fold import Fold, Pair, progress
from audit_core.study import Study

Outcome = Literal["met", "not met", "cannot be decided"]
WORDS: dict[bool | None, Outcome] = {True: "met", False: "not met", None: "cannot be decided"}
TITLES = {
    "churn": "Excess churn",
    "em_loss": "Loss of exact match",
    "refusal_gain": "Rise of refusals",
    "every_flip_reviewed": "Every flip reviewed",
    "no_open_high_impact_regression": "No open high-impact regression",
    "signoff": "Sign-off",
}
"""Conditions in words, by name."""
UNSEEN = "no verdicts can be read. Review in Triage, or name the store with --reviews."


@dataclass(frozen=True, slots=True)
class Audited:
    """A study's side of the rule, which does not change when people judge.

    Attributes:
        bundle: SHA-256 of the protocol's lock.
        pair: The endpoints.
        locks: Gate and id of every lock, in order.
        flips: Ids of the repeat-stable flips under the rule's kernel; None where they cannot be measured.
        release: What the ledgers say, as `results.release_of` gives it.
        rows: Estimates by name, as `results.as_row` or the read model gives them.
    """

    study_id: str
    bundle: str
    pair: Pair
    locks: Sequence[tuple[str, str]]
    flips: Sequence[str] | None
    release: Record
    rows: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Signature:
    """A sign-off that is in force.

    Attributes:
        verdict: One of `DECISIONS`.
        on: The day.
        since: Why it is outdated; empty where it holds.
        conditions: Of *ship with conditions*.
        fault: What is wrong with its file; empty where that is as it was signed.
    """

    verdict: str
    on: str
    since: str
    conditions: str
    fault: str


@dataclass(frozen=True, slots=True)
class Desk:
    """What people said.

    Attributes:
        fold: What stands.
        signature: The sign-off in force on a study under a rule; None where nobody has signed.
    """

    fold: Fold
    signature: Callable[[ReleaseRule, Audited], Signature | None]


def desk(fold: Fold, proof: Callable[[Signed], object]) -> Desk:
    """What a store of verdicts says.

    Args:
        fold: What stands.
        proof: Reads the file of a sign-off; raises where it is missing or was changed.
    """
    return Desk(fold, lambda rule, study: _signature(rule, study, fold, proof))


@dataclass(frozen=True, slots=True)
class Number:
    """One of the numbers that are always shown together."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """What came of a release rule.

    Attributes:
        outcome: ``met``, ``not met`` or ``cannot be decided``.
        conditions: In the order of the rule.
        numbers: Cross agreement, excess churn and repeat-stable flips, of the rule's kernel.
    """

    outcome: Outcome
    conditions: tuple[Condition, ...]
    numbers: tuple[Number, ...]

    @property
    def headline(self) -> str:
        """The outcome as one sentence."""
        every, met = len(self.conditions), dict.fromkeys(WORDS.values(), 0)
        for condition in self.conditions:
            met[WORDS[condition.met]] += 1
        if self.outcome == "met":
            return f"Release rule met: {'the condition holds' if every == 1 else f'all {every} conditions hold'}."
        number = met[self.outcome]
        words = {"not met": ("does not hold", "do not hold"), "cannot be decided": ("is open", "are open")}
        one, more = words[self.outcome]
        return f"Release rule {self.outcome}: {number} of {every} conditions {one if number == 1 else more}."


def audited(study: Study, protocol: Protocol) -> Audited:
    """The study's side: as locked, or computed now where the rule is not the study's own.

    Args:
        study: Verified, with gold locked; results too where the rule is its own.
        protocol: Of the study, with the rule to decide.
    """
    rule, pair = protocol.release, protocol.endpoints
    assert rule is not None
    assert pair is not None
    stored = study.results()
    answers = arrays_of(study.protocol, study.dossiers())
    estimates = [from_record(e) for e in stored["estimates"]] if stored else estimate_all(study.protocol, answers)
    release = stored["release"] if stored and study.protocol.release else release_of(protocol, answers, estimates)
    assert release is not None
    rows = {estimate.name: as_row(estimate) for estimate in estimates}
    flips = None
    if rows[f"repeat_stable_flips[{rule.kernel}]@{pair[0]}-{pair[1]}"]["numerator"] is not None:
        found = columns(answers, rule.kernel, *pair)
        flips = [q for q, flip in zip(found["question_id"], found["flip"], strict=True) if flip]
    locks = [(lock.gate, lock.sha256) for lock in study.chain]
    return Audited(protocol.study_id, study.bundle, pair, locks, flips, release, rows)


def release_outcome(rule: ReleaseRule, study: Audited, desk: Desk | None) -> ReleaseOutcome:
    """Decide a release rule.

    Args:
        rule: The protocol's, or the one of a file.
        study: The audited study.
        desk: What people said; None where no store can be read.
    """
    numeric = [Condition(c["name"], c["met"], c["sentence"]) for c in study.release["conditions"]]
    people = {"every_flip_reviewed": _reviewed, "no_open_high_impact_regression": _regressions, "signoff": _signed}
    conditions = (*numeric, *(ask(rule, study, desk) for name, ask in people.items() if getattr(rule, name)))
    met = [condition.met for condition in conditions]
    outcome = WORDS[False if False in met else None if None in met else True]
    return ReleaseOutcome(outcome, conditions, _numbers(rule, study))


def _reviewed(rule: ReleaseRule, study: Audited, desk: Desk | None) -> Condition:
    name = "every_flip_reviewed"
    if study.flips is None:
        return Condition(name, None, "Not decided: repeat-stable flips cannot be measured here.")
    outside = _outside(rule, study)
    if not study.flips:
        text = "There is no repeat-stable flip to review."
        return Condition(name, None, f"Not decided: {outside}") if outside else Condition(name, True, text)
    if desk is None:
        return Condition(name, None, f"Not decided: {UNSEEN}")
    found = progress(desk.fold, study.study_id, study.flips, study.pair, rule.needed)
    counts = "a verdict that counts" if rule.needed == 1 else f"{rule.needed} verdicts that agree, or a ruling"
    text = f"{found.reviewed:,} of {found.total:,} repeat-stable flips {_have(found.reviewed)} {counts}"
    if not found.unreviewed:
        said = f"Not decided: {text}. {outside}" if outside else f"{text}."
        return Condition(name, None if outside else True, said)
    disputed = f", {found.disputed:,} of them disputed" if found.disputed else ""
    return Condition(name, False, f"{text}; {found.unreviewed:,} {_are(found.unreviewed)} open{disputed}.")


def _regressions(rule: ReleaseRule, study: Audited, desk: Desk | None) -> Condition:
    """Over all questions of the pair that anyone judged, not the flips alone; who is silent has not said "none"."""
    name = "no_open_high_impact_regression"
    if desk is None:
        return Condition(name, None, f"Not decided: {UNSEEN}")
    high, unclear, judged = 0, 0, 0
    for question in desk.fold.questions(study.study_id, study.pair):
        review = desk.fold.review(study.study_id, question, study.pair)
        counted = review.outcome(rule.needed)
        said: tuple[Event, ...] = (counted,) if counted else (*review.verdicts, *filter(None, [review.ruling]))
        impacts = {event.impact for event in said if event.verdict == "regression"}
        judged += bool(said)
        high += "high" in impacts
        unclear += None in impacts
    if high:
        text = f"{high:,} high-impact {'regression is' if high == 1 else 'regressions are'} open."
        return Condition(name, False, text)
    if study.flips is None:
        return Condition(name, None, "Not decided: repeat-stable flips cannot be measured here.")
    silent = progress(desk.fold, study.study_id, study.flips, study.pair, rule.needed).unreviewed
    if silent:
        text = f"{silent:,} of {len(study.flips):,} repeat-stable flips {_have(silent)} no verdict"
        return Condition(name, None, f"Not decided: none is known, but {text} that counts.")
    if outside := _outside(rule, study):
        return Condition(name, None, f"Not decided: none is known. {outside}")
    if unclear:
        text = f"{unclear:,} {'regression has' if unclear == 1 else 'regressions have'} no impact. Say it in Triage."
        return Condition(name, None, f"Not decided: {text}")
    return Condition(name, True, f"None; {judged:,} {'question has' if judged == 1 else 'questions have'} a verdict.")


def _outside(rule: ReleaseRule, study: Audited) -> str:
    """What is unknown where questions have no say on flips; empty where all have, as the rule supposes."""
    row = study.rows[f"repeat_stable_flips[{rule.kernel}]@{study.pair[0]}-{study.pair[1]}"]
    if not row["excluded"]:
        return ""
    every, lack = row["population"] + row["excluded"], "lacks" if row["excluded"] == 1 else "lack"
    what = "two answers in a state or the label of a pair, so whether they flipped is not known"
    return f"{row['excluded']:,} of {every:,} questions {lack} {what}."


def _signed(rule: ReleaseRule, study: Audited, desk: Desk | None) -> Condition:
    name = "signoff"
    if desk is None:
        return Condition(name, None, f"Not decided: {UNSEEN}")
    found = desk.signature(rule, study)
    if found is None:
        return Condition(name, False, "Nobody has signed a release decision on this pair of states.")
    text = f"{DECISIONS[found.verdict]} was signed on {found.on}"
    if found.since:
        return Condition(name, False, f"{text} and is outdated. {found.since}")
    if found.verdict == "hold":
        return Condition(name, False, f"{text}.")
    if found.fault:
        return Condition(name, None, f"Not decided: {text}, but {found.fault}")
    if found.verdict == "conditions":
        conditions = " ".join(found.conditions.split()).removesuffix(".")
        told = f"“{conditions}”" if conditions else "in the signed file"
        return Condition(name, True, f"{text}. Its conditions, which no gate can check: {told}.")
    return Condition(name, True, f"{text}, and nothing has changed since.")


def _signature(
    rule: ReleaseRule, study: Audited, fold: Fold, proof: Callable[[Signed], object]
) -> Signature | None:
    found = [d for d in decisions(fold, study.study_id, study.pair) if d.event.kind == "signoff"]
    if not found:
        return None
    now = signed.screen(
        fold, {"study_id": study.study_id, "bundle": study.bundle, "verified": "passed"}, study.pair, rule.kernel,
        locks=study.locks, estimates=(), flips=study.flips or (), rule=None, needed=rule.needed,
    )  # fmt: skip
    decision, fault = found[0], ""
    try:
        proof(decision)
    except AuditError as error:
        fault = str(error.problems[0])
    return Signature(
        str(decision.event.verdict), decision.event.at[:10], " ".join(outdated(decision, now, fold)),
        str(decision.content["conditions"]), fault,
    )  # fmt: skip


def reported(rule: ReleaseRule, study: Audited, held: Reviewed) -> Record:
    """The outcome as a report prints it, from what the report carries of the review.

    Args:
        held: What people said.
    """

    def signature(_rule: ReleaseRule, _study: Audited) -> Signature | None:
        found = held.signoff
        if found is None:
            return None
        return Signature(found["verdict"], found["at"][:10], found["outdated"], found["conditions"], found["fault"])

    outcome = release_outcome(rule, study, Desk(held.fold, signature))
    conditions = [{"name": c.name, "met": c.met, "sentence": c.sentence} for c in outcome.conditions]
    return {"outcome": outcome.outcome, "headline": outcome.headline, "conditions": conditions}


def _numbers(rule: ReleaseRule, study: Audited) -> tuple[Number, ...]:
    at, kernel = f"[{rule.kernel}]@{study.pair[0]}-{study.pair[1]}", rule.kernel
    across, within, excess, flips = (
        study.rows.get(f"{measure}{at}")
        for measure in ("cross_agreement", "baseline_agreement", "excess_churn", "repeat_stable_flips")
    )
    limits = {limit["name"]: limit for limit in study.release["limits"]}.get(f"excess_churn{at}")
    value, baseline = _value(excess), _value(within)
    agree = _text(_value(across), " %")
    agree += f" (repeats of one state: {_text(baseline, ' %')})" if baseline is not None else ""
    moved = _text(value, " pp")
    if value is not None and limits:
        low, high = (points(Fraction(limits[side])) for side in ("lower", "upper"))
        moved += f", lower bound {low} pp, upper bound {high} pp"
    elif value is not None and excess and excess["lower"] is not None:
        moved += f", lower bound {points(Fraction(repr(excess['lower'])))} pp"
    count = "not measurable"
    if flips and flips["numerator"] is not None:
        count = f"{flips['numerator']:,} of {flips['denominator']:,} questions"
    return (
        Number(f"cross_agreement{at}", f"Agree across states ({kernel})", agree),
        Number(f"excess_churn{at}", f"Excess churn ({kernel})", moved),
        Number(f"repeat_stable_flips{at}", f"Repeat-stable flips ({kernel})", count),
    )


def _value(row: Mapping[str, Any] | None) -> Fraction | None:
    if row is None or row["value"] is None:
        return None
    return Fraction(row["numerator"], row["denominator"]) if row["denominator"] else Fraction(repr(row["value"]))


def _text(value: Fraction | None, unit: str) -> str:
    return "not measurable" if value is None else points(value) + unit


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
