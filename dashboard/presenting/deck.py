"""The slides of a presentation, in order."""

from __future__ import annotations

from audit_core.reviews.queues import QUEUES
from dashboard.comparison import Comparison
from dashboard.components.desk import Desk
from dashboard.components.text import escaped
from dashboard.presenting import decision, flip, numbers
from dashboard.presenting.markup import body, heading
from dashboard.presenting.picks import Picks, picks
from dashboard.presenting.show import Content, Slide


def deck(comparison: Comparison, desk: Desk) -> list[Slide]:
    """Everything there is to show of a comparison; at least two slides.

    Args:
        comparison: Estimates of the selected pair.
        desk: Its questions, with the queue that is presented.
    """
    found = [numbers.opening(comparison, desk.problems)]
    if comparison.selection.old == comparison.selection.new:
        return [*found, *numbers.limits(comparison)]
    found += [numbers.three(comparison), numbers.noise(comparison), numbers.accuracy(comparison)]
    if len(comparison.study["states"]) > 2:
        found.append(numbers.ladder(comparison))
    return [*found, *_flips(comparison, desk, picks(desk)), *decision.slides(comparison), *numbers.limits(comparison)]


def _flips(comparison: Comparison, desk: Desk, chosen: Picks) -> list[Slide]:
    total = len(chosen.questions)
    if not total:
        title = "No question to show"
        flips = comparison.pair("repeat_stable_flips", comparison.selection.kernel)
        why = chosen.rule
        if not desk.order and not desk.filters:
            why = flips["reason"] if desk.queue == "flips" and flips["numerator"] is None else QUEUES[desk.queue].empty
        return [Slide("flips", title, lambda _: Content(heading(title) + body(f"<p>{escaped(why)}</p>")))]
    return [
        flip.slide(comparison, desk, question, f"Question {number} of {total}", chosen.rule)
        for number, question in enumerate(chosen.questions, 1)
    ]
