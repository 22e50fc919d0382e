"""The proof that reveals one answer of a study to somebody who holds its bundle."""

from __future__ import annotations

from audit_core.codec import Record, plain, to_cell
from audit_core.errors import InputError, Problem
from audit_core.share import seals
from audit_core.study import CELLS, Study


def prove(study: Study, secret: bytes, question_id: str, state: str, repeat: int, *, locked: bool = False) -> Record:
    """What reveals an answer, and nothing else of the study.

    Args:
        study: That was just verified.
        secret: Key that its bundle was made with.
        locked: Also show that the answer is the locked one; from the digests that this takes, short answers of the
            lines beside it can be guessed.

    Raises:
        InputError: The study has no such answer.
    """
    with (study.path / CELLS).open("rb") as stream:
        lines = [line.removesuffix(b"\n") for line in stream]
    questions = {question.question_id: number for number, question in enumerate(study.questions())}
    before = 0
    for position, line in enumerate(lines):
        cell = to_cell(plain(line))
        if cell.question_id != question_id or cell.answer is None:
            continue
        if (cell.state, cell.repeat) == (state, repeat):
            place = {"line": line.decode(), "position": position, "path": seals.path_of(lines, position)}
            return {
                "v": 1, "kind": "audit.share.proof", "study": study.bundle, "question": questions[question_id],
                "answer": before, "salt": seals.salt_of(secret, question_id, state, repeat).hex(),
                "text": cell.answer, **({"ledger": place} if locked else {}),
            }  # fmt: skip
        before += 1
    raise InputError(Problem("the study has no such answer", "a question, a state and a repeat with an answer",
                             f"{question_id[:60]} / {state[:60]} / {repeat}", study.protocol.study_id,
                             "Look it up with: snapshot-audit export"))  # fmt: skip
