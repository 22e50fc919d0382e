"""Slides of the decision: rules, how far people have read, and the sign-off. No notes; names only where chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit_core.deciding import TITLES
from audit_core.errors import AuditError
from audit_core.reviews.decided import decisions, outdated
from audit_core.reviews.events import DECISIONS
from audit_core.reviews.names import LOCAL
from dashboard import data, identity, sentences
from dashboard.comparison import Comparison
from dashboard.components import release, release_rule
from dashboard.components.saving import store
from dashboard.components.text import clipped
from dashboard.markup import pill, plain
from dashboard.numbers import count, plural
from dashboard.presenting.markup import body, bullets, heading, pages
from dashboard.presenting.show import Content, Sight, Slide
from dashboard.report.summary import WORDS

UNTRUSTED = "The outcome is not shown: it rests on data that failed a check."
SIGNS = {True: ("ok", "✓ met"), False: ("bad", "✗ not met"), None: ("warn", "— not decided")}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and what came of it, as whoever looks may know it; texts are markup."""

    title: str
    outcome: str
    tone: str
    lead: str
    conditions: Sequence[str]


Reading = Callable[[Comparison], Rule | None]
"""From a comparison to a rule about it; None where there is none."""


def slides(comparison: Comparison) -> list[Slide]:
    """Everything about the decision."""
    found = [*_ruled(comparison, "protocol", _protocol), *_ruled(comparison, "release", _release)]
    if not found:
        text = "No rule was fixed in advance for this pair of states, so nothing here confirms or refutes a release."
        found = [Slide("rules", "The rules", lambda _: Content(heading("The rules") + body(f"<p>{text}</p>")))]
    return [*found, _progress(comparison), _signed(comparison)]


def _ruled(comparison: Comparison, key: str, rule_of: Reading) -> list[Slide]:
    """Slides of one rule; how many is fixed now, what they say is read when they come on screen."""
    rule = _of(comparison, rule_of)
    if rule is None:
        return []

    def slide(number: int) -> Slide:
        def draw(_: Sight) -> Content:
            now = _of(comparison, rule_of) or rule
            parts = pages(now.conditions)
            outcome = pill(f"<b>{now.outcome}</b>", now.tone) if now.outcome else ""
            listed = bullets(parts[number]) if number < len(parts) and now.conditions else ""
            lead = f'<p class="lead">{now.lead}</p>' if not number else ""
            return Content(heading(f"{now.title} {outcome}") + body(lead + listed))

        return Slide(f"{key}-{number}", rule.title, draw)

    return [slide(number) for number in range(len(pages(rule.conditions)))]


def _of(comparison: Comparison, rule_of: Reading) -> Rule | None:
    try:
        found = rule_of(comparison)
    except AuditError as error:
        return Rule("The rules", "", "", plain(error), ())
    if found and comparison.study["verified"] == "failed":
        return Rule(found.title, "", "", UNTRUSTED, ())
    return found


def _condition(met: bool | None, text: str) -> str:
    tone, word = SIGNS[met]
    return f'<span class="{tone}">{word}</span> {plain(clipped(text, 400))}'


def _protocol(comparison: Comparison) -> Rule | None:
    rule = sentences.decision(comparison)
    if rule is None:
        return None
    tone = {"churn confirmed": "bad", "not confirmed": "ok"}.get(rule["outcome"], "warn")
    lead = "Does the protocol's rule confirm movement beyond repeat noise? All of its conditions must hold."
    conditions = [_condition(c["met"], c["sentence"]) for c in rule["conditions"]]
    return Rule("Rule for movement", plain(rule["outcome"]), tone, lead, conditions)


def _release(comparison: Comparison) -> Rule | None:
    rule = release_rule.fixed(comparison)
    if rule is None:
        return None
    found, veiled = release_rule.seen(comparison, rule, store().fold(), identity.person())
    word, tone, text = release_rule.told(found, veiled)
    conditions = [_condition(c.met, f"{TITLES[c.name]}: {c.sentence}") for c in found.conditions]
    if veiled:
        conditions.append(f'<span class="mut">not shown</span> {TITLES[veiled.name]}: {plain(veiled.sentence)}')
    return Rule("Release rule", plain(word), tone, plain(text), conditions)


def _progress(comparison: Comparison) -> Slide:
    title = "How far people have read"

    def draw(_: Sight) -> Content:
        flips = comparison.pair("repeat_stable_flips", comparison.selection.kernel)
        if flips["numerator"] is None:
            text = f"<p>Repeat-stable flips cannot be counted here. {plain(flips['reason'])}</p>"
        elif not flips["numerator"]:
            text = "<p>There are no repeat-stable flips between these states, so no question waits for a person.</p>"
        else:
            text = _said(comparison)
        return Content(heading(title) + body(text))

    return Slide("review", title, draw)


def _said(comparison: Comparison) -> str:
    try:
        found = data.review(comparison.selection)
    except AuditError as error:
        return f'<p class="warn">{plain(error)}</p>'
    everyone, known, needed = found.everyone, found.known, identity.team().needed
    reviewed = "have a verdict" if needed == 1 else f"are settled, by {needed} who agree or a ruling"
    lines = [f"<b>{count(everyone.reviewed)}</b> of {plural(everyone.total, 'repeat-stable flip')} {reviewed}"]
    for name, word in WORDS.items():
        if number := known.by_verdict[name]:
            high = known.high_impact_regressions if name == "regression" else 0
            of_them = f", of which {count(high)} of high impact" if high else ""
            lines.append(f"{word.capitalize()}: <b>{count(number)}</b>{of_them}")
    if found.disputed:
        lines.append(f"Disputed, to be settled: <b>{count(found.disputed)}</b>")
    if found.waiting:
        lines.append(f"Waiting for a verdict that counts: <b>{count(found.waiting)}</b>")
    if found.aside:
        lines.append(f"Set aside as unstable, still in every number: <b>{count(found.aside)}</b>")
    partial = (
        "<p class='sa-fine'>What others said is shown to you only on questions that you have judged yourself.</p>"
        if found.partial
        else ""
    )
    return bullets(lines) + partial


def _signed(comparison: Comparison) -> Slide:
    title = "Release decision"

    def draw(sight: Sight) -> Content:
        if comparison.selection.old == comparison.selection.new:
            return Content(heading(title) + body("<p>There is no change to decide about.</p>"))
        try:
            text = _decided(comparison, sight)
        except AuditError as error:
            text = f'<p class="warn">{plain(error)}</p>'
        return Content(heading(title) + body(text))

    return Slide("signoff", title, draw)


def _decided(comparison: Comparison, sight: Sight) -> str:
    fold = store().fold()
    screen = release.screen_of(comparison)(fold)
    found = decisions(fold, screen.study_id, screen.pair)
    if not found:
        return "<p>Nobody has decided yet whether this change may go out.</p>"
    event, content = found[0].event, found[0].content
    verdict, counts = str(event.verdict), found[0].content["counts"]
    since = outdated(found[0], screen, fold)
    old = pill("Outdated", "warn") if since else ""
    parts = [f'<p class="sa-huge">{pill(f"<b>{DECISIONS[verdict]}</b>", release.TONES[verdict])} {old}</p>']
    parts.append(f"<p>{release.MEANS[verdict]}</p>")
    if since:
        parts.append(f'<p class="warn">{" ".join(map(plain, since))}</p>')
    if content["conditions"]:
        parts.append(f"<p><b>Conditions:</b> {plain(clipped(content['conditions'], 500))}</p>")
    name = plain(clipped(event.reviewer.removeprefix(LOCAL), 60))
    vouched = "" if content["proved"] else " (a name chosen on the machine, not proved)"
    by = f' by <span dir="auto">{name}</span>{vouched}' if sight.names else ""
    parts.append(
        f"<p class='mut'>Signed{by} on {plain(event.at[:10])}, when {count(counts['reviewed'])} of "
        f"{plural(counts['total'], 'repeat-stable flip')} had a verdict that counts.</p>"
    )
    return "".join(parts)
