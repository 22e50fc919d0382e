"""Reads of `audit.db` about outcomes: questions of a state by outcome and split, flows, and refusals over evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from audit_core.normalize import RULES
from audit_core.readmodel.read import Row, reader, rows

Kind = Literal["all", "split", "refusal_split", "partial", "refused"]
Way = Literal["to_refused", "from_refused"]

_WHERE: dict[Kind, str] = {
    "all": "1",
    "split": "o.split",
    "refusal_split": "o.refusal_split",
    "partial": "o.partial > 0",
    "refused": "o.refused > 0",
}


@dataclass(frozen=True)
class Page:
    """Some rows of a longer list.

    Attributes:
        rows: In question order.
        total: How many there are in all.
    """

    rows: list[Row]
    total: int


@dataclass(frozen=True)
class Refusals:
    """Refusals of a state beside what they refuse to use.

    Attributes:
        refused: Answers that refuse.
        told: Those of them of which gold and the texts of the evidence are kept, so that it can be told.
        found: Of those whose evidence mentions an accepted answer: question_id, repeat and the ranks that do.
    """

    refused: int
    told: int
    found: list[Row] = field(default_factory=list)


def outcomes(
    path: Path,
    study_id: str,
    *,
    state: str | None = None,
    kind: Kind = "all",
    same_evidence: bool | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Page:
    """Questions of a state, or of all, by what their answers do.

    Args:
        path: The database.
        study_id: A loaded study.
        state: Name of a state; None for all of them.
        kind: ``split``: not all repeats have the same outcome; ``refusal_split``: one refuses and another does not;
            ``partial``, ``refused``: at least one repeat.
        same_evidence: True for questions whose repeats all saw the same evidence to the byte, False for those of which
            two saw different evidence.
        limit: Rows at most.
        offset: Rows to pass over.

    Returns:
        Rows with question_id, position, text, tags (parsed), state, state_label, answers, answered, partial, refused,
        split, refusal_split, same_evidence (1, 0, None unknown); in question order, then along the ladder.
    """
    where = _WHERE[kind]
    if same_evidence is not None:
        where += f" AND o.same_evidence = {int(same_evidence)}"
    source = (
        "FROM study s JOIN state t ON t.study_key = s.study_key AND (?2 IS NULL OR t.state = ?2) "
        "JOIN question q ON q.study_key = s.study_key "
        f"JOIN outcome o ON o.question_key = q.question_key AND o.state = t.position WHERE s.study_id = ?1 AND {where}"
    )
    with reader(path) as connection:
        total = connection.execute(f"SELECT count(*) {source}", (study_id, state)).fetchone()[0]
        found = rows(
            connection,
            "SELECT q.question_id, q.position, q.text, q.tags, t.state, t.label AS state_label, o.answers, o.answered, "
            f"o.partial, o.refused, o.split, o.refusal_split, o.same_evidence {source} "
            "ORDER BY q.position, t.position LIMIT ?3 OFFSET ?4",
            study_id,
            state,
            limit,
            offset,
        )
    for row in found:
        row["tags"] = json.loads(row["tags"])
    return Page(found, total)


def flows(
    path: Path, study_id: str, old: str, new: str, way: Way, *, limit: int = 50, offset: int = 0
) -> Page | None:
    """Questions whose matched repeats begin or cease to refuse between two states.

    Args:
        way: ``to_refused`` or ``from_refused``.

    Returns:
        Rows with question_id, position, text and repeats (how many moved), in question order; None where the pair was
        not part of the results (then `explore.columns` has the same numbers).
    """
    moved = "iif(?4 = 'to_refused', f.to_refused, f.from_refused)"
    source = (
        "FROM study s JOIN pair p ON p.study_key = s.study_key AND p.old = ?2 AND p.new = ?3 "
        "JOIN fact f ON f.pair_key = p.pair_key JOIN question q ON q.question_key = f.question_key "
        f"WHERE s.study_id = ?1 AND {moved} > 0"
    )
    with reader(path) as connection:
        known = connection.execute(
            "SELECT 1 FROM pair p JOIN study s USING (study_key) WHERE s.study_id = ? AND p.old = ? AND p.new = ?",
            (study_id, old, new),
        ).fetchone()
        if known is None:
            return None
        total = connection.execute(f"SELECT count(*) {source}", (study_id, old, new, way)).fetchone()[0]
        found = rows(
            connection,
            f"SELECT q.question_id, q.position, q.text, {moved} AS repeats {source} "
            "ORDER BY q.position LIMIT ?5 OFFSET ?6",
            study_id, old, new, way, limit, offset,
        )  # fmt: skip
    return Page(found, total)


def sources(path: Path, study_id: str) -> list[tuple[str, int, int]]:
    """Who says what answers do: source without its reason, answers, and of them those that are not certain."""
    with reader(path) as connection:
        return [
            tuple(row)
            for row in connection.execute(
                "SELECT substr(outcome_source, 1, instr(outcome_source || ':', ':') - 1) AS source, count(*), "
                "sum(outcome_certain = 0) FROM cell JOIN question USING (question_key) JOIN study USING (study_key) "
                "WHERE study_id = ? AND outcome IS NOT NULL GROUP BY source ORDER BY count(*) DESC",
                (study_id,),
            )
        ]


def excerpts(path: Path, study_id: str) -> dict[str, dict[str, list[str]]]:
    """Ids of the questions whose answers carry an excerpt of a class: by state and class, once for each excerpt."""
    found: dict[str, dict[str, list[str]]] = {}
    with reader(path) as connection:
        for state, kind, question_id in connection.execute(
            "SELECT t.state, e.kind, q.question_id FROM study s JOIN state t USING (study_key) "
            "JOIN question q USING (study_key) JOIN excerpt e ON e.question_key = q.question_key "
            "AND e.state = t.position WHERE s.study_id = ? ORDER BY t.position, q.position", (study_id,),
        ):  # fmt: skip
            found.setdefault(state, {}).setdefault(kind, []).append(question_id)
    return found


def over_evidence(path: Path, study_id: str, state: str) -> Refusals:
    """Refusals of a state whose own evidence mentions an accepted answer. Shows gold: never beside a masked review.

    A passage mentions an answer when the answer's words stand in it one after the other, both under the study's
    normalization.
    """
    with reader(path) as connection:
        found = connection.execute(
            "SELECT s.study_key, s.normalization, t.position FROM study s JOIN state t USING (study_key) "
            "WHERE s.study_id = ? AND t.state = ?",
            (study_id, state),
        ).fetchone()
        if found is None:
            return Refusals(0, 0)
        key, rule, position = found
        refused = connection.execute(
            "SELECT count(*) FROM question q JOIN cell c ON c.question_key = q.question_key AND c.state = ? "
            "WHERE q.study_key = ? AND c.outcome = 'refused'",
            (position, key),
        ).fetchone()[0]
        shown = rows(
            connection,
            "SELECT q.question_id, q.gold, c.repeat, d.rank, d.passage, p.text FROM question q "
            "JOIN cell c ON c.question_key = q.question_key AND c.state = ?1 AND c.outcome = 'refused' "
            "JOIN document d ON d.question_key = c.question_key AND d.state = c.state AND d.repeat = "
            "iif(EXISTS (SELECT 1 FROM document o WHERE o.question_key = c.question_key AND o.state = c.state "
            "AND o.repeat = c.repeat), c.repeat, -1) "
            "JOIN passage p ON p.sha256 = d.passage WHERE q.study_key = ?2 AND q.gold IS NOT NULL "
            "ORDER BY q.position, c.repeat, d.rank",
            position,
            key,
        )
    normalize = lru_cache(maxsize=4096)(RULES[rule].normalize)
    ranks: dict[tuple[str, int], list[int]] = {}
    for row in shown:
        text = f" {normalize(row['text'])} "
        held = ranks.setdefault((row["question_id"], row["repeat"]), [])
        aliases = [form for alias in json.loads(row["gold"]) if (form := normalize(alias))]
        if any(f" {form} " in text for form in aliases):
            held.append(row["rank"])
    told = [
        {"question_id": question_id, "repeat": repeat, "ranks": held}
        for (question_id, repeat), held in ranks.items()
        if held
    ]
    return Refusals(refused, len(ranks), told)
