"""Queue, order, progress and filter in one block of markup above the card."""

from __future__ import annotations

from collections.abc import Iterable

from audit_core.reviews.queues import QUEUES, SORTS
from dashboard.components.desk import Desk
from dashboard.components.panel import button
from dashboard.components.people import named
from dashboard.components.text import escaped


def menus(desk: Desk) -> str:
    """Queue and order with counts; apart from the progress, because it seldom changes and is costly to draw."""
    counts = desk.counts()
    queues = _menu("Queue", f"{QUEUES[desk.queue].label} · {counts[desk.queue]:,}", (
        _choice("queue", name, f"{queue.label} <i>{counts[name]:,}</i>", name == desk.queue)
        for name, queue in QUEUES.items()))
    sorts = _menu("Order", SORTS[desk.sort] + (f" {desk.seed}" if desk.sort == "random" else ""), (
        _choice("sort", name, "Shuffle anew" if name == desk.sort == "random" else label, name == desk.sort)
        for name, label in SORTS.items()))
    return f'<div class="sa sa-bar">{queues}{sorts}</div>'


def progress(desk: Desk) -> str:
    """How far the review of the queue is, and what narrows it."""
    reviewed, total, high = desk.progress()
    share = 100 * reviewed / total if total else 0
    aside = desk.set_aside()
    away = f'<span id="triage-away">{aside:,} set aside</span>' if aside else ""
    masked = ""
    if desk.person.may("verdict"):
        masked = "<b>Masked</b>" if desk.team.masked else button("masked", chosen=desk.masked)
    present = button("present", label=f"Present {len(desk.chosen)} picked" if desk.chosen else "")
    word = "reviewed"
    if desk.queue == "disputed":
        reviewed, word = desk.settled(), "settled"
        share = 100 * reviewed / total if total else 0
    return (f'<div class="sa sa-bar"><span id="triage-progress" role="status">{reviewed:,} of {total:,} {word}</span>'
            f'<span class="bar"><i style="width:{share:.1f}%"></i></span>'
            f"<span>{high:,} high impact</span>{away}{masked}{present}"
            f"{_people(desk, total)}</div>{_filter(desk, total)}")


def _people(desk: Desk, total: int) -> str:
    """How far everyone is in this queue; with one person there is nobody to tell of."""
    found = desk.people()
    if len(found) < 2 and desk.team.needed == 1:
        return ""
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{named(name)}{" (you)" if name == desk.who else ""}</th>'
        f'<td class="n">{done:,} of {of:,}</td></tr>' for name, done, of in found)
    needs = "" if desk.team.needed == 1 else f" A question needs {desk.team.needed} verdicts that agree, or a ruling."
    settled = "Who" if desk.queue == "disputed" else f"{desk.settled():,} of {total:,} settled"
    return (f'<details class="sa-menu" id="triage-people"><summary><b>{settled}</b></summary><div><table>'
            f'<caption class="small mut">Verdicts in this queue.{needs}</caption><tbody>{rows}</tbody></table>'
            "</div></details>")


def nobody(desk: Desk) -> str:
    """A queue without questions: why, and where there are some."""
    why = "No question of this queue passes the filter." if desk.filters else QUEUES[desk.queue].empty
    counts = desk.counts()
    others = "".join(_choice("queue", name, f"{QUEUES[name].label} <i>{count:,}</i>", False)
                     for name, count in counts.items() if count and name != desk.queue)
    links = f"<p>Queues with questions:</p><div class='sa-moves'>{others}</div>" if others else ""
    return (f'<div class="sa sa-empty" id="triage-empty" data-item="">'
            '<h1>Which flips need a person, one by one?</h1><div class="sa-banner info" role="status">'
            f"<b>{escaped(QUEUES[desk.queue].label)}: no questions.</b> {escaped(why)}</div>{links}</div>")


def _menu(name: str, value: str, choices: Iterable[str]) -> str:
    return (f'<details class="sa-menu"><summary>{name}: <b>{value}</b></summary><div role="group" aria-label="{name}">'
            f"{''.join(choices)}</div></details>")


def _choice(action: str, value: str, label: str, chosen: bool) -> str:
    now = ' aria-current="true"' if chosen else ""
    return f'<button data-action="{action}" data-value="{value}"{now}>{label}</button>'


def _filter(desk: Desk, total: int) -> str:
    problems = "".join(f'<div class="sa-banner warn" role="status">{escaped(p)}</div>' for p in desk.problems)
    if not desk.filters:
        return f'<div class="sa">{problems}</div>' if problems else ""
    words = [f"{name} {escaped(', '.join(values))}" for name, values in desk.filter_address.items()
             if name not in ("only", "of")]
    if desk.filters.only is not None:
        words.append(f"{len(desk.filters.only):,} named questions")
    if desk.filters.verdict not in (None, "none", "any") and desk.person.independent:
        words.append("of questions that you have judged yourself")
    passing = "1 question passes" if total == 1 else f"{total:,} questions pass"
    asked = f" The link was made for {desk.filters.of:,}; an address holds no more." if desk.filters.of else ""
    return (f'<div class="sa small" id="triage-filter">{problems}<span dir="auto">Filter: {"; ".join(words)}.</span> '
            f'{passing}.{asked} <button data-action="clear">Clear filter</button></div>')
