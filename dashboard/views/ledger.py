"""Can I trust the data?"""

from __future__ import annotations

from typing import Any

from dashboard import data, display, sentences, state
from dashboard.comparison import Comparison
from dashboard.data import compare
from dashboard.display import Markup, plain
from dashboard.numbers import count, percent, plural
from dashboard.state import KERNELS

Row = dict[str, Any]
MOST_GAPS = 500


def page() -> None:
    """Draw the page."""
    comparison = compare(state.current())
    checks = data.checks(comparison.selection.study)
    display.heading("Can I trust the data?", _lead(comparison, checks))
    _checks(checks)
    _locks(comparison)
    _coverage(comparison)
    _findings(comparison)
    _versions(comparison)
    display.section("What this study cannot prove")
    display.block(
        "<ul class='wide mut'>" + "".join(f"<li>{limit}</li>" for limit in sentences.limits(comparison)) + "</ul>"
    )


def _lead(comparison: Comparison, checks: list[Row]) -> str:
    found = {word: sum(check["result"] == word for check in checks) for word in ("passed", "failed", "could not check")}
    passed, failed, unmade = found["passed"], found["failed"], found["could not check"]
    text = f"{plural(passed, 'check')} passed, {count(failed)} failed, {count(unmade)} could not be made."
    return text + (" A check that could not be made proves nothing either way." if found["could not check"] else "")


def _checks(checks: list[Row]) -> None:
    display.section(
        "Numbered checks",
        "Made when the study was loaded, offline and from the locked files alone; "
        "<code>snapshot-audit verify</code> repeats them.",
    )
    if not checks:
        display.empty("No check is recorded.", "Load the study again with a current version.")
        return
    display.block(
        display.grid(
            ("check", "what is checked", "result", "detail"),
            [
                (check["check_id"], check["title"], Markup(display.outcome(check["result"])), check["detail"])
                for check in checks
            ],
        )
    )
    display.table(
        [{"check": c["check_id"], "title": c["title"], "result": c["result"], "detail": c["detail"]} for c in checks],
        "checks",
    )


def _locks(comparison: Comparison) -> None:
    locks = data.locks(comparison.selection.study)
    display.section(
        "Chain of locks",
        "Each lock names the SHA-256 of the one before. Compare the last one with a copy kept outside the study: "
        f"<code>{plain(comparison.study['root_lock'])}</code>",
    )
    if not locks:
        display.empty(
            "This study has no locks.", "An unlocked study can change without a trace; lock it before relying on it."
        )
        return
    cells = []
    for lock in locks:
        files = "<br>".join(f"{plain(f['path'])} <span class='mut'>{_size(f)}</span>" for f in lock["files"])
        counts = ", ".join(f"{plain(k.replace('_', ' '))} {plain(_number(v))}" for k, v in lock["counts"].items())
        cells.append(
            (
                f"{lock['number']:02d}",
                lock["gate"],
                Markup(f"<span class='mono'>{plain(lock['sha256'])}</span>"),
                Markup(files),
                Markup(counts + (f"<br>{plain(lock['note'])}" if lock["note"] else "")),
            )
        )
    display.block(display.grid(("number", "gate", "sha256", "covers", "counts"), cells))
    display.table(
        [
            {
                "number": lock["number"],
                "gate": lock["gate"],
                "sha256": lock["sha256"],
                "previous": lock["prev"],
                "created": lock["created"],
                "file": f["path"],
                "lines": f["lines"],
                "bytes": f["bytes"],
                "file sha256": f["sha256"],
            }
            for lock in locks
            for f in lock["files"] or [{"path": "", "lines": None, "bytes": None, "sha256": ""}]
        ],
        "locks",
    )


def _size(file: Row) -> str:
    return plural(file["lines"], "line") if file["lines"] else f"{count(file['bytes'])} bytes"


def _number(value: object) -> str:
    return count(value) if isinstance(value, int) else str(value)


def _coverage(comparison: Comparison) -> None:
    selection, total = comparison.selection, comparison.study["questions"]
    rows = data.coverage(selection.study)
    display.section(
        "Coverage: question × state × repeat",
        f"Of {plural(total, 'question')}; errors and missing answers are outside every denominator, never imputed.",
    )
    if not rows:
        display.empty("No answer is recorded.", "Import or collect answers first.")
        return
    cells = [
        (
            Markup(f"<b>{plain(row['state'])}</b> <span class='mut'>{plain(row['label'])}</span>"),
            row["repeat"],
            count(row["ok"]),
            Markup(_alarm(row["errors"])),
            Markup(_alarm(row["missing"])),
            percent(row["ok"] / total if total else None, 1),
            count(row["attempts"]),
            count(row["attempts"] - row["ok"] - row["errors"]),
        )
        for row in rows
    ]
    display.block(
        display.grid(
            ("state", "repeat", "answers", "errors", "missing", "covered", "attempts", "retries"),
            cells,
            numeric=range(1, 8),
        )
    )
    display.note("Attempts are external calls, accepted or not; a cell without a record counts as one.")
    display.table(rows, "coverage")
    number, gaps = data.gaps(selection.study, MOST_GAPS)
    if not number:
        display.block("<p>Every question has an answer in every state and repeat.</p>")
        return
    asked = sorted({gap["question_id"] for gap in gaps})
    shown = f", the first {count(len(gaps))} shown" if number > len(gaps) else ""
    display.block(
        f"<p><b>{plural(number, 'cell')}</b> of {plural(len(asked), 'question')} without an answer{shown}.</p>"
    )
    if selection.old != selection.new:
        display.link(
            f"Open {plural(len(asked), 'question')} with gaps", display.into(selection, queue="all", only=asked)
        )
    display.table(
        [
            {
                "question": g["question_id"],
                "state": g["state"],
                "repeat": g["repeat"],
                "what": g["status"],
                "error": g["error"],
            }
            for g in gaps
        ],
        "gaps",
        label="Cells without an answer",
    )


def _alarm(number: int) -> str:
    return f'<span class="bad">{count(number)}</span>' if number else "0"


def _findings(comparison: Comparison) -> None:
    display.section(
        "Findings", "What was noticed about the data when it was imported or collected; it stays with the study."
    )
    findings = comparison.study["findings"]
    if not findings:
        display.block("<p>Nothing was noticed, such as repeats that look cached or answers that are all the same.</p>")
        return
    tones = {"error": "bad", "warning": "warn", "notice": "mut"}
    display.block(
        display.grid(
            ("severity", "kind", "count", "where", "what it means"),
            [
                (
                    Markup(f'<span class="{tones[f["severity"]]}">{f["severity"]}</span>'),
                    f["kind"].replace("_", " "),
                    count(f["count"]),
                    f["place"],
                    f["sentence"],
                )
                for f in findings
            ],
            numeric=(2,),
        )
    )
    display.table(
        [
            {
                "severity": f["severity"],
                "kind": f["kind"],
                "count": f["count"],
                "where": f["place"],
                "sentence": f["sentence"],
            }
            for f in findings
        ],
        "findings",
    )


def _versions(comparison: Comparison) -> None:
    study, protocol = comparison.study, comparison.study["protocol"] or {}
    display.section("Versions and settings")
    judges = (
        "; ".join(f"{j['judge']} ({j['role']}, {j['blind']}): {j['description']}" for j in study["judges"])
        or "none: exact kernel only"
    )
    bootstrap = protocol.get("bootstrap") or {}
    sources = "; ".join(f"{s['name']} ({s['sha256'][:12]}…)" for s in protocol.get("sources") or [])
    entries = [
        ("study", study["study_id"]),
        ("origin", f"{study['origin']}. {study['provenance']}"),
        ("generator", study["generator"]),
        ("what differs between states", protocol.get("differs", "")),
        ("normalization rule", study["normalization"]),
        ("kernels", ", ".join(KERNELS.get(k, k) for k in study["kernels"])),
        ("judges", judges),
        (
            "bootstrap",
            f"{bootstrap.get('draws', '')} draws, seed {bootstrap.get('seed', '')}, level {bootstrap.get('level', '')}",
        ),
        ("source files", sources or "none recorded"),
        ("bundle", study["bundle"]),
    ]
    display.block(
        display.grid(
            ("", ""),
            [
                (name, Markup(f"<span class='mono'>{plain(value)}</span>") if name == "bundle" else value)
                for name, value in entries
                if value
            ],
        )
    )


page()
