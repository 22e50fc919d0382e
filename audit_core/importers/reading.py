"""Records of a file → entries of the scratch database; whatever cannot be read is counted and named."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers import cells
from audit_core.importers.columns import Plan
from audit_core.importers.facts import Facts, made_id
from audit_core.importers.options import Options
from audit_core.importers.sources import Place, Source
from audit_core.importers.staging import BLANK, FAILED, NO_KEY, NULL, TEXT, Entry, Staging
from audit_core.importers.tally import Tally
from audit_core.importers.values import ABSENT, Number, shown

ID_LIMIT, STATE_LIMIT, MOST_STATES, MOST_REPEATS = 4_096, 200, 100, 1_000
ANSWERING = ("answer", "error", "state", "repeat")
"""A file with none of these columns holds questions or gold, and is joined to the others by id."""
_OK = {"", "ok", "success", "succeeded", "completed", "complete", "done", "true"}
_FAILED = {"error", "failed", "failure", "timeout", "cancelled", "canceled", "false"}


class Reader:
    """Turns the records of one file into entries.

    Args:
        source: The file, and its index among all.
        plan: Where it holds our columns.
        repeated: Columns whose value is a list of cells, because the header names them more than once.
        states: Number of each state by name; grows.
        counters: Repeats so far by (question, state), where repeats are numbered here; grows.
    """

    def __init__(
        self,
        source: tuple[int, Source],
        plan: Plan,
        repeated: Container[str],
        options: Options,
        facts: Facts,
        staging: Staging,
        tally: Tally,
        states: dict[str, int],
        counters: dict[tuple[int, int], int],
    ) -> None:
        self.index, self.source = source
        self.plan, self.repeated, self.options = plan, repeated, options
        self.facts, self.staging, self.tally, self.states, self.counters = facts, staging, tally, states, counters
        self._name = {column: plan.name(column) for column in plan.names}
        self.holds_answers = not self._name.keys().isdisjoint(ANSWERING)
        self._by_passage = "passage" in self._name or "passage_id" in self._name
        self._holds_evidence = self._by_passage or "evidence" in self._name
        self._holds_facts = not self._name.keys().isdisjoint(("gold", "tags", "weight"))
        self._holds_said = not self._name.keys().isdisjoint(("outcome", "excerpts"))
        self._holds_calls = not self._name.keys().isdisjoint(("cached", "response_id", "time"))
        if self._by_passage and options.number_repeats:
            raise InputError(
                Problem(
                    "repeats cannot be numbered where a row is a passage",
                    "a repeat column",
                    "--number-repeats",
                    self.source.name,
                    "Add a repeat column.",
                )
            )
        self._repeats: dict[str, int] = {}
        in_column = None if "state" in self._name else self.source.path.stem
        names = {"column": in_column, "file": self.source.path.stem, "folder": self.source.path.absolute().parent.name}
        # A kind of log joins what tells its states apart, the name of a file among it.
        self._state_of_all = None if options.kind else options.state or names[options.state_from]

    def take(self, number: int, line: int, values: dict[str, Any]) -> None:
        """Keep one record, or count why it cannot be placed."""
        place = self.source.at(line)
        try:
            key, number_id = self._question(values, place)
            self._facts(key, values, place)
            if self.holds_answers:
                self.facts.asked[key] = 1
                state = self._state(values, place)
                repeat = self._repeat(key, state, values)
                kind, answer, error = self._answer(values, place)
                evidence, single = self._evidence(values, place)
                said = self._said(kind, values, place)
                self.staging.add(
                    Entry(key, state, repeat, self.index, number, line, kind, answer, error, evidence, single,
                          number_id, *self._call(values, place), *said)
                )  # fmt: skip
        except _UnplacedError as error:
            self.tally.add(str(error), place)
        except cells.UnreadableError as error:
            self.tally.add("unreadable_values", f"{place}: {error}")

    def _value(self, values: dict[str, Any], column: str) -> Any:
        # A column that the file lacks has the name None, which no record has as a key.
        return values.get(self._name.get(column), ABSENT)  # type: ignore[arg-type]

    def _text(self, values: dict[str, Any], column: str) -> str | None:
        """Text of an optional column; None where it is blank, null or absent."""
        value = values.get(self._name.get(column))  # type: ignore[arg-type]
        text = value if type(value) is str else cells.text_of(value)
        return text if text and not text.isspace() else None

    def _question(self, values: dict[str, Any], place: Place) -> tuple[int, int]:
        text = self._text(values, "question")
        if "question_id" not in self._name:
            if text is None:
                raise _UnplacedError("blank_questions")
            return self.facts.question(made_id(text), text, place), 0
        raw = self._value(values, "question_id")
        if type(raw) is str and raw and not raw.isspace() and len(raw) <= ID_LIMIT:
            return self.facts.question(raw, text, place), 0
        if raw is ABSENT or raw is None or (isinstance(raw, str) and not raw.strip()):
            raise _UnplacedError("blank_ids")
        if not isinstance(raw, str) or (isinstance(raw, Number) and not cells.is_whole(raw)):
            raise cells.UnreadableError(f"{shown(raw)} where an id is expected")
        if len(raw) > ID_LIMIT:
            raise cells.UnreadableError(f"an id of {len(raw):,} characters")
        is_number = isinstance(raw, Number)
        if is_number:
            self.tally.add("number_ids")
        return self.facts.question(str(raw), text, place), int(is_number)

    def _facts(self, key: int, values: dict[str, Any], place: Place) -> None:
        if not self._holds_facts:
            return
        raw: list[Any] = []
        for name in self.plan.names.get("gold", ()):
            value = values.get(name)
            if name in self.repeated:
                raw += value or []
            elif value is not None and value != "":
                raw.append(value)
        if raw:
            self.facts.gold(key, raw, self.options.gold_separator, place)
        tags = self._value(values, "tags")
        if tags is not ABSENT and tags:
            self.facts.tags(key, tags)
        weight = self._value(values, "weight")
        if weight is not ABSENT and weight not in (None, ""):
            self.facts.weight(key, weight, place)

    def _state(self, values: dict[str, Any], place: Place) -> int:
        name = self._state_of_all or self._text(values, "state")
        if name is None:
            raise _UnplacedError("blank_states")
        number = self.states.get(name)
        if number is None:
            if len(name) > STATE_LIMIT and self.options.kind is None:
                raise cells.UnreadableError(f"a state's name of {len(name):,} characters")
            # Parts that tell the states of logs apart are counted once it is known which of them do.
            if len(self.states) == MOST_STATES and self.options.kind is None:
                found = f"one more, {shown(name)!r}"
                action = "Check which column is mapped to state."
                raise InputError(Problem("too many states", f"at most {MOST_STATES}", found, str(place), action))
            number = self.states[name] = len(self.states)
        return number

    def _repeat(self, key: int, state: int, values: dict[str, Any]) -> int:
        if "repeat" in self._name:
            raw = self._value(values, "repeat")
            if type(raw) is int:  # a place in the order of a log, which is numbered later
                return raw
            if raw is ABSENT or raw is None or raw == "":
                raise _UnplacedError("blank_repeats")
            known = self._repeats.get(raw) if type(raw) is str else None
            if known is not None:
                return known
            repeat = self._repeats[str(raw)] = cells.whole_of(raw)
            if len(self._repeats) > MOST_REPEATS:
                action = "Number the calls of a question in one state 1, 2, …; a seed or a row number is no repeat."
                found, where = f"more, such as {repeat}", self.source.name
                raise InputError(Problem("too many repeats", f"at most {MOST_REPEATS:,}", found, where, action))
            return repeat
        if not self.options.number_repeats:
            return 1
        self.counters[key, state] = self.counters.get((key, state), 0) + 1
        return self.counters[key, state]

    def _answer(self, values: dict[str, Any], place: Place) -> tuple[int, str | None, str | None]:
        raw = self._value(values, "answer")
        answer = raw if type(raw) is str else None if raw is ABSENT else cells.text_of(raw)
        if answer is None:
            kind = NO_KEY if raw is ABSENT else NULL
        else:
            kind = BLANK if not answer or answer.isspace() else TEXT
            if type(raw) is Number:
                self.tally.add("number_answers")
        status, error = self._value(values, "status"), self._value(values, "error")
        if status is ABSENT and error is ABSENT:
            return kind, answer, None
        error = json.dumps(error, ensure_ascii=False) if isinstance(error, dict | list) else error
        message = None if error is ABSENT or error in (None, False) or not str(error).strip() else str(error)
        word = "" if status is ABSENT or status is None else str(status).strip().casefold()
        if word not in _OK:
            if word not in _FAILED:
                self.tally.add("unknown_statuses", f"{shown(word)} ({place})")
            if kind == TEXT:
                self.tally.add("answers_of_failed_calls", place)
            return FAILED, None, message or answer or f"status {word}"
        if message and kind != TEXT:
            return FAILED, None, message
        if message:
            self.tally.add("answers_with_an_error_text", place)
        return kind, answer, message

    def _evidence(self, values: dict[str, Any], place: Place) -> tuple[str | None, int]:
        if not self._holds_evidence:
            return None, 0
        raw = self._value(values, "evidence")
        found = None if raw is ABSENT else cells.passages_of(raw)
        # One text, not a list: a row of its own for each passage, as the dedicated columns have it.
        single = bool(found) and isinstance(raw, str) and found[0].text == raw  # type: ignore[index]
        if single and str(raw).lstrip().startswith(('["', "['", "[{", '{"', "{'")):
            self.tally.add("evidence_in_other_notation", f"{place}: {shown(str(raw))}")
        if self._by_passage:
            document_id, text = self._text(values, "passage_id"), self._text(values, "passage")
            if document_id is not None or text is not None:
                text = text if text is not None or not single else str(raw)
                found, single = [cells.passage(document_id, text)], True
        if found is None:
            return None, int(self._by_passage)
        documents = [[p.document_id, p.score, p.title, self.staging.passage(p.text), p.family] for p in found]
        return json.dumps(documents, ensure_ascii=False), int(single or self._by_passage)

    def _said(self, kind: int, values: dict[str, Any], place: Place) -> tuple[str | None, str | None]:
        """What structured output says of an answer: its outcome and its excerpts."""
        if not self._holds_said:
            return None, None
        outcome, excerpts = None, []
        try:
            outcome = cells.outcome_of(values.get(self._name.get("outcome")))  # type: ignore[arg-type]
            excerpts = cells.excerpts_of(values.get(self._name.get("excerpts")))  # type: ignore[arg-type]
        except cells.UnreadableError as error:
            # Another column of that name: guessing would turn somebody's word into an outcome.
            action = "Correct the row, or leave the column unread: --map outcome=- or --map excerpts=-."
            self.facts.conflict(Problem(f"unusable outcome or excerpts: {error}", where=str(place), action=action))
        if kind not in (TEXT, BLANK) and (outcome or excerpts):
            self.tally.add("outcomes_without_answers", place)
            return None, None
        return outcome, json.dumps(excerpts, ensure_ascii=False) if excerpts else None

    def _call(self, values: dict[str, Any], place: Place) -> tuple[int | None, str | None, str | None]:
        if not self._holds_calls:
            return None, None, None
        raw = self._value(values, "cached")
        cached = None
        if raw is not ABSENT:
            try:
                cached = cells.flag_of(raw)
            except cells.UnreadableError as error:
                self.tally.add("unusable_cache_flags", f"{place}: {error}")
        return None if cached is None else int(cached), self._text(values, "response_id"), self._text(values, "time")


class _UnplacedError(ValueError):
    """A record that belongs to no cell; the text is the kind under which it is counted."""
