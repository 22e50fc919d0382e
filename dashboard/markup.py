"""Markup that pages and the report share; every text of a study in it is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from audit_core.errors import visible


def plain(text: object) -> str:
    """Any text made safe for `st.html`: escaped, hidden characters made visible."""
    return html.escape(visible(str(text)))


def pill(content: str, tone: str = "") -> str:
    """A rounded label; the content is already markup."""
    return f'<span class="sa-pill {tone}">{content}</span>'


def card(label: str, value: str, note: str, *, measured: bool = True) -> str:
    """A figure with its name above and what must be read with it below; all markup."""
    kind = "" if measured else " none"
    return f'<div class="sa-k">{label}</div><div class="sa-v{kind}">{value}</div><div class="sa-n">{note}</div>'


def outcome(result: str) -> str:
    """A check's result as a coloured word with a sign, as markup."""
    sign, tone = {"passed": ("✓", "ok"), "failed": ("✗", "bad")}.get(result, ("—", "warn"))
    return f'<span class="{tone}">{sign} {plain(result)}</span>'


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Iterable[int] = ()) -> str:
    """An HTML table; cells are escaped unless they are `Markup`."""
    right = set(numeric)
    head = "".join(f'<th scope="col"{_right(i in right)}>{plain(c)}</th>' for i, c in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(f"<td{_right(i in right)}>{_cell(c)}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


class Markup(str):
    """Text that is our own markup and is not escaped again."""

    __slots__ = ()


def _cell(value: object) -> str:
    return value if isinstance(value, Markup) else plain("" if value is None else value)


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
