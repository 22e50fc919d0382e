"""Ranked lists beside the answers: a TREC run or BEIR results for each state, as the evidence of its cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.delimited import MOST_PROBLEMS
from audit_core.importers.document import decode
from audit_core.importers.sources import Source
from audit_core.importers.staging import Staging
from audit_core.importers.tally import Tally
from audit_core.importers.values import TEXT_LIMIT, Number, scrub, shown

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
RANK = re.compile(r"\d{1,9}")
MOST_DOCUMENTS = 100
"""Longer lists are more than a generator reads; how many it read has to be said."""
MOST_BYTES = 256 << 20
Ranked = list[tuple[str, str]]
"""Document ids with their scores as they are written, the best first."""


def attach(
    staging: Staging, keys: Mapping[str, int], state: int, name: str, source: Source, depth: int | None, tally: Tally
) -> int:
    """Make the lists of a run the evidence of all cells of a state.

    Args:
        keys: Number of each question by id.
        state: Number of the state.
        name: Of the state.
        source: The run.
        depth: How many documents of each list were read; None for all.

    Returns:
        How many lists the run holds.

    Raises:
        InputError: A damaged run, one that shares no question with the answers, lists that are too long to be
            evidence, or cells that have evidence already.
    """
    if staging.all("SELECT 1 FROM entry WHERE state = ? AND evidence IS NOT NULL LIMIT 1", state):
        action = "Leave --run out for this state, or --map evidence."
        raise _refused(source, f"the answers of {shown(name)} hold evidence already", "evidence from one place",
                       "two", action)  # fmt: skip
    lists = read(source, tally)
    common = lists.keys() & keys.keys()
    if not common:
        found = f"{', '.join(map(shown, list(lists)[:3]))} and {', '.join(map(shown, list(keys)[:3]))}"
        action = "Name the field that holds the run's ids: --map question_id=PATH"
        raise _refused(source, "the run has no question of the answers", "the same ids", found, action)
    longest = max(len(lists[question]) for question in common)
    if depth is None and longest > MOST_DOCUMENTS:
        action = "Say how many documents the generator was given: --run-depth N"
        raise _refused(source, "a list is too long", f"at most {MOST_DOCUMENTS} documents", f"{longest:,}", action)
    for question in lists.keys() - common:
        tally.add("run_questions_unknown", f"{source.name}: {shown(question)}")
    for question in sorted(common):
        documents = [[document, score, "", None, ""] for document, score in lists[question][:depth]]
        text = json.dumps(documents, ensure_ascii=False)
        staging.write("UPDATE entry SET evidence = ? WHERE question = ? AND state = ?", text, keys[question], state)
    lacking = staging.all(
        "SELECT DISTINCT question_id FROM entry JOIN question ON question = key WHERE state = ? AND evidence IS NULL "
        "ORDER BY key",
        state,
    )
    for (question,) in lacking:
        tally.add("questions_without_run", f"{shown(question)} / {shown(name)}")
    return len(lists)


def read(source: Source, tally: Tally) -> dict[str, Ranked]:
    """Lists by question, ordered by score, the largest first; equal scores by rank, then by place in the file."""
    rows = _beir(source) if source.form == "json" else _trec(source)
    found: dict[str, list[tuple[Decimal, int, str, str]]] = {}
    for question, document, rank, score in rows:
        found.setdefault(question, []).append((-Decimal(score), rank, document, score))
    lists = {}
    for question, entries in found.items():
        ranks = [entry[1] for entry in entries]
        entries.sort(key=lambda entry: entry[:2])
        if source.form != "json" and len(entries) > 1:
            if len(set(ranks)) == 1:
                tally.add("ranks_all_equal", f"{source.name}: {shown(question)}")
            elif [entry[1] for entry in entries] != sorted(ranks):
                tally.add("ranks_against_scores", f"{source.name}: {shown(question)}")
        lists[question] = [(document, score) for _, _, document, score in entries]
    return lists


def _trec(source: Source) -> Iterator[tuple[str, str, int, str]]:
    """``qid Q0 docid rank score tag`` between white space; ids may be anything else."""
    problems: list[Problem] = []
    with source.open() as stream:
        number = 0
        while data := stream.readline(TEXT_LIMIT + 1):
            number += 1
            if number == 1:
                data = data.removeprefix(b"\xef\xbb\xbf")
            try:
                parts = [part.decode() for part in data.split()]  # bytes: a no-break space belongs to an id
            except UnicodeDecodeError:
                parts = ["", "not UTF-8"]
            if not parts:
                continue
            if len(parts) == 6 and RANK.fullmatch(parts[3]) and NUMBER.fullmatch(parts[4]):
                yield parts[0], parts[2], int(parts[3]), parts[4]
                continue
            found = f"{len(parts)} columns" if len(parts) != 6 else shown(f"rank {parts[3]}, score {parts[4]}")
            problems.append(
                Problem("no line of a TREC run", "qid Q0 docid rank score tag", found, str(source.at(number)),
                        "Correct the run; nothing was written.")
            )  # fmt: skip
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise InputError(problems)


def _beir(source: Source) -> Iterator[tuple[str, str, int, str]]:
    """``{qid: {docid: score}}``."""
    if source.size > MOST_BYTES:
        raise _refused(source, "the results are too large", f"at most {MOST_BYTES:,} bytes", f"{source.size:,}")
    with source.open() as stream:
        data = stream.read()
    try:
        value: Any = decode(data.decode("utf-8-sig").strip())
    except ValueError as error:
        raise _refused(source, f"damaged JSON: {error}") from None
    lists = value.items() if isinstance(value, dict) else ()
    if not lists or not all(isinstance(scores, dict) for _, scores in lists):
        raise _refused(source, "no BEIR results", "{question: {document: score}}", "another shape")
    for question, scores in lists:
        for place, (document, score) in enumerate(scores.items()):
            if not document.strip():
                raise _refused(source, "a document has no id", "text", f"{shown(question)}: {document!r}")
            if type(score) is not Number or not NUMBER.fullmatch(score):
                raise _refused(source, "a score is no number", "a number", f"{shown(question)}: {shown(document)}")
            # Half a character is no text; the answers' ids have lost theirs in the same way.
            yield scrub(question)[0], scrub(document)[0], place, str(score)


def _refused(source: Source, what: str, expected: str = "", found: str = "", action: str = "") -> InputError:
    return InputError(Problem(what, expected, found, source.name, action or "Check the file; nothing was written."))
