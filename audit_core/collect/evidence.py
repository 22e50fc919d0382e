"""Evidence of a study: two retrieval passes that share nothing, compared in ids, order and rendered bytes.

What was not shown although it is of a shown passage's family is kept beside it, and compared as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from audit_core.adapters import deepresearch, fts, opensearch, trec
from audit_core.adapters.hits import Hit, Lists, Relative
from audit_core.adapters.services import Calls
from audit_core.collect import inputs
from audit_core.collection import Collection
from audit_core.digests import sha256
from audit_core.errors import Problem, StorageError
from audit_core.model import Document, Evidence, Sibling, Siblings
from audit_core.prompts import rendered
from audit_core.sources import ENGINES

Key = tuple[str, str]
Progress = Callable[[str, int, int], None]
PAUSE: Callable[[float], None] = time.sleep
"""Waits between the tries of a call."""


@dataclass
class Pass:
    """One retrieval pass.

    Attributes:
        lists: Evidence by question and state.
        siblings: Passages of the same families that were not shown, where there are any.
        texts: Rendered passages by digest.
        calls: Made to a service.
    """

    lists: dict[Key, Evidence] = field(default_factory=dict)
    siblings: dict[Key, Siblings] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    calls: int = 0


def retrieve(
    base: Path,
    collection: Collection,
    questions: Sequence[tuple[str, str]],
    progress: Progress,
    cut: Mapping[str, Sequence[str]] | None = None,
) -> list[Pass]:
    """Two passes, each from an empty index or with calls of its own.

    Args:
        base: Folder of the protocol's files.
        collection: How evidence is retrieved.
        questions: (question id, text).
        progress: Called with what, done, total.
        cut: Parts of questions by id, where a model or their author has cut them.

    Raises:
        StorageError: The passes differ, question by question; or a service gives no evidence.
    """
    states = sum(count > 0 for count in collection.reach.values())
    passes = []
    for number in (1, 2):
        made, settings = Pass(), collection.search
        calls = Calls(settings.base_url or collection.retriever, settings.tries, settings.deadline, PAUSE)
        for question_id, state, hits, relatives in _lists(base, collection, questions, calls, cut or {}):
            documents = tuple(
                _document(hit, rank, collection.characters, made.texts) for rank, hit in enumerate(hits, 1)
            )
            made.lists[question_id, state] = Evidence(question_id, state, documents)
            if relatives:
                siblings = tuple(_sibling(relative, collection.characters, made.texts) for relative in relatives)
                made.siblings[question_id, state] = Siblings(question_id, state, siblings)
            progress(f"retrieval pass {number}", len(made.lists), len(questions) * states)
        made.calls = calls.made
        passes.append(made)
    faults = differences(*passes)
    if faults:
        raise StorageError(faults)
    return passes


def _lists(
    base: Path,
    collection: Collection,
    questions: Sequence[tuple[str, str]],
    calls: Calls,
    cut: Mapping[str, Sequence[str]],
) -> Lists:
    kind, search, reach, depth = collection.retriever, collection.search, collection.reach, collection.depth
    if kind in ENGINES:
        return opensearch.retrieve(kind, search, reach, questions, depth, calls)
    if kind == "deepresearchgym":
        return deepresearch.retrieve(search, reach, questions, depth, calls)
    shards = [inputs.shard(base / name, collection.corpus_columns) for name in collection.shards]
    if kind == "replay":
        runs = {state: base / name for state, name in search.runs.items()}
        return trec.replay(runs, shards, reach, questions, depth, collection.policies)
    return fts.retrieve(shards, reach, questions, depth, collection.policies, cut)


def _document(hit: Hit, rank: int, characters: int, texts: dict[str, str]) -> Document:
    digest = _kept(hit, characters, texts)
    return Document(hit.passage.document_id, rank, hit.score, hit.passage.title, digest, hit.passage.family)


def _sibling(relative: Relative, characters: int, texts: dict[str, str]) -> Sibling:
    passage, score = relative.hit.passage, relative.hit.score
    digest = _kept(relative.hit, characters, texts)
    return Sibling(passage.document_id, passage.family, relative.of, relative.rank, score, passage.title, digest)


def _kept(hit: Hit, characters: int, texts: dict[str, str]) -> str:
    text = rendered(hit.passage, characters)
    digest = sha256(text.encode())
    texts[digest] = text
    return digest


def differences(first: Pass, second: Pass) -> list[Problem]:
    """Where two passes differ: each list once, with the first rank that differs and what differs there."""
    faults = []
    action = "Nothing was locked: the retriever is not repeatable; correct it first."
    for key, one in first.lists.items():
        other = second.lists[key]
        if one == other:
            continue
        pairs = list(zip(one.documents, other.documents, strict=False))
        rank = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
        expected, found = (_told(made, evidence, rank) for made, evidence in ((first, one), (second, other)))
        if rank < len(pairs) and pairs[rank][0].document_id == pairs[rank][1].document_id:
            expected, found = _parted(*pairs[rank], first.texts, second.texts)
        faults.append(Problem("the two retrieval passes differ", expected, found,
                              f"question {key[0]}, state {key[1]}, rank {rank + 1}", action))  # fmt: skip
    for key in first.lists:
        if (mine := first.siblings.get(key)) != (other_siblings := second.siblings.get(key)):
            expected, found = (", ".join(d.document_id for d in s.documents) if s else "none"
                               for s in (mine, other_siblings))  # fmt: skip
            faults.append(Problem("the two retrieval passes differ in what is not shown", expected, found,
                                  f"question {key[0]}, state {key[1]}", action))  # fmt: skip
    return faults


def _told(made: Pass, evidence: Evidence, rank: int) -> str:
    return repr(evidence.documents[rank].document_id) if rank < len(evidence.documents) else "the end of the list"


def _parted(one: Document, other: Document, texts: dict[str, str], others: dict[str, str]) -> tuple[str, str]:
    """What differs between two equal ids: the rendered text from the first place on, or a field beside it."""
    left, right = texts[str(one.passage)], others[str(other.passage)]
    if left != right:
        shared = zip(left, right, strict=False)
        place = next((i for i, (a, b) in enumerate(shared) if a != b), min(len(left), len(right)))
        head = f"{one.document_id!r} with "
        return tuple(f"{head if text is left else ''}{text[place : place + 30]!r} at character {place + 1}"
                     for text in (left, right))  # type: ignore[return-value]  # fmt: skip
    for name in ("score", "title", "family"):
        if (a := getattr(one, name)) != (b := getattr(other, name)):
            return f"{one.document_id!r} with the {name} {a!r}", repr(b)
    return repr(one), repr(other)
