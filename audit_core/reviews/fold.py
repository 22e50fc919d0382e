"""What stands now: the events of each question, pair of states and reviewer folded in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from audit_core.reviews.events import FIRST, IMPACTS, VERDICTS, Event, Kind

STACKED: tuple[Kind, ...] = ("verdict", "adjudicate", "draft", "retract", "dismiss")
"""Kinds that make a standing; the newest of them is the base of the next one."""

SPOKEN: tuple[Kind, ...] = ("verdict", "adjudicate", "retract")
"""Kinds that change what somebody says."""

RULING = "ruling"
"""Subject of a draft that an adjudicator noted before settling, which says nothing about their own verdict."""

Pair = tuple[str, str]
"""Old and new state."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One question, one pair of states, one reviewer.

    Attributes:
        stack: Verdicts and adjudications that were set and not taken back.
        draft: Open input that does not count: details noted before a verdict or left by one that was taken back, or a
            verdict from another tab that had not seen the newest event. Closed by the next verdict, retract or dismiss.
        revealed: What was hidden and then shown, by its name (``gold``, …), with the first event that did so.
        newest: Number of the newest event apart from reveals; the base of the next one.
    """

    stack: tuple[Event, ...] = ()
    draft: Event | None = None
    revealed: Mapping[str, Event] = field(default_factory=dict)
    newest: int | None = None

    @property
    def verdict(self) -> Event | None:
        """The reviewer's own verdict that stands."""
        return next((event for event in reversed(self.stack) if event.kind == "verdict"), None)

    @property
    def ruling(self) -> Event | None:
        """The adjudication by this person that stands."""
        return next((event for event in reversed(self.stack) if event.kind == "adjudicate"), None)

    @property
    def conflict(self) -> Event | None:
        """A draft that a person has to decide about; one for a ruling waits for that ruling only."""
        draft = self.draft if self.draft and self.draft.subject != RULING else None
        return draft if draft and (draft.verdict or self.verdict) else None

    @property
    def details(self) -> Event | None:
        """Impact, causes and note as they stand: of the verdict, else of a draft without one."""
        return self.verdict or self.draft


NOTHING = Standing()


@dataclass(frozen=True, slots=True)
class Review:
    """What everyone has said about one question and pair of states.

    Attributes:
        verdicts: Standing verdict of each reviewer, in the order of their events.
        ruling: The newest adjudication that was not taken back.
    """

    verdicts: tuple[Event, ...] = ()
    ruling: Event | None = None

    @property
    def ruled(self) -> bool:
        """Settled by an adjudicator; a later verdict of another kind opens the question again."""
        ruling = self.ruling
        if ruling is None:
            return False
        # one from a merged file may stand after verdicts that it never saw; its base says up to where it saw
        seen = (ruling.base_event or 0) if ruling.source else ruling.id
        return all(v.id <= seen or v.verdict == ruling.verdict for v in self.verdicts)

    @property
    def disputed(self) -> bool:
        """Reviewers said different things and nobody has settled it."""
        return not self.ruled and len({v.verdict for v in self.verdicts} | self._ruling()) > 1

    def outcome(self, needed: int = 1) -> Event | None:
        """The event whose verdict counts: the ruling, else of enough verdicts that agree the one of highest impact.

        Args:
            needed: Independent verdicts that a question needs.
        """
        if self.ruled:
            return self.ruling
        if self.disputed or len(self.verdicts) < needed:
            return None
        ranks = list(IMPACTS)
        return max(self.verdicts, key=lambda v: (ranks.index(v.impact) if v.impact else -1, v.id), default=None)

    def _ruling(self) -> set[str | None]:
        return {self.ruling.verdict} if self.ruling else set()


class Fold:
    """All standings, extended event by event.

    One thread adds while others read: what they walk through is copied first, and nothing is named before it is there.

    Attributes:
        last: Number of the last event added.
        head: Its digest.
        trail: Every event in order, so that a caller can update what changed.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.last, self.head = 0, FIRST
        self.trail: list[Event] = []
        self._standings: dict[tuple[str, str, Pair], dict[str, Standing]] = {}
        self._reviewers: dict[tuple[str, Pair], dict[str, None]] = {}
        self._revealed: dict[tuple[str, str, str], dict[str, Event]] = {}
        self._given: dict[tuple[str, str, Pair], list[Event]] = {}
        self._spoken: dict[tuple[str, Pair], dict[str, int]] = {}
        self._set_aside: dict[str, Event] = {}
        self._of_text: dict[str, list[Event]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Fold one more event."""
        if event.kind == "reveal":
            shown = self._revealed.setdefault((event.study_id, event.reviewer, event.question_id), {})
            shown.setdefault(event.subject or "gold", event)
        elif event.kind in STACKED:
            key = (event.study_id, event.reviewer, event.pair)
            of_reviewer = self._standings.setdefault(key, {})
            of_reviewer[event.question_id] = _after(of_reviewer.get(event.question_id, NOTHING), event)
            self._reviewers.setdefault((event.study_id, event.pair), {})[event.reviewer] = None
            if event.kind in SPOKEN:
                self._spoken.setdefault((event.study_id, event.pair), {})[event.question_id] = event.id
            if event.kind in ("verdict", "adjudicate"):
                self._given.setdefault(key, []).append(event)
                if event.question_sha256:
                    self._of_text.setdefault(event.question_sha256, []).append(event)
        elif event.kind in ("quarantine", "release"):
            self._set_aside[aside_key(event.study_id, event.question_id, event.question_sha256)] = event
        self.trail.append(event)
        self.last, self.head = event.id, event.sha256

    def standing(self, study_id: str, question_id: str, reviewer: str, pair: Pair) -> Standing:
        """What this reviewer's events on a question and pair come to."""
        found = self._standings.get((study_id, reviewer, pair), {}).get(question_id, NOTHING)
        revealed = self._revealed.get((study_id, reviewer, question_id))
        return replace(found, revealed=dict(revealed)) if revealed else found

    def review(self, study_id: str, question_id: str, pair: Pair) -> Review:
        """What everyone has said about a question and pair."""
        standings = [
            self._standings[study_id, who, pair].get(question_id, NOTHING) for who in self.reviewers(study_id, pair)
        ]
        verdicts = sorted((s.verdict for s in standings if s.verdict), key=lambda event: event.id)
        rulings = [s.ruling for s in standings if s.ruling]
        return Review(tuple(verdicts), max(rulings, key=lambda event: event.id, default=None))

    def newest(self, study_id: str, question_id: str, pair: Pair) -> int | None:
        """The newest event by which anyone changed what they say about a question; the base of an adjudication."""
        return self._spoken.get((study_id, pair), {}).get(question_id)

    def reviewers(self, study_id: str, pair: Pair) -> list[str]:
        """Everyone who recorded something on this pair, in the order of their first events."""
        return list(self._reviewers.get((study_id, pair), ()))

    def pairs(self, study_id: str) -> list[Pair]:
        """Pairs of states on which something was recorded."""
        return [pair for study, pair in list(self._reviewers) if study == study_id]

    def questions(self, study_id: str, pair: Pair) -> list[str]:
        """Questions on which anyone recorded something, in the order of the first events."""
        found: dict[str, None] = {}
        for who in self.reviewers(study_id, pair):
            found.update(dict.fromkeys(list(self._standings[study_id, who, pair])))
        return list(found)

    def standings(self, study_id: str, reviewer: str, pair: Pair) -> Iterator[tuple[str, Standing]]:
        """Question and standing of everything that a reviewer recorded on a pair."""
        for question_id in list(self._standings.get((study_id, reviewer, pair), {})):
            yield question_id, self.standing(study_id, question_id, reviewer, pair)

    def last_given(self, study_id: str, reviewer: str, pair: Pair) -> Event | None:
        """The standing verdict or adjudication given last; what *undo* takes back when the desk shows another one."""
        for event in reversed(self._given.get((study_id, reviewer, pair), [])):
            if self.standing(study_id, event.question_id, reviewer, pair).stack[-1:] == (event,):
                return event
        return None

    def set_aside(self, study_id: str, question_id: str, question_sha256: str, today: str) -> Event | None:
        """The quarantine that a question is in, by any reviewer and in any study that asked it.

        Args:
            study_id: The study.
            question_id: The question.
            question_sha256: Digest of its text, empty where it has none.
            today: ISO 8601; a quarantine that ended before it has no effect.
        """
        event = self._set_aside.get(aside_key(study_id, question_id, question_sha256))
        return event if event and event.kind == "quarantine" and event.until >= today else None

    def remembered(self, question_sha256: str) -> list[Event]:
        """Standing verdicts and rulings of all studies on a question, by the digest of its text."""
        return [
            event
            for event in self._of_text.get(question_sha256, [])
            if event in self.standing(event.study_id, event.question_id, event.reviewer, event.pair).stack[-1:]
        ]

    def of_kind(self, study_id: str | None, *kinds: Kind) -> list[Event]:
        """Events of some kinds in order; of all studies for None."""
        return [e for e in self.trail if e.kind in kinds and study_id in (None, e.study_id)]


def aside_key(study_id: str, question_id: str, question_sha256: str) -> str:
    """By what a question in quarantine is found again: its text, or its study and id where it has none."""
    return question_sha256 or repr((study_id, question_id))


def _after(standing: Standing, event: Event) -> Standing:
    if event.kind in ("verdict", "adjudicate"):
        return replace(standing, stack=(*standing.stack, event), draft=None, newest=event.id)
    if event.kind == "retract":
        stack = standing.stack[:-1]
        noted = event if not stack and (event.impact or event.causes or event.note) else None
        return replace(standing, stack=stack, draft=noted, newest=event.id)
    if event.kind == "dismiss":
        return replace(standing, draft=None, newest=event.id)
    return replace(standing, draft=event, newest=event.id)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the review of some questions is.

    Attributes:
        total: Questions asked about.
        reviewed: Those whose verdict counts: settled by enough reviewers who agree, or by an adjudicator.
        by_verdict: Count for each verdict, all six present.
        high_impact: Those whose verdict carries high impact.
        high_impact_regressions: Regressions among them.
        drafts: Questions with an open draft that a person has to decide about.
        disputed: Questions whose reviewers said different things, not yet adjudicated.
        begun: Questions with fewer verdicts than they need.
    """

    total: int
    reviewed: int
    by_verdict: dict[str, int]
    high_impact: int
    high_impact_regressions: int
    drafts: int
    disputed: int = 0
    begun: int = 0

    @property
    def unreviewed(self) -> int:
        """Questions whose verdict does not count yet."""
        return self.total - self.reviewed


def progress(fold: Fold, study_id: str, question_ids: Iterable[str], pair: Pair, needed: int = 1) -> Progress:
    """Review progress over given questions.

    Args:
        fold: What stands, from `ReviewStore.fold`.
        study_id: The study.
        question_ids: The population, such as the repeat-stable flips.
        pair: Old and new state; a verdict given for another pair says nothing about this one and is not counted.
        needed: Independent verdicts that a question needs.
    """
    wanted = set(question_ids)
    reviews = {q: fold.review(study_id, q, pair) for q in fold.questions(study_id, pair) if q in wanted}
    counted = [event for review in reviews.values() if (event := review.outcome(needed))]
    by_verdict = dict.fromkeys(VERDICTS, 0)
    for event in counted:
        by_verdict[str(event.verdict)] += 1
    high = [event for event in counted if event.impact == "high"]
    drafts = {
        question_id
        for who in fold.reviewers(study_id, pair)
        for question_id, standing in fold.standings(study_id, who, pair)
        if standing.conflict and question_id in wanted
    }
    disputed = sum(review.disputed for review in reviews.values())
    begun = sum(bool(r.verdicts) and r.outcome(needed) is None and not r.disputed for r in reviews.values())
    return Progress(
        len(wanted),
        len(counted),
        by_verdict,
        len(high),
        sum(event.verdict == "regression" for event in high),
        len(drafts),
        disputed,
        begun,
    )
