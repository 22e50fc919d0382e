"""Writing numbers and texts so that each can be derived again from the study: `audit_core.printed`."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from audit_core.errors import InputError, Problem
from audit_core.printed import Row, Source, say, withheld
from dashboard.markup import Markup, plain
from dashboard.sentences import Ink


class Writer(Ink):
    """Ink of a report.

    Args:
        source: What may be printed.
        redacted: Whether texts of the study are left out.
    """

    def __init__(self, source: Source, *, redacted: bool) -> None:
        self.source, self.redacted = source, redacted

    def say(self, *reference: str | int) -> Markup:
        """What a reference stands for, with the reference.

        Raises:
            InputError: The study has nothing of that name, or the report may not hold it.
        """
        if self.redacted and withheld(reference):
            raise InputError(Problem("a redacted report holds no text of the study", "ids and digests", str(reference)))
        value = html.escape(json.dumps(reference, ensure_ascii=False, separators=(",", ":")))
        return Markup(f'<data value="{value}">{html.escape(say(self.source, reference))}</data>')

    def number(self, row: Row, form: str, field: str = "value") -> Markup:
        """A number of an estimate."""
        return self.say("estimate", row["name"], field, form)

    def text(self, text: str, *reference: str | int) -> Markup:
        """A text of the study; one without a reference has no digit."""
        return self.say(*reference) if reference else Markup(plain(text))


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numeric: Iterable[int] = (),
    kind: str = "",
) -> str:
    """A table with a caption; cells are escaped unless they are `Markup`.

    Args:
        kind: Its class; ``quiet`` where a heading right above says what the caption says.
    """
    right = set(numeric)

    def cells(row: Sequence[object], tag: str) -> str:
        return "".join(_cell(value, tag if i or tag == "th" else "rowhead", i in right) for i, value in enumerate(row))

    classes = f' class="{kind}"' if kind else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}"><table{classes}><caption>'
        f"{html.escape(caption)}</caption><thead><tr>{cells(columns, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: object, tag: str, right: bool) -> str:
    content = value if isinstance(value, Markup) else plain("" if value is None else value)
    kind = ' class="n"' if right else ""
    if tag == "rowhead":
        return f'<th scope="row"{kind}>{content}</th>'
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{kind}>{content}</{tag}>"


def island(content: Any, attributes: str) -> str:
    """Data in a page, which no browser runs whatever stands in it."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" {attributes}>{text}</script>'


def bullets(items: Iterable[str]) -> str:
    """A list; items are markup."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
