"""How it was done, what it does not show, what may be claimed, and how to check it."""

from __future__ import annotations

from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.markup import Markup
from dashboard.report.figures import STATUS
from dashboard.report.writer import Writer, bullets, table


def section(comparison: Comparison, writer: Writer) -> str:
    """Method and settings."""
    study, protocol = comparison.study, writer.source.protocol
    rows: list[tuple[object, str]] = [("study", writer.say("study", "study_id"))]
    if protocol.generator:
        rows.append(("what answered", writer.say("study", "generator")))
    rows.append(("what differs between the states", writer.say("study", "differs")))
    for state in protocol.states:
        text = writer.say("state", state.name, "label") if state.label else "no label"
        text += (
            f"; {writer.say('state', state.name, 'repeats')} answers a question"
            if writer.source.repeats.get(state.name)
            else ""
        )
        text += f"; {writer.say('state', state.name, 'settings')}" if state.settings else ""
        rows.append(
            (
                Markup(f"state {writer.state(state.name)}"),
                text + ("; nothing is retrieved" if state.closed_book else ""),
            )
        )
    if protocol.retrieval_depth:
        rows.append(("documents a question", writer.say("study", "retrieval_depth")))
    rows.append(("exact kernel", f"equal after the rule {writer.say('study', 'normalization')}"))
    for judge in protocol.judges:
        blind = {True: "blind", False: "not blind", None: "not known to have been blind"}[judge.blind]
        rows.append((f"{judge.role} judge", f"{writer.say('judge', judge.name, 'description')}; {blind}"))
    if protocol.decision is not None:
        rows.append(("margin of the rule", writer.say("study", "margin")))
    level, draws, seed = (writer.say("study", name) for name in ("level", "draws", "seed"))
    bounds = f"whole questions are resampled, exact bootstrap, {level}; beside it {draws} locked draws, seed {seed}"
    rows.append(("bounds", bounds))
    if protocol.gold_commit:
        rows.append(("gold", "sealed before the first answer, opened after answers and labels were locked"))
    text = (
        "<p>Every question is asked at least twice in every state. Disagreement between repeats of one state is "
        "subtracted from disagreement between states, question by question; the mean over questions is the excess "
        "churn. A question flips, repeat-stable, when both states agree with themselves and no answer of one agrees "
        "with an answer of the other. Method: Ning and Li, <cite>Same Agent, Different Answers: A Repeat-Aware Audit "
        "of Corpus-Induced Answer Churn in Retrieval-Augmented QA</cite>.</p>"
    )
    if study["provenance"]:
        text += f"<p>{writer.say('study', 'provenance')}</p>"
    return text + table(
        "Settings", ("setting", "value"), [(name, Markup(value)) for name, value in rows], kind="settings"
    )


def boundary(comparison: Comparison, writer: Writer) -> str:
    """Limits, and how far a claim may go."""
    used = {row["status"] for row in comparison.estimates.values() if row["status"]}
    meaning = {
        "confirmatory": "may be claimed for this population of questions and these settings",
        "supportive": "helps to read the confirmatory numbers and decides nothing by itself",
        "post-hoc": "describes what was found; it was defined after results of such studies had been seen",
        "exploratory": "suggests what to look at next; nothing may be concluded from it alone",
    }
    rows = [(STATUS[name], words) for name, words in meaning.items() if name in used]
    may = (
        "<p>What may be claimed is about these questions, this generator, this judge and these settings: whether "
        "answers moved beyond repeat noise when only what is named above changed. Nothing is claimed about other "
        "questions, other models or the quality of the new state; whether a change is better or worse is what people "
        "say about single questions.</p>"
    )
    return (
        bullets(sentences.limits(comparison, writer)) + "<h3>What may be claimed</h3>" + may
        + table("Status of the numbers in this report", ("status", "how far it goes"), rows)
    )  # fmt: skip


def integrity(comparison: Comparison, writer: Writer) -> str:
    """Checks, locks and how to check this report."""
    source = writer.source
    signs = {"passed": "ok", "failed": "bad"}
    checks = [
        (writer.say("check", number, "number"), writer.say("check", number, "title"),
         Markup(f'<span class="{signs.get(result, "warn")}">{writer.say("check", number, "result")}</span>'))
        for number, (_, result) in source.checks.items()
    ]  # fmt: skip
    locks = []
    for gate, _, _ in source.locks:
        digest = Markup(f"<span class='mono hash'>{writer.say('lock', gate, 'sha256')}</span>")
        locks.append((gate, digest, writer.say("lock", gate, "created")))
    return (
        f"<p>{writer.say('checks', 'passed')} checks passed, {writer.say('checks', 'failed')} failed, "
        f"{writer.say('checks', 'could not check')} could not be made. Every number in this file is marked with what "
        "it is and can be derived again from the locked study, offline: <code>snapshot-audit verify STUDY --claims "
        "REPORT</code>.</p>"
        + table("Numbered checks", ("check", "what is checked", "result"), checks)
        + table("Locks", ("gate", "SHA-256", "closed (UTC)"), locks)
    )
