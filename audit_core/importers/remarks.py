"""What only the whole of an import shows: states with one repeat, states that never meet, facts that no file holds."""

from __future__ import annotations

from audit_core.importers.coverage import Coverage
from audit_core.importers.integrity import Integrity
from audit_core.importers.tally import Tally
from audit_core.importers.values import shown


def remark(integrity: Integrity, coverage: Coverage, questions: int, tally: Tally) -> None:
    """Count what only the whole of an import shows.

    Args:
        integrity: After its last question.
        coverage: Likewise.
        questions: How many there are.
        tally: Told of it.
    """
    single = [name for name, repeats in zip(coverage.states, coverage.repeats, strict=True) if len(repeats) < 2]
    for name in single:
        tally.add("no_noise_floor", shown(name))
    for name, thin in zip(coverage.states, coverage.thin, strict=True):
        if thin and name not in single:
            tally.add("too_few_repeats", f"{shown(name)}: {thin:,} questions", count=thin)
    if len({len(repeats) for repeats in coverage.repeats}) > 1:
        counts = ", ".join(f"{shown(n)} {len(r)}" for n, r in zip(coverage.states, coverage.repeats, strict=True))
        tally.add("uneven_repeats", counts)
    for one, other in coverage.strangers():
        tally.add("states_without_common_questions", f"{shown(one)} and {shown(other)}")
    tally.add("no_semantic_labels")
    if not integrity.gold:
        tally.add("no_gold")
    elif integrity.gold < questions:
        tally.add("questions_without_gold", count=questions - integrity.gold)
    if not integrity.evidence:
        tally.add("no_evidence")
    if not integrity.texts:
        tally.add("no_question_text")
