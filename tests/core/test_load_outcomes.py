"""Outcomes in the database: three computations that agree, evidence of single repeats, siblings, excerpts, settings."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from audit_core import codec, explore
from audit_core.digests import sha256
from audit_core.estimators.groups import GROUPS, Group
from audit_core.estimators.refusals import alarms
from audit_core.model import (
    Cell,
    Document,
    Dossier,
    Evidence,
    Excerpt,
    Gold,
    JudgedOutcome,
    Question,
    Sibling,
    Siblings,
    State,
)
from audit_core.protocol import Judge, Protocol
from audit_core.readmodel import outcomes, read
from audit_core.readmodel.load import load
from audit_core.results import arrays_of, estimate_study, settings_of
from audit_core.reviews.filters import Filters
from audit_core.reviews.queues import Table
from audit_core.study import SIBLINGS, Study, create_study, outcomes_of
from audit_core.verify import verify
from tests.support import oracle_refusals
from tests.support.refusing import STATES, WORDS, study
from tests.support.relock import Records, relock, rewrite_results
from tests.support.simulator import CREATED

TEXTS = ("The gates open at nine.", "Nothing of the kind.")
PASSAGES = {sha256(text.encode()): text for text in TEXTS}


def drawn(questions: int) -> list[Dossier]:
    """Questions of all shapes, from a fixed seed."""
    draw = random.Random(5)
    cells = [None, *[(text, kind) for kind, texts in WORDS.items() for text in texts]]

    def state() -> tuple[list, bool]:
        held = [(draw.choice(cells), draw.choice([None, "a", "a", "b", "c"])) for _ in range(draw.randint(1, 4))]
        return held, draw.random() < 0.3

    return study([(state(), state(), draw.randrange(2**20)) for _ in range(questions)])


def protocol(**values: object) -> Protocol:
    given: dict[str, object] = {
        "study_id": "refusing", "title": "", "origin": "collected", "provenance": "", "generator": "simulator",
        "states": tuple(State(name, name) for name in STATES), "endpoints": STATES, "normalization": "nq_open/1",
        "draws": 200, "judges": (Judge("primary", "primary", True, "drawn"),),
    }  # fmt: skip
    return Protocol(**{**given, **values})  # type: ignore[arg-type]


def build(path: Path, dossiers: list[Dossier], **values: object) -> Study:
    return create_study(
        path,
        protocol(**values),
        questions=[d.question for d in dossiers],
        cells=[c for d in dossiers for c in d.cells],
        evidence=[e for d in dossiers for e in d.evidence],
        passages=PASSAGES if any(x.passage for d in dossiers for e in d.evidence for x in e.documents) else None,
        judgments={"primary": [d.judgments["primary"] for d in dossiers if d.judgments]},
        gold=[d.gold for d in dossiers if d.gold],
        created=CREATED,
    )


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Dossier], Study, Path]:
    folder = tmp_path_factory.mktemp("refusing")
    dossiers = drawn(80)
    made = build(folder / "study", dossiers)
    estimate_study(made, created=CREATED)
    load([folder / "study"], folder / "audit.db", verifier=verify)
    return dossiers, made, folder / "audit.db"


def test_numpy_sql_and_the_oracle_agree_on_splits(loaded: tuple[list[Dossier], Study, Path]) -> None:
    """The table is numpy's, the view SQL's from cells and documents, the oracle goes through the dossiers."""
    dossiers, _, db = loaded
    with read.reader(db) as connection:
        stored = {(r["question_key"], r["state"]): r for r in read.rows(connection, "SELECT * FROM outcome")}
        view = {(r["question_key"], r["state"]): r for r in read.rows(connection, "SELECT * FROM outcome_recomputed")}
    assert stored == view
    seen = set()
    for number, dossier in enumerate(dossiers, 1):
        for position, state in enumerate(STATES):
            found = oracle_refusals.outcomes(dossier, state)
            row = stored.get((number, position))
            assert (row is None) is (not found)
            if row is None:
                continue
            same = oracle_refusals.same_evidence(dossier, state)
            assert {k: v for k, v in row.items() if k not in ("question_key", "state")} == {
                "answers": len(found),
                **{word: found.count(word) for word in ("answered", "partial", "refused")},
                "split": oracle_refusals.split(dossier, state),
                "refusal_split": oracle_refusals.refusal_split(dossier, state),
                "same_evidence": same,
            }
            seen.add((row["split"], row["refusal_split"], row["same_evidence"]))
    assert seen >= {(a, b, c) for a, b in ((0, 0), (1, 0), (1, 1)) for c in (0, 1, None)}


def test_arrays_from_the_database_are_those_of_the_ledgers(loaded: tuple[list[Dossier], Study, Path]) -> None:
    _, made, db = loaded
    live, locked = read.arrays(db, "refusing"), arrays_of(made.protocol, made.dossiers())
    for name in ("outcome", "evidence", "text", "documents", "repeats"):
        assert (getattr(live, name) == getattr(locked, name)).all(), name
    assert live.common == locked.common


def test_numbers_lists_and_queues_say_the_same(loaded: tuple[list[Dossier], Study, Path]) -> None:
    _, _, db = loaded
    estimates = read.estimates(db, "refusing")
    arrays = read.arrays(db, "refusing")
    columns = read.columns(db, "refusing", "semantic", *STATES)
    assert columns is not None
    table = Table(columns)
    for state, end in zip(STATES, ("old", "new"), strict=True):
        same = estimates[f"outcome_split@{state}"]
        listed = outcomes.outcomes(db, "refusing", state=state, kind="split", same_evidence=True, limit=1_000)
        assert listed.total == len(listed.rows) == same["numerator"] > 0
        every = outcomes.outcomes(db, "refusing", state=state, kind="split", limit=3)
        assert (every.total, len(every.rows)) == (estimates[f"outcome_split_any@{state}"]["numerator"], 3)
        rest = outcomes.outcomes(db, "refusing", state=state, kind="split", limit=1_000, offset=3)
        ids = [row["question_id"] for row in (*every.rows, *rest.rows)]
        live = explore.outcome_columns(arrays, state)
        assert ids == [q for q, split in zip(live["question_id"], live["split"], strict=True) if split]
        facts = Filters(facts=(f"split_{end}", f"same_evidence_{end}"))
        mask = facts.mask(table, None, lambda _: set())  # type: ignore[arg-type]
        assert [table.ids[i] for i in mask.nonzero()[0]] == [row["question_id"] for row in listed.rows]
        split = outcomes.outcomes(db, "refusing", state=state, kind="refusal_split", limit=1_000)
        bit = 1 if end == "old" else 2
        wanted = [q for q, n in zip(columns["question_id"], columns["refusal_split"], strict=True) if n & bit]
        assert [row["question_id"] for row in split.rows] == wanted
        assert split.total == int(estimates[f"outcome_split_any@{state}"]["detail"]["refusal_splits"])
    for way in ("to_refused", "from_refused"):
        page = outcomes.flows(db, "refusing", *STATES, way, limit=1_000)  # type: ignore[arg-type]
        assert page is not None
        assert sum(row["repeats"] for row in page.rows) == estimates[f"outcome_transitions[{way}]@L-H"]["numerator"]
        assert page.total == len(page.rows) > 0
    assert outcomes.flows(db, "refusing", "H", "L", "to_refused") is None
    first = outcomes.outcomes(db, "refusing", limit=2).rows
    assert [(row["question_id"], row["state"]) for row in first] == [("q0", "L"), ("q0", "H")]
    assert outcomes.outcomes(db, "nobody").total == 0


def test_where_outcomes_come_from_is_kept(tmp_path: Path) -> None:
    texts = {1: "Yes: nine.", 2: "I do not know. It may be nine.", 3: "I do not know. Perhaps at ten.", 4: "unknown"}
    cells = tuple(
        Cell("q", "L", r, "ok", text, outcome="partial" if r == 1 else None,
             excerpts=(Excerpt("open at nine", "d1", 1),) if r == 1 else ())
        for r, text in texts.items()
    )  # fmt: skip
    failed = Cell("q", "L", 5, "error", None, "503")
    build(tmp_path / "s", [Dossier(Question("q"), (*cells, failed), {}, (), None)])
    judged = [codec.from_outcome(JudgedOutcome("q", "L", 2, "refused"))]
    relock(tmp_path / "s", lambda records: records.update({outcomes_of("primary"): judged}))
    load([tmp_path / "s"], tmp_path / "audit.db", verifier=verify)
    row = read.question(tmp_path / "audit.db", "refusing", "q")
    assert row is not None
    found = [(c["outcome"], c["outcome_source"], c["outcome_certain"], c["excerpts"]) for c in row["cells"]]
    assert found[0] == ("partial", "structured output", 1, [{"text": "open at nine", "document_id": "d1", "rank": 1}])
    assert found[1] == ("refused", "judge primary", 1, [])
    assert found[2] == ("partial", "rule clauses/1: “i do not know”", 0, [])
    assert found[3] == ("refused", "rule clauses/1: “unknown”", 1, [])
    assert found[4] == (None, None, None, [])


def passage(document_id: str, rank: int, text: str, score: str = "1") -> Document:
    return Document(document_id, rank, score, "", sha256(text.encode()), "family of " + document_id)


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """Two refusals: one over evidence that holds the answer, in repeat 2 only; the other over none of it."""
    cells = [Cell(q, s, r, "ok", "UNKNOWN" if s == "L" else "at nine") for q in ("p", "q") for s in STATES
             for r in (1, 2)]  # fmt: skip
    evidence = [
        Evidence("p", "L", (passage("d1", 1, TEXTS[1]), passage("d2", 2, TEXTS[1])), 1),
        Evidence("p", "L", (passage("d2", 1, TEXTS[1]), passage("d1", 2, TEXTS[0])), 2),
        Evidence("p", "H", (passage("d1", 1, TEXTS[0]),)),
        Evidence("q", "L", (passage("d3", 1, TEXTS[1]),)),
        Evidence("q", "H", (), 1),
        Evidence("q", "H", (passage("d3", 1, TEXTS[1]),), 2),
    ]
    gold = {"p": ("at nine", "9 am"), "q": ("at eight",)}
    dossiers = [
        Dossier(Question(q), tuple(c for c in cells if c.question_id == q), {},
                tuple(e for e in evidence if e.question_id == q), Gold(q, gold[q]))
        for q in ("p", "q")
    ]  # fmt: skip
    states = (State("L", "before", settings=(("policy", "baseline"),)), State("H", "after"))
    build(tmp_path / "s", dossiers, states=states)

    def add(records: Records) -> None:
        found = Siblings("p", "L", (Sibling("d9", "family of d1", "d1", 7, "0.25", "Nine", sha256(TEXTS[0].encode())),
                                    Sibling("d8", "", "d2")))  # fmt: skip
        records[SIBLINGS] = [codec.from_siblings(found)]

    relock(tmp_path / "s", add)
    load([tmp_path / "s"], tmp_path / "audit.db", verifier=verify)
    return tmp_path / "audit.db"


def test_evidence_of_single_repeats_siblings_and_settings(refused: Path) -> None:
    row, other = (read.question(refused, "refusing", q) for q in ("p", "q"))
    assert row is not None
    assert other is not None
    assert {s: {r: [(d["document_id"], d["passage_text"], d["family"]) for d in docs] for r, docs in by.items()}
            for s, by in row["evidence_by_repeat"].items()} == {
        "L": {1: [("d1", TEXTS[1], "family of d1"), ("d2", TEXTS[1], "family of d2")],
              2: [("d2", TEXTS[1], "family of d2"), ("d1", TEXTS[0], "family of d1")]},
        "H": {-1: [("d1", TEXTS[0], "family of d1")]},
    }  # fmt: skip
    assert [d["document_id"] for d in row["documents"]["L"]] == ["d1", "d2"], "the first repeat stands for the state"
    assert [(s["document_id"], s["of"], s["rank"], s["score"], s["passage_text"]) for s in row["siblings"]["L"]] == [
        ("d9", "d1", 7, "0.25", TEXTS[0]), ("d8", "d2", None, None, None),
    ]  # fmt: skip
    assert [s["settings"] for s in read.study(refused, "refusing")["states"]] == [{"policy": "baseline"}, {}]
    assert [c["evidence"] for c in other["cells"]] == [0, 0, 1, 0], "an empty list is evidence too"
    live, locked = (list(read.dossiers(refused, "refusing")), read.arrays(refused, "refusing"))
    assert [e.repeat for e in live[0].evidence] == [1, 2, None]
    assert locked.evidence[1].tolist() == [[0, 0], [1, 0]]


def test_a_repeat_may_be_numbered_0(tmp_path: Path) -> None:
    cells = tuple(Cell("q", "L", r, "ok", "UNKNOWN" if r else "at nine") for r in (0, 1))
    evidence = tuple(Evidence("q", "L", (passage(f"d{r + 1}", 1, TEXTS[1 - r]),), r) for r in (0, 1))
    made = build(tmp_path / "s", [Dossier(Question("q"), cells, {}, evidence, Gold("q", ("at nine",)))])
    load([tmp_path / "s"], tmp_path / "audit.db", verifier=verify)
    row = read.question(tmp_path / "audit.db", "refusing", "q")
    assert row is not None
    assert {r: [d["document_id"] for d in docs] for r, docs in row["evidence_by_repeat"]["L"].items()} == {
        0: ["d1"], 1: ["d2"]}  # fmt: skip
    live, locked = read.arrays(tmp_path / "audit.db", "refusing"), arrays_of(made.protocol, made.dossiers())
    assert (live.evidence == locked.evidence).all()
    assert outcomes.outcomes(tmp_path / "audit.db", "refusing", state="L").rows[0]["same_evidence"] == 0
    assert outcomes.over_evidence(tmp_path / "audit.db", "refusing", "L").found == [
        {"question_id": "q", "repeat": 1, "ranks": [1]}]  # fmt: skip


def test_refusals_over_evidence_that_mentions_the_answer(refused: Path) -> None:
    found = outcomes.over_evidence(refused, "refusing", "L")
    assert (found.refused, found.told) == (4, 4)
    assert found.found == [{"question_id": "p", "repeat": 2, "ranks": [2]}]
    assert outcomes.over_evidence(refused, "refusing", "H") == outcomes.Refusals(0, 0)
    assert outcomes.over_evidence(refused, "refusing", "nowhere") == outcomes.Refusals(0, 0)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_estimates_newer_than_the_lock_are_loaded_as_exploratory(
    group: Group, loaded: tuple[list[Dossier], Study, Path], tmp_path: Path
) -> None:
    dossiers, made, db = loaded
    build(tmp_path / "older", dossiers)
    estimate_study(Study(tmp_path / "older"), created=CREATED)
    rewrite_results(
        tmp_path / "older",
        lambda r: r.update(estimates=[e for e in r["estimates"] if e["measure"] not in group.measures]),
    )
    load([tmp_path / "older"], tmp_path / "audit.db", verifier=verify)
    new, old = read.estimates(db, "refusing"), read.estimates(tmp_path / "audit.db", "refusing")
    assert old.keys() == new.keys()
    for name, row in old.items():
        late = row["measure"] in group.measures
        assert row["status"] == ("exploratory" if late else new[name]["status"])
        same = {"status": "", "study_key": 0, "position": 0}
        assert {**row, **same} == {**new[name], **same}
    assert settings_of(made.protocol).status("other", "state") == "supportive" == new["outcome_split@L"]["status"]


def test_an_alarm_is_read_from_the_database(tmp_path: Path) -> None:
    cells = [Cell(f"q{n}", s, r, "ok", "I cannot answer." if s == "L" else f"at {n}") for n in range(20)
             for s in STATES for r in (1, 2)]  # fmt: skip
    build(tmp_path / "s", [Dossier(Question(f"q{n}"), tuple(cells[4 * n : 4 * n + 4]), {}, (), None)
                           for n in range(20)])  # fmt: skip
    load([tmp_path / "s"], tmp_path / "audit.db", verifier=verify)
    (alarm,) = alarms(read.estimates(tmp_path / "audit.db", "refusing").values())
    assert (alarm.state, "40 of 40 answers in L" in alarm.sentence) == ("L", True)


def test_settings_are_kept_as_json(refused: Path) -> None:
    with read.reader(refused) as connection:
        found = [row["settings"] for row in read.rows(connection, "SELECT settings FROM state ORDER BY position")]
    assert list(map(json.loads, found)) == [{"policy": "baseline"}, {}]
