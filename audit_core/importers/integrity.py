"""Checks of an import's answers: copies among repeats, errors that look like answers, one answer for all."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from operator import attrgetter

from audit_core.importers.align import Alignment
from audit_core.importers.redraw import Redraw
from audit_core.importers.staging import BLANK, NO_KEY, NULL, TEXT, Entry
from audit_core.importers.tally import Tally
from audit_core.importers.values import lookalike, plain, shown
from audit_core.normalize import Rule

ENOUGH = 20
"""Fewer questions (or answers) say nothing about copies."""
PROSE_WORDS = 5
"""From so many words on, two independent answers are rarely the same to the letter."""
MOSTLY = 0.95

NOTHING_WORDS = {"none", "na", "n/a", "null", "nan", "nil", "<na>", "undefined"}
"""Answers that other tools take for missing; here they are text."""

TRANSPORT = re.compile(
    r"""\s*(
    error\s+code:?\s*[45]\d\d | (http(\s+error)?|status(\s+code)?)[\s:]*[45]\d\d
    | traceback\ \(most\ recent\ call\ last\)
    | [45]\d\d\s+(server|client|internal|bad|service|too\ many|gateway|unauthorized|forbidden|not\ found|error)
    | (api|connection|timeout|rate\s?limit|network|request|read|server|ssl|http)\w*\s?(error|timed\ ?out|exception)\b
    | (error|exception):?.{0,60}(\b[45]\d\d\b|rate.?limit|timed?.?out|connection|overloaded|quota|unavailable)
    | internal\ server\ error | service\ unavailable | bad\ gateway | gateway\ time-?out | too\ many\ requests
    | rate\ limit(ed)?\b.{0,30}(exceeded|reached) | \{\s*"(type"\s*:\s*"error|error")
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_SOLID = re.compile(r"[0-9A-Za-z]{4}")
"""Four letters in a row survive both normalizations, so most answers need not be normalized to know that."""


@dataclass(slots=True)
class StateStats:
    """Counts over one state's answers."""

    answers: int = 0
    repeated: int = 0
    pairs: int = 0
    same: int = 0
    prose: int = 0
    prose_pairs: int = 0
    prose_same: int = 0
    candidate: str | None = None
    lead: int = 0


@dataclass(slots=True)
class Integrity:
    """Takes in all questions once, then says what was noticed.

    Attributes:
        gold: Questions with accepted answers.
        evidence: Cells with evidence.
        texts: Questions with text.
        depths: Lengths of the lists of evidence.
    """

    rule: Rule
    alignment: Alignment
    tally: Tally
    states: Sequence[str]
    stats: list[StateStats] = field(default_factory=list)
    gold: int = 0
    evidence: int = 0
    texts: int = 0
    depths: set[int] = field(default_factory=set)
    redraws: list[Redraw] = field(default_factory=list)
    _forms: dict[int, str] = field(default_factory=dict)
    _questions: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stats = [StateStats() for _ in self.states]
        self.redraws = [Redraw() for _ in self.states]

    def question(self, question_id: str, text: str | None, gold: list[str]) -> None:
        """Take in a question: twins among the ids, equal texts, golds that a rule empties."""
        form = hash(lookalike(question_id))
        if (twin := self._forms.setdefault(form, question_id)) != question_id:
            self.tally.add("lookalike_ids", f"{shown(repr(twin))} and {shown(repr(question_id))}")
        if text is not None:
            self.texts += 1
            mark = hash(plain(text).casefold())
            if (twin := self._questions.setdefault(mark, question_id)) != question_id:
                self.tally.add("identical_questions", f"{shown(twin)} and {shown(question_id)}")
        if gold:
            self.gold += 1
            for alias in gold:
                if self._empty(alias):
                    self.tally.add("empty_golds", f"{shown(question_id)}: {shown(alias)}")

    def cells(self, cells: Sequence[Entry]) -> None:
        """Take in the cells of one question."""
        for cell in cells:
            self._answer(cell)
        for number, group in groupby(cells, key=attrgetter("state")):
            found = list(group)
            self._repeats(self.stats[number], found)
            self.redraws[number].observe(found)
        self._calls(cells)

    def finish(self) -> None:
        """After the last question: what only the whole of a state shows."""
        for number, (name, stats) in enumerate(zip(self.states, self.stats, strict=True)):
            all_same = stats.repeated >= ENOUGH and stats.same == stats.pairs
            prose_same = stats.prose >= ENOUGH and stats.prose_same >= MOSTLY * stats.prose_pairs
            if all_same or prose_same:
                same, pairs = (stats.same, stats.pairs) if all_same else (stats.prose_same, stats.prose_pairs)
                self.tally.add("repeats_look_cached", f"{shown(name)}: {same:,} of {pairs:,} repeat pairs", count=same)
            # An answer that 95 % of cells give is still ahead by 90 % after every other answer has voted against it.
            if (
                stats.answers >= ENOUGH
                and stats.candidate is not None
                and stats.lead >= (2 * MOSTLY - 1) * stats.answers
            ):
                self._one_answer(number, name, stats)
            for words in self.redraws[number].chosen():
                self.tally.add("selective_redraw", f"{shown(name)}: {words}")
            if stats.answers == 0:
                self.tally.add("states_without_answers", shown(name))

    def _answer(self, cell: Entry) -> None:
        kind, answer = cell.kind, cell.answer
        if kind == NULL:
            self.tally.add("null_answers", self.alignment.place(cell))
        elif kind == NO_KEY:
            self.tally.add("absent_answers", self.alignment.place(cell))
        if kind not in (TEXT, BLANK) or answer is None:
            if kind not in (NULL, NO_KEY):
                self.tally.add("failed_cells", f"{self.alignment.place(cell)}: {shown(cell.error)}")
            return
        stats = self.stats[cell.state]
        stats.answers += 1
        if stats.candidate == answer:
            stats.lead += 1
        elif stats.lead:
            stats.lead -= 1
        else:
            stats.candidate, stats.lead = answer, 1
        if kind == BLANK:
            self.tally.add("blank_answers", self.alignment.place(cell))
            return
        if len(answer) < 12 and answer.strip().casefold() in NOTHING_WORDS:
            self.tally.add("answers_that_read_like_nothing", f"{answer.strip()} ({self.alignment.place(cell)})")
        if TRANSPORT.match(answer):
            self.tally.add("errors_as_answers", f"{self.alignment.place(cell)}: {shown(answer)}")
        if self._empty(answer):
            self.tally.add("empty_answers", f"{self.alignment.place(cell)}: {shown(answer)}")
        if cell.cached:
            self.tally.add("cached_answers", self.alignment.place(cell))

    def _empty(self, text: str) -> bool:
        return not _SOLID.search(text) and not self.rule.normalize(text)

    def _repeats(self, stats: StateStats, cells: list[Entry]) -> None:
        answers = [cell.answer for cell in cells if cell.kind == TEXT and cell.answer is not None]
        if len(answers) > 1:
            # Pairs of equal answers, counted by value: a question may have many repeats.
            pairs = len(answers) * (len(answers) - 1) // 2
            same = sum(n * (n - 1) // 2 for n in Counter(answers).values())
            stats.repeated, stats.pairs, stats.same = stats.repeated + 1, stats.pairs + pairs, stats.same + same
            if max(answer.count(" ") for answer in answers) >= PROSE_WORDS - 1:
                stats.prose += 1
                stats.prose_pairs += pairs
                stats.prose_same += same
        seen = dict.fromkeys(cell.evidence for cell in cells if cell.evidence is not None)
        self.evidence += sum(cell.evidence is not None for cell in cells)
        if len(seen) > 1:
            self.tally.add("evidence_differs_between_repeats", self.alignment.place(cells[0]))
        for text in seen:
            ids = [document[0] for document in json.loads(text)]
            self.depths.add(len(ids))
            if len(set(ids)) < len(ids):
                self.tally.add("documents_repeated", self.alignment.place(cells[0]))

    def _calls(self, cells: Sequence[Entry]) -> None:
        for kind, attribute in (("equal_response_ids", "response_id"), ("equal_times", "time")):
            values = [(value, cell) for cell in cells if (value := getattr(cell, attribute))]
            for (one, cell), (other, _) in combinations(values, 2) if len(values) < 50 else ():
                if one == other:
                    self.tally.add(kind, f"{self.alignment.place(cell)}: {shown(one)}")
        texts: dict[str, str] = {}
        ambiguous: dict[str, None] = {}
        for evidence in dict.fromkeys(cell.evidence for cell in cells if cell.evidence is not None):
            for document_id, _, _, digest, _ in json.loads(evidence):
                if digest is not None and texts.setdefault(document_id, digest) != digest:
                    ambiguous[document_id] = None
        for document_id in ambiguous:
            self.tally.add(
                "document_ids_with_several_texts", f"{shown(document_id)} ({self.alignment.place(cells[0])})"
            )

    def _one_answer(self, number: int, name: str, stats: StateStats) -> None:
        same = sum(
            cell.state == number and cell.answer == stats.candidate
            for _, cells in self.alignment.questions()
            for cell in cells
        )
        if same >= MOSTLY * stats.answers:
            where = f"{shown(name)}: {same:,} of {stats.answers:,} answers are {shown(repr(stats.candidate))}"
            self.tally.add("one_answer_everywhere", where)
