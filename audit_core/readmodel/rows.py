"""Rows of one study for `audit.db`, written question by question."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlite_utils

from audit_core.codec import Record, dump
from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem
from audit_core.explore import columns, outcome_columns
from audit_core.model import CheckResult, Dossier
from audit_core.protocol import to_record
from audit_core.readmodel.extras import excerpts, probed
from audit_core.results import as_row, builder_of, complete, decided_at, from_record
from audit_core.study import PASSAGES, Study
from audit_core.tensors import OUTCOMES, Answers, Taken

Progress = Callable[[str, int], None]
"""Called with what is being done and how many questions are done."""

BATCH = 2_000
_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder for each value


class Loader:
    """Rows of one study."""

    def __init__(
        self, db: sqlite_utils.Database, study: Study, path: Path, checks: Sequence[CheckResult], progress: Progress
    ) -> None:
        self.db, self.connection, self.study, self.path, self.checks = db, db.conn, study, path, checks
        self.progress, self.protocol = progress, study.protocol
        self.key = self._next("study", "study_key")
        self.question_key = self.first_question = self._next("question", "question_key")
        self.cell_key = self._next("cell", "cell_key")
        self.judges: dict[str, int] = {}
        judge = self.protocol.primary_judge
        self.sources = {"output": "structured output", "rule": f"rule {self.protocol.outcome_rule.rule}",
                        "judge": f"judge {judge.name}" if judge else ""}  # fmt: skip

    def _next(self, table: str, column: str) -> int:
        return int(self.connection.execute(f'SELECT coalesce(max("{column}"), 0) + 1 FROM "{table}"').fetchone()[0])

    def _insert(self, table: str, rows: Iterable[Sequence[Any]], width: int) -> None:
        self.connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * width)})', rows)

    def run(self) -> None:
        """Write everything about the study."""
        self._study_rows()
        if self.study.has(PASSAGES):
            self._insert("passage", self._passages(), 2)
        answers = self._rows(self.study.dossiers())
        if not len(answers):
            raise InputError(
                Problem(
                    "the study has no question",
                    "one question or more",
                    "none",
                    str(self.path),
                    "Import or collect answers first.",
                )
            )
        # the most accepted answers of any question; what Churn and the ladder show as the state's repeats
        self.connection.executemany(
            "UPDATE state SET repeats = ? WHERE study_key = ? AND position = ?",
            [(int(n), self.key, i) for i, n in enumerate(answers.repeats.max(0))],
        )
        self._outcomes(answers)
        keys = dict(zip(answers.question_ids, range(self.first_question, self.question_key), strict=True))
        places = {state.name: number for number, state in enumerate(self.protocol.states)}
        self._insert("probe", probed(self.study, keys, places), 6)
        self._pairs(answers)
        self._estimates(answers)

    def _study_rows(self) -> None:
        p, study = self.protocol, self.study
        outcomes = {check.result for check in self.checks}
        verified = "failed" if "failed" in outcomes else "passed"
        old, new = p.endpoints or (None, None)
        self._insert(
            "study",
            [
                (
                    self.key,
                    p.study_id,
                    p.title,
                    p.origin,
                    p.provenance,
                    p.generator,
                    str(self.path.resolve()),
                    p.normalization,
                    old,
                    new,
                    json.dumps(p.kernels),
                    p.main_kernel,
                    study.bundle,
                    study.chain[-1].sha256,
                    len(study.chain),
                    verified,
                    _json(to_record(p)),
                    None,
                    None,
                )
            ],
            19,
        )
        self._insert(
            "state",
            [
                (self.key, i, s.name, s.label, int(s.closed_book), 0, _json(dict(s.settings)))
                for i, s in enumerate(p.states)
            ],
            7,
        )
        for judge in p.judges:
            key = self._next("judge", "judge_key")
            self.judges[judge.name] = key
            blind = "not shown" if judge.blind is None else "blind" if judge.blind else "not blind"
            self._insert("judge", [(key, self.key, judge.name, judge.role, blind, judge.description)], 6)
        self._insert(
            "check_result",
            [(self.key, i, c.check_id, c.title, c.result, c.detail) for i, c in enumerate(self.checks)],
            6,
        )
        self._insert(
            "lock",
            [
                (
                    self.key,
                    lock.number,
                    lock.gate,
                    lock.sha256,
                    lock.prev,
                    lock.created,
                    json.dumps(
                        [
                            {"path": name, "bytes": e.size, "lines": e.lines, "sha256": e.sha256}
                            for name, e in lock.files.items()
                        ]
                    ),
                    json.dumps(lock.counts),
                    lock.note,
                )
                for lock in study.chain
            ],
            9,
        )
        try:
            findings = study.findings()
        except AuditError:
            findings = []  # a damaged ledger that was loaded on purpose; its check says so
        self._insert(
            "finding",
            [(self.key, i, f.severity, f.kind, f.count, f.where, f.sentence) for i, f in enumerate(findings)],
            7,
        )

    def _passages(self) -> Iterator[tuple[str, str]]:
        known = {row[0] for row in self.connection.execute("SELECT sha256 FROM passage")}
        for digest, text in self.study.passages():
            if digest not in known:
                yield digest, text

    def _rows(self, dossiers: Iterable[Dossier]) -> Answers:
        """Write the rows of all questions in batches, and build the arrays on the way."""
        builder = builder_of(self.protocol)
        ladder = {state.name: number for number, state in enumerate(self.protocol.states)}
        position = 0
        for batch in _batched(dossiers, BATCH):
            questions: list[tuple[Any, ...]] = []
            cells: list[tuple[Any, ...]] = []
            labels: list[tuple[int, int, int, int]] = []
            documents: list[tuple[Any, ...]] = []
            siblings: list[tuple[Any, ...]] = []
            quoted: list[tuple[Any, ...]] = []
            for dossier in batch:
                questions.append(self._question(dossier, position))
                keys = self._cells(dossier, builder.add(dossier), ladder, cells)
                for name, judgment in dossier.judgments.items():
                    judge, at = self.judges[name], [keys.get(slot, 0) for slot in judgment.slots]
                    labels += [
                        (judge, a, b, same) if a < b else (judge, b, a, same)
                        for i, j, same in judgment.labels
                        if (a := at[i]) and (b := at[j])
                    ]
                documents += self._documents(dossier, ladder)
                siblings += self._siblings(dossier, ladder)
                quoted += excerpts(dossier, self.question_key, ladder, self._text)
                self.question_key += 1
                position += 1
            self._insert("question", questions, 10)
            self._insert("cell", cells, 21)
            self._insert("pair_label", sorted(labels), 4)
            for table, found, width in (("document", documents, 9), ("sibling", siblings, 10), ("excerpt", quoted, 5)):
                marks = ", ".join("?" * width)  # a rank that stands twice in a damaged list is kept once
                self.connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", found)
            self.progress(f"{self.protocol.study_id}: loading", position)
        return builder.finish()

    def _cells(
        self,
        dossier: Dossier,
        taken: Sequence[tuple[Taken, int] | None],
        ladder: dict[str, int],
        rows: list[tuple[Any, ...]],
    ) -> dict[tuple[str, int], int]:
        keys: dict[tuple[str, int], int] = {}
        question = self.question_key
        for cell, found in zip(dossier.cells, taken, strict=True):
            number = keys[cell.state, cell.repeat] = self.cell_key
            self.cell_key += 1
            if found is None:
                rows.append((
                    number, question, ladder[cell.state], cell.repeat, cell.status, None, cell.error, None, None, None,
                    None, 0, cell.attempts, cell.source, cell.record, _flag(cell.cached), None, None, None, None, None,
                ))  # fmt: skip
                continue
            (made, unknown, reading, by), evidence = found
            em = f1 = None
            if made.match is not None:
                em, f1 = int(made.match), made.f1[0] / made.f1[1]
            source = self.sources[by]
            rows.append((
                number, question, ladder[cell.state], cell.repeat, cell.status, cell.answer, cell.error, made.key, em,
                f1, unknown, int(made.flagged), cell.attempts, cell.source, cell.record, _flag(cell.cached),
                reading.outcome, f"{source}: “{reading.reason}”" if reading.reason else source, int(reading.certain),
                None if evidence < 0 else evidence,
                _json([asdict(e) for e in cell.excerpts]) if cell.excerpts else None,
            ))  # fmt: skip
        return keys

    def _text(self, digest: str) -> str:
        found = self.connection.execute("SELECT text FROM passage WHERE sha256 = ?", (digest,)).fetchone()
        return str(found[0]) if found else ""

    def _documents(self, dossier: Dossier, ladder: dict[str, int]) -> list[tuple[Any, ...]]:
        return [
            (self.question_key, ladder[e.state], -1 if e.repeat is None else e.repeat, d.rank, d.document_id, d.score,
             d.title, d.passage, d.family)
            for e in dossier.evidence
            for d in e.documents
        ]  # fmt: skip

    def _siblings(self, dossier: Dossier, ladder: dict[str, int]) -> list[tuple[Any, ...]]:
        return [
            (self.question_key, ladder[found.state], position, d.document_id, d.family, d.of, d.rank, d.score, d.title,
             d.passage)
            for found in dossier.siblings
            for position, d in enumerate(found.documents)
        ]  # fmt: skip

    def _question(self, dossier: Dossier, position: int) -> tuple[Any, ...]:
        question = dossier.question
        aliases = list(dossier.gold.aliases) if dossier.gold else None
        content = [
            question.question_id,
            question.text,
            [[c.state, c.repeat, c.status, c.answer] for c in dossier.cells],
            [[e.state, [[d.document_id, d.passage] for d in e.documents]] for e in dossier.evidence],
        ]
        return (
            self.question_key,
            self.key,
            position,
            question.question_id,
            question.text,
            _listed(question.tags),
            question.weight,
            None if aliases is None else _json(aliases),
            _listed(question.parts),
            sha256(dump(content)),
        )

    def _outcomes(self, answers: Answers) -> None:
        names = ("answers", *OUTCOMES, "split", "refusal_split", "same_evidence")
        numbers = range(self.first_question, self.question_key)
        tables = []
        for position, state in enumerate(answers.states):
            found = outcome_columns(answers, state)
            tables.append(zip(numbers, itertools.repeat(position), *(found[name] for name in names), strict=False))
        self._insert("outcome", (row for rows in zip(*tables, strict=True) for row in rows if row[2]), 9)

    def _pairs(self, answers: Answers) -> None:
        numbers = range(self.first_question, self.question_key)
        for old, new, role in self.protocol.pairs():
            pair = self._next("pair", "pair_key")
            self._insert("pair", [(pair, self.key, old, new, role)], 5)
            for position, kernel in enumerate(answers.kernels):
                found = columns(answers, kernel, old, new)
                names = (
                    "within_old",
                    "within_old_pairs",
                    "within_new",
                    "within_new_pairs",
                    "crossing",
                    "cross_pairs",
                    "numerator",
                    "denominator",
                    "flip",
                )
                self._insert(
                    "contrast",
                    zip(
                        itertools.repeat(pair),
                        itertools.repeat(kernel),
                        numbers,
                        *(found[name] for name in names),
                        strict=False,
                    ),
                    12,
                )
                if position == len(answers.kernels) - 1:
                    facts = (
                        "matched",
                        "lost",
                        "gained",
                        "both_match",
                        "different_nonmatch",
                        "same_nonmatch",
                        "unknown_in",
                        "unknown_out",
                        "all_nonmatch",
                        "verbatim",
                        "shared",
                        "documents",
                        "same_set",
                        "same_order",
                        "refusal_split",
                        "open_triangles",
                        "judges_disagree",
                        "split_old",
                        "split_new",
                        "to_refused",
                        "from_refused",
                        "same_evidence_old",
                        "same_evidence_new",
                    )
                    self._insert(
                        "fact", zip(itertools.repeat(pair), numbers, *(found[name] for name in facts), strict=False), 25
                    )

    def _estimates(self, answers: Answers) -> None:
        locked = self._locked()
        estimates = complete(self.protocol, answers, locked)
        decided, release = decided_at(self.protocol, answers, estimates, locked)
        rows = []
        for position, estimate in enumerate(estimates):
            row = as_row(estimate)
            small = all(v is None or abs(v) < 1 << 62 for v in (row["numerator"], row["denominator"]))
            rows.append(
                (
                    self.key,
                    position,
                    row["name"],
                    row["measure"],
                    row["kernel"],
                    row["old"],
                    row["new"],
                    row["value"],
                    row["numerator"] if small else None,
                    row["denominator"] if small else None,
                    row["lower"],
                    row["low"],
                    row["high"],
                    row["unit"],
                    row["status"],
                    row["reason"],
                    row["population"],
                    row["excluded"],
                    _json(row["detail"]),
                )
            )
        self._insert("estimate", rows, 19)
        for column, record in (("decision", decided), ("release", release)):
            if record is not None:
                self.connection.execute(f"UPDATE study SET {column} = ? WHERE study_key = ?", (_json(record), self.key))

    def _locked(self) -> Record | None:
        try:
            record = self.study.results()
            if record is not None:
                [from_record(item) for item in record["estimates"]], record["decision"]
            return record
        except (AuditError, KeyError, TypeError, ValueError):
            if self.study.trusted != "failed":
                raise
            return None  # loaded on purpose although a check failed: estimates are computed from what can be read


def _batched(items: Iterable[Dossier], size: int) -> Iterator[tuple[Dossier, ...]]:
    iterator = iter(items)
    while batch := tuple(itertools.islice(iterator, size)):
        yield batch


def _listed(texts: Sequence[str]) -> str:
    return _json(texts) if texts else "[]"


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)
