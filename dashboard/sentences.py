"""Plain sentences about a comparison. Each is true of the numbers it is made from, and of nothing else.

Everything returned is markup: study text inside has been escaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.comparison import Comparison
from dashboard.markup import plain
from dashboard.numbers import decimal, degenerate, exact, percent, points
from dashboard.selection import KERNELS

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened, at three lengths.

    Attributes:
        tone: ``bad`` where movement is established, ``ok`` where it is not, ``warn`` where nothing can be said.
        short: The status, for a pill.
        title: One sentence.
        lead: What it rests on.
    """

    tone: str
    short: str
    title: str
    lead: str


def states(comparison: Comparison) -> str:
    """``n1 to n7`` as markup."""
    return f"{plain(comparison.selection.old)} to {plain(comparison.selection.new)}"


def kernels(comparison: Comparison) -> list[str]:
    """Kernels of the study, semantic first."""
    return [kernel for kernel in KERNELS if kernel in comparison.study["kernels"]]


def moved(row: Row) -> bool:
    """True where the one-sided lower bound of an excess churn is above zero and means something."""
    return row["lower"] is not None and row["lower"] > 0 and not degenerate(row)


def decision(comparison: Comparison) -> Row | None:
    """The outcome of the protocol's rule, where the selected pair is the one that the rule is about."""
    study = comparison.study
    endpoints = (study["old_state"], study["new_state"])
    return study["decision"] if endpoints == (comparison.selection.old, comparison.selection.new) else None


def verdict(comparison: Comparison) -> Verdict:
    """The one sentence of the Summary page."""
    found = {kernel: comparison.pair("excess_churn", kernel) for kernel in kernels(comparison)}
    measurable = {kernel: row for kernel, row in found.items() if exact(row) is not None}
    step = states(comparison)
    rule = decision(comparison)
    if comparison.study["verified"] == "failed":
        return Verdict(
            "bad",
            "not to be relied on",
            "Nothing can be concluded from this study: an integrity check failed.",
            "The numbers below are shown as they were loaded. The Ledger page says which check failed.",
        )
    if not measurable:
        reasons = sorted({plain(row["reason"]) for row in found.values()})
        return Verdict(
            "warn",
            "cannot be measured",
            f"From {step}, movement cannot be told from repeat noise.",
            " ".join(reasons) + " The answers can still be read and compared one by one.",
        )
    if rule and rule["outcome"] == "cannot be decided":
        return Verdict(
            "warn",
            "cannot be decided",
            "The rule fixed in the protocol cannot be decided on these data.",
            _open_conditions(rule) + " " + _agreement(comparison),
        )
    if all(degenerate(row) for row in measurable.values()):
        value = exact(next(iter(measurable.values())))
        return Verdict(
            "warn",
            "no spread to judge by",
            f"From {step}, every question moved by the same amount: {points(value)}.",
            "All contrasts are equal, so the bounds carry no information. "
            "This is neither movement beyond noise nor proof of none.",
        )
    yes = [kernel for kernel, row in measurable.items() if moved(row)]
    lead = _agreement(comparison)
    if rule and rule["outcome"] == "not confirmed" and yes:
        return Verdict(
            "ok",
            "rule not met",
            f"From {step}, answers moved, but not enough for the rule fixed in the protocol.",
            _open_conditions(rule) + " " + lead,
        )
    if not yes:
        negative = [row for row in measurable.values() if row["high"] is not None and row["high"] < 0]
        if negative:
            return Verdict(
                "warn",
                "below repeat noise",
                f"From {step}, answers agree more across states than within them.",
                lead + " Repeats of one state should agree at least as often; look for repeats that differ "
                "in more than chance.",
            )
        return Verdict(
            "ok",
            "not established",
            f"From {step}, movement beyond ordinary repeat noise is not established.",
            lead + " This does not show that nothing changed: more questions or repeats could show a smaller movement.",
        )
    if "semantic" not in found:
        return Verdict(
            "bad",
            "established, wording only",
            f"From {step}, answer wording changed beyond ordinary repeat noise.",
            lead + " Only the exact kernel exists here, so differences of format may explain it.",
        )
    if yes == ["exact"]:
        return Verdict(
            "warn",
            "wording only",
            f"From {step}, wording moved beyond repeat noise; meaning is not established.",
            lead + " Differences of format may explain the exact kernel's movement.",
        )
    if yes == ["semantic"] and "exact" in measurable:
        return Verdict(
            "warn",
            "one kernel only",
            f"From {step}, meaning as judged moved beyond repeat noise; the exact kernel does not confirm it.",
            lead,
        )
    return Verdict(
        "bad",
        "established",
        f"The step from {step} changed answers beyond ordinary repeat noise.",
        lead + _accuracy(comparison),
    )


def _open_conditions(rule: Row) -> str:
    return " ".join(plain(c["sentence"]) for c in rule["conditions"] if c["met"] is not True)


def _agreement(comparison: Comparison) -> str:
    kernel = comparison.selection.kernel
    within, across = (
        exact(comparison.pair("baseline_agreement", kernel)),
        exact(comparison.pair("cross_agreement", kernel)),
    )
    excess = comparison.pair("excess_churn", kernel)
    gap = exact(excess)
    if within is None or across is None or gap is None:
        return plain(excess["reason"])
    text = (
        f"Answers agree {percent(within)} of the time when nothing changes and {percent(across)} when the snapshot "
        f"does ({KERNELS[kernel]}). "
    )
    if moved(excess):
        return text + f"The {decimal(gap, 2, 100)}-point gap is what repeat noise cannot explain."
    bound = decimal(excess["lower"], 2, 100)
    gap_text = f"The {decimal(gap, 2, 100)}-point gap could be repeat noise"
    return f"{text}{gap_text} (one-sided {comparison.level} lower bound {bound})."


def _accuracy(comparison: Comparison) -> str:
    row = comparison.pair("exact_match_difference")
    change = exact(row)
    if change is None:
        return " Accuracy could not have shown it: " + plain(row["reason"])
    text = f" Exact match moved by {points(change, sign=True)}"
    if row["low"] is not None and row["low"] <= 0 <= row["high"]:
        return text + ", which cannot be told from zero, so an accuracy check alone would not have shown this."
    return text + "."


def limits(comparison: Comparison) -> list[str]:
    """What the study does not show, each as one sentence."""
    study = comparison.study
    found = ["Excess churn is not a harm measure: improvements count too."]
    if study["origin"] == "reconstructed":
        found.append(
            "The ledgers are reconstructed from published figures: answers and documents are placeholders, "
            "only the counts are meaningful."
        )
    if study["origin"] == "imported":
        found.append(plain(study["provenance"] or "The answers were imported; how they were made was not recorded."))
    repeats = {state["repeats"] for state in study["states"]}
    if min(repeats, default=0) < 2:
        found.append("At least one state was asked only once, so its repeat noise is unknown.")
    elif min(repeats) == 2:
        found.append("Two repeats give a coarse noise baseline; no single question can be called from them.")
    found += _judges(comparison)
    found.append(
        f"Exact comparison follows the rule <code>{plain(study['normalization'])}</code>; "
        "another rule would give other numbers."
    )
    return found + [plain(limit) for limit in (study["protocol"] or {}).get("limits", [])]


def _judges(comparison: Comparison) -> list[str]:
    study = comparison.study
    if "semantic" not in study["kernels"]:
        return ["There are no semantic labels: the exact kernel counts a change of format like a change of meaning."]
    primary = [judge for judge in study["judges"] if judge["role"] == "primary"]
    who = plain(primary[0]["description"]) if primary and study["origin"] == "collected" else "a model judge"
    text = f"Semantic labels {'come from' if who == 'a model judge' else 'are made by this judge:'} {who}"
    if primary and primary[0]["blind"] != "blind":
        text += " that is not known to have been blind" if primary[0]["blind"] == "not shown" else " that was not blind"
    seconds = []
    for name, row in comparison.rows.items():
        agreement = exact(row)
        if row["measure"] == "judge_agreement" and agreement is not None:
            kappa = exact(comparison.named(name.replace("judge_agreement", "judge_kappa", 1)))
            seconds.append(percent(agreement) + (f" (κ {decimal(kappa, 3)})" if kappa is not None else ""))
    agreed = (
        f"agreement with a second judge is {', '.join(seconds)}"
        if seconds
        else "agreement with a second judge is not measured"
    )
    people = "" if "against people" in who else ", with people: not measured"
    return [f"{text}; {agreed}{people}."]
