"""Evidence diagnosis: fates, order, bytes, ties, siblings, coverage of the parts, and hints that say why."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.diagnosis import Unshown, compared, diagnose, sentence, siblings_of
from audit_core.model import Document, Dossier, Evidence, Question, Sibling, Siblings
from audit_core.rules.aspects import parts
from audit_core.rules.coverage import SHARE, covered, own_words, stem
from audit_core.rules.shown import Shown, source_of

QUESTION = "How is canine demodicosis diagnosed and how is it treated?"
TESTS = [
    Shown(f"book#{n}", n, f"Canine demodicosis: diagnosis by scraping, method {n}.", f"Chapter 3.{n}", f"{9 - n}.5")
    for n in range(1, 7)
]
REFERENCES = Shown(
    "book#refs", 7,
    "Smith J, Jones B. Treatment of demodicosis. J Vet Med. 2004;12(3):45-49. Rao P. Treating mange. Derm 2011;22:1-4.",
    "References", "2.0",
)  # fmt: skip
TREATMENT = Unshown(
    Shown("book#40", 9, "Amitraz is the treatment of choice.", "Chapter 4 – Treatment", "1.5"), "book#1", "in corpus n1"
)


def test_the_half_without_a_passage_is_said_with_the_sibling_that_mentions_it() -> None:
    shown = [*TESTS, REFERENCES]
    found = diagnose(QUESTION, shown, shown, [TREATMENT], ("repeat 1", "repeat 2"))
    first, second = found.aspects[0]
    assert [support.passage for support in first.supports] == [0, 1, 2, 3, 4, 5]
    assert (second.own, second.supports) == (("treated",), ())
    assert [(support.passage, kind) for support, kind in second.named] == [(6, "bibliography")]
    assert found.hints[0].kind == "part without support"
    assert found.hints[0].sentence == (
        "The second part, “how is it treated”, has no supporting passage; a sibling of rank 9, “Chapter 4 – "
        "Treatment”, mentions it and was not shown."
    )
    assert found.hints[0].reason == "coverage/1, words: treated"
    kinds = ["part without support", "part only named", "no body text", "identical"]
    assert [hint.kind for hint in found.hints] == kinds
    assert found.kinds[0][0] == "book#refs"
    assert (found.order, found.identical, found.ties) == ("same", True, ())


def test_a_part_that_one_list_supports_is_lost_or_gained() -> None:
    with_it = [*TESTS[:5], replace(TREATMENT.passage, rank=6)]
    lost = diagnose(QUESTION, with_it, TESTS, (), ("n1", "n7"))
    assert lost.hints[0].kind == "part lost"
    assert "no supporting passage in n7 and 1 in n1" in lost.hints[0].sentence
    gained = diagnose(QUESTION, TESTS, with_it, (), ("n1", "n7"))
    assert gained.hints[0].kind == "part gained"
    assert "no supporting passage in n1 and 1 in n7" in gained.hints[0].sentence


def test_nothing_is_claimed_of_passages_without_a_text() -> None:
    bare = [replace(passage, text=None) for passage in TESTS]
    found = diagnose(QUESTION, bare, bare)
    assert [aspect.unread for aspect in found.aspects[0]] == [6, 6]
    assert [hint.kind for hint in found.hints] == ["identical"]
    assert found.identical is None
    assert "as far as the study keeps it" in found.hints[0].sentence


def test_a_part_cut_by_a_model_goes_before_the_rule() -> None:
    found = diagnose("Mange?", TESTS, TESTS, asked=("What is the diagnosis of mange", "What is the treatment of mange"))
    assert [bool(aspect.supports) for aspect in found.aspects[0]] == [True, False]


@pytest.mark.parametrize(
    ("change", "order", "identical"),
    [
        (lambda shown: shown, "same", True),
        (lambda shown: [replace(shown[0], score="8.50"), *shown[1:]], "same", False),
        (lambda shown: [replace(shown[0], text="other"), *shown[1:]], "same", False),
        (lambda shown: [replace(p, rank=n) for n, p in enumerate(reversed(shown), 1)], "another order", False),
        (lambda shown: shown[:-1], "different", False),
    ],
)
def test_order_and_bytes(change, order: str, identical: bool) -> None:  # type: ignore[no-untyped-def]
    found = diagnose(QUESTION, TESTS, change(list(TESTS)))
    assert (found.order, found.identical) == (order, identical)
    assert ("another order" in [hint.kind for hint in found.hints]) == (order == "another order")


def test_ties_at_the_cut_off() -> None:
    level = [replace(passage, score="1.5") for passage in TESTS]
    inside = diagnose(QUESTION, level, level)
    assert [(tie.which, tie.inside, tie.outside) for tie in inside.ties] == [(0, (1, 2, 3, 4, 5, 6), ())]
    above = [*TESTS[:5], replace(TESTS[5], score="1.5")]
    outside = diagnose(QUESTION, TESTS, above, [TREATMENT], ("n1", "n7"))
    assert [(tie.which, tie.inside, tie.outside) for tie in outside.ties] == [(1, (6,), (TREATMENT,))]
    assert "same score as a sibling that was not shown" in next(h.sentence for h in outside.hints if h.kind == "tie")
    assert not diagnose(QUESTION, TESTS, TESTS).ties


def evidence(state: str, *ids: str, repeat: int | None = None) -> Evidence:
    families = {name: "f" if name.startswith("f") else "" for name in ids}
    documents = tuple(Document(name, rank, family=families[name]) for rank, name in enumerate(ids, 1))
    return Evidence("q", state, documents, repeat)


def test_siblings_come_from_the_ledger_or_from_what_is_seen_elsewhere() -> None:
    dossier = Dossier(Question("q"), (), {}, (evidence("n1", "f1", "doc#1"), evidence("n7", "f2", "x")), None)
    found = siblings_of(dossier, ["n1"], str, [evidence("n1", "doc#2", "f1", "y")])
    assert {(item.passage.document_id, item.of, item.passage.rank, item.seen) for item in found} == {
        ("f2", "f1", 0, "shown in n7"), ("doc#2", "doc#1", 0, "shown in n1")}  # fmt: skip
    known = Siblings("q", "n1", (Sibling("f9", "f", "f1", 12, "0.5"), Sibling("f1", "f", "f1")))
    kept = replace(dossier, siblings=(known,))
    assert [(i.passage.document_id, i.passage.rank, i.passage.score) for i in siblings_of(kept, ["n1"], str)] == [
        ("f9", 12, "0.5")]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "source"),
    [("book#3", "book"), ("book::p.3", "book"), ("a/chunk_12", "a"), ("a-p7", "a"), ("doc-12", "doc-12"),
     ("hc-q1", "hc-q1")],
)  # fmt: skip
def test_the_document_of_a_passage(name: str, source: str) -> None:
    assert source_of(name) == source


ids = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(ids, ids)
def test_fates_count_every_document_once_and_turn_round_with_the_lists(old: list[str], new: list[str]) -> None:
    a = [Shown(name, rank) for rank, name in enumerate(old, 1)]
    b = [Shown(name, rank) for rank, name in enumerate(new, 1)]
    left, right = compared(a, b)
    fates = Counter(r.fate for r in (*left, *right) if not r.twice)
    assert fates["lost"] == len(set(old) - set(new))
    assert fates["gained"] == len(set(new) - set(old))
    assert fates["kept"] + fates["moved"] == 2 * len(set(old) & set(new))
    turned = {"lost": "gained", "gained": "lost"}
    back = compared(b, a)
    assert [turned.get(r.fate, r.fate) for r in back[1]] == [r.fate for r in left]
    assert [turned.get(r.fate, r.fate) for r in back[0]] == [r.fate for r in right]
    found = diagnose("What is it?", a, b)
    assert (found.order == "same") == (old == new)
    assert (found.order == "another order") == (old != new and sorted(old) == sorted(new))
    assert sentence(left, right)


@given(st.sampled_from([QUESTION, "What are the causes, risks and treatment of mange?", "What is mange?"]),
       st.lists(st.sampled_from(["diagnosis", "treated", "causes", "risk", "of mange", "in dogs", "2004"]), max_size=6))
def test_support_is_a_share_of_the_own_words(question: str, words: list[str]) -> None:
    asked = parts(question)
    text = " ".join(words)
    for aspect, own in zip(covered(asked, [Shown("d", 1, text)]), own_words(asked), strict=True):
        there = {stem(word) for word in text.replace("of ", "").replace("in ", "").split()}
        share = sum(stem(word) in there for word in own)
        assert bool(aspect.supports) == (bool(own) and share >= SHARE * len(own) and share > 0)
        assert aspect.own == own


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("diagnosed", "diagnostic", True), ("diagnosis", "diagnoses", True), ("treated", "Treatment", True),
     ("prices", "price", True), ("fares", "fare", True), ("vaccine", "vaccination", True),
     ("station", "state", False), ("contain", "contact", False), ("2004", "2005", False)],
)  # fmt: skip
def test_endings(one: str, other: str, same: bool) -> None:
    assert (stem(one) == stem(other)) == same
