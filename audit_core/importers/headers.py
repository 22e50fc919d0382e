"""Whether the files have the columns that an import needs; every lack is named at once."""

from __future__ import annotations

from collections.abc import Sequence

from audit_core.errors import InputError, Problem
from audit_core.importers.columns import COLUMNS, UNREAD, Plan, candidate, pairs, suggestion
from audit_core.importers.delimited import DelimitedReader
from audit_core.importers.jsonl import JsonlReader
from audit_core.importers.options import Options
from audit_core.importers.parquet import ParquetReader
from audit_core.importers.reading import ANSWERING
from audit_core.importers.sources import Source
from audit_core.importers.tally import Tally
from audit_core.importers.values import shown

TableReader = DelimitedReader | JsonlReader | ParquetReader
_FACTS = {"question", "gold", "tags", "weight"}


def check(
    sources: Sequence[Source], readers: Sequence[TableReader], plans: Sequence[Plan], options: Options, tally: Tally
) -> None:
    """Refuse files that lack a column; remark on columns that are made up for.

    Raises:
        InputError: Naming each file and column, with what to write.
    """
    problems: list[Problem] = []
    answering = False
    for source, reader, plan in zip(sources, readers, plans, strict=True):
        found = plan.names.keys()
        problems += [
            Problem("two columns have one name", "different names", shown(name), source.name, "Rename one of them.")
            for name in reader.repeated
            if name in plan.wanted and name not in plan.names.get("gold", ())
        ]
        if "question_id" not in found and "question" not in found:
            problems.append(_lack("question_id", source, reader))
        elif "question_id" not in found:
            tally.add("ids_made_from_questions", source.name)
        if found.isdisjoint(ANSWERING) and not found.isdisjoint(_FACTS):
            continue
        answering = True
        if "answer" not in found and "error" not in found:
            problems.append(_lack("answer", source, reader))
        if "state" not in found and not options.state and options.state_from == "column":
            if candidate("state", [name for name in reader.columns if name not in plan.wanted]):
                more = " If a file holds one state: --state NAME or --state-from-file."
                problems.append(_lack("state", source, reader, more))
            else:
                tally.add("states_named_after_files", f"{source.name}: {source.path.stem}")
        if "repeat" not in found:
            tally.add("repeats_numbered_here" if options.number_repeats else "no_repeat_column", source.name)
    if not answering and not problems:
        problems = [_lack("answer", source, reader) for source, reader in zip(sources, readers, strict=True)]
    if problems:
        raise InputError(problems)
    if all(reader.complete for reader in readers):
        check_mapping({name for reader in readers for name in reader.columns}, pairs(options.mapping))


def check_mapping(seen: set[str], mapping: Sequence[tuple[str, str]]) -> None:
    """Refuse a mapping to a column that no file has.

    Raises:
        InputError: Naming each such pair.
    """
    problems = [
        Problem(
            "a mapped column is in no file",
            f"a column {shown(right)}",
            ", ".join(shown(name, 40) for name in sorted(seen)[:20]),
            f"--map {shown(left)}={shown(right)}",
            "Write --map OURS=THEIRS, with the name as the file spells it.",
        )
        for left, right in mapping
        if right not in (*seen, UNREAD) and (left not in seen or right not in COLUMNS)
    ]
    if problems:
        raise InputError(problems)


def _lack(column: str, source: Source, reader: TableReader, more: str = "") -> Problem:
    names = ", ".join(shown(name, 40) for name in reader.columns[:20])
    taken = "The column of this name is mapped to something else; map another one."
    action = taken if column in reader.columns else suggestion(column, reader.columns) + more
    return Problem(f"no column {column}", COLUMNS[column], names or "no column", source.name, action)
