"""What the gate found, as console text, JSON facts, JUnit XML and Markdown: the same sentences in each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from audit_core import __version__
from audit_core.deciding import TITLES, WORDS, ReleaseOutcome
from audit_core.errors import visible
from audit_core.model import CheckResult
from audit_core.reviews.fold import Pair

SIGNS = {True: "✓", False: "✗", None: "–"}
MARKS = {
    "junit": (b"<?xml", b"snapshot-audit gate"),
    "markdown": (b"### ", b"| outcome | condition | what was found |"),
}
"""How a file of each kind begins, and what follows near its beginning."""
EXIT = {"met": 0, "not met": 1, "cannot be decided": 4}


@dataclass(frozen=True, slots=True)
class Gate:
    """One run of the gate.

    Attributes:
        study_id: The study, or the name of its folder where its checks failed.
        pair: The endpoints; None where the checks failed.
        lock: Id of the last lock; empty where there is none.
        basis: Where the rule comes from and when it was fixed, as sentences.
        rule_sha256: Of the file that holds the rule; empty for the protocol's own.
        found: What came of the rule; None where the checks failed, because nothing is decided then.
        failed: Checks that failed.
    """

    study_id: str
    pair: Pair | None
    lock: str
    basis: str
    rule_sha256: str
    found: ReleaseOutcome | None
    failed: Sequence[CheckResult] = ()

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met or a check failed, 4 cannot be decided."""
        return EXIT[self.found.outcome] if self.found else 1

    @property
    def headline(self) -> str:
        """One sentence."""
        if self.found:
            return self.found.headline
        named = ", ".join(check.check_id for check in self.failed)
        return f"Nothing is decided: the study failed check {named}."

    @property
    def lines(self) -> list[tuple[bool | None, str, str]]:
        """Met, title and sentence of each condition; of each failed check where there are any."""
        if self.found is None:
            return [(False, f"{c.check_id} {c.title}", c.detail) for c in self.failed]
        return [(c.met, TITLES[c.name], c.sentence) for c in self.found.conditions]


def facts(gate: Gate) -> dict[str, Any]:
    """The gate as JSON."""
    found = gate.found
    return {
        "study": gate.study_id,
        "states": list(gate.pair) if gate.pair else None,
        "ok": gate.exit_code == 0,
        "outcome": found.outcome if found else None,
        "headline": gate.headline,
        "rule": gate.basis,
        "rule_sha256": gate.rule_sha256 or None,
        "lock": gate.lock or None,
        "conditions": [
            {"name": c.name, "title": TITLES[c.name], "met": c.met, "outcome": WORDS[c.met], "sentence": c.sentence}
            for c in (found.conditions if found else ())
        ],
        "numbers": [{"name": n.name, "title": n.title, "text": n.text} for n in (found.numbers if found else ())],
        "failed_checks": [{"id": c.check_id, "title": c.title, "detail": c.detail} for c in gate.failed],
    }


def junit(gate: Gate) -> bytes:
    """The gate as JUnit XML: one test case a condition.

    What is not met is a failure; what cannot be decided is an error, because a skipped case would show as green.
    """
    lines = gate.lines
    counts = {
        "tests": str(len(lines)),
        "failures": str(sum(met is False for met, _, _ in lines)),
        "errors": str(sum(met is None for met, _, _ in lines)),
        "skipped": "0",
        "time": "0",
    }
    root = ElementTree.Element("testsuites", {"name": "snapshot-audit gate", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(f"release rule of {gate.study_id}"), **counts})
    properties = ElementTree.SubElement(suite, "properties")
    told = {"outcome": gate.headline, "rule": gate.basis, "rule_sha256": gate.rule_sha256, "last_lock": gate.lock}
    told |= {number.title: number.text for number in (gate.found.numbers if gate.found else ())}
    for name, value in told.items():
        if value:
            ElementTree.SubElement(properties, "property", {"name": _xml(name), "value": _xml(value)})
    for met, title, sentence in lines:
        case = {"classname": _xml(f"snapshot-audit.gate.{gate.study_id}"), "name": _xml(title), "time": "0"}
        element = ElementTree.SubElement(suite, "testcase", case)
        if met is True:
            ElementTree.SubElement(element, "system-out").text = _xml(sentence)
        else:
            told = {"message": _xml(sentence), "type": WORDS[met]}
            ElementTree.SubElement(element, "failure" if met is False else "error", told).text = _xml(sentence)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return written + b"\n"


def markdown(gate: Gate) -> str:
    """The gate as a comment under a pull request; study text stays text, and nothing is linked."""
    met = None if gate.exit_code == 4 else gate.exit_code == 0
    where = f"Study {escaped(gate.study_id)}"
    where += f", {escaped(gate.pair[0])} → {escaped(gate.pair[1])}" if gate.pair else ""
    parts = [f"### {SIGNS[met]} {escaped(gate.headline)}", f"{where}. {escaped(gate.basis)}".strip()]
    rows = [f"| {SIGNS[met]} {WORDS[met]} | {escaped(title)} | {escaped(text)} |" for met, title, text in gate.lines]
    parts.append("\n".join(["| outcome | condition | what was found |", "|---|---|---|", *rows]))
    if gate.found:
        rows = [f"| {escaped(number.title)} | {escaped(number.text)} |" for number in gate.found.numbers]
        parts.append("\n".join(["| read together | |", "|---|---|", *rows]))
    checked = "" if gate.failed else "Every check of the study that could be made passed. "
    lock = f"Last lock {gate.lock}. " if gate.lock else ""
    parts.append(f"{checked}{lock}snapshot-audit {__version__}.")
    return "\n\n".join(parts) + "\n"


_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_PLAIN = re.compile(r"[,;%'()\"]|(?<![wW])\.|:(?=\s|$)|(?<=[^\W_])-(?=[^\W_])")
"""Punctuation that starts nothing in CommonMark or in GitHub's additions, so that sentences stay readable;
a full stop after a w may belong to an address without a scheme."""
_JOINER = "\u2060"
"""Parts a sign from what follows: GitHub looks for mentions and references in the rendered text too."""


def escaped(text: str) -> str:
    """Text that Markdown shows to the letter: no emphasis, link, image, HTML, table cell, heading or mention."""
    text = " ".join(visible(text).split())
    plain = {found.start() for found in _PLAIN.finditer(text)}
    return _PUNCTUATION.sub(
        lambda found: found[0] if found.start() in plain else f"\\{found[0]}{_JOINER * (found[0] in '@#$')}", text
    )


def _xml(text: str) -> str:
    """Text without characters that XML 1.0 forbids."""
    return visible(text.replace("\n", " ")).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
