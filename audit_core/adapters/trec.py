"""Replay of TREC runs: ``qid Q0 docid rank score tag``, one file per state, with the texts from the corpus.

Lists are ordered by score, larger first, as evaluation tools do; equal scores by rank. Ranks that contradict the scores
are therefore overruled, as those tools overrule them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from audit_core.adapters import choosing
from audit_core.adapters.hits import Found, Lists, decimal_text
from audit_core.adapters.shelf import LISTED, Shelf
from audit_core.errors import InputError, Problem
from audit_core.policies import PLAIN, Policy
from audit_core.prompts import Passage

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
RANK = re.compile(r"\d{1,9}")
MOST = 100
ACTION = "Correct the run; nothing was written."


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a run."""

    document: str
    rank: int
    score: Decimal
    number: int


def read_run(path: Path, questions: Collection[str] | None = None) -> tuple[dict[str, list[Line]], list[Problem]]:
    """Lists of a run, ordered, and its faults.

    Args:
        path: The file.
        questions: Ids that may occur: the whole population; None for a run that was checked before.
    """
    found: dict[str, list[Line]] = {}
    faults: list[Problem] = []
    seen: dict[tuple[str, str, str], int] = {}

    def fault(what: str, expected: str, text: str, number: int) -> None:
        faults.append(Problem(what, expected, text[:80], f"{path.name}: line {number}", ACTION))

    with path.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            if len(faults) >= MOST:
                break
            try:
                parts = raw.decode().split()
            except UnicodeDecodeError:
                fault("the line is not UTF-8", "UTF-8 text", "other bytes", number)
                continue
            if not parts:
                continue
            if len(parts) != 6:
                fault("a line has another number of columns", "qid Q0 docid rank score tag", f"{len(parts)} columns",
                      number)  # fmt: skip
                continue
            question, _, document, rank, score, _ = parts
            good = True
            for bad, what, expected, text in (
                (
                    questions is not None and question not in questions,
                    "the question is unknown",
                    "an id of the population",
                    question,
                ),
                (not RANK.fullmatch(rank), "the rank is not a whole number", "0 or more", rank),
                (not NUMBER.fullmatch(score), "the score is not a finite number", "decimal text", score),
            ):
                if bad:
                    fault(what, expected, text, number)
                    good = False
            for kind, value in (("document", document), ("rank", rank.lstrip("0") or "0")):
                first = seen.setdefault((question, kind, value), number)
                if first != number:
                    fault(f"a {kind} is twice in one list", f"each {kind} once",
                          f"{value} for {question}, first in line {first}", number)  # fmt: skip
                    good = False
            if good:
                found.setdefault(question, []).append(Line(document, int(rank), Decimal(score), number))
    for lines in found.values():
        lines.sort(key=lambda line: (-line.score, line.rank))
    return found, faults


def check_runs(
    runs: Mapping[str, Path],
    reach: Mapping[str, int],
    population: Collection[str],
    selected: Sequence[str],
    shard_of: Mapping[str, int],
) -> None:
    """Read every run against the questions and the documents that its state can reach.

    Args:
        runs: File by state.
        reach: Shards by state.
        population: Ids of all questions.
        selected: Ids that must have a list.
        shard_of: Position of the first shard that holds a document, from 0.

    Raises:
        InputError: One message lists the faults of all runs.
    """
    faults = []
    for state, path in runs.items():
        found, more = read_run(path, population)
        faults += more
        for question, lines in found.items():
            for line in lines:
                if shard_of.get(line.document, reach[state]) >= reach[state]:
                    where = f"{path.name}: line {line.number}"
                    found_text = f"{line.document[:60]} for {question[:40]}"
                    expected = f"one of the {reach[state]} shards of {state}"
                    faults.append(Problem("the document is unknown", expected, found_text, where, ACTION))
        missing = [question for question in selected if question not in found]
        if missing and not more:
            faults.append(Problem(f"{len(missing)} selected questions have no list", "a line for each",
                                  ", ".join(missing[:5]), path.name, "Complete the run, or exclude them."))  # fmt: skip
    if faults:
        raise InputError(faults)


def replay(
    runs: Mapping[str, Path],
    shards: Sequence[Iterable[Passage]],
    reach: Mapping[str, int],
    questions: Sequence[tuple[str, str]],
    depth: int,
    policies: Mapping[str, Policy] | None = None,
) -> Lists:
    """Ranked passages of existing runs; see `fts.retrieve` for the arguments."""
    with closing(Shelf(LISTED, lambda passage: passage.document_id)) as shelf:
        added = 0
        for state, count in reach.items():
            if not count:
                continue
            for shard in shards[added:count]:
                shelf.add(shard)
            added, policy = count, (policies or {}).get(state, PLAIN)
            most, lists = choosing.longest(shelf, policy, depth), read_run(runs[state])[0]
            for question_id, _ in questions:
                lines = lists.get(question_id, [])[:most]
                plain = {shelf.place(line.document): decimal_text(str(line.score)) for line in lines}
                yield Found(question_id, state, *choosing.found(shelf, plain, plain, policy, depth=depth))
