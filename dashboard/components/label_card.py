"""What the labelling desk shows: the question, two answers called A and B, and buttons. All of it markup.

Nothing here may tell states, repeats, evidence, gold, the judge's label or what others said.
"""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from audit_core.reviews.events import LABELS, Event
from audit_core.reviews.names import LOCAL
from dashboard.components.clock import Clock
from dashboard.components.keys import Key
from dashboard.components.labelling import CARD, REGISTRY, LabelDesk
from dashboard.components.text import LONGEST, clipped, escaped, shown

BY_ACTION = {key.action: key for key in REGISTRY}
HEADLINE = 320
"""Longest question in large type."""
RULE = (
    "Different wording, order or form of one answer is <b>the same</b>. Go by the question: what it does not ask about "
    "makes no difference. A refusal is the same as a refusal only. Do not look anything up."
)


def card(desk: LabelDesk) -> str:
    """The pair on the desk."""
    pair, undo = desk.pair, desk.offered()
    question = pair.question if pair.question is not None else pair.question_id
    long = ' class="is-long"' if len(question) > HEADLINE else ""
    note = "" if pair.question is not None else _NO_TEXT
    a, b = pair.sides(desk.what.seed, desk.what.who)
    sides = "".join(_side(name, answer.text, desk.full) for name, answer in (("A", a), ("B", b)))
    offered = f' data-undo="{undo.id}"' if undo else ""
    return (
        f'<article id="{CARD}" class="sa sa-card" data-item="{desk.item}"{offered}>'
        f'<p class="sa-facts">Pair {desk.current + 1:,} of {len(desk.queue):,}</p>'
        f'<h1 tabindex="-1"{long}>{_text("question", question, desk.full)}</h1>{note}'
        f'<div class="sa-sides">{sides}</div></article>'
    )


_NO_TEXT = '<p class="small mut">This study holds ids only, so the question itself cannot be shown.</p>'


def _side(name: str, text: str, full: Collection[str]) -> str:
    body = _text(name, text, full) if text.strip() else '<span class="mut">(an empty answer)</span>'
    return (
        f'<section class="sa-side" aria-label="Answer {name}"><h2><b>{name}</b></h2>'
        f'<div class="sa-said">{body}</div></section>'
    )


def _text(name: str, text: str, full: Collection[str]) -> str:
    """A text; beyond `LONGEST` characters the rest comes on request."""
    if len(text) <= LONGEST or name in full:
        return shown(text)
    more = f'<button data-action="full_text" data-value="{name}">show all {len(text):,} characters</button>'
    return f"{shown(text[:LONGEST])}… {more}"


def panel(desk: LabelDesk, clock: Clock) -> str:
    """Buttons, what is saved, and what can be taken back."""
    own = desk.label.verdict if desk.label else desk.unsaved.get(desk.item)
    choices = "".join(_button(BY_ACTION[f"label:{value}"], chosen=own == value) for value in LABELS)
    undo = desk.offered()
    moves = _button(BY_ACTION["undo"], off=undo is None)
    moves += "".join(_button(BY_ACTION[name]) for name in ("previous", "next", "open"))
    return (
        f'<div class="sa sa-panel">{_problem(desk)}<h2 id="label-asked">Do A and B mean the same answer?</h2>'
        f'<div class="sa-verdicts" role="group" aria-labelledby="label-asked">{choices}</div>'
        f'<p class="small mut">{RULE}</p></div>'
        f'<div class="sa sa-foot"><div id="label-saved" role="status">{_saved(desk, undo, clock)}</div>'
        f'<div class="sa-moves">{moves}</div></div>'
    )


def progress(desk: LabelDesk) -> str:
    """How far this person is."""
    done, total = len(desk.given), len(desk.queue)
    finished, questions = desk.finished()
    return (
        f'<div class="sa sa-bar"><span id="label-progress" role="status">{done:,} of {total:,} pairs labelled</span>'
        f'<span class="bar"><i style="width:{100 * done / total:.1f}%"></i></span>'
        f"<span>{finished:,} of {questions:,} questions finished</span>"
        f'<span title="Reviewer" dir="auto">{escaped(clipped(desk.what.who.removeprefix(LOCAL), 40))}</span></div>'
    )


def _button(key: Key, *, chosen: bool | None = None, off: bool = False) -> str:
    pressed = "" if chosen is None else f' aria-pressed="{str(chosen).lower()}"'
    caps = " ".join(f"<kbd>{name}</kbd>" for name in key.key.split())
    state = pressed + (" disabled" if off else "")
    return (
        f'<button data-action="{key.action}" title="{escape(key.help)}"{state}><span>{key.label}</span> '
        f"<span>{caps}</span></button>"
    )


def _problem(desk: LabelDesk) -> str:
    errors = [error for error in (desk.problem, desk.unread) if error]
    if not errors:
        return ""
    kept = ""
    if desk.item in desk.unsaved:
        kept = (
            f" <b>{LABELS[desk.unsaved[desk.item]]}</b> is kept on this page and <b>not saved</b>.<br>"
            '<button data-action="retry">Save again</button>'
        )
    texts = "<br>".join(escaped(str(error)) for error in errors)
    return f'<div class="sa-banner bad" role="alert" id="label-problem">{texts}{kept}</div>'


def _saved(desk: LabelDesk, undo: Event | None, clock: Clock) -> str:
    lines = [escaped(desk.message)] if desk.message else []
    if desk.item in desk.unsaved:
        lines.append("<b>Not saved.</b>")
    last = desk.last
    if last is not None:
        lines.append(f'<b class="ok">Saved #{last.id}</b> · {clock.show(last.at)} · {LABELS[str(last.verdict)]}')
    own = desk.label
    if own is not None and own != last:
        lines.append(f"This pair: <b>{LABELS[str(own.verdict)]}</b> · #{own.id} · {clock.show(own.at)}")
    elif own is None and desk.item not in desk.unsaved:
        lines.append("You have not labelled this pair yet.")
    if undo is not None:
        lines.append(f'<span class="mut">Undo takes back #{undo.id}.</span>')
    return "<br>".join(lines)
