"""One judge at work: its control packets, the study's packets, and answers by themselves; each with its own ledger."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from audit_core import asking, codec
from audit_core.adapters import controls
from audit_core.calls import Packet, judgments, label_counts, packets, sampled
from audit_core.codec import Record
from audit_core.collect.attempts import Attempts
from audit_core.collect.caller import call_all, new_run
from audit_core.collect.progress import THIS_MACHINE, Progress, spent
from audit_core.collect.senders import Sender
from audit_core.collection import Calls
from audit_core.prompts import JudgePacket, judge_prompt, outcome_prompt
from audit_core.study import Study, asked_of, attempts_of, controls_of, judgments_of, outcomes_of
from audit_core.study.files import AT_ONCE
from audit_core.tally import Slots, Tally


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


@dataclass(frozen=True)
class Caller:
    """Draws a judge's replies.

    Attributes:
        study: With its answers locked.
        settings: Of the judge's calls.
        adapter: Answers.
        budget: Most calls and most tokens of the study; a judge in this process uses none.
        progress: Called with what, done, total.
        pause: Waits; replaced in tests.
    """

    study: Study
    settings: Calls
    adapter: Sender
    budget: tuple[int, int]
    progress: Progress
    pause: Callable[[float], object] | None

    @contextlib.contextmanager
    def drawn(
        self,
        member: str,
        held: Callable[[], Iterator[tuple[str, JudgePacket]]],
        prompt: Callable[[JudgePacket], str] = judge_prompt,
    ) -> Iterator[Tally]:
        """The reply to every packet; resumes where an earlier run stopped, and is open while the block lasts.

        Args:
            member: Ledger of the calls.
            held: Gives key and content of each packet, as often as it is called.
            prompt: Makes the message of a packet.
        """
        study, here = self.study, self.adapter.origin == THIS_MACHINE
        slots = Slots(key for key, _ in held())
        with Attempts(study.path / member, study.chain[-1].sha256, new_run(), slots) as attempts:
            call_all(
                (((key,), partial(prompt, packet)) for key, packet in held()),
                attempts,
                self.adapter,
                self.settings,
                budget=(0, 0) if here else self.budget,
                spent=spent(study.path, member),
                progress=self.progress,
                pause=self.pause,
            )
            yield attempts.tally


@contextlib.contextmanager
def asked(
    caller: Caller,
    judge: str,
    known: Sequence[controls.Control],
    folder: str = AT_ONCE,
    share: str = "1",
    *,
    outcomes: bool = False,
) -> Iterator[Asked]:
    """Have a judge label every packet; labels while the block lasts.

    Args:
        caller: Draws the replies.
        judge: Name.
        known: Control packets; none where the protocol wants none.
        folder: Where its ledgers stand.
        share: Of the questions that it sees.
        outcomes: Ask it too what those answers do that the rule cannot read with certainty.
    """
    study, member = caller.study, attempts_of(judge, folder)
    protocol, seed = study.protocol, study.protocol.seed
    counts: dict[str, int] = {}
    ledgers: dict[str, Iterator[Record]] = {}
    present = [member]

    def held() -> Iterator[Packet]:
        return sampled(lambda: packets(study.dossiers(), seed), seed, share)

    with contextlib.ExitStack() as stack:
        if known:
            present.append(controls_of(judge, folder))
            of_known = lambda: ((key, packet) for key, _, packet in controls.packets(known, seed))  # noqa: E731
            counts |= controls.counts(known, seed, stack.enter_context(caller.drawn(present[-1], of_known)))
        tally = stack.enter_context(caller.drawn(member, lambda: ((key, packet) for key, _, packet in held())))
        counts = {**label_counts(held(), tally, seed, len(tally.slots)), **counts}
        ledgers[judgments_of(judge, folder)] = map(codec.from_judgment, judgments(held(), tally, seed))
        if outcomes:
            present.append(asked_of(judge))
            single = partial(caller.drawn, present[-1], lambda: asking.packets(study.dossiers(), protocol))
            said = stack.enter_context(single(outcome_prompt))
            counts |= asking.counts(study.dossiers(), protocol, said, len(said.slots))
            made = asking.outcomes(study.dossiers(), protocol, said)
            ledgers[outcomes_of(judge)] = map(codec.from_outcome, made)
        yield Asked(ledgers, tuple(present), counts)
