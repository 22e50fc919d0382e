"""The page Plan: the same numbers as the command, its choices in the address, a protocol that can be frozen."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from audit_core import bundled
from audit_core.cli import main
from audit_core.readmodel.load import load
from audit_core.verify import verify
from dashboard import plans, runtime
from dashboard.figures.palette import DARK, LIGHT
from dashboard.figures.power import Line, power_curve
from tests.support.zoo import EVIL, build

APP = str(Path(__file__).parents[2] / "dashboard" / "app.py")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    db = tmp_path_factory.mktemp("plan") / "audit.db"
    load([bundled.resolve("nq-400"), bundled.resolve("borderline-refusal")], db, verifier=verify)
    return db


@pytest.fixture
def show(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    st.cache_data.clear()
    st.cache_resource.clear()

    def opened(db: Path, **address: str) -> AppTest:
        monkeypatch.setenv(runtime.DATABASE, str(db))
        monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))
        at = AppTest.from_file(APP, default_timeout=60)
        at.run()
        for key, value in address.items():
            at.query_params[key] = value
        at.switch_page("views/plan.py").run()
        assert not at.exception
        return at

    return opened


def words(at: AppTest) -> str:
    blocks = "\n".join(block.proto.body for block in at.get("html") if "<style>" not in block.proto.body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", blocks)).split())


def said(capsys, *options: str) -> dict:
    assert main(["plan", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_page_says_what_the_command_says(show, loaded, capsys):
    at = show(loaded)
    text = words(at)
    facts = said(capsys, "--questions", "400", "--power", "0.8", "--tolerance", "0.03")
    for line in facts["answer"][2:]:
        assert line in text
    assert f"{facts['power']:.1%}" in text
    assert not set(at.query_params) & set(plans.FIELDS)


def test_no_database_is_needed(show, tmp_path):
    text = words(show(tmp_path / "none.db"))
    assert "How many questions does an audit need?" in text
    assert "No study is loaded that could be a pilot" in text


def test_choices_live_in_the_address_and_come_back(show, loaded):
    at = show(loaded, pilot="nq-400", flips="4", questions="250")
    assert "Noise and wording are the pilot's own: 400 questions, 40 flips." in words(at)
    assert at.number_input(key="plan-flips").value == 4
    assert at.number_input(key="plan-questions").value == 250
    at.number_input(key="plan-repeats").set_value(3).run()
    assert {key: at.query_params[key] for key in ("pilot", "flips", "questions", "repeats")} == {
        "pilot": "nq-400", "flips": "4", "questions": "250", "repeats": "3",
    }  # fmt: skip
    at.number_input(key="plan-repeats").set_value(2).run()
    assert "repeats" not in at.query_params
    at.switch_page("views/importing.py").run()
    at.switch_page("views/plan.py").run()
    assert at.number_input(key="plan-questions").value == 250
    at.selectbox(key="plan-pilot").set_value("borderline-refusal").run()
    assert "flips" not in at.query_params
    assert not at.exception
    at.selectbox(key="plan-pilot").set_value("").run()
    assert at.number_input(key="plan-flips").value == 10


@pytest.mark.parametrize(
    ("name", "value"), [("questions", "7"), ("flips", "1e9"), ("level", "nan"), ("pilot", EVIL), ("repeats", "2.5")]
)
def test_an_impossible_address_is_said_and_ignored(show, loaded, name, value):
    at = show(loaded, **{name: value})
    assert f"The address asks for the {name} “{value}”" in words(at)
    assert name not in at.query_params
    assert "<img" not in "".join(block.proto.body for block in at.get("html"))


def test_what_is_out_of_reach_is_a_sentence(show, loaded):
    text = words(show(loaded, flips="5"))
    assert "out of reach" in text
    assert "The exact one is below the margin of 3.0 pp" in text


def test_prices_are_never_assumed_and_then_counted(show, loaded):
    at = show(loaded)
    assert "no price given" in words(at)
    for name, value in (("read", 3.0), ("written", 15.0)):
        at.number_input(key=f"plan-price-answer-{name}").set_value(value)
    at.run()
    assert not at.exception
    assert words(at).count("no price given") == 1
    at.number_input(key="plan-answer-read").set_value(100)
    at.number_input(key="plan-answer-written").set_value(10).run()
    assert "0.7200" in words(at)  # 1,600 answers of 100 and 10 tokens


def test_hostile_studies_stay_text(show, tmp_path):
    at = show(build(tmp_path), pilot="hostile")
    assert "<img" not in "".join(block.proto.body for block in at.get("html"))
    at.selectbox(key="plan-pilot").set_value("one-repeat").run()
    assert "This study cannot be a pilot" in words(at)
    assert not at.exception


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_the_curve_tells_its_lines_apart_without_colour(palette):
    lines = [Line(role, role, [1, 50, 99]) for role in ("expected", "meaning", "nothing")]
    spec = json.loads(power_curve([50, 400, 3200], lines, palette, planned=400, wanted=80).to_json())
    assert len({trace["line"]["dash"] for trace in spec["data"]}) == 3
    assert [trace["line"]["color"] for trace in spec["data"]] == [palette.new, palette.old, palette.muted]
    assert [shape["y0"] for shape in spec["layout"]["shapes"]] == [80, 0]
    assert spec["layout"]["xaxis"]["ticktext"] == ["50", "100", "200", "400", "800", "1,600", "3,200"]


def test_the_curve_reaches_the_planned_number():
    assert plans.sizes(400) == list(plans.CURVE)
    assert plans.sizes(50_000)[-1] == 50_000
