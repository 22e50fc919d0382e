"""What structured output says of answers, families of documents, texts of refusals, settings of states: in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.importers import remembered
from audit_core.importers.options import Options
from audit_core.importers.peek import peek
from audit_core.model import Excerpt
from audit_core.report.answers import as_csv, as_jsonl
from audit_core.rules.outcome import REFUSALS, read
from audit_core.study import Study
from tests.support.tables import cells, dossiers, imported, rows, write_csv, write_jsonl, write_parquet

EXCERPTS: list[dict[str, Any]] = [
    {"text": "twice a \"day\"", "document_id": "d1"}, {"text": "an hour", "rank": 2}, {"text": "−5 °C"},
]  # fmt: skip


def table() -> list[dict[str, Any]]:
    found = rows(2)
    for number, row in enumerate(found):
        row["outcome"] = ("answered", "Partial ", "REFUSED", "")[number % 4]
        row["excerpts"] = EXCERPTS if number % 2 else []
        row["evidence"] = [
            {"document_id": "d1", "text": "twice", "score": "1.5", "title": "T", "family": "lotions"},
            {"document_id": "d2", "text": f"run {row['repeat']}", "family": ""},
        ]
    return found


def as_text(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, **{name: json.dumps(row[name]) for name in ("excerpts", "evidence")}} for row in found]


def check(study: Study) -> None:
    found = cells(study)
    said = [found[q, s, r] for q in ("q0", "q1") for s in "AB" for r in (1, 2)]
    assert [cell.outcome for cell in said] == ["answered", "partial", "refused", None] * 2
    excerpts = (Excerpt('twice a "day"', "d1"), Excerpt("an hour", rank=2), Excerpt("−5 °C"))
    assert [cell.excerpts for cell in said] == [(), excerpts] * 4
    evidence = dossiers(study)["q0"].evidence
    assert [item.repeat for item in evidence] == [1, 2, 1, 2]  # each repeat has its own passages
    assert [d.family for d in evidence[0].documents] == ["lotions", ""]


def test_all_formats_say_the_same_and_export_gives_it_back(tmp_path: Path) -> None:
    files = {
        "jsonl": write_jsonl(tmp_path / "t.jsonl", table()),
        "csv": write_csv(tmp_path / "t.csv", as_text(table())),
        "parquet": write_parquet(tmp_path / "t.parquet", table()),
    }
    for name, file in files.items():
        folder = tmp_path / name
        folder.mkdir()
        _, study = imported(folder, file)
        check(study)
        for form, lines in (("jsonl", as_jsonl), ("csv", as_csv)):
            again = folder / f"again.{form}"
            again.write_bytes(b"".join(lines(study)))
            (folder / form).mkdir()
            check(imported(folder / form, again)[1])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("outcome", "correct", "'correct' where answered, partial or refused is expected"),
        ("outcome", "true", "'true' where"),
        ("excerpts", "a quote", "a text where a JSON list of excerpts is expected"),
        ("excerpts", '["x", 3]', "an excerpt is expected"),
        ("excerpts", '[{"document_id": "d1"}]', "an excerpt without a text"),
        ("excerpts", '[{"text": "x", "rank": 0}]', "ranks begin with 1"),
        ("excerpts", '[{"text": "x", "rank": "one"}]', "a whole number is expected"),
    ],
)
def test_other_words_stop_the_import_and_name_the_row(tmp_path: Path, column: str, value: str, words: str) -> None:
    found = [{**row, "outcome": "", "excerpts": ""} for row in rows(2)]
    found[3][column] = value
    file = write_csv(tmp_path / "t.csv", found)
    with pytest.raises(InputError) as caught:
        imported(tmp_path, file)
    (problem,) = caught.value.problems
    assert words in problem.what
    assert problem.where == "t.csv: line 5"
    assert f"--map {column}=-" in problem.action
    assert not (tmp_path / "study").exists()
    _, study = imported(tmp_path, file, mapping=(f"{column}=-",))
    assert all(cell.outcome is None and not cell.excerpts for cell in cells(study).values())


def test_a_failed_call_has_no_outcome_and_two_outcomes_of_a_cell_are_a_conflict(tmp_path: Path) -> None:
    found = [{**row, "status": "ok", "outcome": "answered"} for row in rows(2)]
    found[0] |= {"status": "error", "answer": "", "outcome": "refused"}
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", found))
    assert cells(study)["q0", "A", 1].outcome is None
    assert {p.kind: p.count for p in report.problems}["outcomes_without_answers"] == 1
    twice = write_csv(tmp_path / "twice.csv", [*found, {**found[3], "outcome": "partial"}])
    with pytest.raises(InputError, match="two rows for the cell"):
        imported(tmp_path / "x", twice)


def test_texts_and_settings_of_the_command_line_are_in_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_csv(tmp_path / "t.csv", rows(2))
    command = ["import", "table", str(file), "--study", str(tmp_path / "s"), "--refusal", "No such tariff",
               "--gap", "not in our handbook", "--setting", "A", "prompt=v3", "--setting", "B", "prompt=v4 = final",
               "--setting", "B", "chunk size=512"]  # fmt: skip
    assert main(command) == 0
    protocol = Study(tmp_path / "s", "verified").protocol
    assert protocol.outcome_rule.refusals == ("No such tariff", *REFUSALS)
    assert protocol.differences("A", "B") == [("chunk size", "no", "512"), ("prompt", "v3", "v4 = final")]
    assert protocol.differs.endswith("known to be set apart: chunk size, prompt")
    assert read("No such tariff!", protocol.unknown_texts, protocol.outcome_rule).outcome == "refused"
    assert main([*command[:3], "--study", str(tmp_path / "alone"), "--gap", "x y", "--no-shipped-texts"]) == 0
    alone = Study(tmp_path / "alone").protocol.outcome_rule
    assert (alone.refusals, alone.gaps) == ((), ("x y",))
    assert main([*command[:3], "--study", str(tmp_path / "plain")]) == 0
    assert Study(tmp_path / "plain").protocol.outcomes is None
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--setting", "C", "prompt=v3"], "no such state"),
        (["--setting", "A", "prompt"], "no name or no value"),
        (["--setting", "A", "p=1", "--setting", "A", "p=2"], "named twice"),
        (["--refusal", "?!"], "a text says nothing"),
        (["--gap", " "], "a text says nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    file = write_csv(tmp_path / "t.csv", rows(2))
    assert main(["import", "table", str(file), "--study", str(tmp_path / "s"), *more]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_one_refusal_everywhere_is_remarked_on(tmp_path: Path) -> None:
    refusal = {"answer": "I couldn't find relevant information."}
    found = [{**row, **(refusal if row["state"] == "B" else {})} for row in rows(20)]
    report, study = imported(tmp_path, write_csv(tmp_path / "t.csv", found))
    assert "one_answer_everywhere" in {problem.kind for problem in report.problems}
    rule = study.protocol.outcome_rule
    said = {cell.state: read(cell.answer or "", ("UNKNOWN",), rule).outcome for cell in cells(study).values()}
    assert said == {"A": "answered", "B": "refused"}


def test_the_page_guesses_and_remembers_the_columns(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "t.jsonl", [{**row, "quotes": row["excerpts"]} for row in table()])
    found = peek([file], Options())
    assert (found.guess["outcome"], found.guess["excerpts"]) == ("outcome", "excerpts")
    remembered.keep(tmp_path / "audit.db", found.columns, {"excerpts": "quotes", "outcome": "-"})
    assert remembered.known(tmp_path / "audit.db", found.columns) == {"excerpts": "quotes"}


def test_a_protocol_names_texts_of_its_own(tmp_path: Path) -> None:
    from audit_core.collection import TEMPLATE, read_toml

    texts = 'refusals = ["No such tariff"]\nshipped = false\n#'
    own = TEMPLATE.replace("judge = false                        #", texts)
    (tmp_path / "protocol.toml").write_text(own)
    protocol, _ = read_toml(tmp_path / "protocol.toml")
    assert protocol.outcome_rule.refusals == ("No such tariff",)
    assert protocol.outcome_rule.gaps == ()
    (tmp_path / "protocol.toml").write_text(TEMPLATE)
    assert read_toml(tmp_path / "protocol.toml")[0].outcomes is None
    (tmp_path / "protocol.toml").write_text(own.replace("No such tariff", "?"))
    with pytest.raises(InputError, match="refusals is not what it must be"):
        read_toml(tmp_path / "protocol.toml")
