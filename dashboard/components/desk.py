"""The reviewer's desk: which question is on it, what is shown of it, what stands. No Streamlit in here.

The current question is owned by the server and is never a widget's value, because a late browser message carries old
widget values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from audit_core.errors import AuditError
from audit_core.reviews import memory
from audit_core.reviews.events import CAUSES, VERDICTS, Event
from audit_core.reviews.fold import RULING, Pair, Review, Standing
from audit_core.reviews.masking import BETTER, meant, sides
from audit_core.reviews.team import Person, Team
from dashboard.components.round import OWN, Address, Compared, Round
from dashboard.components.saving import Details, Shown

__all__ = ["OWN", "Compared", "Desk", "item_of", "pairs_of"]

Row = dict[str, Any]
_OF_ANY_PAIR = ("quarantine", "release")


def item_of(*names: object) -> str:
    """A name for what is on screen, in widget keys and in the browser: short, and different for ids that look alike."""
    return hashlib.sha256(repr(names).encode()).hexdigest()[:20]


@dataclass
class Desk(Round):
    """One browser session's desk.

    Attributes:
        acked: Last key press taken from each tab.
        last: The event saved last in this session, as read back.
        unsaved: Input that the disk refused, by item: verdict and details.
        problem: Why the last save failed.
        masked: Old and new are called A and B until the verdict, by this person's choice.
        pair: Number of the answer pair whose words are compared.
        full_evidence: Passages in full instead of excerpts.
        full_text: Long texts of the current question that are shown to the end: side and repeat, or ``question``.
        full_labels: The matrix of pair labels is shown.
        epoch: Counts changes of a note that did not come from its field, so that the field is drawn anew.
        drawn: Item, epoch and text of the note's field.
        causes: Tags beyond the usual ones that were used in this study.
        own: Newest event of this tab by item; the base of its next press.
        shown: What the page showed by item.
        opened: Questions that were on this desk.
        chosen: Questions picked for one verdict together, in the order of picking.
        grouping: The picked questions are on the desk instead of a single one.
        unseen_too: The group may include questions that were never on this desk.
        together_details: Impact, causes and note of the group's verdict.
        presenting: Whoever sits here wants the queue, or what is picked, full screen.
    """

    acked: dict[str, int] = field(default_factory=dict)
    last: Event | None = None
    unsaved: dict[str, tuple[str | None, Details]] = field(default_factory=dict)
    problem: AuditError | None = None
    masked: bool = False
    pair: int = 0
    full_evidence: bool = False
    full_text: set[str] = field(default_factory=set)
    full_labels: bool = False
    epoch: int = 0
    drawn: tuple[str, int, str] = ("", -1, "")
    causes: list[str] = field(default_factory=list)
    own: dict[str, int] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    chosen: dict[str, None] = field(default_factory=dict)
    grouping: bool = False
    unseen_too: bool = False
    together_details: Details = field(default_factory=Details)
    presenting: bool = False

    def inherit(self, other: Desk) -> None:
        """Take over what belongs to the session rather than to the comparison."""
        self.acked, self.last, self.unsaved, self.masked = other.acked, other.last, other.unsaved, other.masked
        self.full_evidence, self.epoch, self.own = other.full_evidence, other.epoch + 1, other.own

    def sits(self, person: Person, team: Team) -> None:
        """Somebody is at the desk; another name finds nothing of the one before, and their press counts for nobody."""
        before = self.person.name
        super().sits(person, team)
        if person.name != before:
            self.last = self.problem = None
            self.unsaved, self.own, self.shown, self.chosen, self.opened = {}, {}, {}, {}, set()
            self.grouping = self.unseen_too = False
            self.together_details, self.epoch = Details(), self.epoch + 1
            self.message = "Somebody else is at this desk now; what was pressed before is not saved for them."
            self.gather_causes()

    def gather_causes(self) -> None:
        """Remember the cause tags that were used in this study."""
        standings = self.fold.standings(self.what.study_id, self.who, self.what.pair)
        used = [cause for _, s in standings if s.details for cause in s.details.causes]
        self.causes = list(dict.fromkeys(used))

    def history(self) -> list[Event]:
        """What was recorded on the current question: by everyone where others may be seen, else by this person.

        A verdict on another pair of states is no part of it: there others may have spoken before this person.
        """
        question = self.current or ""
        try:
            events = self.reviews.history(
                self.what.study_id, question, None if self.others_visible(question) else self.who
            )
        except AuditError as error:
            self.unread = error
            return []
        return [e for e in events if e.kind != "label" and (e.pair == self.what.pair or e.kind in _OF_ANY_PAIR)]

    @property
    def item(self) -> str:
        """Name of what is on the desk, with how it is shown; empty where nothing is.

        A press carries it, so one made while answers were masked is never taken for one made when they were not.
        """
        if self.grouping:
            return item_of("group", self.what, *self.chosen, self.unseen_too)
        return self.name_of(self.current) if self.current is not None else ""

    def name_of(self, question_id: str) -> str:
        """The item of a question as it would be shown now."""
        how = "masked" if self.masked_now(question_id) else "ruling" if self.ruling(question_id) else ""
        return item_of(self.what.study_id, question_id, *self.what.pair, how)

    def standing(self, question_id: str) -> Standing:
        """What this reviewer has said about a question."""
        return self.fold.standing(self.what.study_id, question_id, self.who, self.what.pair)

    def review(self, question_id: str) -> Review:
        """What everyone has said about a question."""
        return self.fold.review(self.what.study_id, question_id, self.what.pair)

    def masked_now(self, question_id: str) -> bool:
        """Whether a question's states are hidden: until the own verdict, for those who give one."""
        wanted = (self.masked or self.team.masked) and self.person.may("verdict") and self.what.old != self.what.new
        return wanted and self.standing(question_id).verdict is None and not self.ruling(question_id)

    def ruling(self, question_id: str) -> bool:
        """Whether a verdict pressed now settles a dispute instead of adding to it."""
        if self.queue != "disputed" or not self.person.may("adjudicate"):
            return False
        return self.review(question_id).disputed or self.standing(question_id).ruling is not None

    def others_visible(self, question_id: str) -> bool:
        """Whether verdicts of others may be seen: after the own one, when settling, and by those who give none."""
        return (
            not self.person.may("verdict")
            or self.ruling(question_id)
            or self.standing(question_id).verdict is not None
        )

    def decided(self, question_id: str) -> Event | None:
        """The event that this person's keys would change: their ruling when settling, else their verdict."""
        standing = self.standing(question_id)
        return standing.ruling if self.ruling(question_id) else standing.verdict

    def details(self, item: str | None = None) -> Details:
        """Impact, causes and note of the current question or of one shown before: unsaved input, else what stands."""
        item = self.item if item is None else item
        if item in self.unsaved:
            return self.unsaved[item][1]
        if self.grouping and item == self.item:
            return self.together_details
        question = self.current if item == self.item else self.shown[item].question_id
        if question is None:
            return Details()
        return Details.of(self.decided(question) or self.noted(question))

    def noted(self, question_id: str) -> Event | None:
        """The draft that belongs to what the keys would decide: for a ruling, or for the own verdict."""
        draft = self.standing(question_id).draft
        return draft if draft and (draft.subject == RULING) == self.ruling(question_id) else None

    def note_drawn(self) -> str:
        """The note as its field was first drawn on this visit; own changes are in the field already."""
        if self.drawn[:2] != (self.item, self.epoch):
            self.drawn = (self.item, self.epoch, self.details().note)
        return self.drawn[2]

    def causes_offered(self) -> dict[str, str]:
        """Cause tags to choose from: the usual ones, those used in this study, and what stands.

        The names are digests, since a browser's sanitizer drops attributes that hold what it takes for markup.
        """
        tags = dict.fromkeys([*CAUSES, *self.causes, *self.details().causes])
        return {item_of("cause", tag): tag for tag in tags}

    def pressed(self, verdict: str | None) -> str | None:
        """The key that stands for a verdict on the present question: another one where its sides are turned."""
        if verdict is None or self.grouping or self.current is None or not self.masked_now(self.current):
            return verdict
        return meant(verdict, self.sides(self.current)[0], self.what.pair)

    def words_of(self, verdict: str) -> str:
        """A stored verdict in words that give no side away while the present question is masked."""
        if self.grouping or self.current is None or not self.masked_now(self.current):
            return VERDICTS[verdict]
        return (VERDICTS | BETTER)[self.pressed(verdict) or verdict]

    def sides(self, question_id: str) -> Pair:
        """The states of the pair in the order A, B."""
        return sides(self.what.study_id, question_id, self.who, self.what.pair)

    def presented(self) -> Address:
        """Address of the picked questions, else of the queue, for the page Present."""
        if self.chosen:
            return {"queue": ["all"], "only": list(self.chosen), "from": ["triage"]}
        return {name: values for name, values in self.address().items() if name != "q"} | {"from": ["triage"]}

    def offered(self) -> Event | None:
        """The event that *undo* takes back: the newest on screen, else the one given last on this pair."""
        own = self.standing(self.current).stack[-1:] if self.current is not None and not self.grouping else ()
        return own[0] if own else self.fold.last_given(self.what.study_id, self.who, self.what.pair)

    def together(self, event: Event) -> list[Event]:
        """What *undo* takes back with an event: all of its group that still stands, else the event alone."""
        if not event.group:
            return [event]
        standings = self.fold.standings(self.what.study_id, self.who, self.what.pair)
        return [s.stack[-1] for _, s in standings if s.stack and s.stack[-1].group == event.group]

    def remembered(self, question_id: str) -> Event | None:
        """The verdict of an earlier study on the same move; not where it would lead a masked or given verdict."""
        shown = self.shown.get(self.name_of(question_id))
        if shown is None or not shown.question_sha256 or shown.ruling or self.masked_now(question_id):
            return None
        if self.standing(question_id).verdict is not None or not self.person.may("verdict"):
            return None
        events = self.fold.remembered(shown.question_sha256)
        return memory.offered(events, self.what.study_id, shown.meanings)

    def aside(self, question_id: str) -> Event | None:
        """The quarantine that a question is in."""
        digest = self.table.digests[self.table.index[question_id]]
        return self.fold.set_aside(self.what.study_id, question_id, digest, self.today)

    def show(self, question_id: str | None) -> None:
        """Put a question on the desk."""
        if question_id != self.current:
            self.full_text = set()
        self.grouping = False
        super().show(question_id)

    def put_on_screen(self, question: Row) -> Standing:
        """Note exactly what the page shows, before it shows it."""
        question_id = question["question_id"]
        standing, before = self.standing(question_id), self.shown.get(self.item)
        shown = self.seen(question_id, question)
        if before and shown.base not in (before.base, self.own.get(self.item)):
            self.epoch += 1  # another tab has changed the note; its field must not bring the older one back
        self.shown[self.item] = shown
        self.opened.add(question_id)
        return standing

    def seen(self, question_id: str, question: Row | None) -> Shown:
        """What a verdict on a question is stored against.

        Args:
            question_id: The question.
            question: Its content; None where only what stands of it is taken back.
        """
        what, standing = self.what, self.standing(question_id)
        ruling, masked = self.ruling(question_id), self.masked_now(question_id)
        base = self.fold.newest(what.study_id, question_id, what.pair) if ruling else standing.newest
        shown = Shown(what.study_id, what.bundle, question_id, "", what.old, what.new, what.kernel, base, ruling=ruling)
        if question is None:
            return shown
        visible = [] if masked else ["states", "evidence", "labels"]
        visible += [name for name in standing.revealed if name not in visible]
        others = self.others_visible(question_id) and any(
            verdict.reviewer != self.who for verdict in self.review(question_id).verdicts
        )
        answers = {
            state: [cell["answer"] for cell in question.get("cells", ()) if cell["state_name"] == state]
            for state in what.pair
        }
        return replace(
            shown,
            item_sha256=question["content_sha256"],
            sides=self.sides(question_id)[0] if masked else "",
            visible=(*visible, *(["others"] if others else [])),
            question_sha256=memory.question_digest(question.get("text")),
            meanings=memory.meanings(answers[what.old], answers[what.new]),
        )


def pairs_of(cells: Sequence[Row], old: str, new: str) -> list[tuple[int, int]]:
    """Answer pairs to compare word by word: across the endpoints first, then inside them, then everything else."""
    ends = [i for i, cell in enumerate(cells) if cell["state_name"] in (old, new)]
    found = [(i, j) if cells[i]["state_name"] == old else (j, i) for i, j in combinations(ends, 2)
             if cells[i]["state_name"] != cells[j]["state_name"]]
    found += [pair for pair in combinations(ends, 2) if cells[pair[0]]["state_name"] == cells[pair[1]]["state_name"]]
    return found + [pair for pair in combinations(range(len(cells)), 2) if not set(pair) <= set(ends)]
