"""The made-up help centre of the demo study: its shape, and that its gold is in the passages said to hold it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "data" / "corpora" / "help-centre"
KINDS = {"version": 27, "stable": 27, "ambiguous": 9, "late": 9, "two-part": 8}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


SHARDS = {n: records(f"shard-{n}") for n in range(1, 8)}
PASSAGES = {p["document_id"]: p for shard in SHARDS.values() for p in shard}
SHARD_OF = {p["document_id"]: n for n, shard in SHARDS.items() for p in shard}
QUESTIONS, GOLD = records("questions"), {g["question_id"]: g for g in records("gold")}


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    """Parametrize over the gold of the questions of these kinds."""
    chosen = [q["question_id"] for q in QUESTIONS if q["tags"][0] in kinds]
    return pytest.mark.parametrize("gold", [GOLD[name] for name in chosen], ids=chosen)


def holds(passage: dict[str, Any], aliases: list[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(a)}(?!\w)", passage["text"], re.IGNORECASE) for a in aliases)


def family(gold: dict[str, Any]) -> list[dict[str, Any]]:
    """Every passage of the families that support an answer."""
    names = {PASSAGES[d]["family"] for d in gold["support"]}
    return [p for p in PASSAGES.values() if p["family"] in names]


def test_seven_shards_of_the_stated_size():
    assert all(60 <= len(shard) <= 75 for shard in SHARDS.values())
    assert len(PASSAGES) == sum(len(shard) for shard in SHARDS.values()) >= 420  # ids are unique across shards
    readme = (FOLDER / "README.md").read_text("utf-8")
    for state, shards in ("n1", 1), ("n3", 3), ("n7", 7):
        assert f"| {state} | {sum(len(SHARDS[n]) for n in range(1, shards + 1))} |" in readme


def test_passages_have_their_fields_and_length():
    for p in PASSAGES.values():
        assert list(p) == ["document_id", "family", "title", "url", "text"]
        assert re.fullmatch(r"hc-[a-z0-9-]+", p["document_id"])
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", p["family"])
        assert re.fullmatch(r"https://help\.example/[a-z0-9/-]+", p["url"])
        assert 60 <= len(p["text"].split()) <= 180, p["document_id"]
        assert p["title"]


def test_no_text_or_address_occurs_twice():
    assert len({" ".join(p["text"].casefold().split()) for p in PASSAGES.values()}) == len(PASSAGES)
    assert len({p["url"] for p in PASSAGES.values()}) == len(PASSAGES)


def test_near_duplicates_are_there():
    words: dict[str, list[set[str]]] = defaultdict(list)
    for p in PASSAGES.values():
        words[p["family"]].append(set(p["text"].casefold().split()))
    near = [1 for texts in words.values() for a, b in combinations(texts, 2) if len(a & b) / len(a | b) > 0.6]
    assert len(near) >= 8


def test_families_cross_shards_and_one_is_a_bibliography():
    shards: dict[str, set[int]] = defaultdict(set)
    for name, p in PASSAGES.items():
        shards[p["family"]].add(SHARD_OF[name])
    assert sum(len(s) > 1 for s in shards.values()) >= 40
    assert shards["bibliography"] == set(range(1, 8))


def test_plain_characters_and_only_example_addresses():
    for path in FOLDER.glob("*.jsonl"):
        text = path.read_text("utf-8")
        assert text.endswith("}\n")
        assert not [c for c in text.replace("\n", "") if unicodedata.category(c).startswith("C")]
        assert all(key.isascii() for line in text.splitlines() for key in json.loads(line))
        assert not re.findall(r"@(?![\w.-]*\.example\b)", text)
        assert not re.findall(r"(?:https?://|www\.)(?!help\.example/)", text)
        assert not re.findall(r"\+\d|\d(?:[ -]?\d){7,}", text)  # telephone numbers


def test_eighty_questions_in_the_stated_kinds():
    assert Counter(q["tags"][0] for q in QUESTIONS) == KINDS
    assert [q["question_id"] for q in QUESTIONS] == [f"hc-q{n:03d}" for n in range(1, 81)]
    assert len({q["question"].casefold() for q in QUESTIONS}) == 80
    for q in QUESTIONS:
        assert list(q) == ["question_id", "question", "tags"]
        assert len(q["tags"]) >= 2
        assert not set(q["tags"][1:]) & set(KINDS)


def test_every_question_has_gold_of_short_aliases():
    assert list(GOLD) == [q["question_id"] for q in QUESTIONS]
    for gold in GOLD.values():
        assert list(gold) == ["question_id", "aliases", "support"]
        assert gold["aliases"]
        assert all(1 <= len(a.split()) <= 8 for a in gold["aliases"])
        assert len({*gold["aliases"]}) == len(gold["aliases"])
        assert gold["support"]
        assert all(d in PASSAGES for d in gold["support"])


@of_kind("version", "stable", "late", "ambiguous")
def test_each_supporting_passage_says_the_answer(gold):
    assert [d for d in gold["support"] if not holds(PASSAGES[d], gold["aliases"])] == []
    assert any(holds(PASSAGES[d], gold["aliases"][:1]) for d in gold["support"])


@of_kind("version")
def test_another_version_says_otherwise(gold):
    others = [p for p in family(gold) if not holds(p, gold["aliases"][:1])]
    assert any(re.search(r"\b202[1-5]\b", p["title"] + p["text"]) for p in others)


@of_kind("stable")
def test_stable_answers_stand_in_the_first_shard_and_in_later_ones(gold):
    shards = {SHARD_OF[d] for d in gold["support"]}
    assert 1 in shards
    assert len(shards) > 1


@of_kind("late")
def test_late_answers_stand_only_in_the_last_four_shards(gold):
    assert min(SHARD_OF[d] for d in gold["support"]) >= 4
    early = [p for p in family(gold) if SHARD_OF[p["document_id"]] < 4]
    assert [p["document_id"] for p in early if holds(p, gold["aliases"])] == []
