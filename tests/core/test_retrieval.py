"""Retrieval outside the embedded index: each client against a loopback service of its protocol, and TREC replay."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit_core import codec
from audit_core.adapters import services
from audit_core.collect import stages
from audit_core.collection import from_record, read_toml, to_record
from audit_core.errors import InputError, StorageError
from audit_core.model import Evidence
from audit_core.study import COLLECTION, PRIMARY, Study
from audit_core.verify import verify
from tests.support.collecting import prepare
from tests.support.search import Asked, Fault, SearchService, documents, ranked
from tests.support.simulator import CREATED

INDICES = {f"docs-{n}": documents(n) for n in range(3)}
KEY = "user:CANARY-555-key"
ENGINES = ("opensearch", "elasticsearch")
SERVICES = (*ENGINES, "deepresearchgym")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit_core.collect.evidence.PAUSE", lambda _: None)
    monkeypatch.setenv("AUDIT_SEARCH_KEY", KEY)


def protocol(folder: Path, retriever: str, settings: str, *, questions: int = 4, depth: int = 5) -> Path:
    """A protocol with another retriever; a service holds the corpus itself."""
    toml = prepare(folder, questions=questions)
    text = re.sub(r'retriever = "fts5".*\ndepth = 8 ', f'retriever = "{retriever}"\n{settings}\ndepth = {depth} ',
                  toml.read_text())  # fmt: skip
    if retriever != "replay":
        text = re.sub(r"shards = \[.*", "", text)
    toml.write_text(text)
    return toml


def of_service(folder: Path, retriever: str, url: str, more: str = "", **sizes: int) -> Path:
    where = f'base_url = "{url}"\nkey_variable = "AUDIT_SEARCH_KEY"\n{more}\n'
    if retriever == "deepresearchgym":
        where = where.replace(url, f"{url}/fineweb/search") + 'shards_parameter = "num_of_shards"'
    else:
        where += 'indices = ["docs-0", "docs-1", "docs-2"]'
    return protocol(folder, retriever, where, **sizes)


def retrieved(toml: Path) -> Study:
    study = stages.freeze(toml, toml.parent / "study", CREATED)
    stages.select_questions(study, toml.parent, CREATED)
    stages.retrieve_evidence(study, toml.parent, CREATED)
    return study


def evidence(study: Study) -> dict[tuple[str, str], Evidence]:
    found = [codec.to_evidence(record) for record in study.reader(PRIMARY)]
    return {(e.question_id, e.state): e for e in found}


def ids(study: Study) -> dict[tuple[str, str], list[str]]:
    return {key: [d.document_id for d in e.documents] for key, e in evidence(study).items()}


def expected(study: Study, depth: int = 5) -> dict[tuple[str, str], list[str]]:
    """What the corpus itself says: score, then order of the indices, then id, on the state's prefix alone."""
    out = {}
    for question in study.questions():
        for state, count in (("n1", 1), ("n3", 3)):
            names = list(INDICES)[:count]
            found = ranked([(name, INDICES[name]) for name in names], question.text or "", 0)
            found.sort(key=lambda item: (-item[0], names.index(item[1]), item[2]["id"]))
            out[question.question_id, state] = [d["id"] for _, _, d in found[:depth]]
    return out


@pytest.mark.parametrize("retriever", ENGINES)
def test_an_engine_searches_the_prefix_and_ties_have_one_order(tmp_path: Path, retriever: str) -> None:
    with SearchService(INDICES) as service:
        study = retrieved(of_service(tmp_path, retriever, service.url))
        asked = list(service.asked)
    assert ids(study) == expected(study)
    assert len(asked) == study.chain[-1].counts["calls"] == 4 * 2 * 2, "each pass calls for every list of every state"
    assert [a.path for a in asked[:8]] == ["/docs-0/_search"] * 4 + ["/docs-0,docs-1,docs-2/_search"] * 4
    for seen in asked:
        assert seen.params["search_type"] == "dfs_query_then_fetch"
        assert seen.params["request_cache"] == seen.params["allow_partial_search_results"] == "false"
        assert "authorization" in seen.headers
    stored = json.loads((study.path / COLLECTION).read_text())
    asked_for = {"fields": ["title", "text"], "operator": "or", "query": "{question}", "type": "best_fields"}
    assert json.loads(stored["search"]["body"]) == {"multi_match": asked_for}
    first = next(iter(evidence(study).values())).documents[0]
    assert (first.title, first.family) == ("Notice 0", f"fee-{int(first.document_id[-2:])}")
    assert re.fullmatch(r"\d+\.\d+", first.score or "")
    checks = {c.check_id: c.result for c in verify(study.path)}
    assert checks["C10"] == checks["C11"] == "passed"
    for file in study.path.rglob("*"):
        assert not file.is_file() or b"CANARY" not in file.read_bytes()


@pytest.mark.parametrize("retriever", ENGINES)
def test_ties_beyond_what_was_fetched_are_fetched(
    tmp_path: Path, retriever: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit_core.adapters.opensearch.MARGIN", 1)
    same = {"docs-0": [{"id": f"d{i:02d}", "text": "the fee for item 1"} for i in range(40)]}
    with SearchService({**INDICES, **same}) as service:
        study = retrieved(of_service(tmp_path, retriever, service.url))
        assert {a.body["size"] for a in service.asked} == {6, 48}
    assert {tuple(found) for (_, s), found in ids(study).items() if s == "n1"} == {("d00", "d01", "d02", "d03", "d04")}


@pytest.mark.parametrize("named", ["num_of_shards", "shard_ids", "addresses"])
def test_the_search_protocol_of_deepresearchgym(tmp_path: Path, named: str) -> None:
    with SearchService(INDICES) as service:
        if named == "addresses":
            places = f'{{ n1 = "{service.url}/docs-0/search", n3 = "{service.url}/docs-0,docs-1,docs-2/search" }}'
            toml = protocol(tmp_path, "deepresearchgym", f"addresses = {places}")
        else:
            toml = protocol(tmp_path, "deepresearchgym", f'base_url = "{service.url}/search"\n'
                            f'key_variable = "AUDIT_SEARCH_KEY"\nshards_parameter = "{named}"')  # fmt: skip
        study = retrieved(toml)
        asked = list(service.asked)
    assert {key: set(found) for key, found in ids(study).items() if key[1] == "n1"}
    for (question_id, state), found in ids(study).items():
        names = list(INDICES)[: 1 if state == "n1" else 3]
        text = next(q.text for q in study.questions() if q.question_id == question_id)
        best = ranked([(name, INDICES[name]) for name in names], text or "", 0)
        assert found == [d["id"] for _, _, d in best[:5]], "in the order that the service gives"
    assert len(asked) == 16
    assert {a.params.get(named) for a in asked} == {
        "num_of_shards": {"1", "3"}, "shard_ids": {"0", "0,1,2"}, "addresses": {None}}[named]  # fmt: skip
    assert all(a.headers.get("x-api-key") == (None if named == "addresses" else KEY) for a in asked)
    assert all(d.score is None for e in evidence(study).values() for d in e.documents)


def test_documents_of_clueweb_have_other_names() -> None:
    from audit_core.adapters.deepresearch import _read

    document = {
        "URL": "https://a.example/\n",
        "URL-hash": "h",
        "Language": "en",
        "ClueWeb22-ID": "cw-1",
        "Clean-Text": "t",
    }
    body = json.dumps({"results": [base64.b64encode(json.dumps(document).encode()).decode()]}).encode()
    (hit,) = _read(body, 5, "")
    assert (hit.passage.document_id, hit.passage.url, hit.passage.text) == ("cw-1", "https://a.example/", "t")


def gym_change(change: Callable[[dict[str, Any]], None]) -> Callable[[Any], Any]:
    """Change the first document of a base64 answer."""

    def changed(answer: Any) -> Any:
        first = json.loads(base64.b64decode(answer["results"][0]))
        change(first)
        return {**answer, "results": [base64.b64encode(json.dumps(first).encode()).decode(), *answer["results"][1:]]}

    return changed


def place(hit: dict[str, Any]) -> tuple[float, str]:
    return -hit["_score"], hit["_id"]


def engine_change(change: Callable[[dict[str, Any]], None]) -> Callable[[Any], Any]:
    """Change the first hit of a search, as the client orders them."""

    def changed(answer: Any) -> Any:
        change(min(answer["hits"]["hits"], key=place))
        return answer

    return changed


def twice(answer: Any) -> Any:
    if "results" in answer:
        return {**answer, "results": [answer["results"][0]] * 2}
    answer["hits"]["hits"][1]["_id"] = answer["hits"]["hits"][0]["_id"]
    return answer


def no_text(retriever: str) -> Fault:
    if retriever == "deepresearchgym":
        return Fault(change=gym_change(lambda d: d.pop("text")))
    return Fault(change=engine_change(lambda h: h["_source"].pop("text")))


def huge(retriever: str) -> Fault:
    text = "x" * ((1 << 24) + 1)
    if retriever == "deepresearchgym":
        return Fault(change=gym_change(lambda d: d.update(text=text)))
    return Fault(change=engine_change(lambda h: h["_source"].update(text=text)))


def echo(retriever: str) -> Fault:
    if retriever == "deepresearchgym":
        return Fault(change=gym_change(lambda d: d.update(text=f"you sent {KEY}")))
    return Fault(change=engine_change(lambda h: h["_source"].update(text=f"you sent {KEY}")))


STOPPED: dict[str, tuple[Callable[[str], Fault], str, int]] = {
    "500": (lambda _: Fault(status=500, body=b'{"error": "x"}'), "status 500", 3),
    "429": (lambda _: Fault(status=429, body=b"{}"), "status 429", 3),
    "401": (lambda _: Fault(status=401, body=b'{"error": "x"}'), "status 401", 1),
    "redirect": (lambda _: Fault(status=307, body=b"", headers={"location": "http://127.0.0.1:9/x"}), "status 307", 1),
    "cut connection": (lambda _: Fault(reset=True), "no connection|no complete answer", 3),
    "slow": (lambda _: Fault(delay=3.5), "no answer within 3 s|no connection|no complete answer|cannot be read", 1),
    "not JSON": (lambda _: Fault(body=b"<html>"), "not JSON|not a list|cannot be read", 3),
    "other JSON": (lambda _: Fault(body=b'{"ok": 1}'), "not a search result|not a list", 3),
    "no text": (no_text, "has no text", 1),
    "huge text": (huge, "has 16,777,217 characters", 1),
    "an id twice": (lambda _: Fault(change=twice), "is twice in one list", 1),
    "the key": (echo, "echoes the key", 1),
}


@pytest.mark.parametrize("retriever", SERVICES)
@pytest.mark.parametrize("name", STOPPED)
def test_a_fault_of_the_service_stops_before_the_lock(tmp_path: Path, retriever: str, name: str) -> None:
    fault, match, calls = STOPPED[name]

    def script(asked: Asked) -> Fault | None:
        return fault(retriever) if asked.number >= 3 else None

    with SearchService(INDICES, script) as service:
        toml = of_service(
            tmp_path, retriever, service.url, "deadline = 3\ntries = 1" if name == "slow" else "deadline = 120"
        )
        with pytest.raises(StorageError, match=match) as caught:
            retrieved(toml)
        assert len(service.asked) == 2 + calls, "no hidden retry, and no hidden success"
    assert "CANARY" not in str(caught.value)
    assert [lock.gate for lock in Study(tmp_path / "study").chain][-1] == "selection"


@pytest.mark.parametrize("retriever", SERVICES)
def test_a_passing_fault_is_tried_again_and_counted(tmp_path: Path, retriever: str) -> None:
    with SearchService(INDICES, lambda a: Fault(status=503, body=b"{}") if a.number % 4 == 0 else None) as service:
        study = retrieved(of_service(tmp_path, retriever, service.url))
        assert study.chain[-1].counts["calls"] == len(service.asked) > 16


@pytest.mark.parametrize("retriever", SERVICES)
def test_a_service_that_is_down(tmp_path: Path, retriever: str) -> None:
    with SearchService(INDICES) as service:
        toml = of_service(tmp_path, retriever, service.url)
    with pytest.raises(StorageError, match=r"no connection|no complete answer"):
        retrieved(toml)


@pytest.mark.parametrize("retriever", SERVICES)
def test_fewer_hits_than_the_depth_are_kept_as_they_are(tmp_path: Path, retriever: str) -> None:
    few = {name: held[:2] for name, held in INDICES.items()}
    with SearchService(few) as service:
        study = retrieved(of_service(tmp_path, retriever, service.url, depth=8))
    assert {len(found) for (_, state), found in ids(study).items() if state == "n1"} == {2}


@pytest.mark.parametrize("retriever", SERVICES)
def test_a_service_that_changes_its_mind_locks_nothing(tmp_path: Path, retriever: str) -> None:
    """The second pass gets other ids for one list, other bytes in another, and a shorter third."""
    gym = retriever == "deepresearchgym"

    def script(asked: Asked) -> Fault | None:
        if asked.number == 9:
            change = (gym_change(lambda d: d.update(id="new-1")) if gym
                      else engine_change(lambda h: h.update(_id="new-1")))  # fmt: skip
            return Fault(change=change)
        if asked.number == 10:
            text = {"text": "In 2020 the FEE for item"}
            return Fault(change=gym_change(lambda d: d.update(text)) if gym
                         else engine_change(lambda h: h["_source"].update(text)))  # fmt: skip
        if asked.number == 11 and gym:
            return Fault(change=lambda a: {**a, "results": a["results"][:2]})
        if asked.number == 11:
            return Fault(change=lambda a: {**a, "hits": {"hits": sorted(a["hits"]["hits"], key=place)[:2]}})
        return None

    with SearchService(INDICES, script) as service:
        toml = of_service(tmp_path, retriever, service.url)
        with pytest.raises(StorageError) as caught:
            retrieved(toml)
    problems = caught.value.problems
    order = [q.question_id for q in Study(tmp_path / "study").questions()]
    assert [re.sub(r"rank \d", "rank", p.where) for p in problems] == [
        f"question {q}, state n1, rank" for q in order[:3]]  # fmt: skip
    assert problems[0].found == "'new-1'"
    assert re.fullmatch(r"'FEE for item' at character \d+", problems[1].found)
    assert problems[2].found == "the end of the list"
    assert problems[2].where.endswith("rank 3")
    assert [lock.gate for lock in Study(tmp_path / "study").chain][-1] == "selection"


def test_a_changed_byte_is_shown_with_its_place(tmp_path: Path) -> None:
    change = gym_change(lambda d: d.update(text=d["text"].replace("euros", "Euros")))
    with SearchService(INDICES, lambda a: Fault(change=change) if a.number == 9 else None) as service:
        with pytest.raises(StorageError) as caught:
            retrieved(of_service(tmp_path, "deepresearchgym", service.url))
    (problem,) = caught.value.problems
    assert problem.where.endswith("state n1, rank 1")
    assert re.fullmatch(r"'s0-\d\d' with 'euros\.' at character \d+", problem.expected)
    assert re.fullmatch(r"'Euros\.' at character \d+", problem.found)


@pytest.mark.parametrize("retriever", ENGINES)
def test_an_alias_is_refused(tmp_path: Path, retriever: str) -> None:
    change = engine_change(lambda h: h.update(_index="docs-0-000042"))
    with SearchService(INDICES, lambda _: Fault(change=change)) as service:
        with pytest.raises(StorageError, match="name indices, not aliases"):
            retrieved(of_service(tmp_path, retriever, service.url))


def test_one_field_is_a_match_and_a_question_cannot_change_the_search(tmp_path: Path) -> None:
    with SearchService(INDICES) as service:
        toml = of_service(tmp_path, "opensearch", service.url, 'match = ["text"]', questions=1)
        (tmp_path / "questions.jsonl").write_text('{"question_id": "q0", "question": "{question} \\"}}]} fee"}\n')
        retrieved(toml)
        assert {json.dumps(a.body["query"]) for a in service.asked} == {
            json.dumps({"match": {"text": {"operator": "or", "query": '{question} "}}]} fee'}}})}  # fmt: skip


def test_a_missing_key_is_said_and_a_key_is_never_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUDIT_SEARCH_KEY")
    with pytest.raises(InputError, match=r"no key for the retrieval service.*AUDIT_SEARCH_KEY"):
        retrieved(of_service(tmp_path, "opensearch", "http://127.0.0.1:9"))


@pytest.mark.parametrize("retriever", ENGINES)
def test_without_its_client_an_engine_says_how_to_get_it(
    tmp_path: Path, retriever: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("opensearchpy", "elasticsearch"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(InputError, match=rf"pip install 'snapshot-audit\[{retriever}\]'"):
        retrieved(of_service(tmp_path, retriever, "http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("retriever", "settings", "match"),
    [
        ("opensearch", 'base_url = "http://h"', "indices is missing"),
        ("opensearch", 'indices = ["a"]', "base_url is missing"),
        ("opensearch", 'base_url = "http://user:pw@h"\nindices = ["a", "b", "c"]', "base_url is not what it must be"),
        ("opensearch", 'base_url = "http://h"\nindices = ["a*", "b", "c"]', "indices is not what it must be"),
        ("opensearch", 'base_url = "http://h"\nindices = ["a", "b"]', "n3 reaches more shards than there are"),
        ("opensearch", 'base_url = "http://h"\nindices = ["a", "a", "c"]', "indices is not what it must be"),
        (
            "elasticsearch",
            'base_url = "http://h"\nindices = ["a", "b", "c"]\nruns = { n1 = "x" }',
            "of another retriever",
        ),
        ("deepresearchgym", 'base_url = "http://h"', "one thing must tell the states apart"),
        ("deepresearchgym", 'addresses = { n1 = "http://h" }', "addresses and states differ"),
        ("deepresearchgym", 'base_url = "http://h"\nshards_parameter = "mine"', "shards_parameter is not"),
        ("replay", "", "runs is missing"),
        ("replay", 'runs = { n1 = "a.run" }', "runs and states differ"),
        ("fts5", 'indices = ["a"]', "indices is of another retriever"),
    ],
)
def test_settings_of_a_retriever_are_checked(tmp_path: Path, retriever: str, settings: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        read_toml(protocol(tmp_path, retriever, settings))


def test_settings_survive_the_frozen_record(tmp_path: Path) -> None:
    _, collection = read_toml(of_service(tmp_path, "opensearch", "http://h"))
    assert from_record(codec.decode(codec.encode(to_record(collection)))) == collection


def test_a_study_frozen_before_these_settings_is_still_read(tmp_path: Path) -> None:
    _, collection = read_toml(prepare(tmp_path))
    record = to_record(collection)
    for key in ("exclude_file", "question_columns", "gold_columns", "corpus_columns", "search", "parent"):
        del record[key]
    assert from_record(record) == collection


def run_lines(shards: int, *, questions: int = 8) -> list[str]:
    """A run whose scores tell nothing but the order: the highest shard first."""
    return [f"q{q} Q0 doccanary{s}-{(q + s) % 8} {s + 1} {1.5 - s / 10:.2f}e1 tag" for q in range(questions)
            for s in range(shards)]  # fmt: skip


def replayed(folder: Path, change: Callable[[list[str]], Any] = lambda _: None) -> Path:
    toml = protocol(folder, "replay", 'runs = { n1 = "n1.run", n3 = "n3.run" }')
    for state, shards in (("n1", 1), ("n3", 3)):
        lines = run_lines(shards)
        if state == "n3":
            change(lines)
        (folder / f"{state}.run").write_text("\n".join(lines) + "\n")
    return toml


def test_replay_orders_by_score_then_rank_and_takes_texts_from_the_corpus(tmp_path: Path) -> None:
    def change(lines: list[str]) -> None:
        lines.reverse()
        lines[:] = [line.replace("1.40e1", "15.00") for line in lines]  # ranks 1 and 2 tie; the score of rank 3 stays

    study = retrieved(replayed(tmp_path, change))
    for (question_id, state), found in ids(study).items():
        q = int(question_id[1:])
        assert found == [f"doccanary{s}-{(q + s) % 8}" for s in range(1 if state == "n1" else 3)]
    assert {d.score for e in evidence(study).values() for d in e.documents} == {"15.0", "15.00", "13.0"}
    texts = dict(study.passages())
    assert all("the fee for item" in texts[str(d.passage)] for e in evidence(study).values() for d in e.documents)


def test_a_run_over_a_large_population_is_replayed_whole(tmp_path: Path) -> None:
    toml = replayed(tmp_path)
    with (tmp_path / "questions.jsonl").open("a") as stream:
        for i in range(150):
            stream.write(json.dumps({"question_id": f"more{i}", "question": "?"}) + "\n")
    toml.write_text(toml.read_text().replace("exclude = []", f"exclude = {[f'more{i}' for i in range(150)]}"))
    for state in ("n1", "n3"):
        others = "".join(f"more{i} Q0 doccanary0-0 1 1 tag\n" for i in range(150))
        (tmp_path / f"{state}.run").write_text(others + (tmp_path / f"{state}.run").read_text())
    assert all(found for found in ids(retrieved(toml)).values())


def test_a_key_of_opensearch_is_a_user_and_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_SEARCH_KEY", "CANARY-without-colon")
    with pytest.raises(InputError, match="user:password") as caught:
        retrieved(of_service(tmp_path, "opensearch", "http://127.0.0.1:9"))
    assert "CANARY" not in str(caught.value)


def test_scores_overrule_ranks_as_evaluation_tools_do(tmp_path: Path) -> None:
    def change(lines: list[str]) -> None:
        lines[:] = [re.sub(r"(doccanary2-\d) 3 \S+", r"\1 3 99", line) for line in lines]

    study = retrieved(replayed(tmp_path, change))
    assert all(found[0].startswith("doccanary2") for (_, state), found in ids(study).items() if state == "n3")


def test_every_fault_of_a_run_has_its_line(tmp_path: Path) -> None:
    def change(lines: list[str]) -> None:
        lines[0] = "q0 Q0 doccanary0-0 1 15"
        lines[3] = "q1 Q0 doccanary0-1 1 nan tag"
        lines[4] = "q1 Q0 doccanary1-2 first 14 tag"
        lines[6] = lines[6].replace("doccanary0-2", "nowhere")
        lines[9] = lines[9].replace("q3", "q99")
        lines[13] = lines[12]
        lines[15] = "q5 Q0 doccanary0-5 1 inf tag"
        lines[16] = "q5 Q0 doccanary1-6 1 1e9999 tag"
        lines[18] = "q6 Q0 doccanary0-6 -1 1 tag"

    with pytest.raises(InputError) as caught:
        stages.freeze(replayed(tmp_path, change), tmp_path / "study", CREATED)
    found = [(p.where, p.what) for p in caught.value.problems]
    assert found == [
        ("n3.run: line 1", "a line has another number of columns"),
        ("n3.run: line 4", "the score is not a finite number"),
        ("n3.run: line 5", "the rank is not a whole number"),
        ("n3.run: line 10", "the question is unknown"),
        ("n3.run: line 14", "a document is twice in one list"),
        ("n3.run: line 14", "a rank is twice in one list"),
        ("n3.run: line 16", "the score is not a finite number"),
        ("n3.run: line 17", "the score is not a finite number"),
        ("n3.run: line 17", "a rank is twice in one list"),
        ("n3.run: line 19", "the rank is not a whole number"),
        ("n3.run: line 7", "the document is unknown"),
    ]


def test_a_run_may_not_reach_beyond_its_state_nor_leave_a_question_out(tmp_path: Path) -> None:
    toml = replayed(tmp_path)
    lines = (tmp_path / "n1.run").read_text().replace("doccanary0-3", "doccanary1-3")
    (tmp_path / "n1.run").write_text(lines)
    with pytest.raises(InputError, match=r"unknown: expected one of the 1 shards of n1.*n1.run: line 4"):
        stages.freeze(toml, tmp_path / "study", CREATED)
    (tmp_path / "n1.run").write_text("q0 Q0 doccanary0-3 1 1 tag\n")
    with pytest.raises(InputError, match="selected questions have no list"):
        stages.freeze(toml, tmp_path / "study", CREATED)


def test_a_changed_run_is_refused(tmp_path: Path) -> None:
    toml = replayed(tmp_path)
    study = stages.freeze(toml, tmp_path / "study", CREATED)
    stages.select_questions(study, tmp_path, CREATED)
    with (tmp_path / "n3.run").open("a") as stream:
        stream.write("\n")
    with pytest.raises(InputError, match=r"differs from the frozen one.*n3\.run"):
        stages.retrieve_evidence(study, tmp_path, CREATED)


def test_the_deadline_is_of_the_wall_clock() -> None:
    calls = services.Calls("here", 2, 0.05, pause=lambda _: None)
    with pytest.raises(StorageError, match=r"no answer within 0\.05 s"):
        calls.call("q", lambda: __import__("time").sleep(1))
    assert calls.made == 2
