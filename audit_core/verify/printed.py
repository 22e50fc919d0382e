"""Every number of a report derived again from the locked study: the checks R01 to R07."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

from audit_core import explore
from audit_core.codec import Record
from audit_core.deciding import Audited, reported
from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem
from audit_core.files import whole
from audit_core.model import CheckOutcome, CheckResult, Dossier
from audit_core.printed import Asked, Levels, Passage, Source, levels_of, say, withheld
from audit_core.results import arrays_of, as_row, complete, decided_at
from audit_core.reviews.carried import reviewed
from audit_core.study import PASSAGES, Study
from audit_core.verify.drawn import of_figure
from audit_core.verify.page import Found, read_page

LARGEST = 64 << 20
_REPORT, _ACTION = "an HTML file that snapshot-audit report wrote", "Name the HTML file, not the PDF."
SEAL = re.compile(rb"<!-- sha256 ([0-9a-f]{64}) -->\n?\Z")
TITLES = {
    "R01": "The report is about this study as it is locked here",
    "R02": "The report is unchanged since it was made",
    "R03": "Every number and text that is marked is what the study gives",
    "R04": "No number stands outside a mark, and the markup is a report's",
    "R05": "Figures draw only numbers that are derived",
    "R06": "Verdicts are counted as the report carries them",
    "R07": "A redacted report holds no text of the study",
}


def check_report(report: Path, study: Path, checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Derive a report again.

    Args:
        report: An HTML file as `snapshot-audit report` writes it.
        study: The study's folder.
        checks: From `verify`, on that study.

    Raises:
        InputError: The file is not a report.
    """
    data = _read(report)
    found = read_page(data.decode("utf-8"))
    told = _island(found, "report", report)
    out: dict[str, tuple[CheckOutcome, str]] = dict.fromkeys(TITLES, ("could not check", "R01 or R06 failed."))

    def judge(check: str, faults: list[str], passed: str) -> None:
        more = f" And {len(faults) - 3} more." if len(faults) > 3 else ""
        out[check] = ("failed", " ".join(faults[:3]) + more) if faults else ("passed", passed)

    def made() -> list[CheckResult]:
        return [CheckResult(check, TITLES[check], *out[check]) for check in TITLES]

    known = Study(study)
    here = (known.protocol.study_id, known.chain[-1].sha256)
    about = (str(told.get("study_id")), str(told.get("last_lock")))
    other = [f"It is about {about[0]}, last lock {about[1][:12]}…; here is {here[0]}, {here[1][:12]}…."]
    judge("R01", other if about != here else [], here[1])
    judge("R02", _seal(data), "The digest in its last line fits.")
    if about != here:
        return made()
    references = [_reference(mark) for mark, _ in found.marked]
    try:
        source = _source(known, told, _island(found, "reviews", report), checks, _questions(references))
    except (AuditError, KeyError, TypeError, ValueError) as error:
        detail = "What it carries is damaged." if not isinstance(error, AuditError) else str(error.problems[0])
        judge("R06", [detail], "")
        return made()
    judge("R03", list(_marked(found.marked, references, source)), f"{len(references):,} derived again.")
    judge("R04", [f"“{text}” stands in no report, or outside a mark." for text in found.loose], "None does.")
    drawn = [of_figure(text, source) for text in found.figures]
    judge("R05", [fault for faults, _ in drawn for fault in faults], f"{sum(size for _, size in drawn):,} numbers.")
    counts = sum(reference[:1] == ["review"] for reference in references)
    judge("R06", [], f"{counts} counts follow from the verdicts in the report; the signed file proves those.")
    texts = [str(reference)[:80] for reference in references if told.get("redacted") and withheld(reference)]
    judge("R07", [f"{text} is a text." for text in texts], "None." if told.get("redacted") else "It is not redacted.")
    return made()


def carried_by(report: Path) -> tuple[Record, Record]:
    """What a report says it is about, and what it carries of the review.

    Raises:
        InputError: The file is not a report.
    """
    found = read_page(_read(report).decode("utf-8"))
    return _island(found, "report", report), _island(found, "reviews", report)


def _read(path: Path) -> bytes:
    data = whole(path, LARGEST, _REPORT, _ACTION)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(_no_report("bytes that are not UTF-8", path)) from None
    return data


def _no_report(found: str, path: Path) -> Problem:
    return Problem("this is not a report", _REPORT, found, str(path), _ACTION)


def _island(found: Found, name: str, path: Path) -> Record:
    try:
        content = json.loads(found.islands[name])
        if not isinstance(content, dict):
            raise ValueError
    except (KeyError, ValueError, RecursionError):
        raise InputError(_no_report(f"no data named {name}", path)) from None
    return content


def _seal(data: bytes) -> list[str]:
    match = SEAL.search(data)
    if match is None:
        return ["It has no last line with a digest."]
    made = sha256(data[: match.start()])
    given = match.group(1).decode()
    return [] if made == given else [f"Its last line says {given[:12]}…, its content gives {made[:12]}…."]


def _reference(mark: str) -> list[str | int]:
    try:
        found = json.loads(mark)
    except (ValueError, RecursionError):
        return []
    good = isinstance(found, list) and all(type(part) in (str, int) for part in found)
    return found if good else []


def _questions(references: Iterable[list[str | int]]) -> set[str]:
    kinds = ("question", "answer", "document", "shared")
    return {str(reference[1]) for reference in references if reference[:1] and reference[0] in kinds and reference[1:]}


def _marked(marked: Sequence[tuple[str, str]], references: Sequence[list[str | int]], source: Source) -> Iterator[str]:
    for (mark, text), reference in zip(marked, references, strict=True):
        try:
            made = say(source, reference)
        except InputError:
            yield f"{mark[:120]} says nothing about this study."
            continue
        if made != text:
            yield f"Printed “{text[:80]}”, derived “{made[:80]}” ({mark[:120]})."


def _source(
    study: Study, told: Record, carried: Record, checks: Sequence[CheckResult], wanted: Container[str]
) -> Source:
    """What a report on a study may print, from its ledgers."""
    shown: list[Dossier] = []

    def kept() -> Iterator[Dossier]:
        for dossier in study.dossiers():
            if dossier.question.question_id in wanted:
                shown.append(dossier)
            yield dossier

    protocol = study.protocol
    answers = arrays_of(protocol, kept())
    texts = {d.passage for dossier in shown for evidence in dossier.evidence for d in evidence.documents}
    passages = {digest: text for digest, text in study.passages() if digest in texts} if study.has(PASSAGES) else {}
    asked = {dossier.question.question_id: _asked(dossier, passages) for dossier in shown}
    stored = study.results()
    estimates = complete(protocol, answers, stored)
    pair = (str(told["old"]), str(told["new"]))
    decided, numeric = decided_at(protocol, answers, estimates, stored)
    rows = {estimate.name: as_row(estimate) for estimate in estimates}
    table = explore.columns(answers, str(told["kernel"]), *pair)
    flips = [q for q, flip in zip(table["question_id"], table["flip"], strict=True) if flip]
    found = reviewed(carried, protocol.study_id, flips, pair)
    rule, release = protocol.release, None
    if rule and numeric and pair == protocol.endpoints:
        counted = rows[f"repeat_stable_flips[{rule.kernel}]@{pair[0]}-{pair[1]}"]["numerator"] is not None
        table = explore.columns(answers, rule.kernel, *pair)
        judged = [q for q, flip in zip(table["question_id"], table["flip"], strict=True) if flip] if counted else None
        locks = [(lock.gate, lock.sha256) for lock in study.chain]
        release = reported(rule, Audited(protocol.study_id, study.bundle, pair, locks, judged, numeric, rows), found)

    @cache
    def levels(kernel: str, old: str, new: str) -> Levels:
        part = explore.columns(answers, kernel, old, new)
        values = zip(part["numerator"], part["denominator"], part["flip"], strict=True)
        return levels_of((Fraction(top, bottom), bool(flip)) for top, bottom, flip in values if top is not None)

    return Source(
        protocol,
        rows,
        [(lock.gate, lock.sha256, lock.created) for lock in study.chain],
        {c.check_id: (c.title, "could not check" if c.check_id == "C18" else c.result) for c in checks},
        decided,
        release,
        len(answers),
        {state: int(answers.repeats[:, i].max(initial=0)) for i, state in enumerate(answers.states)},
        levels,
        asked.__getitem__,
        found.counts,
        found.signoff,
        found.notes,
        found.verdicts,
    )


def _asked(dossier: Dossier, passages: Mapping[str, str]) -> Asked:
    documents: dict[str, tuple[Passage, ...]] = {}
    for evidence in dossier.evidence:
        if evidence.state not in documents:
            documents[evidence.state] = tuple(
                Passage(d.document_id, d.title, passages.get(d.passage or "")) for d in evidence.documents
            )
    return Asked(
        dossier.question.text,
        dossier.gold.aliases if dossier.gold else None,
        {(cell.state, cell.repeat): cell.answer for cell in dossier.cells},
        documents,
    )
