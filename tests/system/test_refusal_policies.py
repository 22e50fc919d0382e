"""The ladder of borderline-refusal, collected whole with a generator that refuses by a known rule.

The generator reads the passages that it is given. Where each part of the question has one that speaks of it (by the
rule ``coverage/1``) it answers. Where a part has none, it follows the refusal rule of its prompt: *all or nothing* is
obeyed with even odds and ignored otherwise, *partial* is followed always. So repeats split under equal evidence exactly
where a half was ranked out, and an audit must show fewer of them where a policy brings the half back.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from audit_core.collect import stages
from audit_core.readmodel import outcomes
from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.rules.aspects import parts
from audit_core.rules.coverage import covered
from audit_core.rules.shown import Shown
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.service import Scripted, Seen, Service
from tests.support.simulator import CREATED

ROOT = Path(__file__).parents[2] / "data" / "corpora"
LADDER = ("baseline", "siblings", "fan-out", "partial")
PASSAGE = re.compile(r"^\[\d+\] ", re.MULTILINE)


def reading(prompt: str) -> tuple[str, tuple[bool, ...], bool]:
    """Question, which of its parts the passages of a prompt speak of, and whether parts may be left out."""
    question = re.findall(r"^Question: (.+)$", prompt, re.MULTILINE)[-1]
    texts = PASSAGE.split(prompt.split("Question: ")[0])[1:]
    shown = [Shown(str(rank), rank, text.strip().split("\n\n")[0]) for rank, text in enumerate(texts, 1)]
    return question, tuple(bool(a.supports) for a in covered(parts(question), shown)), "Not in the passages:" in prompt


def script() -> object:
    drawn: Counter[str] = Counter()
    lock = threading.Lock()

    def reply(seen: Seen, _number: int) -> Scripted:
        prompt = seen.body["messages"][0]["content"]
        question, held, partial = reading(prompt)
        cut = parts(question)
        told = [f"Told of {part[:40]}." for part, there in zip(cut, held, strict=True) if there]
        missing = [part[:40] for part, there in zip(cut, held, strict=True) if not there]
        if not missing:
            return Scripted(text=" ".join(told))
        if partial:
            return Scripted(text=f"{' '.join(told)} Not in the passages: {missing[0]}.".strip() if told else "UNKNOWN")
        with lock:  # the n-th draw of a prompt is the same in every run, whichever repeat it is for
            drawn[prompt] += 1
            odds = hashlib.sha256(f"{prompt} {drawn[prompt]}".encode()).digest()[0]
        return Scripted(text="UNKNOWN" if odds % 2 else " ".join(told) or "Something else.")

    return reply


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("ladder")
    for source in (*(ROOT / "help-centre").glob("shard-*.jsonl"), *(ROOT / "borderline-refusal").glob("*.jsonl")):
        shutil.copy(source, folder)
    text = (ROOT / "borderline-refusal" / "protocol.toml").read_text().replace("draws = 50000", "draws = 500")
    with pytest.MonkeyPatch.context() as patch, Service(script()) as service:  # type: ignore[arg-type]
        patch.setenv("AUDIT_TEST_KEY", "sk-test-key")
        generator = (
            f'adapter = "messages"\nmodel = "small-1"\nbase_url = "{service.url}"\nkey_variable = "AUDIT_TEST_KEY"'
        )
        (folder / "protocol.toml").write_text(text.replace('adapter = "embedded"', generator))
        made = stages.freeze(folder / "protocol.toml", folder / "study", CREATED)
        stages.run(made, folder, lambda: CREATED)
    estimate_study(made, created=CREATED)
    return Study(made.path)


@pytest.fixture(scope="module")
def named(study: Study) -> dict[str, dict[str, object]]:
    return {e["name"]: e for e in (study.results() or {})["estimates"]}


def share(estimate: dict[str, object]) -> Fraction:
    return Fraction(int(str(estimate["numerator"])), int(str(estimate["denominator"])))


def test_splits_fall_where_the_missing_half_comes_back(study, named) -> None:
    splits = [named[f"outcome_split@{state}"] for state in LADDER]
    assert {split["population"] for split in splits} == {24}  # evidence is equal to the byte for every question
    counts = [int(split["numerator"]) for split in splits]
    # of 24, as docs/borderline-refusal.md says: siblings take places, a search for each part brings the half back
    assert counts == [7, 8, 2, 0]
    assert share(named["split_share[exact]@baseline"]) > Fraction(1, 2)


def test_refusals_are_lost_and_become_answers_or_parts(named) -> None:
    lost = named["outcome_transitions[from_refused]@baseline-partial"]
    assert int(lost["numerator"]) > 10
    assert int(named["outcome_transitions[to_refused]@baseline-partial"]["numerator"]) == 0
    assert share(named["outcome_rate[refused]@partial"]) < share(named["outcome_rate[refused]@baseline"])


def test_the_study_is_sound_and_says_what_differs(study) -> None:
    assert [check.check_id for check in verify(study.path) if check.result == "failed"] == []
    assert [len(study.protocol.differences(a, b)) for a, b in itertools.pairwise(LADDER)] == [1, 1, 1]
    assert len(study.protocol.differences("baseline", "partial")) == 3


def test_the_missing_half_is_among_the_siblings(study, tmp_path) -> None:
    load([study.path], tmp_path / "audit.db", verifier=verify)
    found = outcomes.outcomes(tmp_path / "audit.db", study.protocol.study_id, state="baseline", kind="refusal_split")
    split = {row["question_id"] for row in found.rows}
    with_siblings = {
        dossier.question.question_id
        for dossier in study.dossiers()
        if any(siblings.state == "baseline" for siblings in dossier.siblings)
    }
    assert split
    assert len(split & with_siblings) >= len(split) / 2, json.dumps(sorted(split - with_siblings))
