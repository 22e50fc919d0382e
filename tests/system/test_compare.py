"""`compare` and numbers along the ladder, on tables as people have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_core.cli import main

HEAD = "question_id,question,state,repeat,answer,gold\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def study(name: str, rows: str, *more: str) -> None:
    Path(f"{name}.csv").write_text(HEAD + rows)
    assert main(["import", "table", f"{name}.csv", "--study", name, *more]) == 0
    assert main(["estimate", name]) == 0


def rows(text: str = "A?", gold: str = "x", ids: str = "q1 q2") -> str:
    return "".join(
        f"{question},{text},{state},{repeat},{'y' if (state, repeat) == ('b', 2) else 'x'},{gold}\n"
        for question in ids.split() for state in "ab" for repeat in (1, 2)
    )  # fmt: skip


@pytest.mark.parametrize(("other", "code"), [({"text": "B?"}, 2), ({"gold": "y"}, 2), ({"gold": ""}, 0), ({}, 0)])
def test_an_id_that_stands_for_something_else_is_refused_before_any_number(
    other: dict[str, str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    study("one", rows())
    study("two", rows(**other, ids="q1") + rows(ids="q2"))
    capsys.readouterr()
    assert main(["compare", "one", "two", "--json"]) == code
    said = capsys.readouterr()
    if code:
        (error,) = json.loads(said.out)["errors"]
        assert (error["what"], error["found"]) == ("the same id with another question or another gold", "q1")
    else:
        assert json.loads(said.out)["estimates"]


def test_bounds_without_spread_are_marked_in_print(capsys: pytest.CaptureFixture[str]) -> None:
    study("one", rows())
    capsys.readouterr()
    assert main(["compare", "one", "one"]) == 0
    assert "All questions are equal, so the bounds equal the estimate." in capsys.readouterr().out


def test_middle_states_count_only_questions_that_they_can_measure(capsys: pytest.CaptureFixture[str]) -> None:
    middles = {"q1": "xy", "q2": "xx", "q3": "x", "q4": "x", "f1": "p", "f2": "pp"}  # one answer measures nothing
    lines = []
    for question, middle in middles.items():
        ends = {"s0": "xx", "s1": middle, "s2": "xx"} if question[0] == "q" else {"s0": "pp", "s1": middle, "s2": "zz"}
        lines += [f"{question},{question}?,{s},{n},{a},x\n" for s, said in ends.items() for n, a in enumerate(said, 1)]
    study("ladder", "".join(lines), "--states", "s0,s1,s2", "--endpoints", "s0,s2")
    capsys.readouterr()
    assert main(["estimate", "ladder", "--print", "--json"]) == 0
    found = {e["name"]: (e["numerator"], e["denominator"]) for e in json.loads(capsys.readouterr().out)["estimates"]}
    assert found["middle_unstable[others]@s1"] == (1, 2)
    assert found["middle_unstable[flips]@s1"] == (0, 1)
    assert [found[f"middle_state[{side}]@s1"] for side in ("old", "new", "third", "unstable", "mixed")] == [
        (1, 1), (0, 1), (0, 1), (0, 1), (0, 1)
    ]  # fmt: skip
