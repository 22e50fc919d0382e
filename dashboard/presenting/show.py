"""One presentation: its slides, where it is, what has been revealed, and what keys do. No Streamlit in here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import plotly.graph_objects as go

from audit_core.errors import AuditError
from dashboard.components.desk import Desk, item_of
from dashboard.components.key_log import Press
from dashboard.components.saving import Details, save

VISIBLE = ("states", "evidence", "labels")
"""What a slide shows of a question, for the record of a reveal."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What is in sight on a slide beside what always is; nothing at its first sight.

    Attributes:
        scale: Size of the window, by which figures grow; 1 is 1280 by 720.
    """

    evidence: bool = False
    gold: bool = False
    names: bool = False
    scale: float = 1


@dataclass(frozen=True, slots=True)
class Content:
    """A slide as it is drawn.

    Attributes:
        markup: Heading and body, in which every text of a study is escaped.
        drawing: A figure under them; likewise `alt`, its description.
        below: Markup under the figure.
        kind: A class for the style.
    """

    markup: str
    drawing: go.Figure | None = None
    alt: str = ""
    below: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Slide:
    """One slide.

    Attributes:
        key: Its name, which no other slide has.
        title: What a screen reader says when it comes; plain text.
        draw: From what is in sight to its content.
        question: The flip that it shows.
    """

    key: str
    title: str
    draw: Callable[[Sight], Content]
    question: str | None = None


@dataclass
class Show:
    """A presentation in one browser session. Names, gold and evidence are out of sight at its start.

    Attributes:
        desk: The comparison's questions and verdicts, as whoever presents may know them.
        slides: At least one.
        caveats: Pills that every slide carries; markup.
        alarm: What stands above every slide of a study that failed its check; empty for others.
        at: Position of the slide on screen, from 0.
        acked: Last press taken from each tab.
        evidence: Whether the evidence of the present flip is in sight; likewise its `gold`.
        names: Whether reviewers are named.
        scale: Size of the window, as in `Sight`.
        message: What happened last, in words.
        problem: Why something was not done.
        closing: Whoever presents wants to leave.
    """

    desk: Desk
    slides: Sequence[Slide]
    caveats: str = ""
    alarm: str = ""
    at: int = 0
    acked: dict[str, int] = field(default_factory=dict)
    evidence: bool = False
    gold: bool = False
    names: bool = False
    scale: float = 1
    message: str = ""
    problem: AuditError | None = None
    closing: bool = False

    @property
    def slide(self) -> Slide:
        """The slide on screen."""
        return self.slides[self.at]

    @property
    def sight(self) -> Sight:
        """What is in sight on it."""
        return Sight(self.evidence, self.gold, self.names, self.scale)

    @property
    def item(self) -> str:
        """Name of what is on screen; a press carries it, so that gold never shows on a slide that was not seen."""
        return item_of("slide", self.desk.what, self.slide.key)

    def go(self, at: int) -> None:
        """Bring a slide on screen; past an end it stays and says so."""
        self.message, self.problem = "", None
        if not 0 <= at < len(self.slides):
            self.message = "This is the last slide." if at > 0 else "This is the first slide."
            return
        if at != self.at:
            self.at, self.evidence, self.gold = at, False, False


def act(show: Show, press: Press) -> None:
    """Do what a key or button asks."""
    action = press.action
    if action == "next":
        if not show.evidence and _has_evidence(show):
            show.evidence = True
        else:
            show.go(show.at + 1)
    elif action == "previous":
        if show.evidence:
            show.evidence = False
        else:
            show.go(show.at - 1)
    elif action in ("first", "last"):
        show.go(0 if action == "first" else len(show.slides) - 1)
    elif action == "jump":
        _jump(show, press.value)
    elif action == "evidence" and press.item == show.item:
        show.evidence = not show.evidence and _has_evidence(show)
    elif action == "gold" and press.item == show.item:
        show.problem = None
        show.gold = not show.gold and _revealed(show, press)
    elif action == "names":
        show.names = not show.names
    elif action == "close":
        show.closing = True


def _jump(show: Show, number: str) -> None:
    if number.isdecimal() and len(number) < 6 and 1 <= int(number) <= len(show.slides):
        show.go(int(number) - 1)
    else:
        show.message = f"There is no slide {number[:6]}; there are {len(show.slides)}."


def _has_evidence(show: Show) -> bool:
    question = show.desk.content(show.slide.question) if show.slide.question is not None else None
    documents = question["documents"] if question else {}
    return any(documents.get(state) for state in show.desk.what.pair)


def _revealed(show: Show, press: Press) -> bool:
    """Whether gold may be shown now: where there is some and, for those who give verdicts, it is on record."""
    desk, question_id = show.desk, show.slide.question
    question = desk.content(question_id) if question_id is not None else None
    if question_id is None or question is None or question["gold"] is None:
        return False
    desk.refresh()
    if not desk.person.may("reveal") or "gold" in desk.standing(question_id).revealed:
        return True
    shown = replace(desk.seen(question_id, question), sides="", visible=VISIBLE)
    outcome = save(desk.reviews, desk.person, shown, press.request, "reveal", None, Details(), subject="gold")
    show.problem = outcome.problem
    return outcome.saved is not None
