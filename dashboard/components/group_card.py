"""The picked questions on the desk, with what one verdict would cover and what it would not. All of it markup."""

from __future__ import annotations

from typing import Any

from dashboard.components import group
from dashboard.components.desk import Desk, item_of
from dashboard.components.key_log import CARD
from dashboard.components.text import clipped, escaped

Row = dict[str, Any]
SHOWN = 100
"""Rows that are drawn; the verdict covers those beyond as well, and the counts say so."""


def group_card(desk: Desk) -> str:
    """The whole card."""
    found = group.members(desk)
    covered, out = group.covered(desk, found), [m for m in found if m.left_out]
    unseen = [m for m in found if not m.left_out and not m.opened]
    undo = desk.offered()
    told = [f"<b>{_many(len(covered))}</b> would get the verdict."]
    if unseen:
        verb = "was never" if len(unseen) == 1 else "were never"
        word = "Leave them out" if desk.unseen_too else f"Include {'it' if len(unseen) == 1 else f'all {len(unseen)}'}"
        told.append(f'<b class="warn">{_many(len(unseen))}</b> {verb} on your desk. '
                    f'<button data-action="unseen" aria-pressed="{str(desk.unseen_too).lower()}">{word}</button>')
    if out:
        told.append(f"{_many(len(out))} left out, for the reason in the table.")
    rows = "".join(_row(desk, member) for member in found[:SHOWN])
    more = f'<p class="small mut">… and {len(found) - SHOWN} more.</p>' if len(found) > SHOWN else ""
    table = (
        '<div class="sa-box scroll" tabindex="0"><table><caption class="sa-sr">Picked questions</caption><thead><tr>'
        '<th scope="col">question</th><th scope="col">old</th><th scope="col">new</th><th scope="col">verdict</th>'
        f"<td></td></tr></thead><tbody>{rows}</tbody></table></div>{more}"
        if found else '<div class="sa-banner info">Nothing is picked. Pick questions with <kbd>x</kbd>, or fill the '
        "list with the buttons below.</div>")
    fills = "".join(
        f'<button data-action="fill" data-value="{item_of("cause", cause)}" dir="auto">Add {len(ids)} with the cause '
        f"“{escaped(cause)}”</button> " for cause, ids in group.causes(desk).items())
    fills += f'<button data-action="fill" data-value="queue">Add the whole queue ({len(desk.order):,})</button>'
    fills += '<button data-action="empty">Empty the list</button>' if found else ""
    return (f'<article id="{CARD}" class="sa sa-card" data-item="{desk.item}" data-base="0"'
            + (f' data-undo="{undo.id}"' if undo else "") + ' data-question="">'
            f'<p class="sa-facts">Several questions, one verdict</p><h1 id="triage-question" tabindex="-1">'
            f"{_many(len(found))} picked</h1><p>{' '.join(told)}</p>{table}"
            f'<div class="sa-moves">{fills}<button data-action="group">Back to single questions <kbd>b</kbd></button>'
            "</div></article>")


def _row(desk: Desk, member: group.Member) -> str:
    masked = desk.masked_now(member.question_id)  # in columns named old and new the answers would tell which is which
    old, new = ("hidden" if masked else _answers(member.question, state) for state in desk.what.pair)
    what = escaped(member.left_out) or ("gets this verdict" if member.opened or desk.unseen_too else "not seen")
    name = member.question["text"] or member.question_id
    remove = f'<button data-action="unpick" data-value="{item_of("pick", member.question_id)}">Remove</button>'
    return (f'<tr><th scope="row"><span class="mono mut">{escaped(clipped(member.question_id, 40))}</span><br>'
            f'<span dir="auto">{escaped(clipped(name, 160))}</span></th><td dir="auto">{old}</td><td dir="auto">{new}'
            f'</td><td>{what}</td><td class="sa-act">{remove}</td></tr>')


def _answers(question: Row, state: str) -> str:
    texts = dict.fromkeys(cell["answer"] or "no answer" for cell in question["cells"] if cell["state_name"] == state)
    return "<br>".join(escaped(clipped(text, 80)) for text in texts) or "no answer"


def _many(number: int) -> str:
    return "1 question" if number == 1 else f"{number:,} questions"
