"""Probes: more answers of one question in one state, drawn for diagnosis after the results, in ledgers of their own.

``probes/0001/attempts.jsonl`` holds the calls; its first record names the lock of the results.
``probes/0001/probe.json`` closes it. Nothing else of a study knows of them, and no estimate ever reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from audit_core import __version__, codec, ledger, locks
from audit_core.codec import CodecError, Field, Record
from audit_core.errors import LedgerError, Problem
from audit_core.model import AnswerOutcome, Cell
from audit_core.outcomes import answer_of
from audit_core.protocol import Protocol
from audit_core.rules.outcome import read
from audit_core.study import ATTEMPT, PROBES, Study
from audit_core.tally import Slots, Tally

CALLS, LOCK = "attempts.jsonl", "probe.json"
MOST = 1000
"""Most answers of one probe."""
FOLDER = re.compile(r"[0-9]{4}")

_FIELDS: dict[str, Field] = {
    "v": (lambda v: v == 1 and type(v) is int, "1", True),
    "kind": (lambda v: v == "audit.probe", "audit.probe", True),
    "n": (lambda v: type(v) is int and v > 0, "a whole number, 1 or more", True),
    "bundle": (lambda v: type(v) is str, "a SHA-256", True),
    "results": (lambda v: type(v) is str, "a SHA-256", True),
    "question_id": (lambda v: type(v) is str and v != "", "non-empty text", True),
    "state": (lambda v: type(v) is str and v != "", "non-empty text", True),
    "repeats": (lambda v: type(v) is int and 0 < v <= MOST, f"1 to {MOST}", True),
    "attempts": (lambda v: type(v) is dict, "an object", True),
    "tool": (lambda v: type(v) is dict, "an object", True),
    "created": (lambda v: type(v) is str, "text", True),
}


@dataclass(frozen=True, slots=True)
class Probe:
    """One closed probe.

    Attributes:
        number: From 1.
        question_id: The cell that was asked again; likewise `state`.
        repeats: Answers drawn, numbered from 1.
        results: SHA-256 of the lock of the results that it came after.
        entry: Of its ledger of calls.
        created: When, for information only.
    """

    number: int
    question_id: str
    state: str
    repeats: int
    results: str
    entry: ledger.Entry
    created: str


def place(study: Study, number: int) -> Path:
    """The folder of a probe."""
    return study.path / PROBES / f"{number:04d}"


def numbers(study: Study) -> list[int]:
    """Numbers of all probes, closed or under way."""
    folder = study.path / PROBES
    return sorted(int(item.name) for item in folder.iterdir() if FOLDER.fullmatch(item.name)) if folder.is_dir() else []


def closed(study: Study, number: int) -> Probe | None:
    """A probe by its number; None while it is under way.

    Raises:
        LedgerError: Its lock is damaged or of another study.
    """
    file = place(study, number) / LOCK
    if not file.is_file():
        return None
    try:
        data = file.read_bytes()
        if not data.endswith(b"\n"):
            raise CodecError("no final newline")
        record = codec.check_fields(codec.decode(data[:-1]), _FIELDS, "probe")
        entry = codec.check_fields(record["attempts"], locks.ENTRY, "attempts of a probe")
    except CodecError as error:
        raise _damaged(f"the lock of a probe is damaged: {error}", number) from None
    if record["n"] != number or record["bundle"] != study.bundle:
        raise _damaged("a probe is of another study, or was moved", number)
    return Probe(
        number, record["question_id"], record["state"], record["repeats"], record["results"],
        locks.to_entry(entry), record["created"],
    )  # fmt: skip


def calls(study: Study, probe: Probe) -> Iterator[tuple[Record, int]]:
    """Records of a probe's calls and where each begins, every line checked.

    Raises:
        LedgerError: The ledger is damaged, or not the one that was closed.
    """
    reader = ledger.Reader(place(study, probe.number) / CALLS, probe.results, ATTEMPT, "attempt")
    for record in reader:
        yield record, reader.offset
    if reader.entry != probe.entry:
        raise _damaged("the calls of a probe are not the ones that were closed", probe.number)


def slots(question_id: str, state: str) -> Slots:
    """Numbers of the calls that a probe may hold."""
    return Slots([question_id], [state], MOST)


def answers(study: Study, probe: Probe) -> list[Cell]:
    """The answers of a probe, by their number.

    Raises:
        LedgerError: The ledger is damaged, or not the one that was closed.
        InputError: Its calls do not fit together.
    """
    with Tally(place(study, probe.number) / CALLS, slots(probe.question_id, probe.state)) as tally:
        for record, offset in calls(study, probe):
            tally.add(record, offset)
        found = []
        for repeat in range(1, probe.repeats + 1):
            accepted = tally.get((probe.question_id, probe.state, repeat))
            if accepted is not None:
                answer = answer_of(accepted.reading)
                found.append(Cell(probe.question_id, probe.state, repeat, "ok", answer, attempts=accepted.attempts))
        return found


def outcomes(protocol: Protocol, cells: Iterable[Cell]) -> dict[str, int]:
    """How many of some answers answer, answer a part, or refuse, by the study's rule; errors are left out."""
    found = dict.fromkeys(get_args(AnswerOutcome), 0)
    for cell in cells:
        if cell.answer is not None:
            found[cell.outcome or read(cell.answer, protocol.unknown_texts, protocol.outcome_rule).outcome] += 1
    return found


def close(study: Study, number: int, question_id: str, state: str, repeats: int, created: str) -> Probe:
    """Close a probe; never over another lock.

    Raises:
        LedgerError: The ledger of its calls is damaged.
        StorageError: The disk refuses.
    """
    folder, results = place(study, number), study.chain[-1].sha256
    reader = ledger.Reader(folder / CALLS, results, ATTEMPT, "attempt")
    for _ in reader:
        pass
    assert reader.entry is not None
    record: Record = {
        "v": 1, "kind": "audit.probe", "n": number, "bundle": study.bundle, "results": results,
        "question_id": question_id, "state": state, "repeats": repeats,
        "attempts": locks.from_entry(reader.entry),
        "tool": {"name": "snapshot-audit", "version": __version__}, "created": created,
    }  # fmt: skip
    locks.put(folder / LOCK, codec.encode(record) + b"\n", "the probe")
    found = closed(study, number)
    assert found is not None
    return found


def _damaged(what: str, number: int) -> LedgerError:
    return LedgerError(
        Problem(what, "the probe as it was closed", "another file", f"{PROBES}/{number:04d}",
                "Restore it from a copy, or move the folder out of the study; nothing else rests on it.")
    )  # fmt: skip
