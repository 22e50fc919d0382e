"""Verbatim excerpts: to the letter, under a fold that changes nothing said, over a border, elsewhere, absent."""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from audit_core.model import Cell, Document, Dossier, Evidence, Excerpt, Question
from audit_core.rules.excerpts import KINDS, check, checked, counted, quoted
from audit_core.rules.presentation import folded, found_in, joined, spanned
from audit_core.rules.shown import Shown
from tests.support.shared import shared

CHUNK = "The di-\nagnosis of mange is based on the micro-\nscopic ﬁnding of “many” mites (25 µm, −5 °C)."


def passages(*texts: str | None) -> list[Shown]:
    return [Shown(f"d{rank}", rank, text) for rank, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("excerpt", "how"),
    [
        ("based on the micro-\nscopic", "exact"),
        ("diagnosis of mange is based on the microscopic finding", "fold"),
        ('finding of "many" mites', "fold"),
        ("… diagnosis of mange …", "fold"),
        ("diagnosis of  mange\u00a0is", "fold"),
        ("diag\u00adnosis of mange", "fold"),
        ("di-agnosis of mange", "fold"),
        ("25 µm, -5 °C", None),  # a hyphen is no minus
        ("25 μm", None),  # Greek mu for micro
        ("25 um", None),
        ("5 µm", None),  # within 25
        ("25 µm, −5 C", None),
        ("Diagnosis of mange", None),  # case
        ("", None),
        ("…", None),
    ],
)
def test_one_excerpt_against_one_passage(excerpt: str, how: str | None) -> None:
    assert found_in(excerpt, CHUNK) == how


def test_the_handed_chunk_and_excerpt() -> None:
    text = shared("cases", "bad-inputs.md").read_text("utf-8")
    case = text.partition("### C57")[2].partition("\n#")[0]
    named = re.search(r'chunk "(.*)" , excerpt "(.*)"', case)
    assert named
    chunk, excerpt = named[1].replace("\\n", "\n"), named[2]
    assert "\n" in chunk
    assert checked(Excerpt(excerpt, rank=1), passages(chunk)).kind == "fold"
    first, second = chunk.split("mo", 1)
    assert checked(Excerpt(excerpt, rank=1), passages(f"{first}mo", f"{second}")).kind == "absent"  # cut within a word
    first, second = chunk.split(" of ", 1)
    assert checked(Excerpt(excerpt, rank=1), passages(first, f"of {second}")).kind == "spans two"


def test_kinds_and_places() -> None:
    shown = passages("Apply the lotion twice a day and", "then wait for three hours.", "Wait for three hours.")
    assert checked(Excerpt("lotion twice a day", "d1"), shown).places == (1,)
    assert checked(Excerpt("lotion twice a day", "d2"), shown).kind == "elsewhere"
    assert checked(Excerpt("lotion twice a day", rank=3), shown).places == (1,)
    assert checked(Excerpt("twice a day and then wait for", "d1"), shown).places == (1, 2)
    assert checked(Excerpt("a day and then", "d1"), shown).kind == "spans two"
    assert checked(Excerpt("day and then", "d1"), shown).kind == "absent"  # too short to look for over a border
    assert checked(Excerpt("wait for two hours", "d2"), shown).kind == "absent"
    assert checked(Excerpt("three hours."), shown).kind == "exact"
    assert checked(Excerpt("anything"), []).kind == "not checked"
    assert checked(Excerpt("three hours", "d1"), passages("Other.", None)).kind == "not checked"


def test_a_rendered_passage_is_looked_into_below_its_heading() -> None:
    shown = [
        Shown("d1", 1, "d1 · Title\nApply the lotion twice"),
        Shown("d2", 2, "d2 · Title\nevery day for a week."),
    ]
    assert checked(Excerpt("the lotion twice every day", "d1"), shown).kind == "spans two"


def test_overlapping_passages_hold_what_goes_over_both() -> None:
    assert joined("mites are seen under the microscope", "The mites are seen under", "are seen under the microscope.")
    assert not joined("mites are seen on the microscope", "The mites are seen under", "are seen under the microscope.")


def test_quoted_text_with_a_citation_is_an_excerpt() -> None:
    shown = passages("Apply the lotion twice a day.", "Wait for three hours.")
    answer = (
        'Use it often: "Apply the lotion twice a day" [1]. According to (d2), “Wait for three full hours.” '
        'The film "Gone with the old wind" is no excerpt, nor is "the lotion" [1], nor “a text cited as this” [7].'
    )
    found = quoted(answer, shown)
    assert [(e.text, e.document_id, e.rank) for e in found] == [
        ("Apply the lotion twice a day", None, 1), ("Wait for three full hours.", "d2", None)]  # fmt: skip
    cell = Cell("q", "a", 1, "ok", answer)
    assert [item.kind for item in check(cell, shown)] == ["exact", "absent"]
    said = Cell("q", "a", 1, "ok", answer, excerpts=(Excerpt("three hours", "d2"),))
    assert [item.kind for item in check(said, shown)] == ["exact"]  # structured output goes before the rule


def test_excerpts_are_counted_by_state_with_the_evidence_of_their_repeat() -> None:
    texts = {"a" * 64: "Apply the lotion.", "b" * 64: "Wait an hour."}
    documents = {name: Document("d", 1, passage=name) for name in texts}

    def cell(state: str, repeat: int, text: str) -> Cell:
        return Cell("q", state, repeat, "ok", "x", excerpts=(Excerpt(text, "d"),))

    dossier = Dossier(
        Question("q"),
        (cell("n1", 1, "Apply the lotion."), cell("n1", 2, "Apply the lotion."), cell("n2", 1, "Wait an hour."),
         cell("n2", 2, "Wait two hours."), Cell("q", "n3", 1, "ok", "x"), Cell("q", "n4", 1, "error", None)),
        {},
        (Evidence("q", "n1", (documents["a" * 64],), 1), Evidence("q", "n1", (documents["b" * 64],), 2),
         Evidence("q", "n2", (documents["b" * 64],))),
        None,
    )  # fmt: skip
    found = counted([dossier], texts.__getitem__)
    assert found == {"n1": Counter({"exact": 1, "absent": 1}), "n2": Counter({"exact": 1, "absent": 1})}
    assert set(KINDS) >= {kind for counts in found.values() for kind in counts}


SAID = "0123456789²³½٣+±×÷=<>≤≥%‰°′″−µμΩÅK$€/^."
ALPHABET = SAID + "abcXY é\u0301ﬁﬂ‘’“”\"'-‐‑–—…\n\t\u00a0\u2009\u00ad\u200b mg"


def said(text: str) -> list[str]:
    """Digits, signs and units of a text with the runs that they stand in; dashes and spaces by their kind."""
    text = re.sub(r"[‐‑‒–—―]", "-", text)
    text = re.sub(r"(?<=[^\W\d_])[\u00ad\u200b]+(?=[^\W\d_])", "", text)
    runs = re.findall(rf"[{re.escape(SAID)}-]+", text)
    return [run for run in runs if any(c in SAID for c in run)]


@given(st.text(alphabet=ALPHABET, max_size=30), st.text(alphabet=ALPHABET, max_size=30))
@example("1\u00ad0", "10")
@example("5−3", "5-3")
@example("10 mg", "1 0 mg")
@example("m²", "m2")
@example("ab-\ncd 1", "abcd 1")
def test_no_fold_makes_texts_of_other_digits_signs_or_units_equal(a: str, b: str) -> None:
    if folded(a) == folded(b):
        assert said(a) == said(b)


around = st.text(alphabet=ALPHABET, max_size=10).map(lambda text: f"a{text}".replace("…", "").replace(".", ""))


@given(around, around, st.sampled_from(SAID), st.sampled_from(SAID))
def test_an_excerpt_with_one_sign_changed_is_not_found(before: str, after: str, sign: str, other: str) -> None:
    assume(sign != other)
    assert found_in(f"{before}{other}{after[::-1]}", f"{before}{sign}{after[::-1]}") is None
    assert found_in(f"{before}{sign}{after[::-1]}", f"{before}{sign}{after[::-1]}") == "exact"


@given(st.text(max_size=80))
def test_the_fold_is_idempotent_and_an_excerpt_is_in_its_own_text(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    if text.strip() and not re.search(r"^\W*(?:…|\.{3})|(?:…|\.{3})\W*$", text):
        assert found_in(text, text) == "exact"


@given(st.lists(st.sampled_from(["mange", "treated", "lotion", "long-term"]), min_size=3, max_size=12), st.data())
def test_layout_alone_is_always_folded(words: list[str], data: st.DataObject) -> None:
    laid_out = "".join(
        word + data.draw(st.sampled_from([" ", "\n", "  ", "\u00a0", " \n "])) for word in words
    ).replace("tr", data.draw(st.sampled_from(["tr", "t\u00adr"]))).replace("-", data.draw(st.sampled_from("-‐‑–")))
    broken = laid_out.replace("lotion", data.draw(st.sampled_from(["lotion", "lo-\ntion", "lo- tion"])))
    assert found_in(" ".join(words), f"So {broken} they say.") in ("exact", "fold")


@given(st.lists(st.sampled_from(["mange", "is", "treated", "with", "a", "lotion"]), min_size=4, max_size=14), st.data())
def test_a_text_cut_in_two_is_found_over_the_border(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(words) - 1))
    again = data.draw(st.integers(0, at))
    first, second = " ".join(words[:at]), " ".join(words[at - again :])
    assert joined(" ".join(words), f"x {first}", f"{second} y") or again == at


def test_no_single_character_of_another_kind_is_folded_away() -> None:
    for code in range(0x3000):
        character = chr(code)
        kind = unicodedata.category(character)
        if kind in ("Nd", "Nl", "No", "Sm", "Sc") or character in "%‰°′″/µ":
            assert folded(f"a{character}b") == f"a{character}b"
            assert folded(f"a {character} b") == f"a {character} b"


def test_the_module_names_what_it_folds() -> None:
    from audit_core.rules import presentation

    page = (Path(__file__).parents[2] / "docs" / "refusals.md").read_text("utf-8")
    assert presentation.PRESENTATION_RULES == ("presentation/1",)
    assert "presentation/1" in page


_PIECES = ("ab", "a-", "in-", "formation", "1.5", "-b", "ﬁne", "e\u0301", "for-\nm", "x")


@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=5).map(" ".join), min_size=2, max_size=4), st.data())
def test_only_pairs_that_can_hold_an_excerpt_are_joined(texts: list[str], data: st.DataObject) -> None:
    whole = texts[0] + data.draw(st.sampled_from((" ", "\n", ""))) + texts[1]
    first = data.draw(st.integers(0, len(whole)))
    excerpt = whole[first : data.draw(st.integers(first, len(whole)))]
    assume(not any(found_in(excerpt, text) for text in texts))
    pairs = [(i, j) for i in range(len(texts)) for j in range(len(texts)) if i != j]
    assert spanned(excerpt, texts) == next((p for p in pairs if joined(excerpt, texts[p[0]], texts[p[1]])), None)


def test_a_long_excerpt_and_hundreds_of_passages_take_bounded_time() -> None:
    texts = [f"paragraph {i} of the many " * 40 for i in range(300)]
    began = time.process_time()
    assert spanned("some words of text, 1.5 mg of it " * 600, texts) is None
    assert time.process_time() - began < 20
