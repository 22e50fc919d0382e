"""What an import says about questions: text, gold, tags and weight, one value each however many rows repeat it."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any

from audit_core.digests import sha256
from audit_core.errors import Problem
from audit_core.importers import cells
from audit_core.importers.sources import Place
from audit_core.importers.staging import Staging
from audit_core.importers.tally import Tally
from audit_core.importers.values import plain, shown


def made_id(text: str) -> str:
    """Id of a question in files without ids: a digest of its text without differences of layout and case."""
    return "q-" + sha256(plain(text).casefold().encode())[:16]


class Facts:
    """Questions in the order in which they first came.

    Attributes:
        keys: Number of each question by id.
        asked: 1 for each question that a file with answers names, else 0.
        conflicts: What stops the import once all files were read, such as ids that stand for two questions or golds.
    """

    def __init__(self, staging: Staging, tally: Tally) -> None:
        self._staging, self._tally = staging, tally
        self.keys: dict[str, int] = {}
        self.asked = bytearray()
        self.conflicts: list[Problem] = []
        # A 64-bit mark of what came first; only where another mark comes are the texts themselves compared.
        self._texts, self._golds = array("q"), array("q")

    def conflict(self, problem: Problem) -> None:
        """Note what stops the import; the first hundred are named."""
        if len(self.conflicts) < 100:
            self.conflicts.append(problem)

    def question(self, question_id: str, text: str | None, place: Place) -> int:
        """Number of a question; its text must be the one that came first."""
        key = self.keys.get(question_id)
        if key is None:
            key = self.keys[question_id] = len(self.keys)
            mark = 0 if text is None else hash(text)
            self._texts.append(mark)
            self._golds.append(0)
            self.asked.append(0)
            self._staging.write(
                "INSERT INTO question (key, question_id, text) VALUES (?, ?, ?)", key, question_id, text
            )
        elif text is not None and self._texts[key] != (mark := hash(text)):
            self._compare(key, question_id, text, mark, place)
        return key

    def gold(self, key: int, raw: Sequence[Any], separator: str | None, place: Place) -> None:
        """Accepted answers of a question, from one column or several."""
        mark = hash(raw[0] if len(raw) == 1 and type(raw[0]) is str else repr(raw))
        if mark == self._golds[key]:
            return
        aliases: list[str] = []
        for value in raw:
            try:
                found = cells.aliases_of(value, separator)
            except cells.UnreadableError as error:
                # Another tool may have made true of the answer yes; guessing would score against a wrong gold.
                action = "Write accepted answers as text, in quotes."
                self.conflicts.append(Problem(f"unusable gold: {error}", where=str(place), action=action))
                return
            if separator and len(found) > 1 and isinstance(value, str):
                self._tally.add("gold_split", f"{shown(value)} → {' | '.join(found)}")
            if cells.looks_like_a_list(value):
                self._tally.add("gold_in_other_notation", f"{place}: {shown(value)}")
            aliases += found
        blank = sum(not alias.strip() for alias in aliases)
        if blank:
            self._tally.add("blank_aliases", str(place), count=blank)
        aliases = list(dict.fromkeys(alias for alias in aliases if alias.strip()))
        if not aliases:
            return
        if not self._golds[key]:
            self._golds[key] = mark
            gold = json.dumps(aliases, ensure_ascii=False)
            self._staging.write("UPDATE question SET gold = ? WHERE key = ?", gold, key)
            return
        ((question_id, gold),) = self._staging.all("SELECT question_id, gold FROM question WHERE key = ?", key)
        known = json.loads(gold)
        if set(known) != set(aliases):
            self._conflict("gold", question_id, known, aliases, place)

    def tags(self, key: int, value: Any) -> None:
        """Tags of a question; all that any row names.

        Raises:
            cells.UnreadableError: Something among them is no text.
        """
        for tag in cells.tags_of(value):
            self._staging.write("INSERT OR IGNORE INTO tag VALUES (?, ?)", key, tag)

    def weight(self, key: int, value: Any, place: Place) -> None:
        """Traffic weight of a question; the first that is a whole number."""
        try:
            weight = cells.whole_of(value)
        except cells.UnreadableError as error:
            self._tally.add("unusable_weights", f"{place}: {error}")
            return
        ((known,),) = self._staging.all("SELECT weight FROM question WHERE key = ?", key)
        if known is None:
            self._staging.write("UPDATE question SET weight = ? WHERE key = ?", weight, key)
        elif known != weight:
            self._tally.add("different_weights", f"{place}: {weight} after {known}")

    def _compare(self, key: int, question_id: str, text: str, mark: int, place: Place) -> None:
        ((known,),) = self._staging.all("SELECT text FROM question WHERE key = ?", key)
        if known is None:
            self._texts[key] = mark
            self._staging.write("UPDATE question SET text = ? WHERE key = ?", text, key)
        elif plain(known) == plain(text) or question_id == made_id(text):
            self._tally.add("questions_laid_out_differently", f"{shown(question_id)} ({place})")
        else:
            self._conflict("question", question_id, known, text, place)

    def _conflict(self, what: str, question_id: str, known: Any, other: Any, place: Place) -> None:
        self.conflicts.append(
            Problem(
                f"the id {shown(question_id)!r} has two {'questions' if what == 'question' else 'golds'}",
                shown(repr(known), 120),
                shown(repr(other), 120),
                str(place),
                "Align the files to one version of the data set; nothing was written.",
            )
        )
