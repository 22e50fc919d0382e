"""Judged relevance beside the answers: each question is tagged, state by state, by whether its evidence is relevant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from audit_core.errors import InputError, Problem
from audit_core.importers.delimited import MOST_PROBLEMS
from audit_core.importers.runs import NUMBER
from audit_core.importers.sources import Source
from audit_core.importers.staging import Staging
from audit_core.importers.tally import Tally
from audit_core.importers.values import TEXT_LIMIT, shown

_HEADER = ["query-id", "corpus-id", "score"]


def tag(staging: Staging, keys: Mapping[str, int], states: Sequence[str], source: Source, tally: Tally) -> int:
    """Tag every judged question with ``relevant in STATE`` or ``no relevant in STATE``.

    Args:
        keys: Number of each question by id.
        states: Names by number.
        source: The judgments.

    Returns:
        How many questions were judged.

    Raises:
        InputError: Damaged judgments, or none of a question that was answered.
    """
    judged = read(source)
    common = sorted(judged.keys() & keys.keys())
    if not common:
        found = f"{', '.join(map(shown, list(judged)[:3]))} and {', '.join(map(shown, list(keys)[:3]))}"
        action = "Name the field that holds the ids of the judgments: --map question_id=PATH"
        what = "no question of the answers is judged"
        raise InputError(Problem(what, "the same ids", found, source.name, action))
    for question_id in common:
        key, relevant = keys[question_id], judged[question_id]
        seen: dict[int, bool] = {}
        for state, evidence in staging.all(
            "SELECT state, evidence FROM entry WHERE question = ? AND evidence IS NOT NULL", key
        ):
            found_here = any(document[0] in relevant for document in json.loads(evidence))
            seen[state] = seen.get(state, False) or found_here
        for state, found_any in seen.items():
            text = f"{'relevant' if found_any else 'no relevant'} in {states[state]}"
            staging.write("INSERT OR IGNORE INTO tag VALUES (?, ?)", key, text)
    for question_id in keys.keys() - judged.keys():
        tally.add("questions_not_judged", shown(question_id))
    return len(judged)


def read(source: Source) -> dict[str, set[str]]:
    """Relevant documents by question, out of TREC qrels (``qid 0 docid rel``) or BEIR's table with its header."""
    found: dict[str, set[str]] = {}
    problems: list[Problem] = []
    with source.open() as stream:
        number, columns = 0, 4
        while data := stream.readline(TEXT_LIMIT + 1):
            number += 1
            try:
                text = data.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                text = "not UTF-8"
            parts = text.split()
            if number == 1 and parts == _HEADER:
                columns = 3
                continue
            if not parts:
                continue
            if len(parts) == columns and NUMBER.fullmatch(parts[-1]):
                relevant = found.setdefault(parts[0], set())
                if float(parts[-1]) > 0:
                    relevant.add(parts[-2])
                continue
            expected = "qid 0 docid rel" if columns == 4 else "query-id corpus-id score"
            action = "Correct the judgments; nothing was written."
            where = str(source.at(number))
            problems.append(Problem("no line of judgments", expected, shown(text.strip()), where, action))
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise InputError(problems)
    return found
