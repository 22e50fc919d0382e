"""Files that a protocol names: questions, gold, shards and exclusions, read strictly, every fault at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audit_core.codec import CodecError, parse
from audit_core.collect.tables import ACTION, Record, Table
from audit_core.digests import sha256
from audit_core.errors import InputError, Problem
from audit_core.model import Gold, Question
from audit_core.prompts import Passage
from audit_core.sources import ROLES

NAMELESS = {name for table in ("questions", "gold") for role in ("question", "tags", "answers")
            for name in ROLES[table].get(role, ())}  # fmt: skip
"""A record of nothing but these has no id of its own; it gets one from its question."""


class _Columns:
    """Which column of a record plays which role; decided once for each set of columns."""

    def __init__(self, table: Table, kind: str, named: Mapping[str, str]) -> None:
        self._table, self._roles, self._named = table, ROLES[kind], named
        self._known: dict[frozenset[str], dict[str, str] | None] = {}
        self._style: bool | None = None
        if table.header is not None:
            keys = frozenset(table.header)
            found = self._known[keys] = self._of(keys, 1)
            table.only = sorted(set(found.values())) if found else None

    def of(self, record: Record, number: int) -> dict[str, str] | None:
        """Column by role, or None where a column is missing or ambiguous; that was noted as a fault."""
        keys = frozenset(self._table.header or record)
        if keys not in self._known:
            self._known[keys] = self._of(keys, number)
        found = self._known[keys]
        if found is not None:
            style = "id" in found
            self._style = style if self._style is None else self._style
            if style is not self._style:
                self._table.fault("some records have ids and others not", "all or none", ", ".join(sorted(keys)),
                                  number)  # fmt: skip
                return None
        return found

    def _of(self, keys: frozenset[str], number: int) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for role, names in self._roles.items():
            if role in self._named:
                name = self._named[role]
                if name and name not in keys:
                    self._table.fault(f"there is no column {name}", f"the column that columns.{role} names",
                                      ", ".join(sorted(keys)), number)  # fmt: skip
                    return None
                found |= {role: name} if name else {}
                continue
            present = [name for name in names if name in keys]
            if len(present) > 1 and present[0] != names[0]:
                self._table.fault(f"several columns could be the {role}", f"one, or columns.{role} in the protocol",
                                  ", ".join(present), number)  # fmt: skip
                return None
            if present:
                found[role] = present[0]
        needed: list[str] = [role for role in ("question", "answers", "text") if role in self._roles]
        if "answers" in needed and "id" in found:
            needed.remove("question")
        if "id" not in found and self._named.get("id") != "" and ("text" in needed or not keys <= NAMELESS):
            needed.insert(0, "id")
        for role in needed:
            if role not in found:
                self._table.fault(f"{self._roles[role][0]} is missing", "a column " + " or ".join(self._roles[role]),
                                  ", ".join(sorted(keys)), number)  # fmt: skip
                return None
        return found


def _text(table: Table, record: Record, key: str | None, number: int, default: str | None = None) -> str | None:
    value = default if key is None else record.get(key, default)
    if value is None:
        value = default
    if not isinstance(value, str) or (default is None and not value.strip()):
        table.fault(f"{key} is not what it must be", "text", repr(value), number)
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        table.fault(f"{key} is not valid Unicode", "text without lone surrogates", repr(value), number)
        return None
    return value


def _id(table: Table, record: Record, found: Mapping[str, str], number: int) -> str | None:
    """The id as text; a whole number stands as its digits, and a record without one is named by its question."""
    if "id" in found:
        value = record.get(found["id"])
        if type(value) is int:
            return str(value)
        return _text(table, record, found["id"], number)
    question = _text(table, record, found["question"], number)
    return None if question is None else question_name(question)


def question_name(question: str) -> str:
    """The id of a question that has none: ``q-`` and 16 digits of the SHA-256 of its text, white space compacted."""
    return "q-" + sha256(" ".join(question.split()).encode())[:16]


def questions(path: Path, named: Mapping[str, str] | None = None) -> list[Question]:
    """The whole population.

    Args:
        path: JSONL, CSV, TSV or Parquet.
        named: Columns by role, where the file uses other names.

    Raises:
        InputError: A record is not a question, or an id occurs twice; every fault is listed.
    """
    table = Table(path)
    columns = _Columns(table, "questions", named or {})
    out: list[Question] = []
    seen: dict[str, int] = {}
    for number, record in table.records():
        found = columns.of(record, number)
        if found is None:
            continue
        key, text = _id(table, record, found, number), _text(table, record, found["question"], number)
        given = record.get(found.get("tags", ""))
        tags = [] if given is None else _texts(given)
        if tags is None:
            table.fault("tags are not what they must be", "a list of texts", repr(given), number)
        given = record.get(found.get("parts", ""))
        parts = [] if given is None else _texts(given)
        if parts is None or not all(part.strip() for part in parts):
            table.fault("parts of a question are not what they must be", "a list of texts", repr(given), number)
            continue
        if key is None or text is None or tags is None or _twice(table, seen, key, number):
            continue
        out.append(Question(key, text, tuple(tags), parts=tuple(parts)))
    table.finish()
    return out


def gold(path: Path, wanted: list[str], named: Mapping[str, str] | None = None) -> list[Gold]:
    """Accepted answers of the wanted questions, in their order.

    Raises:
        InputError: A record is not gold, a question has it twice, or a wanted one has none; every fault is listed.
    """
    table = Table(path)
    columns = _Columns(table, "gold", named or {})
    held: dict[str, Gold] = {}
    seen: dict[str, int] = {}
    for number, record in table.records():
        found = columns.of(record, number)
        if found is None:
            continue
        key, value = _id(table, record, found, number), record.get(found["answers"])
        aliases = _aliases(value)
        if not aliases or not all(alias.strip() for alias in aliases):
            table.fault(f"{found['answers']} are not what they must be", "a list of texts", repr(value), number)
            aliases = None
        if key is None or not aliases or _twice(table, seen, key, number):
            continue
        held[key] = Gold(key, tuple(aliases))
    missing = [key for key in wanted if key not in seen]
    if missing:
        table.faults.append(Problem(f"{len(missing)} selected questions have no gold", "gold for each",
                                    ", ".join(missing[:5]), path.name, ACTION))  # fmt: skip
    table.finish()
    return [held[key] for key in wanted]


def shard(path: Path, named: Mapping[str, str] | None = None) -> Iterator[Passage]:
    """Passages of one shard, streamed.

    Raises:
        InputError: At the end; a record is not a passage, or an id occurs twice; every fault is listed.
    """
    table = Table(path)
    columns = _Columns(table, "corpus", named or {})
    seen: dict[str, int] = {}
    for number, record in table.records():
        found = columns.of(record, number)
        if found is None:
            continue
        key, text = _id(table, record, found, number), _text(table, record, found["text"], number)
        title, url, family = (_text(table, record, found.get(role), number, "") for role in ("title", "url", "family"))
        if None in (key, text, title, url, family) or _twice(table, seen, str(key), number):
            continue
        yield Passage(str(key), str(title), str(url), str(text), str(family))
    table.finish()


def exclusions(path: Path) -> list[str]:
    """Ids that may not be selected, one a line, to the letter.

    Raises:
        InputError: The file cannot be read, or is not UTF-8.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(Problem("an input of the protocol cannot be read", "a file", str(error.strerror), str(path),
                                 "Put it back.")) from None  # fmt: skip
    except UnicodeDecodeError as error:
        line = bytes(error.object[: error.start]).count(b"\n") + 1
        raise InputError(Problem("the file is not UTF-8", "UTF-8 text", "other bytes", f"{path.name}: line {line}",
                                 ACTION)) from None  # fmt: skip
    return [key for line in lines if (key := line.removesuffix("\r"))]


def _twice(table: Table, seen: dict[str, int], key: str, number: int) -> bool:
    first = seen.setdefault(key, number)
    if first == number:
        return False
    table.fault("an id occurs twice", "unique ids", f"{key[:60]}, first at {first}", number)
    return True


def _texts(value: Any) -> list[str] | None:
    """A list of texts; in a CSV it is written as a JSON list, and the empty cell is the empty list."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = parse(value.encode())
        except (CodecError, UnicodeEncodeError):
            return None
    if value == "":
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) and _valid(item) for item in value):
        return None
    return value


def _aliases(value: Any) -> list[str] | None:
    """Accepted answers: a list, one text, or an object as SQuAD (``text``) and TriviaQA (``aliases``) have it."""
    if isinstance(value, dict):
        listed = value.get("text", value.get("aliases"))
        first = [value["value"]] if "text" not in value and isinstance(value.get("value"), str) else []
        found = _texts(listed) if isinstance(listed, list) else None
        return None if found is None else list(dict.fromkeys([*found, *first]))
    if isinstance(value, str) and value and not value.startswith("["):
        return [value] if _valid(value) else None
    return _texts(value)


def _valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
