"""The first page of a report: what happened, what is true now, what to do, and what excess churn is in plain words."""

from __future__ import annotations

from audit_core.deciding import TITLES
from audit_core.estimators.refusals import alarms
from audit_core.printed import Row
from audit_core.protocol import attribution
from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.markup import Markup
from dashboard.numbers import degenerate, exact
from dashboard.report.writer import Writer, bullets
from dashboard.selection import KERNELS, Selection

WORDS = {
    "regression": "regressions",
    "improvement": "improvements",
    "both_acceptable": "both acceptable",
    "both_wrong": "both wrong",
    "not_a_real_change": "not a real change",
    "cannot_tell": "cannot tell",
}


def head(comparison: Comparison, writer: Writer) -> str:
    """Title, what was compared, and the three paragraphs."""
    study, selection = comparison.study, comparison.selection
    verdict = sentences.verdict(comparison, writer)
    labels = {state["state"]: state["label"] for state in study["states"]}

    def named(name: str, side: str) -> str:
        label = f" ({writer.say('state', name, 'label')})" if labels[name] else ""
        return f'<b class="{side}">{writer.state(name)}</b>{label}'

    happened = verdict.lead
    if attribution(writer.source.protocol, selection.old, selection.new):
        happened += f" <b>{writer.say('attribution', selection.old, selection.new)}</b>"
    tone = f"pill {verdict.tone}".strip()
    pills = [f'<span class="{tone}">Movement beyond noise: {verdict.short}</span>', _trust(study)]
    if study["origin"] == "reconstructed":
        pills.append('<span class="pill warn">Reconstructed from published figures; ids only</span>')
    if study["origin"] == "imported":
        pills.append('<span class="pill warn">Imported logs: how the answers were made is not proved</span>')
    if writer.redacted:
        pills.append('<span class="pill warn">Redacted: ids and digests only</span>')
    return (
        f'<header><p class="kind">Snapshot compatibility report</p><h1>{verdict.title}</h1>'
        f"<p class='lead'>{writer.say('study', 'title')}: {writer.say('study', 'questions')} "
        f"{'question' if writer.source.questions == 1 else 'questions'}, "
        f"{_asked(writer, selection)}, "
        f"from {named(selection.old, 'old')} to {named(selection.new, 'new')}.</p><p "
        f"class='pills'>{' '.join(pills)}</p></header>"
        f'<section class="short" aria-label="In short"><div><h2>What happened</h2><p>{happened}</p></div>'
        f"<div><h2>What is true now</h2>{bullets(now(comparison, writer))}</div>"
        f"<div><h2>What to do</h2>{bullets(todo(comparison, writer))}</div></section>"
    )


def _asked(writer: Writer, selection: Selection) -> str:
    """How often each question was put, in each state where that differs."""
    old, new = (writer.source.repeats.get(name, 0) for name in (selection.old, selection.new))

    def times(name: str, number: int) -> str:
        return f"{writer.say('state', name, 'repeats')} {'time' if number == 1 else 'times'}"

    if not (old and new):
        asked = [f"asked {times(name, n)} in {writer.state(name)}" for name, n in
                 ((selection.old, old), (selection.new, new)) if n]  # fmt: skip
        return ", ".join([*asked, "without any answer" if not asked else "without any answer in the other state"])
    if old == new:
        return f"asked {times(selection.new, new)} in each state"
    return (
        f"asked {times(selection.old, old)} in {writer.state(selection.old)} and {times(selection.new, new)} in "
        f"{writer.state(selection.new)}"
    )


def _trust(study: Row) -> str:
    tone, words = {
        "passed": ("ok", "Ledger verified"), "failed": ("bad", "Ledger check failed"),
    }.get(study["verified"], ("warn", "Ledger not fully checked"))  # fmt: skip
    return f'<span class="pill {tone}">{words}</span>'


def now(comparison: Comparison, writer: Writer) -> list[str]:
    """The state of things: alarms, flips, review, rules, decision."""
    found = []
    for number, alarm in enumerate(alarms(writer.source.rows.values())):
        bare = f"Nearly all answers in {writer.state(alarm.state)} are one and the same; such agreement means nothing."
        found.append(f"<b>Alarm.</b> {bare if writer.redacted else writer.say('alarm', number)}")
    flips = comparison.pair("repeat_stable_flips", comparison.selection.kernel)
    number = flips["numerator"]
    if number is None:
        found.append("Repeat-stable flips cannot be counted: " + writer.say("estimate", flips["name"], "reason"))
    else:
        word = "question" if flips["denominator"] == 1 else "questions"
        found.append(
            f"{writer.number(flips, 'count', 'numerator')} of {writer.number(flips, 'count', 'denominator')} {word} "
            "flipped in every repeat: one answer before, another one after."
        )
    if number:
        counts = writer.source.review
        given = {name: word for name, word in WORDS.items() if counts[f"verdict.{name}"]}
        one = {name: word.removesuffix("s") for name, word in given.items() if counts[f"verdict.{name}"] == 1}
        said = [f"{writer.say('review', f'verdict.{name}')} {word}" for name, word in (given | one).items()]
        listed = f" ({', '.join(said)})" if said else ""
        have = "has" if counts["reviewed"] == 1 else "have"
        found.append(f"{writer.say('review', 'reviewed')} of them {have} a verdict that counts{listed}.")
    rule = sentences.decision(comparison)
    if rule is not None:
        found.append(f"Rule fixed in the protocol: <b>{rule['outcome']}</b>.")
    if writer.source.release is not None:
        found.append(f"Release rule: <b>{writer.say('release', 'outcome')}</b>.")
    signed = writer.source.signoff
    if signed is None:
        found.append("Nobody has signed a release decision.")
    else:
        late = ", <b>outdated</b>: what it rests on has changed since" if signed["outdated"] else ""
        found.append(f"Signed release decision: <b>{signed['decision']}</b>{late}.")
    return found


def _many(writer: Writer, name: str, noun: str) -> str:
    """A count of the review with its noun."""
    return f"{writer.say('review', name)} {noun}{'' if writer.source.review[name] == 1 else 's'}"


def todo(comparison: Comparison, writer: Writer) -> list[str]:
    """What is open, most urgent first; one sentence where nothing is."""
    counts, signed = writer.source.review, writer.source.signoff
    found = []
    if comparison.study["verified"] == "failed":
        return ["Restore the study from a copy: a check failed, so nothing here can be relied on."]
    if counts.get("high_impact_regressions"):
        found.append(f"Settle {_many(writer, 'high_impact_regressions', 'high-impact regression')} before release.")
    if counts.get("waiting"):
        has = "has" if counts["waiting"] == 1 else "have"
        found.append(f"Read the {_many(writer, 'waiting', 'flip')} that {has} no verdict that counts.")
    if counts.get("disputed"):
        found.append(f"Let an adjudicator settle {_many(writer, 'disputed', 'disputed question')}.")
    for rule, words in (
        (writer.source.release, "the release rule"),
        (sentences.decision(comparison), "the protocol's rule"),
    ):
        if rule and rule["outcome"] == "cannot be decided":
            found.append(f"Supply what {words} cannot be decided without; it is named under Decision.")
    release = writer.source.release
    if release and release["outcome"] == "not met":
        failed = [TITLES[c["name"]] for c in release["conditions"] if c["met"] is False]
        found.insert(0, f"Do not release by the rule: it is not met. {'; '.join(failed)}; see Decision.")
    new = comparison.selection.new
    split = comparison.state("outcome_split", new)
    if split["numerator"]:
        number = writer.number(split, "count", "numerator")
        found.append(
            f"Look at {number} {'question' if split['numerator'] == 1 else 'questions'} that {writer.state(new)} once "
            "answers and once does not, from the same "
            "evidence."
        )
    excess = comparison.pair("excess_churn", comparison.selection.kernel)
    if exact(excess) is None:
        found += sentences.failures(comparison, writer, (comparison.selection.old, new)) or [
            "Ask every question at least twice in both states; without it noise and change cannot be told apart."
        ]
    elif excess["lower"] is None or degenerate(excess):
        found.append("Ask more questions: these give no bound to judge by.")
    elif not sentences.moved(excess):
        found.append("Plan a larger audit if a smaller movement would matter: <code>snapshot-audit plan</code>.")
    if signed is None or signed["outdated"]:
        found.append("Have the release decision signed on the Summary page." if signed is None else
                     "Have the release decision signed again.")  # fmt: skip
    return found or ["Nothing is open."]


def plain_words(comparison: Comparison, writer: Writer) -> str:
    """Excess churn for a reader without statistics."""
    kernel = comparison.selection.kernel
    within, across, excess, flips = (
        comparison.pair(m, kernel)
        for m in ("baseline_agreement", "cross_agreement", "excess_churn", "repeat_stable_flips")
    )
    same = "mean the same, as judged," if kernel == "semantic" else "are equal after normalization"
    text = (
        "<p>A language model does not always say the same thing twice. So every question was put more than once to "
        "the same system, before anything changed. That tells how often two answers differ <b>for no reason</b>: "
        "repeat noise. Then the same questions were put to the changed system, and its answers compared with the "
        "earlier ones. Only what differs <b>more often than noise</b> can come from the change. That surplus is "
        "called excess churn.</p>"
    )
    if any(exact(row) is None for row in (within, across, excess)):
        return text + f"<p>Here it cannot be measured: {writer.say('estimate', excess['name'], 'reason')}</p>"
    text += (
        f"<p>Here, two answers to one question {same} in {writer.number(within, 'percent')} of cases when nothing "
        f"changed, and in {writer.number(across, 'percent')} when one comes from before and one from after. The "
        f"difference, <b>{writer.number(excess, 'points')}</b>, is the excess churn"
    )
    if excess["low"] is not None and not degenerate(excess):
        level = writer.say("study", "level")
        text += (
            f". Other questions of the same kind would have given another number; with {level} confidence it lies "
            f"between {writer.number(excess, 'hundredths', 'low')} and {writer.number(excess, 'hundredths', 'high')}"
        )
    text += (
        ".</p><p>It is a gap between two agreements, not the share of answers that changed, and it counts every "
        "change: better answers, worse ones and those that make no difference. "
    )
    if flips["numerator"]:
        text += (
            "Which of them matter is for people to say. They start with the "
            f"{writer.number(flips, 'count', 'numerator')} {'question' if flips['numerator'] == 1 else 'questions'} "
            "whose answers agreed with each other before, agree with each other after, and differ in between."
        )
    return Markup(text + "</p>")


def cards(comparison: Comparison, writer: Writer) -> str:
    """Cross agreement, excess churn and flips together, and exact match beside them."""
    kernel, level = comparison.selection.kernel, writer.say("study", "level")
    across, within, flips, match = (
        comparison.pair("cross_agreement", kernel), comparison.pair("baseline_agreement", kernel),
        comparison.pair("repeat_stable_flips", kernel), comparison.pair("exact_match_difference"),
    )  # fmt: skip
    calm = f"when nothing changes: {writer.number(within, 'percent')}" if exact(within) is not None else ""
    share = ""
    if exact(flips) is not None:
        word = "question" if flips["denominator"] == 1 else "questions"
        share = f"of {writer.number(flips, 'count', 'denominator')} {word}, {writer.number(flips, 'percent')}"
    made = [_card(writer, f"Still agree across states ({KERNELS[kernel]})", across, "percent", calm)]
    for name in sentences.kernels(comparison):
        row = comparison.pair("excess_churn", name)
        made.append(_card(writer, f"Excess churn ({KERNELS[name]})", row, "points", _bounds(writer, row, level)))
    made.append(_card(writer, f"Repeat-stable flips ({KERNELS[kernel]})", flips, "count", share))
    bounds, why = _bounds(writer, match, level, one_sided=False), sentences.silent(comparison, match, writer)
    made.append(_card(writer, "Exact match", match, "signed", bounds, why))
    return f'<div class="cards">{"".join(made)}</div>'


def _card(writer: Writer, label: str, row: Row, form: str, note: str, why: str = "") -> str:
    if exact(row) is None:
        reason = why or (writer.say("estimate", row["name"], "reason") if row["name"] in writer.source.rows else "")
        return f'<div class="card"><h3>{label}</h3><p class="none">not measurable</p><p>{reason}</p></div>'
    value = writer.number(row, form, "numerator" if form == "count" else "value")
    return f'<div class="card"><h3>{label}</h3><p class="big">{value}</p><p>{note}</p></div>'


def _bounds(writer: Writer, row: Row, level: str, *, one_sided: bool = True) -> str:
    if degenerate(row):
        return "all questions are equal, so bounds say nothing"
    if row["low"] is None:
        return "no interval"
    ends = " to ".join(writer.number(row, "hundredths", end) for end in ("low", "high"))
    lower = (
        f"at least {writer.number(row, 'hundredths', 'lower')} (one-sided)<br>"
        if one_sided and row["lower"] is not None
        else ""
    )
    return f"{lower}{level} interval {ends}"
