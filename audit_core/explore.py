"""Live estimates for the dashboard: any pair of states, any slice, by the functions that make the locked results.

Whatever this module returns is exploratory, and no slice can rescue a decision.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.estimators import (
    binomial,
    bootstrap,
    churn,
    judges,
    outcomes,
    overlap,
    paired,
    refusals,
    robustness,
    trajectories,
)
from audit_core.estimators import transitions as flows
from audit_core.estimators.bounds import Settings
from audit_core.estimators.pairs import all_nonmatch
from audit_core.estimators.pairs import pair_estimates as _pair_estimates
from audit_core.estimators.pilot import Pilot, from_answers
from audit_core.model import Estimate
from audit_core.tensors import OUTCOMES, Answers

EXPLORATORY = Settings(Fraction(1, 20), 50_000, "explore", lambda _kind, _role: "exploratory")


def pair_estimates(answers: Answers, old: str, new: str, questions: Collection[str] | None = None) -> list[Estimate]:
    """Estimates of any pair of states, on all questions or on a slice.

    Args:
        old, new: Names of two states, in any order.
        questions: Ids of the slice; None for all.
    """
    part = _slice(answers, questions)
    return [
        *_pair_estimates(part, old, new, "explored", EXPLORATORY),
        *refusals.pair_estimates(part, old, new, "explored", EXPLORATORY),
    ]


def state_estimates(answers: Answers, state: str, questions: Collection[str] | None = None) -> list[Estimate]:
    """Outcomes, splits and sources of noise of a state, on all questions or on a slice."""
    return list(refusals.state_estimates(_slice(answers, questions), state, EXPLORATORY))


def robustness_estimates(answers: Answers, old: str, new: str) -> list[Estimate]:
    """How sure the excess churn of any pair of states is, on all questions."""
    return list(robustness.pair_estimates(answers, old, new, "explored", EXPLORATORY))


def paired_estimates(first: Answers, second: Answers, old: str, new: str) -> list[Estimate]:
    """Two studies on the questions that they share; see `paired.paired_estimates`."""
    return list(paired.paired_estimates(paired.common(first, second), old, new, EXPLORATORY))


def paired_flips(first: Answers, second: Answers, kernel: str, old: str, new: str) -> dict[str, list[str]]:
    """Ids of the shared questions that flip in both studies, in the first alone, in the second alone."""
    both = paired.common(first, second)
    _, found = paired.flips(both, kernel, old, new)
    return {where: [both.first.question_ids[i] for i in np.flatnonzero(mask)] for where, mask in found.items()}


def agreement_matrix(answers: Answers, kernel: str) -> list[list[Fraction | None]]:
    """Mean agreement of each state with each: within on the diagonal, cross beside it; None where undefined."""
    chosen, states = answers.kernel(kernel), range(len(answers.states))
    out: list[list[Fraction | None]] = []
    for s in states:
        row: list[Fraction | None] = []
        for t in states:
            pairs = churn.within(chosen, answers.repeats, s) if s == t else churn.cross(chosen, answers.repeats, s, t)
            ratio = churn.mean_ratio(pairs.agree, pairs.pairs, pairs.defined)
            row.append(None if ratio is None else Fraction(*ratio))
        out.append(row)
    return out


def distribution_points(values: npt.NDArray[np.int64], denominator: int) -> tuple[list[float], list[float]] | None:
    """Exact bootstrap distribution of the mean of values / denominator; None where there is none to draw."""
    distribution = bootstrap.of_mean(values, denominator) if len(values) > 1 else None
    if distribution is None:
        return None
    means, probability = distribution.points()
    keep = probability > probability.max() * 1e-6
    return means[keep].tolist(), probability[keep].tolist()


def columns(answers: Answers, kernel: str, old: str, new: str) -> dict[str, list[Any]]:
    """Per-question facts of a pair of states as parallel lists in question order.

    Returns:
        ``question_id``, ``tags`` and the columns of the tables `contrast` and `fact`. ``numerator`` and
        ``denominator`` are None for a question outside the estimand; ``shared``, ``documents``, ``same_set`` and
        ``same_order`` are None without evidence at both states. ``refusal_split`` is 1 where of the repeats of the
        old state one refuses and another does not, 2 for the new, 3 for both; ``split_old`` is 1 where they do not
        all have the same outcome, ``same_evidence_old`` 1 where they all saw the same evidence to the byte, 0 where
        two saw different evidence, None where that is not known; likewise for the new. ``to_refused`` and
        ``from_refused`` count matched repeats.
    """
    o, n = answers.index(old), answers.index(new)
    found = churn.contrast(answers.kernel(kernel), answers.repeats, o, n)
    matched = flows.partners(answers.numbers, answers.repeats, o, n)
    flow = flows.transitions(answers.em, answers.unknown, answers.kernel(answers.kernels[-1]), o, n, matched)
    moved = outcomes.moves(answers.outcome, o, n, matched)
    kept = moved[:, outcomes.REFUSED, outcomes.REFUSED]
    shown = overlap.overlap(answers.documents, o, n)
    verbatim = np.ones(len(answers), np.bool_)
    for state in (o, n):
        raw = churn.within(answers.kernel("raw"), answers.repeats, state)
        verbatim &= raw.defined & (raw.agree == raw.pairs)
    refusing = sum(bit * outcomes.refusal_split(answers.outcome, s).astype(int) for bit, s in ((1, o), (2, n)))
    triangles, differing = np.zeros(len(answers), np.int64), np.zeros(len(answers), np.int64)
    if answers.primary:
        labels = answers.labels[answers.primary]
        triangles = judges.open_triangles(labels)
        for judge in answers.supplementary:
            rows = judges.counts(labels, answers.labels[judge])
            differing += rows[:, 0] - rows[:, 1]
    counts = {
        "within_old": found.old.agree,
        "within_old_pairs": found.old.pairs,
        "within_new": found.new.agree,
        "within_new_pairs": found.new.pairs,
        "crossing": found.crossing.agree,
        "cross_pairs": found.crossing.pairs,
        "flip": found.flips.astype(int),
        "matched": flow.matched,
        "lost": flow.lost,
        "gained": flow.gained,
        "both_match": flow.both_match,
        "different_nonmatch": flow.different_nonmatch,
        "same_nonmatch": flow.same_nonmatch,
        "unknown_in": flow.unknown_in,
        "unknown_out": flow.unknown_out,
        "all_nonmatch": all_nonmatch(answers, o, n).astype(int),
        "verbatim": verbatim.astype(int),
        "refusal_split": np.asarray(refusing),
        "split_old": outcomes.split(answers.outcome, o).astype(int),
        "split_new": outcomes.split(answers.outcome, n).astype(int),
        "to_refused": moved[:, :, outcomes.REFUSED].sum(1) - kept,
        "from_refused": moved[:, outcomes.REFUSED].sum(1) - kept,
        "open_triangles": triangles,
        "judges_disagree": differing,
    }
    out: dict[str, list[Any]] = {"question_id": list(answers.question_ids), "tags": [list(t) for t in answers.tags]}
    out |= {name: column.tolist() for name, column in counts.items()}
    eligible = found.eligible.tolist()
    out["numerator"] = [v if e else None for v, e in zip(found.values.tolist(), eligible, strict=True)]
    out["denominator"] = [found.denominator if e else None for e in eligible]
    size = np.maximum((answers.documents[:, o] >= 0).sum(1), (answers.documents[:, n] >= 0).sum(1))
    present = shown.present.tolist()
    for name, column in (
        ("shared", shown.shared),
        ("documents", size),
        ("same_set", shown.same_set.astype(int)),
        ("same_order", shown.same_order.astype(int)),
    ):
        out[name] = [v if p else None for v, p in zip(column.tolist(), present, strict=True)]
    out["same_evidence_old"], out["same_evidence_new"] = _same_evidence(answers, o), _same_evidence(answers, n)
    return out


def outcome_columns(answers: Answers, state: str) -> dict[str, list[Any]]:
    """Outcomes of one state per question, as parallel lists in question order.

    Returns:
        ``question_id``; ``answers`` and of them ``answered``, ``partial``, ``refused``; ``split``, 1 where not all
        repeats have the same outcome; ``refusal_split``, 1 where one refuses and another does not; ``same_evidence``,
        1 where all repeats saw the same evidence to the byte, 0 where two saw different evidence, None where that is
        not known. The table `outcome` of the read model holds the same.
    """
    s = answers.index(state)
    found = outcomes.counts(answers.outcome, s)
    return {
        "question_id": list(answers.question_ids),
        "answers": answers.repeats[:, s].tolist(),
        **{word: found[:, kind].tolist() for kind, word in enumerate(OUTCOMES)},
        "split": outcomes.split(answers.outcome, s).astype(int).tolist(),
        "refusal_split": outcomes.refusal_split(answers.outcome, s).astype(int).tolist(),
        "same_evidence": _same_evidence(answers, s),
    }


def outcome_flows(answers: Answers, old: str, new: str) -> dict[str, dict[str, int]]:
    """Matched repeats by outcome at the old state, then at the new one."""
    o, n = answers.index(old), answers.index(new)
    moved = outcomes.moves(answers.outcome, o, n, flows.partners(answers.numbers, answers.repeats, o, n)).sum(0)
    return {
        before: {after: int(moved[a, b]) for b, after in enumerate(OUTCOMES)} for a, before in enumerate(OUTCOMES)
    }


def pilot(answers: Answers, old: str, new: str) -> Pilot | None:
    """What a plan takes from a study's answers at two states; None where they do not show their noise."""
    return from_answers(answers, old, new)


def refusal_rate(outcomes: Sequence[str]) -> tuple[int, int, Fraction, Fraction]:
    """How often a probe's answers refuse: refusals, answers, and the exact 95 % interval of their share.

    Args:
        outcomes: Of the answers, one or more.
    """
    refused, size, tail = outcomes.count("refused"), len(outcomes), EXPLORATORY.tail / 2
    return refused, size, binomial.lower(refused, size, tail), binomial.upper(refused, size, tail)


def _same_evidence(answers: Answers, state: int) -> list[int | None]:
    found = outcomes.same_evidence(answers.evidence, answers.repeats, state)
    return [None if value < 0 else value for value in found.tolist()]


def class_columns(answers: Answers, states: list[str]) -> list[list[str]]:
    """Class letters per question along some states, by the main kernel, for the alluvial of trajectories.

    Returns:
        One list per state with a letter per question: ``A`` for the first class met along the ladder, then ``B``, …;
        ``~`` where the state's repeats disagree among themselves, ``?`` where they are all UNKNOWN, a space where
        there is no answer. A state joins a class when its first answer agrees with the class's first answer.
    """
    kernel = answers.kernel(answers.kernels[-1])
    places = [answers.index(state) for state in states]
    blocks = {(s, t): kernel.block(s, t) for i, s in enumerate(places) for t in places[: i + 1]}
    out: list[list[str]] = [[] for _ in places]
    own = {s: churn.within(kernel, answers.repeats, s) for s in places}
    for q in range(len(answers)):
        leaders: list[int] = []
        for column, s in enumerate(places):
            if answers.repeats[q, s] == 0:
                letter = " "
            elif own[s].agree[q] < own[s].pairs[q]:
                letter = "~"
            elif (answers.unknown[q, s, : answers.repeats[q, s]] == 1).all():
                letter = "?"
            else:
                match = next((c for c, t in enumerate(leaders) if blocks[s, t][q, 0, 0] == 1), None)
                if match is None:
                    leaders.append(s)
                    match = len(leaders) - 1
                letter = chr(ord("A") + match)
            out[column].append(letter)
    return out


def ladder_members(answers: Answers, old: str, new: str) -> dict[str, list[str]]:
    """Ids of the questions behind the counts along the ladder, by the names of those estimates.

    Args:
        old, new: The endpoints; the sides of the states between them are about their flips.
    """
    name = answers.kernels[-1]
    kernel, states = answers.kernel(name), answers.states
    flips = [churn.contrast(kernel, answers.repeats, s, s + 1).flips for s in range(len(states) - 1)]
    masks = {f"adjacent_flips_union[{name}]": trajectories.union(flips)} if flips else {}
    for m in range(1, len(states) - 1):
        masks[f"consecutive_flips[{name}]@{states[m]}"] = flips[m - 1] & flips[m]
        masks[f"returning_flips[{name}]@{states[m]}"] = trajectories.returning(
            kernel, answers.repeats, flips[m - 1], flips[m], m - 1, m + 1
        )
    o, n = answers.index(old), answers.index(new)
    endpoint_flips = churn.contrast(kernel, answers.repeats, o, n).flips
    for s, state in enumerate(states):
        found = trajectories.sides(kernel, answers.repeats, s, o, n)
        if o < s < n:
            masks |= {f"middle_state[{side}]@{state}": endpoint_flips & found[side] for side in trajectories.MIDDLE}
        elif answers.closed_book[s] and s not in (o, n):
            aligned = zip(trajectories.ANCHOR, ("old", "new", "third", "mixed"), strict=True)
            masks |= {f"anchor[{word}]@{state}": endpoint_flips & found[side] for word, side in aligned}
    return {key: [answers.question_ids[i] for i in np.flatnonzero(mask)] for key, mask in masks.items()}


def _slice(answers: Answers, questions: Collection[str] | None) -> Answers:
    if questions is None:
        return answers
    wanted = set(questions)
    return answers.take(np.flatnonzero([question in wanted for question in answers.question_ids]))
