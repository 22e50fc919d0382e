"""Inputs of a protocol: JSONL, CSV, Parquet, other people's columns, and every fault at once with its place."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from audit_core import codec
from audit_core.collect import frozen, inputs, stages
from audit_core.collect.tables import BATCH
from audit_core.collection import read_toml
from audit_core.errors import InputError
from audit_core.model import Gold, Question
from audit_core.prompts import Passage
from audit_core.study import COLLECTION, PRIMARY, Study
from tests.support.collecting import messages, prepare
from tests.support.shared import shared
from tests.support.simulator import CREATED


def jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def of_parquet(path: Path, *records: dict[str, Any]) -> Path:
    parquet.write_table(pa.Table.from_pylist(list(records)), path)
    return path


QUESTIONS = [Question("q1", 'Who, "me"?', ("a", "b")), Question("q2", "Two\nlines", ())]


@pytest.mark.parametrize("kind", ["own.jsonl", "other.jsonl", "q.csv", "q.tsv", "q.parquet", "ids.parquet"])
def test_the_same_questions_from_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    path, expected = tmp_path / kind, QUESTIONS
    if kind == "own.jsonl":
        jsonl(path, *({"question_id": q.question_id, "question": q.text, "tags": q.tags} for q in QUESTIONS))
    elif kind == "other.jsonl":
        jsonl(path, *({"_id": q.question_id, "query": q.text, "tags": q.tags, "split": "dev"} for q in QUESTIONS))
    elif kind == "q.csv":
        path.write_text('id,question,tags\nq1,"Who, ""me""?","[""a"", ""b""]"\nq2,"Two\nlines",\n')
    elif kind == "q.tsv":
        path.write_text('\ufeffqid\tquestion\ttags\nq1\t"Who, ""me""?"\t"[""a"", ""b""]"\nq2\t"Two\nlines"\t\n')
    elif kind == "q.parquet":
        of_parquet(path, *({"id": q.question_id, "question": q.text, "tags": list(q.tags), "emb": [0.5] * 9}
                           for q in QUESTIONS))  # fmt: skip
    else:
        of_parquet(path, {"id": 7015, "question": "a"}, {"id": 2**62 + 1, "question": "b"})
        expected = [Question("7015", "a"), Question(str(2**62 + 1), "b")]
    assert inputs.questions(path) == expected


GOLD = Gold("q1", ("AC/DC", "2017/18"))


@pytest.mark.parametrize(
    "record",
    [
        {"question_id": "q1", "aliases": ["AC/DC", "2017/18"], "support": ["d1"]},
        {"id": "q1", "question": "?", "answers": ["AC/DC", "2017/18"]},
        {"id": "q1", "question": "?", "answers": {"text": ["AC/DC", "2017/18", "AC/DC"], "answer_start": [1, 2, 9]}},
        {"question_id": "q1", "answer": {"value": "2017/18", "aliases": ["AC/DC", "2017/18"], "type": "x"}},
    ],
)
@pytest.mark.parametrize("write", [jsonl, of_parquet])
def test_gold_as_people_have_it(tmp_path: Path, record: dict[str, Any], write: Any) -> None:
    suffix = "jsonl" if write is jsonl else "parquet"
    assert inputs.gold(write(tmp_path / f"gold.{suffix}", record), ["q1"]) == [GOLD]


def test_a_csv_cell_is_one_answer_or_a_json_list_and_is_never_split(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text('id,answer\nq1,"[""AC/DC"", ""2017/18""]"\nq2,406/5 BC\nq3,None\n')
    assert inputs.gold(path, ["q1", "q2", "q3"]) == [GOLD, Gold("q2", ("406/5 BC",)), Gold("q3", ("None",))]
    path.write_text("id,answer\nq1,\"['AC/DC']\"\nq2,\n")
    with pytest.raises(InputError) as caught:
        inputs.gold(path, [])
    assert [p.where for p in caught.value.problems] == ["gold.csv: line 2", "gold.csv: line 3"]


@pytest.mark.parametrize(
    "answers",
    [None, {}, {"text": []}, {"aliases": None, "value": "x"}, {"aliases": [1], "value": "x"}, {"value": "x"}, [1], [],
     "", ["\ud83d"], True, 7],
)  # fmt: skip
def test_answers_that_are_none(tmp_path: Path, answers: object) -> None:
    path = jsonl(tmp_path / "gold.jsonl", {"id": "q1", "answers": answers})
    with pytest.raises(InputError, match=r"answers are not what they must be.*gold.jsonl: line 1"):
        inputs.gold(path, [])


def test_a_missing_column_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("id,frage\nq1,a\nq2,b\n")
    with pytest.raises(InputError) as caught:
        inputs.questions(path)
    assert [(p.what, p.where) for p in caught.value.problems] == [("question is missing", "q.csv: line 1")]


def test_questions_without_ids_are_named_by_their_text(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "nq.jsonl", {"question": "who  is it", "answer": ["one"]}, {"question": "b", "answer": ["2"]}
    )
    found = inputs.questions(path)
    assert found[0].question_id == "q-" + hashlib.sha256(b"who is it").hexdigest()[:16]
    assert inputs.gold(path, [q.question_id for q in found]) == [
        Gold(found[0].question_id, ("one",)), Gold(found[1].question_id, ("2",))]  # fmt: skip
    jsonl(path, {"question": "b", "url": "u"}, {"question": "b ", "url": "u"})
    with pytest.raises(InputError, match=r"question_id is missing"):
        inputs.questions(path)
    with pytest.raises(InputError, match=r"occurs twice.*first at 1 \(nq.jsonl: line 2\)"):
        inputs.questions(path, {"id": ""})
    jsonl(path, {"question": "b"}, {"question": "c", "id": "x"})
    with pytest.raises(InputError, match=r"some records have ids and others not.*nq.jsonl: line 2"):
        inputs.questions(path)


def test_names_of_columns_are_given_or_guessed_strictly(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "q.jsonl", {"id": "a", "qid": "b", "question": "?"})
    with pytest.raises(InputError, match=r"several columns could be the id: .* found qid, id"):
        inputs.questions(path)
    assert inputs.questions(path, {"id": "qid"}) == [Question("b", "?")]
    jsonl(path, {"id": "a", "question_id": "own", "frage": "?"})
    with pytest.raises(InputError, match="question is missing: expected a column question or query or text"):
        inputs.questions(path)
    assert inputs.questions(path, {"question": "frage"}) == [Question("own", "?")]
    with pytest.raises(InputError, match="there is no column where"):
        inputs.questions(path, {"question": "where"})


def test_every_fault_of_a_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    lines = [
        '{"question_id": "a", "question": "fine"}',
        '{"question_id": "a", "question": "twice"}',
        "",
        '{"question_id": "b", "question": 7}',
        '{"question_id": "c", "question": "x", "tags": "loose"}',
        '{"question_id": "d", "question": "\\ud83d"}',
        '{"question_id": "e", "question": NaN}',
        '{"question_id": "f", "question_id": "g", "question": "x"}',
        '["no object"]',
        '{"question_id": "h"',
        '{"question_id": "", "question": "x"}',
        '{"question_id": true, "question": "x"}',
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        inputs.questions(path)
    assert [p.where for p in caught.value.problems] == [f"q.jsonl: line {n}" for n in (2, 4, 5, 6, 7, 8, 9, 10, 11, 12)]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("id,question\nq1\n", r"another length.*q.csv: line 2"),
        ('id,question\nq1,"open\n', "damaged CSV"),
        ("id,id\n1,2\n", "header does not name the columns"),
        ("", "header does not name the columns"),
    ],
)
def test_damaged_csv(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        inputs.questions(path)
    path.write_bytes(b"id,question\nq1,\xff\n")
    with pytest.raises(InputError, match="damaged CSV"):
        inputs.questions(path)


def test_a_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = of_parquet(tmp_path / "s.parquet", {"document_id": "d", "text": "t"})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"damaged Parquet.*s.parquet"):
        list(inputs.shard(path))
    of_parquet(path, {"document_id": "d", "text": "t"}, {"document_id": "e", "text": None})
    with pytest.raises(InputError, match=r"text is not what it must be.*s.parquet: record 2"):
        list(inputs.shard(path))


def test_a_parquet_corpus_is_streamed_and_keeps_families(tmp_path: Path) -> None:
    rows = [{"_id": f"d{i}", "contents": f"text {i}", "family": f"f{i % 3}", "emb": [0.0]} for i in range(3 * BATCH)]
    path = of_parquet(tmp_path / "s.parquet", *rows)
    stream = inputs.shard(path)
    assert next(stream) == Passage("d0", "", "", "text 0", "f0")
    assert sum(1 for _ in stream) == 3 * BATCH - 1
    stream.close()


def test_faults_of_all_files_come_together(tmp_path: Path) -> None:
    toml = prepare(tmp_path)
    with (tmp_path / "questions.jsonl").open("a") as stream:
        stream.write('{"question_id": "q0", "question": "again"}\n')
    for shard in (1, 3):
        with (tmp_path / f"shard-{shard}.jsonl").open("a") as stream:
            stream.write('{"document_id": "bad"}\n')
    jsonl(tmp_path / "shard-2.jsonl", {"document_id": "doccanary0-1", "text": "another text"})
    with pytest.raises(InputError) as caught:
        stages.freeze(toml, tmp_path / "study", CREATED)
    assert [p.where for p in caught.value.problems] == [
        "questions.jsonl: line 11", "shard-1.jsonl: line 11", "shard-2.jsonl and an earlier shard",
        "shard-3.jsonl: line 11",
    ]  # fmt: skip
    assert not (tmp_path / "study").exists()


def test_a_stranger_gets_the_same_selection_from_the_public_parts(tmp_path: Path) -> None:
    toml = prepare(tmp_path, questions=20)
    (tmp_path / "seen-before.txt").write_bytes(b"q3\r\nq11\nabsent\n")
    text = toml.read_text().replace('exclude_file = ""', 'exclude_file = "seen-before.txt"')
    toml.write_text(text.replace("exclude = []", 'exclude = ["q5"]').replace("count = 20", "count = 9"))
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)

    public = tomllib.loads(toml.read_text())["questions"]
    ids = [json.loads(line)["question_id"] for line in (tmp_path / public["file"]).read_text().splitlines()]
    out = {*public["exclude"], *(tmp_path / public["exclude_file"]).read_text().split()}
    order = sorted(set(ids) - out, key=lambda i: hashlib.sha256(public["seed"].encode() + b"\0" + i.encode()).digest())
    held = (study.path / "selection/questions.jsonl").read_text().splitlines()
    assert [json.loads(line)["question_id"] for line in held] == order[:9]
    frozen_as = json.loads((study.path / "protocol/protocol.json").read_text())["sources"]
    named = {s["name"]: s["sha256"] for s in frozen_as}
    for name in (public["file"], public["exclude_file"]):
        assert named[name] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    (tmp_path / "seen-before.txt").write_text("q3\n")
    with pytest.raises(InputError, match="differs from the frozen one"):
        frozen.check_unchanged(tmp_path, study.protocol, frozen.public_files(read_toml(toml)[1]))


def test_other_formats_run_through_the_stages_and_families_reach_the_evidence(tmp_path: Path) -> None:
    toml = prepare(tmp_path, questions=3)
    for shard in (1, 2, 3):
        rows = [json.loads(line) for line in (tmp_path / f"shard-{shard}.jsonl").read_text().splitlines()]
        rows = [{"_id": r["document_id"], "body": r["text"], "family": f"fee-{i}"} for i, r in enumerate(rows)]
        of_parquet(tmp_path / f"shard-{shard}.parquet", *rows)
    rows = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    (tmp_path / "q.csv").write_text("id,question\n" + "".join(f"{r['question_id']},{r['question']}\n" for r in rows))
    text = toml.read_text().replace(".jsonl", ".parquet").replace('"questions.parquet"', '"q.csv"')
    text = text.replace('"gold.parquet"', '"gold.jsonl"')
    text = text.replace("\n[corpus]\n", '\n[corpus]\ncolumns = { text = "body" }\n')
    toml.write_text(text)
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)
    stages.retrieve_evidence(study, tmp_path, CREATED)
    found = [codec.to_evidence(record) for record in Study(study.path).reader(PRIMARY)]
    assert {d.family for e in found for d in e.documents} <= {f"fee-{i}" for i in range(7)}
    assert all(d.family for e in found for d in e.documents)
    assert json.loads((study.path / COLLECTION).read_text())["corpus_columns"] == {"text": "body"}


def test_questions_and_gold_in_one_file_is_said_on_the_study(tmp_path: Path) -> None:
    toml = prepare(tmp_path, questions=2)
    jsonl(
        tmp_path / "nq.jsonl", *({"question": f"What is the fee for item {i}?", "answer": [str(i)]} for i in range(4))
    )
    toml.write_text(toml.read_text().replace('"questions.jsonl"', '"nq.jsonl"').replace('"gold.jsonl"', '"nq.jsonl"'))
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    assert any("not out of reach" in sentence for sentence in study.protocol.limits)


def test_nq_open_as_published() -> None:

    path = shared("field", "nq-open", "NQ-open.dev.jsonl")
    found = inputs.questions(path)
    assert len(found) > 1000
    assert len(inputs.gold(path, [q.question_id for q in found])) == len(found)


def faults_of(toml: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        stages.freeze(toml, toml.parent / "study", CREATED)
    assert not (toml.parent / "study").exists()
    assert not list(toml.parent.glob("*.gold-nonce"))
    return [str(problem) for problem in caught.value.problems]


MARK = b"\xef\xbb\xbf"


def test_a_mark_at_the_start_and_null_for_what_is_optional_change_nothing(tmp_path: Path) -> None:
    """Some editors write a byte order mark; some exports write null for an empty column."""
    toml = prepare(tmp_path, questions=6)
    for name in ("protocol.toml", "questions.jsonl", "gold.jsonl", "shard-1.jsonl"):
        (tmp_path / name).write_bytes(MARK + (tmp_path / name).read_bytes())
    with (tmp_path / "shard-2.jsonl").open("a") as stream:
        stream.write('{"document_id": "n", "text": "fee", "title": null, "url": null, "family": null}\n')
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)
    assert len(list(study.questions())) == 6


def test_blank_texts_and_empty_shards_are_faults(tmp_path: Path) -> None:
    toml = prepare(tmp_path, questions=6)
    for name, line in (
        ("questions.jsonl", '{"question_id": "blank", "question": " \\t"}'),
        ("questions.jsonl", '{"question_id": " ", "question": "What?"}'),
        ("gold.jsonl", '{"question_id": "blank", "aliases": ["one", " "]}'),
        ("shard-1.jsonl", '{"document_id": "blank", "text": "\\n"}'),
    ):
        with (tmp_path / name).open("a") as stream:
            stream.write(line + "\n")
    (tmp_path / "shard-2.jsonl").write_bytes(b"")
    found = faults_of(toml)
    assert [fault.partition(":")[0] for fault in found] == [
        "question is not what it must be",
        "question_id is not what it must be",
        "aliases are not what they must be",
        "text is not what it must be",
        "a shard holds no passage",
    ]


def test_an_excluded_id_that_no_question_has_is_a_fault(tmp_path: Path) -> None:
    toml = prepare(tmp_path, questions=6)
    toml.write_text(toml.read_text().replace("exclude = []", 'exclude = ["q1", "Q2"]'))
    assert faults_of(toml) == [
        "excluded ids name no question: expected ids of questions.jsonl, found Q2 ([questions] exclude). "
        "Correct them; an exclude_file may hold ids of other files too."
    ]


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:99999", "http://h:port", "http://h:0", "http://[::1", "http://h\\u0000x", "http://a\\\\b"],
)
def test_an_address_that_cannot_be_asked_is_a_fault(tmp_path: Path, address: str) -> None:
    toml = prepare(tmp_path, generation=messages(address))
    assert [fault.partition(":")[0] for fault in faults_of(toml)] == ["base_url is not an address"]


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown(tmp_path: Path) -> None:
    toml = prepare(tmp_path, generation=messages("http://127.0.0.1:9").replace("AUDIT_TEST_KEY", "sk-ant-CANARY-1"))
    (fault,) = faults_of(toml)
    assert fault.startswith("key_variable is not what it must be: expected the name of an environment variable")
    assert "CANARY" not in fault


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("count = 20 ", "count = " + "9" * 5000 + " ", "the protocol is not TOML"),
        ("count = 20 ", "count = 0x" + "f" * 5000 + " ", "count is not what it must be"),
        ("[budget]", "[budget]\nx = " + "[" * 50_000, "the protocol is not TOML"),
        ('label = "one shard"', "label = 1", "a label is not what it must be"),
        ('"shard-2.jsonl"', '"shard-1.jsonl"', "a shard is named twice"),
        ("controls = false", "controls = true", "control packets need a judge"),
        ('margin = "0.03"', 'margin = "-0.03"', "margin is not what it must be"),
        ('margin = "0.03"', 'margin = "3"', "margin is not what it must be"),
    ],
)
def test_settings_that_cannot_be_meant_are_faults(tmp_path: Path, old: str, new: str, fault: str) -> None:
    toml = prepare(tmp_path, questions=20)
    text = toml.read_text()
    assert old in text
    toml.write_text(text.replace(old, new, 1))
    assert fault in [found.partition(":")[0] for found in faults_of(toml)]
