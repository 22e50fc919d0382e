"""The collected study borderline-refusal: verified, and every number of its page is what the ledgers give."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from audit_core import bundled, codec
from audit_core.estimators.gate import points
from audit_core.ledger import payload
from audit_core.model import Dossier
from audit_core.outcomes import read
from audit_core.rules import outcome
from audit_core.study import ATTEMPTS, Study
from audit_core.tally import reply_of
from audit_core.verify import verify

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "borderline-refusal.md").read_text(encoding="utf-8")
TABLES = PAGE.replace("**", "")
STATES = ("baseline", "siblings", "fan-out", "partial")


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(bundled.resolve("borderline-refusal"))


@pytest.fixture(scope="module")
def dossiers(study: Study) -> list[Dossier]:
    return list(study.dossiers())


@pytest.fixture(scope="module")
def estimates(study: Study) -> dict[str, dict[str, Any]]:
    record = json.loads((study.path / "results" / "results.json").read_text())
    return {estimate["name"]: estimate for estimate in record["estimates"]}


def share(estimate: dict[str, Any]) -> str:
    return points(Fraction(int(estimate["numerator"]), int(estimate["denominator"])))


def interval(estimate: dict[str, Any]) -> str:
    low, high = (points(Fraction(bound)) for bound in estimate["interval"])
    return f"[{low}, {high}]"


def test_it_is_verified_to_its_last_lock(study: Study) -> None:
    lock = re.search(r"`([0-9a-f]{64})`", PAGE)
    assert lock
    checks = {check.check_id: check.result for check in verify(study.path, expect_lock=lock[1])}
    assert {check for check, result in checks.items() if result != "passed"} == {"C16"}, "it has no decision rule"
    assert {"C10", "C11", "C18", "C19", "C20"} <= checks.keys()


def test_it_is_what_the_corpus_and_protocol_of_the_repository_give(study: Study) -> None:
    folder = ROOT / "data" / "corpora"
    for source in study.protocol.sources:
        found = [f / source.name for f in (folder / "borderline-refusal", folder / "help-centre")]
        data = next(path for path in found if path.is_file()).read_bytes()
        assert len(data) == source.size
    questions = [json.loads(line) for line in (folder / "borderline-refusal" / "questions.jsonl").open()]
    assert {q["question_id"]: q["question"] for q in questions} == {
        q.question_id: q.text for q in study.questions()}  # fmt: skip


def test_states_of_the_page(estimates: dict[str, dict[str, Any]]) -> None:
    for state in STATES:
        rates = [f"{share(estimates[f'outcome_rate[{o}]@{state}'])} %" for o in ("answered", "partial", "refused")]
        split = estimates[f"outcome_split@{state}"]
        assert split["population"] == 24, "evidence is byte-identical in all repeats of all questions"
        cells = [
            *rates, f"{split['numerator']} of 24 {interval(split)}", split["detail"]["refusal_splits"],
            f"{share(estimates[f'split_share[semantic]@{state}'])} %",
            f"{share(estimates[f'within_agreement[semantic]@{state}'])} %",
        ]  # fmt: skip
        assert f"| {state} | {' | '.join(cells)} |" in TABLES


def test_steps_of_the_page(estimates: dict[str, dict[str, Any]]) -> None:
    for old, new in (*pairwise(STATES), (STATES[0], STATES[-1])):
        pair = f"{old}-{new}"
        flows = [estimates[f"outcome_transitions[{kind}_refused]@{pair}"]["numerator"] for kind in ("to", "from")]
        whole, rest = (estimates[f"excess_churn[semantic{more}]@{pair}"] for more in ("", ", without refusals"))
        cells = [
            *map(str, flows), f"{share(whole)} pp {interval(whole)}",
            f"{share(rest)} pp {interval(rest)} ({rest['population']})",
            str(estimates[f"repeat_stable_flips[semantic]@{pair}"]["numerator"]),
        ]  # fmt: skip
        assert f"| {old} → {new} | {' | '.join(cells)} |" in TABLES


def test_answers_that_were_cut_off_are_counted(study: Study) -> None:
    kinds = Counter()
    for record in study.reader(ATTEMPTS):
        if record["kind"] == "end":
            reply = reply_of(payload(record))
            kinds[read(reply.status, reply.body).kind] += 1
    assert f"{kinds['TRUNCATED']} of 384 answers" in PAGE
    assert sum(kinds.values()) == 384


def refused(study: Study, dossiers: list[Dossier], state: str, kinds: set[str]) -> list[tuple[str, bool, bool]]:
    """Question, whether all passages that it needs were shown, and whether it was refused, by answer."""
    support = {}
    for line in (ROOT / "data" / "corpora" / "borderline-refusal" / "gold.jsonl").open():
        record = json.loads(line)
        support[record["question_id"]] = set(record["support"])
    rule = study.protocol.outcome_rule
    out = []
    for dossier in dossiers:
        if dossier.question.tags[0] in kinds:
            key = dossier.question.question_id
            shown = next({d.document_id for d in e.documents} for e in dossier.evidence if e.state == state)
            for cell in dossier.cells:
                if cell.state == state:
                    reading = outcome.read(cell.answer or "", study.protocol.unknown_texts, rule)
                    out.append((key, support[key] <= shown, reading.outcome == "refused"))
    return out


def test_refusals_with_and_without_the_right_evidence(study: Study, dossiers: list[Dossier]) -> None:
    told = []
    for state in STATES[:3]:
        found = refused(study, dossiers, state, {"ranked-out", "retrieved"})
        told += [[(sum(r for _, w, r in found if w is whole), sum(w is whole for _, w, _ in found))
                  for whole in (True, False)]]  # fmt: skip
    (a, b), (c, d), (e, f) = told
    page = " ".join(PAGE.split())
    assert (
        f"{a[0]} of {a[1]} answers refuse in the baseline, {c[0]} of {c[1]} with siblings, {e[0]} of {e[1]} with"
        in page
    )
    assert f"{b[0]} of {b[1]}, {d[0]} of {d[1]} and none of {f[1]} do" in page
    assert f[0] == 0
    ranked = [sum(r for _, _, r in refused(study, dossiers, s, {"ranked-out"})) for s in ("baseline", "fan-out")]
    assert f"from {ranked[0]} to {ranked[1]} of 56" in page


def test_splits_of_the_word_itself(dossiers: list[Dossier]) -> None:
    found, words = Counter[str](), 0
    for dossier in dossiers:
        for state in STATES:
            said = [(c.answer or "").casefold() == "unknown" for c in dossier.cells if c.state == state]
            found[state] += any(said) and not all(said)
            words += sum(said) * (state == "partial")
    page = " ".join(PAGE.split())
    first, second, third, last = (found[state] for state in STATES)
    splits = f"splits on {last} questions where the states before had {first}, {second} and {third}"
    assert f"{words} of 96 answers, {splits}" in page


def quoted(page: str) -> list[str]:
    return [text.replace("…", "").strip() for text in re.findall(r"^> \*?(.+?)\*?$", page, re.MULTILINE)]


def test_answers_that_the_page_quotes_are_in_the_study(dossiers: list[Dossier]) -> None:
    answers = [" ".join((cell.answer or "").split()) for dossier in dossiers for cell in dossier.cells]
    assert quoted(PAGE)
    for text in quoted(PAGE):
        assert any(text in answer for answer in answers), text


def test_siblings_of_the_question_that_the_page_walks_through(dossiers: list[Dossier]) -> None:
    chosen = re.search(r"## One question by hand: (br-q\d\d)", PAGE)
    assert chosen
    dossier = next(d for d in dossiers if d.question.question_id == chosen[1])
    siblings = next(s for s in dossier.siblings if s.state == "baseline")
    told = re.search(r"`(hb-[a-z-]+)`, rank (\d+) in the whole list", PAGE)
    assert told
    assert (told[1], int(told[2])) in [(d.document_id, d.rank) for d in siblings.documents]
    assert dossier.gold
    shown = {e.state: [d.document_id for d in e.documents] for e in dossier.evidence}
    assert told[1] not in shown["baseline"]
    assert codec.from_siblings(siblings)["documents"]
