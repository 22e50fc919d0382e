"""What keys and buttons do on the desk. No Streamlit in here.

A press belongs to the question that was on screen when it was made; if the desk has moved on, it is dropped, never
applied to another question.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from audit_core.errors import InputError, Problem
from audit_core.reviews.events import IMPACTS, VERDICTS, Kind
from audit_core.reviews.fold import RULING
from audit_core.reviews.masking import meant
from audit_core.reviews.queues import QUEUES, SORTS
from dashboard.components import group
from dashboard.components.desk import Desk
from dashboard.components.key_log import Press
from dashboard.components.saving import Details, Outcome, keep, rebased, save, save_group

LONGEST = 365
"""Most days of a quarantine: what is set aside has to be looked at again."""


def act(desk: Desk, press: Press) -> None:
    """Do what a key or button asks, with the question, base and undo target that were on screen."""
    action, _, value = press.action.partition(":")
    if action == "present":
        desk.presenting = True
        return
    of_one = action == "note" and press.item in desk.shown  # typed before the group was on the desk
    if desk.grouping and action != "undo" and not of_one:
        group.act(desk, press, action, value)
        return
    here = press.item == desk.item and desk.item in desk.shown
    details = desk.details()
    if action == "verdict" and here and value in VERDICTS:
        shown = desk.shown[press.item]
        _judge(desk, press, meant(value, shown.sides, desk.what.pair) if shown.sides else value, details)
    elif action == "impact" and here and value in IMPACTS:
        _detail(desk, press, replace(details, impact=None if details.impact == value else value))
    elif action == "cause" and here and (tag := desk.causes_offered().get(press.value)):
        kept = tuple(cause for cause in details.causes if cause != tag)
        _detail(desk, press, replace(details, causes=kept if tag in details.causes else (*kept, tag)))
    elif action == "note" and press.item in desk.shown:
        _detail(desk, press, replace(desk.details(press.item), note=press.value))
    elif action == "accept" and here:
        _accept(desk, press)
    elif action == "reveal" and here:
        _reveal(desk, press, "gold")
    elif action in ("aside", "release") and here:
        _set_aside(desk, press, action)
    elif action == "resolve" and here and value in ("saved", "draft"):
        _resolve(desk, press, value)
    elif action == "retry" and here:
        _retry(desk, press)
    elif action == "undo":
        _undo(desk, press)
    elif action in ("next", "previous"):
        desk.move(1 if action == "next" else -1)
    elif action == "unreviewed":
        desk.next_open()
    elif action == "evidence" and here and "evidence" not in desk.shown[press.item].visible:
        _reveal(desk, press, "evidence")
    elif action == "evidence":
        desk.full_evidence = not desk.full_evidence
    elif action == "masked" and not desk.team.masked:
        desk.masked = not desk.masked
    elif action == "pick" and here:
        group.pick(desk, desk.shown[press.item].question_id)
    elif action == "group":
        group.gather(desk)
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
    question = desk.shown[item].question_id
    decided = desk.decided(question)
    if details == Details.of(decided or desk.noted(question)) and item not in desk.unsaved:
        return
    shown = rebased(replace(desk.shown[item], base=press.base), desk.own.get(item))
    outcome = keep(desk.reviews, desk.person, shown, press.request, decided, details)
    _came(desk, outcome, item, decided.verdict if decided else None, details)


def _judge(desk: Desk, press: Press, verdict: str, details: Details, **more: str) -> None:
    """Store a verdict, or a ruling where that is what the screen asked for, and go on."""
    item = press.item
    shown = rebased(replace(desk.shown[item], base=press.base), desk.own.get(item))
    kind: Kind = "adjudicate" if shown.ruling else "verdict"
    outcome = save(desk.reviews, desk.person, shown, press.request, kind, verdict, details, **more)
    _came(desk, outcome, item, verdict, details)
    if outcome.event is not None and outcome.event.kind == kind:
        desk.next_open()


def _accept(desk: Desk, press: Press) -> None:
    """Take over what an earlier study said, with its details and its digest."""
    earlier = desk.remembered(desk.shown[press.item].question_id)
    if earlier is not None and earlier.verdict is not None and press.value in ("", earlier.sha256):
        _judge(desk, press, earlier.verdict, Details.of(earlier), source=earlier.sha256)


def _reveal(desk: Desk, press: Press, what: str) -> None:
    shown = desk.shown[press.item]
    outcome = save(desk.reviews, desk.person, shown, press.request, "reveal", None, Details(), subject=what)
    _came(desk, outcome, press.item, None, None)


def _set_aside(desk: Desk, press: Press, action: str) -> None:
    """Put a question in quarantine with reason, owner and last day, or take it back."""
    shown = desk.shown[press.item]
    if action == "release":
        outcome = save(desk.reviews, desk.person, shown, press.request, "release", None, Details())
        words = "Back in its queues."
    else:
        form = press.form()
        until = form.get("until", "")
        problem = quarantine_problem(form.get("reason", ""), until, desk.today)
        if problem:
            desk.problem, desk.message = problem, ""
            return
        note = Details(note=form["reason"].strip())
        owner = form.get("owner", "").strip() or desk.who
        outcome = save(desk.reviews, desk.person, shown, press.request, "quarantine", None, note, owner=owner,
                       until=until)  # fmt: skip
        words = f"Set aside until {until}, event #{outcome.event.id if outcome.event else 0}."
    _came(desk, outcome, press.item, None, None)
    if outcome.event is not None:
        if action == "aside":
            desk.next_open()
        desk.message, desk.last = words, None


def _resolve(desk: Desk, press: Press, which: str) -> None:
    item, shown = press.item, rebased(replace(desk.shown[press.item], base=press.base), desk.own.get(press.item))
    draft = desk.standing(shown.question_id).conflict
    if draft is None or shown.ruling:  # what waits is about the own verdict, and is not asked while settling
        return
    standing = desk.decided(shown.question_id)
    if which == "saved":
        outcome = save(desk.reviews, desk.person, shown, press.request, "dismiss", None, Details())
    else:
        verdict = draft.verdict or (standing.verdict if standing else None)
        outcome = save(desk.reviews, desk.person, shown, press.request, "verdict", verdict, Details.of(draft))
    _came(desk, outcome, item, None, None)
    desk.epoch += 1


def _retry(desk: Desk, press: Press) -> None:
    verdict, details = desk.unsaved.get(press.item, (None, None))
    if details is None:
        desk.problem = None
    elif verdict is None or desk.decided(desk.shown[press.item].question_id) is not None:
        _detail(desk, press, details)
    else:
        _judge(desk, press, verdict, details)


def _undo(desk: Desk, press: Press) -> None:
    event = desk.offered()
    if event is None or event.id != press.undo:
        return  # the screen offered something else
    together = desk.together(event)
    entries = [
        desk.seen(e.question_id, None).entry(
            desk.who, press.request if e is event else f"{press.request}:{e.id}", "retract", None, Details.of(e),
            item_sha256=e.item_sha256, base_event=desk.standing(e.question_id).newest, group=e.group)
        for e in together
    ]  # fmt: skip
    saved, problem = save_group(desk.reviews, desk.person, entries)
    desk.problem, desk.message = problem, ""
    if not saved:
        return
    desk.problem = next((s.copy_problem for s in saved if s.copy_problem), None)
    desk.refresh()
    for one in saved:
        item = desk.name_of(one.event.question_id)
        desk.own[item] = max(one.event.id, desk.own.get(item, 0))
        desk.unsaved.pop(item, None)
    if len(together) > 1:
        desk.message = f"Taken back: {len(together)} verdicts that were given together."
    else:
        desk.message = f"Taken back: event #{event.id}, by event #{saved[0].event.id}."
        desk.show(event.question_id)
    desk.last = None
    desk.epoch += 1


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
        desk.last = event
        if event.subject != RULING:  # a ruling rests on what everyone said, and a note for it says nothing
            desk.own[item] = max(event.id, desk.own.get(item, 0))
    desk.refresh()


def quarantine_problem(reason: str, until: str, today: str) -> InputError | None:
    """Why a question cannot be set aside like this."""
    problems = []
    if not reason.strip():
        problems.append(Problem("a question is set aside for a reason", "a reason", "nothing",
                                action="Write it; nothing was saved."))  # fmt: skip
    try:
        day = date.fromisoformat(until)
        if not today <= day.isoformat() <= (date.fromisoformat(today) + timedelta(days=LONGEST)).isoformat():
            raise ValueError
    except ValueError:
        problems.append(
            Problem("the last day does not fit", f"a day from today, at most {LONGEST} days ahead", until or "nothing",
                    action="Choose another; nothing was saved.")
        )
    return InputError(problems) if problems else None
