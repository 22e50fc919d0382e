"""The text rules: what the documentation says of their precision is what they reach, and each does what it declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit_core.rules.aspects import content, parts
from audit_core.rules.outcome import GAPS, REFUSALS, OutcomeRule, edited, read
from audit_core.rules.passage_kind import kind_of
from audit_core.rules.phrases import folded, needed, pattern, usable
from benchmarks import rules as measured
from tests.support.shared import shared

UNKNOWN = ("UNKNOWN",)
RULE = OutcomeRule()
DOCS = Path(__file__).parents[2] / "docs" / "refusals.md"


def test_the_documented_precision_and_recall_are_those_measured() -> None:
    text = DOCS.read_text("utf-8")
    block = text.partition("<!-- measured -->\n")[2].partition("<!-- /measured -->")[0]
    assert block.strip() == "\n".join(measured.tables()).strip()


@pytest.mark.parametrize("name", ["passage-kinds.jsonl", "question-parts.jsonl", "answer-outcomes.jsonl"])
def test_no_labelled_text_is_in_both_sets(name: str) -> None:
    key = {"passage-kinds.jsonl": "text", "question-parts.jsonl": "question", "answer-outcomes.jsonl": "answer"}[name]
    sets = [[record[key] for record in measured.labelled(name, which)] for which in measured.SETS]
    assert all(len(found) == len(set(found)) >= 50 for found in sets)
    assert not set(sets[0]) & set(sets[1])


def outcome(answer: str) -> str:
    return read(answer, UNKNOWN, RULE).outcome


@pytest.mark.parametrize(
    "answer", ["UNKNOWN", "unanswerable", "N/A", "I couldn't find relevant information", "I couldn’t find anything."]
)  # fmt: skip
def test_the_refusals_of_benchmarks_are_refusals(answer: str) -> None:
    assert outcome(answer) == "refused"


def test_the_handed_refusals_are_refusals() -> None:
    text = shared("cases", "bad-inputs.md").read_text("utf-8")
    case = text.partition("### C33")[2].partition("\n###")[0]
    named = re.search(r"\*\*Trigger:\*\* (.*)\.", case)
    assert named
    answers = [answer.strip(' "') for answer in named[1].split(", ")]
    assert len(answers) == 4
    assert {outcome(answer) for answer in answers} == {"refused"}


@pytest.mark.parametrize(
    "answer", ["No.", "Not before 9 am.", "There is no fee.", "No information desk is open on Sundays.", "Nobody knows",
               "He could not find his brother.", "The treaty does not mention Greenland.", "3.50", "No", "None"]
)  # fmt: skip
def test_a_no_is_an_answer(answer: str) -> None:
    assert outcome(answer) == "answered"


def test_a_gap_beside_an_answer_is_partial_and_a_refusal_beside_one_is_uncertain() -> None:
    gap = read("It costs 3.50. The passages do not say how long it is valid.", UNKNOWN, RULE)
    assert (gap.outcome, gap.certain) == ("partial", True)
    assert "do not say" in gap.reason
    refusal = read("It costs 3.50. I cannot answer the second part.", UNKNOWN, RULE)
    assert (refusal.outcome, refusal.certain) == ("partial", False)


@given(st.text(max_size=80))
@example("")
@example("  \n ")
def test_case_quotes_and_layout_of_an_answer_mean_nothing(answer: str) -> None:
    found = read(answer, UNKNOWN, RULE)
    assert read(f"  {answer}\t", UNKNOWN, RULE).outcome == found.outcome
    assert read(answer.replace("'", "’"), UNKNOWN, RULE).outcome == found.outcome
    if not answer.strip():
        assert found.outcome == "refused"


@given(st.sampled_from(["The fare is 3.50.", "Emma", "Because the line was closed."]), st.integers(0, 3))
def test_an_answer_without_a_text_of_the_rule_is_answered_and_one_with_an_unknown_text_alone_is_not(
    answer: str, spaces: int
) -> None:
    assert outcome(answer) == "answered"
    assert outcome(" " * spaces + "unknown" + " " * spaces) == "refused"
    assert read(answer, (answer,), RULE).outcome == "refused"


@pytest.mark.parametrize("text", [*REFUSALS, *GAPS])
def test_each_shipped_text_can_be_needed_and_found(text: str) -> None:
    assert usable(text)
    instance = re.sub(r" +", " ", _first(text)).strip()
    assert pattern([text]).search(folded(instance))
    assert not set(needed(text)).isdisjoint(re.findall(r"\w+", folded(instance)))
    assert outcome(instance[:1].upper() + instance[1:]) == "refused"


def _first(text: str) -> str:
    """A text of a rule with the first of each choice and none of what may be left out."""
    text = text.removeprefix("^").removesuffix("$").replace("{source}", "passages").replace("* ", "")
    while (shorter := re.sub(r"\[([^][|]*)(?:\|[^][]*)?\](\?)?", lambda m: "" if m[2] else m[1], text)) != text:
        text = shorter
    return text


def test_a_study_edits_the_texts() -> None:
    assert edited((), (), shipped=True) is None
    rule = edited(("No such tariff",), ("not in our handbook",), shipped=True)
    assert rule
    assert read("No such tariff.", UNKNOWN, rule).outcome == "refused"
    assert read("It costs 3.50; the rest is not in our handbook.", UNKNOWN, rule).outcome == "partial"
    assert read("I don't know.", UNKNOWN, rule).outcome == "refused"
    alone = edited(("No such tariff",), (), shipped=False)
    assert alone
    assert read("I don't know.", UNKNOWN, alone).outcome == "answered"
    assert not alone.gaps


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        ("no * tariff", "there is no such tariff", "notariff"),
        ("[cannot|could not] say", "we could not say", "we say"),
        ("cannot [really]? say", "we cannot say", "we cannot well say"),
        ("^no such thing", "but no such thing", "there is no such thing"),
        ("not covered$", "dogs are not covered", "dogs are not covered here"),
        ("(no) [answer", "it said (no) [answer there", "no answer"),
        ("a | b", "either a | b", "a"),
    ],
)
def test_the_notation_of_texts(text: str, found: str, not_found: str) -> None:
    assert pattern([text]).search(found)
    assert not pattern([text]).search(not_found)


@pytest.mark.parametrize("text", ["", " ", "^", "$", "*", "[|]", "?!"])
def test_a_text_without_a_word_is_not_usable_and_matches_nothing(text: str) -> None:
    assert not usable(text)
    assert not pattern([text]).search("anything ?! * [|]")


@given(st.text(max_size=20), st.text(max_size=60))
def test_what_is_found_holds_a_needed_word(text: str, answer: str) -> None:
    if usable(text) and pattern([text]).search(folded(answer)):
        assert not set(needed(text)).isdisjoint(re.findall(r"\w+", folded(answer)))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How is mange diagnosed and how is it treated?", ("How is mange diagnosed", "how is it treated (mange)")),
        ("What is the fare? Who pays it?", ("What is the fare", "Who pays it (fare)")),
        ("Who wrote Emma, and when?", ("Who wrote Emma", "when (wrote Emma)")),
        ("In Django, what is a field?", ("In Django, what is a field?",)),
        ("What are the terms and conditions of the card?", ("What are the terms and conditions of the card?",)),
        ("  How long do trams\nand buses run? ", ("How long do trams and buses run?",)),
        ("- what is a fare?\n- who pays it", ("what is a fare", "who pays it (fare)")),
        ("How is steel made and recycled in Wales?", ("How is steel made in Wales", "How is steel recycled in Wales")),
        ("", ()),
        ("Wann fährt der Zug? Was kostet er?", ("Wann fährt der Zug", "Was kostet er")),
    ],
)
def test_parts_of_questions(question: str, found: tuple[str, ...]) -> None:
    assert parts(question) == found


@given(st.text(max_size=120))
def test_parts_lose_no_word_that_a_search_needs(question: str) -> None:
    found = parts(question)
    assert bool(found) == bool(question.split())
    if len(found) == 1:
        assert found[0] == " ".join(question.split())
    else:
        # Marks such as "(a)" are no words; everything else that was asked is in some part.
        kept = {word for part in found for word in content(part)}
        lost = {word for word in content(question) if word not in kept}
        assert all(len(word) == 1 for word in lost)


@given(st.lists(st.sampled_from(["How is mange treated?", "What is a fare?", "Who wrote it?"]), min_size=2, max_size=4))
def test_each_question_mark_ends_a_part(questions: list[str]) -> None:
    assert len(parts(" ".join(questions))) == len(questions)


@given(st.text(max_size=300), st.text(max_size=30))
def test_any_text_has_one_kind_and_only_body_has_no_reason(text: str, title: str) -> None:
    reading = kind_of(text, title)
    assert reading == kind_of(text, title)
    assert (reading.kind == "body") == (not reading.reason)


def test_the_heading_counts_in_the_title_in_the_first_line_and_in_a_rendered_passage() -> None:
    text = "Byrne, Paula. The Real Jane Austen. HarperCollins. Tomalin, Claire. A Life. Viking. Austen Papers. Letters."
    assert kind_of(text, "Works cited").kind == "bibliography"
    assert kind_of(f"Works cited\n{text}").kind == "bibliography"
    assert kind_of(f"d-7 · Works cited · https://x.example\n{text}").kind == "bibliography"


def test_the_bibliography_of_the_help_centre_is_found_and_nothing_else() -> None:
    import json

    corpus = Path(__file__).parents[2] / "data" / "corpora" / "help-centre"
    pages = [json.loads(line) for file in sorted(corpus.glob("shard-*.jsonl")) for line in file.open(encoding="utf-8")]
    found = {page["document_id"] for page in pages if kind_of(page["text"], page["title"]).kind != "body"}
    assert found == {page["document_id"] for page in pages if page.get("family") == "bibliography"}
    assert len(found) == 7


@pytest.mark.parametrize(
    "piece", ["1 ", ". . . ", "_", "“a b c d” [1] ", "[1] ", "A. ", "Smith, J. ", "and how is ", "ab-\n", "passages "]
)
def test_long_hostile_texts_are_read_in_bounded_time(piece: str) -> None:
    from audit_core.rules.excerpts import quoted

    text = piece * (1_000_000 // len(piece))
    kind_of(text)
    parts(text)
    read(text[:200_000], UNKNOWN, RULE)
    quoted(text[:200_000], [])
