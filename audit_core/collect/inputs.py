"""Files that a protocol names: questions, gold and shards, read strictly, every fault at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit_core.codec import CodecError, parse
from audit_core.digests import sha256_file
from audit_core.errors import InputError, Problem
from audit_core.model import Gold, Question
from audit_core.prompts import Passage
from audit_core.protocol import Protocol, Source

ACTION = "Correct the file; nothing was written."


def source(base: Path, name: str) -> Source:
    """Name, digest and size of an input."""
    path = base / name
    return Source(name, sha256_file(path), path.stat().st_size)


def check_unchanged(base: Path, protocol: Protocol, names: Iterator[str] | tuple[str, ...]) -> None:
    """Refuse an input that is not the one that was frozen.

    Raises:
        InputError: A file is missing or differs; one message lists them all.
    """
    known = {item.name: item for item in protocol.sources}
    faults = []
    for name in names:
        path = base / name
        if not path.is_file():
            faults.append(
                Problem(
                    "an input of the protocol is missing",
                    name,
                    "no such file",
                    str(path),
                    "Put it back, or name its folder with --inputs.",
                )
            )
        elif sha256_file(path) != known[name].sha256:
            faults.append(
                Problem(
                    "an input differs from the frozen one",
                    f"sha256 {known[name].sha256[:12]}…",
                    f"{sha256_file(path)[:12]}…",
                    str(path),
                    "Restore it, or freeze a new protocol.",
                )
            )
    if faults:
        raise InputError(faults)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(
            Problem("an input of the protocol cannot be read", "a file", str(error.strerror), str(path), "Put it back.")
        ) from None
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = parse(line.strip())
            except CodecError as error:
                raise InputError(
                    Problem(
                        f"damaged record: {error}", "one JSON object a line", "", f"{path.name}: line {number}", ACTION
                    )
                ) from None
            if not isinstance(record, dict):
                raise InputError(
                    Problem(
                        "a record is not an object",
                        "a JSON object",
                        str(record)[:60],
                        f"{path.name}: line {number}",
                        ACTION,
                    )
                )
            yield number, record


def _text(record: dict[str, Any], key: str, path: Path, number: int, default: str | None = None) -> str:
    value = record.get(key, default)
    if not isinstance(value, str) or (default is None and not value):
        raise InputError(
            Problem(f"{key} is not what it must be", "text", repr(value)[:60], f"{path.name}: line {number}", ACTION)
        )
    return value


def questions(path: Path) -> list[Question]:
    """The whole population.

    Raises:
        InputError: A record is not a question.
    """
    out = []
    for number, record in _records(path):
        tags = record.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise InputError(
                Problem(
                    "tags are not what they must be",
                    "a list of texts",
                    repr(tags)[:60],
                    f"{path.name}: line {number}",
                    ACTION,
                )
            )
        out.append(
            Question(_text(record, "question_id", path, number), _text(record, "question", path, number), tuple(tags))
        )
    return out


def gold(path: Path, wanted: list[str]) -> list[Gold]:
    """Accepted answers of the wanted questions, in their order.

    Raises:
        InputError: A record is not gold, a question has it twice, or a wanted one has none.
    """
    held: dict[str, Gold] = {}
    for number, record in _records(path):
        key, aliases = _text(record, "question_id", path, number), record.get("aliases")
        if not isinstance(aliases, list) or not aliases or not all(isinstance(alias, str) for alias in aliases):
            raise InputError(
                Problem(
                    "aliases are not what they must be",
                    "a list of texts",
                    repr(aliases)[:60],
                    f"{path.name}: line {number}",
                    ACTION,
                )
            )
        if key in held:
            raise InputError(
                Problem("a question has gold twice", "one record", key[:60], f"{path.name}: line {number}", ACTION)
            )
        held[key] = Gold(key, tuple(aliases))
    missing = [key for key in wanted if key not in held]
    if missing:
        raise InputError(
            Problem(
                f"{len(missing)} selected questions have no gold",
                "gold for each",
                ", ".join(missing[:5]),
                path.name,
                ACTION,
            )
        )
    return [held[key] for key in wanted]


def shard(path: Path) -> list[Passage]:
    """Passages of one shard.

    Raises:
        InputError: A record is not a passage, or an id occurs twice.
    """
    out, seen = [], set()
    for number, record in _records(path):
        key = _text(record, "document_id", path, number)
        if key in seen:
            raise InputError(
                Problem(
                    "a document id occurs twice in a shard",
                    "unique ids",
                    key[:60],
                    f"{path.name}: line {number}",
                    ACTION,
                )
            )
        seen.add(key)
        out.append(
            Passage(
                key,
                _text(record, "title", path, number, ""),
                _text(record, "url", path, number, ""),
                _text(record, "text", path, number),
            )
        )
    return out
