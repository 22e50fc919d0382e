"""Ask again: more answers of one question in one state, by the frozen prompt and model, after the results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from audit_core import calls, probes
from audit_core.codec import plain
from audit_core.collect.attempts import Attempts
from audit_core.collect.caller import call_all, new_run
from audit_core.collect.progress import Progress
from audit_core.collect.senders import sender
from audit_core.collect.stages import Quiet, frozen_of
from audit_core.collection import Collection
from audit_core.errors import GateError, InputError, Problem
from audit_core.model import Cell
from audit_core.study import ATTEMPTS, RESULTS, Study
from audit_core.study.passages import Passages


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back.

    Attributes:
        probe: As it was closed.
        answers: By their number.
        before: The study's own answers of the same cell, errors included.
    """

    probe: probes.Probe
    answers: list[Cell]
    before: list[Cell]


def probe(
    study: Study,
    question_id: str,
    state: str,
    repeats: int,
    created: str,
    progress: Progress = Quiet,
    pause: Callable[[float], None] | None = None,
    model_path: Path | None = None,
) -> Asked:
    """Draw more answers of one cell; resumes a probe of the same cell that was stopped.

    The study's budget is not touched: what a probe costs is the number that was asked for.

    Args:
        study: With locked results, collected here.
        question_id: Of the study.
        state: Of the study.
        repeats: Answers to draw.
        created: Time, informational.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.
        model_path: Weights of an embedded model in place of the ones of ``[local]``.

    Raises:
        GateError: The study was not collected here, or its results are not locked.
        InputError: No such question or state, or a number of repeats that cannot be.
        StorageError: The service refuses or keeps failing; the same command goes on where it was.
    """
    if not 1 <= repeats <= probes.MOST:
        raise InputError(Problem("a probe cannot have this many answers", f"1 to {probes.MOST}", str(repeats),
                                 "--repeats", "Choose another number."))  # fmt: skip
    collection, models = frozen_of(study)
    if not study.has(ATTEMPTS):
        raise GateError(
            Problem("the answers of this study were not collected here", ATTEMPTS, "no record of calls",
                    str(study.path), "Only a study whose generator can be called can be asked again.")
        )  # fmt: skip
    if not study.has(RESULTS):
        raise GateError(
            Problem("the results are not locked yet", RESULTS, "an open gate", str(study.path),
                    "A probe comes after the results, so that it cannot change them: snapshot-audit run.")
        )  # fmt: skip
    with closing(Passages(study)) as passages:
        prompt, before = _cell(study, collection, question_id, state, passages)
    number = _open(study, question_id, state)
    path = probes.place(study, number) / probes.CALLS
    slots = probes.slots(question_id, state)
    with (
        closing(sender(collection.generation, models.get("generation", {}), model_path, progress)) as adapter,
        Attempts(path, study.chain[-1].sha256, new_run(), slots) as attempts,
    ):
        drawn = [r for r in range(1, probes.MOST + 1) if (question_id, state, r) in attempts.tally]
        repeats = max([repeats, *drawn])  # of a run that was stopped; what came back is never left out
        work = (((question_id, state, repeat), lambda: prompt) for repeat in range(1, repeats + 1))
        shown: Progress = lambda what, done, _total: progress(what, done, repeats)  # noqa: E731
        call_all(work, attempts, adapter, collection.generation, budget=(0, 0), progress=shown, pause=pause)
    done = probes.close(study, number, question_id, state, repeats, created)
    return Asked(done, probes.answers(study, done), before)


def _cell(
    study: Study, collection: Collection, question_id: str, state: str, passages: Passages
) -> tuple[str, list[Cell]]:
    """The frozen prompt of a cell, and its own answers."""
    states = [s.name for s in study.protocol.states]
    if state not in states:
        raise InputError(
            Problem("no such state", ", ".join(states), state[:80], "--state", "Name a state of the study.")
        )  # fmt: skip
    surfaces = calls.surfaces(study, collection, passages)
    prompt = next((made[state]() for key, made in surfaces if key == question_id), None)
    if prompt is None:
        raise InputError(Problem("no such question", "an id of the study", question_id[:80], str(study.path),
                                 "Ids are matched to the letter."))  # fmt: skip
    held = next(d.cells for d in study.dossiers() if d.question.question_id == question_id)
    return prompt, [cell for cell in held if cell.state == state]


def _open(study: Study, question_id: str, state: str) -> int:
    """Number of the probe of this cell that was stopped, else of a new one."""
    known = probes.numbers(study)
    for number in known:
        path = probes.place(study, number) / probes.CALLS
        if probes.closed(study, number) is None and path.is_file():
            with path.open("rb") as stream:
                line = stream.readline()
            first = plain(line) if line.endswith(b"\n") else None  # a torn first line is repaired when it is opened
            if first is None or (first.get("question_id"), first.get("state")) == (question_id, state):
                return number
    return max(known, default=0) + 1
