"""What stands now: the events of each question and reviewer folded in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from audit_core.reviews.events import FIRST, VERDICTS, Event


@dataclass(frozen=True, slots=True)
class Standing:
    """One question, one reviewer.

    Attributes:
        stack: Verdicts that were set and not taken back; the last one stands.
        draft: Open input that does not count: details noted before a verdict or left by one that was taken back, or a
            verdict from another tab that had not seen the newest event. Closed by the next verdict, retract or dismiss.
        revealed: The event that showed gold, if any.
        newest: Number of the newest event apart from reveals; the base of the next one.
    """

    stack: tuple[Event, ...] = ()
    draft: Event | None = None
    revealed: Event | None = None
    newest: int | None = None

    @property
    def verdict(self) -> Event | None:
        """The verdict that stands."""
        return self.stack[-1] if self.stack else None

    def given_for(self, pair: tuple[str, str] | None) -> Event | None:
        """The newest verdict not taken back that was given for a pair of states, or names none; any pair for None."""
        fits = (e for e in reversed(self.stack) if pair is None or not (e.old or e.new) or (e.old, e.new) == pair)
        return next(fits, None)

    @property
    def conflict(self) -> Event | None:
        """A draft that a person has to decide about."""
        return self.draft if self.draft and (self.draft.verdict or self.stack) else None

    @property
    def details(self) -> Event | None:
        """Impact, causes and note as they stand: of the verdict, else of a draft without one."""
        return self.verdict or self.draft


NOTHING = Standing()


class Fold:
    """All standings, extended event by event.

    Attributes:
        last: Number of the last event added.
        head: Its digest.
        trail: Study, question and reviewer of every event in order, so that a caller can update what changed.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.last, self.head = 0, FIRST
        self.trail: list[tuple[str, str, str]] = []
        self._standings: dict[tuple[str, str], dict[str, Standing]] = {}
        self._given: dict[tuple[str, str], list[Event]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Fold one more event."""
        of_reviewer = self._standings.setdefault((event.study_id, event.reviewer), {})
        of_reviewer[event.question_id] = _after(of_reviewer.get(event.question_id, NOTHING), event)
        if event.kind == "verdict":
            self._given.setdefault((event.study_id, event.reviewer), []).append(event)
        self.trail.append((event.study_id, event.question_id, event.reviewer))
        self.last, self.head = event.id, event.sha256

    def standing(self, study_id: str, question_id: str, reviewer: str) -> Standing:
        """What this reviewer's events on a question come to."""
        return self._standings.get((study_id, reviewer), {}).get(question_id, NOTHING)

    def standings(self, study_id: str, reviewer: str | None = None) -> Iterator[tuple[str, str, Standing]]:
        """Question, reviewer and standing of everything recorded in a study."""
        for (study, who), table in list(self._standings.items()):
            if study == study_id and reviewer in (None, who):
                for question_id, standing in list(table.items()):
                    yield question_id, who, standing

    def last_verdict(self, study_id: str, reviewer: str) -> Event | None:
        """The standing verdict that was given last; what *undo* takes back when the desk shows another question."""
        for event in reversed(self._given.get((study_id, reviewer), [])):
            if self.standing(study_id, event.question_id, reviewer).verdict is event:
                return event
        return None


def _after(standing: Standing, event: Event) -> Standing:
    if event.kind == "reveal":
        return replace(standing, revealed=standing.revealed or event)
    if event.kind == "verdict":
        return replace(standing, stack=(*standing.stack, event), draft=None, newest=event.id)
    if event.kind == "retract":
        stack = standing.stack[:-1]
        noted = event if not stack and (event.impact or event.causes or event.note) else None
        return replace(standing, stack=stack, draft=noted, newest=event.id)
    if event.kind == "dismiss":
        return replace(standing, draft=None, newest=event.id)
    if event.kind == "draft":
        return replace(standing, draft=event, newest=event.id)
    return replace(standing, newest=event.id)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the review of some questions is.

    Attributes:
        total: Questions asked about.
        reviewed: Those with a standing verdict.
        by_verdict: Count for each verdict, all six present.
        high_impact: Those whose verdict carries high impact.
        high_impact_regressions: Regressions among them.
        drafts: Questions with an open draft that a person has to decide about.
    """

    total: int
    reviewed: int
    by_verdict: dict[str, int]
    high_impact: int
    high_impact_regressions: int
    drafts: int

    @property
    def unreviewed(self) -> int:
        """Questions without a standing verdict."""
        return self.total - self.reviewed


def progress(
    fold: Fold,
    study_id: str,
    question_ids: Iterable[str],
    reviewer: str | None = None,
    pair: tuple[str, str] | None = None,
) -> Progress:
    """Review progress over given questions.

    Args:
        fold: What stands, from `ReviewStore.fold`.
        study_id: The study.
        question_ids: The population, such as the repeat-stable flips.
        reviewer: Count this person's verdicts; None counts for each question the latest verdict of anyone.
        pair: Old and new state; a verdict given for another pair says nothing about this one and is not counted.
    """
    wanted = set(question_ids)
    latest: dict[str, Event] = {}
    drafts = set()
    for question_id, _, standing in fold.standings(study_id, reviewer):
        if question_id not in wanted:
            continue
        if standing.conflict:
            drafts.add(question_id)
        verdict = standing.given_for(pair)
        if verdict and (question_id not in latest or latest[question_id].id < verdict.id):
            latest[question_id] = verdict
    by_verdict = dict.fromkeys(VERDICTS, 0)
    for verdict in latest.values():
        by_verdict[str(verdict.verdict)] += 1
    high = [verdict for verdict in latest.values() if verdict.impact == "high"]
    return Progress(
        len(wanted),
        len(latest),
        by_verdict,
        len(high),
        sum(verdict.verdict == "regression" for verdict in high),
        len(drafts),
    )
