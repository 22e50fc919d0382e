"""A/A check: no churn where there is none, and a drift is not overlooked."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.report.nulls import against, as_facts, split_state
from audit_core.study import Study
from tests.support.tables import imported, write_csv


def collection(folder: Path, name: str, states: dict[str, str], repeats: int = 4, questions: int = 60) -> Study:
    """Answers that are drawn anew for each cell; the seed of a state decides which answers its questions prefer."""
    draw = random.Random(name)
    rows = []
    for state, prefers in states.items():
        for number in range(questions):
            taste = random.Random(f"{number} {prefers}").choice("abcdef")
            for repeat in range(1, repeats + 1):
                answer = taste if draw.random() < 0.7 else draw.choice("abcdef")
                rows.append({"question_id": f"q{number}", "question": f"Question {number}?", "state": state,
                             "repeat": str(repeat), "answer": f"letter {answer}"})  # fmt: skip
    (folder / name).mkdir()
    return imported(folder / name, write_csv(folder / f"{name}.csv", rows))[1]


def test_a_split_state_shows_no_churn(tmp_path: Path) -> None:
    study = collection(tmp_path, "one", {"now": "x"})
    nulls = split_state(study, "now")
    assert [null.covers for null in nulls] == [True, True]
    for null in nulls:
        (churn,) = null.churn
        assert (churn.population, churn.old, churn.new) == (60, "first", "second")
        assert churn.value is not None
        assert abs(churn.value) < 0.15


def test_the_split_by_hand(tmp_path: Path) -> None:
    """Repeats a a b b: earlier against later is nothing but churn, every second one is none."""
    rows = [
        {"question_id": f"q{q}", "state": "now", "repeat": str(r), "answer": "a" if r < 3 else "b"}
        for q in range(3)
        for r in (1, 2, 3, 4)
    ]
    _, study = imported(tmp_path, write_csv(tmp_path / "t.csv", rows))
    alternating, halves = split_state(study, "now")
    assert alternating.churn[0].value == -0.5
    assert halves.churn[0].value == 1
    assert halves.covers is False


def test_three_repeats_cannot_be_split(tmp_path: Path) -> None:
    study = collection(tmp_path, "one", {"now": "x"}, repeats=3)
    with pytest.raises(InputError, match="cannot be split"):
        split_state(study, "now")
    with pytest.raises(InputError, match="no such state"):
        split_state(study, "then")


def test_two_collections_in_one_study_and_in_two(tmp_path: Path) -> None:
    one = collection(tmp_path, "one", {"build 1": "x", "build 2": "x", "other": "y"}, repeats=2)
    two = collection(tmp_path, "two", {"build 1": "x"}, repeats=3, questions=40)
    assert [null.covers for null in against(one, "build 1", one, "build 2")] == [True]
    assert [null.covers for null in against(one, "build 1", one, "other")] == [False]
    (across,) = against(one, "build 1", two, "build 1")
    assert across.covers is True
    assert across.churn[0].population == 40
    assert as_facts(one, "build 1", [across])["covers_zero"] is True
    with pytest.raises(InputError, match="against itself"):
        against(one, "other", one, "other")


def test_other_questions_under_the_same_ids(tmp_path: Path) -> None:
    def made(name: str, text: str, prefix: str = "q") -> Study:
        rows = [
            {"question_id": f"{prefix}{q}", "question": f"{text} {q}", "state": "now", "repeat": str(r), "answer": "a"}
            for q in range(3)
            for r in (1, 2)
        ]
        (tmp_path / name).mkdir()
        return imported(tmp_path / name, write_csv(tmp_path / f"{name}.csv", rows))[1]

    one = made("one", "When")
    with pytest.raises(InputError, match="another question"):
        against(one, "now", made("two", "Where"), "now")
    with pytest.raises(InputError, match="no question in common"):
        against(one, "now", made("three", "When", "id"), "now")


def test_labels_go_along_within_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundled study has two repeats a state, and labels over all its answers."""
    study = str(Path(__file__).parents[2] / "data/studies/help-centre")
    states = [state.name for state in Study(Path(study)).protocol.states]
    code = main(["aa", study, states[-2], "--state2", states[-1], "--json"])
    facts = json.loads(capsys.readouterr().out)
    names = {row["name"] for comparison in facts["comparisons"] for row in comparison["estimates"]}
    assert {"excess_churn[exact]@first-second", "excess_churn[semantic]@first-second"} <= names
    assert code in (0, 1)
    assert facts["covers_zero"] is (code == 0)
    assert main(["explore", study, states[-2], states[-1], "--json"]) == 0
    live = {row["name"]: row for row in json.loads(capsys.readouterr().out)["estimates"]}
    for row in facts["comparisons"][0]["estimates"]:
        if row["measure"] == "excess_churn":
            pair = f"{states[-2]}-{states[-1]}"
            assert row["value"] == live[f"excess_churn[{row['kernel']}]@{pair}"]["value"]


def test_the_command_and_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = collection(tmp_path, "one", {"now": "x", "changed": "y", "single": "z"})
    path = str(one.path)
    assert main(["aa", path, "now"]) == 0
    assert "holds zero" in capsys.readouterr().out
    assert main(["aa", path, "now", "--state2", "changed"]) == 1
    assert "excludes zero" in capsys.readouterr().out
    assert main(["aa", path, "nowhere"]) == 2
    rows = [{"question_id": "q", "state": s, "repeat": "1", "answer": "a"} for s in "AB"]
    (tmp_path / "thin").mkdir()
    _, thin = imported(tmp_path / "thin", write_csv(tmp_path / "thin.csv", rows))
    assert main(["aa", str(thin.path), "A", "--state2", "B"]) == 4
    assert "could not be measured" in capsys.readouterr().out
