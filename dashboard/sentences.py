"""Plain sentences about a comparison. Each is true of the numbers it is made from, and of nothing else.

Everything returned is markup: study text inside has been escaped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from audit_core.printed import formatted
from dashboard.comparison import Comparison
from dashboard.markup import plain
from dashboard.numbers import count, degenerate, exact, plural
from dashboard.selection import KERNELS

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened, at three lengths.

    Attributes:
        tone: ``bad`` where movement is established, ``ok`` where it misses the rule, ``warn`` where nothing can be
            said; empty where it is not established, which is no proof of none.
        short: The status, for a pill.
        title: One sentence.
        lead: What it rests on.
    """

    tone: str
    short: str
    title: str
    lead: str


class Ink:
    """How numbers and texts of a study are written into a sentence: as they are.

    A report writes each with its reference (`audit_core.printed`).
    """

    def number(self, row: Row, form: str, field: str = "value") -> str:
        """A number of an estimate."""
        return plain(formatted(row, field, form))

    def text(self, text: str, *reference: str | int) -> str:
        """A text of the study."""
        return plain(text)

    def state(self, name: str) -> str:
        """The name of a state."""
        return self.text(name, "state", name)


INK = Ink()


def states(comparison: Comparison, ink: Ink = INK) -> str:
    """``n1 to n7`` as markup."""
    return f"{ink.state(comparison.selection.old)} to {ink.state(comparison.selection.new)}"


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


def verdict(comparison: Comparison, ink: Ink = INK) -> Verdict:
    """The one sentence of the Summary page."""
    found = {kernel: comparison.pair("excess_churn", kernel) for kernel in kernels(comparison)}
    measurable = {kernel: row for kernel, row in found.items() if exact(row) is not None}
    step = states(comparison, ink)
    rule = decision(comparison)
    if comparison.study["verified"] == "failed":
        return Verdict(
            "bad",
            "not to be relied on",
            "Nothing can be concluded from this study: an integrity check failed.",
            "The numbers below are shown as they were loaded. The Ledger page says which check failed.",
        )
    if not measurable:
        lost = failures(comparison, ink, (comparison.selection.old, comparison.selection.new))
        reasons = sorted({_reason(row, ink) for row in found.values()})
        return Verdict(
            "warn",
            "cannot be measured",
            f"From {step}, movement cannot be told from repeat noise.",
            " ".join(lost or reasons) + " The answers can still be read and compared one by one.",
        )
    if rule and rule["outcome"] == "cannot be decided":
        return Verdict(
            "warn",
            "cannot be decided",
            "The rule fixed in the protocol cannot be decided on these data.",
            _open_conditions(rule, ink) + " " + _agreement(comparison, ink),
        )
    if all(degenerate(row) for row in measurable.values()):
        value = ink.number(next(iter(measurable.values())), "points")
        return Verdict(
            "warn",
            "no spread to judge by",
            f"From {step}, no answer differed, between states or between repeats."
            if _alike(comparison)
            else f"From {step}, every question moved by the same amount: {value}.",
            "All contrasts are equal, so the bounds carry no information. "
            "This is neither movement beyond noise nor proof of none.",
        )
    if all(row["lower"] is None or degenerate(row) for row in measurable.values()):
        return Verdict(
            "warn",
            "cannot be decided",
            f"From {step}, movement beyond repeat noise cannot be decided: there is no interval.",
            _agreement(comparison, ink),
        )
    yes = [kernel for kernel, row in measurable.items() if moved(row)]
    lead = _agreement(comparison, ink)
    if rule and rule["outcome"] == "not confirmed" and yes:
        return Verdict(
            "ok",
            "rule not met",
            f"From {step}, answers moved, but not enough for the rule fixed in the protocol.",
            _open_conditions(rule, ink) + " " + lead,
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
            "",
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
        lead + _accuracy(comparison, ink),
    )


def _alike(comparison: Comparison) -> bool:
    """True where all answers of a question are equal after normalization, whatever the state and repeat."""
    rows = [comparison.pair(measure, "exact") for measure in ("baseline_agreement", "cross_agreement")]
    return all(exact(row) == 1 and not row["excluded"] for row in rows)


def failures(comparison: Comparison, ink: Ink = INK, names: Collection[str] = ()) -> list[str]:
    """States whose calls failed, one sentence each; without numbers in a report, whose source does not count calls.

    Args:
        comparison: The study.
        ink: How names are written.
        names: The states to look at; all where there are none.
    """
    made, found = comparison.coverage(), []
    for state in comparison.study["states"]:
        name = state["state"]
        if names and name not in names:
            continue
        failed, answered = (sum(row[what] for row in made if row["state"] == name) for what in ("errors", "ok"))
        said = ink.state(name)
        if failed == 1 and not answered:
            found.append(f"The only call in {said} failed; run it again.")
        elif failed and not answered:
            found.append(f"All {count(failed)} calls in {said} failed; run them again.")
        elif failed:
            found.append(f"{count(failed)} of {count(failed + answered)} calls in {said} failed.")
        elif not state["repeats"]:
            found.append(f"No call in {said} gave an answer; run them again.")
    return found


def silent(comparison: Comparison, row: Row, ink: Ink = INK) -> str:
    """Which states of an estimate have no answer at all; empty where each has some."""
    ends = (row["old"], row["new"])
    none = [s["state"] for s in comparison.study["states"] if s["state"] in ends and not s["repeats"]]
    return " ".join(failures(comparison, ink, none)) if none else ""


def _open_conditions(rule: Row, ink: Ink) -> str:
    conditions = enumerate(rule["conditions"])
    return " ".join(ink.text(c["sentence"], "decision", i, "sentence") for i, c in conditions if c["met"] is not True)


def _reason(row: Row, ink: Ink) -> str:
    return ink.text(row["reason"], "estimate", row["name"], "reason")


def _agreement(comparison: Comparison, ink: Ink) -> str:
    kernel = comparison.selection.kernel
    within, across, excess = (
        comparison.pair(measure, kernel) for measure in ("baseline_agreement", "cross_agreement", "excess_churn")
    )
    if any(exact(row) is None for row in (within, across, excess)):
        return _reason(excess, ink)
    gap = ink.number(excess, "hundredths")
    text = (
        f"Answers agree {ink.number(within, 'percent')} of the time when nothing changes and "
        f"{ink.number(across, 'percent')} when the snapshot does ({KERNELS[kernel]}). "
    )
    if moved(excess):
        return text + f"The {gap}-point gap is what repeat noise cannot explain."
    if excess["lower"] is None:
        return f"{text}Whether the {gap}-point gap is repeat noise cannot be told: it has no bound."
    level, bound = ink.text(comparison.level, "study", "level"), ink.number(excess, "hundredths", "lower")
    return f"{text}The {gap}-point gap could be repeat noise (one-sided {level} lower bound {bound})."


def _accuracy(comparison: Comparison, ink: Ink) -> str:
    row = comparison.pair("exact_match_difference")
    if exact(row) is None:
        return " Accuracy could not have shown it: " + _reason(row, ink)
    text = f" Exact match moved by {ink.number(row, 'signed')}"
    if row["low"] is not None and row["low"] <= 0 <= row["high"]:
        return text + ", which cannot be told from zero, so an accuracy check alone would not have shown this."
    return text + "."


def transitions(comparison: Comparison) -> str:
    """What mean accuracy hides between the selected states."""
    lost, gained, unseen = (comparison.pair(f"transitions[{kind}]")
                            for kind in ("lost", "gained", "different_nonmatch"))  # fmt: skip
    if lost["numerator"] is None:
        return "Exact match against gold answers cannot be measured between these states."
    total = plural(lost["denominator"], "matched repeat")
    if not any(row["numerator"] for row in (lost, gained, unseen)):
        return f"No answer crossed between match and nonmatch, and none moved from one miss to another, in {total}."
    net, gross = comparison.pair("net_transitions")["numerator"], comparison.pair("gross_transitions")["numerator"]
    text = (
        f"Of {total}, {count(lost['numerator'])} lost the match and {count(gained['numerator'])} gained it: a net of "
        f"{count(net)} hides a gross flow of {count(gross)}."
    )
    if not unseen["numerator"]:
        return text
    return f"{text} Another {count(unseen['numerator'])} moved from one miss to another, which accuracy cannot see."


def limits(comparison: Comparison, ink: Ink = INK) -> list[str]:
    """What the study does not show, each as one sentence."""
    study = comparison.study
    found = ["Excess churn is not a harm measure: improvements count too."]
    if study["origin"] == "reconstructed":
        found.append(
            "The ledgers are reconstructed from published figures: answers and documents are placeholders, "
            "only the counts are meaningful."
        )
    if study["origin"] == "imported":
        unknown = "The answers were imported; how they were made was not recorded."
        found.append(ink.text(study["provenance"], "study", "provenance") if study["provenance"] else unknown)
    found += failures(comparison, ink)
    fewest = min((state["repeats"] for state in study["states"] if state["repeats"]), default=0)
    if fewest == 1:
        found.append("At least one state has one answer per question, so its repeat noise is unknown.")
    elif fewest == 2:
        found.append("Two repeats give a coarse noise baseline; no single question can be called from them.")
    found += _judges(comparison, ink)
    found.append(
        f"Exact comparison follows the rule <code>{ink.text(study['normalization'], 'study', 'normalization')}</code>; "
        "another rule would give other numbers."
    )
    fixed = (study["protocol"] or {}).get("limits", [])
    return found + [ink.text(limit, "limit", number) for number, limit in enumerate(fixed)]


def told_judges(study: Row) -> list[Row]:
    """The primary judge where this program knows how its labels were made: collected, or made later by `judge`."""
    return [
        judge
        for judge in study["judges"]
        if judge["role"] == "primary" and (study["origin"] == "collected" or "against people" in judge["description"])
    ]


def _judges(comparison: Comparison, ink: Ink) -> list[str]:
    study = comparison.study
    if "semantic" not in study["kernels"]:
        return ["There are no semantic labels: the exact kernel counts a change of format like a change of meaning."]
    primary = [judge for judge in study["judges"] if judge["role"] == "primary"]
    who = "a model judge"
    if told_judges(study):
        who = ink.text(primary[0]["description"], "judge", primary[0]["judge"], "description")
    text = f"Semantic labels {'come from' if who == 'a model judge' else 'are made by this judge:'} {who}"
    if primary and primary[0]["blind"] != "blind":
        text += " that is not known to have been blind" if primary[0]["blind"] == "not shown" else " that was not blind"
    seconds = []
    for name, row in comparison.rows.items():
        if row["measure"] == "judge_agreement" and exact(row) is not None:
            kappa = comparison.named(name.replace("judge_agreement", "judge_kappa", 1))
            beside = f" (κ {ink.number(kappa, 'three')})" if exact(kappa) is not None else ""
            seconds.append(ink.number(row, "percent") + beside)
    agreed = (
        f"agreement with a second judge is {', '.join(seconds)}"
        if seconds
        else "agreement with a second judge is not measured"
    )
    people = "" if "against people" in who else ", with people: not measured"
    return [f"{text}; {agreed}{people}."]
