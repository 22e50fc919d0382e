"""promptfoo: results as JSON (versions up to 3) or JSONL; the order of equal tests is the number of the repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.importers.kinds.log import Kind, Log, Row, Rows, mixed
from audit_core.importers.kinds.texts import EVIDENCE, GOLD, QUESTION, named, written
from audit_core.importers.values import ABSENT, plain, shown

NEWEST = 3
ERROR = "2"
"""``failureReason`` of a call that failed; 1 is an assertion that failed, which is an answer."""
HOW = "take the copies out of the file, or say --duplicates repeats where they are repeats."


class Promptfoo(Rows):
    """Rows of one file of results."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._question: str | None = None
        self._fields: dict[str, str | None] = {}
        # Per question and way to answer: a mark of its variables and of its test, and how many rows it has.
        self._groups: dict[int, list[int]] = {}
        self._texts: dict[int, str] = {}
        self._different: dict[int, str] = {}
        # The provider's id and the prompt's place, by the names of both; two with the same names would be mixed up.
        self._ways: dict[tuple[object, ...], tuple[str, str]] = {}
        self._namesakes: dict[str, str] = {}
        self._taken = 0

    def rows(self, record: dict[str, Any]) -> Iterator[Row]:
        """One answer, or the error in its place."""
        variables = record.get("vars")
        if not isinstance(variables, dict):
            variables = {}
        self._taken += 1
        provider, prompt = _provider(record.get("provider")), _prompt(record)
        question = self._asked(record, variables)
        if self.log.options.duplicates == "ask":
            self._group(record, variables, question, (provider, prompt))
        response = record.get("response")
        response = response if isinstance(response, dict) else {}
        # The order of tests is the order of repeats; where an old file lacks it, the order of rows.
        order = record.get("testIdx", self._taken)
        row: Row = {
            "question": question,
            "state": {"provider": provider, "prompt": prompt},
            "repeat": int(order) if str(order).isdecimal() and len(str(order)) < 16 else self._taken,
            "gold": self._field("gold", GOLD, variables),
            "cached": response.get("cached"),
        }
        failed, error = str(record.get("failureReason", "")), record.get("error")
        if failed == ERROR:
            row |= {"status": "error", "error": error or response.get("error") or "promptfoo reports an error"}
        elif "output" in response and response["output"] is not None:
            row["answer"] = response["output"]
        elif error or response.get("error"):
            row |= {"status": "error", "error": error or response.get("error")}
        elif "output" in response:
            row["answer"] = None
        row["evidence"] = self._evidence(record, variables)
        yield row

    def finish(self) -> None:
        """Ask about questions that may stand twice in the tests, rather than take them for repeats."""
        version = self.log.head.get(("results", "version"))
        if version is not None and (not str(version).isdecimal() or int(version) > NEWEST):
            action = "Export it with a promptfoo that writes version 3, and report the new format."
            raise InputError(
                Problem(
                    "unknown version of results", f"at most {NEWEST}", shown(str(version)), self.log.source.name, action
                )
            )
        if self.log.options.duplicates != "ask":
            return
        where = self.log.source.name
        if self._namesakes:
            raise InputError(
                Problem(
                    "two providers or prompts have one name",
                    "a label of its own for each",
                    mixed(list(self._namesakes.values())),
                    where,
                    f"Tell them apart: --state-from {','.join(sorted(self._namesakes))}. Or say --duplicates repeats "
                    "where they are repeats.",
                )
            )
        if self._different:
            names = list(self._different.values())
            raise InputError(
                Problem(
                    f"{len(names):,} question(s) stand in several tests",
                    "one test for each question, provider and prompt",
                    mixed(names),
                    where,
                    f"If they differ in what was retrieved, name that variable: --state-from vars.NAME. Or {HOW}",
                )
            )
        counts = Counter(group[1] for group in self._groups.values())
        declared = self._declared()
        # As many as most questions have; of two that are as frequent the fewer, so that the others are asked about.
        usual = declared or min(counts, key=lambda n: (-counts[n], n), default=1)
        odd = [self._texts[mark] for mark, group in self._groups.items() if group[1] > usual]
        if odd:
            expected = f"{usual} row(s) for each question, as the others have" if not declared else f"{usual} repeats"
            raise InputError(
                Problem(
                    f"{len(odd):,} question(s) have more rows than repeats",
                    expected,
                    mixed(odd),
                    where,
                    HOW[0].upper() + HOW[1:],
                )
            )
        if usual > 1:
            self.log.tally.add("repeats_numbered_here", f"{where}: {usual} for each question, by the order of tests")

    def _asked(self, record: dict[str, Any], variables: dict[str, Any]) -> Any:
        if (path := self.log.mapped.get("question")) is not None:
            value = self.log.look(record, path)
            return None if value is ABSENT else value if isinstance(value, str) else written(value)
        if self._question is None or self._question not in variables:
            texts = [name for name, value in variables.items() if isinstance(value, str)]
            name = named(QUESTION, texts) or (texts[0] if len(texts) == 1 else None)
            if name is None and not variables and (raw := _raw(record)):
                self.log.guessed("question", "prompt.raw")
                return raw
            if name is None:
                raise InputError(
                    Problem(
                        "which variable is the question?",
                        "one of the test's variables",
                        mixed(texts) or "none",
                        str(self.log.source.at(self._taken)),
                        "Name it: --map question=vars.NAME",
                    )
                )
            self._question = name
            self.log.guessed("question", f"vars.{name}")
        return variables[self._question]

    def _field(self, column: str, names: tuple[str, ...], variables: dict[str, Any]) -> Any:
        if column not in self._fields and variables:
            name = named(names, (name for name in variables if name != self._question))
            self._fields[column] = name
            if name is not None:
                self.log.guessed(column, f"vars.{name}")
        name = self._fields.get(column)
        return None if name is None else variables.get(name)

    def _evidence(self, record: dict[str, Any], variables: dict[str, Any]) -> Any:
        grading = record.get("gradingResult")
        metadata = grading.get("metadata") if isinstance(grading, dict) else None
        if isinstance(metadata, dict) and metadata.get("context"):
            self.log.guessed("evidence", "gradingResult.metadata.context")
            return metadata["context"]
        return self._field("evidence", EVIDENCE, variables)

    def _group(self, record: dict[str, Any], variables: dict[str, Any], question: Any, way: tuple[str, str]) -> None:
        """Count the rows of one question and way to answer."""
        known, asked_for = self.log.kind.states, self.log.options.state_parts
        parts = [self.log.look(record, part) for part in asked_for if part not in known]
        text = question if isinstance(question, str) else written(question)
        here = (_provider_id(record.get("provider")), str(record.get("promptIdx", "")))
        first = self._ways.setdefault((*way, *map(repr, parts)), here)
        if first != here:
            found = "provider.id" if first[0] != here[0] else "promptIdx"
            self._namesakes.setdefault(found, " / ".join(part for part in way if part) or "no name")
        mark = hash((plain(text).casefold(), way, tuple(map(repr, parts))))
        test = record.get("testCase")
        test = test if isinstance(test, dict) else {}
        # What promptfoo adds while it runs is another for each call.
        given = {name: value for name, value in variables.items() if name != "sessionId" and not name.startswith("_")}
        asked = hash((_mark(given), _mark(test.get("description")), _mark(test.get("assert"))))
        group = self._groups.setdefault(mark, [asked, 0])
        group[1] += 1
        self._texts.setdefault(mark, shown(text, 80))
        if group[0] != asked:
            self._different.setdefault(mark, self._texts[mark])

    def _declared(self) -> int | None:
        """How often the file says that each test was repeated."""
        config = self.log.head.get(("config",)) or {}
        if not isinstance(config, dict):
            config = {}
        for options in ("evaluateOptions", "commandLineOptions"):
            # A file keeps its configuration in pieces, since its tests are passed over.
            value = self.log.head.get(("config", options), config.get(options))
            repeat = value.get("repeat") if isinstance(value, dict) else None
            if repeat is not None and str(repeat).isdecimal() and int(repeat) > 0:
                return int(repeat)
        return None


def _mark(value: Any) -> int:
    """A mark of a JSON value that another one hardly shares."""
    if isinstance(value, dict):
        return hash(tuple((key, _mark(item)) for key, item in value.items()))
    return hash(tuple(map(_mark, value))) if isinstance(value, list) else hash(value)


def _provider(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("label") or value.get("id")
    return value if isinstance(value, str) else ""


def _provider_id(value: Any) -> str:
    found = value.get("id") if isinstance(value, dict) else value
    return found if isinstance(found, str) else ""


def _prompt(record: dict[str, Any]) -> str:
    """What tells the prompt apart: its label, or its place; never its text with the variables filled in."""
    prompt, index = record.get("prompt"), record.get("promptIdx")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    if isinstance(label, str) and label and label != prompt.get("raw"):  # type: ignore[union-attr]
        return label
    identity = record.get("promptId")
    return identity if isinstance(identity, str) else "" if index is None else f"prompt {index}"


def _raw(record: dict[str, Any]) -> str | None:
    prompt = record.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    return raw if isinstance(raw, str) and raw.strip() else None


PROMPTFOO = Kind(
    "promptfoo",
    "results of promptfoo: -o results.json or .jsonl, or promptfoo export",
    Promptfoo,
    ("json", "jsonl"),
    arrays=(("results", "results"), ("results",)),
    dropped=(("config", "tests"), ("results", "table", "body"), ("results", "prompts"), ("config", "scenarios")),
    states=("file", "provider", "prompt"),
    roots=("vars", "", "testCase.metadata", "metadata"),
    ordered=True,
)
