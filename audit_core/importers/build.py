"""A checked alignment → a locked study that says what it cannot prove."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import cast

from audit_core.importers.align import Alignment
from audit_core.importers.options import Options
from audit_core.importers.sources import Source
from audit_core.importers.staging import BLANK, FAILED, NO_KEY, NULL, TEXT, Entry, Passages, Staging
from audit_core.importers.values import scrub
from audit_core.model import AnswerOutcome, Cell, Document, Evidence, Excerpt, Finding, Gold, Question, State
from audit_core.protocol import Protocol, study_id_of
from audit_core.protocol import Source as SourceRecord
from audit_core.rules.outcome import edited
from audit_core.study import create_study

_NO_ANSWER = {NULL: "no answer came back (null)", NO_KEY: "no answer came back (no such key)"}
_LIMITS = (
    "No protocol was frozen before the answers: every estimate is descriptive, and no decision is confirmatory.",
    "Attempts were not recorded: nothing shows that no answer was drawn again or left out.",
    "Nothing but the files shows that model, prompt and settings were the same in all states and repeats.",
    "No judge labelled the answers: only the exact kernel is available, so wording and format count as change.",
)


def protocol(
    path: Path,
    options: Options,
    states: Sequence[str],
    endpoints: tuple[str, str] | None,
    sources: Sequence[Source],
    facts: tuple[bool, bool, int | None],
) -> Protocol:
    """What is known of an import.

    Args:
        path: Folder of the study.
        options: As given.
        states: Names in ladder order.
        endpoints: The primary pair, where there is one.
        sources: The files.
        facts: Whether there is gold, whether there is evidence, and how many documents every list has.
    """
    has_gold, has_evidence, depth = facts
    limits = list(_LIMITS)
    limits.append(
        "Retrieval was not locked: nothing shows that the evidence is what the answers were made from."
        if has_evidence
        else "The files hold no evidence: a change of answers cannot be set beside a change of retrieval."
    )
    limits.append(
        "Gold was not sealed: nothing shows that it was fixed before the answers were seen."
        if has_gold
        else "The files hold no accepted answers: nothing is said about right and wrong."
    )
    names = ", ".join(source.name for source in sources[:3]) + (", …" if len(sources) > 3 else "")
    return Protocol(
        study_id=study_id_of(path.name),
        title=scrub(options.title or path.name)[0],
        origin="imported",
        provenance=f"Imported from {names}; nothing but the files shows how the answers were made.",
        generator="not recorded",
        differs=_differs(options),
        states=tuple(
            State(name, closed_book=name == options.closed_book, settings=options.settings_of(name)) for name in states
        ),
        endpoints=endpoints,
        normalization=options.rule,
        unknown_texts=options.unknown,
        outcomes=edited(options.refusals, options.gaps, shipped=options.shipped_texts),
        retrieval_depth=depth,
        limits=tuple(limits),
        sources=tuple(SourceRecord(source.name, source.sha256, source.size) for source in sources),
    )


def build(
    path: Path,
    described: Protocol,
    staging: Staging,
    alignment: Alignment,
    questions: Sequence[Question],
    findings: Sequence[Finding],
    names: Sequence[str],
    created: str,
    step: Callable[[int], None],
) -> None:
    """Write the study; it appears whole or not at all.

    Args:
        path: Folder to make.
        described: The protocol.
        staging: The rows.
        alignment: The cells.
        questions: In order.
        findings: What stays with the study.
        names: States by their number in the entries.
        created: Time for the locks.
        step: Told how many questions are done.
    """
    ids = {question.question_id: None for question in questions}

    def cells() -> Iterator[Cell]:
        for done, (_, entries) in enumerate(alignment.questions()):
            step(done)
            for entry in _laddered(entries, described, names):
                yield _cell(entry, question_ids[entry.question], names[entry.state])

    def evidence() -> Iterator[Evidence]:
        for _, entries in alignment.questions():
            for number, group in groupby(_laddered(entries, described, names), key=attrgetter("state")):
                yield from _evidence(list(group), names[number], question_ids)

    question_ids = [row[0] for row in staging.all("SELECT question_id FROM question ORDER BY key")]
    gold = (
        Gold(question_id, tuple(json.loads(aliases)))
        for question_id, aliases in staging.stream(
            "SELECT question_id, gold FROM question WHERE gold IS NOT NULL ORDER BY key"
        )
        if question_id in ids
    )
    create_study(
        path,
        described,
        questions=questions,
        cells=cells(),
        evidence=evidence() if staging.all("SELECT 1 FROM entry WHERE evidence IS NOT NULL LIMIT 1") else (),
        passages=Passages(staging),
        gold=gold,
        findings=findings,
        created=created,
    )


def _differs(options: Options) -> str:
    names = sorted({name for _, name, _ in options.settings})
    return "the state, as the files name it" + (f"; known to be set apart: {', '.join(names)}" if names else "")


def _laddered(entries: list[Entry], described: Protocol, names: Sequence[str]) -> list[Entry]:
    order = [state.name for state in described.states]
    if order == list(names):
        return entries
    return sorted(entries, key=lambda entry: order.index(names[entry.state]))


def _cell(entry: Entry, question_id: str, state: str) -> Cell:
    ok = entry.kind in (TEXT, BLANK)
    return Cell(
        question_id,
        state,
        entry.repeat,
        "ok" if ok else "error",
        entry.answer if ok else None,
        entry.error if ok or entry.kind == FAILED else _NO_ANSWER[entry.kind],
        source=entry.source,
        record=entry.record,
        cached=None if entry.cached is None else bool(entry.cached),
        response_id=entry.response_id,
        outcome=cast(AnswerOutcome | None, entry.outcome) if ok else None,
        excerpts=tuple(Excerpt(**item) for item in json.loads(entry.excerpts or "[]")) if ok else (),
    )


def _evidence(entries: list[Entry], state: str, ids: Sequence[str]) -> Iterator[Evidence]:
    """One record where every repeat that answered saw the same, else one for each that names any.

    Of a repeat without evidence it is not known what it saw, so no other one's may stand for it.
    """
    with_evidence = [entry for entry in entries if entry.evidence is not None]
    seen = {entry.evidence for entry in entries if entry.kind in (TEXT, BLANK)} | {e.evidence for e in with_evidence}
    same = len(seen) == 1
    for entry in with_evidence[:1] if same else with_evidence:
        documents = tuple(
            Document(document_id, rank, score, title, passage, family)
            for rank, (document_id, score, title, passage, family) in enumerate(json.loads(entry.evidence or "[]"), 1)
        )
        yield Evidence(ids[entry.question], state, documents, None if same else entry.repeat)
