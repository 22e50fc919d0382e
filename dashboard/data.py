"""Cached reads: the only user of the read model, of live estimates and, for the count of verdicts, of the store.

Every cache is keyed on the identity of the database file (path, inode, change time, size), so that a
database loaded again, which is moved into place as a new file, is picked up at the next interaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from audit_core import explore, results, same_questions
from audit_core.errors import AuditError
from audit_core.estimators import robustness as robust
from audit_core.protocol import attribution, from_record
from audit_core.readmodel import outcomes, read
from audit_core.reviews.memory import question_digest
from audit_core.reviews.overview import Overview, overview
from dashboard import identity, runtime
from dashboard.comparison import Comparison
from dashboard.components.saving import store
from dashboard.state import Selection

Row = dict[str, Any]
Stamp = tuple[str, int, int, int]


def stamp() -> Stamp:
    """Identity of the database file as it is now; zeros where there is none."""
    path = runtime.database()
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_ino, found.st_mtime_ns, found.st_size


def _path(mark: Stamp) -> Path:
    return Path(mark[0])


@st.cache_data(show_spinner=False, max_entries=4)
def _studies(mark: Stamp) -> list[Row]:
    return read.studies(_path(mark))


@st.cache_data(show_spinner=False, max_entries=32)
def _study(mark: Stamp, study_id: str) -> Row:
    return read.study(_path(mark), study_id)


@st.cache_data(show_spinner=False, max_entries=64)
def _attribution(mark: Stamp, study_id: str, old: str, new: str) -> str:
    return attribution(from_record(_study(mark, study_id)["protocol"]), old, new)


@st.cache_data(show_spinner=False, max_entries=32)
def _estimates(mark: Stamp, study_id: str) -> dict[str, Row]:
    return read.estimates(_path(mark), study_id)


@st.cache_data(show_spinner=False, max_entries=32)
def _ledger(mark: Stamp, study_id: str) -> tuple[list[Row], list[Row], list[Row]]:
    path = _path(mark)
    return read.checks(path, study_id), read.locks(path, study_id), read.coverage(path, study_id)


@st.cache_resource(
    show_spinner="Reading all answers of the study once, for what is not in the locked results …", max_entries=4
)
def _arrays(mark: Stamp, study_id: str) -> Any:
    return read.arrays(_path(mark), study_id)


@st.cache_resource(show_spinner=False, max_entries=16)
def _columns(mark: Stamp, study_id: str, kernel: str, old: str, new: str) -> dict[str, list[Any]]:
    stored = read.columns(_path(mark), study_id, kernel, old, new)
    return stored if stored is not None else explore.columns(_arrays(mark, study_id), kernel, old, new)


@st.cache_data(show_spinner=False, max_entries=64)
def _live(mark: Stamp, study_id: str, old: str, new: str, tag: str | None) -> dict[str, Row]:
    arrays = _arrays(mark, study_id)
    questions = None
    if tag is not None:
        questions = [q for q, tags in zip(arrays.question_ids, arrays.tags, strict=True) if tag in tags]
    return {row["name"]: row for row in map(results.as_row, explore.pair_estimates(arrays, old, new, questions))}


@st.cache_data(show_spinner=False, max_entries=32)
def _robustness(mark: Stamp, study_id: str, old: str, new: str) -> dict[str, Row]:
    ending, stored = f"@{old}-{new}", _estimates(mark, study_id)
    found = {n: row for n, row in stored.items() if row["measure"] in robust.MEASURES and n.endswith(ending)}
    if any(row["measure"] == "permutation_p" for row in found.values()):
        return found
    made = explore.robustness_estimates(_arrays(mark, study_id), old, new)
    return {row["name"]: row for row in map(results.as_row, made)}


@st.cache_data(show_spinner=False, max_entries=32)
def _sharing(mark: Stamp, study_id: str) -> dict[str, int]:
    with read.reader(_path(mark)) as connection:
        return {row["study_id"]: row["shared"] for row in read.rows(connection, SHARING, study_id)}


@st.cache_data(show_spinner=False, max_entries=32)
def _misnamed(mark: Stamp, first: str, second: str) -> list[str]:
    with read.reader(_path(mark)) as connection:
        one, two = (
            {
                row["question_id"]: same_questions.asked(
                    row["text"], None if row["gold"] is None else json.loads(row["gold"]), row["origin"]
                )
                for row in read.rows(connection, MEANT, study)
            }
            for study in (first, second)
        )
    return same_questions.differing(one, two)


@st.cache_data(show_spinner=False, max_entries=32)
def _paired(mark: Stamp, first: str, second: str, old: str, new: str) -> dict[str, Row]:
    made = explore.paired_estimates(_arrays(mark, first), _arrays(mark, second), old, new)
    return {row["name"]: row for row in map(results.as_row, made)}


@st.cache_data(show_spinner=False, max_entries=32)
def _paired_flips(mark: Stamp, first: str, second: str, kernel: str, old: str, new: str) -> dict[str, list[str]]:
    return explore.paired_flips(_arrays(mark, first), _arrays(mark, second), kernel, old, new)


@st.cache_data(show_spinner=False, max_entries=32)
def _resampled(mark: Stamp, study_id: str, kernel: str, old: str, new: str) -> tuple[list[float], list[float]] | None:
    table = _columns(mark, study_id, kernel, old, new)
    values = [top for top in table["numerator"] if top is not None]
    denominator = next((bottom for bottom in table["denominator"] if bottom), 1)
    if denominator >= FINEST:
        return None
    found = explore.distribution_points(np.array(values, dtype=np.int64), denominator)
    return None if found is None else ([100 * mean for mean in found[0]], found[1])


@st.cache_data(show_spinner=False, max_entries=32)
def _matrix(mark: Stamp, study_id: str, kernel: str) -> dict[tuple[str, str], Fraction | None]:
    arrays = _arrays(mark, study_id)
    table = explore.agreement_matrix(arrays, kernel)
    return {(s, t): table[i][j] for i, s in enumerate(arrays.states) for j, t in enumerate(arrays.states)}


@st.cache_data(show_spinner=False, max_entries=32)
def _paths(mark: Stamp, study_id: str, kernel: str, old: str, new: str) -> tuple[list[str], dict[str, list[str]]]:
    arrays = _arrays(mark, study_id)
    flips = [i for i, flip in enumerate(_columns(mark, study_id, kernel, old, new)["flip"]) if flip]
    part = arrays.take(np.array(flips, dtype=np.intp))
    order = [old, new, *(s for s in arrays.states if s not in (old, new))]
    found = explore.class_columns(part, order)
    named = [_named_by_endpoints(letters) for letters in zip(*found, strict=True)]
    return list(part.question_ids), {state: [row[i] for row in named] for i, state in enumerate(order)}


def _named_by_endpoints(letters: Sequence[str]) -> list[str]:
    """One question's class letters with A for the class of the old state, which comes first, and B for the new one's.

    A state that refuses or disagrees with itself has no class, so its letter stays free.
    """
    names = {letter: name for letter, name in zip(letters, "AB", strict=False) if letter.isalpha()}
    others = iter("CDEFGHIJKLMNOPQRSTUVWXYZ")
    for letter in letters:
        if letter.isalpha() and letter not in names:
            names[letter] = next(others)
    return [names.get(letter, letter) for letter in letters]


@st.cache_data(show_spinner=False, max_entries=32)
def _members(mark: Stamp, study_id: str, old: str, new: str) -> dict[str, list[str]]:
    return explore.ladder_members(_arrays(mark, study_id), old, new)


@st.cache_data(show_spinner=False, max_entries=32)
def _gaps(mark: Stamp, study_id: str, most: int) -> tuple[int, list[Row]]:
    with read.reader(_path(mark)) as connection:
        found = read.rows(connection, GAPS, study_id)
    return len(found), found[:most]


@st.cache_data(show_spinner=False, max_entries=32)
def _flips(mark: Stamp, study_id: str, kernel: str, old: str, new: str) -> list[str]:
    """Ids of the flips; straight from the database where the pair is stored, for there may be very many questions."""
    with read.reader(_path(mark)) as connection:
        stored = read.rows(connection, PAIR, study_id, old, new)
        if stored:
            return [row["question_id"] for row in read.rows(connection, FLIPS, stored[0]["pair_key"], kernel)]
    table = _columns(mark, study_id, kernel, old, new)
    return [q for q, flip in zip(table["question_id"], table["flip"], strict=True) if flip]


MEANT = """
    SELECT q.question_id, q.text, q.gold, s.origin FROM question q JOIN study s USING (study_key)
    WHERE s.study_id = ? ORDER BY q.position"""
SHARING = """
    SELECT o.study_id, count(p.question_key) AS shared FROM study s JOIN study o ON o.study_key <> s.study_key
    LEFT JOIN question p ON p.study_key = o.study_key
      AND p.question_id IN (SELECT q.question_id FROM question q WHERE q.study_key = s.study_key)
    WHERE s.study_id = ? GROUP BY o.study_key ORDER BY o.study_key"""
"""Every other study, and how many questions it shares with one."""
FINEST = 1 << 40
"""Common denominator from which sums could leave 64 bits; only very ragged repeats reach it."""
PAIR = "SELECT pair_key FROM pair JOIN study USING (study_key) WHERE study_id = ? AND old = ? AND new = ?"
FLIPS = (
    "SELECT question_id FROM contrast JOIN question USING (question_key) WHERE pair_key = ? AND kernel = ? AND flip = 1"
)
GAPS = """
    SELECT q.question_id, t.state, c.repeat, c.status, c.error FROM study s JOIN question q USING (study_key)
    JOIN state t USING (study_key) JOIN cell c ON c.question_key = q.question_key AND c.state = t.position
    WHERE s.study_id = ?1 AND c.status <> 'ok'
    UNION ALL
    SELECT q.question_id, t.state, r.repeat, 'missing', NULL FROM study s JOIN question q USING (study_key)
    JOIN state t USING (study_key)
    JOIN (SELECT DISTINCT q2.study_key, c2.state, c2.repeat FROM cell c2 JOIN question q2 USING (question_key)) r
      ON r.study_key = s.study_key AND r.state = t.position
    WHERE s.study_id = ?1 AND NOT EXISTS (SELECT 1 FROM cell c WHERE c.question_key = q.question_key
      AND c.state = t.position AND c.repeat = r.repeat)
    ORDER BY 1, 2, 3"""
"""Cells that hold no answer: errors, and repeats that other questions of the state have."""


@st.cache_data(show_spinner=False, max_entries=32)
def _splits(mark: Stamp, study_id: str, state: str, most: int) -> tuple[list[Row], int]:
    same = outcomes.outcomes(_path(mark), study_id, state=state, kind="split", same_evidence=True, limit=most)
    every = outcomes.outcomes(_path(mark), study_id, state=state, kind="split", limit=most)
    return [*same.rows, *(row for row in every.rows if row["same_evidence"] != 1)][:most], every.total


@st.cache_data(show_spinner=False, max_entries=16)
def _excerpts(mark: Stamp, study_id: str) -> dict[str, dict[str, list[str]]]:
    return outcomes.excerpts(_path(mark), study_id)


@st.cache_data(show_spinner=False, max_entries=32)
def _sources(mark: Stamp, study_id: str) -> list[tuple[str, int, int]]:
    return outcomes.sources(_path(mark), study_id)


@st.cache_data(show_spinner=False, max_entries=32)
def _over_evidence(mark: Stamp, study_id: str, state: str) -> outcomes.Refusals:
    return outcomes.over_evidence(_path(mark), study_id, state)


@st.cache_data(show_spinner=False, max_entries=32)
def _outcome_flows(mark: Stamp, study_id: str, old: str, new: str) -> dict[str, dict[str, int]]:
    return explore.outcome_flows(_arrays(mark, study_id), old, new)


@st.cache_data(show_spinner=False, max_entries=32)
def _search(mark: Stamp, study_id: str, text: str) -> set[str]:
    return read.search(_path(mark), study_id, text)


def studies() -> list[Row]:
    """One row per loaded study."""
    return _studies(stamp())


def study(study_id: str) -> Row:
    """Everything about one study that is not per question."""
    return _study(stamp(), study_id)


def differing(selection: Selection) -> str:
    """What stands in the way of a cause: a sentence where the two states differ in more than one setting."""
    return _attribution(stamp(), selection.study, selection.old, selection.new)


def estimates(study_id: str) -> dict[str, Row]:
    """Locked estimates by name."""
    return _estimates(stamp(), study_id)


def checks(study_id: str) -> list[Row]:
    """Results of the numbered checks."""
    return _ledger(stamp(), study_id)[0]


def locks(study_id: str) -> list[Row]:
    """The chain of locks."""
    return _ledger(stamp(), study_id)[1]


def coverage(study_id: str) -> list[Row]:
    """Answers, errors and gaps per state and repeat."""
    return _ledger(stamp(), study_id)[2]


def columns(study_id: str, kernel: str, old: str, new: str) -> dict[str, list[Any]]:
    """Per-question contrasts and facts of any pair as parallel lists; shared between sessions, never change them."""
    return _columns(stamp(), study_id, kernel, old, new)


def resampled(study_id: str, kernel: str, old: str, new: str) -> tuple[list[float], list[float]] | None:
    """Exact bootstrap distribution of excess churn: percentage points and probabilities; None where there is none."""
    return _resampled(stamp(), study_id, kernel, old, new)


def agreement(study_id: str, kernel: str) -> dict[tuple[str, str], Fraction | None]:
    """Live agreement of every state with every state; within on the diagonal."""
    return _matrix(stamp(), study_id, kernel)


def paths(study_id: str, kernel: str, old: str, new: str) -> tuple[list[str], dict[str, list[str]]]:
    """Ids of the flips of a pair, and by state the class letters of their answers: A as in `old`, B as in `new`."""
    return _paths(stamp(), study_id, kernel, old, new)


def members(study_id: str, old: str, new: str) -> dict[str, list[str]]:
    """Ids of the questions behind the counts along the ladder, by the names of the estimates."""
    return _members(stamp(), study_id, old, new)


def gaps(study_id: str, most: int = 500) -> tuple[int, list[Row]]:
    """How many cells hold no answer, and the first of them."""
    return _gaps(stamp(), study_id, most)


def review(selection: Selection) -> Overview:
    """How far the review of the selected pair's flips is, on this very pair and as whoever looks may know it.

    Raises:
        StorageError: The verdict store cannot be read.
    """
    pair = (selection.old, selection.new)
    fold, found = store().fold(), flips(selection)
    aside: list[str] = []
    if fold.of_kind(None, "quarantine"):
        table, today = _columns(stamp(), selection.study, selection.kernel, *pair), datetime.now(UTC).date().isoformat()
        texts = dict(zip(table["question_id"], table["text"], strict=True))
        aside = [q for q in found if fold.set_aside(selection.study, q, question_digest(texts[q]), today)]
    return overview(fold, selection.study, found, pair, identity.person(), identity.team().needed, aside)


def flips(selection: Selection) -> list[str]:
    """Ids of the selected pair's repeat-stable flips."""
    return _flips(stamp(), selection.study, selection.kernel, selection.old, selection.new)


def labelled(study_id: str) -> bool:
    """Whether anybody has labelled pairs of answers of a study; False where the store cannot be read."""
    try:
        return bool(store().fold().of_kind(study_id, "label"))
    except AuditError:
        return False


def splits(study_id: str, state: str, most: int) -> tuple[list[Row], int]:
    """The first questions of a state whose repeats do different things, and how many there are."""
    return _splits(stamp(), study_id, state, most)


def excerpts(study_id: str) -> dict[str, dict[str, list[str]]]:
    """Ids of questions by state and class of the excerpts that their answers carry, once for each excerpt."""
    return _excerpts(stamp(), study_id)


def outcome_sources(study_id: str) -> list[tuple[str, int, int]]:
    """Who says what answers do: source, answers, and of them those that are not certain."""
    return _sources(stamp(), study_id)


def over_evidence(study_id: str, state: str) -> outcomes.Refusals:
    """Refusals of a state, and those of them whose own evidence mentions an accepted answer."""
    return _over_evidence(stamp(), study_id, state)


def outcome_flows(study_id: str, old: str, new: str) -> dict[str, dict[str, int]]:
    """Matched repeats by outcome at the old state, then at the new one."""
    return _outcome_flows(stamp(), study_id, old, new)


def question(study_id: str, question_id: str) -> Row | None:
    """Everything about one question; not cached, the read takes less than a millisecond."""
    return read.question(runtime.database(), study_id, question_id)


def search(study_id: str, text: str) -> set[str]:
    """Ids of the questions whose id, text or answers contain a text."""
    return _search(stamp(), study_id, text)


def live(study_id: str, old: str, new: str, tag: str | None = None) -> dict[str, Row]:
    """Exploratory estimates of any pair, on all questions or those with a tag."""
    return _live(stamp(), study_id, old, new, tag)


def robustness(study_id: str, old: str, new: str) -> dict[str, Row]:
    """How sure the excess churn of a pair is, by name: locked where the study has it, otherwise live."""
    return _robustness(stamp(), study_id, old, new)


def sharing(study_id: str) -> dict[str, int]:
    """Every other loaded study, and how many questions it shares with this one, by id."""
    return _sharing(stamp(), study_id)


def misnamed(first: str, second: str) -> list[str]:
    """Ids that two studies share and that stand for another question, or another gold, in each."""
    return _misnamed(stamp(), first, second)


def paired(first: str, second: str, old: str, new: str) -> dict[str, Row]:
    """Two studies on the questions that they share, exploratory, by name."""
    return _paired(stamp(), first, second, old, new)


def paired_flips(first: str, second: str, kernel: str, old: str, new: str) -> dict[str, list[str]]:
    """Ids of the shared questions that flip in both studies, in the first alone, in the second alone."""
    return _paired_flips(stamp(), first, second, kernel, old, new)


def arrays(study_id: str) -> Any:
    """All answers of a study as arrays; shared between sessions, never change them."""
    return _arrays(stamp(), study_id)


def compare(selection: Selection) -> Comparison:
    """Estimates for the selected pair: locked where the study has them, otherwise live and exploratory."""
    row, stored = study(selection.study), estimates(selection.study)
    ending = f"@{selection.old}-{selection.new}"
    locked = any(name.endswith(ending) for name in stored)
    rows = stored
    if not locked and selection.old != selection.new:
        rows = {**live(selection.study, selection.old, selection.new), **stored}
    return Comparison(selection, row, rows, stored, locked, lambda: coverage(selection.study))
