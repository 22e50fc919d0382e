"""The database: three computations that agree, refusal of failed studies, and nothing half-written."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from audit_core import explore
from audit_core.errors import InputError, StorageError, VerificationError
from audit_core.readmodel import read
from audit_core.readmodel.load import load
from audit_core.readmodel.schema import TABLES
from audit_core.results import arrays_of, estimate_study
from audit_core.study import CELLS, Study
from audit_core.verify import verify
from tests.support import oracle
from tests.support.simulator import CREATED, StudySimulator

SHAPES = {
    "two repeats": StudySimulator(states=("n0", "n1", "n3", "n7"), noise=0.3, passages=True),
    "ragged": StudySimulator(
        states=("n1", "n3", "n7"),
        repeats={"n1": 2, "n3": 3, "n7": 5},
        noise=0.4,
        answers={("q00003", "n7", 2): None, ("q00004", "n1", 1): None},
    ),
    "no labels": StudySimulator(labels=False, noise=0.3),
    "one repeat": StudySimulator(repeats=1, labels=False),
    "nothing but answers": StudySimulator(labels=False, gold=False, evidence=False, text=None, tags=()),
    "hostile ids": StudySimulator(
        questions=6,
        ids=["q 1", "q_1", "q'1", "[q1]", "q1;DROP TABLE cell;--", "ｑ1"],
        answers={("q 1", "n1", 1): "nul\x00byte\r\n\u202ebidi"},
    ),
}


@pytest.fixture(scope="module", params=SHAPES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("loaded")
    simulator = SHAPES[request.param]
    study = simulator.build(folder / "study")
    estimate_study(study, created=CREATED)
    load([folder / "study"], folder / "audit.db", verifier=verify)
    return simulator, study, folder / "audit.db"


def test_numpy_sql_and_fractions_agree(loaded) -> None:  # type: ignore[no-untyped-def]
    """Per-question contrasts: the loader's (numpy), the view's (SQL), and an oracle's (fractions) are equal."""
    simulator, study, db = loaded
    with read.reader(db) as connection:
        stored = read.rows(
            connection,
            "SELECT c.*, p.old, p.new, q.question_id FROM contrast c JOIN pair p USING (pair_key) "
            "JOIN question q USING (question_key)",
        )
        view = {
            (r["pair_key"], r["kernel"], r["question_key"]): r
            for r in read.rows(connection, "SELECT * FROM contrast_recomputed")
        }
    by_id = {d.question.question_id: d for d in simulator.dossiers()}
    assert stored
    eligible = 0
    for row in stored:
        want = oracle.contrast(by_id[row["question_id"]], row["kernel"], "nq_open/1", row["old"], row["new"])
        assert (row["numerator"] is None) is (want is None)
        other = view.get((row["pair_key"], row["kernel"], row["question_key"]))
        for name in ("within_old_pairs", "within_new_pairs", "cross_pairs"):
            assert row[name] == ((other or {}).get(name) or 0)
        if want is None:
            continue
        eligible += 1
        assert Fraction(row["numerator"], row["denominator"]) == want
        assert other is not None
        assert [row[n] for n in ("within_old", "within_new", "crossing")] == [
            other[n] for n in ("within_old", "within_new", "crossing")
        ]
        assert bool(row["flip"]) is (want == 1)
    assert eligible or simulator.repeats == 1


def test_estimates_on_screen_are_those_of_the_ledgers(loaded) -> None:  # type: ignore[no-untyped-def]
    _, study, db = loaded
    stored = read.estimates(db, study.protocol.study_id)
    record = study.results()
    assert record is not None
    assert [e["name"] for e in record["estimates"]] == list(stored)
    for estimate in record["estimates"]:
        row = stored[estimate["name"]]
        assert (str(row["numerator"]), str(row["denominator"])) == (
            str(estimate["numerator"]),
            str(estimate["denominator"]),
        )
        assert (row["value"] is None) is (estimate["value"] is None)
        if row["value"] is None:
            assert row["reason"]


def test_what_is_read_back_is_what_was_locked(loaded) -> None:  # type: ignore[no-untyped-def]
    _, study, db = loaded
    for before, after in zip(study.dossiers(), read.dossiers(db, study.protocol.study_id), strict=True):
        assert after.question == before.question
        assert [(c.state, c.repeat, c.status, c.answer) for c in after.cells] == [
            (c.state, c.repeat, c.status, c.answer) for c in before.cells
        ]
        assert after.gold == before.gold
    live = read.arrays(db, study.protocol.study_id)
    locked = arrays_of(study.protocol, study.dossiers())
    for name in ("repeats", "exact", "raw", "em", "unknown", "documents"):
        assert (getattr(live, name) == getattr(locked, name)).all()


def test_explored_pairs_are_the_stored_columns(loaded) -> None:  # type: ignore[no-untyped-def]
    _, study, db = loaded
    answers = read.arrays(db, study.protocol.study_id)
    for old, new, _ in study.protocol.pairs():
        for kernel in answers.kernels:
            stored = read.columns(db, study.protocol.study_id, kernel, old, new)
            live = explore.columns(answers, kernel, old, new)
            assert stored is not None
            assert {name: stored[name] for name in live} == live
    swapped = {e.name: e for e in explore.pair_estimates(answers, *reversed(study.protocol.pairs()[0][:2]))}
    assert all(e.status in ("exploratory", "post-hoc") for e in swapped.values())


def test_a_slice_holds_only_its_questions(studies: Path) -> None:
    study = Study(studies / "nq-400")
    answers = arrays_of(study.protocol, study.dossiers())
    ids = answers.question_ids[:50]
    found = {e.name: e for e in explore.pair_estimates(answers, "n1", "n7", ids)}
    churn = found["excess_churn[semantic]@n1-n7"]
    assert (churn.population, churn.status) == (50, "exploratory")


def test_a_failed_check_is_refused_and_leaves_the_old_database(tmp_path: Path) -> None:
    StudySimulator().build(tmp_path / "good")
    load([tmp_path / "good"], tmp_path / "audit.db", verifier=verify)
    before = (tmp_path / "audit.db").read_bytes()
    StudySimulator(study_id="bad").build(tmp_path / "bad")
    cells = tmp_path / "bad" / CELLS
    cells.write_bytes(cells.read_bytes().replace(b"Answer old", b"Answer odd", 1))
    with pytest.raises(VerificationError, match="check C04 failed"):
        load([tmp_path / "good", tmp_path / "bad"], tmp_path / "audit.db", verifier=verify)
    assert (tmp_path / "audit.db").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["audit.db", "bad", "good"]
    load([tmp_path / "bad"], tmp_path / "audit.db", verifier=verify, allow_failed=True)
    assert read.study(tmp_path / "audit.db", "bad")["verified"] == "failed"


def test_strict_tables_and_sound_references(tmp_path: Path, studies: Path) -> None:
    load(sorted(studies.iterdir()), tmp_path / "audit.db", verifier=verify)
    connection = sqlite3.connect(tmp_path / "audit.db")
    strict = {name for name, flag in connection.execute("SELECT name, strict FROM pragma_table_list") if flag}
    assert set(TABLES) <= strict
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_bad_targets_are_refused(tmp_path: Path) -> None:
    StudySimulator(questions=3).build(tmp_path / "study")
    (tmp_path / "other.db").write_text("precious")
    connection = sqlite3.connect(tmp_path / "foreign.db")
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    for name in ("other.db", "foreign.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(InputError, match="another file is there"):
            load([tmp_path / "study"], tmp_path / name, verifier=verify)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(InputError, match="folder does not exist"):
        load([tmp_path / "study"], tmp_path / "no" / "audit.db", verifier=verify)
    with pytest.raises(InputError, match="two studies have one id"):
        load([tmp_path / "study", tmp_path / "study"], tmp_path / "audit.db", verifier=verify)
    with pytest.raises(InputError, match="no database here"):
        read.studies(tmp_path / "audit.db")
    (tmp_path / "audit.db").write_bytes(b"SQLite format 3\x00" + b"junk" * 500)
    with pytest.raises(StorageError, match="cannot be read"):
        read.studies(tmp_path / "audit.db")


def test_a_study_that_changes_between_check_and_load_is_refused(tmp_path: Path) -> None:
    StudySimulator(questions=3).build(tmp_path / "study")

    def check(path: Path):  # type: ignore[no-untyped-def]
        found = verify(path)
        cells = path / CELLS
        cells.write_bytes(cells.read_bytes().replace(b"Answer old", b"Answer odd", 1))
        return found

    with pytest.raises(Exception, match="changed while it was read"):
        load([tmp_path / "study"], tmp_path / "audit.db", verifier=check)
    assert not (tmp_path / "audit.db").exists()


@pytest.mark.parametrize("text", ["", "%", "_", "'", "\\", "\x00", "Answer", "q0000", "\U0001f642"])
def test_search_takes_any_text_literally(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("search")
    StudySimulator(questions=4, answers={("q00001", "n1", 1): "100% of _it_ isn't \\ fine \U0001f642"}).build(
        folder / "s"
    )
    load([folder / "s"], folder / "audit.db", verifier=verify)
    found = read.search(folder / "audit.db", "simulated", text)
    want = {
        "%": {"q00001"},
        "_": {"q00001"},
        "'": {"q00001"},
        "\\": {"q00001"},
        "\x00": set(),
        "\U0001f642": {"q00001"},
    }
    assert found == want.get(text, {"q00000", "q00001", "q00002", "q00003"})
