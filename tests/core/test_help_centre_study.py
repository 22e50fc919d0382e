"""The collected study: verified, and every number of its page is what the ledgers and the labels give."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from audit_core import bundled
from audit_core.estimators.gate import points
from audit_core.report import handlabels
from audit_core.study import Study
from audit_core.verify import verify

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "help-centre.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(bundled.resolve("help-centre"))


@pytest.fixture(scope="module")
def estimates(study: Study) -> dict[str, dict[str, Any]]:
    record = json.loads((study.path / "results" / "results.json").read_text())
    return {estimate["name"]: estimate for estimate in record["estimates"]}


def share(estimate: dict[str, Any]) -> str:
    return points(Fraction(estimate["numerator"], estimate["denominator"]))


def interval(estimate: dict[str, Any]) -> str:
    low, high = (points(Fraction(bound)) for bound in estimate["interval"])
    return f"[{low}, {high}]"


def test_it_is_opened_first_and_verified_to_its_last_lock(study: Study) -> None:
    assert bundled.studies()[0].name == "help-centre"
    lock = re.search(r"`([0-9a-f]{64})`", PAGE)
    assert lock
    checks = {check.check_id: check.result for check in verify(study.path, expect_lock=lock[1])}
    assert set(checks.values()) == {"passed"}
    assert {"C18", "C19", "C20"} <= checks.keys()


def test_states_of_the_page(estimates: dict[str, dict[str, Any]]) -> None:
    names = ("within_agreement[semantic]", "within_agreement[exact]", "exact_match", "unknown_rate")
    for state in ("n0", "n1", "n3", "n7"):
        cells = " | ".join(f"{share(estimates[f'{name}@{state}'])} %" for name in names)
        assert f"| {state} | {cells} |" in PAGE


def test_steps_of_the_page(estimates: dict[str, dict[str, Any]]) -> None:
    page = PAGE.replace("**", "")
    for old, new in (("n0", "n1"), ("n1", "n3"), ("n3", "n7"), ("n1", "n7")):
        churn = [estimates[f"excess_churn[{kernel}]@{old}-{new}"] for kernel in ("semantic", "exact")]
        cross = estimates[f"cross_agreement[semantic]@{old}-{new}"]
        flips = estimates[f"repeat_stable_flips[semantic]@{old}-{new}"]["numerator"]
        cells = " | ".join(f"{share(estimate)} pp {interval(estimate)}" for estimate in churn)
        assert f"| {old} → {new} | {share(cross)} % | {cells} | {flips} |" in page


def test_flips_as_the_page_tells_them(study: Study, estimates: dict[str, dict[str, Any]]) -> None:
    from audit_core.normalize import RULES

    rule = RULES[study.protocol.normalization]
    neither = lost = flips = 0
    for dossier in study.dossiers():
        judgment = dossier.judgments["primary"]
        at = {slot: number for number, slot in enumerate(judgment.slots)}
        same = {(i, j): bool(label) for i, j, label in judgment.labels}

        def agree(a: tuple[str, int], b: tuple[str, int], at: Any = at, same: Any = same) -> bool:
            return same[min(at[a], at[b]), max(at[a], at[b])]

        old, new = [("n1", 1), ("n1", 2)], [("n7", 1), ("n7", 2)]
        if agree(*old) and agree(*new) and not any(agree(a, b) for a in old for b in new):
            flips += 1
            assert dossier.gold
            aliases = {rule.normalize(alias) for alias in dossier.gold.aliases}
            right = {(c.state, c.repeat): rule.normalize(c.answer or "") in aliases for c in dossier.cells}
            neither += not any(right[slot] for slot in (*old, *new))
            lost += any(right[slot] for slot in old) and not any(right[slot] for slot in new)
    assert flips == estimates["repeat_stable_flips[semantic]@n1-n7"]["numerator"]
    assert f"in {neither} of the {flips} **neither**" in PAGE
    assert {1: "One", 2: "Two", 3: "Three"}[lost] + " lost the right answer" in PAGE
    gained, dropped = (estimates[f"transitions[{kind}]@n1-n7"]["numerator"] for kind in ("gained", "lost"))
    assert f"{gained} matched pairs of answers gained, {dropped} lost" in PAGE
    difference = estimates["exact_match_difference@n1-n7"]
    assert f"rose by {share(difference)} pp {interval(difference)}" in PAGE


def test_the_judge_against_two_readers(study: Study) -> None:
    sheets = [
        handlabels.read_sheet(ROOT / "data" / "labels" / f"help-centre-reader-{number}.jsonl", study)
        for number in (1, 2)
    ]
    assert sum(len(answers) for answers in sheets[0].values()) == 339
    found = handlabels.check(study, sheets)

    def kappa(agreement: Any) -> str:
        low, high = agreement.kappa_interval
        return f"{float(agreement.kappa):.3f} [{float(low):.3f}, {float(high):.3f}]"

    for item in found.compared:
        who = f"{item.first} and {item.second}".replace("-", " ")
        assert f"| {who} | {kappa(item.everything)} | {kappa(item.different)} |" in PAGE
    (_, join1, part1, _), (_, join2, part2, _) = (item.confusion for item in found.compared[:2])
    assert f"joins {join1} ({join2}) pairs" in PAGE
    assert f"separates {part1} ({part2})" in PAGE
    for estimate in found.churn:
        assert estimate.interval
        low, high = map(points, estimate.interval)
        if "questions of" not in estimate.name:
            assert f"{points(Fraction(estimate.numerator or 0, estimate.denominator or 1))} pp [{low}, {high}]" in PAGE
