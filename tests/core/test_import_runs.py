"""Ranked lists beside the answers: TREC runs and BEIR results become the evidence of their states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.study import Study
from audit_core.verify import verify
from tests.support.files import NOT_READ, not_read
from tests.support.made_logs import phoenix_records, taken, write
from tests.support.tables import dossiers, imported, problems, rows, write_csv, write_text


def documents(study: Study, question: str, state: str) -> list[tuple[str, str | None]]:
    (found,) = [e for e in dossiers(study)[question].evidence if e.state == state]
    return [(document.document_id, document.score) for document in found.documents]


def run(folder: Path, name: str, lines: list[str]) -> Path:
    return write_text(folder / name, "".join(f"{line}\n" for line in lines))


def test_lists_are_ordered_by_score_and_belong_to_their_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    old = run(
        tmp_path, "old.run", ["q0 Q0 http://x/?a=1 1 9.50 t", "q0\tQ0\tb\t2\t10.1\tt", "q1 Q0 c 1 3 t", "q9 Q0 z 1 1 t"]
    )
    new = write(tmp_path / "new.json", {"q0": {"b": 0.5, "a": 1.25}})
    study = tmp_path / "study"
    assert (
        main(["import", "table", str(table), f"--run=A={old}", f"--run=B={new}", "--study", str(study), "--json"]) == 0
    )
    facts = json.loads(capsys.readouterr().out)
    assert documents(Study(study), "q0", "A") == [("b", "10.1"), ("http://x/?a=1", "9.50")]
    assert documents(Study(study), "q0", "B") == [("a", "1.25"), ("b", "0.5")]
    counts = {problem["kind"]: problem["count"] for problem in facts["problems"]}
    assert (counts["ranks_against_scores"], counts["run_questions_unknown"], counts["questions_without_run"]) == (
        1,
        1,
        1,
    )
    assert [source.name for source in Study(study).protocol.sources] == ["t.csv", "old.run", "new.json"]
    assert not [check for check in verify(study) if check.result == "failed"]


def test_runs_go_with_logs_too(tmp_path: Path) -> None:
    records = [{**record, "output": {"answer": record["output"]["answer"]}} for record in phoenix_records(2)]
    lists = run(tmp_path, "n1.run", [f"example-{n} Q0 d{k} 0 {9 - k} t" for n in range(3) for k in range(4)])
    file = write(tmp_path / "n1.json", records)
    report, study = taken(tmp_path, "phoenix", file, runs=(("n1", lists),), run_depth=2)
    assert [d for d, _ in documents(study, "example-2", "n1")] == ["d0", "d1"]
    assert problems(report)["ranks_all_equal"] == 3


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["q0 Q0 a 1 9"], "5 columns"),
        (["q0 Q0 a first 9 t"], "rank first"),
        (["q0 Q0 a 1 NaN t"], "score NaN"),
        (["x9 Q0 a 1 9 t"], "no question of the answers"),
        ([f"q0 Q0 d{n} {n} {-n} t" for n in range(101)], "--run-depth"),
        (['{"q0": {"a": "high"}}'], "a score is no number"),
        (['{"q0": ["a"]}'], "no BEIR results"),
        (['{"q0": '], "damaged JSON"),
    ],
)
def test_what_is_no_run(tmp_path: Path, lines: list[str], what: str) -> None:
    file = run(tmp_path, "a.run", lines)
    with pytest.raises(InputError) as caught:
        imported(tmp_path, write_csv(tmp_path / "t.csv", rows(2)), runs=(("A", file),))
    assert what in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_unknown_states_and_evidence_from_two_places(tmp_path: Path) -> None:
    table = [{**row, "evidence": '["x"]'} for row in rows(2)]
    file = run(tmp_path, "a.run", ["q0 Q0 a 1 9 t"])
    with pytest.raises(InputError, match="hold evidence already"):
        imported(tmp_path, write_csv(tmp_path / "t.csv", table), runs=(("A", file),))
    with pytest.raises(InputError, match="no such state"):
        imported(tmp_path, write_csv(tmp_path / "u.csv", rows(2)), runs=(("C", file),))
    for what, told in NOT_READ.items():
        if told == "no regular file":
            not_read(tmp_path / what, what)
            with pytest.raises(InputError, match=told):
                imported(tmp_path, write_csv(tmp_path / "v.csv", rows(2)), runs=(("A", tmp_path / what),))
    with pytest.raises(InputError, match="no such file"):
        imported(tmp_path, write_csv(tmp_path / "v.csv", rows(2)), runs=(("A", tmp_path / "none.run"),))


@pytest.mark.parametrize(
    "lines", [["q0 0 a 2", "q0 0 b 0", "q9 0 z 1"], ["query-id\tcorpus-id\tscore", "q0\ta\t1", "q0\tb\t0"]]
)
def test_judged_relevance_makes_slices(tmp_path: Path, lines: list[str]) -> None:
    old = run(tmp_path, "old.run", ["q0 Q0 b 1 2 t", "q0 Q0 a 2 1 t"])
    new = run(tmp_path, "new.run", ["q0 Q0 b 1 2 t", "q0 Q0 c 2 1 t", "q1 Q0 a 1 1 t"])
    judged = run(tmp_path, "qrels.tsv", lines)
    table = write_csv(tmp_path / "t.csv", [{**row, "tags": "billing"} for row in rows(2)])
    report, study = imported(tmp_path, table, runs=(("A", old), ("B", new)), qrels=judged)
    assert dossiers(study)["q0"].question.tags == ("billing", "no relevant in B", "relevant in A")
    assert dossiers(study)["q1"].question.tags == ("billing",)
    assert problems(report)["questions_not_judged"] == 1
    assert [source.name for source in study.protocol.sources][-1] == "qrels.tsv"


@pytest.mark.parametrize(("lines", "what"), [(["q0 a 1"], "no line of judgments"), (["x 0 a 1"], "is judged")])
def test_what_are_no_judgments(tmp_path: Path, lines: list[str], what: str) -> None:
    with pytest.raises(InputError, match=what):
        imported(tmp_path, write_csv(tmp_path / "t.csv", rows(2)), qrels=run(tmp_path, "q.tsv", lines))
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ('{"q0": {"d": 1e999999999999999999999}}', "a score is no number"),
        ('{"q0": {"d": -1e99999999}}', "a score is no number"),
        ('{"q0": {"": 1}}', "a document has no id"),
    ],
)
def test_results_that_hold_no_ranked_documents(tmp_path: Path, results: str, says: str) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    with pytest.raises(InputError, match=says):
        imported(tmp_path, table, runs=(("A", write_text(tmp_path / "a.json", results)),))


def test_odd_document_ids_are_ids(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    half = write_text(tmp_path / "a.json", '{"q0": {"d\\ud83d": 1}}')
    spaced = run(tmp_path, "b.run", ["q0 Q0 page\u00a03 1 9 t"])
    _, study = imported(tmp_path, table, runs=(("A", half), ("B", spaced)))
    assert documents(study, "q0", "A") == [("d\ufffd", "1")]
    assert documents(study, "q0", "B") == [("page\u00a03", "9")]
