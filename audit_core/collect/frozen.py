"""All that a protocol names, read at freeze with every fault at once, and held to its digests ever after."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from audit_core.adapters.trec import check_runs
from audit_core.collect import inputs
from audit_core.collect.tables import ACTION
from audit_core.collection import Collection
from audit_core.digests import sha256_file
from audit_core.errors import InputError, Problem
from audit_core.model import Gold, Question
from audit_core.protocol import Protocol, Source
from audit_core.selection import select
from audit_core.study import Study


class Together:
    """Reads several inputs and raises all their faults as one error."""

    def __init__(self) -> None:
        self.faults: list[Problem] = []

    @contextlib.contextmanager
    def part(self) -> Iterator[None]:
        """Collect the faults of one input."""
        try:
            yield
        except InputError as error:
            self.faults += error.problems

    def finish(self) -> None:
        """End the reading.

        Raises:
            InputError: With the faults of all parts.
        """
        if self.faults:
            raise InputError(self.faults)


def source(base: Path, name: str) -> Source:
    """Name, digest and size of an input."""
    path = base / name
    return Source(name, sha256_file(path), path.stat().st_size)


def check_unchanged(base: Path, protocol: Protocol, names: Iterable[str]) -> None:
    """Refuse an input that is not the one that was frozen.

    Raises:
        InputError: A file is missing or differs; one message lists them all.
    """
    known = {item.name: item for item in protocol.sources}
    faults = []
    for name in names:
        path = base / name
        if not path.is_file():
            faults.append(Problem("an input of the protocol is missing", name, "no such file", str(path),
                                  "Put it back, or name its folder with --inputs."))  # fmt: skip
        elif (found := sha256_file(path)) != known[name].sha256:
            faults.append(Problem("an input differs from the frozen one", f"sha256 {known[name].sha256[:12]}…",
                                  f"{found[:12]}…", str(path), "Restore it, or freeze a new protocol."))  # fmt: skip
    if faults:
        raise InputError(faults)


def check_locked(study: Study) -> None:
    """Refuse a study of which a locked file is not the locked one, before anything is asked or opened.

    Raises:
        InputError: A file is missing or differs; one message lists them all.
    """
    faults = []
    for lock in study.chain:
        for member, entry in lock.files.items():
            path = study.path / member
            found = sha256_file(path) if path.is_file() else ""
            if found != entry.sha256:
                faults.append(Problem("a locked file is not the locked one", f"sha256 {entry.sha256[:12]}…",
                                      f"{found[:12]}…" if found else "no such file", member,
                                      "Restore the study from a copy; nothing was asked."))  # fmt: skip
    if faults:
        raise InputError(faults)


def public_files(collection: Collection) -> list[str]:
    """Names of all inputs but the gold; their digests stand in the protocol."""
    names = [collection.questions, collection.exclude_file, *collection.shards, *collection.search.runs.values()]
    return [name for name in dict.fromkeys(names) if name]


def limits(collection: Collection) -> tuple[str, ...]:
    """What the choice of inputs takes from the study's proof, in sentences."""
    if collection.gold and collection.gold == collection.questions:
        return (
            "Questions and gold stand in one file, which had to be there while answers were drawn: "
            "the gold was sealed, but not out of reach.",
        )
    return ()


def chosen(base: Path, collection: Collection) -> list[Question]:
    """The selected questions, in the order of their hashes."""
    population = {q.question_id: q for q in inputs.questions(base / collection.questions, collection.question_columns)}
    left_out = set(collection.exclude)
    if unknown := sorted(left_out - population.keys()):
        raise InputError(Problem("excluded ids name no question", f"ids of {collection.questions}",
                                 ", ".join(unknown)[:80], "[questions] exclude",
                                 "Correct them; an exclude_file may hold ids of other files too."))  # fmt: skip
    if collection.exclude_file:
        left_out |= set(inputs.exclusions(base / collection.exclude_file))
    return [population[key] for key in select(population, collection.selection_seed, collection.count, left_out)]


def read_all(base: Path, collection: Collection) -> tuple[list[Question], list[Gold] | None]:
    """Read every input of a protocol once.

    Returns:
        The selected questions, and their gold where the protocol names any.

    Raises:
        InputError: Anything is wrong in any of them; one message lists every fault.
    """
    together = Together()
    for name in [*public_files(collection), *filter(None, [collection.gold])]:
        if not (base / name).is_file():
            together.faults.append(Problem("an input of the protocol is missing", "a file", "no such file",
                                           str(base / name), "Correct the path in protocol.toml."))  # fmt: skip
    together.finish()
    questions: list[Question] = []
    gold: list[Gold] | None = None
    with together.part():
        questions = chosen(base, collection)
    if collection.gold:
        with together.part():
            gold = inputs.gold(base / collection.gold, [q.question_id for q in questions], collection.gold_columns)
    shard_of: dict[str, int] = {}
    with together.part():
        shard_of = check_corpus(base, collection.shards, collection.corpus_columns)
    if collection.search.runs and questions and shard_of:
        runs = {state: base / name for state, name in collection.search.runs.items()}
        population = {q.question_id for q in inputs.questions(base / collection.questions, collection.question_columns)}
        with together.part():
            check_runs(runs, collection.reach, population, [q.question_id for q in questions], shard_of)
    together.finish()
    return questions, gold


def check_corpus(base: Path, names: Iterable[str], named: Mapping[str, str]) -> dict[str, int]:
    """Read every shard of a corpus.

    Returns:
        The first shard, from 0, that holds each document.

    Raises:
        InputError: A record is not a passage, or one id stands for two texts; the faults of all shards are listed.
    """
    together = Together()
    held: dict[str, bytes] = {}
    shard_of: dict[str, int] = {}
    for number, name in enumerate(names):
        with together.part():
            empty = True
            for passage in inputs.shard(base / name, named):
                empty = False
                digest = hashlib.sha256(passage.text.encode()).digest()[:16]
                shard_of.setdefault(passage.document_id, number)
                if held.setdefault(passage.document_id, digest) != digest:
                    together.faults.append(Problem("one document id stands for two texts", "one text an id",
                                                   passage.document_id[:60], f"{name} and an earlier shard",
                                                   ACTION))  # fmt: skip
            if empty:
                together.faults.append(Problem("a shard holds no passage", "one or more", "none", name, ACTION))
    together.finish()
    return shard_of
