"""What keys and buttons do on the desk. No Streamlit in here.

A press belongs to the question that was on screen when it was made; if the desk has moved on, it is dropped, never
applied to another question.
"""

from __future__ import annotations

from dataclasses import replace

from audit_core.reviews.events import IMPACTS, VERDICTS
from audit_core.reviews.queues import QUEUES, SORTS
from dashboard.components.desk import Desk, item_of
from dashboard.components.key_log import Press
from dashboard.components.saving import Details, Outcome, keep, rebased, save


def act(desk: Desk, press: Press) -> None:
    """Do what a key or button asks, with the question, base and undo target that were on screen."""
    action, _, value = press.action.partition(":")
    here = press.item == desk.item and desk.item in desk.shown
    details = desk.details()
    if action == "verdict" and here and value in VERDICTS:
        _judge(desk, press, value, details)
    elif action == "impact" and here and value in IMPACTS:
        _detail(desk, press, replace(details, impact=None if details.impact == value else value))
    elif action == "cause" and here and (tag := desk.causes_offered().get(press.value)):
        kept = tuple(cause for cause in details.causes if cause != tag)
        _detail(desk, press, replace(details, causes=kept if tag in details.causes else (*kept, tag)))
    elif action == "note" and press.item in desk.shown:
        _detail(desk, press, replace(desk.details(press.item), note=press.value))
    elif action == "reveal" and here:
        _reveal(desk, press)
    elif action == "resolve" and here and value in ("saved", "draft"):
        _resolve(desk, press, value)
    elif action == "retry" and here:
        _retry(desk, press)
    elif action == "undo":
        _undo(desk, press)
    elif action in ("next", "previous"):
        desk.move(1 if action == "next" else -1)
    elif action == "unreviewed":
        desk.next_unreviewed()
    elif action == "evidence":
        desk.full_evidence = not desk.full_evidence
    elif action == "full_text" and here:
        desk.full_text.add(press.value[:40])
    elif action == "matrix":
        desk.full_labels = not desk.full_labels
    elif action == "pair":
        desk.pair += 1
    elif action == "queue" and press.value in QUEUES:
        desk.enter(press.value, desk.sort, desk.seed, desk.filter_address)
    elif action == "sort" and press.value in SORTS:
        again = desk.sort == press.value == "random"
        desk.enter(desk.queue, press.value, desk.seed + again, desk.filter_address)
    elif action == "clear":
        desk.enter(desk.queue, desk.sort, desk.seed, {})


def _detail(desk: Desk, press: Press, details: Details) -> None:
    """Store changed details; a note also when the desk has moved on since it was typed."""
    item = press.item
    standing = desk.standing(desk.shown[item].question_id)
    if details == Details.of(standing.details) and item not in desk.unsaved:
        return
    verdict = standing.verdict.verdict if standing.verdict else None
    shown = rebased(replace(desk.shown[item], base=press.base), desk.own.get(item))
    outcome = keep(desk.reviews, desk.who, shown, press.request, standing, details)
    _came(desk, outcome, item, verdict, details)


def _judge(desk: Desk, press: Press, verdict: str, details: Details) -> None:
    item = press.item
    shown = rebased(replace(desk.shown[item], base=press.base), desk.own.get(item))
    outcome = save(desk.reviews, desk.who, shown, press.request, "verdict", verdict, details)
    _came(desk, outcome, item, verdict, details)
    if outcome.event is not None and outcome.event.kind == "verdict":
        desk.next_unreviewed()


def _reveal(desk: Desk, press: Press) -> None:
    outcome = save(desk.reviews, desk.who, desk.shown[press.item], press.request, "reveal", None, Details())
    _came(desk, outcome, press.item, None, None)


def _resolve(desk: Desk, press: Press, which: str) -> None:
    item, shown = press.item, rebased(replace(desk.shown[press.item], base=press.base), desk.own.get(press.item))
    draft = desk.standing(shown.question_id).conflict
    if draft is None:
        return
    standing = desk.standing(shown.question_id).verdict
    if which == "saved":
        outcome = save(desk.reviews, desk.who, shown, press.request, "dismiss", None, Details())
    else:
        verdict = draft.verdict or (standing.verdict if standing else None)
        outcome = save(desk.reviews, desk.who, shown, press.request, "verdict", verdict, Details.of(draft))
    _came(desk, outcome, item, None, None)
    desk.epoch += 1


def _retry(desk: Desk, press: Press) -> None:
    verdict, details = desk.unsaved.get(press.item, (None, None))
    if details is None:
        desk.problem = None
    elif verdict is None or desk.standing(desk.shown[press.item].question_id).verdict is not None:
        _detail(desk, press, details)
    else:
        _judge(desk, press, verdict, details)


def _undo(desk: Desk, press: Press) -> None:
    event = desk.offered()
    if event is None or event.id != press.undo:
        return  # the screen offered something else
    shown = desk.seen(event.question_id, event.item_sha256, desk.standing(event.question_id).newest)
    item = item_of(event.study_id, event.question_id)
    outcome = save(desk.reviews, desk.who, shown, press.request, "retract", None, Details.of(event))
    _came(desk, outcome, item, None, None)
    if outcome.event is not None:
        desk.message = f"Taken back: event #{event.id}, by event #{outcome.event.id}."
        desk.last = None
        desk.epoch += 1
        desk.show(event.question_id)


def _came(desk: Desk, outcome: Outcome, item: str, verdict: str | None, details: Details | None) -> None:
    """Take in the outcome of a save; input that the disk refused is kept."""
    desk.message = ""
    if outcome.saved is None:
        desk.problem = outcome.problem
        if details is not None:
            desk.unsaved[item] = (verdict, details)
        return
    event = outcome.saved.event
    desk.problem = outcome.saved.copy_problem
    desk.unsaved.pop(item, None)
    if event.kind != "reveal":
        desk.own[item] = max(event.id, desk.own.get(item, 0))
        desk.last = event
    desk.refresh()
