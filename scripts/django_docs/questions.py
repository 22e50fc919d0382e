"""Questions whose answers code reads from the documentation: defaults of settings and arguments, oldest versions.

A question is *conflicting* when releases give it different answers, *stable* when all that speak of it agree. Gold is
the answer of the newest release that speaks of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit_core.codec import Record
from audit_core.selection import position
from scripts.django_docs.releases import short

SEED = "django-docs"
STABLE_SETTINGS, STABLE_ARGUMENTS = 38, 18
FIRST, NEWEST = "3.2.25", "5.2"
CLASS = re.compile(r"``'``\s*:class:`~?([\w.]+)`\\ ``'``")
SETTING = re.compile(
    r"^\.\. setting:: ([A-Z][A-Z0-9_]*)\n\n(?:``)?\1(?:``)?\n-+\n\n(.*?)(?=^\.\. setting::|\Z)", re.M | re.S
)
DEFAULT = re.compile(r"^Default: ``([^`]+)``(?:\s+\(([^)]*)\))?\.?$", re.M)
VERSION = re.compile(r"Django supports (PostgreSQL|MySQL|MariaDB|SQLite) ([\d.]+\d|\d+) and (?:higher|later)")
SIGNATURE = re.compile(
    r"^ *\.\. (?:class|method|function|classmethod):: *([\w.]+)\(([^()]*(?:\(\)[^()]*)*)\)\s*$", re.M
)
ARGUMENT = re.compile(r"(\w+)=('[^']*'|\"[^\"]*\"|\(\)|\[\]|[^,\[\]()'\"\s]+)(?=\s*(?:[,\]\[]|$))")


@dataclass(frozen=True, slots=True)
class Fact:
    """What one release says.

    Attributes:
        literal: As it is written, without its quotes.
        value: What Python makes of it; an unquoted word is text.
        remark: In words, such as ``2 weeks, in seconds``.
    """

    literal: str
    value: Any
    remark: str = ""


Facts = dict[str, dict[str, Fact]]
"""By name, then by release."""


def fact(literal: str, remark: str = "") -> Fact | None:
    """A literal as a fact; None for what is neither a literal nor a plain word."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        if not re.fullmatch(r"[\w./,: -]+", literal):
            return None
        value = literal
    if isinstance(value, bytes):
        value = value.decode()
    plain = value if isinstance(value, str) and value else literal
    return Fact(plain, list(value) if isinstance(value, tuple) else value, " ".join((remark or "").split()))


def settings(source: str) -> Iterator[tuple[str, Fact]]:
    """Settings of ``ref/settings`` with a default that stands on one line."""
    for match in SETTING.finditer(CLASS.sub(r"``'\1'``", source)):
        default = DEFAULT.search(match[2])
        found = fact(default[1], default[2] or "") if default and len(default[1]) <= 60 else None
        if found:
            yield match[1], found


def versions(source: str) -> Iterator[tuple[str, Fact]]:
    """Databases of ``ref/databases`` with the oldest version that is supported."""
    for name, number in VERSION.findall(source):
        yield name, Fact(number, number)


def arguments(source: str) -> Iterator[tuple[str, Fact]]:
    """``Name argument`` of every signature with a literal default; a name that a page gives twice is left out."""
    found: dict[str, Fact | None] = {}
    for name, given in SIGNATURE.findall(source):
        for argument, literal in ARGUMENT.findall(given):
            key = f"{name} {argument}"
            try:
                ast.literal_eval(literal)
            except (ValueError, SyntaxError):
                continue
            found[key] = None if key in found else fact(literal)
    for key, value in found.items():
        if value is not None:
            yield key, value


def gather(pages: Mapping[str, Mapping[str, str]]) -> tuple[Facts, Facts, Facts]:
    """Settings, versions and arguments of all releases.

    Args:
        pages: Source by release and page.
    """
    found: tuple[Facts, Facts, Facts] = ({}, {}, {})
    where: dict[str, str] = {}
    for release, sources in pages.items():
        for name, value in settings(sources.get("ref/settings", "")):
            found[0].setdefault(name, {})[release] = value
        for name, value in versions(sources.get("ref/databases", "")):
            found[1].setdefault(name, {}).setdefault(release, value)
        for page, source in sources.items():
            if page.startswith(("ref/contrib/gis", "howto/")):
                continue
            for name, value in arguments(source):
                if where.setdefault(name, page) == page:  # a name of another page is another thing
                    found[2].setdefault(name, {})[release] = value
    return found


def conflicting(facts: Mapping[str, Fact]) -> bool:
    """Whether releases disagree in substance: ``()`` and ``[]``, ``0`` and ``False`` are the same answer."""
    values = [f.value for f in facts.values()]
    return any(value != values[0] for value in values)


def questions(pages: Mapping[str, Mapping[str, str]]) -> list[tuple[Record, Record]]:
    """All questions with their gold, in the order of their ids."""
    sets, bases, args = gather(pages)
    order = sorted(pages, key=_number)
    out = []
    chosen = [n for n, f in sets.items() if FIRST in f and conflicting(f)]
    stable = [n for n, f in sets.items() if {FIRST, NEWEST} <= f.keys() and not conflicting(f) and _answerable(f)]
    for name in [*chosen, *_first(stable, STABLE_SETTINGS)]:
        text = f"What is the default value of the {name} setting in Django?"
        out.append(_made("setting", name, text, sets[name], order))
    for name, facts in bases.items():
        text = f"Django supports which {name} version and higher?"
        out.append(_made("version", name, text, facts, order))
    both = {n: f for n, f in args.items() if {FIRST, NEWEST} <= f.keys() and _answerable(f)}
    chosen = [n for n, f in both.items() if conflicting(f)]
    stable = [n for n, f in both.items() if not conflicting(f) and f[NEWEST].value not in (None, False, [])
              and re.search(r"[A-Z_.].* ", n)]  # fmt: skip
    for name in [*chosen, *_first(stable, STABLE_ARGUMENTS)]:
        of, argument = name.split()
        text = f"In Django, what is the default value of the {argument} argument of {of}?"
        out.append(_made("argument", name, text, args[name], order))
    return sorted(out, key=lambda pair: pair[0]["question_id"])


def _first(names: Iterable[str], count: int) -> list[str]:
    """As many names as wanted, in the order of a hash: nobody picks."""
    return sorted(names, key=lambda name: position(SEED, name))[:count]


def _answerable(facts: Mapping[str, Fact]) -> bool:
    """Whether the newest answer has words: what is all punctuation cannot be told apart after normalization."""
    newest = facts[NEWEST] if NEWEST in facts else next(iter(facts.values()))
    return not isinstance(newest.value, str) or bool(re.search(r"\w", newest.value)) or newest.remark == "Empty string"


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _made(kind: str, name: str, text: str, facts: Mapping[str, Fact], order: list[str]) -> tuple[Record, Record]:
    key = f"dj-{kind}-{name.replace(' ', '-')}"
    newest = facts[[release for release in order if release in facts][-1]]
    tags = ["conflicting" if conflicting(facts) else "stable", kind]
    said = {short(release): facts[release].literal for release in order if release in facts}
    question = {"question_id": key, "question": text, "tags": tags}
    return question, {"question_id": key, "aliases": aliases(kind, name, newest), "said": said}


def aliases(kind: str, name: str, newest: Fact) -> list[str]:
    """Forms of one answer that are accepted."""
    literal = newest.literal
    if kind == "version":
        return [literal, f"{name} {literal}", f"{literal} and higher", f"{name} {literal} and higher", f"{literal}+"]
    found = [literal]
    words: dict[type, str] = {str: "string", list: "tuple" if literal == "()" else "list", dict: "dictionary"}
    word = words.get(type(newest.value))
    if word and not newest.value:
        found = [literal, f"empty {word}", f"{literal} (Empty {word})"]
    elif isinstance(newest.value, str):
        found = [literal, f"'{literal}'"]
    elif newest.remark and type(newest.value) is int:
        told = newest.remark.removeprefix("i.e. ").removeprefix("approximately ").removesuffix(", in seconds")
        found += [told, f"{literal} ({newest.remark})"]
        found += [f"{literal} seconds"] if "seconds" in newest.remark else []
    return found
