"""Numbers as people read them, CSV that no spreadsheet runs, and text that no page renders."""

from __future__ import annotations

import ast
import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dashboard import numbers
from dashboard.display import csv_bytes, plain

ROOT = Path(__file__).parents[2] / "dashboard"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(89125, 100000), "89.13%"),
        (Fraction(33375, 100000), "33.38%"),
        (Fraction(1, 1), "100.00%"),
        (Fraction(0), "0.00%"),
        (0.00375, "0.38%"),
        (None, "not measurable"),
        (float("nan"), "not measurable"),
        (float("inf"), "not measurable"),
    ],
)
def test_percentages_round_half_up_from_the_exact_value(value, text):
    assert numbers.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(-12, 800), "−1.50 pp"),
        (Fraction(41, 400), "+10.25 pp"),
        (Fraction(0), "0.00 pp"),
        (Fraction(-1, 1_000_000), "0.00 pp"),
    ],
)
def test_differences_have_a_true_minus_and_no_negative_zero(value, text):
    assert numbers.points(value, sign=True) == text


def test_an_undefined_estimate_is_words_and_never_a_number():
    row = {
        "numerator": None,
        "denominator": None,
        "value": None,
        "low": None,
        "high": None,
        "lower": None,
        "detail": {},
    }
    assert numbers.exact(row) is None
    assert numbers.interval(row) == ""
    assert numbers.bounds(row, "95%") == ["no bounds"]


def test_equal_questions_have_no_interval():
    row = {"low": 0.0, "high": 0.0, "lower": 0.0, "detail": {"degenerate": "All questions are equal."}}
    assert numbers.interval(row) == ""
    assert "equal" in numbers.bounds(row, "95%")[0]


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-cmd|' /C calc'!A0", "@x", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x"]
)
def test_csv_text_that_begins_like_a_formula_gets_an_apostrophe(cell):
    written = list(csv.reader(io.StringIO(csv_bytes([{cell: cell}]).decode("utf-8-sig"), newline="")))
    assert written == [["'" + cell], ["'" + cell]]


@given(some.lists(some.fixed_dictionaries({"text": some.text(), "number": some.integers() | some.none()}), min_size=1))
def test_csv_quotes_everything_and_keeps_every_cell(rows):
    data = csv_bytes(rows).decode("utf-8-sig", errors="surrogatepass")
    read = list(csv.DictReader(io.StringIO(data, newline="")))
    assert len(read) == len(rows)
    for row, cells in zip(rows, read, strict=True):
        text, number = cells["text"], cells["number"]
        assert text.removeprefix("'") in (row["text"], row["text"].removeprefix("'"))
        assert number == ("" if row["number"] is None else str(row["number"]))
        assert text[:1] not in tuple("=+-@\t\r\n")


def test_study_text_cannot_leave_its_place():
    assert plain("<img src=x>") == "&lt;img src=x&gt;"
    assert plain('" onmouseover="x') == "&quot; onmouseover=&quot;x"
    assert "\u202e" not in plain("a\u202eb")


RENDERING = {
    "write", "markdown", "caption", "title", "header", "subheader", "info", "success", "warning", "error", "toast",
    "table", "metric", "badge", "latex", "chat_message", "image", "write_stream", "progress", "spinner", "status",
}  # fmt: skip
LABELLED = {
    "button", "download_button", "link_button", "form_submit_button", "checkbox", "toggle", "radio", "selectbox",
    "multiselect", "text_input", "text_area", "number_input", "file_uploader", "expander", "popover", "pills",
    "segmented_control", "select_slider", "slider",
}  # fmt: skip

OFFERING = {"pills", "radio", "segmented_control"}
"""Controls that render their options as Markdown too."""


OUR_WORDS = {
    "sampling.py": {"words"},  # with counts of ours
    "views/importing.py": {
        "column.replace('_', ' ')",
        "COLUMNS[column]",
        "share if share is not None else 0.0",
        "words.__getitem__",
    },
    "shell.py": {"state.KERNELS.__getitem__"},
    "components/release.py": {
        "DECISIONS.__getitem__",
        "label",  # a literal at every call
        "f'Earlier decisions: {len(found) - 1}'",
        # a name of which only letters, digits and harmless signs are left
        "f\"Sign as {display.NOT_WORDS.sub('', person.name.removeprefix(LOCAL))[:60]}\"",
    },
    "display.py": {"label"},  # of a folded table, a literal at every call
    "components/verdict_form.py": {"label(action)", "tooltip(action)", "f'Keep {words}: {name}'"},  # the key registry
    "views/plan.py": {"field.label", "field.help"},  # plans.FIELDS, a table of literals
    "views/triage.py": {"f'{QUEUES[name].label} · {counts[name]:,}'", "f'Verdicts as {name.upper()}'"},  # and queues
}
"""Arguments made at run time from words of the program alone; look twice before adding one."""


def fixed(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.IfExp) and fixed(node.body) and fixed(node.orelse))


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_call_that_renders_markdown_gets_text_made_at_run_time(file):
    risky = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "st"):
            continue
        shown = [*node.args] if node.func.attr in RENDERING else node.args[:1] if node.func.attr in LABELLED else []
        shown += [word.value for word in node.keywords if word.arg in ("help", "body")]
        if node.func.attr in OFFERING:
            shown += [word.value for word in node.keywords if word.arg == "format_func"]
        risky |= {ast.unparse(argument) for argument in shown if not fixed(argument)}
    assert risky <= OUR_WORDS.get(str(file.relative_to(ROOT)), set())
