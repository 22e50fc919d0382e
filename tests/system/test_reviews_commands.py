"""The group `reviews` and `verify-signoff` as somebody types them, and the files that other tools read."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.reviews.events import VERDICTS
from audit_core.reviews.proofs import FOLDER
from audit_core.reviews.signoff import Wish, sign
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person
from tests.support.files import NOT_READ, not_read
from tests.support.signing import AT, give, screens


@pytest.fixture
def desk(tmp_path: Path, studies: Path) -> ReviewStore:
    """Two reviewers and an adjudicator on help-centre: settled, ruled, disputed, open; one note like a formula."""
    store = ReviewStore(tmp_path / "reviews.db")
    screen = screens(studies / "help-centre", "semantic", 2)(store.fold())
    one, two, three, four = screen.flips[:4]
    give(store, screen, one, "ann", "regression", impact="high", note="=HYPERLINK(1)", sides="n7")
    give(store, screen, one, "ben", "regression", impact="low", causes=("stale document",))
    give(store, screen, two, "ann", "improvement")
    last = give(store, screen, two, "ben", "both_wrong")
    give(store, screen, two, "cat", "improvement", kind="adjudicate", base_event=last.id, request="ruling")
    give(store, screen, three, "ann", "regression")
    give(store, screen, three, "ben", "cannot_tell")
    give(store, screen, four, "ben", "both_acceptable")
    return store


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code = main([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def exported(capsys, store: ReviewStore, wanted: str, *more: object) -> bytes:
    out = store.path.with_name(f"out.{wanted}")
    code, _ = run(capsys, "reviews", "export", "help-centre", "--format", wanted, "--out", out, "--reviews", store.path,
                  "--needed", 2, *more)  # fmt: skip
    assert code == 0
    return out.read_bytes()


def test_tables_hold_all_standing_verdicts_and_what_came_of_each_question(desk, capsys) -> None:
    rows = [json.loads(line) for line in exported(capsys, desk, "jsonl").splitlines()]
    assert len(rows) == 8
    assert sorted((row["reviewer"], row["outcome"], row["outcome_verdict"]) for row in rows) == [
        ("ann", "disputed", None), ("ann", "ruled", "improvement"), ("ann", "settled", "regression"),
        ("ben", "disputed", None), ("ben", "open", None), ("ben", "ruled", "improvement"),
        ("ben", "settled", "regression"), ("cat", "ruled", "improvement")]  # fmt: skip
    table = list(csv.DictReader(exported(capsys, desk, "csv").decode("utf-8-sig").splitlines()))
    assert [row["outcome"] for row in table] == [row["outcome"] for row in rows]
    assert table[0]["note"] == "'=HYPERLINK(1)"


def test_events_are_what_merge_takes(desk, capsys, tmp_path) -> None:
    exported(capsys, desk, "events")
    other = tmp_path / "other" / "reviews.db"
    other.parent.mkdir()
    code, facts = run(capsys, "reviews", "merge", desk.path.with_name("out.events"), "--into", other)
    assert (code, facts["new"], facts["known"]) == (0, 8, 0)
    assert ReviewStore(other).events() == desk.events()


def inspect_records(data: bytes) -> dict[str, dict[str, Any]]:
    """Read as Inspect's `_read_scores_file` and `_score_from_record` do, with the types that its `Score` admits."""
    found: dict[str, dict[str, Any]] = {}
    for record in [json.loads(line) for line in data.decode().splitlines() if line.strip()]:
        assert isinstance(record, dict)
        assert {"id", "value"} <= set(record) <= {"id", "value", "epoch", "answer", "explanation", "metadata"}
        assert isinstance(record["value"], dict)
        assert all(type(value) in (str, int, float, bool, type(None)) for value in record["value"].values())
        assert isinstance(record["explanation"], str)
        assert isinstance(record["metadata"], dict)
        assert str(record["id"]) not in found, "a duplicate stops Inspect"
        found[str(record["id"])] = record
    return found


def test_scores_for_inspect(desk, capsys) -> None:
    found = inspect_records(exported(capsys, desk, "inspect"))
    outcomes = {record["metadata"]["outcome"]: record for record in found.values()}
    assert set(outcomes) == {"settled", "ruled", "disputed", "open"}
    assert all(set(record["value"]) == set(VERDICTS) for record in found.values())
    assert all(sum(record["value"].values()) == 1 for record in found.values())
    assert outcomes["settled"]["value"]["regression"] == outcomes["ruled"]["value"]["improvement"] == 1
    assert outcomes["disputed"]["value"]["regression"] == outcomes["disputed"]["value"]["cannot_tell"] == 0.5
    assert outcomes["ruled"]["metadata"]["ruling"]["reviewer"] == "cat"
    assert [v["reviewer"] for v in outcomes["ruled"]["metadata"]["verdicts"]] == ["ann", "ben"]
    assert outcomes["settled"]["metadata"]["verdicts"][0]["note"] == "=HYPERLINK(1)"


TYPES = {"number", "string", "category", "text", "url", "image_path", "image_byte", "per_model_boolean",
         "per_model_number", "per_model_category", "per_model_text", "per_rating_string",
         "per_rating_per_model_category"}  # fmt: skip


def test_json_for_llm_comparator(desk, capsys) -> None:
    """Held against the README and `client/lib/types.ts` of PAIR-code/llm-comparator."""
    found = json.loads(exported(capsys, desk, "comparator", "--study", "help-centre"))
    schema = {field["name"]: field for field in found["metadata"]["custom_fields_schema"]}
    assert all(field["type"] in TYPES and set(field) <= {"name", "type", "domain"} for field in schema.values())
    assert "first repeat" in found["metadata"]["source_path"]
    assert [model["name"] for model in found["models"]] == ["n1 (old)", "n7 (new)"]
    assert found["rationale_clusters"] == []
    assert len(found["examples"]) == 80
    for example in found["examples"]:
        texts = example["input_text"], example["output_text_a"], example["output_text_b"]
        assert all(isinstance(text, str) and text for text in texts)
        assert all(isinstance(tag, str) for tag in example["tags"])
        assert example["rationale_list"] == []
        assert example["score"] is None or -1.5 <= example["score"] <= 1.5
        fields = {name for name, field in schema.items() if not field["type"].startswith("per_rating")}
        assert set(example["custom_fields"]) == fields
        for name, value in example["custom_fields"].items():
            kind = schema[name]["type"]
            if kind == "number":
                assert value is None or type(value) in (int, float)
            elif kind == "per_model_number":
                assert value == [1, 1]
            else:
                assert isinstance(value, str)
                assert kind != "category" or value in schema[name]["domain"]
        for rating in example["individual_rater_scores"]:
            assert set(rating) == {"score", "rating_label", "is_flipped", "rationale", "custom_fields"}
            assert isinstance(rating["custom_fields"]["reviewer"], str)
    by_outcome = {e["custom_fields"]["outcome"]: e for e in found["examples"]}
    settled = by_outcome["settled"]
    assert (settled["score"], settled["custom_fields"]["verdict"]) == (1.5, "Regression")
    assert settled["custom_fields"]["repeat-stable flip"] == "yes"
    assert settled["custom_fields"]["excess churn"] == 1
    assert [rating["is_flipped"] for rating in settled["individual_rater_scores"]] == [True, None]
    assert by_outcome["ruled"]["score"] == -1
    assert by_outcome["disputed"]["score"] is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--format", "csv"], "no study is named"),
        (["nowhere", "--format", "csv"], "There are: help-centre"),
        (["help-centre", "--format", "comparator"], "no texts to export"),
        (["nq-400", "--format", "comparator", "--study", "help-centre"], "another study"),
        (["help-centre", "--format", "comparator", "--study", "help-centre", "--old", "n1", "--new", "n9"], "n9"),
        (["help-centre", "--format", "inspect", "--old", "n1"], "not clear"),
    ],
)
def test_what_cannot_be_exported_is_said(desk, capsys, tmp_path, more, said) -> None:
    out = tmp_path / "none"
    assert main(["reviews", "export", *more, "--out", str(out), "--reviews", str(desk.path)]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_nothing_is_written_over(desk, capsys, tmp_path) -> None:
    out = tmp_path / "mine"
    out.write_text("precious")
    assert main(["reviews", "export", "help-centre", "--out", str(out), "--reviews", str(desk.path)]) == 2
    assert "nothing is written over" in capsys.readouterr().err
    assert out.read_text() == "precious"


def test_backup_check_restore(desk, capsys, tmp_path) -> None:
    code, made = run(capsys, "reviews", "backup", "--reviews", desk.path)
    assert (code, made["events"]) == (0, 8)
    code, found = run(capsys, "reviews", "check", "--reviews", desk.path)
    assert (code, {check["result"] for check in found["checks"]}) == (0, {"passed"})
    desk.journal.path.unlink()
    code, found = run(capsys, "reviews", "check", "--reviews", desk.path)
    assert (code, [c["id"] for c in found["checks"] if c["result"] == "failed"]) == (1, ["R03"])
    desk.path.write_bytes(b"nonsense" * 1000)
    code, found = run(capsys, "reviews", "restore", made["copy"], "--reviews", desk.path)
    assert (code, found["events"], len(found["aside"])) == (0, 8, 1)
    assert main(["reviews", "restore", made["copy"], "--reviews", str(desk.path), "--exact"]) == 0
    assert "Kept aside" in capsys.readouterr().out
    assert main(["reviews", "restore", str(tmp_path / "none"), "--reviews", str(desk.path)]) == 2


def test_a_sign_off_is_exported_and_verified_by_its_digest(desk, capsys, studies, tmp_path) -> None:
    out = tmp_path / "signed.jsonl"
    code, told = run(capsys, "reviews", "signoff", "help-centre", "--out", out, "--reviews", desk.path)
    assert (code, told["errors"][0]["what"]) == (2, "this study has no release decision")
    current = screens(studies / "help-centre", "semantic", 2)
    person = Person("cat", "adjudicator")
    sign(desk, person, current(desk.fold()), current, Wish("ship", "Fine."), request_id="s", at=AT)
    code, facts = run(capsys, "reviews", "signoff", "help-centre", "--out", out, "--reviews", desk.path)
    assert (code, facts["decision"]) == (0, "ship")
    command = ["verify-signoff", out, "--study", "help-centre", "--expect"]
    code, found = run(capsys, *command, facts["sha256"])
    assert (code, {check["result"] for check in found["checks"]}) == (0, {"passed"})
    code, found = run(capsys, *command, "0" * 64)
    assert code == 1
    assert main(["verify-signoff", str(out)]) == 0
    assert "No study was given" in capsys.readouterr().out
    assert main(["verify-signoff", str(tmp_path / "none")]) == 2
    (file,) = (desk.path.parent / FOLDER).iterdir()
    assert not stat.S_IMODE(file.stat().st_mode) & 0o222
    code, _ = run(capsys, "reviews", "backup", "--reviews", desk.path)
    assert (desk.path.parent / "backups" / FOLDER / file.name).read_bytes() == file.read_bytes()
    file.unlink()
    code, found = run(capsys, "reviews", "check", "--reviews", desk.path)
    assert [c["id"] for c in found["checks"] if c["result"] == "failed"] == ["R04"]


def test_a_database_of_another_program_is_no_verdicts(capsys, tmp_path) -> None:
    """Also without a version of its own, which is how most programs leave theirs."""
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE precious(x)")
    before = other.read_bytes()
    for code, *command in (
        (2, "merge", other, "--into", tmp_path / "new.db"), (2, "restore", other, "--reviews", tmp_path / "new.db"),
        (3, "backup", "--reviews", other),
        (3, "export", "--format", "events", "--out", tmp_path / "o", "--reviews", other),
        (3, "signoff", "s", "--out", tmp_path / "o", "--reviews", other), (1, "check", "--reviews", other),
    ):  # fmt: skip
        got, facts = run(capsys, "reviews", *command)
        assert (got, "another program" in json.dumps(facts)) == (code, True), command
    assert other.read_bytes() == before
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["other.db"]


@pytest.mark.parametrize("what", ["", "/"])
def test_a_path_without_a_name_is_refused_in_words(capsys, what) -> None:
    for command in (("check", "--reviews", what), ("merge", "x.jsonl", "--into", what), ("backup", "--reviews", what)):
        code, facts = run(capsys, "reviews", *command)
        assert code == 2
        assert "the name of a file" in facts["errors"][0]["what"], command


def test_a_pipe_is_not_waited_for(capsys, tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in (("reviews", "merge", pipe, "--into", tmp_path / "new.db"), ("team", pipe)):
        code, facts = run(capsys, *command)
        assert code == 2
        assert "regular file" in facts["errors"][0]["expected"] + facts["errors"][0]["found"]


def test_an_export_that_the_disk_refuses_leaves_no_half_of_itself(desk, tmp_path) -> None:
    out = tmp_path / "out.jsonl"
    command = ["reviews", "export", "help-centre", "--out", str(out), "--reviews", str(desk.path)]
    program = (
        "import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\nfrom audit_core.cli import main\n"
        f"sys.exit(main({command!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "error: " in done.stderr
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith((".", "out"))] == []


def test_an_emptied_store_beside_its_verdicts_is_not_taken_for_one_without(desk, tmp_path, capsys) -> None:
    desk.path.write_bytes(b"")
    written = desk.journal.path.read_bytes()
    for arguments in (
        ("backup",), ("export", "help-centre", "--format", "events", "--out", tmp_path / "e"),
        ("merge", desk.path, "--into", tmp_path / "other" / "reviews.db"),
    ):  # fmt: skip
        (tmp_path / "other").mkdir(exist_ok=True)
        where = () if arguments[0] == "merge" else ("--reviews", desk.path)
        code, facts = run(capsys, "reviews", *arguments, *where)
        assert (code, facts["ok"]) in ((2, False), (3, False)), arguments
    assert main(["gate", "help-centre", "--reviews", str(desk.path)]) != 0
    assert not (tmp_path / "e").exists()
    assert list(tmp_path.rglob("reviews-*")) == []
    assert desk.journal.path.read_bytes() == written
    assert len(ReviewStore(desk.path).fold().trail) == 8  # whoever opens the desk completes it
    assert run(capsys, "reviews", "backup", "--reviews", desk.path)[1]["events"] == 8


def test_changed_bytes_inside_a_text_are_a_damaged_store(desk, capsys) -> None:
    desk.path.write_bytes(desk.path.read_bytes().replace(b"stale document", b'stale\xff\xfe"ocumen'))
    for arguments in (("export", "help-centre", "--format", "events", "--out", desk.path.with_name("e")), ("backup",)):
        code, facts = run(capsys, "reviews", *arguments, "--reviews", desk.path)
        assert (code, facts["errors"][0]["what"]) == (3, "the verdict store is damaged")


@pytest.mark.parametrize("what", NOT_READ)
def test_a_signoff_that_may_not_be_read_is_refused_with_its_reason(tmp_path: Path, capsys, what: str) -> None:
    told = not_read(tmp_path / "it", what)
    code, facts = run(capsys, "verify-signoff", tmp_path / "it")
    assert (code, told in facts["errors"][0]["what"]) == (2, True), facts
