"""The handbook of the study borderline-refusal: its shape, and what each policy retrieves for its questions."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from audit_core.adapters import fts
from audit_core.collect import inputs
from audit_core.collection import read_toml
from audit_core.prompts import Passage
from audit_core.protocol import attribution
from audit_core.rules.aspects import parts

CORPORA = Path(__file__).parents[2] / "data" / "corpora"
FOLDER = CORPORA / "borderline-refusal"
KINDS = {"ranked-out": 14, "retrieved": 5, "lacking": 5}
STATES = ["baseline", "siblings", "fan-out", "partial"]


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


HANDBOOK, QUESTIONS = records("handbook"), records("questions")
GOLD = {g["question_id"]: g for g in records("gold")}
TEXTS = {p["document_id"]: p["text"] for p in HANDBOOK}


@pytest.fixture(scope="module")
def shown() -> dict[tuple[str, str], list[str]]:
    """Ids that each state retrieves for each question."""
    _, collection = read_toml(FOLDER / "protocol.toml")
    shards: list[list[Passage]] = []
    for name in collection.shards:
        folder = FOLDER if (FOLDER / name).is_file() else CORPORA / "help-centre"
        shards.append(list(inputs.shard(folder / name)))
    assert sum(map(len, shards)) == 565
    asked = [(q["question_id"], q["question"]) for q in QUESTIONS]
    found = fts.retrieve(shards, collection.reach, asked, collection.depth, collection.policies)
    return {(q, s): [hit.passage.document_id for hit in hits] for q, s, hits, _ in found}


def test_twelve_chapters_of_nine_passages_and_their_references() -> None:
    families = Counter(p["family"] for p in HANDBOOK)
    assert families.pop("handbook-references") == 12
    assert set(families.values()) == {9}
    assert len(families) == 12
    assert len(TEXTS) == len(set(TEXTS.values())) == len(HANDBOOK) == 120
    for passage in HANDBOOK:
        assert list(passage) == ["document_id", "family", "title", "url", "text"]
        assert re.fullmatch(r"hb-[a-z0-9-]+", passage["document_id"])
        assert 40 < len(passage["text"]) <= 211
        assert passage["text"].isascii()


def test_questions_have_two_parts_and_gold_that_the_passages_hold() -> None:
    assert Counter(q["tags"][0] for q in QUESTIONS) == KINDS
    assert list(GOLD) == [q["question_id"] for q in QUESTIONS] == [f"br-q{n:02d}" for n in range(1, 25)]
    for question in QUESTIONS:
        gold = GOLD[question["question_id"]]
        assert len(parts(question["question"])) == 2
        assert len(gold["support"]) == (1 if question["tags"][0] == "lacking" else 2)
        assert all(document in TEXTS for document in gold["support"])
        assert gold["aliases"]
        assert len(set(gold["aliases"])) == len(gold["aliases"])


@pytest.mark.parametrize(
    ("kind", "whole"), [("ranked-out", [0, 6, 11, 11]), ("retrieved", [5, 4, 5, 5]), ("lacking", [5, 3, 5, 5])]
)
def test_how_many_questions_have_all_their_passages(
    shown: dict[tuple[str, str], list[str]], kind: str, whole: list[int]
) -> None:
    mine = [q["question_id"] for q in QUESTIONS if q["tags"][0] == kind]
    found = [sum(set(GOLD[q]["support"]) <= set(shown[q, state]) for q in mine) for state in STATES]
    assert found == whole
    if kind == "ranked-out":
        readme = (FOLDER / "README.md").read_text("utf-8")
        assert f"siblings bring {whole[1]} of the 14" in readme
        assert f"a search for each part {whole[2]} " in readme
        assert all(GOLD[q]["support"][0] in shown[q, "baseline"] for q in mine), "the first part is always found"


def test_every_list_has_the_same_length(shown: dict[tuple[str, str], list[str]]) -> None:
    assert {len(found) for found in shown.values()} == {4}
    assert all(shown[q["question_id"], "fan-out"] == shown[q["question_id"], "partial"] for q in QUESTIONS)


def test_each_step_changes_one_thing() -> None:
    protocol, _ = read_toml(FOLDER / "protocol.toml")
    assert [state.name for state in protocol.states] == STATES
    steps = pairwise(STATES)
    assert [[name for name, _, _ in protocol.differences(old, new)] for old, new in steps] == [
        ["siblings added"], ["fan-out"], ["refusal rule"]]  # fmt: skip
    assert attribution(protocol, "baseline", "partial")
