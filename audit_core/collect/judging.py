"""One judge at work: its control packets first, then the study's packets, each with its own ledger of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from audit_core import codec
from audit_core.adapters import controls
from audit_core.calls import Packet, judgments, label_counts, packets, sampled
from audit_core.codec import Record
from audit_core.collect.attempts import Attempts
from audit_core.collect.caller import call_all, new_run
from audit_core.collect.progress import THIS_MACHINE, Progress, spent
from audit_core.collect.senders import Sender
from audit_core.collection import Calls
from audit_core.prompts import judge_prompt
from audit_core.study import Study, attempts_of, controls_of, judgments_of
from audit_core.study.files import AT_ONCE
from audit_core.tally import Slots


@dataclass(frozen=True)
class Asked:
    """What a judge said, ready to be locked.

    Attributes:
        ledgers: Records to write, by path.
        present: Ledgers of calls.
        counts: For the lock.
    """

    ledgers: Mapping[str, Iterator[Record]]
    present: tuple[str, ...]
    counts: Mapping[str, int]


@contextlib.contextmanager
def asked(
    study: Study,
    judge: str,
    settings: Calls,
    adapter: Sender,
    known: Sequence[controls.Control],
    budget: tuple[int, int],
    progress: Progress,
    pause: Callable[[float], object] | None,
    folder: str = AT_ONCE,
    share: str = "1",
) -> Iterator[Asked]:
    """Have a judge label every packet; resumes where an earlier run stopped, and labels while the block lasts.

    Args:
        study: With its answers locked.
        judge: Name.
        settings: Of its calls.
        adapter: Answers.
        known: Control packets; none where the protocol wants none.
        budget: Most calls and most tokens of the study; a judge in this process uses none.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.
        folder: Where its ledgers stand.
        share: Of the questions that it sees.
    """
    seed, member = study.protocol.seed, attempts_of(judge, folder)
    limits = (0, 0) if adapter.origin == THIS_MACHINE else budget
    counts: dict[str, int] = {}
    if known:
        counts |= _controls(study, controls_of(judge, folder), settings, adapter, known, limits, progress, pause)

    def held() -> Iterator[Packet]:
        return sampled(lambda: packets(study.dossiers(), seed), seed, share)

    slots = Slots(key for key, _, _ in held())
    with Attempts(study.path / member, study.chain[-1].sha256, new_run(), slots) as attempts:
        work = (((key,), partial(judge_prompt, packet)) for key, _, packet in held())
        call_all(
            work,
            attempts,
            adapter,
            settings,
            budget=limits,
            spent=spent(study.path, member),
            progress=progress,
            pause=pause,
        )
        counts = {**label_counts(held(), attempts.tally, seed, len(slots)), **counts}
        made = map(codec.from_judgment, judgments(held(), attempts.tally, seed))
        present = (member, *([controls_of(judge, folder)] if known else []))
        yield Asked({judgments_of(judge, folder): made}, present, counts)


def _controls(
    study: Study,
    member: str,
    settings: Calls,
    adapter: Sender,
    known: Sequence[controls.Control],
    limits: tuple[int, int],
    progress: Progress,
    pause: Callable[[float], object] | None,
) -> dict[str, int]:
    held = list(controls.packets(known, study.protocol.seed))
    with Attempts(study.path / member, study.chain[-1].sha256, new_run(), Slots(key for key, _, _ in held)) as attempts:
        work = (((key,), partial(judge_prompt, packet)) for key, _, packet in held)
        call_all(
            work,
            attempts,
            adapter,
            settings,
            budget=limits,
            spent=spent(study.path, member),
            progress=progress,
            pause=pause,
        )
        return controls.counts(known, study.protocol.seed, attempts.tally)
