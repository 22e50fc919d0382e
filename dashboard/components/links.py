"""Links that open Triage on exactly the questions behind a number.

The parameters, all optional except the first four, which every page shares:

    study, old, new, kernel   what is compared
    queue                     one of `audit_core.reviews.queues.QUEUES`, such as ``flips`` or ``lost``
    sort, seed                ``impact``, ``ladder`` or ``random`` with an integer seed
    q                         the question on the desk
    only (repeated)           exactly these question ids; `of` says how many there were when the list was cut
    tag (repeated)            questions with any of these tags
    contrast, shared, weight  a number, or an inclusive range written ``0.25..1``
    fact (repeated)           names of 0/1 columns that must hold, such as ``unknown_in``, ``verbatim``, ``same_order``
    verdict, impact           what the reviewer said: a verdict or ``none``; ``low``, ``medium`` or ``high``
    find                      text in the id, the question or an answer

Filters narrow the queue and are joined by *and*. A link to everything with one property is ``queue=all`` and a filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from urllib.parse import urlencode

MOST_IDS = 1000
"""Longest list of ids a link carries; servers refuse longer addresses. The page says when a list was cut."""

Number = int | float | Fraction
Range = Number | tuple[Number, Number]
Parameters = dict[str, str | list[str]]


def triage_params(
    study: str,
    old: str,
    new: str,
    kernel: str,
    *,
    queue: str = "flips",
    q: str | None = None,
    only: Iterable[str] | None = None,
    tag: str | Iterable[str] | None = None,
    contrast: Range | None = None,
    shared: Range | None = None,
    weight: Range | None = None,
    fact: str | Iterable[str] | None = None,
    verdict: str | None = None,
    impact: str | None = None,
    find: str | None = None,
    sort: str | None = None,
    seed: int | None = None,
) -> Parameters:
    """Query parameters of a link to Triage, for `st.page_link` and `st.switch_page`.

    `contrast` is the per-question value in [-1, 1], `shared` a number of documents.
    """
    found: Parameters = {"study": study, "old": old, "new": new, "kernel": kernel, "queue": queue}
    if only is not None:
        ids = list(only)
        found["only"] = ids[:MOST_IDS]
        if len(ids) > MOST_IDS:
            found["of"] = str(len(ids))
    for name, texts in (("tag", tag), ("fact", fact)):
        if texts is not None:
            found[name] = [texts] if isinstance(texts, str) else list(texts)
    for name, bounds in (("contrast", contrast), ("shared", shared), ("weight", weight)):
        if bounds is not None:
            found[name] = "..".join(map(_number, bounds)) if isinstance(bounds, tuple) else _number(bounds)
    for name, text in (("verdict", verdict), ("impact", impact), ("find", find), ("sort", sort), ("q", q)):
        if text is not None:
            found[name] = text
    if seed is not None:
        found["seed"] = str(seed)
    return found


def triage_url(study: str, old: str, new: str, kernel: str, queue: str = "flips", **filters: object) -> str:
    """The same link as a relative address, to copy, to share or to put into a report."""
    return "triage?" + urlencode(triage_params(study, old, new, kernel, queue=queue, **filters), doseq=True)  # type: ignore[arg-type]


def _number(value: Number) -> str:
    """Shortest text of a number that reads back as the same double."""
    return repr(float(value)).removesuffix(".0")
