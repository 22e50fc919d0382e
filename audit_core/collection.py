"""protocol.toml: what a person writes before a study is collected, read with all its faults at once.

The file is turned into a `Protocol` (what every study has) and a `Collection` (how this one is collected). Both are
locked by ``freeze`` and never edited after it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from audit_core import policies, release
from audit_core.codec import CodecError, encode
from audit_core.errors import InputError, Problem
from audit_core.files import SETTINGS, whole
from audit_core.model import State
from audit_core.normalize import RULES
from audit_core.policies import PLAIN, Policy
from audit_core.prompts import ANSWER_PROMPTS
from audit_core.protocol import DECIMAL, KERNELS, STUDY_ID, Judge, Protocol, Rule, contradictions
from audit_core.release import ReleaseRule
from audit_core.rules.outcome import edited
from audit_core.rules.phrases import usable
from audit_core.sources import ENGINES, RETRIEVERS, VARIABLE, Parent, Search, columns, is_origin, search

GENERATORS = ("extractive", "embedded", "messages")
JUDGES = ("none", "lexical", "embedded", "messages", "openai")
EMBEDDED_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
SECOND = "second"
"""Name of the second judge."""
TRANSPORTS = ("calls", "batch")
"""One request a call, or Message Batches."""
JUDGE_TOKENS = 4096
"""Most tokens of a judge's reply where the protocol names no other number: labels of 28 answers fit."""

OWN = ("model", "max_tokens", "max_completion_tokens", "messages", "temperature", "stream", "tools")
"""Fields of a request that have their own place in the protocol, or none."""
BOUND = ("prompts", "models", "code", "control_packets")
"""What ``freeze`` adds to the stored collection: digests of prompts, facts of models and of this program, controls."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How an adapter is called.

    Attributes:
        adapter: One of `GENERATORS` or `JUDGES`.
        model: As the service names it; empty for an adapter without a model.
        base_url: Origin of the service; empty for an adapter on this machine.
        key_variable: Environment variable that holds the key; the key itself is never stored.
        max_tokens: Of each answer.
        seed: Of an adapter on this machine that draws.
        concurrency: Calls under way at once.
        tries: Attempts per cell before the run stops.
        deadline: Seconds for one call.
        temperature: Decimal text, sent as it is; empty leaves sampling to the service.
        input_price, output_price: Decimal text, per million tokens, in the currency of the bill; empty for unknown.
        transport: One of `TRANSPORTS`.
        batch_size: Most calls of one batch.
        rate: Most calls in a minute; 0 for no limit. Batches have none.
        parameters: Further fields of each request, such as ``output_config`` or ``thinking``, sent as they are.
    """

    adapter: str
    model: str = ""
    base_url: str = ""
    key_variable: str = "ANTHROPIC_API_KEY"
    max_tokens: int = 64
    seed: str = "1"
    concurrency: int = 1
    tries: int = 5
    deadline: int = 180
    temperature: str = ""
    input_price: str = ""
    output_price: str = ""
    transport: str = "calls"
    batch_size: int = 1000
    rate: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """How a study is collected.

    Attributes:
        questions: File of the whole population (JSONL, CSV or Parquet: question_id, question, tags).
        gold: File of accepted answers (question_id, aliases); empty for none. Opened after the judgments' gate.
        exclude: Ids that may not be selected.
        count: Questions to select.
        selection_seed: Of the hash order.
        shards: Files of the corpus (JSONL or Parquet: document_id, text, title, url, family), in the order in which
            states add them.
        reach: Shards accessible in each state, by state; 0 for none.
        retriever: One of `RETRIEVERS`.
        depth: Documents per question and state.
        characters: Most characters of a passage that are shown.
        repeats: Independent answers per question and state.
        generation, judging: Adapters.
        calls, tokens: Budget; 0 for no limit.
        exclude_file: File of further ids that may not be selected, one a line; empty for none.
        question_columns, gold_columns, corpus_columns: Names of columns, by role, where a file uses others.
        search: How a retriever outside the embedded one is reached.
        parent: The study that this one repeats; None for a study of its own.
        controls: Whether each judge gets control packets with known labels too.
        second: Adapter of a second judge; None for none. It labels after the judgments are locked.
        share: Of the questions that the second judge sees, decimal text.
        outcome_judge: Whether the first judge says too what those answers do that the outcome rule cannot read.
        aspects: Adapter that cuts questions into their parts; None where the rule ``aspects/1`` does.
        policies: Of the states that retrieve or answer otherwise than plainly, by state.
    """

    questions: str
    gold: str
    exclude: tuple[str, ...]
    count: int
    selection_seed: str
    shards: tuple[str, ...]
    reach: dict[str, int]
    retriever: str
    depth: int
    characters: int
    repeats: int
    generation: Calls
    judging: Calls
    calls: int
    tokens: int
    exclude_file: str = ""
    question_columns: dict[str, str] = field(default_factory=dict)
    gold_columns: dict[str, str] = field(default_factory=dict)
    corpus_columns: dict[str, str] = field(default_factory=dict)
    search: Search = field(default_factory=Search)
    parent: Parent | None = None
    controls: bool = False
    second: Calls | None = None
    share: str = "1"
    outcome_judge: bool = False
    aspects: Calls | None = None
    policies: dict[str, Policy] = field(default_factory=dict)

    def refusal(self, state: str) -> str:
        """Refusal rule of a state: a key of `prompts.ANSWER_PROMPTS`."""
        return self.policies.get(state, PLAIN).refusal


TEMPLATE = Path(__file__).with_name("protocol.template.toml").read_text("utf-8")


class _Reader:
    """Values of a TOML document by place, every fault collected."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.faults: list[Problem] = []
        self.known: dict[str, set[str]] = {}

    def fault(self, what: str, expected: str, found: object, where: str) -> None:
        self.faults.append(Problem(what, expected, str(found)[:80], where, "Correct protocol.toml."))

    def get(
        self, table: str, key: str, good: Callable[[Any], bool], expected: str, default: Any, *, need: bool = False
    ) -> Any:
        self.known.setdefault(table, set()).add(key)
        section = self.document.get(table, {})
        if not isinstance(section, dict):
            return default  # said once, by `leftovers`
        if key not in section:
            if need:
                self.fault(f"{key} is missing", expected, "nothing", f"[{table}]")
            return default
        value = section[key]
        if not good(value):
            self.fault(f"{key} is not what it must be", expected, _shown(key, value), f"[{table}]")
            return default
        return value

    def leftovers(self) -> None:
        for table, section in self.document.items():
            if table not in self.known:
                self.fault("there is a table too many", "one of " + ", ".join(self.known), table, f"[{table}]")
            elif isinstance(section, dict):
                for key in section.keys() - self.known[table]:
                    self.fault(
                        "there is a key too many", "one of " + ", ".join(sorted(self.known[table])), key, f"[{table}]"
                    )
            else:
                self.fault(f"{table} is not a table", "a table", repr(section), table)


def _shown(key: str, value: Any) -> str:
    """A value in a message; not where a key may stand in place of its variable, nor a number too long to write."""
    if key == "key_variable":
        return "another value, which is not shown: it may be the key itself"
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


def _text(value: Any) -> bool:
    return type(value) is str


def _variable(value: Any) -> bool:
    return type(value) is str and bool(VARIABLE.fullmatch(value))


def _margin(value: Any) -> bool:
    return type(value) is str and bool(DECIMAL.fullmatch(value)) and 0 <= Fraction(value) <= 1


def _name(value: Any) -> bool:
    return type(value) is str and value.strip() != ""


def _decimal(value: Any) -> bool:
    return type(value) is str and (value == "" or (bool(DECIMAL.fullmatch(value)) and Fraction(value) >= 0))


def _parameters(value: Any) -> bool:
    try:
        encode(value)
    except CodecError:
        return False
    return type(value) is dict and not value.keys() & set(OWN)


def _texts(value: Any) -> bool:
    return type(value) is list and all(map(_name, value))


def _whole(low: int, high: int = 10**9) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _one_of(words: tuple[str, ...]) -> Callable[[Any], bool]:
    return lambda value: value in words


def read_toml(path: Path) -> tuple[Protocol, Collection]:
    """Protocol and collection of a ``protocol.toml``.

    Raises:
        InputError: The file cannot be read, or anything in it is wrong; one message lists every fault.
    """
    reader = _Reader(_document(path))
    protocol, collection = _parse(reader)
    reader.leftovers()
    if not reader.faults and collection.parent is None:  # else the parent's states are needed first
        reader.faults += contradictions(protocol)
    if reader.faults:
        raise InputError(reader.faults)
    return protocol, collection


def judging_of(path: Path, questions: int, repeats: int) -> Collection:
    """How an imported study is judged: ``[judging]``, ``[outcomes]`` and ``[budget]`` of a TOML file, and nothing else.

    Args:
        path: The file.
        questions: Of the study.
        repeats: Most answers of a question in a state.

    Returns:
        A collection of which only judging and budget say anything.

    Raises:
        InputError: The file cannot be read, or anything in it is wrong; one message lists every fault.
    """
    reader = _Reader(_document(path))
    judging = _calls(reader, "judging", JUDGES[1:], most=JUDGE_TOKENS)
    found = Collection(
        questions="", gold="", exclude=(), count=questions, selection_seed="", shards=(), reach={}, retriever="none",
        depth=0, characters=0, repeats=repeats, generation=Calls("imported"), judging=judging,
        calls=reader.get("budget", "calls", _whole(0), "0 or more", 0),
        tokens=reader.get("budget", "tokens", _whole(0), "0 or more", 0),
        controls=reader.get("judging", "controls", lambda v: type(v) is bool, "true or false", False),
        outcome_judge=reader.get("outcomes", "judge", lambda v: type(v) is bool, "true or false", False),
    )  # fmt: skip
    if found.outcome_judge and judging.adapter == "lexical":
        reader.fault("outcomes need a judge that can be asked", "a model in [judging]", "lexical", "[outcomes]")
    reader.leftovers()
    if reader.faults:
        raise InputError(reader.faults)
    return found


def judge_words(collection: Collection) -> str:
    """The first judge in words, where nothing more is known of it."""
    return _words(collection.judging)


def _document(path: Path, what: str = "the protocol") -> dict[str, Any]:
    action = "Name the file; snapshot-audit init makes a protocol to start from."
    data = whole(path, SETTINGS, f"{what} as TOML", action)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # TOML's own errors, other bytes, numbers of thousands of digits
        raise InputError(
            Problem(f"{what} is not TOML", "valid TOML", str(error), str(path), "Correct the file.")
        ) from None


def _parse(reader: _Reader) -> tuple[Protocol, Collection]:
    get = reader.get
    parent = get("study", "parent", _text, "the folder of a study, or empty", "")
    if parent:
        _take_over(reader)
    states, reach, held = _ladder(reader)
    endpoints = get("ladder", "endpoints", lambda v: _texts(v) and len(v) == 2, "[old, new]", [])
    retriever = get("retrieval", "retriever", _one_of(RETRIEVERS), "one of " + ", ".join(RETRIEVERS), "fts5")
    depth = get("retrieval", "depth", _whole(1, 100), "1 to 100", 8)
    found = search(reader, retriever, reach)
    shards = _shards(reader, retriever, found, reach)
    policies.check(held, retriever, reader.fault)
    states = _settled(states, reach, found, held)
    if list(reach.values()) != sorted(reach.values()):
        reader.fault("the ladder is not nested", "shards that do not fall", list(reach.values()), "[ladder]")
    judging = _calls(reader, "judging", JUDGES, most=JUDGE_TOKENS)
    generation = _calls(reader, "generation", GENERATORS)
    second, share = _second(reader, judging.adapter)
    controls = get("judging", "controls", lambda v: type(v) is bool, "true or false", False)
    if controls and judging.adapter == "none":
        reader.fault("control packets need a judge", "an adapter in [judging]", "none", "[judging]")
    aspects = _calls(reader, "aspects", JUDGES[2:]) if "aspects" in reader.document else None
    reader.known.setdefault("aspects", set())
    outcome_judge = get("outcomes", "judge", lambda v: type(v) is bool, "true or false", False)
    if outcome_judge and judging.adapter in ("none", "lexical"):
        reader.fault("outcomes need a judge that can be asked", "a model in [judging]", judging.adapter, "[outcomes]")
    own, held_back, shipped = _outcome_texts(reader)
    rule = _decision(reader, judging.adapter)
    judges: tuple[Judge, ...] = (
        () if judging.adapter == "none" else (Judge("primary", "primary", True, _words(judging)),)
    )
    if second:
        sample = "" if Fraction(share) == 1 else f", on a hash sample of {share} of the questions"
        judges += (Judge(SECOND, "supplementary", True, _words(second) + sample),)
    protocol = Protocol(
        study_id=get("study", "id", lambda v: _text(v) and bool(STUDY_ID.fullmatch(v)),
                     "lower-case letters, digits, _ . -", "", need=True) or "study",
        title=get("study", "title", _name, "text", "", need=True), origin="collected", provenance="",
        generator=get("study", "generator", _name, "text", "", need=True),
        differs=get("study", "differs", _name, "text", _differs(states)), states=states,
        endpoints=(endpoints[0], endpoints[1]) if len(endpoints) == 2 else None,
        normalization=get("estimation", "normalization", _one_of(tuple(RULES)), ", ".join(RULES), "nq_open/1"),
        unknown_texts=tuple(get("estimation", "unknown", _texts, "a list of texts", ["UNKNOWN"])),
        retrieval_depth=depth, judges=judges,
        draws=get("estimation", "draws", _whole(1, 10_000_000), "1 to 10,000,000", 50_000),
        seed=get("estimation", "seed", _text, "text", "1"),
        level=get("estimation", "level", lambda v: _text(v) and bool(DECIMAL.fullmatch(v)) and 0 < Fraction(v) < 1,
                  "decimal text between 0 and 1", "0.95"),
        decision=rule, outcomes=edited(own, held_back, shipped=shipped),
        release=_release(reader, KERNELS[judging.adapter != "none"], rule),
    )  # fmt: skip
    collection = Collection(
        questions=get("questions", "file", _name, "a file", "", need=True),
        gold=get("gold", "file", _text, "a file, or empty", ""),
        exclude=tuple(get("questions", "exclude", _texts, "a list of ids", [])),
        count=get("questions", "count", _whole(1), "1 or more", 1, need=True),
        selection_seed=get("questions", "seed", _text, "text", "1"), shards=tuple(shards), reach=reach,
        retriever=retriever, depth=depth,
        characters=get("retrieval", "characters", _whole(20, 100_000), "20 to 100,000", 1200),
        repeats=get("generation", "repeats", _whole(2, 100), "2 to 100", 2), generation=generation, judging=judging,
        calls=get("budget", "calls", _whole(0), "0 or more", 0),
        tokens=get("budget", "tokens", _whole(0), "0 or more", 0),
        exclude_file=get("questions", "exclude_file", _text, "a file, or empty", ""),
        question_columns=columns(reader, "questions"), gold_columns=columns(reader, "gold"),
        corpus_columns=columns(reader, "corpus"), search=found, parent=Parent(parent) if parent else None,
        controls=controls,
        second=second, share=share, outcome_judge=outcome_judge, aspects=aspects,
        policies=held,
    )  # fmt: skip
    if protocol.release and protocol.release.em_loss and not (collection.gold or parent):
        reader.fault("em_loss needs gold", "a file in [gold]", "none", "[release]")
    return protocol, collection


def _take_over(reader: _Reader) -> None:
    """Put nothing in the place of what the parent decides; a table that tries to decide it is a fault."""
    states = [{"name": name, "shards": 0} for name in "ab"]
    for table, empty in {
        "ladder": {"states": states}, "questions": {"file": "parent", "count": 1}, "gold": {},
        "corpus": {"shards": []}, "retrieval": {},
    }.items():  # fmt: skip
        if table in reader.document:
            reader.fault("the table is taken from the parent", "no such table beside parent", table, f"[{table}]")
        reader.document[table] = empty


def _shards(reader: _Reader, retriever: str, found: Search, reach: dict[str, int]) -> list[str]:
    """Files of the corpus, where the retriever reads any; no state reaches more than there are."""
    local = retriever in ("fts5", "replay")
    shards: list[str] = reader.get("corpus", "shards", _texts, "a list of files", [], need=local)
    if len(set(shards)) != len(shards):
        reader.fault("a shard is named twice", "different files", ", ".join(shards), "[corpus]")
    if shards and not local:
        reader.fault("a service holds the corpus", "no shards here", ", ".join(shards), "[corpus]")
    most = len(found.indices) if retriever in ENGINES else len(shards)
    for name, count in reach.items():
        if count > most and retriever != "deepresearchgym":
            reader.fault(f"the state {name} reaches more shards than there are", f"at most {most}", count, "[ladder]")
    return shards


def _ladder(reader: _Reader) -> tuple[tuple[State, ...], dict[str, int], dict[str, Policy]]:
    found = reader.get(
        "ladder", "states", lambda v: type(v) is list and len(v) > 1, "a list of two states or more", [], need=True
    )
    states, reach, held = [], {}, {}
    for number, item in enumerate(found, 1):
        where = f"[ladder] state {number}"
        if not isinstance(item, dict) or item.keys() - {"name", "label", "shards", *policies.KEYS}:
            expected = ", ".join(("name", "label", "shards", *policies.KEYS))
            reader.fault("a state is not what it must be", expected, repr(item), where)
            continue
        name, shards = item.get("name"), item.get("shards")
        if not _name(name) or not re.fullmatch(r"[ -~]{1,200}", str(name)):
            reader.fault("a state needs a name", "1 to 200 printable ASCII characters", repr(name), where)
        elif not _text(item.get("label", "")):
            reader.fault("a label is not what it must be", "text", repr(item["label"]), where)
        elif not _whole(0)(shards):
            reader.fault("a state needs its number of shards", "0 or more", repr(shards), where)
        else:
            states.append(State(str(name), str(item.get("label", "")), shards == 0))
            reach[str(name)] = int(shards or 0)
            rules = [rule for rule in ANSWER_PROMPTS if rule]
            if (policy := policies.read(item, rules, where, reader.fault)) != PLAIN:
                held[str(name)] = policy
    return tuple(states), reach, held


def _settled(
    states: tuple[State, ...], reach: dict[str, int], found: Search, held: dict[str, Policy]
) -> tuple[State, ...]:
    """The states with what is set in each of them, in words; a snapshot is one thing, however it is reached."""
    snapshots = {
        name: ", ".join(filter(None, (
            f"{count} shard{'s' * (count > 1)}" if count else "none", found.runs.get(name), found.addresses.get(name)
        ))) for name, count in reach.items()
    }  # fmt: skip
    settings = policies.settings(snapshots, held)
    return tuple(replace(state, settings=settings[state.name]) for state in states)


def _differs(states: tuple[State, ...]) -> str:
    """What differs between the states, where the protocol does not say."""
    names = policies.different(state.settings for state in states)
    return "the index snapshot" if names in ([], [policies.SNAPSHOT]) else ", ".join(names)


def _outcome_texts(reader: _Reader) -> tuple[list[str], list[str], bool]:
    """Texts of refusals and of gaps that the study names, and whether the shipped ones count too."""

    def good(value: Any) -> bool:
        return _texts(value) and all(map(usable, value))

    expected = "a list of texts, each with a word"
    return (
        reader.get("outcomes", "refusals", good, expected, []),
        reader.get("outcomes", "gaps", good, expected, []),
        reader.get("outcomes", "shipped", lambda v: type(v) is bool, "true or false", True),
    )


def _words(calls: Calls) -> str:
    return f"{calls.adapter} {calls.model}".strip()


def _second(reader: _Reader, first: str) -> tuple[Calls | None, str]:
    """A second judge and its share of the questions, where the protocol names one."""
    if "second_judge" not in reader.document:
        reader.known["second_judge"] = set()
        return None, "1"
    share = reader.get("second_judge", "share", _share, 'decimal text above 0, at most "1"', "1")
    if first == "none":
        reader.fault("a second judge needs a first", "an adapter in [judging]", "none", "[second_judge]")
    return _calls(reader, "second_judge", JUDGES[1:], most=JUDGE_TOKENS), share


def _share(value: Any) -> bool:
    return type(value) is str and bool(DECIMAL.fullmatch(value)) and 0 < Fraction(value) <= 1


def _calls(reader: _Reader, table: str, adapters: tuple[str, ...], most: int = 64) -> Calls:
    get, base = reader.get, Calls("", max_tokens=most)
    adapter = get(table, "adapter", _one_of(adapters), "one of " + ", ".join(adapters), adapters[0], need=True)
    url = get(table, "base_url", _text, "text", "")
    model = get(table, "model", _text, "text", "")
    if adapter == "embedded" and not model:
        model = EMBEDDED_MODEL
    if adapter in ("messages", "openai"):
        if not is_origin(url):
            reader.fault("base_url is not an address", "https://HOST", repr(url), f"[{table}]")
        if not model.strip() or not model.isprintable():
            reader.fault("model is missing", "the service's name of a model", repr(model), f"[{table}]")

    def decimal(name: str) -> str:
        return str(get(table, name, _decimal, 'decimal text like "0.8"', ""))

    transport = get(table, "transport", _one_of(TRANSPORTS), "one of " + ", ".join(TRANSPORTS), base.transport)
    if transport == "batch" and adapter != "messages":
        reader.fault("only a service takes batches", 'the adapter "messages"', adapter, f"[{table}]")
    return Calls(
        adapter, model, url,
        get(table, "key_variable", _variable, "the name of an environment variable",
            "OPENAI_API_KEY" if adapter == "openai" else base.key_variable),
        get(table, "max_tokens", _whole(1, 20_000), "1 to 20,000", base.max_tokens),
        get(table, "seed", _text, "text", base.seed),
        get(table, "concurrency", _whole(1, 64), "1 to 64", base.concurrency),
        get(table, "tries", _whole(1, 100), "1 to 100", base.tries),
        get(table, "deadline", _whole(1, 3600), "1 to 3,600", base.deadline),
        decimal("temperature"), decimal("input_price"), decimal("output_price"),
        transport=transport, batch_size=get(table, "batch_size", _whole(1, 100_000), "1 to 100,000", base.batch_size),
        rate=get(table, "rate", _whole(0, 1_000_000), "0 or more", base.rate),
        parameters=get(table, "parameters", _parameters, f"a table without floats and without {', '.join(OWN)}", {}),
    )  # fmt: skip


def _decision(reader: _Reader, judge: str) -> Rule | None:
    if "decision" not in reader.document:
        return None
    margin = reader.get("decision", "margin", _margin, "decimal text from 0 to 1", "0.03")
    kernels = reader.get(
        "decision", "lower_above_zero", lambda v: _texts(v) and set(v) <= set(KERNELS), "a list of exact, semantic", []
    )
    if judge == "none" and "semantic" in kernels:
        reader.fault(
            "the decision needs semantic labels", "a judge, or exact alone", "judging adapter none", "[decision]"
        )
        return None
    return Rule(margin, tuple(kernels))


def _release(reader: _Reader, kernel: str, decision: Rule | None) -> ReleaseRule | None:
    if "release" not in reader.document:
        return None
    table = reader.document["release"]
    reader.known["release"] = set(table) if isinstance(table, dict) else set()  # its own reader knows its keys
    return release.read(table, kernel, decision.margin if decision else None, reader.fault)


def release_of(path: Path, protocol: Protocol) -> ReleaseRule:
    """The release rule of a TOML file that holds ``[release]`` and nothing else, for a study that exists.

    Args:
        path: The file.
        protocol: Of the study; its kernel and margin stand where the file names none.

    Raises:
        InputError: The file cannot be read, or anything in it is wrong or does not fit the study.
    """
    reader = _Reader(_document(path, "the rule"))
    reader.document.setdefault("release", {})
    found = _release(reader, protocol.main_kernel, protocol.decision)
    reader.leftovers()
    if not reader.faults:
        reader.faults += contradictions(replace(protocol, release=found))
    if reader.faults or found is None:
        raise InputError(
            [replace(fault, where=f"{path} {fault.where}", action="Correct the file of the rule.")
             for fault in reader.faults]
        )  # fmt: skip
    return found


def to_record(collection: Collection) -> dict[str, Any]:
    """The collection as it is stored in ``protocol/collection.json``."""
    record: dict[str, Any] = _listed(asdict(collection))
    return {"v": 1, "kind": "audit.collection", **record}


def _listed(value: Any) -> Any:
    """A value with lists in place of tuples: canonical JSON knows no tuples."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return list(map(_listed, value)) if isinstance(value, (tuple, list)) else value


def _search(fields: dict[str, Any]) -> Search:
    return Search(**{**fields, "indices": tuple(fields["indices"])})


def from_record(record: dict[str, Any]) -> Collection:
    """A collection from its stored form.

    Raises:
        InputError: It is not one.
    """
    fields = {key: value for key, value in record.items() if key not in ("v", "kind", *BOUND)}
    try:
        if record["v"] != 1 or record["kind"] != "audit.collection":
            raise ValueError("another kind of record")
        return Collection(
            **{
                **fields,
                "exclude": tuple(fields["exclude"]),
                "shards": tuple(fields["shards"]),
                "generation": Calls(**fields["generation"]),
                "judging": Calls(**fields["judging"]),
                **{name: Calls(**fields[name]) for name in ("second", "aspects") if fields.get(name)},
                **({"search": _search(fields["search"])} if "search" in fields else {}),
                "policies": {state: Policy(**policy) for state, policy in fields.get("policies", {}).items()},
                **({"parent": Parent(**fields["parent"])} if fields.get("parent") else {}),
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            Problem(
                "the collection's settings cannot be read",
                "protocol/collection.json",
                str(error),
                action="Restore the file from a copy.",
            )
        ) from None
