"""reStructuredText of the documentation → plain passages of at most 420 characters under their section.

This is no parser of the language: it knows the few forms that these pages use, and what it does not know it leaves as
text. What matters is that the same bytes give the same passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LIMIT = 420
RULE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*")
DIRECTIVE = re.compile(r"\.\. ([A-Za-z][\w-]*(?::[\w-]+)?)::\s*(.*)")
DROPPED = re.compile(
    "_|contents|currentmodule|figure|highlight|highlightlang|image|index|literalinclude|module|program|raw|seealso|"
    "setting|sidebar|toctree"
)
"""Directives of which nothing is kept, their block included."""
SILENT = re.compile(
    "attention|caution|code|code-block|console|container|csv-table|danger|deprecated|hint|important|list-table|note|"
    "parsed-literal|rubric|snippet|table|tabs|tip|topic|versionadded|versionchanged|versionremoved|warning"
)
"""Directives whose name and argument say nothing, but whose block is text."""
ROLE = re.compile(r":[\w:+-]+:`([^`]*)`")
LINK = re.compile(r"`([^`<]+?)\s*<[^>]*>`_{1,2}")
REFERENCE = re.compile(r"`([^`]+)`_{0,2}")
LITERAL = re.compile(r"``(.+?)``")
STRONG = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])")
SENTENCE = re.compile(r"(?<=[.!?:;])\s+")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the paragraphs under it, up to the next heading."""

    page: str
    name: str
    paragraphs: tuple[str, ...]


def plain(text: str) -> str:
    """Text without inline markup, white space compacted."""
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        literals.append(match.group(1))
        return f"\x00{len(literals) - 1}\x00"

    text = LITERAL.sub(keep, " ".join(text.split()))
    text = ROLE.sub(_role, text)
    text = LINK.sub(r"\1", text)
    text = REFERENCE.sub(r"\1", text)
    text = STRONG.sub(lambda m: m.group(1) or m.group(2), text)
    text = re.sub(r"::(?=\s|$)", ":", text)
    text = re.sub(r"\\(.)", r"\1", text)
    return re.sub(r"\x00(\d+)\x00", lambda m: literals[int(m.group(1))], text).strip()


def _role(match: re.Match[str]) -> str:
    text = match.group(1)
    shown = text.partition("<")[0].strip() if text.endswith(">") else ""
    if shown:
        return shown.lstrip("!")
    text = text.strip("<>")
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.lstrip("!")


def sections(source: str) -> list[Section]:
    """Sections of one page, in order; the first heading names the page."""
    found: list[tuple[str, list[list[str]]]] = [("", [[]])]
    lines = source.expandtabs(4).splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if RULE.fullmatch(line) and following.strip() and number + 2 < len(lines) and RULE.fullmatch(lines[number + 2]):
            found.append((plain(following), [[]]))
            number += 3
        elif line.strip() and not line.startswith(" ") and RULE.fullmatch(following) and len(following.strip()) >= 3:
            found.append((plain(line), [[]]))
            number += 2
        else:
            number = _body(lines, number, found[-1][1])
    page = next((name for name, _ in found if name), "")
    return [Section(page, name or page, paragraphs) for name, blocks in found if (paragraphs := _paragraphs(blocks))]


def _paragraphs(blocks: list[list[str]]) -> tuple[str, ...]:
    return tuple(text for block in blocks if (text := plain(" ".join(block))))


def _body(lines: list[str], number: int, blocks: list[list[str]]) -> int:
    """Take one line of text, or one directive; returns the line to go on with."""
    line = lines[number]
    indent = len(line) - len(line.lstrip())
    stripped = line.strip()
    if not stripped:
        blocks.append([])
        return number + 1
    if stripped.startswith("..") and (stripped == ".." or stripped[2] in " "):
        blocks.append([])
        directive = DIRECTIVE.match(stripped)
        name, argument = directive.groups() if directive else ("_", "")
        if DROPPED.fullmatch(name):
            return _after(lines, number + 1, indent)
        number += 1
        if argument and not SILENT.fullmatch(name):
            while lines[number - 1].rstrip().endswith("\\") and number < len(lines):
                argument = f"{argument.rstrip(chr(92))} {lines[number].strip()}"
                number += 1
            blocks += [[argument], []]
        while number < len(lines) and re.fullmatch(r"\s+:[\w-]+:.*", lines[number]):
            number += 1  # options of the directive
        return number
    if re.fullmatch(r"[-=+|\s]{4,}", line) and set(stripped) & set("-=+"):
        return number + 1  # rules of tables
    blocks[-1].append(stripped.strip("|") if stripped.startswith("|") else stripped)
    return number + 1


def _after(lines: list[str], number: int, indent: int) -> int:
    """The first line behind an indented block."""
    while number < len(lines) and (
        not lines[number].strip() or len(lines[number]) - len(lines[number].lstrip()) > indent
    ):
        number += 1
    return number


def passages(section: Section) -> Iterator[str]:
    """The section as texts of at most `LIMIT` characters, each beginning with the heading."""
    head = f"{section.name[:120]}: " if section.name else ""
    room = LIMIT - len(head)
    held = ""
    for paragraph in section.paragraphs:
        for piece in _pieces(paragraph, room):
            if held and len(held) + 1 + len(piece) > room:
                yield head + held
                held = ""
            held = f"{held} {piece}".strip()
    if held:
        yield head + held


def _pieces(text: str, room: int) -> Iterator[str]:
    """A paragraph cut at ends of sentences, else between words, else anywhere."""
    if len(text) <= room:
        yield text
        return
    for sentence in SENTENCE.split(text):
        while len(sentence) > room:
            cut = sentence.rfind(" ", 1, room + 1)
            cut = cut if cut > 0 else room
            yield sentence[:cut].strip()
            sentence = sentence[cut:].strip()
        if sentence:
            yield sentence


def slug(text: str) -> str:
    """Lower-case words of a text joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9_]+", text.lower()))[:60] or "top"
