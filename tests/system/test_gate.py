"""``gate`` as a pipeline runs it: every exit code on a study built for it, and files that other programs read."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit_core.cli import main
from audit_core.deciding import Number, ReleaseOutcome
from audit_core.digests import sha256
from audit_core.estimators.gate import Condition
from audit_core.model import CheckResult
from audit_core.report.gate_files import Gate, escaped, junit, markdown
from audit_core.reviews.store import ReviewStore
from audit_core.study import CELLS, RESULTS, Study
from tests.support.desk import HIDDEN, HOSTILE, HOSTILE_STATE
from tests.support.junit import faults
from tests.support.ruled import BOTH, CALM, FEW, MOVED, NUMBERS, PEOPLE, build, review, signs
from tests.support.simulator import StudySimulator

RULE = '[release]\ntolerance = "0.03"\nmargin = "0.03"\nem_loss = "0.04"\nrefusal_gain = "0.02"\n'


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One study for each outcome, and one without a rule."""
    folder = tmp_path_factory.mktemp("studies")
    build(folder / "calm", BOTH, **CALM)
    build(folder / "moved", NUMBERS, **MOVED)
    build(folder / "few", NUMBERS, **FEW)
    build(folder / "free", None, **CALM)
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main(["gate", *map(str, arguments), "--json"])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return code, json.loads(out)


def test_met(studies: Path, tmp_path: Path, capsys) -> None:
    store = ReviewStore(tmp_path / "reviews.db")
    review(studies / "calm", store)
    signs(studies / "calm", store)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code, facts = run(capsys, studies / "calm")
    assert (code, facts["outcome"], facts["ok"]) == (0, "met", True)
    assert facts["headline"] == "Release rule met: all 6 conditions hold."
    assert [c["met"] for c in facts["conditions"]] == [True] * 6
    assert facts["rule"].startswith("The rule was fixed in the protocol before collection.")
    assert facts["lock"] == Study(studies / "calm").chain[-1].sha256
    assert [n["name"] for n in facts["numbers"]] == [
        f"{m}[semantic]@n1-n7" for m in ("cross_agreement", "excess_churn", "repeat_stable_flips")
    ]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before, "the gate only reads"


def test_not_met(studies: Path, capsys) -> None:
    code, facts = run(capsys, studies / "moved")
    assert (code, facts["outcome"], facts["conditions"][0]["outcome"]) == (1, "not met", "not met")
    assert facts["conditions"][0]["sentence"].startswith("Moved: semantic excess churn is ")


def test_cannot_be_decided(studies: Path, tmp_path: Path, capsys) -> None:
    assert run(capsys, studies / "few")[0] == 4
    code, facts = run(capsys, studies / "calm")
    assert (code, facts["outcome"]) == (4, "cannot be decided")
    assert [c["met"] for c in facts["conditions"]] == [True, True, True, None, None, None]
    assert facts["rule"].endswith("No verdicts: reviews.db does not exist.")
    assert not (tmp_path / "reviews.db").exists()


def test_verdicts_beside_the_study_are_found_and_others_by_name(studies: Path, tmp_path: Path, capsys) -> None:
    study = Path(shutil.copytree(studies / "calm", tmp_path / "deep" / "calm"))
    store = ReviewStore(tmp_path / "deep" / "reviews.db")
    review(study, store)
    assert str(store.path) in run(capsys, study)[1]["rule"]
    ReviewStore(tmp_path / "reviews.db").fold()
    shutil.copy(store.path, tmp_path / "other.db")
    assert run(capsys, study, "--reviews", tmp_path / "other.db")[1]["conditions"][3]["met"] is True
    assert run(capsys, study, "--reviews", tmp_path / "none.db")[0] == 2  # named, and not there
    assert main(["gate", str(study), "--reviews", str(tmp_path)]) == 2  # a folder holds no verdicts
    assert "a folder or a device" in capsys.readouterr().err


def test_a_device_is_not_replaced_by_a_file(studies: Path, tmp_path: Path, capsys) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for option in ("--junit", "--markdown"):
        code, facts = run(capsys, studies / "few", option, pipe)
        assert (code, facts["errors"][0]["what"]) == (2, "a device has this name")
    code, facts = run(capsys, studies / "few", "--rule", pipe)
    assert (code, facts["errors"][0]["what"]) == (2, "no regular file")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_no_rule_is_not_a_rule_that_is_met(studies: Path, capsys) -> None:
    code, facts = run(capsys, studies / "free")
    assert code == 4
    assert facts["errors"][0]["what"] == "this study has no release rule"
    assert "--rule" in facts["errors"][0]["action"]


def test_a_rule_in_a_file_says_that_it_came_later(studies: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "rule.toml").write_text(RULE)
    code, facts = run(capsys, studies / "free", "--rule", tmp_path / "rule.toml")
    assert (code, facts["outcome"]) == (0, "met")
    digest = sha256(RULE.encode())
    assert facts["rule_sha256"] == digest
    assert facts["rule"] == f"The rule was not fixed before collection: it is the one of the file, sha256 {digest}."
    assert {c["name"]: c["sentence"] for c in facts["conditions"]} == {
        c["name"]: c["sentence"] for c in run(capsys, studies / "calm")[1]["conditions"][:3]
    }


def test_an_imported_study_without_results_is_decided_by_a_file(tmp_path: Path, capsys) -> None:
    rows = [f"q{q},{s},{r},answer {q} {s * (q % 9 == 0)}" for q in range(60) for s in ("old", "new") for r in (1, 2)]
    (tmp_path / "answers.csv").write_text("question_id,state,repeat,answer\n" + "\n".join(rows) + "\n")
    assert main(["import", "table", "answers.csv", "--study", "mine", "--states", "old,new"]) == 0
    (tmp_path / "rule.toml").write_text('[release]\ntolerance = "0.01"\nmargin = "0.05"\n')
    capsys.readouterr()
    code, facts = run(capsys, "mine", "--rule", "rule.toml")
    assert (code, facts["conditions"][0]["outcome"]) == (1, "not met")
    assert not (tmp_path / "mine" / RESULTS).exists()
    (tmp_path / "rule.toml").write_text('[release]\nem_loss = "0.01"\n')
    code, facts = run(capsys, "mine", "--rule", "rule.toml")
    assert (code, facts["outcome"]) == (4, "cannot be decided")


def test_a_locked_rule_is_not_softened_afterwards(studies: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "same.toml").write_text(RULE.replace("0.03", "0.030"))
    code, facts = run(capsys, studies / "moved", "--rule", tmp_path / "same.toml")
    assert code == 1
    assert facts["rule"].startswith("The rule was fixed in the protocol before collection.")
    (tmp_path / "soft.toml").write_text(RULE.replace("0.03", "0.3"))
    code, facts = run(capsys, studies / "moved", "--rule", tmp_path / "soft.toml")
    assert code == 2
    assert facts["errors"][0]["what"] in (
        "this is not the rule that the protocol fixed",
        "the release rule has another margin than the decision",
    )
    (tmp_path / "less.toml").write_text(RULE.replace('refusal_gain = "0.02"\n', ""))
    code, facts = run(capsys, studies / "moved", "--rule", tmp_path / "less.toml")
    assert (code, facts["errors"][0]["what"]) == (2, "this is not the rule that the protocol fixed")


def test_bad_input(studies: Path, tmp_path: Path, capsys) -> None:
    assert run(capsys, tmp_path / "nothing")[0] == 2
    assert run(capsys, studies / "free", "--rule", tmp_path / "none.toml")[0] == 2
    for target in (tmp_path, tmp_path / "no" / "such.xml", studies / "moved" / "gate.xml"):
        code, facts = run(capsys, studies / "moved", "--junit", target)
        assert (code, facts["ok"]) == (2, False)
    assert run(capsys, studies / "moved", "--junit", "one", "--markdown", "one")[0] == 2
    assert list(tmp_path.iterdir()) == []
    assert "failed" not in json.dumps(run(capsys, studies / "moved")[1]["failed_checks"])


def test_only_files_of_an_earlier_run_are_replaced(studies: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "rule.toml").write_text(RULE)
    (tmp_path / "empty").touch()
    for option in ("--junit", "--markdown"):
        code, facts = run(capsys, studies / "free", "--rule", "rule.toml", option, "rule.toml")
        assert (code, facts["errors"][0]["what"]) == (2, "another file has this name")
        assert run(capsys, studies / "free", "--rule", "rule.toml", option, "empty")[0] != 2
        assert run(capsys, studies / "free", "--rule", "rule.toml", option, "empty")[0] != 2  # now of an earlier run
        (tmp_path / "empty").write_bytes(b"")
    assert (tmp_path / "rule.toml").read_text() == RULE
    main(["gate", str(studies / "moved"), "--markdown", "old.md"])
    main(["gate", str(studies / "calm"), "--markdown", "old.md"])
    assert "Study calm" in (tmp_path / "old.md").read_text()


@pytest.mark.parametrize("command", ["verify", "gate"])
def test_a_digest_kept_elsewhere_is_one_or_refused(command: str, studies: Path, capsys) -> None:
    lock = Study(studies / "moved").chain[-1].sha256
    for wrong in ("", "zz", lock[:-1]):
        assert main([command, str(studies / "moved"), "--expect-lock", wrong]) == 2
        assert "this is no SHA-256: expected 64 hexadecimal digits" in capsys.readouterr().err
    main([command, str(studies / "moved"), "--expect-lock", f" {lock.upper()}", "--json"])
    assert '"C18"' not in capsys.readouterr().out or command == "verify"
    assert main(["verify", str(studies / "moved"), "--expect-lock", lock.upper()]) == 0


def test_faults_of_a_rule_name_its_file(studies: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "rule.toml").write_text("[release]\ntolerance = 5\n")
    code, facts = run(capsys, studies / "free", "--rule", "rule.toml")
    assert code == 2
    assert all(error["where"].startswith("rule.toml") for error in facts["errors"])


def test_a_study_without_endpoints_is_told_what_to_do(tmp_path: Path, capsys) -> None:
    StudySimulator(questions=4, study_id="pairs", labels=False).build(tmp_path / "pairs", endpoints=None)
    (tmp_path / "rule.toml").write_text(RULE)
    code, facts = run(capsys, tmp_path / "pairs", "--rule", "rule.toml")
    assert (code, facts["errors"][0]["found"]) == (2, "none")
    assert "--endpoints" in facts["errors"][0]["action"]


def test_a_damaged_store_is_no_missing_one(studies: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "reviews.db").write_bytes(b"this is no database, whatever its name says\n" * 99)
    code, facts = run(capsys, studies / "calm", "--junit", "gate.xml")
    assert (code, facts["ok"]) == (3, False)
    assert not (tmp_path / "gate.xml").exists()


def test_a_study_that_fails_a_check_decides_nothing(studies: Path, tmp_path: Path, capsys) -> None:
    study = Path(shutil.copytree(studies / "calm", tmp_path / "calm"))
    (study / CELLS).chmod(0o644)
    (study / CELLS).write_bytes((study / CELLS).read_bytes()[:-40])
    code, facts = run(capsys, study, "--junit", "gate.xml", "--markdown", "gate.md")
    assert (code, facts["ok"], facts["outcome"], facts["conditions"]) == (1, False, None, [])
    assert facts["headline"] == "Nothing is decided: the study failed check C04."
    assert [c["id"] for c in facts["failed_checks"]] == ["C04"]
    assert faults((tmp_path / "gate.xml").read_bytes()) == []
    assert "Nothing is decided: the study failed check C04." in (tmp_path / "gate.md").read_text()
    assert run(capsys, studies / "calm", "--expect-lock", "0" * 64)[1]["failed_checks"][0]["id"] == "C18"


def test_a_study_under_way_cannot_be_decided(tmp_path: Path, capsys) -> None:
    StudySimulator(questions=8, study_id="open").build(tmp_path / "open", release=NUMBERS)
    code, facts = run(capsys, tmp_path / "open")
    assert (code, facts["errors"][0]["what"]) == (4, "its results are not locked")


def test_the_same_sentences_everywhere_and_files_that_validate(studies: Path, tmp_path: Path, capsys) -> None:
    code, facts = run(capsys, studies / "moved", "--junit", "gate.xml", "--markdown", "gate.md")
    assert facts["files"] == ["gate.xml", "gate.md"]
    data = (tmp_path / "gate.xml").read_bytes()
    assert faults(data) == []
    cases = list(ElementTree.fromstring(data).iter("testcase"))
    shown = rendered((tmp_path / "gate.md").read_text())
    assert main(["gate", str(studies / "moved")]) == code
    console = capsys.readouterr().out
    for case, condition in zip(cases, facts["conditions"], strict=True):
        told = next(iter(case))
        assert told.tag == {True: "system-out", False: "failure", None: "error"}[condition["met"]]
        assert told.text == condition["sentence"]
        assert case.get("name") == condition["title"]
        assert condition["sentence"] in shown
        assert condition["sentence"] in console
    for text in (facts["headline"], facts["rule"], *(n["text"] for n in facts["numbers"])):
        assert text in shown
        assert text in console
    again = (tmp_path / "gate.md").read_bytes()
    run(capsys, studies / "moved", "--junit", "gate.xml", "--markdown", "gate.md")
    assert ((tmp_path / "gate.xml").read_bytes(), (tmp_path / "gate.md").read_bytes()) == (data, again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate.md", "gate.xml"]


def test_files_are_written_together_or_not_at_all(studies: Path, tmp_path: Path, capsys) -> None:
    run(capsys, studies / "calm", "--junit", "gate.xml")
    before = (tmp_path / "gate.xml").read_bytes()
    (tmp_path / f".gate.md.{os.getpid()}.partial").mkdir()
    assert run(capsys, studies / "moved", "--junit", "gate.xml", "--markdown", "gate.md")[0] == 3
    assert (tmp_path / "gate.xml").read_bytes() == before
    assert not (tmp_path / "gate.md").exists()


PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
KNOWN = {"heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td", "inline"}


def rendered(text: str) -> str:
    """The text that a reader sees; anything but headings, tables and text is a fault."""
    out = []
    for token in PARSER.parse(text):
        assert token.type.removesuffix("_open").removesuffix("_close") in KNOWN, token.type
        assert {child.type for child in token.children or ()} <= {"text", "softbreak", "text_special"}, token.content
        out += [child.content for child in token.children or ()] + ["\n"] * (token.type == "inline")
    return "".join(out).replace("\u2060", "")


NASTY = (
    HOSTILE, HOSTILE_STATE, HIDDEN, "a|b", "\\", "\\|", "| --- |", "# head", "> quote", "1. one", "- item", "***",
    "```",
    "<!-- x", "&lt;", "[a]: https://evil.example", "@everyone #1 GH-2", "www.evil.example", "http://evil.example",
    "line\nbreak\r\n\n# two", "~~~", "x" * 5_000, "\ufffe\uffff\x00", "]]>", "<![CDATA[", '" onload="', "$x$",
)  # fmt: skip


def described(text: str) -> Gate:
    found = ReleaseOutcome(
        "not met", (Condition("signoff", None, text), Condition("churn", False, text)), (Number("n", text, text),)
    )
    return Gate(text, (text, text), "", text, "", found)


def expected_text(text: str) -> str:
    from audit_core.errors import visible

    return " ".join(visible(text).split())


@pytest.mark.parametrize("text", NASTY)
def test_hostile_names_stay_text(text: str) -> None:
    gate = described(text)
    shown = rendered(markdown(gate))
    assert shown.count(expected_text(text)) >= 5
    data = junit(gate)
    assert faults(data) == []
    failed = Gate(text, None, "", "", "", None, [CheckResult("C04", text, "failed", text)])
    assert expected_text(text) in rendered(markdown(failed))
    assert faults(junit(failed)) == []


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("ab w.:/@#<>[]()!|\\`*_~&;-=+$'\"{}1\n\u202e\ufffe "), max_size=40))
def test_any_text_is_shown_to_the_letter(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {escaped(text)} | end |\n"
    tokens = PARSER.parse(table)
    cells = [t for t in tokens if t.type == "inline"]
    assert len(cells) == 4
    assert "".join(child.content for child in cells[2].children or ()).replace("\u2060", "") == expected_text(text)
    assert rendered(f"x {escaped(text)}\n").strip() == f"x {expected_text(text)}".strip()
    assert faults(junit(described(text or "x"))) == []


def test_addresses_and_mentions_are_broken_up() -> None:
    for text in ("www.evil.example", "WWW.evil.example", "http://evil.example", "https://evil.example"):
        made = escaped(text)
        assert "www." not in made.lower()
        assert "://" not in made
    assert "@a" not in escaped("@ann")
    assert "#1" not in escaped("#12")


def test_the_signoff_alone_can_be_asked_for(tmp_path: Path, capsys) -> None:
    study = build(tmp_path / "people", PEOPLE, questions=12)
    assert run(capsys, study)[0] == 4
    store = ReviewStore(tmp_path / "reviews.db")
    review(study, store)
    assert run(capsys, study)[0] == 1
    signs(study, store)
    assert run(capsys, study)[0] == 0
    signs(study, store, "hold", "second")
    assert run(capsys, study)[0] == 1


def test_an_estimate_of_exactly_the_margin_has_moved(tmp_path: Path, capsys) -> None:
    """The published exact churn of TriviaQA is exactly 3 pp; a sum of doubles is below and would leave it open."""
    (tmp_path / "rule.toml").write_text('[release]\nkernel = "exact"\ntolerance = "0.01"\nmargin = "0.03"\n')
    code, facts = run(capsys, "triviaqa-200", "--rule", "rule.toml")
    assert (code, facts["conditions"][0]["met"]) == (1, False)
    assert "is 3.00 pp, at least 3.00 pp" in facts["conditions"][0]["sentence"]
