"""The columns of a table of answers, and which of a file's own columns stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from audit_core.errors import InputError, Problem
from audit_core.importers.values import shown

COLUMNS: dict[str, str] = {
    "question_id": "id of the question, text to the letter; made from the question where there is no such column",
    "question": "the question itself",
    "state": "rung of the ladder, such as the snapshot's name",
    "repeat": "number of the independent call, 0 or more",
    "answer": "text to the letter; a blank cell is an empty answer, null is none",
    "evidence": "JSON list of document ids or of {document_id, text, score, title, family}; or one passage's text",
    "outcome": "what the answer does: answered, partial or refused",
    "excerpts": "verbatim excerpts of the answer: JSON list of {text, document_id, rank}",
    "passage_id": "document id, in files with one row a passage",
    "passage": "text of the passage, in files with one row a passage",
    "gold": "accepted answers: a JSON list, or one text; the column may occur several times",
    "status": "ok or error",
    "error": "what went wrong, where no answer came back",
    "tags": "slices of the question: a JSON list, or texts between commas",
    "weight": "traffic weight of the question, a whole number",
    "cached": "true where a cache answered",
    "response_id": "id of the model's response",
    "time": "when the answer came; used only to find copies",
}
"""Our columns and what they hold."""
UNREAD = "-"
"""Mapped to a column of ours, it leaves the file's column of that name unread."""

BLANK_INDEX = "Unnamed: "
"""How table tools call a column of row numbers that was saved by accident."""

_WORDS = {
    "question_id": ("id", "qid", "query_id", "example_id", "item_id", "sample_id", "key"),
    "question": ("query", "prompt", "input", "user_input"),
    "state": ("snapshot", "system", "model", "condition", "index", "version", "variant"),
    "repeat": ("query_run", "epoch", "trial", "run", "repetition", "attempt", "seed"),
    "answer": ("generated_answer", "response", "output", "prediction", "completion", "text"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a file holds our columns.

    Attributes:
        names: The file's names by our column; several only for gold.
        wanted: All of the file's names that are read.
        ignored: The file's names that are not.
    """

    names: Mapping[str, tuple[str, ...]]
    wanted: tuple[str, ...]
    ignored: tuple[str, ...]

    def name(self, column: str) -> str | None:
        """The file's name of a column, or None."""
        found = self.names.get(column)
        return found[0] if found else None


def pairs(mapping: Iterable[str]) -> list[tuple[str, str]]:
    """Options ``column=name`` as pairs.

    Raises:
        InputError: One of them has no ``=`` or an empty side.
    """
    found, problems = [], []
    for item in mapping:
        left, equals, right = item.partition("=")
        if not (left and equals and right):
            problems.append(
                Problem(
                    "a mapping is not column=name",
                    "such as question_id=qid",
                    repr(shown(item)),
                    "--map",
                    "Write --map OURS=THEIRS.",
                )
            )
        found.append((left.strip(), right))
    if problems:
        raise InputError(problems)
    return found


def plan(found: Iterable[str], mapping: list[tuple[str, str]]) -> Plan:
    """Which of the names found in a file stand for our columns.

    A pair may be written the wrong way round (``qid=question_id``); it is turned where only that makes sense.

    Raises:
        InputError: A pair names none of our columns, or two names stand for one column.
    """
    found = list(found)
    names: dict[str, list[str]] = {}
    unread: set[str] = set()
    problems = []
    for left, right in mapping:
        column, name = left, right
        if left not in COLUMNS or (right in COLUMNS and left in found and right not in found):
            column, name = right, left
        if column not in COLUMNS:
            problems.append(
                Problem(
                    "a mapping names no column of ours",
                    "one of " + ", ".join(COLUMNS),
                    f"{shown(left)}={shown(right)}",
                    "--map",
                    "Write --map OURS=THEIRS, such as --map question_id=qid.",
                )
            )
        elif name == UNREAD:
            unread.add(column)
        elif name not in names.setdefault(column, []):
            names[column].append(name)
    for name in found:
        taken = any(name in theirs for theirs in names.values())
        if name in COLUMNS.keys() - unread and name not in names and not taken:
            names[name] = [name]
    problems += [
        Problem(
            "two columns are mapped to one",
            f"one name for {column}",
            ", ".join(map(shown, theirs)),
            "--map",
            "Map one of them.",
        )
        for column, theirs in names.items()
        if len(theirs) > 1 and column != "gold"
    ]
    if problems:
        raise InputError(problems)
    wanted = tuple(name for theirs in names.values() for name in theirs)
    ignored = tuple(name for name in found if name not in wanted and not name.startswith(BLANK_INDEX))
    return Plan({column: tuple(theirs) for column, theirs in names.items()}, wanted, ignored)


def candidate(column: str, found: Iterable[str]) -> str | None:
    """The name in a file that probably stands for a column of ours."""
    simple = {name.strip().casefold().replace(" ", "_").replace("-", "_"): name for name in found}
    return next((simple[word] for word in (column, *_WORDS.get(column, ())) if word in simple), None)


def suggestion(column: str, found: Iterable[str]) -> str:
    """What to write for a column that a file calls something else."""
    found = list(found)
    if len(found) == 1 and any(mark in found[0] for mark in (";", "\t", "|")):
        mark = next(mark for mark in ("\t", ";", "|") if mark in found[0])
        return f"The values seem to be separated by {mark!r}: add --delimiter {mark!r}."
    probable = candidate(column, found)
    if probable is not None:
        return f"Perhaps --map {column}={_quoted(probable)}."
    return f"Name the column: --map {column}=NAME"


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
