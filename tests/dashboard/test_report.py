"""The report: complete, the same bytes again, every number derived again, and no changed digit overlooked."""

from __future__ import annotations

import html
import itertools
import json
import re
from fractions import Fraction

import pytest

from audit_core import bundled
from audit_core.deciding import TITLES, audited, desk, release_outcome
from audit_core.errors import InputError
from audit_core.numerals import points
from audit_core.printed import withheld
from audit_core.readmodel import read
from audit_core.reviews.fold import Fold
from audit_core.reviews.signoff import Wish, sign
from audit_core.reviews.signoff import read as read_signoff
from audit_core.reviews.store import ReviewStore
from audit_core.reviews.team import Person
from audit_core.study import Study
from audit_core.verify import verify
from audit_core.verify.printed import check_report
from dashboard.report.examples import EACH, FEWEST, MOST, chosen
from dashboard.report.making import People, people_of, render
from tests.support import ruled
from tests.support.forgeries import forgeries_of
from tests.support.reports import MARKED, Reports, changed, other_digit, resealed
from tests.support.signing import AT, give, screens
from tests.support.simulator import StudySimulator
from tests.support.zoo import EVIL, build

STUDIES = ("nq-400", "help-centre", "borderline-refusal", "v4pro-100", "triviaqa-200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def small(folder, tmp_path_factory):
    made = StudySimulator(study_id="small", questions=24, flips=0.3, states=("n1", "n3", "n7"))
    return Reports(folder, made.build(tmp_path_factory.mktemp("small") / "small").path)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A report on help-centre after two people gave verdicts and one signed."""
    folder = tmp_path_factory.mktemp("told")
    study = bundled.resolve("help-centre")
    store, screen = ReviewStore(folder / "reviews.db"), screens(study, "semantic")
    flips = screen(store.fold()).flips
    for number, verdict in enumerate(("regression", "regression", "regression", "improvement", "both_wrong")):
        impact = "high" if number == 1 else "low"
        note = f"It says {number} of 9 <b>now</b>"
        give(store, screen(store.fold()), flips[number], "local:Ada", verdict, impact=impact, note=note)
    give(store, screen(store.fold()), flips[4], "local:Boadicea", "regression")
    person = Person("local:Ada", "adjudicator", proved=False)
    wish = Wish("conditions", "Three of 5 are known <i>since</i> May 2026.", "Fix the 2 regressions first.")
    sign(store, person, screen(store.fold()), screen, wish, request_id="r1", at=AT)
    return folder, study, flips, people_of(store, 1)


@pytest.mark.parametrize("study_id", STUDIES)
@pytest.mark.parametrize("redacted", [False, True])
def test_every_number_of_a_bundled_study_is_derived_again(study_id, redacted, tmp_path):
    report = Reports(tmp_path, bundled.resolve(study_id), redacted=redacted)
    found = report.check()
    assert [r.check_id for r in found.values() if r.result != "passed"] == []
    assert int(found["R03"].detail.split()[0].replace(",", "")) > 500
    assert len(report.page) < 6_000_000


def test_the_same_study_and_verdicts_give_the_same_bytes(told, tmp_path):
    folder, study, _, people = told
    first = Reports(folder, study, people).page
    again = Reports(tmp_path, study, people_of(ReviewStore(folder / "reviews.db"), 1)).page
    assert first == again
    assert Reports(tmp_path, study).page != first


def test_a_changed_digit_is_caught_wherever_it_is(small):
    page = small.slim.decode()
    assert small.failed(small.slim) == []
    total = sum(any(c in "0123456789" for c in text) for _, text in MARKED.findall(page))
    assert total > 400
    for forged, reference in itertools.islice(changed(page), 0, total, total // 12):
        results = small.check(resealed(forged.encode()))
        assert (results["R02"].result, results["R03"].result) == ("passed", "failed"), reference
    assert small.failed(next(changed(page))[0]) == ["R02", "R03"]

    def forge(match: re.Match[str]) -> str:
        text = re.sub("[0-9]", lambda digit: other_digit(digit[0]), match[2])
        return match[0].replace(f">{match[2]}<", f">{text}<")

    every = small.check(resealed(MARKED.sub(forge, page).encode()))["R03"].detail
    assert int(re.search(r"And (\d+) more", every).group(1)) + 3 == total


def test_a_number_that_is_written_in_is_caught(small):
    page = small.slim.decode()
    for added in ("<p>42 questions</p>", "<p>٤٢</p>", "<p>⅔</p>", '<img alt="x" src="data:,">', "<iframe></iframe>",
                  '<p aria-label="7">x</p>', "<style>p::after{content:'7'}</style>", '<p style="content:\'7\'">x</p>',
                  "<data value='[\"study\",\"questions\"]'>2<b>4</b></data>"):  # fmt: skip
        forged = page.replace("<footer>", f"{added}<footer>")
        assert "R04" in small.failed(resealed(forged.encode())), added
    forged = page.replace("<footer><p>", "<footer><p><data value='nothing'>42</data> ")
    assert small.failed(resealed(forged.encode())) == ["R03"]


def test_no_way_of_showing_another_number_is_overlooked(small):
    passed = [name for name, page in forgeries_of(small.slim.decode()) if not small.failed(resealed(page.encode()))]
    assert passed == []


def test_a_mark_that_points_elsewhere_is_caught(small):
    page = small.slim.decode()
    match = next(m for m in MARKED.finditer(page) if "excess_churn" in m.group(1) and '"points"' in html.unescape(m[1]))
    forged = page[: match.start(1)] + match.group(1).replace("value", "lower") + page[match.end(1) :]
    assert small.failed(resealed(forged.encode())) == ["R03"]


def test_a_figure_that_draws_something_else_is_caught(small):
    page = small.slim.decode()
    islands = list(re.finditer(r'data-plot="plot-(\w+)">(.*?)</script>', page))
    assert [m.group(1) for m in islands] == ["sources", "transitions", "contrasts", "steps"]
    for match in islands:
        figure = json.loads(match.group(2))
        trace = figure["data"][-1]
        axis = "x" if match.group(1) != "contrasts" else "y"
        trace[axis][0] += 1
        text = json.dumps(figure).replace("<", "\\u003c").replace(">", "\\u003e")
        forged = page[: match.start(2)] + text + page[match.end(2) :]
        assert small.failed(resealed(forged.encode())) == ["R05"], match.group(1)
    note = next(m for m in islands if m.group(1) == "steps")
    forged = page[: note.start(2)] + re.sub(r'("text":")(\d+)', r"\g<1>9\2", note.group(2)) + page[note.end(2) :]
    assert small.failed(resealed(forged.encode())) == ["R05"]


def test_a_report_on_another_state_of_the_study_is_not_derived(small, tmp_path):
    made = StudySimulator(study_id="small", questions=24, flips=0.3, states=("n1", "n3", "n7"), seed=2)
    other = made.build(tmp_path / "small").path
    path = tmp_path / "r.html"
    path.write_bytes(small.slim)
    results = {r.check_id: r.result for r in check_report(path, other, verify(other))}
    assert results == {"R01": "failed", "R02": "passed"} | dict.fromkeys(
        ("R03", "R04", "R05", "R06", "R07"), "could not check"
    )


@pytest.mark.parametrize("content", [b"", b"<html>", b"%PDF-1.7", b"\xff\xfe", b'<script id="report">[]</script>'])
def test_what_is_no_report_is_refused(content, small, tmp_path):
    path = tmp_path / "r.html"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a report"):
        check_report(path, small.study, small.checks)


def test_verdicts_and_signoff_are_in_it_and_counted_again(told):
    folder, study, flips, people = told
    report = Reports(folder, study, people)
    page = report.page.decode()
    assert report.failed() == []
    said = dict(MARKED.findall(page))
    by = {tuple(json.loads(html.unescape(k))): html.unescape(v) for k, v in said.items()}
    assert by["review", "reviewed"] == "4"
    assert by["review", "verdict.regression"] == "3"
    assert by["review", "high_impact_regressions"] == "1"
    assert by["review", "disputed"] == "1"
    assert by["review", "waiting"] == str(len(flips) - 4)
    assert by["signoff", "decision"] == "Ship with conditions"
    assert by["signoff", "reason"] == "Three of 5 are known <i>since</i> May 2026."
    assert by["question", flips[1], "note"] == "It says 1 of 9 <b>now</b>"
    assert "Ada" in page.split("</main>")[0]
    assert "local:Boadicea" not in page
    assert "Boadicea" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    forged = page.replace('"verdict":"improvement"', '"verdict":"regression"')
    assert "R03" in report.failed(resealed(forged.encode()))
    for held, other in (('"verdict":"improvement"', '"verdict":"nonsense"'),
                        ('"decision":"Ship with conditions"', '"decision":"Ship"')):  # fmt: skip
        assert held in page
        assert "R06" in report.failed(resealed(page.replace(held, other).encode()))


def test_notes_that_are_not_printed_are_not_carried(tmp_path):
    study = bundled.resolve("v4pro-100")
    store, screen = ReviewStore(tmp_path / "reviews.db"), screens(study, "semantic")
    first = screen(store.fold()).flips[0]
    give(store, screen(store.fold()), first, "local:Ada", "regression", note="not this one", impact="low")
    give(store, screen(store.fold()), first, "local:Boadicea", "regression", note="but this one", impact="high")
    report = Reports(tmp_path, study, people_of(store, 1))
    assert b"but this one" in report.page
    assert b"not this one" not in report.page
    assert report.failed() == []


def test_a_sign_off_whose_file_is_gone_is_told_without_its_place(told, tmp_path):
    study = ruled.build(tmp_path / "ruled", ruled.BOTH, **ruled.CALM)
    store = ReviewStore(tmp_path / "reviews.db")
    ruled.review(study, store)
    ruled.signs(study, store)
    for file in (tmp_path / "signoffs").iterdir():
        file.unlink()
    report = Reports(tmp_path, study, people_of(store, 1))
    assert "cannot be decided" in said_by(report.page)["release", "outcome"]
    assert str(tmp_path).encode() not in report.page
    assert report.failed() == []


def said_by(page: bytes) -> dict[tuple[str | int, ...], str]:
    """What each mark of a report says."""
    return {tuple(json.loads(html.unescape(k))): html.unescape(v) for k, v in MARKED.findall(page.decode())}


def words_of(page: bytes) -> str:
    """A report's first page without markup."""
    return html.unescape(re.sub("<[^>]*>", "", page.decode().partition("<body>")[2].partition("<main>")[0]))


def test_states_asked_unequally_are_said_so_and_one_is_singular(tmp_path):
    made = StudySimulator(study_id="few", questions=12, flips=0.07, noise=0, repeats={"n1": 2, "n7": 3})
    report = Reports(tmp_path, made.build(tmp_path / "few").path)
    text = words_of(report.page)
    assert said_by(report.page)["review", "total"] == "1"
    assert "asked 2 times in n1 and 3 times in n7" in text
    assert "1 of 12 questions flipped in every repeat" in text
    assert "Read the 1 flip that has no verdict that counts." in text
    assert report.failed() == []


@pytest.mark.parametrize("redacted", [False, True])
def test_alarms_and_what_stands_in_the_way_of_a_cause_are_in_it(redacted, tmp_path):
    report = Reports(tmp_path, bundled.resolve("borderline-refusal"), redacted=redacted)
    sentence = said_by(report.page)["attribution", "baseline", "partial"]
    assert "churn cannot be attributed to one of them" in sentence
    assert sentence in words_of(report.page)
    answers = {(f"q{q:05d}", "n1", repeat): "The same secret sentence" for q in range(12) for repeat in (1, 2)}
    other = StudySimulator(study_id="alarmed", questions=12, answers=answers)
    folder = tmp_path / "other"
    folder.mkdir()
    alarmed = Reports(folder, other.build(folder / "alarmed").path, redacted=redacted)
    assert "Alarm." in words_of(alarmed.page)
    assert (b"secret sentence" in alarmed.page) is not redacted
    assert alarmed.failed() == report.failed() == []


def test_a_redacted_report_holds_no_text(told):
    folder, study, flips, people = told
    report = Reports(folder, study, people, redacted=True)
    page = html.unescape(re.sub(r"<script>.*?</script>|<style>.*?</style>", "", report.page.decode(), flags=re.S))
    assert report.failed() == []
    assert chosen(flips, {})[0] in page
    texts = {"Three of 5 are known", "Fix the 2 regressions", "of 9 <b>now</b>", "Ada"}
    for dossier in Study(study).dossiers():
        texts |= {dossier.question.text or ""} | set(dossier.gold.aliases if dossier.gold else ())
        texts |= {cell.answer or "" for cell in dossier.cells}
    texts |= {text for _, text in Study(study).passages()}
    assert [text for text in texts if len(text) > 12 and text in page] == []
    redacted = [tuple(json.loads(html.unescape(mark))) for mark, _ in MARKED.findall(report.page.decode())]
    assert not any(map(withheld, redacted))
    mark = '<data value="' + html.escape(json.dumps(["question", flips[0], "text"])) + '">'
    text = next(d.question.text for d in Study(study).dossiers() if d.question.question_id == flips[0])
    forged = report.page.decode().replace("<footer><p>", f"<footer><p>{mark}{html.escape(text)}</data> ")
    assert report.failed(resealed(forged.encode())) == ["R07"]


def test_the_numbers_are_those_of_the_results(told):
    folder, study, _, people = told
    page = Reports(folder, study, people).page.decode()
    stored = {e["name"]: e for e in (Study(study).results() or {})["estimates"]}
    checked = 0
    for mark, text in MARKED.findall(page):
        kind, *rest = json.loads(html.unescape(mark))
        if kind == "estimate" and rest[1:] == ["value", "points"] and rest[0] in stored:
            row = stored[rest[0]]
            assert html.unescape(text) == points(Fraction(row["numerator"], row["denominator"]))
            checked += 1
        if kind == "estimate" and rest[1:2] == ["numerator"] and rest[0] in stored:
            assert text.replace(",", "") == str(stored[rest[0]]["numerator"]).replace("-", "−")
            checked += 1
    assert checked > 60
    named = {json.loads(html.unescape(mark))[1] for mark, _ in MARKED.findall(page) if ",&quot;name&quot;]" in mark}
    assert named >= stored.keys()


@pytest.mark.parametrize("redacted", [False, True])
@pytest.mark.parametrize(
    ("how", "word", "outcome"),
    [
        (ruled.CALM, "ship", "met"),
        (ruled.CALM, "conditions", "met"),
        (ruled.CALM, "hold", "not met"),
        (ruled.CALM, "", "not met"),
        (ruled.MOVED, "ship", "not met"),
    ],
)
def test_the_release_rule_comes_out_as_the_gate_says(how, word, outcome, redacted, tmp_path):
    study = ruled.build(tmp_path / "ruled", ruled.BOTH, **how)
    store = ReviewStore(tmp_path / "reviews.db")
    ruled.review(study, store)
    if word:
        ruled.signs(study, store, word)
    report = Reports(tmp_path, study, people_of(store, 1), redacted=redacted)
    page = report.page.decode()
    assert report.failed() == []
    whole = audited(Study(study), Study(study).protocol)
    people = desk(store.fold(), lambda decision: read_signoff(store, decision))
    made = release_outcome(ruled.BOTH, whole, people)
    assert made.outcome == outcome
    said = {tuple(json.loads(html.unescape(mark))): html.unescape(text) for mark, text in MARKED.findall(page)}
    assert said["release", "outcome"] == outcome
    for number, condition in enumerate(made.conditions):
        shown = said["release", number, "sentence"]
        assert shown == condition.sentence or (redacted and word == "conditions" and condition.name == "signoff")
        assert f">{TITLES[condition.name]}</t" in page
    assert ("Do not release by the rule: it is not met." in page) == (outcome == "not met")
    assert ("Remove shard" in page) == (word == "conditions" and not redacted)
    forged = page.replace('"verdict":"both_acceptable"', '"impact":"high","verdict":"regression"', 1)
    assert {"R03", "R06"} & set(report.failed(resealed(forged.encode())))


def test_examples_follow_the_rule_that_the_report_states():
    ids = [f"q{i}" for i in range(40)]
    assert len(chosen(ids, {})) == FEWEST
    assert chosen(ids, {}) == chosen(reversed(ids), {})
    said = {f"q{i}": ("Regression", "low") for i in range(10)} | {f"q{i}": ("Improvement", "") for i in range(10, 20)}
    said["q7"] = ("Regression", "high")
    found = chosen(ids, said)
    assert found[0] == "q7"
    assert [said.get(q, ("", ""))[0] for q in found] == ["Regression"] * EACH + ["Improvement"] * EACH
    many = {q: (word, "") for q, word in zip(ids, ("Regression", "Improvement", "Both acceptable", "Both wrong",
                                                   "Not a real change", "Cannot tell") * 7, strict=False)}  # fmt: skip
    assert len(chosen(ids, many)) == MOST
    assert chosen([], {}) == []


def test_studies_at_the_edges_get_a_report_in_words(tmp_path):
    db = build(tmp_path)
    for row in read.studies(db):
        study_id, path = row["study_id"], tmp_path / row["study_id"]
        if study_id == "one-state":
            with pytest.raises(InputError, match="two states"):
                render(db, study_id, People(Fold([])), redacted=False)
            continue
        page = render(db, study_id, People(Fold([])), redacted=False)
        (tmp_path / "r.html").write_bytes(page)
        results = check_report(tmp_path / "r.html", path, verify(path))
        assert [(r.check_id, r.detail) for r in results if r.result != "passed"] == [], study_id
        text = page.decode()
        assert EVIL not in text
        bare = re.sub(r"<[^>]+>", "", text)
        assert ("No call in n7 gave an answer; run them again." in bare) == (study_id == "all-failed")
        twice = "Ask every question at least twice" in bare
        assert (study_id == "all-failed") <= ("o gold" not in bare.split("Appendix")[0])
        assert twice == (study_id in ("one-repeat", "one-repeat-ladder")), study_id
        assert "None" not in re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.S)
        assert "nan" not in re.findall(r">([^<]*)</data>", text)
