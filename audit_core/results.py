"""Ledgers → results.json: every estimate once, with the decision, locked. The same function serves the verifier."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from audit_core import __version__
from audit_core.codec import INT_LIMIT, Record
from audit_core.errors import InputError, Problem
from audit_core.estimators import bootstrap, churn, limits, stream
from audit_core.estimators.bounds import Settings
from audit_core.estimators.catalogue import judge_estimates, ladder_estimates, state_estimates
from audit_core.estimators.gate import Condition, Outcome, decide
from audit_core.estimators.groups import GROUPS, ROBUSTNESS, Group, lacking
from audit_core.estimators.pairs import pair_estimates
from audit_core.model import Dossier, Estimate, EstimateStatus
from audit_core.protocol import Protocol
from audit_core.tensors import Answers, Builder, build

if TYPE_CHECKING:
    from audit_core.study import Study

Progress = Callable[[str], None]


def settings_of(protocol: Protocol) -> Settings:
    """Level, stream and statuses that a protocol fixes."""

    def status(kind: str, role: str) -> EstimateStatus:
        if protocol.origin == "imported":
            return "exploratory"
        decides = protocol.decision is not None or (protocol.release is not None and protocol.release.tolerance)
        if kind == "churn" and role == "endpoints" and decides:
            return "confirmatory"
        return "post-hoc" if kind == "flips" else "supportive"

    return Settings(protocol.tail, protocol.draws, protocol.seed, status)


def builder_of(protocol: Protocol) -> Builder:
    """A builder for the arrays of a study."""
    primary = protocol.primary_judge
    return Builder(
        states=[s.name for s in protocol.states],
        closed_book=[s.closed_book for s in protocol.states],
        rule=protocol.normalization,
        unknown_texts=protocol.unknown_texts,
        primary=primary.name if primary else None,
        supplementary=[j.name for j in protocol.judges if j.role == "supplementary"],
        outcomes=protocol.outcome_rule,
    )


def arrays_of(protocol: Protocol, dossiers: Iterable[Dossier]) -> Answers:
    """A study's answers as arrays."""
    return build(dossiers, builder_of(protocol))


def estimate_all(
    protocol: Protocol, answers: Answers, progress: Progress = lambda _: None, without: Collection[Group] = ()
) -> list[Estimate]:
    """Every estimate of a study, in the order in which results.json lists them.

    Args:
        without: Groups of newer estimates to leave out.
    """
    settings = settings_of(protocol)
    found: list[Estimate] = []
    for old, new, role in protocol.pairs():
        progress(f"{old} → {new}")
        found += pair_estimates(answers, old, new, role, settings)
    progress("states")
    found += state_estimates(answers, settings)
    progress("ladder and judges")
    found += ladder_estimates(answers, protocol.endpoints, settings)
    found += judge_estimates(answers, protocol.endpoints, settings)
    for group in GROUPS:
        if group not in without:
            progress(group.title)
            found += group.make(protocol, answers, settings)
    return found


def robustness(protocol: Protocol, answers: Answers) -> list[Estimate]:
    """How sure excess churn is; see `groups.robustness`."""
    return ROBUSTNESS.make(protocol, answers, settings_of(protocol))


def newer(protocol: Protocol, answers: Answers, groups: Iterable[Group] = GROUPS) -> list[Estimate]:
    """The estimates that results lack because they were locked before these existed; exploratory.

    Args:
        groups: From `groups.lacking`.
    """
    settings = replace(settings_of(protocol), status=lambda _kind, _role: "exploratory")
    return [estimate for group in groups for estimate in group.make(protocol, answers, settings)]


def measures_of(stored: Record) -> list[str]:
    """Measures of stored estimates."""
    return [str(e.get("measure")) for e in stored.get("estimates", []) if isinstance(e, dict)]


def complete(protocol: Protocol, answers: Answers, stored: Record | None) -> list[Estimate]:
    """Every estimate of a study: the locked ones, then as exploratory those that are newer than the lock.

    Args:
        stored: Content of results.json; None computes all.
    """
    if stored is None:
        return estimate_all(protocol, answers)
    locked = [from_record(item) for item in stored["estimates"]]
    return locked + newer(protocol, answers, lacking(measures_of(stored)))


def differences(stored: Record, made: Record) -> tuple[list[str], set[str]]:
    """What in stored estimates does not follow from the ledgers.

    Args:
        stored: Content of results.json.
        made: From `compute`.

    Returns:
        A sentence for each fault, and the names that are not in the stored results because they are newer: all of a
        group are absent, or none may be.
    """
    items = stored.get("estimates", [])
    given = {e.get("name"): e for e in items if isinstance(e, dict)}
    faults = [] if len(given) == len(items) else ["An estimate stands there twice, or is none."]
    absent: set[str] = set()
    for group in GROUPS:
        names = {e["name"] for e in made["estimates"] if e["measure"] in group.measures}
        absent |= set() if given.keys() & names else names
    for estimate in made["estimates"]:
        name = estimate["name"]
        if name not in absent and given.pop(name, None) != estimate:
            faults.append(f"{name} differs from what the ledgers give ({estimate['value'] or 'undefined'}).")
    faults += [f"{name} is not an estimate of this study." for name in given]
    return faults, absent


def decision_of(protocol: Protocol, estimates: Iterable[Estimate]) -> tuple[Outcome, tuple[Condition, ...]] | None:
    """The confirmatory decision; None where the protocol fixed none."""
    rule, endpoints = protocol.decision, protocol.endpoints
    if rule is None or endpoints is None:
        return None
    named = {estimate.name: estimate for estimate in estimates}

    def churn_of(kernel: str) -> Estimate:
        return named[f"excess_churn[{kernel}]@{endpoints[0]}-{endpoints[1]}"]

    lower = [(k, churn_of(k).lower, "degenerate" in churn_of(k).detail) for k in rule.lower_above_zero]
    excluded = max(churn_of(k).excluded for k in {"exact", *rule.lower_above_zero})
    return decide(Fraction(rule.margin), churn_of("exact").value, lower, excluded)


def release_of(protocol: Protocol, answers: Answers, estimates: Iterable[Estimate]) -> Record | None:
    """What the ledgers alone say about the release rule, as it is stored; None where the protocol has no rule."""
    rule, endpoints = protocol.release, protocol.endpoints
    if rule is None or endpoints is None:
        return None
    named = {estimate.name: estimate for estimate in estimates}
    found, used = limits.conditions(rule, answers, *endpoints, settings_of(protocol), named)
    return {
        "conditions": [{"name": c.name, "met": c.met, "sentence": c.sentence} for c in found],
        "limits": [
            {
                **{name: str(getattr(limit, name)) for name in ("name", "value", "lower", "upper", "level")},
                "population": limit.population,
                "excluded": limit.excluded,
            }
            for limit in used
        ],
    }


def decided_at(
    protocol: Protocol, answers: Answers, estimates: list[Estimate], stored: Record | None
) -> tuple[Record | None, Record | None]:
    """Decision and release as they are locked, or computed where nothing is locked yet; None for what has no rule."""
    if stored is not None:
        return stored["decision"], stored.get("release")
    made = decision_of(protocol, estimates)
    return decision_record(*made) if made else None, release_of(protocol, answers, estimates)


def draw_stream(protocol: Protocol, answers: Answers) -> Record | None:
    """Bounds of excess churn from the locked stream of draws, with the digest of the sums; None without endpoints.

    Questions outside the estimand of either kernel are left out, so that one stream serves both.
    """
    if protocol.endpoints is None:
        return None
    o, n = (answers.index(state) for state in protocol.endpoints)
    found = {k: churn.contrast(answers.kernel(k), answers.repeats, o, n) for k in answers.kernels}
    keep = np.flatnonzero(np.logical_and.reduce([c.eligible for c in found.values()]))
    if len(keep) < 2 or any(c.values.dtype == object for c in found.values()):
        return None
    columns = np.stack([c.values[keep] for c in found.values()], 1)
    order = stream.order_of([answers.question_ids[i] for i in keep])
    sums = stream.sums(columns, order, protocol.draws, protocol.seed)
    levels = {"lower": protocol.tail, "low": protocol.tail / 2, "high": 1 - protocol.tail / 2}
    statistics = []
    for c, (kernel, contrast) in enumerate(found.items()):
        scale = contrast.denominator * len(keep)
        statistics.append(
            {
                "name": f"excess_churn[{kernel}]@{protocol.endpoints[0]}-{protocol.endpoints[1]}",
                "sha256": stream.digest(sums[:, c]),
                "at_most_zero": int((sums[:, c] <= 0).sum()),
                **{word: str(Fraction(bootstrap.quantile(level, sums[:, c]), scale)) for word, level in levels.items()},
            }
        )
    engine = "indexes" if len(keep) <= stream.INDEX_LIMIT else "distinct rows"
    return {**stream.description(len(keep), protocol.draws, protocol.seed), "engine": engine, "statistics": statistics}


def compute(
    protocol: Protocol, answers: Answers, progress: Progress = lambda _: None, without: Collection[Group] = ()
) -> Record:
    """The content of results.json.

    Args:
        without: Groups of newer estimates to leave out.

    Raises:
        InputError: There is no question or no answer.
    """
    if not len(answers) or not answers.repeats.any():
        raise InputError(
            Problem(
                "there is nothing to estimate",
                "answers",
                "no question with an answer",
                protocol.study_id,
                "Import or collect answers first.",
            )
        )
    estimates = estimate_all(protocol, answers, progress, without)
    decided = decision_of(protocol, estimates)
    release = release_of(protocol, answers, estimates)
    progress("draws")
    return {
        "v": 1,
        "kind": "audit.results",
        "study_id": protocol.study_id,
        "tool": {"name": "snapshot-audit", "version": __version__},
        "estimates": [to_record(estimate) for estimate in estimates],
        "decision": None if decided is None else decision_record(*decided),
        **({} if release is None else {"release": release}),
        "stream": draw_stream(protocol, answers),
    }


def decision_record(outcome: Outcome, conditions: tuple[Condition, ...]) -> Record:
    """The decision as it is stored."""
    return {
        "outcome": outcome,
        "conditions": [{"name": c.name, "met": c.met, "sentence": c.sentence} for c in conditions],
    }


def estimate_study(study: Study, *, created: str, progress: Progress = lambda _: None) -> Record:
    """Compute, write and lock a study's results.

    Raises:
        GateError: A gate before is open, or the results are locked already.
    """
    study.need("gold")
    record = compute(study.protocol, arrays_of(study.protocol, study.dossiers()), progress)
    study.close_results(record, created)
    return record


def _whole(value: int | None) -> int | str | None:
    return value if value is None or abs(value) < INT_LIMIT else str(value)


def decimal(value: Fraction | None) -> str | None:
    """Decimal text of an exact value, 12 places, rounded half up."""
    if value is None:
        return None
    scaled = (abs(value) * 10**12 * 2 + 1) // 2
    whole, rest = divmod(int(scaled), 10**12)
    return f"{'-' if value < 0 and scaled else ''}{whole}.{rest:012d}"


def to_record(estimate: Estimate) -> Record:
    """An estimate as it is stored: integers, decimal text, and bounds as exact fractions in text."""
    return {
        "name": estimate.name,
        "measure": estimate.measure,
        "kernel": estimate.kernel,
        "old": estimate.old,
        "new": estimate.new,
        "value": decimal(estimate.value),
        "numerator": _whole(estimate.numerator),
        "denominator": _whole(estimate.denominator),
        "lower": None if estimate.lower is None else str(estimate.lower),
        "interval": None if estimate.interval is None else [str(bound) for bound in estimate.interval],
        "unit": estimate.unit,
        "status": estimate.status,
        "reason": estimate.reason,
        "population": estimate.population,
        "excluded": estimate.excluded,
        "detail": dict(estimate.detail),
    }


def from_record(record: Record) -> Estimate:
    """An estimate from its stored form."""
    interval = record["interval"]
    return Estimate(
        record["name"],
        record["measure"],
        None if record["numerator"] is None else int(record["numerator"]),
        None if record["denominator"] is None else int(record["denominator"]),
        record["unit"],
        record["status"],
        record["kernel"],
        record["old"],
        record["new"],
        None if record["lower"] is None else Fraction(record["lower"]),
        None if interval is None else (Fraction(interval[0]), Fraction(interval[1])),
        record["reason"],
        record["population"],
        record["excluded"],
        record["detail"],
    )


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def as_row(estimate: Estimate) -> dict[str, Any]:
    """An estimate with floating-point value and bounds, for JSON output, SQLite and screens."""
    low, high = estimate.interval or (None, None)
    return {
        "name": estimate.name,
        "measure": estimate.measure,
        "kernel": estimate.kernel,
        "old": estimate.old,
        "new": estimate.new,
        "value": _float(estimate.value),
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "lower": _float(estimate.lower),
        "low": _float(low),
        "high": _float(high),
        "unit": estimate.unit,
        "status": estimate.status,
        "reason": estimate.reason,
        "population": estimate.population,
        "excluded": estimate.excluded,
        "detail": dict(estimate.detail),
    }
