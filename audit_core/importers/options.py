"""What a person says about the files beyond what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from audit_core.errors import InputError, Problem
from audit_core.normalize import RULES
from audit_core.rules.phrases import usable


@dataclass(frozen=True, slots=True)
class Options:
    """Options of ``import table``, and of the kinds of logs.

    Attributes:
        mapping: ``column=name`` pairs, ours first.
        state: Name of the state, for files without such a column.
        state_from: Take the state from each file's name or from its folder's.
        number_repeats: Number the repeats of a question in a state in the order in which they come.
        gold_separator: Split gold texts at this; None keeps each whole.
        delimiter: Of CSV files; None takes a comma, or a tab for ``.tsv``.
        states: The ladder in order; empty takes the order of first appearance.
        endpoints: Old and new state; empty takes the only two states where there are two.
        closed_book: The state in which nothing was retrieved.
        rule: Key of `normalize.RULES`.
        title: Of the study; empty takes the folder's name.
        unknown: Answers that count as UNKNOWN.
        dry_run: Check and report, write nothing.
        kind: Name of the tool whose logs these are; None for tables.
        files: State of each file that was named with one; several files of a state are its repeats.
        state_parts: What tells the states of a log apart, such as ``provider`` or a path in its records.
        renamed: New name and found name of states.
        runs: State and file of ranked lists, which become the evidence of that state.
        run_depth: How many documents of each list were read; None for all.
        qrels: Judged relevance, of which slices are made; None for none.
        duplicates: What several rows for one question are, where a log does not say: asked about, or repeats.
        refusals: Texts that say that there is no answer, beside the shipped ones of `rules.outcome`; likewise `gaps`,
            texts that say that something is missing.
        shipped_texts: Whether the shipped texts count too.
        settings: State, name and value of what is known to be set in it.
    """

    mapping: tuple[str, ...] = ()
    state: str | None = None
    state_from: Literal["column", "file", "folder"] = "column"
    number_repeats: bool = False
    gold_separator: str | None = None
    delimiter: str | None = None
    states: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    closed_book: str | None = None
    rule: str = "nq_open/1"
    title: str = ""
    unknown: tuple[str, ...] = ("UNKNOWN",)
    dry_run: bool = False
    kind: str | None = None
    files: tuple[tuple[str, Path], ...] = ()
    state_parts: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    runs: tuple[tuple[str, Path], ...] = ()
    run_depth: int | None = None
    qrels: Path | None = None
    duplicates: Literal["ask", "repeats"] = "ask"
    refusals: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    shipped_texts: bool = True
    settings: tuple[tuple[str, str, str], ...] = ()

    def settings_of(self, state: str) -> tuple[tuple[str, str], ...]:
        """What is set in a state, by name."""
        return tuple(sorted((name, value) for where, name, value in self.settings if where == state))

    def named(self, path: Path) -> str | None:
        """The state that was named for a file, or for the innermost folder that it lies in."""
        above = (path, *path.parents)
        found = [(above.index(Path(file)), name) for name, file in self.files if Path(file) in above]
        return min(found)[1] if found else None

    def check(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            InputError: Naming each option.
        """
        problems = []
        if self.rule not in RULES:
            problems.append(
                Problem(
                    "no such normalization",
                    "one of " + ", ".join(RULES),
                    repr(self.rule),
                    "--rule",
                    "Name one of them.",
                )
            )
        if self.gold_separator == "":
            problems.append(
                Problem(
                    "the separator is empty",
                    "at least one character",
                    "none",
                    "--gold-separator",
                    "Leave it out, or name one.",
                )
            )
        if self.state is not None and not self.state.strip():
            problems.append(Problem("the state has no name", "text", repr(self.state), "--state", "Name the state."))
        if self.state is not None and self.state_from != "column":
            problems.append(
                Problem(
                    "the state is named twice", "one of --state and --state-from-…", "both", action="Leave one out."
                )
            )
        if any(not text.strip() for text in self.unknown):
            problems.append(
                Problem(
                    "a blank answer cannot stand for UNKNOWN",
                    "text",
                    "''",
                    "--unknown",
                    "Name the text that means UNKNOWN.",
                )
            )
        for option, texts in (("--refusal", self.refusals), ("--gap", self.gaps)):
            problems += [
                Problem("a text says nothing", "a word that an answer must hold", repr(text), option, "Write the text.")
                for text in texts
                if not usable(text)
            ]
        named = [(state, name) for state, name, _ in self.settings]
        problems += [
            Problem("a setting of a state is named twice", "one value", f"{state} {name}", "--setting", "Name it once.")
            for state, name in dict.fromkeys(named)
            if named.count((state, name)) > 1
        ]
        problems += [
            Problem("a setting has no name or no value", "NAME=VALUE", repr(f"{name}={value}"), "--setting",
                    "Write both sides.")
            for _, name, value in self.settings
            if not name.strip() or not value.strip()
        ]  # fmt: skip
        if problems:
            raise InputError(problems)
