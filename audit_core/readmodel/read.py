"""Reads of `audit.db` for the dashboard and the report: plain rows, no pandas, one short connection at a time."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from audit_core import protocol
from audit_core.errors import InputError, Problem, StorageError
from audit_core.model import Cell, Document, Dossier, Evidence, Gold, Judgment, Question
from audit_core.readmodel.schema import SCHEMA_VERSION
from audit_core.results import arrays_of
from audit_core.tensors import Answers

Row = dict[str, Any]


@contextlib.contextmanager
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection that is closed at once.

    Raises:
        InputError: No such file, or made by another version.
        StorageError: SQLite refuses the file.
    """
    if not path.is_file():
        raise InputError(
            Problem(
                "no database here",
                "an audit database",
                "nothing",
                str(path),
                "Build it with: snapshot-audit load STUDY --db " + str(path),
            )
        )
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            connection.row_factory = sqlite3.Row
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA_VERSION:
                raise InputError(
                    Problem(
                        "this database was made by another version",
                        f"schema {SCHEMA_VERSION}",
                        f"schema {version}",
                        str(path),
                        "Delete it and load the studies again; it holds nothing that the ledgers do not.",
                    )
                )
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StorageError(
            Problem(
                "the database cannot be read",
                "a readable SQLite file",
                str(error),
                str(path),
                "Delete it and load the studies again; verdicts live in another file.",
            )
        ) from error


def rows(connection: sqlite3.Connection, sql: str, *values: Any) -> list[Row]:
    """All rows of a query as dictionaries."""
    return [dict(row) for row in connection.execute(sql, values).fetchall()]


def studies(path: Path) -> list[Row]:
    """One row per loaded study: study_id, title, origin, verified, questions; in the order of loading."""
    with reader(path) as connection:
        return rows(
            connection,
            "SELECT s.*, (SELECT count(*) FROM question q WHERE q.study_key = s.study_key) AS questions "
            "FROM study s ORDER BY s.study_key",
        )


def study(path: Path, study_id: str) -> Row:
    """Everything about one study that is not per question.

    Returns:
        The row of `study` with `kernels`, `protocol`, `decision` and `release` parsed, and `states` (list of rows in
        ladder order, `settings` parsed), `pairs` (rows), `judges` (rows), `findings` (rows), `questions` (count),
        `has_gold`, `has_evidence`, `has_texts` (of passages), `tags` (sorted list).

    Raises:
        InputError: The study is not loaded.
    """
    with reader(path) as connection:
        found = rows(connection, "SELECT * FROM study WHERE study_id = ?", study_id)
        if not found:
            raise InputError(
                Problem(
                    "no such study is loaded",
                    "a loaded study",
                    study_id,
                    str(path),
                    "Load it with: snapshot-audit load STUDY --db " + str(path),
                )
            )
        row = found[0]
        key = row["study_key"]
        for name in ("kernels", "protocol", "decision", "release"):
            row[name] = json.loads(row[name]) if row[name] else None
        row["states"] = rows(connection, "SELECT * FROM state WHERE study_key = ? ORDER BY position", key)
        for state in row["states"]:
            state["settings"] = json.loads(state["settings"])
        row["pairs"] = rows(connection, "SELECT * FROM pair WHERE study_key = ? ORDER BY pair_key", key)
        row["judges"] = rows(connection, "SELECT * FROM judge WHERE study_key = ? ORDER BY judge_key", key)
        row["findings"] = rows(connection, "SELECT * FROM finding WHERE study_key = ? ORDER BY position", key)
        count, gold = connection.execute(
            "SELECT count(*), count(gold) FROM question WHERE study_key = ?", (key,)
        ).fetchone()
        row["questions"], row["has_gold"] = count, gold > 0
        row["has_evidence"] = bool(
            connection.execute(
                "SELECT EXISTS (SELECT 1 FROM document d JOIN question q USING (question_key) WHERE q.study_key = ?)",
                (key,),
            ).fetchone()[0]
        )
        row["has_texts"] = bool(
            connection.execute(
                "SELECT EXISTS (SELECT 1 FROM document d JOIN question q USING (question_key) "
                "JOIN passage p ON p.sha256 = d.passage WHERE q.study_key = ?)",
                (key,),
            ).fetchone()[0]
        )
        row["tags"] = [
            r[0]
            for r in connection.execute(
                "SELECT DISTINCT value FROM question, json_each(question.tags) WHERE study_key = ? ORDER BY value",
                (key,),
            )
        ]
        return row


def estimates(path: Path, study_id: str) -> dict[str, Row]:
    """Estimates by name, `detail` parsed: the locked ones, then as exploratory those that are newer than the lock."""
    with reader(path) as connection:
        found = rows(
            connection,
            "SELECT e.* FROM estimate e JOIN study s USING (study_key) WHERE s.study_id = ? ORDER BY e.position",
            study_id,
        )
    for row in found:
        row["detail"] = json.loads(row["detail"])
    return {row["name"]: row for row in found}


def checks(path: Path, study_id: str) -> list[Row]:
    """Results of the numbered checks made when the study was loaded."""
    with reader(path) as connection:
        return rows(
            connection,
            "SELECT c.* FROM check_result c JOIN study s USING (study_key) WHERE s.study_id = ? ORDER BY c.position",
            study_id,
        )


def locks(path: Path, study_id: str) -> list[Row]:
    """The chain of locks; `files` and `counts` parsed."""
    with reader(path) as connection:
        found = rows(
            connection,
            "SELECT l.* FROM lock l JOIN study s USING (study_key) WHERE s.study_id = ? ORDER BY l.number",
            study_id,
        )
    for row in found:
        row["files"], row["counts"] = json.loads(row["files"]), json.loads(row["counts"])
    return found


def question(path: Path, study_id: str, question_id: str) -> Row | None:
    """Everything about one question, or None where there is no such question.

    Returns:
        The row of `question` with `tags`, `gold` and `parts` parsed, and
        `cells`: rows in ladder and repeat order with `state_name`, `excerpts` parsed;
        `labels`: {judge: {(cell_key, cell_key): 0 or 1}} with both orders present;
        `documents`: {state name: rows in rank order with `passage_text`}, those of the first repeat where they differ;
        `evidence_by_repeat`: {state name: {repeat: such rows}}, repeat -1 for what all repeats of the state saw;
        `siblings`: {state name: rows, best rank first, with `passage_text`};
        `probes`: {state name: {number of the probe: its rows in order}}.
    """
    with reader(path) as connection:
        found = rows(
            connection,
            "SELECT q.* FROM question q JOIN study s USING (study_key) WHERE s.study_id = ? AND q.question_id = ?",
            study_id,
            question_id,
        )
        if not found:
            return None
        row = found[0]
        row["tags"] = json.loads(row["tags"])
        row["gold"] = json.loads(row["gold"]) if row["gold"] else None
        row["parts"] = json.loads(row["parts"])
        key, study_key = row["question_key"], row["study_key"]
        row["cells"] = rows(
            connection,
            "SELECT c.*, t.state AS state_name, t.label AS state_label FROM cell c "
            "JOIN state t ON t.study_key = ? AND t.position = c.state "
            "WHERE c.question_key = ? ORDER BY c.state, c.repeat",
            study_key,
            key,
        )
        for cell in row["cells"]:
            cell["excerpts"] = json.loads(cell["excerpts"] or "[]")
        labels: dict[str, dict[tuple[int, int], int]] = {}
        for label in connection.execute(
            "SELECT j.judge, l.first, l.second, l.label FROM cell c JOIN judge j ON j.study_key = ? "
            "JOIN pair_label l ON l.judge_key = j.judge_key AND l.first = c.cell_key "
            "WHERE c.question_key = ?",
            (study_key, key),
        ):
            table = labels.setdefault(label[0], {})
            table[label[1], label[2]] = table[label[2], label[1]] = label[3]
        row["labels"] = labels
        row["evidence_by_repeat"], row["siblings"] = {}, {}
        for document in _passages(connection, "document", study_key, key, "d.repeat, d.rank"):
            repeats = row["evidence_by_repeat"].setdefault(document["state_name"], {})
            repeats.setdefault(document["repeat"], []).append(document)
        row["documents"] = {state: repeats[min(repeats)] for state, repeats in row["evidence_by_repeat"].items()}
        for sibling in _passages(connection, "sibling", study_key, key, "d.position"):
            row["siblings"].setdefault(sibling["state_name"], []).append(sibling)
        row["probes"] = {}
        for probe in rows(
            connection,
            "SELECT p.*, t.state AS state_name FROM probe p JOIN state t ON t.study_key = ? AND t.position = p.state "
            "WHERE p.question_key = ? ORDER BY p.state, p.number, p.repeat", study_key, key,
        ):  # fmt: skip
            row["probes"].setdefault(probe["state_name"], {}).setdefault(probe["number"], []).append(probe)
        return row


def _passages(connection: sqlite3.Connection, table: str, study_key: int, question_key: int, order: str) -> list[Row]:
    """Documents or siblings of a question with their state's name and their text, where that is kept."""
    return rows(
        connection,
        f"SELECT d.*, t.state AS state_name, p.text AS passage_text FROM {table} d "
        "JOIN state t ON t.study_key = ? AND t.position = d.state LEFT JOIN passage p ON p.sha256 = d.passage "
        f"WHERE d.question_key = ? ORDER BY d.state, {order}",
        study_key,
        question_key,
    )


def search(path: Path, study_id: str, text: str) -> set[str]:
    """Ids of the questions whose id, text or answers contain a text, ignoring ASCII case."""
    if "\x00" in text:
        return set()  # LIKE would end the pattern there and find everything
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    with reader(path) as connection:
        return {
            r[0]
            for r in connection.execute(
                "SELECT q.question_id FROM question q JOIN study s USING (study_key) WHERE s.study_id = ?1 AND "
                "(q.question_id LIKE ?2 ESCAPE '\\' OR q.text LIKE ?2 ESCAPE '\\' OR EXISTS (SELECT 1 FROM cell c "
                "WHERE c.question_key = q.question_key AND c.answer LIKE ?2 ESCAPE '\\'))",
                (study_id, pattern),
            )
        }


def coverage(path: Path, study_id: str) -> list[Row]:
    """Answers, errors and gaps per state and repeat: state, repeat, ok, errors, missing."""
    with reader(path) as connection:
        return rows(
            connection,
            "WITH n AS (SELECT count(*) AS total FROM question q JOIN study s USING (study_key) WHERE s.study_id = ?1) "
            "SELECT t.position, t.state, t.label, c.repeat, sum(c.status = 'ok') AS ok, "
            "sum(c.status <> 'ok') AS errors, n.total - count(*) AS missing, "
            "sum(coalesce(c.attempts, 1)) AS attempts FROM n, study s "
            "JOIN state t USING (study_key) JOIN question q USING (study_key) "
            "JOIN cell c ON c.question_key = q.question_key AND c.state = t.position WHERE s.study_id = ?1 "
            "GROUP BY t.position, c.repeat ORDER BY t.position, c.repeat",
            study_id,
        )


def columns(path: Path, study_id: str, kernel: str, old: str, new: str) -> dict[str, list[Any]] | None:
    """Per-question facts of a pair of states as parallel lists in question order.

    Returns:
        ``question_id``, ``position``, ``text``, ``tags`` (lists), ``weight`` and the columns of `contrast` and `fact`;
        None where the pair was not part of the results (then `explore.columns` computes the same live).
    """
    with reader(path) as connection:
        cursor = connection.cursor()
        cursor.row_factory = None
        cursor.execute(
            "SELECT q.question_id, q.position, q.text, q.tags, q.weight, c.*, f.* FROM study s "
            "JOIN pair p ON p.study_key = s.study_key AND p.old = ? AND p.new = ? "
            "JOIN contrast c ON c.pair_key = p.pair_key AND c.kernel = ? "
            "JOIN fact f ON f.pair_key = p.pair_key AND f.question_key = c.question_key "
            "JOIN question q ON q.question_key = c.question_key WHERE s.study_id = ? ORDER BY q.position",
            (old, new, kernel, study_id),
        )
        names = [column[0] for column in cursor.description]
        table = cursor.fetchall()
    if not table:
        return None
    out = dict(zip(names, map(list, zip(*table, strict=True)), strict=True))
    out["tags"] = [json.loads(tags) if tags != "[]" else [] for tags in out["tags"]]
    return out


def dossiers(path: Path, study_id: str) -> Iterator[Dossier]:
    """A loaded study question by question, as `study.Study.dossiers` gives it from the ledgers.

    Titles and siblings are left out; the outcome of each cell is the one that was read when the study was loaded.
    """
    with reader(path) as connection:
        found = connection.execute("SELECT study_key FROM study WHERE study_id = ?", (study_id,)).fetchone()
        key = found[0] if found else -1
        ladder = rows(connection, "SELECT state, closed_book FROM state WHERE study_key = ? ORDER BY position", key)
        states, closed = ([row[name] for row in ladder] for name in ("state", "closed_book"))
        slots: dict[int, tuple[str, int]] = {}
        cells = _grouped(
            connection.execute(
                "SELECT c.question_key, c.cell_key, c.state, c.repeat, c.status, c.answer, c.error, c.outcome, "
                "c.evidence FROM question q JOIN cell c USING (question_key) WHERE q.study_key = ? "
                "ORDER BY c.question_key, c.state, c.repeat",
                (key,),
            )
        )
        labels = _grouped(
            connection.execute(
                "SELECT c.question_key, j.judge, l.first, l.second, l.label FROM question q "
                "JOIN cell c USING (question_key) JOIN judge j USING (study_key) "
                "JOIN pair_label l ON l.judge_key = j.judge_key AND l.first = c.cell_key WHERE q.study_key = ? "
                "ORDER BY c.question_key",
                (key,),
            )
        )
        documents = _grouped(
            connection.execute(
                "SELECT d.question_key, d.state, d.repeat, d.rank, d.document_id, d.score, d.passage FROM question q "
                "JOIN document d USING (question_key) WHERE q.study_key = ? "
                "ORDER BY d.question_key, d.state, d.repeat, d.rank",
                (key,),
            )
        )
        for number, question_id, text, tags, weight, gold in connection.execute(
            "SELECT question_key, question_id, text, tags, weight, gold FROM question WHERE study_key = ? "
            "ORDER BY question_key",
            (key,),
        ):
            slots.clear()
            shown: dict[tuple[int, int], list[Document]] = {}
            for _, state, repeat, rank, document, score, passage in documents(number):
                shown.setdefault((state, repeat), []).append(Document(document, rank, score, "", passage))
            held = []
            for _, cell, state, repeat, status, answer, error, outcome, evidence in cells(number):
                slots[cell] = (states[state], repeat)
                held.append(Cell(question_id, states[state], repeat, status, answer, error, outcome=outcome))
                if evidence is not None and (state, -1) not in shown and not closed[state]:
                    shown.setdefault((state, repeat), [])  # a list without a document
            judged: dict[str, list[tuple[int, int, int]]] = {}
            for _, judge, first, second, label in labels(number):
                judged.setdefault(judge, []).append((first, second, label))
            place = {cell: i for i, cell in enumerate(slots)}
            judgments = {
                judge: Judgment(
                    question_id, tuple(slots.values()), tuple((place[a], place[b], same) for a, b, same in rows_)
                )
                for judge, rows_ in judged.items()
            }
            yield Dossier(
                Question(question_id, text, tuple(json.loads(tags)), weight),
                tuple(held),
                judgments,
                tuple(
                    Evidence(question_id, states[state], tuple(items), None if repeat < 0 else repeat)
                    for (state, repeat), items in sorted(shown.items())
                ),
                Gold(question_id, tuple(json.loads(gold))) if gold else None,
            )


def _grouped(cursor: sqlite3.Cursor) -> Callable[[int], list[Any]]:
    """Rows of a cursor ordered by their first column, handed out for ascending values of it."""
    cursor.row_factory = None
    waiting: list[Any] = []

    def take(number: int) -> list[Any]:
        found: list[Any] = []
        while True:
            row = waiting.pop() if waiting else cursor.fetchone()
            if row is None or row[0] > number:
                if row is not None:
                    waiting.append(row)
                return found
            if row[0] == number:
                found.append(row)

    return take


def arrays(path: Path, study_id: str) -> Answers:
    """A loaded study as arrays, for `explore`."""
    described = protocol.from_record(study(path, study_id)["protocol"])
    return arrays_of(described, dossiers(path, study_id))
