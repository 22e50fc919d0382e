"""Rules, review and sign-off: what was decided, by what, and whether it still holds."""

from __future__ import annotations

from audit_core.deciding import TITLES
from audit_core.printed import Row
from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.markup import Markup
from dashboard.report.summary import WORDS
from dashboard.report.writer import Writer, table

MARKS = {True: ("ok", "met"), False: ("bad", "not met"), None: ("warn", "not decided")}


def section(comparison: Comparison, writer: Writer) -> str:
    """The whole section."""
    rule = sentences.decision(comparison)
    parts = []
    if writer.source.release is not None:
        parts.append(
            "<h3>Release rule: "
            f"{writer.say('release', 'outcome')}</h3>{_conditions(writer, 'release', writer.source.release)}"
        )
    if rule is not None:
        parts.append(
            f"<h3>Rule for movement: {writer.say('decision', 'outcome')}</h3>{_conditions(writer, 'decision', rule)}"
        )
    if not parts:
        parts.append(
            "<p>No rule was fixed in advance for this pair of states, so nothing here confirms or refutes a "
            "release.</p>"
        )
    else:
        parts.append(
            "<p class='small'>All conditions of a rule must hold. No slice and no other number can rescue or sink "
            "it.</p>"
        )
    return "".join(parts) + _review(writer) + _signed(writer)


def _conditions(writer: Writer, name: str, rule: Row) -> str:
    rows = []
    for number, condition in enumerate(rule["conditions"]):
        tone, word = MARKS[condition["met"]]
        titles = (TITLES[condition["name"]],) if name == "release" else ()
        rows.append((*titles, writer.say(name, number, "sentence"), Markup(f'<span class="{tone}">{word}</span>')))
    heads = ("condition", "what was found", "result") if name == "release" else ("condition", "result")
    return table("Conditions", heads, rows, kind="quiet")


def _review(writer: Writer) -> str:
    counts = writer.source.review
    if not counts["total"]:
        return ""
    given = [name for name in WORDS if counts[f"verdict.{name}"]]
    rows = [(WORDS[name], writer.say("review", f"verdict.{name}")) for name in given]
    rows += [("no verdict that counts", writer.say("review", "waiting"))]
    if counts["disputed"]:
        rows.append(("of these disputed", writer.say("review", "disputed")))
    rows.append(("all repeat-stable flips", writer.say("review", "total")))
    return "<h3>What people said about the flips</h3>" + table(
        "Verdicts", ("verdict", "flips"), rows, numeric=(1,), kind="quiet"
    )


def _signed(writer: Writer) -> str:
    found = writer.source.signoff
    if found is None:
        return "<h3>Sign-off</h3><p>Nobody has signed a release decision for this pair of states.</p>"
    text = f"<h3>Sign-off: {writer.say('signoff', 'decision')}</h3>"
    if found["outdated"]:
        text += f'<p class="warn"><b>Outdated.</b> {writer.say("signoff", "outdated")}</p>'
    if not writer.redacted:
        vouched = "" if found["proved"] else " (a name chosen on the machine, not proved)"
        text += f"<p><b>Reason:</b> {writer.say('signoff', 'reason')}</p>"
        if found["conditions"]:
            text += f"<p><b>Conditions:</b> {writer.say('signoff', 'conditions')}</p>"
        text += f"<p>Signed by {writer.say('signoff', 'by')}{vouched}, {writer.say('signoff', 'at')} UTC, "
    else:
        text += f"<p>Signed {writer.say('signoff', 'at')} UTC, "
    return text + (
        f"when {writer.say('signoff', 'reviewed')} of {writer.say('signoff', 'total')} flips had a verdict that "
        f"counts. Digest of the signed file: <span class='mono'>{writer.say('signoff', 'sha256')}</span>; "
        "<code>snapshot-audit verify-signoff</code> checks it.</p>"
    )
