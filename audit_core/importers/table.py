"""Import of tables of answers: read, align, check, report, and only then write a locked study."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers import columns, headers, qrels, runs
from audit_core.importers.align import Alignment
from audit_core.importers.build import build, protocol
from audit_core.importers.coverage import Coverage
from audit_core.importers.delimited import DelimitedReader
from audit_core.importers.facts import Facts
from audit_core.importers.findings import findings
from audit_core.importers.integrity import Integrity
from audit_core.importers.jsonl import JsonlReader
from audit_core.importers.kinds import KINDS, states
from audit_core.importers.kinds.log import Kind, LogReader
from audit_core.importers.ladder import ladder
from audit_core.importers.options import Options
from audit_core.importers.parquet import ParquetReader
from audit_core.importers.reading import MOST_REPEATS, MOST_STATES, Reader
from audit_core.importers.remarks import remark
from audit_core.importers.report import ImportReport
from audit_core.importers.sources import Source, find, sidecar
from audit_core.importers.staging import Staging
from audit_core.importers.tally import Tally
from audit_core.importers.values import shown
from audit_core.model import Question
from audit_core.normalize import RULES
from audit_core.study import free

Progress = Callable[[str, int, int | None], None]
"""Told the stage, how much of it is done, and of how much (None where that is unknown)."""
STEP, LOG_STEP = 5_000, 200


def import_table(
    files: Sequence[Path],
    study: Path,
    options: Options | None = None,
    progress: Progress | None = None,
    show: Callable[[ImportReport], None] | None = None,
    created: str | None = None,
) -> ImportReport:
    """Import tables of answers as one locked study.

    Args:
        files: CSV, JSONL and Parquet files, or folders of them.
        study: Folder to make.
        options: What a person says beyond what the files hold.
        progress: Told how far each stage is.
        show: Given the report before anything is written.
        created: Time for the locks; now by default.

    Returns:
        What was found; the study exists when this returns, unless only a dry run was asked for.

    Raises:
        InputError: The files cannot be one study; every fault that was found is named, and nothing was written.
        StorageError: The disk refuses.
    """
    options = options or Options()
    options.check()
    if not options.dry_run:
        free(study)
    with Staging() as staging:
        job = _Import(staging, study, options, progress or (lambda stage, done, total: None))
        job.read([Path(file) for file in files])
        report = job.check()
        if show:
            show(report)
        if not options.dry_run:
            job.write(created or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
            report = replace(report, written=True)
    return report


class _Import:
    """One import from its files to its study."""

    def __init__(self, staging: Staging, study: Path, options: Options, progress: Progress) -> None:
        self.staging, self.study, self.options, self.progress = staging, study, options, progress
        self.tally = Tally()
        self.facts = Facts(staging, self.tally)
        self.states: dict[str, int] = {}
        self.sources: list[Source] = []
        self.records: list[int] = []

    def read(self, files: Sequence[Path]) -> None:
        """All records of all files into the scratch database."""
        if self.options.kind is not None:
            self._read_logs(files, KINDS[self.options.kind])
        else:
            self._read_tables(files)
        if self.facts.conflicts:
            raise InputError(self.facts.conflicts)
        if not self.staging.rows:
            action = "Check the mapping of columns; nothing was written."
            reasons = [(f.sentence.rstrip("."), f.where) for f in findings(self.tally) if f.severity == "error"]
            found = f"{sum(self.records):,} records"
            raise InputError(
                [Problem("no record can be used", "answers", found, ", ".join(s.name for s in self.sources), action)]
                + [Problem(sentence, where=where, action="Correct the files.") for sentence, where in reasons]
            )
        if self.options.kind is not None:
            self._settle(KINDS[self.options.kind])
        self._check_settings()
        self.staging.index()
        self._attach_runs()

    def _check_settings(self) -> None:
        """Settings are those of states that there are."""
        for name in dict.fromkeys(state for state, _, _ in self.options.settings):
            if name not in self.states:
                action = "Write --setting STATE NAME=VALUE, with a state of the answers."
                known = ", ".join(map(shown, self.states))
                raise InputError(Problem("no such state", known, shown(name), "--setting", action))

    def _attach_runs(self) -> None:
        """Evidence out of ranked lists that stand in files of their own."""
        for name, path in self.options.runs:
            if name not in self.states:
                known = ", ".join(map(shown, self.states))
                action = "Write --run STATE=FILE, with a state of the answers."
                raise InputError(Problem("no such state", known, shown(name), "--run", action))
            source = self._beside(path)
            lists = runs.attach(
                self.staging, self.facts.keys, self.states[name], name, source, self.options.run_depth, self.tally
            )
            self.records.append(lists)
        if self.options.qrels is not None:
            source = self._beside(self.options.qrels)
            self.records.append(qrels.tag(self.staging, self.facts.keys, list(self.states), source, self.tally))
        for source in self.sources:
            source.unchanged()

    def _beside(self, path: Path) -> Source:
        self.sources.append(sidecar(Path(path)))
        return self.sources[-1]

    def _read_tables(self, files: Sequence[Path]) -> None:
        self.sources = find(files, self._skipped)
        mapping = columns.pairs(self.options.mapping)
        heads: list[headers.TableReader] = []
        for source in self.sources:
            # Only the names are looked at, with a tally that nobody reads; each file is then opened in its turn.
            heads.append(_open(source, self.options, Tally()))
            heads[-1].close()
        plans = [columns.plan(head.columns, mapping) for head in heads]
        headers.check(self.sources, heads, plans, self.options, self.tally)
        seen: set[str] = set()
        counters: dict[tuple[int, int], int] = {}
        for index, (source, plan) in enumerate(zip(self.sources, plans, strict=True)):
            with closing(_open(source, self.options, self.tally)) as reader:
                rows = Reader(
                    (index, source), plan, reader.repeated, self.options, self.facts, self.staging, self.tally,
                    self.states, counters,
                )  # fmt: skip
                if isinstance(reader, ParquetReader):
                    reader.wanted = [name for name in reader.columns if name in plan.wanted]
                number = 0
                for number, line, values in reader.records():
                    rows.take(number, line, values)
                    if not number % STEP:
                        self.progress("reading", sum(self.records) + number, None)
            self.records.append(number)
            source.unchanged()
            seen.update(reader.seen)
            for name in columns.plan(reader.seen, mapping).ignored:
                self.tally.add("ignored_columns", f"{source.name}: {shown(name)}")
        headers.check_mapping(seen, mapping)

    def _read_logs(self, files: Sequence[Path], kind: Kind) -> None:
        self.sources = find(files, self._skipped, kind.name, kind.forms)
        counters: dict[tuple[int, int], int] = {}
        whole, before = sum(source.size for source in self.sources), 0
        for index, source in enumerate(self.sources):
            with closing(LogReader(kind, source, self.options, self.tally)) as reader:
                rows = Reader(
                    (index, source), columns.plan(reader.columns, []), (), self.options, self.facts, self.staging,
                    self.tally, self.states, counters,
                )  # fmt: skip
                for number, line, values in reader.records():
                    rows.take(number, line, values)
                    if not number % LOG_STEP:
                        self.progress("reading", before + reader.position, whole)
                self.records.append(reader.count)
            before += source.size
            source.unchanged()

    def _settle(self, kind: Kind) -> None:
        """Name the states of logs, and number their repeats, now that all of them are known."""
        found = states.settle(list(self.states), kind.states, self.options, self.sources)
        names = list(dict.fromkeys(found.names[number] for number in found.order))
        if len(names) > MOST_STATES:
            action = "Name what tells them apart: --state-from, or --state NAME=FILE."
            raise InputError(Problem("too many states", f"at most {MOST_STATES}", f"{len(names):,}", action=action))
        self.staging.settle([names.index(name) for name in found.names], found.order, kind.ordered)
        counts = self.staging.all("SELECT count(DISTINCT repeat) FROM entry GROUP BY state")
        most = max(count for (count,) in counts)
        if most > MOST_REPEATS:
            action = "Check which field tells the states apart: --state-from."
            raise InputError(Problem("too many repeats", f"at most {MOST_REPEATS:,}", f"{most:,}", action=action))
        self.states = {name: number for number, name in enumerate(names)}
        self.tally.add("states_told_apart", f"by {' and '.join(found.parts)}: {', '.join(map(shown, names))}")
        for name in names:
            if (count := found.names.count(name)) > 1:
                self.tally.add("repeats_put_together", f"{shown(name)}: {count} files or runs")

    def _skipped(self, name: str, why: str) -> None:
        self.tally.add("skipped_files", f"{name}: {why}")

    def check(self) -> ImportReport:
        """Everything that is checked before a study appears.

        Raises:
            InputError: Two rows claim one cell, or states and endpoints do not fit.
        """
        ids = list(self.facts.keys)
        names = list(self.states)
        advice = "Export each repeat to a file of its own, or name what tells the two apart: --state-from."
        self.alignment = Alignment(self.staging, ids, names, self.sources, advice if self.options.kind else "")
        self.ladder, self.endpoints = ladder(names, self.options)
        positions = [self.ladder.index(name) for name in names]
        indices: list[list[int]] = [[] for _ in names]
        for state, repeat in self.staging.all("SELECT DISTINCT state, repeat FROM entry ORDER BY 1, 2"):
            indices[positions[state]].append(repeat)
        coverage = Coverage(self.ladder, indices, positions)
        integrity = Integrity(RULES[self.options.rule], self.alignment, self.tally, names)
        self.questions: list[Question] = []
        tags = self._tags()
        facts = self.staging.stream("SELECT question_id, text, gold, weight FROM question ORDER BY key")
        for (key, cells), (question_id, text, gold, weight) in zip(self.alignment.questions(), facts, strict=True):
            if not self.facts.asked[key]:
                self.tally.add("gold_of_unknown_questions", shown(question_id))
                continue
            self.questions.append(Question(question_id, text, tuple(tags.get(key, ())), weight))
            integrity.question(question_id, text, json.loads(gold) if gold else [])
            integrity.cells(cells)
            coverage.observe(question_id, cells, self.tally)
            if not key % STEP:
                self.progress("checking", key, len(ids))
        if self.alignment.conflicts:
            raise InputError(self.alignment.conflicts)
        if self.alignment.duplicates:
            self.tally.add("duplicate_rows", count=self.alignment.duplicates)
        integrity.finish()
        remark(integrity, coverage, len(self.questions), self.tally)
        self.found = findings(self.tally)
        self.gold, self.evidence = integrity.gold > 0, integrity.evidence > 0
        # How many documents each list of evidence has, where all have the same number.
        self.depth = max(integrity.depths) or None if len(integrity.depths) == 1 else None
        return ImportReport(
            str(self.study),
            False,
            sum(self.records),
            len(self.questions),
            self.ladder,
            {name: len(repeats) for name, repeats in zip(self.ladder, indices, strict=True)},
            self.found,
            [
                {"name": s.name, "format": s.form, "size": s.size, "sha256": s.sha256, "records": records}
                for s, records in zip(self.sources, self.records, strict=True)
            ],
            coverage.as_json(),
            self.endpoints,
        )

    def write(self, created: str) -> None:
        """The study, locked."""
        described = protocol(
            self.study, self.options, self.ladder, self.endpoints, self.sources, (self.gold, self.evidence, self.depth)
        )

        def step(done: int) -> None:
            if not done % STEP:
                self.progress("writing", done, len(self.questions))

        build(
            self.study, described, self.staging, self.alignment, self.questions, self.found, list(self.states), created,
            step,
        )  # fmt: skip

    def _tags(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for key, tag in self.staging.stream("SELECT question, tag FROM tag ORDER BY question, tag"):
            found.setdefault(key, []).append(tag)
        return found


def _open(source: Source, options: Options, tally: Tally) -> Any:
    if source.form == "csv":
        return DelimitedReader(source, options.delimiter, tally)
    return JsonlReader(source, tally) if source.form == "jsonl" else ParquetReader(source, tally)
