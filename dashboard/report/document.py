"""A report as one HTML file: works offline, asks nobody for anything, and is made again to the same bytes."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import plotly
import plotly.offline

from audit_core import __version__
from audit_core.codec import Record
from audit_core.printed import Row, Source
from dashboard import sentences
from dashboard.comparison import Comparison
from dashboard.report import appendix, decision, examples, figures, method, summary, sureness
from dashboard.report.writer import Writer, island
from dashboard.selection import Selection

HERE = Path(__file__).parent
SEAL = b"<!-- sha256 "
"""How the last line begins, which closes a report over everything before."""


def first_page(study: Row, source: Source, selection: Selection, *, redacted: bool) -> str:
    """Head, numbers and plain words, for a preview; arguments as of `document`."""
    comparison, writer = _begun(study, source, selection, redacted)
    return (
        summary.head(comparison, writer)
        + "<main>"
        + _section("The numbers to look at together", summary.cards(comparison, writer))
        + _section("Excess churn in plain words", summary.plain_words(comparison, writer))
        + _section("Decision", decision.section(comparison, writer))
        + "</main>"
    )


def _begun(study: Row, source: Source, selection: Selection, redacted: bool) -> tuple[Comparison, Writer]:
    rows = {name: dict(row) for name, row in source.rows.items()}
    return Comparison(selection, dict(study), rows, rows, locked=True), Writer(source, redacted=redacted)


def document(
    study: Row, source: Source, selection: Selection, flips: list[str], carried: Record, *, redacted: bool
) -> bytes:
    """The whole file.

    Args:
        study: From `read.study`.
        source: What may be printed.
        selection: Pair of states and kernel.
        flips: Ids of the repeat-stable flips of that pair.
        carried: What the report carries of the review.
        redacted: Whether texts of the study are left out.
    """
    comparison, writer = _begun(study, source, selection, redacted)
    drawings = {
        name: figure.markup() if (figure := make(comparison, writer)) is not None else ""
        for name, make in (("sources", figures.sources), ("steps", figures.steps),
                           ("transitions", figures.transitions), ("contrasts", figures.contrasts))
    }  # fmt: skip
    questions = examples.chosen(flips, source.verdicts)
    no_answer = sentences.silent(comparison, comparison.pair("exact_match_difference"), writer)
    no_gold = no_answer or "There is no gold, so accuracy cannot be measured."
    parts = [
        _section("The numbers to look at together", summary.cards(comparison, writer) + drawings["sources"]),
        _section("Excess churn in plain words", summary.plain_words(comparison, writer)),
        _section("What accuracy hides", drawings["transitions"] or f"<p>{no_gold}</p>"),
        _section("Which questions carry it", drawings["contrasts"] or "<p>No question has a contrast.</p>"),
        _section("Along the ladder of states", drawings["steps"]) if drawings["steps"] else "",
        _section("How sure is this?", sure) if (sure := sureness.section(comparison, writer)) else "",
        _section("Questions that flipped", examples.section(comparison, writer, questions)),
        _section("Decision", decision.section(comparison, writer)),
        _section("How it was done", method.section(comparison, writer)),
        _section("What this does not show", method.boundary(comparison, writer)),
        _section("Can the data be trusted?", method.integrity(comparison, writer)),
        _section("Appendix: every estimate", appendix.section(comparison, writer), "appendix"),
    ]
    told = {
        "v": 1, "study_id": study["study_id"], "last_lock": source.locks[-1][1] if source.locks else "",
        "old": selection.old, "new": selection.new, "kernel": selection.kernel, "redacted": redacted,
        "made_by": f"snapshot-audit {__version__}, plotly {plotly.__version__}",
    }  # fmt: skip
    content = (
        summary.head(comparison, writer) + "<main>" + "".join(parts) + "</main>"
        "<footer><p>Made by Snapshot Audit from locked ledgers. The last line of this file closes it with a "
        "digest.</p></footer>" + island(told, 'id="report"') + island(carried, 'id="reviews"')
    )
    return sealed(_page(content))


def _section(title: str, content: str, kind: str = "") -> str:
    classes = f' class="{kind}"' if kind else ""
    return f"<section{classes}><h2>{title}</h2>{content}</section>"


def _page(content: str) -> str:
    scripts = [plotly.offline.get_plotlyjs(), (HERE / "report.js").read_text("utf-8")]
    allowed = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>Snapshot compatibility '
        'report</title>'
        f"<style>{(HERE / 'report.css').read_text('utf-8')}</style></head><body>{content}"
        + "".join(f"<script>{script}</script>" for script in scripts) + "</body></html>\n"
    )  # fmt: skip


def sealed(page: str) -> bytes:
    """The page with the line that closes it."""
    data = page.encode("utf-8")
    return data + SEAL + hashlib.sha256(data).hexdigest().encode() + b" -->\n"
