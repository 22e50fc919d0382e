"""Rows of one study for `audit.db`, written question by question."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlite_utils

from audit_core.codec import dump
from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem
from audit_core.explore import columns
from audit_core.model import CheckResult, Dossier, Estimate
from audit_core.protocol import to_record
from audit_core.results import as_row, builder_of, decision_of, decision_record, estimate_all, from_record
from audit_core.study import Study
from audit_core.tensors import Answers, Taken

Progress = Callable[[str, int], None]
"""Called with what is being done and how many questions are done."""

BATCH = 2_000


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
        self.passages: set[str] = set()

    def _next(self, table: str, column: str) -> int:
        return int(self.connection.execute(f'SELECT coalesce(max("{column}"), 0) + 1 FROM "{table}"').fetchone()[0])

    def _insert(self, table: str, rows: Iterable[Sequence[Any]], width: int) -> None:
        self.connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * width)})', rows)

    def run(self) -> None:
        """Write everything about the study."""
        self._study_rows()
        if self.study.has("retrieval/passages.jsonl"):
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
                    json.dumps(to_record(p), ensure_ascii=False),
                    None,
                )
            ],
            18,
        )
        self._insert(
            "state", [(self.key, i, s.name, s.label, int(s.closed_book), 0) for i, s in enumerate(p.states)], 6
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
            self.passages.add(digest)
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
                self._documents(dossier, ladder, documents)
                self.question_key += 1
                position += 1
            self._insert("question", questions, 9)
            self._insert("cell", cells, 16)
            self._insert("pair_label", sorted(labels), 4)
            self.connection.executemany("INSERT OR IGNORE INTO document VALUES (?, ?, ?, ?, ?, ?, ?)", documents)
            self.progress(f"{self.protocol.study_id}: loading", position)
        return builder.finish()

    def _cells(
        self,
        dossier: Dossier,
        taken: Sequence[Taken | None],
        ladder: dict[str, int],
        rows: list[tuple[Any, ...]],
    ) -> dict[tuple[str, int], int]:
        keys: dict[tuple[str, int], int] = {}
        question = self.question_key
        for cell, found in zip(dossier.cells, taken, strict=True):
            number = keys[cell.state, cell.repeat] = self.cell_key
            self.cell_key += 1
            key = em = f1 = unknown = None
            flagged = False
            if found is not None:
                made, unknown = found.score, found.unknown
                key, flagged = made.key, made.flagged
                if made.match is not None:
                    em, f1 = int(made.match), made.f1[0] / made.f1[1]
            rows.append((
                number, question, ladder[cell.state], cell.repeat, cell.status, cell.answer, cell.error, key, em, f1,
                unknown, int(flagged), cell.attempts, cell.source, cell.record,
                None if cell.cached is None else int(cell.cached),
            ))  # fmt: skip
        return keys

    def _documents(self, dossier: Dossier, ladder: dict[str, int], rows: list[tuple[Any, ...]]) -> None:
        shown: set[str] = set()
        for evidence in dossier.evidence:
            if evidence.state not in shown:
                shown.add(evidence.state)
                rows += [
                    (self.question_key, ladder[evidence.state], d.rank, d.document_id, d.score, d.title,
                     d.passage if d.passage in self.passages else None)
                    for d in evidence.documents
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
            json.dumps(list(question.tags), ensure_ascii=False),
            question.weight,
            None if aliases is None else json.dumps(aliases, ensure_ascii=False),
            sha256(dump(content)),
        )

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
                    )
                    self._insert(
                        "fact", zip(itertools.repeat(pair), numbers, *(found[name] for name in facts), strict=False), 19
                    )

    def _estimates(self, answers: Answers) -> None:
        locked = self._locked()
        estimates = locked[0] if locked else estimate_all(self.protocol, answers)
        decided = locked[1] if locked else None
        if not locked:
            made = decision_of(self.protocol, estimates)
            decided = decision_record(*made) if made else None
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
                    json.dumps(row["detail"], ensure_ascii=False),
                )
            )
        self._insert("estimate", rows, 19)
        if decided is not None:
            self.connection.execute(
                "UPDATE study SET decision = ? WHERE study_key = ?", (json.dumps(decided, ensure_ascii=False), self.key)
            )

    def _locked(self) -> tuple[list[Estimate], dict[str, Any] | None] | None:
        try:
            record = self.study.results()
            if record is None:
                return None
            return [from_record(item) for item in record["estimates"]], record["decision"]
        except (AuditError, KeyError, TypeError, ValueError):
            if self.study.trusted != "failed":
                raise
            return None  # loaded on purpose although a check failed: estimates are computed from what can be read


def _batched(items: Iterable[Dossier], size: int) -> Iterator[tuple[Dossier, ...]]:
    iterator = iter(items)
    while batch := tuple(itertools.islice(iterator, size)):
        yield batch
