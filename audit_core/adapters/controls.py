"""Control packets: pairs whose labels are known, sent to a judge beside the study's own, never mixed with them.

They were written for this project: paraphrases, other numbers and units, negations, UNKNOWN, near misses, and answers
that try to instruct the judge. How many a judge gets right says whether it does its work, on text that is no study's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit_core import codec
from audit_core.calls import Packet, Replies, judgment_of
from audit_core.prompts import JudgePacket, packet_order
from audit_core.study import COLLECTION, Study

FILE = Path(__file__).with_name("controls.json")


@dataclass(frozen=True, slots=True)
class Control:
    """One control packet.

    Attributes:
        question: As a judge sees it.
        answers: In the order of the file.
        labels: (i, j, 1 for same) of every pair i < j.
    """

    question: str
    answers: tuple[str, ...]
    labels: tuple[tuple[int, int, int], ...]


def shipped() -> list[dict[str, Any]]:
    """The records of this version's control packets; freeze copies them into the study."""
    records: list[dict[str, Any]] = json.loads(FILE.read_bytes())
    return records


def of(study: Study) -> list[Control]:
    """The control packets that freeze bound; none where the protocol wants none."""
    record = codec.decode((study.path / COLLECTION).read_bytes().removesuffix(b"\n"))
    return [
        Control(item["question"], tuple(item["answers"]), tuple((i, j, same) for i, j, same in item["labels"]))
        for item in record.get("control_packets", [])
    ]


def packets(controls: Sequence[Control], seed: str) -> Iterator[Packet]:
    """Number, slots and blind packet of each control, as `calls.packets` gives them for questions.

    The numbers are keys of the controls' own ledger; no question's id can be taken for one.
    """
    for number, control in enumerate(controls, 1):
        order = packet_order(seed, f"control {number}", len(control.answers))
        packet = JudgePacket(control.question, tuple(control.answers[i] for i in order))
        yield str(number), tuple(("control", i) for i in range(len(control.answers))), packet


def counts(controls: Sequence[Control], seed: str, replies: Replies) -> dict[str, int]:
    """How many controls there are, and how many a judge got right: every label of the packet, as it is known."""
    right = 0
    for control, (number, slots, _) in zip(controls, packets(controls, seed), strict=True):
        reply = replies.get((number,))
        found = judgment_of(f"control {number}", slots, seed, reply) if reply else None
        right += found is not None and found.labels == control.labels
    return {"controls": len(controls), "controls_right": right}
