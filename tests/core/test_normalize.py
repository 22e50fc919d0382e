"""The two official rules, exact match and token F1: our own cases, and properties against a slow rendering."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.normalize import RULES, exact_key, exact_match, published_match, token_f1

NQ, TRIVIA = RULES["nq_open/1"], RULES["triviaqa/1"]
RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def slow(name: str, text: str) -> str:
    """The steps of `docs/method.md`, character by character."""
    if name == "nq_open/1":
        text = unicodedata.normalize("NFD", text).lower()
        text = "".join(c for c in text if c not in string.punctuation)
    else:
        text = text.replace("_", " ").lower()
        text = "".join(" " if c in string.punctuation + "‘’´`" else c for c in text)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


@pytest.mark.parametrize(
    ("text", "nq_open", "triviaqa"),
    [
        ("The Old Man and the Sea", "old man and sea", "old man and sea"),
        ("an apple a day", "apple day", "apple day"),
        ("Anna and Theo", "anna and theo", "anna and theo"),
        ("Jay-Z", "jayz", "jay z"),
        ("D.A.R.E.", "dare", "d r e"),
        ("Plan A", "plan", "plan"),
        ("B-", "b", "b"),
        ("A−", "−", "−"),
        ("2.50", "250", "2 50"),
        ("12:30:45", "123045", "12 30 45"),
        ("-273.15 °C", "27315 °c", "273 15 °c"),
        ("10^9", "109", "10 9"),
        ("file_name.txt", "filenametxt", "file name txt"),
        ("l'été", "lété", "l été"),
        ("l’été", "l’été", "l été"),
        ("L´Aquila", "l´aquila", "l aquila"),
        ("¿Qué?", "¿qué", "¿qué"),
        ("Årsta", "̊rsta", "årsta"),
        ("Señor", "señor", "señor"),
        ("ŁÓDŹ", "łódź", "łódź"),
        ("no\u00a0break\u2003space", "no break space", "no break space"),
        ("zero\u200bwidth", "zero\u200bwidth", "zero\u200bwidth"),
        ("tab\tand\r\nline", "tab and line", "tab and line"),
        ("\x00a\x00", "\x00 \x00", "\x00 \x00"),
        ("\x1ca\x1c", "", ""),
        ("10 ≠ 9", "10 \u0338 9", "10 ≠ 9"),
        ("\u212aelvin", "kelvin", "kelvin"),
        ("ＡＢＣ", "ａｂｃ", "ａｂｃ"),
        ("UNKNOWN", "unknown", "unknown"),
        ("None", "none", "none"),
        ("n/a", "na", "n"),
        ("...", "", ""),
        ("", "", ""),
        (" \t ", "", ""),
        ("The A!", "", ""),
        ("lone \ud83d here", "lone \ud83d here", "lone \ud83d here"),
    ],
)
def test_own_cases(text: str, nq_open: str, triviaqa: str) -> None:
    assert NQ.normalize(text) == unicodedata.normalize("NFD", nq_open)
    assert TRIVIA.normalize(text) == triviaqa


@RULE
@given(text=st.text(st.characters(codec=None), max_size=60) | st.text("aAnThe \t._-'’ é\u0301\u0323/x1", max_size=40))
def test_fast_paths_equal_the_steps(rule, text: str) -> None:
    assert rule.normalize(text) == slow(rule.name, text)


@RULE
@given(text=st.text(st.characters(max_codepoint=127)))
def test_ascii_forms_are_fixed_points(rule, text: str) -> None:
    form = rule.normalize(text)
    assert rule.normalize(form) == form


@RULE
@given(text=st.text(), other=st.text())
def test_flagged_keys_never_meet_normalized_forms(rule, text: str, other: str) -> None:
    key, flagged = exact_key(rule, text)
    assert flagged == (rule.normalize(text) == "")
    assert key.startswith(" ") == flagged
    assert key != rule.normalize(other) or not flagged
    assert exact_key(rule, f" {text}\n") == (key, flagged)


@RULE
@given(text=st.text(), aliases=st.lists(st.text(), min_size=1, max_size=4))
def test_our_match_is_the_published_one_without_the_empty_pairs(rule, text: str, aliases: list[str]) -> None:
    ours, published = exact_match(rule, text, aliases), published_match(rule, text, aliases)
    assert published or not ours
    if rule.normalize(text):
        assert ours == published
    assert exact_match(rule, text, [*aliases, text])


@pytest.mark.parametrize(
    ("answer", "aliases", "ours", "published"),
    [
        ("", ["A+", "AB+"], False, True),
        ("the", ["A"], False, True),
        ("?!", ["*"], False, True),
        ("A+", ["AB+", "A+"], True, True),
        (" A+ ", ["A+"], True, True),
        ("", [""], True, True),
        ("ab", ["A+", "AB+"], True, True),
        ("montreal", ["Montreal", "City of Montreal"], True, True),
        ("city of montreal", ["Montreal", "City of Montreal"], True, True),
        ("ACDC", ["AC/DC"], True, True),
        ("AC", ["AC/DC"], False, False),
    ],
)
def test_match_under_nq_open(answer: str, aliases: list[str], ours: bool, published: bool) -> None:
    assert exact_match(NQ, answer, aliases) is ours
    assert published_match(NQ, answer, aliases) is published


@RULE
@pytest.mark.parametrize(
    ("answer", "aliases", "expected"),
    [
        ("", [""], Fraction(0)),
        ("the", ["A"], Fraction(0)),
        ("UNKNOWN", ["Paris"], Fraction(0)),
        ("of course of course", ["of course"], Fraction(2, 3)),
        ("Lake Como in Italy", ["Como", "Lake Como"], Fraction(2, 3)),
        ("the Como!", ["Garda", "Como"], Fraction(1)),
        ("red red blue", ["red blue blue"], Fraction(2, 3)),
    ],
)
def test_token_f1(rule, answer: str, aliases: list[str], expected: Fraction) -> None:
    assert token_f1(rule, answer, aliases) == expected


@RULE
@given(text=st.text("ab .!", max_size=12), aliases=st.lists(st.text("ab .!", max_size=12), min_size=1, max_size=3))
def test_token_f1_is_the_harmonic_mean_of_precision_and_recall(rule, text: str, aliases: list[str]) -> None:
    def f1(gold: str) -> Fraction:
        left, right = rule.normalize(text).split(), rule.normalize(gold).split()
        common = (Counter(left) & Counter(right)).total()
        if not common:
            return Fraction(0)
        precision, recall = Fraction(common, len(left)), Fraction(common, len(right))
        return 2 * precision * recall / (precision + recall)

    assert token_f1(rule, text, aliases) == max(map(f1, aliases))


@RULE
@pytest.mark.parametrize("score", [exact_match, published_match, token_f1])
def test_undefined_scores_are_refused(rule, score) -> None:
    with pytest.raises(ValueError, match="gold alias"):
        score(rule, "Paris", [])
    with pytest.raises(TypeError, match="several texts"):
        score(rule, "i", "Paris")


@RULE
@pytest.mark.parametrize("value", [None, 7, ["Paris"]])
def test_only_text_is_normalized(rule, value: object) -> None:
    with pytest.raises((TypeError, AttributeError)):
        rule.normalize(value)
