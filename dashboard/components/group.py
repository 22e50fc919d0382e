"""One verdict for several questions that share a cause, with a guard. No Streamlit in here.

It never covers a question of high impact, one that already has a verdict, or one whose states are still masked; and
one that was never on this desk only after the reviewer has said so, with the number before their eyes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from audit_core.reviews.events import IMPACTS, VERDICTS
from audit_core.reviews.queues import QUEUES
from dashboard.components.desk import Desk, item_of
from dashboard.components.key_log import Press
from dashboard.components.saving import Details, save_group

Row = dict[str, Any]
MOST = 200
"""Most questions of one decision: beyond it nobody has looked."""


@dataclass(frozen=True, slots=True)
class Member:
    """A picked question.

    Attributes:
        question: Its content.
        opened: It was on this desk, or this person recorded something on it.
        left_out: Why the verdict does not cover it; empty where it does.
    """

    question: Row
    opened: bool
    left_out: str

    @property
    def question_id(self) -> str:
        """The question."""
        return str(self.question["question_id"])


def members(desk: Desk) -> list[Member]:
    """The picked questions in the order of picking; what the study no longer has is left away."""
    found = []
    priority = desk.table.fixed("priority", desk.marks)
    for question_id in desk.chosen:
        question = desk.content(question_id)
        if question is None:
            continue
        standing = desk.standing(question_id)
        noted = standing.details
        if priority[desk.table.index[question_id]] or (noted and noted.impact == "high"):
            reason = "high impact: judge it by itself"
        elif standing.verdict:
            reason = f"has your verdict: {VERDICTS[str(standing.verdict.verdict)]}"
        elif desk.ruling(question_id):
            reason = "disputed: settle it by itself"
        elif desk.masked_now(question_id):
            reason = "masked until you judge it by itself"
        else:
            reason = ""
        opened = question_id in desk.opened or standing.newest is not None or bool(standing.revealed)
        found.append(Member(question, opened, reason))
    return found


def covered(desk: Desk, found: list[Member]) -> list[Member]:
    """Those that a verdict pressed now is stored for."""
    return [m for m in found if not m.left_out and (m.opened or desk.unseen_too)]


def pick(desk: Desk, question_id: str) -> None:
    """Pick a question, or put it back."""
    if question_id in desk.chosen:
        del desk.chosen[question_id]
        desk.message = f"No longer picked; {len(desk.chosen)} still are."
    elif len(desk.chosen) >= MOST:
        desk.message = f"At most {MOST} questions are judged together."
    else:
        desk.chosen[question_id] = None
        desk.message = f"Picked for one verdict together: {len(desk.chosen)}. Press b to judge them."


def gather(desk: Desk) -> None:
    """Put the picked questions on the desk, or the single one again."""
    desk.grouping = not desk.grouping
    desk.unseen_too, desk.together_details, desk.message = False, Details(), ""
    desk.epoch += 1


def causes(desk: Desk) -> dict[str, list[str]]:
    """Cause tags that this person has noted in the queue, with the questions that carry them and no verdict yet."""
    inside = set(desk.ids())
    found: dict[str, list[str]] = {}
    for question_id, standing in desk.fold.standings(desk.what.study_id, desk.who, desk.what.pair):
        if standing.details and standing.verdict is None and question_id in inside:
            for cause in standing.details.causes:
                found.setdefault(cause, []).append(question_id)
    return found


def act(desk: Desk, press: Press, action: str, value: str) -> None:
    """Do what a key or button asks while the picked questions are on the desk."""
    here, details = press.item == desk.item, desk.together_details
    if action == "verdict" and here and value in VERDICTS:
        _judge(desk, press, value)
    elif action == "impact" and here and value in IMPACTS:
        if value == "high":
            desk.message = "High impact is given to a question by itself, never to several together."
        else:
            desk.together_details = replace(details, impact=None if details.impact == value else value)
    elif action == "cause" and here and (tag := desk.causes_offered().get(press.value)):
        kept = tuple(cause for cause in details.causes if cause != tag)
        desk.together_details = replace(details, causes=kept if tag in details.causes else (*kept, tag))
    elif action == "note":
        desk.together_details = replace(details, note=press.value)
    elif action == "unseen" and here:
        desk.unseen_too = not desk.unseen_too
    elif action == "unpick" and here:
        desk.chosen = {q: None for q in desk.chosen if item_of("pick", q) != press.value}
    elif action == "fill" and here:
        asked = causes(desk)
        added = next((ids for cause, ids in asked.items() if item_of("cause", cause) == press.value), desk.ids())
        for question_id in added[: MOST - len(desk.chosen)]:
            desk.chosen.setdefault(question_id, None)
    elif action == "empty" and here:
        desk.chosen = {}
    elif action == "queue" and press.value in QUEUES:
        desk.enter(press.value, desk.sort, desk.seed, desk.filter_address)
    elif action in ("group", "next", "previous"):
        gather(desk)


def _judge(desk: Desk, press: Press, verdict: str) -> None:
    found = covered(desk, members(desk))
    if not found:
        desk.message = "Nothing to save: no picked question is covered."
        return
    entries = [
        desk.seen(m.question_id, m.question).entry(
            desk.who, f"{press.request}:{i}", "verdict", verdict, _with_own(desk, m.question_id), group=press.request)
        for i, m in enumerate(found)
    ]  # fmt: skip
    saved, desk.problem = save_group(desk.reviews, desk.person, entries)
    if not saved:
        return
    desk.problem = next((one.copy_problem for one in saved if one.copy_problem), None)
    for one in saved:
        desk.chosen.pop(one.event.question_id, None)
    gather(desk)
    desk.refresh()
    desk.last = None
    many = "1 verdict" if len(saved) == 1 else f"{len(saved)} verdicts"
    ids = f"#{saved[0].event.id}" if len(saved) == 1 else f"#{saved[0].event.id} to #{saved[-1].event.id}"
    if all(m.left_out for m in members(desk)):  # nothing of what is left can be judged together
        desk.chosen = {}
    desk.message = f"Saved together: {many}, {VERDICTS[verdict]}, events {ids}. Undo takes all of them back."
    if desk.current is not None and desk.standing(desk.current).verdict is not None:
        kept = desk.message
        desk.next_open()
        desk.message = kept


def _with_own(desk: Desk, question_id: str) -> Details:
    """The group's details together with what this person has noted on the question: a shared verdict drops no word."""
    own, shared = Details.of(desk.standing(question_id).details), desk.together_details
    return Details(
        shared.impact or own.impact,
        tuple(dict.fromkeys((*own.causes, *shared.causes))),
        "\n".join(filter(None, (own.note, shared.note))),
    )
