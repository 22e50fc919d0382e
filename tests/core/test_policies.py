"""Retrieval policies as states: what a protocol may say, what is then shown, and what tells the states apart."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core import codec
from audit_core.adapters import choosing, fts, trec
from audit_core.adapters.hits import Found
from audit_core.cli import main
from audit_core.collect import evidence, inputs, stages
from audit_core.collect.facts import prompt_facts
from audit_core.collection import from_record, read_toml, to_record
from audit_core.digests import sha256
from audit_core.errors import InputError
from audit_core.model import Siblings, State
from audit_core.policies import ABLE, KEYS, PLAIN, SWITCHES, Policy
from audit_core.prompts import ANSWER_PROMPT, ANSWER_PROMPTS, OPENING, Passage, answer_prompt, stem
from audit_core.protocol import attribution, attributions
from audit_core.results import estimate_study
from audit_core.rules.aspects import parts
from audit_core.rules.passage_kind import kind_of
from audit_core.study import COLLECTION, PRIMARY, SIBLINGS, Study
from audit_core.study.lineage import payloads
from audit_core.verify import verify
from tests.support.collecting import prepare
from tests.support.relock import relock
from tests.support.simulator import CREATED

LADDER = """states = [
  { name = "plain", shards = 3, refusal = "all_or_nothing" },
  { name = "siblings", shards = 3, refusal = "all_or_nothing", expand_siblings = true },
  { name = "parts", shards = 3, refusal = "all_or_nothing", expand_siblings = true, fan_out = true },
  { name = "partial", shards = 3, refusal = "partial", expand_siblings = true, fan_out = true },
]
endpoints = ["plain", "partial"]"""
LIST = "References\nAlder, P. (2009). The fee. J. Fees 12(3), 41-47.\nBirk, J. (2011). The fee. J. Fees 14(1), 3-19.\n"


def protocol(folder: Path, ladder: str = LADDER, depth: int = 2, **more: int) -> Path:
    """A protocol with another ladder over a corpus in which every item has a family of three passages."""
    toml = prepare(folder, **more)
    text = re.sub(r"states = \[.*?\nendpoints = .*?\n", lambda _: ladder + "\n", toml.read_text(), flags=re.DOTALL)
    toml.write_text(text.replace("depth = 8 ", f"depth = {depth} "))
    for shard in folder.glob("shard-*.jsonl"):
        records = [json.loads(line) for line in shard.read_text().splitlines()]
        lines = [json.dumps({**r, "family": "f" + r["document_id"].rpartition("-")[2]}) for r in records]
        shard.write_text("\n".join(lines) + "\n")
    return toml


def collected(toml: Path) -> Study:
    study = stages.freeze(toml, toml.parent / "study", CREATED)
    stages.run(study, toml.parent, lambda: CREATED)
    estimate_study(study, created=CREATED)
    return study


def failed(path: Path) -> list[str]:
    return [check.check_id for check in verify(path) if check.result == "failed"]


# What a protocol may say


def test_a_ladder_of_policies_says_what_differs(tmp_path: Path) -> None:
    read, collection = read_toml(protocol(tmp_path))
    assert collection.policies == {
        "plain": Policy(refusal="all_or_nothing"),
        "siblings": Policy(expand_siblings=True, refusal="all_or_nothing"),
        "parts": Policy(expand_siblings=True, fan_out=True, refusal="all_or_nothing"),
        "partial": Policy(expand_siblings=True, fan_out=True, refusal="partial"),
    }
    assert from_record(to_record(collection)) == collection
    assert read.differences("plain", "siblings") == [("siblings added", "no", "yes")]
    assert read.differences("siblings", "parts") == [("fan-out", "no", "yes")]
    assert [name for name, _, _ in read.differences("parts", "partial")] == ["refusal rule"]
    assert read.differs == "fan-out, refusal rule, siblings added"
    assert attributions(read) == [
        "Between plain and partial three things differ: fan-out, refusal rule, siblings added; "
        "churn cannot be attributed to one of them."
    ]
    assert attribution(read, "plain", "siblings") == ""


def test_where_only_snapshots_differ_there_is_one_name(tmp_path: Path) -> None:
    read, collection = read_toml(prepare(tmp_path))
    assert collection.policies == {}
    assert [dict(state.settings) for state in read.states] == [
        {"snapshot": "none"}, {"snapshot": "1 shard"}, {"snapshot": "3 shards"}]  # fmt: skip
    assert read.differences("n0", "n3") == [("snapshot", "none", "3 shards")]
    assert (read.differs, attributions(read)) == ("the index snapshot", [])


def test_a_snapshot_and_a_rule_are_two_things(tmp_path: Path) -> None:
    ladder = 'states = [{ name = "a", shards = 1 }, { name = "b", shards = 3, refusal = "partial" }]\n'
    read, _ = read_toml(protocol(tmp_path, ladder + 'endpoints = ["a", "b"]'))
    assert read.differences("a", "b") == [
        ("refusal rule", "UNKNOWN if it cannot answer", "parts that are answered, and what is missing"),
        ("snapshot", "1 shard", "3 shards"),
    ]
    assert attribution(read, "a", "b").startswith("Between a and b two things differ: refusal rule, snapshot;")


def test_numbers_beyond_the_words_are_digits(tmp_path: Path) -> None:
    read, _ = read_toml(protocol(tmp_path))
    states = (State("a", settings=tuple((f"s{i:02}", "1") for i in range(12))), State("b"))
    assert "12 things differ" in attribution(replace(read, states=states), "a", "b")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ('shards = 3, fan_out = "yes"', "fan_out is not what it must be: expected true or false, found 'yes'"),
        ('shards = 3, expand_siblings = 1', "expand_siblings is not what it must be"),
        ('shards = 3, refusal = "never"', "refusal is not what it must be: expected all_or_nothing or partial"),
        ('shards = 3, refusal = ""', "refusal is not what it must be"),
        ('shards = 3, refusal = ["partial"]', "refusal is not what it must be"),
        ('shards = 0, refusal = "partial"', "a state without retrieval has no policy: expected no refusal"),
        ("shards = 0, drop_bibliography = true", "a state without retrieval has no policy"),
        ("shards = 3, fanout = true", "a state is not what it must be: expected name, label, shards, expand_siblings"),
    ],
)  # fmt: skip
def test_faults_of_a_policy(tmp_path: Path, state: str, said: str) -> None:
    first, second = ("b", "a") if "shards = 0" in state else ("a", "b")
    states = {"a": 'name = "a", shards = 1', "b": f'name = "b", {state}'}
    ladder = f"states = [{{ {states[first]} }}, {{ {states[second]} }}]\n"
    toml = protocol(tmp_path, ladder + f'endpoints = ["{first}", "{second}"]')
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    assert said in str(caught.value)
    assert main(["freeze", str(toml)]) == 2
    assert not (tmp_path / "my-study").exists()


@pytest.mark.parametrize("retriever", ["opensearch", "elasticsearch", "deepresearchgym", "replay"])
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_retriever_that_cannot_follow_a_policy_says_so_at_freeze(tmp_path: Path, retriever: str, switch: str) -> None:
    ladder = f'states = [{{ name = "a", shards = 1 }}, {{ name = "b", shards = 1, {switch} = true }}]\n'
    toml = protocol(tmp_path, ladder + 'endpoints = ["a", "b"]')
    toml.write_text(toml.read_text().replace('retriever = "fts5"', f'retriever = "{retriever}"'))
    with pytest.raises(InputError) as caught:
        read_toml(toml)
    said = any("needs" in p.what and switch in p.what and "state b" in (p.where or "") for p in caught.value.problems)
    assert said is (switch not in ABLE.get(retriever, ()))


def test_prompts_of_old_studies_are_the_old_ones(tmp_path: Path) -> None:
    _, collection = read_toml(prepare(tmp_path / "a"))
    assert sha256(ANSWER_PROMPT.encode()) == "d9094f3a47c6cb25e7e7c7078bee480390b936ac80155285b6c93a0febeb62d9"
    assert (
        sha256(answer_prompt("Q?", ["d · t\nText."]).encode())
        == "3ecad913a5c0041f4e76973619f72aa156cda8f6dfda6c154bdde4ea3f5b6c87"
    )
    assert prompt_facts(collection).keys() == {"answer", "judge"}
    _, collection = read_toml(protocol(tmp_path / "b"))
    facts = prompt_facts(collection)
    assert facts.keys() == {"answer", "judge", "answer_all_or_nothing", "answer_partial", "aspects"}
    assert facts["answer_partial"] == sha256(ANSWER_PROMPTS["partial"].encode())


@pytest.mark.parametrize("refusal", [rule for rule in ANSWER_PROMPTS if rule])
def test_the_prompt_of_a_refusal_rule(refusal: str) -> None:
    shown = ["d1 · {question}\nA {passages} text.", "d2\nB."]
    prompt = answer_prompt("Why {passages}, and how?", shown, refusal)
    head = "Passages:\n[1] d1 · {question}\nA {passages} text.\n\n[2] d2\nB."
    assert prompt.startswith(head + OPENING)
    assert stem(prompt) == head
    assert "\n\nQuestion: Why {passages}, and how?\n\n" in prompt
    assert "UNKNOWN" in prompt.rpartition("\n\n")[2]
    assert stem(answer_prompt("Q?", shown)) == answer_prompt("Q?", shown)


# What is shown


def passages(texts: Sequence[tuple[str, str]]) -> list[Passage]:
    return [Passage(f"d{i}", "", "", text, family) for i, (text, family) in enumerate(texts)]


def shown(corpus: list[Passage], question: str, policy: Policy, depth: int) -> Found:
    (found,) = fts.retrieve([corpus], {"s": 1}, [("q", question)], depth, {"s": policy})
    return found


def ids(found: Found) -> list[str]:
    return [hit.passage.document_id for hit in found.hits]


WORDS = ("fee", "fare", "berth", "lamp")
CORPUS = st.lists(
    st.tuples(
        st.lists(st.sampled_from((*WORDS, "rail", "card")), min_size=1, max_size=6).map(" ".join),
        st.sampled_from(("", "", "a", "b", "c")),
    ),
    max_size=24,
)
POLICIES = st.builds(Policy, expand_siblings=st.booleans(), fan_out=st.booleans(), drop_bibliography=st.booleans())


def by_the_rule(corpus: list[Passage], question: str, policy: Policy, depth: int) -> list[str]:
    """The module's rule, from whole rankings and plain lists."""
    asked = parts(question) if policy.fan_out else (question,)
    lists = [ids(shown(corpus, part, PLAIN, 10_000)) for part in asked]
    order: list[str] = []
    for rank in range(max(map(len, lists), default=0)):
        for listed in lists:
            order += [key for key in listed[rank : rank + 1] if key not in order]
    passage = {p.document_id: p for p in corpus}
    if policy.drop_bibliography:
        bad = {key for key, p in passage.items() if kind_of(p.text).kind != "body"}
        order = [key for key in order if key not in bad]
        passage = {key: p for key, p in passage.items() if key not in bad}
    first = order[:depth]
    out: list[str] = []
    rest = [key for key in [*order, *(key for key in passage if key not in order)] if key not in first]
    for key in first:
        out.append(key)
        kin = [k for k in rest if passage[key].family and passage[k].family == passage[key].family]
        if policy.expand_siblings and kin:
            out.append(kin[0])
            rest.remove(kin[0])
    return out[:depth]


def unique(texts: list[tuple[str, str]]) -> list[Passage]:
    return passages([(f"{text} n{i}", family) for i, (text, family) in enumerate(texts)])


@given(CORPUS, st.lists(st.sampled_from(WORDS), min_size=2, max_size=2), POLICIES, st.integers(1, 6))
def test_the_rule_against_plain_lists(
    texts: list[tuple[str, str]], words: list[str], policy: Policy, depth: int
) -> None:
    corpus = unique(texts)
    corpus.append(Passage("refs", "", "", LIST, "a"))
    question = f"What is the {words[0]}, and where is the {words[1]}?"
    found = shown(corpus, question, policy, depth)
    assert ids(found) == by_the_rule(corpus, question, policy, depth)
    assert len(found.hits) <= depth
    if policy == PLAIN:
        (plain,) = fts.retrieve([corpus], {"s": 1}, [("q", question)], depth)
        assert found == plain


@given(CORPUS, st.sampled_from(WORDS), POLICIES, st.integers(1, 6))
def test_siblings_are_what_is_of_a_shown_family_and_not_shown(
    texts: list[tuple[str, str]], word: str, policy: Policy, depth: int
) -> None:
    corpus = unique(texts)
    question = f"What is the {word}, and where is the lamp?"
    found = shown(corpus, question, policy, depth)
    held = ids(found)
    families = {hit.passage.family for hit in found.hits} - {""}
    left = {p.document_id for p in corpus if p.family in families and p.document_id not in held}
    told = [r.hit.passage.document_id for r in found.relatives]
    assert len(told) == len(set(told)) == min(len(left), choosing.MOST)
    assert set(told) <= left
    whole = ids(shown(corpus, question, PLAIN, 10_000))
    ranks = [r.rank for r in found.relatives]
    assert ranks == [whole.index(key) + 1 if key in whole else None for key in told]
    assert ranks == sorted(ranks, key=lambda rank: (rank is None, rank))
    for relative in found.relatives:
        of = next(hit.passage for hit in found.hits if hit.passage.document_id == relative.of)
        assert of.family == relative.hit.passage.family
        before = held[: held.index(relative.of)]
        assert all(p.family != of.family for p in corpus if p.document_id in before), "the best of its family"


def test_the_half_that_was_ranked_out_comes_back_as_a_sibling_or_by_its_own_search() -> None:
    half = [(f"Door judder is repaired by wax {i}.", "doors") for i in range(4)]
    test = (
        "The paper test: a strip of newspaper is held between the roller and the rail, and is torn or whole after the "
        "leaf was pushed."
    )
    others = [
        (f"The {w} of the {v} is in the book, and which it is.", "")
        for w in WORDS
        for v in ("pier", "guard", "train", "coast")
    ]
    corpus = passages([*half, (test, "doors"), *others])
    question = "How is door judder repaired, and which test is made with paper?"
    plain = shown(corpus, question, PLAIN, 4)
    assert ids(plain) == ["d0", "d1", "d2", "d3"]
    assert [(r.hit.passage.document_id, r.of, r.rank) for r in plain.relatives] == [("d4", "d0", 5)]
    assert ids(shown(corpus, question, Policy(expand_siblings=True), 4)) == ["d0", "d4", "d1", "d2"]
    assert ids(shown(corpus, question, Policy(fan_out=True), 4))[:3] == ["d0", "d4", "d1"]
    assert ids(shown(corpus, question, Policy(expand_siblings=True, fan_out=True), 4)) == ["d0", "d2", "d4", "d3"]


def test_a_question_of_one_part_is_searched_as_it_is() -> None:
    corpus = passages([("The fee is six euros.", ""), ("The berth has a lamp.", "")])
    for question in ("What is the fee?", "fee", "", "???"):
        assert shown(corpus, question, Policy(fan_out=True), 3) == shown(corpus, question, PLAIN, 3)


def test_lists_are_left_out_before_the_cut() -> None:
    corpus = passages([(LIST.replace("fee", "fee fee"), "x"), ("The fee of six.", ""), ("The fee of ten.", "")])
    assert "d0" in ids(shown(corpus, "fee fee", PLAIN, 3))
    found = shown(corpus, "fee fee", Policy(drop_bibliography=True, expand_siblings=True), 2)
    assert ids(found) == ["d1", "d2"]


def test_a_sibling_that_the_state_cannot_reach_is_none() -> None:
    shards = [passages([("The fee.", "f")]), [Passage("late", "", "", "The fee, again.", "f")]]
    policies = {state: Policy(expand_siblings=True) for state in ("old", "new")}
    old, new = fts.retrieve(shards, {"old": 1, "new": 2}, [("q", "fee")], 1, policies)
    assert old.relatives == ()
    assert [r.hit.passage.document_id for r in new.relatives] == ["late"]


def test_beyond_the_longest_list_a_sibling_has_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = passages([(f"fee {'word ' * i}", "f") for i in range(12)])
    whole = shown(corpus, "fee", PLAIN, 2)
    assert [r.rank for r in whole.relatives] == list(range(3, 13))
    monkeypatch.setattr(choosing, "LONGEST", 5)
    cut = shown(corpus, "fee", PLAIN, 2)
    assert [r.rank for r in cut.relatives] == [3, 4, 5, *[None] * 7]
    assert [r.hit.score is None for r in cut.relatives] == [False] * 3 + [True] * 7
    monkeypatch.setattr(choosing, "MOST", 4)
    assert [r.rank for r in shown(corpus, "fee", PLAIN, 2).relatives] == [3, 4, 5, None]


def test_replay_follows_siblings_and_lists_by_the_same_rule(tmp_path: Path) -> None:
    corpus = passages([("one", "f"), (LIST, "g"), ("two", "f"), ("three", "g"), ("four", "f")])
    run = tmp_path / "s.run"
    run.write_text("".join(f"q Q0 {key} {rank} {9 - rank} t\n" for rank, key in enumerate(["d1", "d0", "d3", "d2"], 1)))

    def replayed(policy: Policy) -> Found:
        (found,) = trec.replay({"s": run}, [corpus], {"s": 1}, [("q", "any")], 2, {"s": policy})
        return found

    plain = replayed(PLAIN)
    assert ids(plain) == ["d1", "d0"]
    told = [(r.hit.passage.document_id, r.of, r.rank, r.hit.score) for r in plain.relatives]
    assert told == [("d3", "d1", 3, "6"), ("d2", "d0", 4, "5"), ("d4", "d0", None, None)]
    assert ids(replayed(Policy(drop_bibliography=True))) == ["d0", "d3"]
    assert ids(replayed(Policy(drop_bibliography=True, expand_siblings=True))) == ["d0", "d2"]


# A whole study


def test_a_study_of_policies_is_collected_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = protocol(tmp_path)
    assert main(["freeze", str(toml), "--study", str(tmp_path / "study")]) == 0
    sentence = "Between plain and partial three things differ: fan-out, refusal rule, siblings added;"
    assert sentence in capsys.readouterr().out
    assert main(["run", str(tmp_path / "study")]) == 0
    study = Study(tmp_path / "study")
    assert failed(study.path) == []
    counts = next(lock.counts for lock in study.chain if lock.gate == "retrieval")
    kept = [codec.to_siblings(record) for record in study.reader(SIBLINGS)]
    assert counts["siblings"] == len(kept) > 0
    dossier = next(study.dossiers())
    assert dossier.siblings == tuple(s for s in kept if s.question_id == dossier.question.question_id)
    texts = dict(study.passages())
    for siblings in kept:
        for document in siblings.documents:
            assert document.passage is not None
            assert document.document_id in texts[document.passage]
    capsys.readouterr()
    for command in (["estimate"], ["status"]):
        assert main([*command, str(study.path)]) == 0
        assert sentence in capsys.readouterr().out
    assert main(["explore", str(study.path), "plain", "partial"]) == 0
    assert sentence in capsys.readouterr().out
    assert main(["explore", str(study.path), "plain", "siblings"]) == 0
    assert "things differ" not in capsys.readouterr().out
    assert main(["status", str(study.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == attributions(study.protocol)


def test_a_study_without_families_keeps_no_siblings(tmp_path: Path) -> None:
    study = collected(prepare(tmp_path))
    assert not study.has(SIBLINGS)
    assert "siblings" not in next(lock.counts for lock in study.chain if lock.gate == "retrieval")


def test_verify_makes_each_request_with_the_prompt_of_its_state(tmp_path: Path) -> None:
    study = collected(protocol(tmp_path))
    before = (study.path / COLLECTION).read_bytes()
    changed = before.replace(b'"refusal":"partial"', b'"refusal":"all_or_nothing"')
    assert changed != before
    relock(study.path, lambda _: None, extra={COLLECTION: changed})
    assert "C19" in failed(study.path)


def spoil(kind: str, records: list[dict[str, Any]]) -> None:
    if kind == "twice":
        records.insert(1, records[0])
    elif kind == "order":
        records.reverse()
    elif kind == "state":
        records[0]["state"] = "elsewhere"
    elif kind == "passage":
        records[0]["documents"][0]["passage"] = "0" * 64
    else:
        records[0]["documents"][0]["rank"] = 0


@pytest.mark.parametrize("kind", ["twice", "order", "state", "passage", "rank"])
def test_spoilt_siblings_fail_the_check_of_evidence(tmp_path: Path, kind: str) -> None:
    study = collected(protocol(tmp_path))
    relock(study.path, lambda members: spoil(kind, members[SIBLINGS]), estimate=False)
    assert "C10" in failed(study.path)


def test_two_passes_must_agree_in_what_is_not_shown(tmp_path: Path) -> None:
    toml = protocol(tmp_path)
    _, collection = read_toml(toml)
    asked = [(q.question_id, q.text or "") for q in inputs.questions(tmp_path / "questions.jsonl")][:2]
    first, second = evidence.retrieve(tmp_path, collection, asked, lambda *_: None)
    assert evidence.differences(first, second) == []
    key, siblings = next(iter(second.siblings.items()))
    second.siblings[key] = Siblings(*key, siblings.documents[1:])
    (problem,) = evidence.differences(first, second)
    assert problem.what == "the two retrieval passes differ in what is not shown"
    assert problem.where == f"question {key[0]}, state {key[1]}"
    del second.siblings[key]
    (problem,) = evidence.differences(first, second)
    assert problem.found == "none"


CHILD = """
[study]
id = "child"
title = "The same questions, another seed"
generator = "extractive baseline, seed 2"
parent = "../parent/study"

[generation]
adapter = "extractive"
seed = "2"

[judging]
adapter = "none"

[estimation]
draws = 500
"""


def test_a_replication_takes_policies_prompts_and_siblings(tmp_path: Path) -> None:
    parent = collected(protocol(tmp_path / "parent"))
    toml = tmp_path / "child" / "protocol.toml"
    toml.parent.mkdir()
    toml.write_text(CHILD)
    child = collected(toml)
    for member in (PRIMARY, SIBLINGS):
        assert list(payloads(child, member)) == list(payloads(parent, member))
    assert stages.collection_of(child).policies == stages.collection_of(parent).policies
    assert child.protocol.states == parent.protocol.states
    assert [c.check_id for c in verify(child.path, parent=parent.path) if c.result == "failed"] == []


def test_keys_of_the_template_and_of_the_page_are_the_ones_that_are_read() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "retrieval-policies.md").read_text(encoding="utf-8")
    template = (root / "audit_core" / "protocol.template.toml").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"`{key}" in page
        assert key in template
