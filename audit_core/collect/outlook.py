"""What is left to do, before it is done: calls, tokens and cost; no call is made and nothing is written."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from audit_core import asking
from audit_core.adapters import controls
from audit_core.calls import packets, planned, sampled
from audit_core.collect.progress import cost_of, records_of
from audit_core.collection import SECOND, Calls, Collection
from audit_core.prompts import answer_prompt, judge_prompt, outcome_prompt
from audit_core.study import ATTEMPTS, LATER, Study, attempts_of
from audit_core.study.passages import Passages
from audit_core.tally import Key, key_of

CHARACTERS_A_TOKEN = 4
"""Of English text, about; other languages and numbers take more tokens."""
MODELLESS = ("extractive", "lexical")
HEAD = 100
"""Characters of a passage's identifier, title and address, about."""


def outlook(study: Study, collection: Collection) -> dict[str, Any]:
    """Calls that are left, with about how many tokens they read, and at most how many they write.

    Returns:
        ``answers``, ``judging`` and ``second_judge``, each with ``calls``, ``input_tokens`` (about; an upper bound
        while the evidence is not locked), ``output_tokens`` (at most) and, where there are prices, ``cost`` as decimal
        text; no tokens for an adapter without a model.
    """
    closed = {lock.gate for lock in study.chain}
    found = {}
    if "answers" not in closed:
        found["answers"] = _sum(collection.generation, _answers(study, collection, closed))
    judge = study.protocol.primary_judge
    if judge is not None and "judgments" not in closed:
        attempts = study.path / attempts_of(judge.name)
        found["judging"] = _sum(collection.judging, _packets(study, collection, attempts, "1", closed))
    if collection.second is not None and "gold" not in closed:
        attempts = study.path / attempts_of(SECOND, LATER)
        found["second_judge"] = _sum(collection.second, _packets(study, collection, attempts, collection.share, closed))
    return found


def _sum(calls: Calls, lengths: Iterable[int]) -> dict[str, Any]:
    number = read = 0
    for length in lengths:
        number, read = number + 1, read - (-length // CHARACTERS_A_TOKEN)
    if calls.adapter in MODELLESS:
        return {"calls": number, "input_tokens": 0, "output_tokens": 0}
    counts: dict[str, Any] = {"calls": number, "input_tokens": read, "output_tokens": number * calls.max_tokens}
    if (cost := cost_of(calls, (read, counts["output_tokens"]))) is not None:
        counts["cost"] = cost
    return counts


def _answers(study: Study, collection: Collection, closed: set[str]) -> Iterable[int]:
    if "retrieval" not in closed:
        passage = "x" * (collection.characters + HEAD)
        longest = 200 if "selection" not in closed else max(len(q.text or q.question_id) for q in study.questions())
        for state in study.protocol.states:
            shown = [passage] * collection.depth if collection.reach[state.name] else []
            length = len(answer_prompt("x" * longest, shown, collection.refusal(state.name)))
            yield from [length] * (collection.count * collection.repeats)
        return
    accepted = _accepted(study.path / ATTEMPTS)
    with closing(Passages(study)) as passages:
        for key, prompt in planned(study, collection, passages):
            if key not in accepted:
                yield len(prompt())


def _packets(study: Study, collection: Collection, attempts: Path, share: str, closed: set[str]) -> Iterable[int]:
    known = controls.packets(controls.of(study), study.protocol.seed)
    done = _accepted(attempts.with_name("controls.jsonl"))
    yield from (len(judge_prompt(packet)) for number, _, packet in known if (number,) not in done)
    if "answers" in closed:
        accepted, seed = _accepted(attempts), study.protocol.seed
        for key, _, packet in sampled(lambda: packets(study.dossiers(), seed), seed, share):
            if (key,) not in accepted:
                yield len(judge_prompt(packet))
        if collection.outcome_judge and attempts == study.path / attempts_of(attempts.parent.name):
            asked = _accepted(attempts.with_name("asked.jsonl"))
            single = asking.packets(study.dossiers(), study.protocol)
            yield from (len(outcome_prompt(packet)) for number, packet in single if (number,) not in asked)
        return
    answers = len(study.protocol.states) * collection.repeats
    blank = len(answer_prompt("", [])) + answers * collection.generation.max_tokens * CHARACTERS_A_TOKEN
    yield from [blank] * ceil(Fraction(share) * collection.count)


def _accepted(path: Path) -> set[Key]:
    if not path.is_file():
        return set()
    began: dict[str, Key] = {}
    found: set[Key] = set()
    for record in records_of(path):
        if record.get("kind") == "start":
            began[record["attempt"]] = key_of(record)
        elif record.get("outcome") == "accepted" and record["attempt"] in began:
            found.add(began[record["attempt"]])
    return found
