"""A first look at files before they are imported: which tool wrote them, their columns, their first rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from audit_core.importers import columns
from audit_core.importers.delimited import DelimitedReader
from audit_core.importers.jsonl import JsonlReader
from audit_core.importers.kinds import KINDS
from audit_core.importers.kinds.log import SEPARATOR, LogReader
from audit_core.importers.options import Options
from audit_core.importers.parquet import ParquetReader
from audit_core.importers.sources import Source, find
from audit_core.importers.tally import Tally

TABLE = "table"
HEAD = 64 << 10
"""Bytes of a file by which its kind is guessed."""
ROWS = 5

SIGNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("llm-comparator", frozenset(("input_text", "output_text_a", "output_text_b"))),
    ("promptfoo", frozenset(("promptIdx", "testIdx"))),
    ("promptfoo", frozenset(("evalId", "results"))),
    ("inspect", frozenset(("eval", "task", "run_id"))),
    ("deepeval", frozenset(("testCases", "actualOutput"))),
    ("lm-eval", frozenset(("doc_id", "resps"))),
    ("phoenix", frozenset(("example_id", "repetition_number"))),
    ("ragchecker", frozenset(("query_id", "gt_answer", "response"))),
    ("open-rag-eval", frozenset(("query_id", "passage_id", "passage"))),
    ("langfuse", frozenset(("experimentId", "experimentItemId"))),
    ("langfuse", frozenset(("traceId", "expectedOutput"))),
    ("ragas", frozenset(("user_input", "response"))),
    ("ragas", frozenset(("question", "contexts", "answer"))),
)
"""Names that stand together in a tool's files, the most telling first."""
_NAMES = re.compile(rb'"([A-Za-z_][A-Za-z0-9_]{1,40})"\s*:')


@dataclass(frozen=True, slots=True)
class Peek:
    """What the first look found.

    Attributes:
        columns: The file's own names; of a log ours.
        rows: The first records by those names.
        guess: Our column and the file's name of it, for a table.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    guess: dict[str, str]


def guess_kind(path: Path) -> str:
    """The tool that probably wrote a file; ``table`` where no tool is recognized."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    if head[:4] == b"PK\x03\x04":
        return "inspect"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        names = {name.decode() for name in _NAMES.findall(head)}
    else:
        first = head.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
        names = {name.strip(" \"'\r") for name in re.split(r"[,;\t]", first)}
    return next((kind for kind, signs in SIGNS if signs <= names), TABLE)


def peek(paths: Sequence[Path], options: Options) -> Peek:
    """Columns and first rows of the first file, read as a table or as a tool's log.

    Raises:
        InputError: It cannot be read as that.
    """
    kind = KINDS[options.kind] if options.kind else None
    # nothing is asked of the files here that only all of them together can answer
    source = find(paths[:1], lambda _name, _why: None, kind.name if kind else None, kind.forms if kind else ())[0]
    if kind is not None:
        with closing(LogReader(kind, source, replace(options, mapping=()), Tally())) as log:
            found = [row for _, _, row in islice(log.records(), ROWS)]
        shown = [{**row, "state": _state(row.get("state"))} for row in found]
        hidden = ("repeat",) if kind.ordered else ()  # numbered only once all records are there
        held = (name for name in log.columns if name not in hidden)
        used = tuple(name for name in held if any(row.get(name) not in (None, "", []) for row in shown))
        return Peek(used, tuple(shown), {})
    with closing(_table(source, options)) as reader:
        rows = tuple(values for _, _, values in islice(reader.records(), ROWS))
        names = tuple(dict.fromkeys([*reader.columns, *(name for row in rows for name in row)]))
    return Peek(names, rows, _guess(names))


def _state(value: object) -> str:
    return " · ".join(part for part in str(value or "").split(SEPARATOR) if part)


def _guess(names: Sequence[str]) -> dict[str, str]:
    """Which of our columns a name probably stands for; no name stands for two."""
    found: dict[str, str] = {}
    for column in columns.COLUMNS:
        left = [name for name in names if name not in found.values()]
        if (name := columns.candidate(column, left)) is not None:
            found[column] = name
    return found


def _table(source: Source, options: Options) -> DelimitedReader | JsonlReader | ParquetReader:
    if source.form == "csv":
        return DelimitedReader(source, options.delimiter, Tally())
    return JsonlReader(source, Tally()) if source.form == "jsonl" else ParquetReader(source, Tally())
