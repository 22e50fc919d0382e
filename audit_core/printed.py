"""Numbers and texts as a report prints them.

Each has a reference, a JSON list such as ``["estimate", "excess_churn[semantic]@n1-n7", "value", "points"]``. Whoever
has the study derives the same text from the reference again, so that a report can be checked figure by figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audit_core.digests import sha256
from audit_core.errors import InputError, Problem, visible
from audit_core.estimators.refusals import alarms
from audit_core.numerals import Number, count, decimal, exact, percent, points, probability
from audit_core.protocol import Protocol, attribution

Reference = tuple[str | int, ...]
Row = Mapping[str, Any]
Levels = Mapping[Fraction, tuple[int, int]]
"""Repeat-stable flips and other questions at each value of the contrast."""

SHARES = {"agreement", "pairs of answers", "matched repeats", "answers", "questions"}
"""Units whose estimates are shares, shown in per cent or percentage points."""
LONGEST = 600
"""Characters of one text of the study that a report prints."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of the evidence, with its text where the study keeps it."""

    document_id: str
    title: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study holds about one question.

    Attributes:
        text: The question; None where a study holds ids only.
        gold: Accepted answers; None where there are none.
        answers: By state and repeat; None for an error.
        documents: By state, in rank order; those of the first repeat where they differ.
    """

    text: str | None
    gold: tuple[str, ...] | None
    answers: Mapping[tuple[str, int], str | None]
    documents: Mapping[str, tuple[Passage, ...]]

    def shared(self, old: str, new: str) -> int | None:
        """Distinct documents that both states share; None where one of them has none."""
        sets = [{passage.document_id for passage in self.documents.get(state, ())} for state in (old, new)]
        return len(sets[0] & sets[1]) if all(sets) else None


@dataclass(frozen=True)
class Source:
    """All that a report may print.

    Attributes:
        protocol: Of the study.
        rows: Estimates by name, as `results.as_row` gives them.
        locks: Gate, id and time of every lock, in order.
        checks: Title and result of each numbered check, by its number.
        decision: Outcome and conditions of the confirmatory rule; None where the protocol fixed none.
        release: Outcome and conditions of the release rule; None where there is none.
        questions: In the study.
        repeats: Most answers to a question, by state.
        levels: From a kernel and two states to the contrasts of the questions.
        asked: From the id of a question to what is held about it.
        review: Counts of verdicts on the flips by name, ``verdict.regression`` and so on.
        signoff: The release decision in force by field; None where nobody has signed.
        notes: What reviewers noted, by question.
        verdicts: Verdict and impact that count, in words, by question.
    """

    protocol: Protocol
    rows: Mapping[str, Row]
    locks: Sequence[tuple[str, str, str]]
    checks: Mapping[str, tuple[str, str]]
    decision: Row | None
    release: Row | None
    questions: int
    repeats: Mapping[str, int]
    levels: Callable[[str, str, str], Levels]
    asked: Callable[[str], Asked]
    review: Mapping[str, int]
    signoff: Mapping[str, str] | None
    notes: Mapping[str, str]
    verdicts: Mapping[str, tuple[str, str]]


def say(source: Source, reference: Sequence[str | int]) -> str:
    """The text that a reference stands for.

    Raises:
        InputError: The study has nothing of that name.
    """
    try:
        kind, *rest = reference
        return visible(_SAID[str(kind)](source, *rest))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise InputError(
            Problem(
                "a report refers to what the study does not have",
                "a reference as docs/report.md lists them",
                str(list(reference))[:200],
                source.protocol.study_id,
                "Render the report again from this study.",
            )
        ) from None


def number(source: Source, reference: Sequence[str | int]) -> float:
    """What a figure draws for a reference: shares in per cent, all else as it is.

    Raises:
        InputError: The study has nothing of that name, or it is no number.
    """
    said = say(source, reference)
    kind, *rest = reference
    if kind == "estimate":
        name, field, form = map(str, rest)
        row = source.rows[name]
        value: Any = exact(row) if field in ("value", "complement") else row[field]
        value = 1 - value if field == "complement" else value
        return float(value * 100 if form in ("percent", "points", "signed", "hundredths") else value)
    if kind == "level":
        return float(Fraction(str(rest[3]))) if rest[4] == "value" else float(said.replace(",", ""))
    raise InputError(Problem("a figure draws what is no number", "an estimate or a level", str(list(reference))[:200]))


def withheld(reference: Sequence[str | int]) -> bool:
    """Whether a reference is to a text that a redacted report leaves out."""
    kind = reference[0] if reference else ""
    if kind == "answer":
        return reference[4:] != ("digest",) and list(reference[4:]) != ["digest"]
    place = {"question": 2, "document": 4, "signoff": 1}.get(str(kind), 0)
    return kind == "alarm" or (bool(place) and (kind, *reference[place : place + 1]) in _WITHHELD)


_WITHHELD = {
    ("question", "text"), ("question", "gold"), ("question", "note"), ("document", "title"), ("document", "text"),
    ("signoff", "reason"), ("signoff", "conditions"), ("signoff", "by"),
}  # fmt: skip


def in_points(row: Row) -> bool:
    """Whether a share is a difference, which is shown in percentage points and not in per cent."""
    return any(word in row["measure"] for word in ("churn", "contribution", "difference", "influence"))


def formatted(row: Row, field: str, form: str) -> str:
    """A number of an estimate's row as text.

    Args:
        row: As `results.as_row` or the read model gives it.
        field: ``value``, ``complement`` (one minus the value), or a column such as ``lower`` or ``population``.
        form: ``percent``, ``points``, ``signed``, ``hundredths`` (points without the unit), ``count``, ``three``
            (decimals), ``probability``, ``plain`` or ``auto`` (what suits the unit).

    Raises:
        KeyError: There is no such form, or the number is undefined.
    """
    value: Any = exact(row) if field in ("value", "complement") else row[field]
    if value is None:
        raise KeyError(field)
    return _formatted(row, 1 - value if field == "complement" else value, form)


def _formatted(row: Row, number: Number, form: str) -> str:
    if form == "auto":
        form = ("points" if in_points(row) else "percent") if row["unit"] in SHARES else "plain"
        form = "probability" if row["unit"] == "probability" else form
    match form:
        case "count":
            return count(int(number))
        case "percent" | "points":
            return (percent if form == "percent" else points)(number)
        case "signed":
            return points(number, sign=True)
        case "hundredths":
            return decimal(number, 2, 100)
        case "probability":
            return probability(number)
        case "three":
            return decimal(number, 3)
        case "plain":
            return count(int(number)) if Fraction(number).denominator == 1 else _four(number)
    raise KeyError(form)


def _four(number: Number) -> str:
    """Four significant digits; small ones with an exponent in words that need no superscript."""
    return f"{float(number):.4g}".replace("-", "−")


def _estimate(source: Source, name: str, field: str, form: str = "plain") -> str:
    row = source.rows[name]
    return clipped(str(row[field])) if field in ("name", "reason", "unit", "kernel") else formatted(row, field, form)


def _study(source: Source, field: str) -> str:
    protocol = source.protocol
    if field == "questions":
        return count(source.questions)
    if field == "draws":
        return count(protocol.draws)
    if field in ("level", "margin"):
        fixed = protocol.level if field == "level" else protocol.decision.margin if protocol.decision else ""
        if field == "margin":
            return points(Fraction(fixed))
        return percent(Fraction(fixed), 1).replace(".0%", "%")
    if field in ("study_id", "title", "generator", "differs", "provenance", "normalization", "seed"):
        return clipped(str(getattr(protocol, field)))
    if field == "retrieval_depth":
        return count(int(str(protocol.retrieval_depth)))
    raise KeyError(field)


def _state(source: Source, name: str, field: str = "name") -> str:
    state = next(state for state in source.protocol.states if state.name == name)
    if field == "repeats":
        return count(source.repeats[name])
    if field == "settings":
        return clipped("; ".join(f"{key}: {value}" for key, value in state.settings))
    return clipped({"name": state.name, "label": state.label}[field])


def _judge(source: Source, name: str, field: str) -> str:
    judge = next(judge for judge in source.protocol.judges if judge.name == name)
    return clipped({"name": judge.name, "description": judge.description}[field])


def _lock(source: Source, gate: str, field: str) -> str:
    _, digest, created = next(lock for lock in source.locks if lock[0] == gate)
    return {"sha256": digest, "created": created[:16].replace("T", " ")}[field]


def _check(source: Source, number: str, field: str) -> str:
    title, result = source.checks[number]
    return {"number": number, "title": title, "result": result}[field]


def _checks(source: Source, result: str) -> str:
    return count(sum(found == result for _, found in source.checks.values()))


def _rule(name: str) -> Callable[..., str]:
    def said(source: Source, which: str | int, field: str = "") -> str:
        found: Row = getattr(source, name)
        return str(found["outcome"] if which == "outcome" else found["conditions"][which][field])

    return said


def _level(source: Source, kernel: str, old: str, new: str, value: str, which: str) -> str:
    flips, others = source.levels(kernel, old, new)[Fraction(value)]
    return {"value": value.replace("-", "−"), "flips": count(flips), "others": count(others)}[which]


def _question(source: Source, question_id: str, field: str, most: int = LONGEST) -> str:
    if field == "id":
        return clipped(question_id, most)
    if field == "note":
        return clipped(source.notes[question_id], most)
    if field in ("verdict", "impact"):
        return source.verdicts[question_id][field == "impact"]
    asked = source.asked(question_id)
    if field == "text" and asked.text is not None:
        return clipped(asked.text, most)
    if field == "gold" and asked.gold:
        return clipped("; ".join(asked.gold), most)
    raise KeyError(field)


def _answer(source: Source, question_id: str, state: str, repeat: int, form: str = "text") -> str:
    answer = source.asked(question_id).answers[state, repeat]
    if answer is None:
        raise KeyError(state)
    if form == "digest":
        return sha256(answer.encode("utf-8", "surrogatepass"))[:16]
    return clipped(answer)


def _document(
    source: Source, question_id: str, state: str, rank: int, field: str, most: int = LONGEST, start: int = 0
) -> str:
    passage = source.asked(question_id).documents[state][rank - 1]
    if field == "rank":
        return count(rank)
    text = {"id": passage.document_id, "title": passage.title, "text": passage.text}[field]
    if text is None:
        raise KeyError(field)
    line = one_line(text)
    return ("…" if start else "") + clipped(line[start:], most)


def _shared(source: Source, question_id: str, old: str, new: str, which: str) -> str:
    asked = source.asked(question_id)
    if which == "of":
        return count(len({passage.document_id for passage in asked.documents[new]}))
    return count(int(str(asked.shared(old, new))))


def _limit(source: Source, number: int) -> str:
    return clipped(source.protocol.limits[number])


def _alarm(source: Source, number: int) -> str:
    return alarms(source.rows.values())[number].sentence


def _attribution(source: Source, old: str, new: str) -> str:
    return attribution(source.protocol, old, new)


_SAID: dict[str, Callable[..., str]] = {
    "estimate": _estimate,
    "study": _study,
    "state": _state,
    "judge": _judge,
    "lock": _lock,
    "check": _check,
    "checks": _checks,
    "decision": _rule("decision"),
    "release": _rule("release"),
    "review": lambda source, name: count(source.review[name]),
    "signoff": lambda source, field: clipped((source.signoff or {})[field]),
    "level": _level,
    "question": _question,
    "answer": _answer,
    "document": _document,
    "shared": _shared,
    "limit": _limit,
    "alarm": _alarm,
    "attribution": _attribution,
}
"""What prints each kind of reference."""


def levels_of(values: Iterable[tuple[Fraction, bool]]) -> Levels:
    """Questions at each value of the contrast.

    Args:
        values: Contrast of each question, and whether it is a repeat-stable flip.
    """
    counted = Counter(values)
    return {value: (counted[value, True], counted[value, False]) for value in sorted({v for v, _ in counted})}


def one_line(text: str) -> str:
    """A text without line breaks and with single spaces."""
    return " ".join(text.split())


def clipped(text: str, most: int = LONGEST) -> str:
    """A text on one line, cut where it is longer than a report prints."""
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
