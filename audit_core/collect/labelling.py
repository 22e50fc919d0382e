"""A judge of a protocol over an imported study: a new study of the same answers, with every call of the judge recorded.

The gates of the imported study are closed anew from its records, then the judge is asked; stopped or killed, the same
command goes on where it was. What came in is as unproved as it was; the labels are as proved as those of a collected
study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from audit_core import codec
from audit_core.adapters import controls
from audit_core.codec import Record
from audit_core.collect.facts import code_facts, described, model_facts, prompt_facts
from audit_core.collect.frozen import check_locked
from audit_core.collect.progress import Progress
from audit_core.collect.stages import Quiet, judge_answers
from audit_core.collection import Collection, judge_words, to_record
from audit_core.errors import InputError, Problem
from audit_core.model import Dossier
from audit_core.protocol import Judge, Protocol
from audit_core.study import CELLS, COLLECTION, GOLD, PRIMARY, QUESTIONS, Study, begin_study, close_gate
from audit_core.study.files import FINDINGS, PASSAGES
from audit_core.study.relabelled import check_unlabelled, findings_of, relabelled


def label(
    source: Study,
    target: Path,
    collection: Collection,
    created: str,
    *,
    model_path: Path | None = None,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
) -> Study:
    """The new study, labelled; resumes where an earlier run of the same order stopped.

    Args:
        source: Imported, without a judge, and verified by whoever calls this.
        target: Folder of the new study; new, or left by an earlier run.
        collection: From `collection.judging_of`.
        created: Time for the locks.
        model_path: Weights of an embedded model in place of the ones of ``[local]``.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.

    Raises:
        InputError: The study was collected or has a judge, or the target is another study.
    """
    check_unlabelled(source)
    record = {
        **to_record(collection),
        "prompts": prompt_facts(collection),
        "models": {"judging": model_facts(collection.judging, model_path, progress)},
        "code": code_facts(),
        **({"control_packets": controls.shipped()} if collection.controls else {}),
    }
    (judge,) = described((Judge("primary", "primary", True, judge_words(collection)),), collection)
    protocol = relabelled(source, target, judge)
    if target.exists():
        study = _same_order(target, protocol, collection)
    else:
        study = begin_study(target, protocol, {COLLECTION: codec.encode(record) + b"\n"}, created)
    check_locked(study)
    done = {lock.gate for lock in study.chain}
    for gate, close in (("selection", _selection), ("retrieval", _retrieval), ("answers", _answers)):
        if gate not in done:
            ledgers, counts, note = close(source)
            close_gate(study, gate, ledgers, counts, note=note, created=created)
    if "judgments" not in done:
        judge_answers(study, created, progress, pause, model_path)
    if "gold" not in done:
        held = [codec.from_gold(d.gold) for d in source.dossiers() if d.gold is not None]
        note = "The source holds no gold, so exact match is not measured."
        close_gate(study, "gold", {GOLD: held} if held else {}, {"questions": len(held)}, note=note, created=created)
    return Study(target)


Closing = tuple[Mapping[str, Iterable[Record]], Mapping[str, int], str]


def _selection(source: Study) -> Closing:
    records = [codec.from_question(question) for question in source.questions()]
    return {QUESTIONS: records}, {"questions": len(records)}, ""


def _retrieval(source: Study) -> Closing:
    lists = sum(len(dossier.evidence) for dossier in source.dossiers())
    texts = sum(1 for _ in source.passages())
    ledgers: dict[str, Iterable[Record]] = {}
    if lists:
        ledgers[PRIMARY] = (codec.from_evidence(item) for d in source.dossiers() for item in d.evidence)
        if texts:
            ledgers[PASSAGES] = ({"sha256": key, "text": text} for key, text in source.passages())
    note = "The source holds no evidence, so retrieval is not locked."
    return ledgers, {"evidence": lists, "passages": texts}, note


def _answers(source: Study) -> Closing:
    def tally(count: Callable[[Dossier], int]) -> int:
        return sum(map(count, source.dossiers()))

    accepted = tally(lambda d: sum(cell.status == "ok" for cell in d.cells))
    ledgers: dict[str, Iterable[Record]] = {CELLS: (codec.from_cell(c) for d in source.dossiers() for c in d.cells)}
    if found := findings_of(source):
        ledgers[FINDINGS] = map(codec.from_finding, found)
    counts = {
        "accepted": accepted,
        "errors": tally(lambda d: len(d.cells)) - accepted,
        "attempts": tally(lambda d: sum(cell.attempts or 1 for cell in d.cells)),
    }
    return ledgers, counts, ""


def _same_order(target: Path, protocol: Protocol, collection: Collection) -> Study:
    """The study that an earlier run left, where it was the same order."""
    study = Study(target)
    if study.protocol != protocol or not study.has(COLLECTION):
        raise InputError(
            Problem(
                "something else is there already",
                "a new folder, or what an earlier run of this order left",
                "another study",
                str(target),
                "Choose another folder; a locked study is never overwritten.",
            )
        )
    record = codec.decode((target / COLLECTION).read_bytes().removesuffix(b"\n"))
    asked = to_record(collection)
    changed = sorted(name for name in asked if record.get(name) != asked[name])
    if changed:
        raise InputError(
            Problem(
                "the judge is not the one that an earlier run began with",
                "the same settings",
                ", ".join(changed),
                str(target),
                "Restore the settings, or choose another folder.",
            )
        )
    return study
