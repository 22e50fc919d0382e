"""The panel beside the card: verdict, impact, causes, what is saved, undo, history. All of it markup.

Its buttons carry `data-action` like those of the card, so keys and clicks travel through one log with what was on
screen, and a press costs one message to the browser instead of twenty. Labels, tooltips and key caps come from the
key registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit_core.reviews.events import IMPACTS, LONGEST_NOTE, VERDICTS, Event
from audit_core.reviews.fold import Standing
from dashboard.components.desk import Desk
from dashboard.components.keys import BY_ACTION
from dashboard.components.text import clipped, escaped, shown

_KINDS = {
    "verdict": "verdict", "draft": "draft", "retract": "taken back", "dismiss": "draft closed", "reveal": "gold shown",
    "adjudicate": "adjudicated",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clock:
    """Times as the reader's clock shows them.

    Attributes:
        zone: The reader's time zone.
        now: The present moment.
    """

    zone: ZoneInfo
    now: datetime

    @classmethod
    def of(cls, zone: str | None, now: datetime) -> Clock:
        """A clock for a named zone; UTC where there is no such zone."""
        try:
            return cls(ZoneInfo(zone or "UTC"), now)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return cls(ZoneInfo("UTC"), now)

    def show(self, at: str) -> str:
        """Time of day; the date as well when it is not today."""
        try:
            moment = datetime.fromisoformat(at).astimezone(self.zone)
        except ValueError:
            return escaped(at)
        today = self.now.astimezone(self.zone).date() == moment.date()
        return moment.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")


def button(action: str, *, chosen: bool | None = None, off: bool = False) -> str:
    """A button of the registry; `chosen` makes it a toggle."""
    key = BY_ACTION[action]
    pressed = "" if chosen is None else f' aria-pressed="{str(chosen).lower()}"'
    state = pressed + (" disabled" if off else "")
    return (f'<button data-action="{action}" title="{escape(key.help)}"{state}><span>{key.label}</span> '
            f"<kbd>{key.key}</kbd></button>")


def choices(desk: Desk, standing: Standing, clock: Clock) -> str:
    """Everything above the note."""
    details = desk.details()
    verdict = standing.verdict.verdict if standing.verdict else desk.unsaved.get(desk.item, (None, None))[0]
    verdicts = "".join(button(f"verdict:{value}", chosen=verdict == value) for value in VERDICTS)
    impacts = "".join(button(f"impact:{value}", chosen=details.impact == value) for value in IMPACTS)
    causes = "".join(
        f'<button data-action="cause" data-value="{name}" dir="auto" '
        f'aria-pressed="{str(cause in details.causes).lower()}">{escaped(cause)}</button>'
        for name, cause in desk.causes_offered().items())
    return (f'<div class="sa sa-panel">{_problems(desk)}{_conflict(standing, clock)}'
            + _group("Which is right for the reader?", "sa-verdicts", verdicts)
            + _group("Impact", "sa-impacts", impacts) + _group("Cause", "sa-causes", causes) + "</div>")


def _group(title: str, name: str, buttons: str) -> str:
    return (f'<h2 id="{name}">{title}</h2>'
            f'<div class="{name}" role="group" aria-labelledby="{name}">{buttons}</div>')


def note(desk: Desk) -> str:
    """The note's field.

    Its markup stays the same while one question is on the desk, so that drawing the page again never takes away what
    is being typed.
    """
    return ('<div class="sa sa-panel"><h2><label for="triage-note">Note</label></h2>'
            f'<textarea id="triage-note" data-note="{desk.item}" maxlength="{LONGEST_NOTE}" rows="3" dir="auto">\n'
            f"{escape(desk.note_drawn())}</textarea></div>")


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
    saved = _saved(desk, standing, digest, clock)
    return (f'<div class="sa sa-foot"><div id="triage-saved" role="status">{saved}</div>'
            f'<div class="sa-moves">{moves}</div>{_history(history, clock)}</div>')


def _problems(desk: Desk) -> str:
    errors = [error for error in (desk.problem, desk.unread) if error]
    if not errors:
        return ""
    kept, word = "", "Try again"
    if desk.item in desk.unsaved:
        verdict, word = desk.unsaved[desk.item][0], "Save again"
        name = f"<b>{VERDICTS[verdict]}</b>" if verdict else "Your input"
        kept = f" {name} is kept on this page and <b>not saved</b>."
    texts = "<br>".join(escaped(str(error)) for error in errors)
    return (f'<div class="sa-banner bad" role="alert" id="triage-problem">{texts}{kept}<br>'
            f'<button data-action="retry">{word}</button></div>')


def _conflict(standing: Standing, clock: Clock) -> str:
    draft, verdict = standing.conflict, standing.verdict
    if draft is None:
        return ""
    before = f"“{_words(verdict)}” at {clock.show(verdict.at)}" if verdict else "no verdict"
    saved, other = (VERDICTS[str(e.verdict)] if e and e.verdict else "no verdict" for e in (verdict, draft))
    return ('<div class="sa-banner warn" role="alert" id="triage-conflict"><b>Two tabs.</b> Saved in one: '
            f"{before}. Pressed in another, which had not seen it: “{_words(draft)}” at {clock.show(draft.at)}. "
            "Both are on disk; keep which?<br>"
            f'<button data-action="resolve:saved">Keep the saved one: {saved}</button> '
            f'<button data-action="resolve:draft">Keep the other: {other}</button></div>')


def _saved(desk: Desk, standing: Standing, digest: str, clock: Clock) -> str:
    """What is on disk, read back from it, and what *undo* would take back."""
    lines = [escaped(desk.message)] if desk.message else []
    if desk.item in desk.unsaved:
        lines.append("<b>Not saved.</b>")
    event, own, undo = desk.last, standing.verdict, desk.offered()
    if event is not None:
        word = "Saved" if event.kind == "verdict" else "Kept as a draft,"
        lines.append(f'<b class="ok">{word} #{event.id}</b> · {clock.show(event.at)} · {_words(event)} on '
                     f'<span dir="auto">{escaped(clipped(event.question_id, 40))}</span>')
    if own and own != event:
        lines.append(f"This question: <b>{_words(own)}</b> · #{own.id} · {clock.show(own.at)}")
    elif own is None and desk.item not in desk.unsaved:
        draft = standing.draft if standing.conflict is None and standing.draft != event else None
        lines.append("No verdict on this question yet" + (f"; details kept in #{draft.id}." if draft else "."))
    if own and own.item_sha256 != digest:
        lines.append('<b class="warn">Given for an earlier text</b>: the study was loaded again with other content.')
    if undo is not None:
        where = "" if undo.question_id == desk.current else f" on {escaped(clipped(undo.question_id, 40))}"
        lines.append(f'<span class="mut">Undo takes back #{undo.id}{where}.</span>')
    return "<br>".join(lines)


def _words(event: Event) -> str:
    verdict = VERDICTS[event.verdict] if event.verdict else "taken back" if event.kind == "retract" else "details only"
    return verdict + (f", {event.impact} impact" if event.impact else "")


def _history(events: Sequence[Event], clock: Clock) -> str:
    if not events:
        return '<p class="small mut" id="triage-history">Nothing recorded on this question yet.</p>'
    rows = "".join(
        f'<tr><td class="n">#{event.id}</td><td>{clock.show(event.at)}</td><td>{_KINDS[event.kind]}</td>'
        f"<td>{_words(event) if event.verdict or event.impact else ''}"
        + (f'<br><span class="mut" dir="auto">{escaped(", ".join(event.causes))}</span>' if event.causes else "")
        + (f"<br>{shown(clipped(event.note, 200))}" if event.note else "") + "</td></tr>"
        for event in reversed(events))
    return (f'<details id="triage-history"><summary>History of this question ({len(events)})</summary>'
            '<div class="scroll" tabindex="0"><table><caption class="sa-sr">Events, newest first</caption><thead><tr>'
            '<th scope="col" class="n">event</th><th scope="col">when</th><th scope="col">what</th>'
            f'<th scope="col">said</th></tr></thead><tbody>{rows}</tbody></table></div></details>')
