"""Pair labels of one question: counts by kernel and judge, and the full matrix folded below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.components.agreement import Same, by_exact, by_labels, counts
from dashboard.components.text import escaped

MATRIX = 16
"""Most cells for which the full matrix is drawn."""
_SIGNS = {True: "<b>=</b>", False: "≠", None: "·"}

Row = dict[str, Any]


def pairs(question: Row, old: str, new: str, *, full: bool) -> str:
    """Markup of the pair labels between and inside two states; with `full` every label of the question.

    The matrices come on request only: a browser cleans every element it is sent, and these are most of a card.
    """
    cells: list[Row] = question["cells"]
    kernels: list[tuple[str, Same]] = [
        *((escaped(judge), by_labels(labels)) for judge, labels in question["labels"].items()),
        ("exact", by_exact),
    ]
    rows = (("within old", old, old), ("within new", new, new), ("across", old, new))
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f'<td class="n">{_share(*counts(cells, same, a, b))}</td>' for _, same in kernels) + "</tr>"
        for name, a, b in rows)
    head = "".join(f'<th scope="col" class="n" dir="auto">{name}</th>' for name, _ in kernels)
    missing = "" if question["labels"] else '<p class="small mut">No judge has labelled this question.</p>'
    table = ('<table class="sa-pairs"><caption class="sa-sr">Agreeing pairs by kernel</caption>'
             f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>")
    all_labels = ""
    if len(cells) <= MATRIX:
        word = "Hide" if full else "Show"
        all_labels = f'<button data-action="matrix">{word} all pair labels</button>'
        all_labels += _matrix(cells, kernels) if full else ""
    return (f'<h2>Pair agreement <span class="mut small">agreeing pairs of answers, of those labelled</span></h2>'
            f'<div class="sa-box">{table}{missing}{all_labels}</div>')


def _share(agree: int, pairs: int) -> str:
    return f"{agree} / {pairs}" if pairs else '<span class="mut">none</span>'


def _matrix(cells: list[Row], kernels: Sequence[tuple[str, Same]]) -> str:
    names = [f'{escaped(c["state_name"])}&nbsp;r{c["repeat"]}' for c in cells]
    head = "".join(f'<th scope="col" class="n">{name}</th>' for name in names)
    out = []
    for kernel, same in kernels:
        body = "".join(
            f'<tr><th scope="row">{names[i]}</th>'
            + "".join(f'<td class="n">{_SIGNS[same(a, b)] if i != j else ""}</td>' for j, b in enumerate(cells))
            + "</tr>" for i, a in enumerate(cells))
        out.append(f"<table><caption>{kernel}</caption><thead><tr><td></td>{head}</tr></thead>"
                   f"<tbody>{body}</tbody></table>")
    return f'<div class="scroll" tabindex="0">{"".join(out)}</div>'
