"""Files that cannot be read as a table: exit code 2, a message in four parts, and nothing left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.importers import delimited, jsonl, parquet, values
from audit_core.importers.staging import Staging
from tests.support.tables import answers, imported, rows, write_csv, write_jsonl, write_parquet

GOOD = b'{"question_id":"q1","state":"A","repeat":1,"answer":"x"}\n'
HEAD = b"question_id,state,repeat,answer\n"


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, *files: Path, options: tuple[str, ...] = ()) -> str:
    before = sorted(tmp_path.rglob("*"))
    code = main(["import", "table", *map(str, files), "--study", str(tmp_path / "study"), *options, "--json"])
    assert code == 2
    assert sorted(tmp_path.rglob("*")) == before
    output = capsys.readouterr()
    facts = json.loads(output.out)
    assert facts["ok"] is False
    assert facts["errors"]
    assert "Traceback" not in output.err
    for error in facts["errors"]:
        assert error["what"]
        assert error["action"]
        assert error["expected"] or error["found"] or error["where"]
    return output.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"question_id":"q1","answer":NaN}', "NaN is not JSON"),
        (b'{"question_id":"q1","answer":-Infinity}', "-Infinity is not JSON"),
        (b'{"question_id":"q1","answer":1e999}', "1e999 is out of range"),
        (b'{"question_id":"q1","question_id":"q2"}', "'question_id' stands twice"),
        (b'{"question_id":"q1","evidence":[{"id":1,"id":2}]}', "'id' stands twice"),
        (b'{"question_id":"q1"} {"question_id":"q2"}', "Extra data"),
        (b'{"question_id":"q1"},', "Extra data"),
        (b'{"question_id":"q1"', "Expecting ',' delimiter"),
        (b'{"question_id":"q1', "Unterminated string"),
        (b'{"question_id":"q\xff1"}', "byte 18 of the line is not UTF-8"),
        (b'{"question_id":"q\x011"}', "Invalid control character"),
        (b'{"question_id":"q\t1"}', "Invalid control character"),
        (b"{'question_id':'q1'}", "Expecting property name"),
        (b'{"question_id":01}', "Expecting"),
        (b'["q1"]', "not an object"),
        (b'"q1"', "not an object"),
        (b"null", "not an object"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32"),
        (b'{"a":' + b"9" * 5_000 + b"}", "a number of 5,000 characters"),
        (b"\x00" * 64, "Expecting value"),
    ],
)
def test_damaged_jsonl_lines_are_named(capsys, tmp_path: Path, line: bytes, says: str) -> None:
    table = tmp_path / "t.jsonl"
    table.write_bytes(GOOD + line + b"\n" + GOOD.replace(b"q1", b"q2"))
    message = refused(capsys, tmp_path, table)
    assert "t.jsonl: line 2" in message
    assert says in message


def test_every_damaged_line_is_named_at_once(capsys, tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_bytes(GOOD + b"{\n" + GOOD + b"[]\n" + b"\n" + b"{,}\n")
    message = refused(capsys, tmp_path, table)
    assert [n for n in range(1, 8) if f"line {n})" in message] == [2, 4, 6]


def test_a_damaged_line_far_down_is_named(capsys, tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_bytes(b"".join(GOOD.replace(b"q1", b"q%d" % n) for n in range(3_000)) + b'{"question_id":')
    assert "t.jsonl: line 3001" in refused(capsys, tmp_path, table)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + b"q1,A,1,x\nq2,A,1\n", "found 3 values (t.csv: line 3)"),
        (HEAD + b"q1,A,1,x,y\n", "found 5 values (t.csv: line 2)"),
        (HEAD + b'q1,A,1,x\nq2,A,1,"open\nand on\n', "never closed; the file looks cut (t.csv: line 3)"),
        (HEAD + b'q1,A,1,"x"y\n', "t.csv: line 2"),
        (HEAD + b"q1,A,1,x\nq2,A,1,caf\xe9\n", "not UTF-8"),
        (HEAD + b"q1,A,1,x\nq2,A,1,caf\xe9\n", "t.csv: line 3"),
        ("question_id,state".encode("utf-16"), "UTF-16"),
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (HEAD, "no record can be used"),
        (HEAD + b",A,1,x\n", "no record can be used"),
        (b",,\n1,2,3\n", "no header"),
        (b"question_id,state,repeat,answer,answer\nq,A,1,x,y\n", "two columns have one name"),
        (b"qid;state;repeat;answer\nq;A;1;x\n", "--delimiter ';'"),
        (b"qid,state,repeat,answer\nq,A,1,x\n", "Perhaps --map question_id=qid"),
        (b"question_id,state,repeat,generated_answer\nq,A,1,x\n", "Perhaps --map answer=generated_answer"),
        (
            b"question_id,Model,repeat,answer\nq,A,1,x\n",
            "Perhaps --map state=Model. If a file holds one state: --state NAME",
        ),
        (b"question_id,gold\nq,x\n", "no column answer"),
        (b"one,two\n1,2\n", "no column question_id"),
        (HEAD + b"q," + b"S" * 300 + b",1,x\n", "a state's name of 300 characters"),
    ],
)
def test_damaged_csv_is_named(capsys, tmp_path: Path, text: bytes, says: str) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(text)
    assert says in refused(capsys, tmp_path, table)


@pytest.mark.parametrize(
    ("name", "start", "says"),
    [
        ("t.xlsx", b"PK\x03\x04rest", "spreadsheet"),
        ("t.csv.gz", b"\x1f\x8brest", "gzip"),
        ("t.db", b"SQLite format 3\x00rest", "SQLite"),
        ("t.parquet", b"question_id,answer\n", "not a Parquet file"),
        ("t.parquet", b"PAR1 and then nothing", "damaged Parquet"),
        ("t.json", b'[{"question_id":"q1"}]', "one object a line"),
    ],
)
def test_other_files_are_named_for_what_they_are(capsys, tmp_path: Path, name: str, start: bytes, says: str) -> None:
    table = tmp_path / name
    table.write_bytes(start)
    assert says in refused(capsys, tmp_path, table)


def test_missing_files_and_none_at_all(capsys, tmp_path: Path) -> None:
    assert "no such file" in refused(capsys, tmp_path, tmp_path / "nothing.csv")
    assert "nothing to read" in refused(capsys, tmp_path)


def test_folders_may_hold_links_in_circles_and_pipes(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_jsonl(folder / "good.jsonl", rows(2))
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "circle.jsonl").symlink_to(folder / "circle.jsonl")
    (folder / "nowhere.jsonl").symlink_to(tmp_path / "no such file")
    report, _ = imported(tmp_path, folder)
    assert [file["name"] for file in report.files] == ["good.jsonl"]
    assert next(finding.count for finding in report.problems if finding.kind == "skipped_files") == 3


def test_a_cut_parquet_file_is_refused(capsys, tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "t.parquet", rows(50))
    table.write_bytes(table.read_bytes()[:-20])
    assert "damaged Parquet" in refused(capsys, tmp_path, table)


def test_damage_inside_a_parquet_file_is_refused(tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "t.parquet", rows(500), compression="gzip")
    data = bytearray(table.read_bytes())
    data[200:400] = b"\xff" * 200
    table.write_bytes(data)
    with pytest.raises(InputError, match="damaged Parquet"):
        imported(tmp_path, table)
    assert not (tmp_path / "study").exists()


def test_a_parquet_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FREE_BYTES", 10_000_000)
    long = "x" * 50_000
    table = [{**row, "answer": long} for row in rows(200)]
    file = write_parquet(tmp_path / "t.parquet", table, compression="zstd")
    assert file.stat().st_size < 50_000
    with pytest.raises(InputError, match="unpacks to too much"):
        imported(tmp_path, file)
    monkeypatch.setattr(parquet, "GROUP_LIMIT", 1_000)
    with pytest.raises(InputError, match="a row group of"):
        imported(tmp_path, file)
    assert not (tmp_path / "study").exists()


def test_long_lines_stop_before_they_fill_the_memory(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (delimited, jsonl):
        monkeypatch.setattr(module, "TEXT_LIMIT", 1_000)
    assert values.TEXT_LIMIT == 16 << 20
    table = tmp_path / "t.jsonl"
    table.write_bytes(GOOD + b'{"question_id":"' + b"q" * 2_000 + b'"}\n')
    assert "longer than 1,000 bytes" in refused(capsys, tmp_path, table)
    table = tmp_path / "t.csv"
    table.write_bytes(HEAD + b'q1,A,1,"' + b"x" * 2_000 + b'"\n')
    assert "a line is too long" in refused(capsys, tmp_path, table)
    table.write_bytes(HEAD + b'q1,A,1,"' + b"x\n" * 2_000 + b'"\n')
    assert "t.csv: line 2" in refused(capsys, tmp_path, table)


def test_long_answers_are_no_fault(tmp_path: Path) -> None:
    table = rows(1, ["A"], 1)
    table[0]["answer"] = "word " * 200_000
    _, study = imported(tmp_path, write_csv(tmp_path / "t.csv", table))
    assert answers(study)["q0", "A", 1] == "word " * 200_000


def test_an_existing_folder_is_never_touched(capsys, tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "mine.txt").write_text("keep")
    assert "never overwritten" in refused(capsys, tmp_path, write_csv(tmp_path / "t.csv", rows(1)))
    assert (study / "mine.txt").read_text() == "keep"


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    table = write_jsonl(tmp_path / "t.jsonl", rows(3_000))

    def grow(stage: str, done: int, total: int | None) -> None:
        with table.open("ab") as stream:
            stream.write(GOOD)

    from audit_core.importers.table import import_table

    with pytest.raises(InputError, match="changed while it was read"):
        import_table([table], tmp_path / "study", progress=grow)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--map", "question_id"), "not column=name"),
        (("--map", "=x"), "not column=name"),
        (("--map", "qid=ident"), "names no column of ours"),
        (("--map", "answer=nothere"), "a mapped column is in no file"),
        (("--map", "answer=answer", "answer=state"), "two columns are mapped to one"),
        (("--states", "A"), "the ladder is not the files' states"),
        (("--states", "A,B,C"), "the ladder is not the files' states"),
        (("--endpoints", "A,C"), "no such endpoints"),
        (("--endpoints", "A"), "no such endpoints"),
        (("--states", "A,B", "--endpoints", "B,A"), "the endpoints are in reverse"),
        (("--closed-book", "n0"), "no such state"),
        (("--gold-separator", ""), "the separator is empty"),
        (("--unknown", " "), "a blank answer cannot stand for UNKNOWN"),
        (("--delimiter", "ab"), "the delimiter is not one character"),
        (("--state", " "), "the state has no name"),
    ],
)
def test_options_that_cannot_be_meant(capsys, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    table = write_csv(tmp_path / "t.csv", rows(2))
    assert says in refused(capsys, tmp_path, table, options=options)


def test_pairs_of_states_keep_names_of_their_own(capsys, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", rows(1, ["a", "b-c", "a-b", "c"]))
    assert "two pairs of states would have one name" in refused(capsys, tmp_path, table)


def test_a_wrong_column_taken_for_the_state_is_noticed(capsys, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [{**row, "note": str(number)} for number, row in enumerate(rows(50))])
    assert "too many states" in refused(capsys, tmp_path, table, options=("--map", "state=note"))
    message = refused(capsys, tmp_path, table, options=("--map", "state=question_id"))
    assert "no column question_id" in message
    assert "mapped to something else" in message


@pytest.mark.parametrize("gold", ["true", "[true]", '[{"text":"x"}]', "[null]", "{}"])
def test_gold_that_is_no_text_is_refused_by_line(capsys, tmp_path: Path, gold: str) -> None:
    table = tmp_path / "t.jsonl"
    table.write_text(f'{{"question_id":"q1","state":"A","repeat":1,"answer":"x","gold":{gold}}}\n')
    message = refused(capsys, tmp_path, table)
    assert "unusable gold" in message
    assert "t.jsonl: line 1" in message


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), name=st.sampled_from(["t.csv", "t.jsonl", "t.parquet", "t"]), head=st.booleans())
def test_any_bytes_are_a_study_or_a_refusal(tmp_path_factory, data: bytes, name: str, head: bool) -> None:
    tmp_path = tmp_path_factory.mktemp("t")
    file = tmp_path / name
    file.write_bytes((HEAD if head else b"") + data)
    try:
        imported(tmp_path, file)
    except InputError:
        assert not (tmp_path / "study").exists()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    record=st.dictionaries(
        st.sampled_from([
            "question_id", "state", "repeat", "answer", "gold", "evidence", "tags", "status", "error", "weight",
            "cached", "passage", "time", "other",
        ]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)  # fmt: skip
def test_any_record_is_a_cell_or_counted_or_refused(tmp_path_factory, record: dict[str, object]) -> None:
    tmp_path = tmp_path_factory.mktemp("t")
    whole = {"question_id": "q1", "state": "A", "repeat": 1, "answer": "x", "gold": ["x"]}
    try:
        report, study = imported(tmp_path, write_jsonl(tmp_path / "t.jsonl", [whole, {**whole, "repeat": 2} | record]))
    except InputError:
        assert not (tmp_path / "study").exists()
        return
    left_out = sum(f.count for f in report.problems if f.severity == "error")
    duplicates = sum(f.count for f in report.problems if f.kind == "duplicate_rows")
    assert len(answers(study)) + left_out + duplicates == 2


def test_seeds_are_no_repeats(capsys, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [{**row, "repeat": str(n)} for n, row in enumerate(rows(300))])
    assert "too many repeats" in refused(capsys, tmp_path, table)


def test_names_that_are_no_text(tmp_path: Path, capsys) -> None:
    table = write_csv(tmp_path / "t.csv", rows(1))
    odd = tmp_path / "caf\udce9.csv"
    table.rename(odd)
    report, study = imported(tmp_path, odd)
    assert study.protocol.sources[0].name == report.files[0]["name"] == "caf\ufffd.csv"
    assert "not valid text" in refused(
        capsys, tmp_path, odd, options=("--study", str(tmp_path / "x"), "--unknown", "\udce9")
    )


def test_rows_that_nobody_reads_to_their_end(tmp_path: Path) -> None:
    """An import that is stopped leaves such an iteration behind its closed database, where nobody catches an error."""
    with Staging() as staging:
        reading = staging.stream("SELECT 1 UNION SELECT 2")
        assert next(reading) == (1,)
    reading.close()  # type: ignore[attr-defined]
