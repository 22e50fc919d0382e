"""Which cells of question × state × repeat the files fill, and how that is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from audit_core.errors import visible
from audit_core.importers.staging import BLANK, TEXT, Entry
from audit_core.importers.tally import Tally
from audit_core.importers.values import shown

OK, ERROR, MISSING = "●", "×", "·"
EACH_QUESTION = 24
"""Up to so many questions have a line each; more are put together by what they have."""
MOST_PATTERNS = 40


class Coverage:
    """Cells present, failed and missing.

    Args:
        states: Names in ladder order.
        repeats: Indices that occur in each state.
        positions: Place of each state's number on the ladder.
    """

    def __init__(self, states: Sequence[str], repeats: Sequence[Sequence[int]], positions: Sequence[int]) -> None:
        self.states, self.repeats, self._positions = states, repeats, positions
        self._columns = [{repeat: column for column, repeat in enumerate(indices)} for indices in repeats]
        self.questions = 0
        self.ok, self.errors, self.missing = [0] * len(states), [0] * len(states), [0] * len(states)
        self.thin = [0] * len(states)
        self._patterns: Counter[tuple[str, ...]] = Counter()
        self._examples: dict[tuple[str, ...], list[str]] = {}
        self._each: list[tuple[str, tuple[str, ...]]] = []

    def observe(self, question_id: str, cells: Sequence[Entry], tally: Tally) -> None:
        """Take in one question's cells."""
        self.questions += 1
        marks = [[MISSING] * len(indices) for indices in self.repeats]
        for cell in cells:
            state = self._positions[cell.state]
            mark = OK if cell.kind in (TEXT, BLANK) else ERROR
            marks[state][self._columns[state][cell.repeat]] = mark
        pattern = tuple("".join(row) for row in marks)
        answered = [state for state, row in enumerate(pattern) if row.strip(MISSING)]
        if len(answered) == 1 < len(pattern):
            tally.add("questions_of_one_state", f"{shown(question_id)}: {shown(self.states[answered[0]])}")
        for state, row in enumerate(pattern):
            ok = row.count(OK)
            self.ok[state] += ok
            self.errors[state] += row.count(ERROR)
            self.missing[state] += row.count(MISSING)
            self.thin[state] += ok < 2
            if MISSING in row:
                for repeat, mark in zip(self.repeats[state], row, strict=True):
                    if mark == MISSING:
                        tally.add(
                            "missing_cells", f"{shown(question_id)} / {shown(self.states[state])} / repeat {repeat}"
                        )
        self._patterns[pattern] += 1
        examples = self._examples.setdefault(pattern, [])
        if len(examples) < 3:
            examples.append(question_id)
        if self.questions <= EACH_QUESTION:
            self._each.append((question_id, pattern))

    def strangers(self) -> list[tuple[str, str]]:
        """Pairs of states without a question that both answered."""
        answered = [[OK in part for part in pattern] for pattern in self._patterns]
        pairs = combinations(range(len(self.states)), 2)
        return [
            (self.states[one], self.states[other])
            for one, other in pairs
            if self.ok[one] and self.ok[other] and not any(row[one] and row[other] for row in answered)
        ]

    def as_json(self) -> dict[str, Any]:
        """Counts by state and the grid, one line a question or one line a pattern."""
        each = self.questions <= EACH_QUESTION
        lines = [(1, [name], pattern) for name, pattern in self._each] if each else [
            (count, self._examples[pattern], pattern) for pattern, count in self._patterns.most_common(MOST_PATTERNS)
        ]  # fmt: skip
        return {
            "states": [
                {"state": name, "repeats": list(self.repeats[i]), "answers": self.ok[i], "errors": self.errors[i],
                 "missing": self.missing[i]}
                for i, name in enumerate(self.states)
            ],
            "grid": [
                {"questions": count, "examples": names, "cells": list(pattern)} for count, names, pattern in lines
            ],
            "patterns": len(self._patterns),
        }  # fmt: skip


def grid(coverage: dict[str, Any], questions: int) -> str:
    """The coverage of a report for people: a line for each question, or for questions that have the same cells."""
    states = coverage["states"]
    names = [_cut(state["state"], 24) for state in states]
    widths = [max(len(name), len(state["repeats"])) for name, state in zip(names, states, strict=True)]
    heads = ["question" if questions <= EACH_QUESTION else "questions", *names]
    rows = []
    for line in coverage["grid"]:
        examples = ", ".join(_cut(name, 24) for name in line["examples"])
        label = examples
        if questions > EACH_QUESTION:
            label = f"{line['questions']:,} ({examples}{', …' if line['questions'] > len(line['examples']) else ''})"
        rows.append([label, *line["cells"]])
    first = max([len(heads[0]), *(len(row[0]) for row in rows)])
    text = [
        "  ".join(part.ljust(width) for part, width in zip(row, [first, *widths], strict=True)).rstrip()
        for row in [heads, *rows]
    ]
    hidden = coverage["patterns"] - len(rows)
    if questions > EACH_QUESTION and hidden > 0:
        text.append(f"… and {hidden:,} other patterns")
    counts = [("answers", "answers"), ("errors", "errors"), ("missing", "missing")]
    for label, key in counts:
        row = [label, *(f"{state[key]:,}" for state in states)]
        text.append("  ".join(part.ljust(width) for part, width in zip(row, [first, *widths], strict=True)).rstrip())
    text.append(f"{OK} answer   {ERROR} error   {MISSING} missing; one mark for each repeat")
    return "\n".join(text)


def _cut(text: str, limit: int) -> str:
    return visible(shown(text, limit)).replace("\n", "\\n")
