"""Precision and recall of the text rules on the labelled texts of ``data/labels``: ``python -m benchmarks.rules``.

Prints the tables that stand in ``docs/refusals.md``; ``--misses`` also what the rules get wrong in the labels that they
were written on. The other half is measured and never listed, so that it stays a measurement.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from audit_core.rules.aspects import parts
from audit_core.rules.outcome import OutcomeRule, read
from audit_core.rules.passage_kind import kind_of

LABELS = Path(__file__).parents[1] / "data" / "labels"
SETS = ("written-on", "held-out")
UNKNOWN = ("UNKNOWN",)
Pair = tuple[str, str]


def labelled(name: str, which: str) -> list[dict[str, Any]]:
    """The labelled texts of one set, in the order of the file."""
    lines = (LABELS / name).read_text("utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["set"] == which]


def passages(which: str) -> list[Pair]:
    """(label, what the rule says) of each passage."""
    return [(r["kind"], kind_of(r["text"], r["title"]).kind) for r in labelled("passage-kinds.jsonl", which)]


def outcomes(which: str) -> list[Pair]:
    """(label, what the rule says) of each answer."""
    rule = OutcomeRule()
    return [(r["outcome"], read(r["answer"], UNKNOWN, rule).outcome) for r in labelled("answer-outcomes.jsonl", which)]


def questions(which: str) -> list[tuple[list[str], list[str]]]:
    """(labelled parts, parts of the rule) of each question."""
    return [(r["parts"], list(parts(r["question"]))) for r in labelled("question-parts.jsonl", which)]


def words(part: str) -> frozenset[str]:
    """Words of a part without articles and *and*: what a search would see."""
    return frozenset(re.findall(r"\w+", part.casefold())) - {"a", "an", "the", "and", "or"}


def classes(pairs: Sequence[Pair], names: Iterable[str]) -> list[str]:
    """A row of precision and recall for each class."""
    rows = []
    for name in names:
        right = sum(label == said == name for label, said in pairs)
        rows.append((name, right, sum(said == name for _, said in pairs), sum(label == name for label, _ in pairs)))
    return [f"| {name} | {right} of {said} | {right} of {there} |" for name, right, said, there in rows]


def of_parts(pairs: Sequence[tuple[list[str], list[str]]]) -> list[str]:
    """Rows for the parts of questions of several parts, and for whole questions."""
    several = [(label, said) for label, said in pairs if len(label) > 1 or len(said) > 1]
    right = given = there = 0
    for label, said in several:
        a, b = Counter(map(words, label)), Counter(map(words, said))
        right += (a & b).total()
        given += len(said) if len(said) > 1 else 0
        there += len(label) if len(label) > 1 else 0
        right -= (a & b).total() if len(said) == 1 or len(label) == 1 else 0
    one = [(label, said) for label, said in pairs if len(label) == 1]
    more = [(label, said) for label, said in pairs if len(label) > 1]
    return [
        f"| parts | {right} of {given} | {right} of {there} |",
        f"| questions cut | {sum(len(b) > 1 for _, b in more)} of {sum(len(b) > 1 for _, b in pairs)} "
        f"| {sum(len(b) > 1 for _, b in more)} of {len(more)} |",
        f"| questions left whole | {sum(len(b) == 1 for _, b in one)} of {sum(len(b) == 1 for _, b in pairs)} "
        f"| {sum(len(b) == 1 for _, b in one)} of {len(one)} |",
    ]


def tables() -> list[str]:
    """The tables as they stand in the documentation."""
    lines: list[str] = []
    titles = {"written-on": "on the texts that the rule was written on", "held-out": "on texts held out"}
    of_answers = ("answered", "partial", "refused")
    for which in SETS:
        measured = [
            ("passage_kind/1", "passages", len(passages(which)),
             classes(passages(which), ("body", "bibliography", "index", "contents"))),
            ("aspects/1", "questions", len(questions(which)), of_parts(questions(which))),
            ("clauses/1", "answers", len(outcomes(which)), classes(outcomes(which), of_answers)),
        ]  # fmt: skip
        for rule, what, number, rows in measured:
            lines += [f"`{rule}` {titles[which]}, {number} {what}:", "", "| | precision | recall |", "|---|---|---|"]
            lines += [*rows, ""]
    return lines


def misses() -> list[str]:
    """What the rules get wrong in the half that they were written on."""
    which = SETS[0]
    lines = []
    for record, (label, said) in zip(labelled("passage-kinds.jsonl", which), passages(which), strict=True):
        if label != said:
            lines.append(f"{label} read as {said}: {record['text'][:90]!r}")
    for label_parts, said_parts in questions(which):
        if Counter(map(words, label_parts)) != Counter(map(words, said_parts)):
            lines.append(f"{label_parts} cut as {said_parts}")
    for record, (label, said) in zip(labelled("answer-outcomes.jsonl", which), outcomes(which), strict=True):
        if label != said:
            lines.append(f"{label} read as {said}: {record['answer']!r}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list what is wrong where the rules were written on")
    print("\n".join([*tables(), *(misses() if parser.parse_args().misses else [])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
