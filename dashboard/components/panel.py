"""The panel beside the card: verdict, impact, causes, what is saved, undo, history. All of it markup.

Its buttons carry `data-action` like those of the card, so keys and clicks travel through one log with what was on
screen, and a press costs one message to the browser instead of twenty. Labels, tooltips and key caps come from the
key registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from html import escape

from audit_core.reviews.events import IMPACTS, LONGEST_NOTE, VERDICTS, Event
from audit_core.reviews.fold import Standing
from audit_core.reviews.masking import BETTER
from dashboard.components import people
from dashboard.components.clock import Clock
from dashboard.components.desk import Desk
from dashboard.components.keys import BY_ACTION
from dashboard.components.saving import Details
from dashboard.components.text import clipped, escaped, shown

_KINDS = {
    "verdict": "verdict", "draft": "draft", "retract": "taken back", "dismiss": "draft closed", "reveal": "gold shown",
    "adjudicate": "settled", "quarantine": "set aside", "release": "taken back", "kept": "merged, does not count",
}  # fmt: skip


def button(action: str, *, chosen: bool | None = None, off: bool = False, label: str = "") -> str:
    """A button of the registry; `chosen` makes it a toggle, `label` puts other words on it."""
    key = BY_ACTION[action]
    pressed = "" if chosen is None else f' aria-pressed="{str(chosen).lower()}"'
    state = pressed + (" disabled" if off else "")
    return (f'<button data-action="{action}" title="{escape(key.help)}"{state}><span>{label or key.label}</span> '
            f"<kbd>{key.key}</kbd></button>")


def choices(desk: Desk, standing: Standing, clock: Clock) -> str:
    """Everything above the note."""
    details, off = desk.details(), not desk.person.may("verdict")
    masked, ruling = bool(desk.masked_now(desk.current or "")), desk.ruling(desk.current or "")
    decided = desk.decided(desk.current or "")
    stored = decided.verdict if decided else desk.unsaved.get(desk.item, (None, None))[0]
    verdict = desk.pressed(stored)
    words = BETTER if masked else {}
    verdicts = "".join(button(f"verdict:{value}", chosen=verdict == value, off=off, label=words.get(value, ""))
                       for value in VERDICTS)
    title = "Settle it: which is right for the reader?" if ruling else "Which is right for the reader?"
    return (f'<div class="sa sa-panel">{_problems(desk)}{_looking(desk)}{_conflict(desk, standing, clock)}'
            + _aside(desk) + people.offer(desk, clock) + people.others(desk, clock)
            + _group(title, "sa-verdicts", verdicts) + _details(desk, details, off) + "</div>")


def together(desk: Desk) -> str:
    """Everything above the note while several questions are judged together."""
    off = not desk.person.may("verdict")
    verdicts = "".join(button(f"verdict:{value}", chosen=False, off=off) for value in VERDICTS)
    return (f'<div class="sa sa-panel">{_problems(desk)}{_looking(desk)}'
            + _group("One verdict for all of them", "sa-verdicts", verdicts)
            + _details(desk, desk.together_details, off, high=False) + "</div>")


def _details(desk: Desk, details: Details, off: bool, *, high: bool = True) -> str:
    blocked = {value for value in IMPACTS if off or (value == "high" and not high)}
    impacts = "".join(button(f"impact:{value}", chosen=details.impact == value, off=value in blocked)
                      for value in IMPACTS)
    causes = "".join(
        f'<button data-action="cause" data-value="{name}" dir="auto"{" disabled" if off else ""} '
        f'aria-pressed="{str(cause in details.causes).lower()}">{escaped(cause)}</button>'
        for name, cause in desk.causes_offered().items())
    title = "Impact · before the verdict"
    return _group(title, "sa-impacts", impacts) + _group("Cause", "sa-causes", causes)


def _looking(desk: Desk) -> str:
    if desk.person.may("verdict"):
        return ""
    return ('<div class="sa-banner info" role="status" id="triage-viewer">You may look at everything here and record '
            "nothing.</div>")


def _aside(desk: Desk) -> str:
    event = desk.aside(desk.current) if desk.current is not None else None
    if event is None:
        return ""
    return ('<div class="sa-banner info" role="status" id="triage-is-aside"><b>Set aside</b> until '
            f"{escaped(event.until)} by {people.named(event.reviewer)}, owner {people.named(event.owner)}: "
            f"{shown(event.note)}. "
            "It still counts in every estimate.<br>"
            '<button data-action="release">Take it back into its queues</button></div>')


def _group(title: str, name: str, buttons: str) -> str:
    return (f'<h2 id="{name}">{title}</h2>'
            f'<div class="{name}" role="group" aria-labelledby="{name}">{buttons}</div>')


def note(desk: Desk) -> str:
    """The note's field, and the form that sets a question aside.

    Its markup stays the same while one question is on the desk, so that drawing the page again never takes away what
    is being typed.
    """
    off = "" if desk.person.may("verdict") else " readonly"
    return ('<div class="sa sa-panel"><h2><label for="triage-note">Note <kbd>t</kbd></label></h2>'
            f'<textarea id="triage-note" data-note="{desk.item}" maxlength="{LONGEST_NOTE}" rows="3" dir="auto"{off}>\n'
            f"{escape(desk.note_drawn())}</textarea></div>")


def aside_form(desk: Desk) -> str:
    """The form that sets an unstable question aside; the same markup until another question comes or this one is set.

    Then it is drawn anew, closed and empty, so that no key ends up in the reason of the next question.
    """
    if desk.grouping or not desk.person.may("quarantine"):
        return ""
    until = (date.fromisoformat(desk.today) + timedelta(days=30)).isoformat()
    names = "".join(f'<option value="{escape(name)}"></option>' for name, _, _ in desk.people())
    event = desk.aside(desk.current) if desk.current is not None else None
    return (f'<details class="sa" id="triage-aside" data-of="{desk.item}:{event.id if event else 0}">'
            '<summary>Set aside as unstable <kbd>u</kbd></summary>'
            '<p class="small mut">Out of the queues until a day, still in every estimate.</p>'
            '<label>Reason <input data-field="reason" maxlength="500" dir="auto"></label>'
            f'<label>Owner <input data-field="owner" maxlength="120" value="{escape(desk.who)}" list="triage-owners">'
            f'</label><datalist id="triage-owners">{names}</datalist>'
            f'<label>Last day <input data-field="until" type="date" value="{until}" min="{desk.today}"></label>'
            '<button data-action="aside" data-form>Set aside</button></details>')


def foot(desk: Desk, standing: Standing, digest: str, history: Sequence[Event], clock: Clock) -> str:
    """Everything below the note.

    Args:
        desk: The session's desk.
        standing: Of the question on screen.
        digest: Of what is shown, to tell a verdict that was given for an earlier text.
        history: The question's events.
        clock: The reader's.
    """
    undo = desk.offered()
    moves = button("undo", off=undo is None) + "".join(map(button, ("previous", "next", "unreviewed")))
    if desk.grouping:
        moves = button("undo", off=undo is None)
    elif desk.person.may("verdict") and desk.current is not None:
        picked = desk.current in desk.chosen
        moves += button("pick", chosen=picked, label="Picked" if picked else "")
        if desk.chosen:
            moves += button("group", label=f"Judge {len(desk.chosen)} together")
    saved = _saved(desk, standing, digest, clock)
    return (f'<div class="sa sa-foot"><div id="triage-saved" role="status">{saved}</div>'
            f'<div class="sa-moves">{moves}</div>{_history(desk, history, clock)}</div>')


def _problems(desk: Desk) -> str:
    errors = [error for error in (desk.problem, desk.unread) if error]
    if not errors:
        return ""
    kept, word = "", "Try again" if desk.unread or desk.person.may("verdict") else ""
    if desk.item in desk.unsaved:
        verdict, word = desk.unsaved[desk.item][0], word and "Save again"
        name = f"<b>{desk.words_of(verdict)}</b>" if verdict else "Your input"
        kept = f" {name} is kept on this page and <b>not saved</b>."
    texts = "<br>".join(escaped(str(error)) for error in errors)
    again = f'<br><button data-action="retry">{word}</button>' if word else ""
    return f'<div class="sa-banner bad" role="alert" id="triage-problem">{texts}{kept}{again}</div>'


def _conflict(desk: Desk, standing: Standing, clock: Clock) -> str:
    draft, verdict = standing.conflict, standing.verdict
    if draft is None or desk.ruling(desk.current or ""):
        return ""
    before = f"“{words(desk, verdict)}” at {clock.show(verdict.at)}" if verdict else "no verdict"
    saved, other = (desk.words_of(str(e.verdict)) if e and e.verdict else "no verdict" for e in (verdict, draft))
    return ('<div class="sa-banner warn" role="alert" id="triage-conflict"><b>Two tabs.</b> Saved in one: '
            f"{before}. Pressed in another, which had not seen it: “{words(desk, draft)}” at {clock.show(draft.at)}. "
            "Both are on disk; keep which?<br>"
            f'<button data-action="resolve:saved">Keep the saved one: {saved}</button> '
            f'<button data-action="resolve:draft">Keep the other: {other}</button></div>')


def _saved(desk: Desk, standing: Standing, digest: str, clock: Clock) -> str:
    """What is on disk, read back from it, and what *undo* would take back."""
    lines = [escaped(desk.message)] if desk.message else []
    if desk.item in desk.unsaved:
        lines.append("<b>Not saved.</b>")
    event, undo = desk.last, desk.offered()
    own = desk.decided(desk.current) if desk.current is not None and not desk.grouping else None
    if event is not None:
        word = "Settled" if event.kind == "adjudicate" else "Saved" if event.kind == "verdict" else "Kept as a draft,"
        lines.append(f'<b class="ok">{word} #{event.id}</b> · {clock.show(event.at)} · {words(desk, event)} on '
                     f'<span dir="auto">{escaped(clipped(event.question_id, 40))}</span>')
    if own and own != event:
        lines.append(f"This question: <b>{words(desk, own)}</b> · #{own.id} · {clock.show(own.at)}")
    elif own is None and desk.item not in desk.unsaved and not desk.grouping:
        draft = standing.draft if standing.conflict is None and standing.draft != event else None
        none = "Not settled yet" if desk.ruling(desk.current or "") else "No verdict on this question yet"
        lines.append(none + (f"; details kept in #{draft.id}." if draft else "."))
    if own and own.item_sha256 != digest:
        lines.append('<b class="warn">Given for an earlier text</b>: the study was loaded again with other content.')
    if undo is not None:
        where = "" if undo.question_id == desk.current else f" on {escaped(clipped(undo.question_id, 40))}"
        number = len(desk.together(undo))
        what = f"{number} verdicts given together" if number > 1 else f"#{undo.id}{where}"
        lines.append(f'<span class="mut">Undo takes back {what}.</span>')
    return "<br>".join(lines)


def words(desk: Desk, event: Event) -> str:
    """A verdict with its impact; of the question on a masked desk without giving a side away."""
    if not event.verdict:
        verdict = "taken back" if event.kind == "retract" else "details only"
    else:
        here = event.question_id == desk.current and event.pair == desk.what.pair
        verdict = desk.words_of(event.verdict) if here else VERDICTS[event.verdict]
    return verdict + (f", {event.impact} impact" if event.impact else "")


def _history(desk: Desk, events: Sequence[Event], clock: Clock) -> str:
    if desk.grouping:
        return ""
    if not events:
        return '<p class="small mut" id="triage-history">Nothing recorded on this question yet.</p>'
    rows = "".join(
        f'<tr><td class="n">#{event.id}</td><td>{clock.show(event.at)}</td><td>{_KINDS.get(event.kind, event.kind)}'
        + ("" if event.reviewer == desk.who else
           f'<br><span class="mut" dir="auto">{people.named(event.reviewer)}</span>')
        + ("<br>masked" if event.sides else "") + "</td>"
        f"<td>{words(desk, event) if event.verdict or event.impact else ''}"
        + (f'<br><span class="mut" dir="auto">{escaped(", ".join(event.causes))}</span>' if event.causes else "")
        + (f"<br>{shown(clipped(event.note, 200))}" if event.note else "") + "</td></tr>"
        for event in reversed(events))
    return (f'<details id="triage-history"><summary>History of this question ({len(events)})</summary>'
            '<div class="scroll" tabindex="0"><table><caption class="sa-sr">Events, newest first</caption><thead><tr>'
            '<th scope="col" class="n">event</th><th scope="col">when</th><th scope="col">what</th>'
            f'<th scope="col">said</th></tr></thead><tbody>{rows}</tbody></table></div></details>')
