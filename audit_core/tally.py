"""What a ledger of calls says, record by record: counts and places of accepted replies, not the replies themselves.

Memory is a few bytes a planned cell, whatever the replies hold; a reply is read again from its place when it is needed.
"""

from __future__ import annotations

import base64
import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn

from audit_core.codec import CodecError, Record, plain
from audit_core.errors import InputError, LedgerError, Problem
from audit_core.outcomes import Reading, Reply, read

Key = tuple[Hashable, ...]
"""What a call is for: (question id, state, repeat) for an answer, (question id,) for a packet."""

NUMBERED = re.compile(r"(?:batch-)?([0-9]{1,12})-.+")
TOKENS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A cell's one accepted reply.

    Attributes:
        reading: As read from the stored body.
        attempts: Calls it took, accepted or not.
    """

    reading: Reading
    attempts: int


@dataclass(slots=True)
class Batch:
    """Calls that travel together.

    Attributes:
        attempt: Its own name.
        items: Attempts that it carries.
        after: The service's newest batch before this one; empty where there was none.
        batch_id: As the service names it; empty while that is unknown.
        left: Attempts that have not ended.
    """

    attempt: str
    items: tuple[str, ...]
    after: str
    batch_id: str = ""
    left: int = 0


@dataclass(slots=True)
class Open:
    """A call that has begun and not ended."""

    key: Key
    batch: Batch | None = None


class Slots:
    """Numbers of the planned calls of a stage: by question, state and repeat, in the order of its cells.

    Args:
        ids: Questions in their order.
        states: In ladder order; none for packets, which are one a question.
        repeats: Of each state.
    """

    def __init__(self, ids: Iterable[str], states: Sequence[str] = (), repeats: int = 1) -> None:
        self._ids = {key: number for number, key in enumerate(ids)}
        self._states = {name: number for number, name in enumerate(states)}
        self._repeats = repeats

    def __len__(self) -> int:
        return len(self._ids) * max(1, len(self._states)) * self._repeats

    def of(self, key: Key) -> int | None:
        """The number of a call; None where it is not planned."""
        question = self._ids.get(str(key[0]))
        if question is None or (len(key) == 3) != bool(self._states):
            return None
        if len(key) != 3:
            return question
        state, repeat = self._states.get(str(key[1])), key[2]
        if state is None or type(repeat) is not int or not 1 <= repeat <= self._repeats:
            return None
        return (question * len(self._states) + state) * self._repeats + repeat - 1


@dataclass
class Tally:
    """The records of one ledger of calls, added in their order.

    Args:
        path: The ledger, to read accepted replies again.
        slots: Numbers of the planned calls.

    Attributes:
        calls: Attempts started.
        done: Cells with an accepted reply.
        outcomes: Attempts ended, by outcome.
        tokens: Of accepted replies: input, output.
        models: That the service says answered.
        open: Calls without an end, by attempt.
        batches: Batches with a call that has not ended, by their own attempt.
        batch_ids: The service's names of all batches.
        travelled: Calls that belong to a batch.
        alone: Calls outside any batch whose outcome was seen.
    """

    path: Path
    slots: Slots
    calls: int = 0
    done: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    models: set[str] = field(default_factory=set)
    open: dict[str, Open] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    batch_ids: set[str] = field(default_factory=set)
    travelled: int = 0
    alone: int = 0

    def __post_init__(self) -> None:
        self._places = array("Q", bytes(8 * len(self.slots)))
        self._attempts = array("L", bytes(array("L").itemsize * len(self.slots)))
        self._made = 0
        self._stream: BinaryIO | None = None

    @property
    def redrawn(self) -> dict[str, int]:
        """Attempts that gave no accepted reply, by outcome."""
        return {name: count for name, count in sorted(self.outcomes.items()) if name != "accepted"}

    def add(self, record: Record, offset: int) -> Key | None:
        """Take in the next record.

        Args:
            record: Of the ledger.
            offset: Where its line begins.

        Returns:
            The cell that a start or an end is about; None for a record about a batch.

        Raises:
            InputError: An end without its start, an attempt used twice, a cell accepted twice, a call that is not
                planned, or a batch that does not fit its calls.
        """
        kind = record["kind"]
        if kind == "start":
            return self._start(record)
        if kind == "end":
            return self._end(record, offset)
        (self._batch if kind == "batch" else self._created)(record)
        return None

    def _start(self, record: Record) -> Key:
        attempt, key = record["attempt"], key_of(record)
        slot = self.slots.of(key)
        if slot is None:
            _fault("a call is for no planned cell", record)
        if _number(record) != self.calls + 1:
            _fault("an attempt is used twice, or one is missing", record)
        self.calls += 1
        self.open[attempt] = Open(key)
        self._attempts[slot] += 1
        return key

    def _batch(self, record: Record) -> None:
        items = record.get("items") or _fault("a batch has no calls", record)
        if _number(record) != self._made + 1:
            _fault("a batch is used twice, or one is missing", record)
        self._made += 1
        batch = Batch(record["attempt"], tuple(items), record.get("after", ""), left=len(items))
        for item in items:
            call = self.open.get(item)
            if call is None or call.batch is not None:
                _fault("a batch lists a call that is not open, or is in another batch", record)
            call.batch = batch
        self.batches[batch.attempt] = batch
        self.travelled += len(items)

    def _created(self, record: Record) -> None:
        batch, name = self.batches.get(record["attempt"]), record.get("batch_id")
        if batch is None or batch.batch_id or not name or name in self.batch_ids:
            _fault("a service's batch belongs to no open batch, or to two", record)
        batch.batch_id = name
        self.batch_ids.add(name)

    def _end(self, record: Record, offset: int) -> Key:
        call = self.open.pop(record["attempt"], None)
        if call is None:
            _fault("an end has no start", record)
        outcome = record.get("outcome", "")
        self.outcomes[outcome] += 1
        if call.batch is None:
            self.alone += outcome != "interrupted"
        else:
            call.batch.left -= 1
            if not call.batch.left:
                del self.batches[call.batch.attempt]
        if outcome == "accepted":
            slot = self.slots.of(call.key)
            assert slot is not None
            if self._places[slot]:
                _fault("a cell is accepted twice", record)
            if call.batch is not None and not call.batch.batch_id:
                _fault("a reply came before its batch was made", record)
            self._places[slot] = offset + 1
            self.done += 1
            reading = _reading(record)
            usage = dict(reading.usage)
            self.tokens = [held + usage.get(name, 0) for held, name in zip(self.tokens, TOKENS, strict=True)]
            if reading.model:
                self.models.add(reading.model)
        return call.key

    @property
    def made(self) -> int:
        """Batches so far."""
        return self._made

    def attempts(self, key: Key) -> int:
        """Calls made for a cell so far."""
        slot = self.slots.of(key)
        return 0 if slot is None else self._attempts[slot]

    def __contains__(self, key: Key) -> bool:
        """Whether a cell has its accepted reply."""
        slot = self.slots.of(key)
        return slot is not None and self._places[slot] > 0

    def get(self, key: Key) -> Accepted | None:
        """A cell's accepted reply, read from the ledger; None where there is none.

        Raises:
            LedgerError: The ledger changed meanwhile.
        """
        slot = self.slots.of(key)
        if slot is None or not self._places[slot]:
            return None
        self._stream = self._stream or self.path.open("rb")
        self._stream.seek(self._places[slot] - 1)
        try:
            reading = _reading(plain(self._stream.readline()))
        except (CodecError, KeyError, TypeError, ValueError):
            raise LedgerError(
                Problem(
                    "the ledger of calls changed while it was used",
                    "the record of an accepted reply",
                    "another line",
                    self.path.name,
                    "Leave the study alone and run the command again.",
                )
            ) from None
        return Accepted(reading, self._attempts[slot])

    def close(self) -> None:
        """Release the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __enter__(self) -> Tally:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def key_of(start: Record) -> Key:
    """The cell or packet that a start record names."""
    if "state" in start:
        return (start.get("question_id", ""), start["state"], start.get("repeat", 0))
    return (start.get("question_id", ""),)


def reply_of(record: Record) -> Reply:
    """The stored reply of an end record."""
    body = record.get("body")
    data = body.encode() if isinstance(body, str) else base64.b64decode(record.get("body_base64", ""))
    return Reply(record.get("status"), data)


def _reading(record: Record) -> Reading:
    reply = reply_of(record)
    return read(reply.status, reply.body)


def _number(record: Record) -> int:
    found = NUMBERED.fullmatch(record["attempt"])
    return int(found[1]) if found else _fault("an attempt has no number", record)


def _fault(what: str, record: Record) -> NoReturn:
    raise InputError(
        Problem(
            what,
            "one start and one end per attempt, one accepted reply per cell",
            str(record["attempt"])[:80],
            f"attempts.jsonl: record {record['seq'] + 1}" if "seq" in record else "attempts.jsonl",
            "Restore the ledger from a copy; it is never edited.",
        )
    )
