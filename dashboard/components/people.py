"""What others said about the question on the desk: other reviewers, and people in earlier studies. All of it markup."""

from __future__ import annotations

from audit_core.reviews.events import VERDICTS, Event
from audit_core.reviews.names import LOCAL
from dashboard.components.clock import Clock
from dashboard.components.desk import Desk
from dashboard.components.text import clipped, escaped, shown


def named(reviewer: str) -> str:
    """A reviewer's name without the word for a name that nobody has proved, escaped."""
    return escaped(clipped(reviewer.removeprefix(LOCAL), 40))


def others(desk: Desk, clock: Clock) -> str:
    """Verdicts of other reviewers once they may be seen, before that only how many there are."""
    question = desk.current
    if question is None:
        return ""
    review = desk.review(question)
    said = [verdict for verdict in review.verdicts if verdict.reviewer != desk.who or desk.ruling(question)]
    if not said and review.ruling is None:
        return ""
    if not desk.others_visible(question):
        many = "Somebody else has" if len(said) == 1 else f"{len(said)} others have"
        return f'<p class="small mut" id="triage-others">{many} recorded a verdict; you see it after yours.</p>'
    rows = "".join(_row(verdict, clock, "") for verdict in said)
    if review.ruling and (not desk.ruling(question) or review.ruling.reviewer != desk.who):
        rows += _row(review.ruling, clock, "settled: ")
    state = "Settled" if review.ruled else "Reviewers disagree" if review.disputed else "Other reviewers"
    return (f'<div class="sa-others" id="triage-others"><h2>{state}</h2><table><caption class="sa-sr">Verdicts of '
            f"reviewers</caption><tbody>{rows}</tbody></table></div>")


def _row(event: Event, clock: Clock, before: str) -> str:
    impact = f", {event.impact} impact" if event.impact else ""
    note = f'<br><span class="mut">{shown(clipped(event.note, 300))}</span>' if event.note else ""
    masked = '<br><span class="mut">masked</span>' if event.sides else ""
    return (f'<tr><th scope="row" dir="auto">{named(event.reviewer)}<br><span class="mut">'
            f"{clock.show(event.at)}</span>{masked}</th>"
            f"<td>{before}<b>{VERDICTS[str(event.verdict)]}</b>{impact}{note}</td></tr>")


def offer(desk: Desk, clock: Clock) -> str:
    """The verdict of an earlier study on the same move, to accept or not."""
    event = desk.remembered(desk.current) if desk.current is not None else None
    if event is None:
        return ""
    impact = f", {event.impact} impact" if event.impact else ""
    note = f": {shown(clipped(event.note, 300))}" if event.note else ""
    return ('<div class="sa-banner info" role="status" id="triage-memory"><b>The same move was judged before.</b> '
            f'{named(event.reviewer)} said <b>{VERDICTS[str(event.verdict)]}</b>{impact} in '
            f'<span dir="auto">{escaped(clipped(event.study_id, 60))}</span> on {clock.day(event.at)}{note}<br>'
            f'<button data-action="accept" data-value="{event.sha256}"><span>Accept it as mine</span> <kbd>a</kbd>'
            "</button></div>")
