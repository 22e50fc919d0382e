"""The stages of a study, each behind its gate: freeze, select, retrieve twice, answer, judge, unlock gold."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from audit_core import codec, locks, parts
from audit_core.adapters import controls
from audit_core.adapters.instructions import flag_counts, flags
from audit_core.calls import cells_of, planned
from audit_core.collect import evidence, frozen, inputs, replication
from audit_core.collect.attempts import Attempts
from audit_core.collect.caller import call_all, new_run
from audit_core.collect.facts import code_facts, described, model_facts, prompt_facts
from audit_core.collect.judging import Asked, Caller, asked
from audit_core.collect.progress import Progress, facts
from audit_core.collect.senders import sender
from audit_core.collection import SECOND, Collection, from_record, read_toml, to_record
from audit_core.errors import GateError, InputError, Problem, StorageError
from audit_core.model import Evidence, Siblings
from audit_core.prompts import aspect_prompt
from audit_core.protocol import Protocol, attributions
from audit_core.schedule import in_order
from audit_core.study import (
    ATTEMPTS,
    AUDIT,
    CELLS,
    COLLECTION,
    FLAGS,
    GOLD,
    LATER,
    NONCE,
    PARTING,
    PASSAGES,
    PRIMARY,
    QUESTIONS,
    SIBLINGS,
    Study,
    attempts_of,
    begin_study,
    close_gate,
    gold_seal,
)
from audit_core.study.passages import Passages
from audit_core.tally import Slots

Quiet: Progress = lambda _what, _done, _total: None  # noqa: E731


def nonce_file(base: Path, protocol: Protocol) -> Path:
    """Where the secret of sealed gold is kept: beside the gold, outside the study; each seal has its own."""
    return base / f"{protocol.study_id}-{str(protocol.gold_commit)[:12]}.gold-nonce"


def _keep_nonce(secret: Path, nonce: bytes) -> None:
    try:
        with secret.open("xb") as stream:
            secret.chmod(0o600)
            stream.write(nonce)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StorageError(
            Problem(
                "the nonce of the gold cannot be kept",
                "a writable folder",
                str(error),
                str(secret),
                "Correct the rights, and freeze again; no study was made.",
            )
        ) from error


def freeze(
    toml: Path, path: Path, created: str, *, model_path: Path | None = None, progress: Progress = Quiet
) -> Study:
    """Validate a protocol with everything it names, note the facts of its models, and lock it as a new study.

    Gold is sealed with a secret nonce that stays beside protocol.toml, outside the study.

    Args:
        toml: The protocol.
        path: Of the new study.
        created: Time, informational.
        model_path: Weights of an embedded model in place of the ones of ``[local]``.
        progress: Called with what, done, total.

    Raises:
        InputError: Anything is wrong; one message lists every fault of the protocol, or of the inputs.
    """
    protocol, collection = read_toml(toml)
    base = toml.parent
    nonce = None
    if collection.parent:
        protocol, collection = replication.adopt(base, protocol, collection)
    else:
        _, gold = frozen.read_all(base, collection)
        sources = tuple(frozen.source(base, name) for name in frozen.public_files(collection))
        protocol = replace(protocol, sources=sources, limits=protocol.limits + frozen.limits(collection))
        if gold is not None:
            nonce = secrets.token_bytes(32)
            protocol = replace(protocol, gold_commit=gold_seal(nonce, map(codec.from_gold, gold)))
    protocol = replace(protocol, judges=described(protocol.judges, collection))
    record = {
        **to_record(collection),
        "prompts": prompt_facts(collection),
        "models": {
            "generation": model_facts(collection.generation, model_path, progress),
            "judging": model_facts(collection.judging, model_path, progress),
            **({"second": model_facts(collection.second, model_path, progress)} if collection.second else {}),
            **({"aspects": model_facts(collection.aspects, model_path, progress)} if collection.aspects else {}),
        },
        "code": code_facts(),
        **({"control_packets": controls.shipped()} if collection.controls else {}),
    }
    if nonce is not None:
        _keep_nonce(nonce_file(base, protocol), nonce)
    try:
        return begin_study(path, protocol, {COLLECTION: codec.encode(record) + b"\n"}, created)
    except BaseException:
        if nonce is not None:
            nonce_file(base, protocol).unlink(missing_ok=True)
        raise


def collection_of(study: Study) -> Collection:
    """How a frozen study is collected; see `frozen_of`."""
    return frozen_of(study)[0]


def frozen_of(study: Study) -> tuple[Collection, dict[str, Any]]:
    """How a frozen study is collected, and the facts of its models by stage.

    Raises:
        GateError: The study was not frozen here, or its prompts are not this version's.
    """
    if not study.has(COLLECTION):
        raise GateError(
            Problem(
                "this study was not made by freeze",
                COLLECTION,
                "no such file",
                str(study.path),
                "Only a study with a frozen collection can be collected.",
            )
        )
    record: dict[str, Any] = codec.decode((study.path / COLLECTION).read_bytes().removesuffix(b"\n"))
    prompts = record.pop("prompts", None)
    collection = from_record(record)
    if prompts != prompt_facts(collection):
        raise GateError(
            Problem(
                "the prompts or the offline judge are not the frozen ones",
                "the version that froze the study",
                "others",
                COLLECTION,
                "Go on with the version of snapshot-audit that froze it.",
            )
        )
    return collection, record.get("models", {})


def select_questions(
    study: Study,
    base: Path,
    created: str,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
    model_path: Path | None = None,
) -> None:
    """Close the selection: the first questions in hash order, cut into parts where the protocol names who does it."""
    collection, models = frozen_of(study)
    if collection.parent:
        records = list(replication.questions(replication.open_parent(base, collection)))
    else:
        names = filter(None, (collection.questions, collection.exclude_file))
        frozen.check_unchanged(base, study.protocol, names)
        questions = frozen.chosen(base, collection)
        if collection.aspects is not None:
            budget = (collection.calls, collection.tokens)
            with (
                closing(sender(collection.aspects, models.get("aspects", {}), model_path, progress)) as adapter,
                Caller(study, collection.aspects, adapter, budget, progress, pause).drawn(
                    PARTING, lambda: parts.packets(questions), aspect_prompt) as replies,
            ):  # fmt: skip
                questions = list(parts.cut(questions, replies))
        records = list(map(codec.from_question, questions))
    counts = {"questions": len(records)}
    present = [PARTING] if collection.aspects is not None and not collection.parent else []
    if present:
        counts["cut"] = sum("parts" in record for record in records)
    close_gate(study, "selection", {QUESTIONS: records}, counts, present=present, created=created)


def retrieve_evidence(study: Study, base: Path, created: str, progress: Progress = Quiet) -> None:
    """Close the retrieval: two passes from separate empty indexes, equal in ids, order and rendered bytes.

    Raises:
        StorageError: The passes differ; the questions are listed and nothing is locked.
    """
    study.need("selection")
    collection = collection_of(study)
    if collection.parent:
        parent = replication.open_parent(base, collection)
        theirs = parent.chain[locks.GATES.index("retrieval")].counts
        counts = {name: value for name, value in theirs.items() if name != "calls"}
        close_gate(study, "retrieval", replication.evidence(parent), counts, created=created)
        return
    frozen.check_unchanged(base, study.protocol, [*collection.shards, *collection.search.runs.values()])
    questions = list(study.questions())
    asked = [(q.question_id, q.text or "") for q in questions]
    cut = {q.question_id: q.parts for q in questions if q.parts}
    passes = evidence.retrieve(base, collection, asked, progress, cut)
    place = {question_id: i for i, (question_id, _) in enumerate(asked)}
    ladder = {s.name: i for i, s in enumerate(study.protocol.states)}

    def position(item: Evidence | Siblings) -> tuple[int, int]:
        return place[item.question_id], ladder[item.state]

    first, second = (sorted(made.lists.values(), key=position) for made in passes)
    siblings = sorted(passes[0].siblings.values(), key=position)
    texts, calls = passes[0].texts, sum(made.calls for made in passes)
    counts = {"evidence": len(first), "passages": len(texts)}
    counts |= {name: value for name, value in (("siblings", len(siblings)), ("calls", calls)) if value}
    close_gate(study, "retrieval", {
        PRIMARY: map(codec.from_evidence, first), AUDIT: map(codec.from_evidence, second),
        PASSAGES: ({"sha256": key, "text": text} for key, text in sorted(texts.items())),
        **({SIBLINGS: map(codec.from_siblings, siblings)} if siblings else {}),
    }, counts, created=created)  # fmt: skip


def answer_questions(
    study: Study,
    created: str,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
    model_path: Path | None = None,
) -> None:
    """Draw every answer, then close the answers; resumes where an earlier run stopped."""
    study.need("retrieval")
    collection, models = frozen_of(study)
    ids = [q.question_id for q in study.questions()]
    states = [s.name for s in study.protocol.states]
    slots = Slots(ids, states, collection.repeats)
    with (
        closing(sender(collection.generation, models.get("generation", {}), model_path, progress)) as adapter,
        closing(Passages(study)) as passages,
        Attempts(study.path / ATTEMPTS, study.chain[-1].sha256, new_run(), slots) as attempts,
    ):
        call_all(
            planned(study, collection, passages),
            attempts,
            adapter,
            collection.generation,
            budget=(collection.calls, collection.tokens),
            progress=progress,
            pause=pause,
        )
        cells = cells_of(in_order(ids, states, collection.repeats), attempts.tally)
        close_gate(
            study,
            "answers",
            {CELLS: map(codec.from_cell, cells)},
            {"accepted": attempts.tally.done, "errors": 0, "attempts": attempts.calls, **attempts.tally.redrawn},
            present=[ATTEMPTS],
            created=created,
        )


def judge_answers(
    study: Study,
    created: str,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
    model_path: Path | None = None,
) -> None:
    """Label every pair blind, then close the judgments; a study without a judge closes them empty."""
    study.need("answers")
    collection, models = frozen_of(study)
    judge = study.protocol.primary_judge
    if judge is None:
        close_gate(
            study,
            "judgments",
            {},
            {"labels": 0, "attempts": 0},
            created=created,
            note="No judge labelled the answers; only the exact kernel is available.",
        )
        return
    budget = (collection.calls, collection.tokens)
    with (
        closing(sender(collection.judging, models.get("judging", {}), model_path, progress)) as adapter,
        asked(Caller(study, collection.judging, adapter, budget, progress, pause), judge.name, controls.of(study),
              outcomes=collection.outcome_judge) as done,
    ):
        found = list(flags(study))
        ledgers = {**done.ledgers, **({FLAGS: found} if found else {})}
        counts = {**done.counts, **flag_counts(found)}
        close_gate(study, "judgments", ledgers, counts, present=done.present, created=created)


@contextmanager
def _second_judge(
    study: Study, progress: Progress, pause: Callable[[float], None] | None, model_path: Path | None
) -> Iterator[Asked]:
    """What the second judge says, where the protocol names one; it sees nothing of the first one's labels."""
    collection, models = frozen_of(study)
    judge = next((j for j in study.protocol.judges if j.role == "supplementary"), None)
    if collection.second is None or judge is None:
        yield Asked({}, (), {})
        return
    budget = (collection.calls, collection.tokens)
    with (
        closing(sender(collection.second, models.get("second", {}), model_path, progress)) as adapter,
        asked(Caller(study, collection.second, adapter, budget, progress, pause), judge.name, controls.of(study),
              folder=LATER, share=collection.share) as done,
    ):  # fmt: skip
        yield replace(done, counts={f"{judge.name}_{name}": value for name, value in done.counts.items()})


def unlock_gold(
    study: Study,
    base: Path,
    created: str,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
    model_path: Path | None = None,
) -> None:
    """Open the gold: only when answers and judgments are locked, and only the gold that was sealed.

    A second judge labels before that; the gold's lock holds its labels, so no lock before it depends on them.
    """
    study.need("judgments")
    collection = collection_of(study)
    with _second_judge(study, progress, pause, model_path) as second:
        held, files = _gold(study, base, collection) if collection.gold else ([], {})
        close_gate(
            study,
            "gold",
            {**second.ledgers, **({GOLD: held} if held else {})},
            {"questions": len(held), **second.counts},
            files=files,
            present=second.present,
            created=created,
            note="The protocol names no gold, so exact match is not measured.",
        )


def _gold(study: Study, base: Path, collection: Collection) -> tuple[list[codec.Record], dict[str, bytes]]:
    """Gold that matches its seal, and the nonce."""
    if collection.parent:
        records, nonce = replication.gold(replication.open_parent(base, collection))
    else:
        records, nonce = _own_gold(study, base, collection)
    if gold_seal(nonce, records) != study.protocol.gold_commit:
        raise InputError(
            Problem(
                "the gold is not the gold that was sealed",
                f"seal {str(study.protocol.gold_commit)[:12]}…",
                "another",
                str(base / collection.gold),
                "Restore the gold and its nonce.",
            )
        )
    return records, {NONCE: nonce}


def _own_gold(study: Study, base: Path, collection: Collection) -> tuple[list[codec.Record], bytes]:
    ids = [q.question_id for q in study.questions()]
    records = list(map(codec.from_gold, inputs.gold(base / collection.gold, ids, collection.gold_columns)))
    secret = nonce_file(base, study.protocol)
    if not secret.is_file():
        raise InputError(
            Problem(
                "the nonce of the gold is missing",
                "the file that freeze made",
                "no such file",
                str(secret),
                "Put it back, or name its folder with --inputs.",
            )
        )
    return records, secret.read_bytes()


STAGES = ("selection", "retrieval", "answers", "judgments", "gold")


def run(
    study: Study, base: Path, now: Callable[[], str], progress: Progress = Quiet, model_path: Path | None = None
) -> list[str]:
    """Do every stage that is still open, up to the gold.

    Returns:
        Names of the gates that were closed now.
    """
    done = {lock.gate for lock in study.chain}
    steps: dict[str, Callable[[], None]] = {
        "selection": lambda: select_questions(study, base, now(), progress, model_path=model_path),
        "retrieval": lambda: retrieve_evidence(study, base, now(), progress),
        "answers": lambda: answer_questions(study, now(), progress, model_path=model_path),
        "judgments": lambda: judge_answers(study, now(), progress, model_path=model_path),
        "gold": lambda: unlock_gold(study, base, now(), progress, model_path=model_path),
    }
    closed = [gate for gate in STAGES if gate not in done]
    for gate in closed:
        steps[gate]()
    return closed


def status(study: Study) -> dict[str, Any]:
    """Where a study stands: gates closed, and calls made so far in the open stage; read only."""
    collection = collection_of(study)
    gates = [lock.gate for lock in study.chain]
    found: dict[str, Any] = {
        "study": study.protocol.study_id,
        "closed": gates,
        "next": next((g for g in (*STAGES, "results") if g not in gates), None),
        "cells": collection.count * len(study.protocol.states) * collection.repeats,
    }
    if sentences := attributions(study.protocol):
        found["differences"] = sentences
    if (path := study.path / ATTEMPTS).is_file():
        found |= facts(path, collection.generation, found["cells"])
    judge = study.protocol.primary_judge
    if judge and (path := study.path / attempts_of(judge.name)).is_file():
        found["judging"] = facts(path, collection.judging, collection.count)
    if collection.second and (path := study.path / attempts_of(SECOND, LATER)).is_file():
        found["second_judge"] = facts(path, collection.second, ceil(Fraction(collection.share) * collection.count))
    return found
