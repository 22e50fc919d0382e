"""Evidence diagnosis of one question: what two ranked lists have in common, and where an answer could have gone wrong.

Two repeats of one state or two states are compared. All it finds are hints with their reasons, never verdicts: the
rules see identifiers, ranks, scores and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from audit_core.diagnosis.lists import Names, Order, Ranked, compared, identical, order
from audit_core.diagnosis.siblings import Unshown
from audit_core.rules.aspects import parts
from audit_core.rules.coverage import Aspect, covered, held
from audit_core.rules.passage_kind import PassageReading, kind_of
from audit_core.rules.shown import Shown

HintKind = Literal[
    "identical", "another order", "tie", "no body text", "part without support", "part only named", "part lost",
    "part gained",
]  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True, slots=True)
class Tie:
    """Scores that leave the cut-off to the order of the retriever.

    Attributes:
        which: Position of the list, 0 or 1.
        score: The shared score, as the study has it.
        inside: Ranks of the shown passages that have it, the last one among them.
        outside: Siblings that have it and were not shown.
    """

    which: int
    score: str
    inside: tuple[int, ...]
    outside: tuple[Unshown, ...] = ()


@dataclass(frozen=True, slots=True)
class Hint:
    """A place to look.

    Attributes:
        kind: Stable name.
        sentence: In plain words.
        reason: The rule and what decided.
    """

    kind: HintKind
    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known about the evidence of one question in two lists.

    Attributes:
        names: What the two lists are called.
        old: First list in rank order, with fates; likewise `new`.
        order: Whether the ids are the same in the same order, in another, or different.
        identical: Whether ids, order, rendered texts and scores are equal; None where a text is not kept.
        ties: At the cut-off, by list.
        kinds: What each passage is that is not body text, by document id, with the reason.
        unshown: Siblings that were not shown in either list, best rank first.
        aspects: Parts of the question and their support, for each list.
        hints: In order of weight.
    """

    names: Names
    old: tuple[Ranked, ...]
    new: tuple[Ranked, ...]
    order: Order
    identical: bool | None
    ties: tuple[Tie, ...]
    kinds: tuple[tuple[str, PassageReading], ...]
    unshown: tuple[Unshown, ...]
    aspects: tuple[tuple[Aspect, ...], tuple[Aspect, ...]]
    hints: tuple[Hint, ...]


def diagnose(
    question: str,
    old: Sequence[Shown],
    new: Sequence[Shown],
    unshown: Sequence[Unshown] = (),
    names: Names = ("old", "new"),
    asked: Sequence[str] | None = None,
) -> Diagnosis:
    """Compare two lists of evidence for one question.

    Args:
        question: Its text.
        old: First list in rank order; likewise `new`.
        unshown: Siblings that were not shown, from `siblings_of`.
        names: What the two lists are called.
        asked: Parts of the question where a model has cut it; by the rule ``aspects/1`` otherwise.
    """
    asked = tuple(asked or parts(question))
    readings = {p: kind_of(p.body, p.title) for p in (*old, *new)}
    kinds = {p.document_id: reading for p, reading in readings.items() if reading.kind != "body"}
    aspects = (covered(asked, old, [readings[p] for p in old]), covered(asked, new, [readings[p] for p in new]))
    sides = compared(old, new)
    ordered = tuple(sorted(unshown, key=lambda item: (not item.passage.rank, item.passage.rank)))
    found = Diagnosis(
        names, *sides, order(old, new), identical(old, new), tuple(_ties((old, new), ordered)),
        tuple(kinds.items()), ordered, aspects, (),
    )  # fmt: skip
    return replace(found, hints=tuple(_hints(found)))


def _ties(lists: Sequence[Sequence[Shown]], unshown: Sequence[Unshown]) -> Iterable[Tie]:
    for which, passages in enumerate(lists):
        score = passages[-1].score if passages else None
        if score is None or (which and list(lists[0]) == list(passages)):
            continue
        inside = tuple(p.rank for p in passages if p.score == score)
        outside = tuple(item for item in unshown if item.passage.score == score)
        if len(inside) > 1 or outside:
            yield Tie(which, score, inside, outside)


def _hints(found: Diagnosis) -> Iterable[Hint]:
    alike = {r.passage.document_id for r in found.old} == {r.passage.document_id for r in found.new}
    for i in range(len(found.aspects[0])):
        yield from _of_part(found, i, alike)
    yield from _of_kinds(found, alike)
    for tie in found.ties:
        yield _of_tie(found, tie)
    if found.order == "another order":
        yield Hint("another order", f"The same {len(found.old)} passages stand in another order.", "ids of both lists")
    if found.old and found.identical is not False:
        both = " and ".join(found.names)
        both = both[:1].upper() + both[1:]
        if found.identical:
            words = f"{both} have byte-identical evidence: retrieval does not explain a difference between answers."
            yield Hint("identical", words, "ids, order, rendered texts and scores are equal")
        else:
            words = f"{both} have evidence with the same ids, ranks and scores, as far as the study keeps it."
            yield Hint("identical", words, "texts of passages are not kept")


def _of_part(found: Diagnosis, i: int, alike: bool) -> Iterable[Hint]:
    old, new = found.aspects[0][i], found.aspects[1][i]
    said = old.part.rpartition(" (")[0] if old.part.endswith(")") else old.part
    name = f"The {_ORDINALS[i]} part, “{said}”," if i < len(_ORDINALS) else f"Part {i + 1}, “{said}”,"
    if len(found.aspects[0]) == 1:
        name = "The question"
    words = "coverage/1, words: " + ", ".join(old.own)
    if old.bare and new.bare:
        named = (*old.named, *new.named)
        where = "" if alike else f" in {found.names[0]} or {found.names[1]}"
        yield Hint("part without support", f"{name} has no supporting passage{where}{_mentioned(found, old)}.", words)
        if named:
            kinds = sorted({kind for _, kind in named})
            yield Hint("part only named", f"{name} is named in passages that are {' or '.join(kinds)} only.", words)
    elif old.bare != new.bare and not alike:
        kind: HintKind = "part lost" if new.bare else "part gained"
        bare, full = (1, old) if new.bare else (0, new)
        yield Hint(kind, f"{name} has no supporting passage in {found.names[bare]} and {len(full.supports)} in "
                   f"{found.names[1 - bare]}{_mentioned(found, old, f'in {found.names[bare]}')}.", words)  # fmt: skip


def _mentioned(found: Diagnosis, aspect: Aspect, where: str = "") -> str:
    """The best sibling that holds the words of a part, in words, and where it was not shown."""
    for item in found.unshown:
        passage = item.passage
        text = f"{passage.title}\n{passage.text or ''}"
        if held(aspect.own, text) and kind_of(passage.body, passage.title).kind == "body":
            rank = f" of rank {passage.rank}" if passage.rank else " of unknown rank"
            return f"; a sibling{rank}, “{passage.name}”, mentions it and was not shown {where}".rstrip()
    return ""


def _of_kinds(found: Diagnosis, alike: bool) -> Iterable[Hint]:
    kinds = dict(found.kinds)
    for name, side in list(zip(found.names, (found.old, found.new), strict=True))[: 1 if alike else 2]:
        marked = [r.passage for r in side if r.passage.document_id in kinds]
        if marked:
            where = "" if alike else f" in {name}"
            listed = ", ".join(sorted({kinds[p.document_id].kind for p in marked}))
            yield Hint(
                "no body text",
                f"{len(marked)} of {len(side)} passages{where} name things without describing them ({listed}).",
                "passage_kind/1: "
                + "; ".join(f"rank {p.rank}, {kinds[p.document_id].reason}" for p in marked),
            )


def _of_tie(found: Diagnosis, tie: Tie) -> Hint:
    where = "" if all(r.passage == s.passage for r, s in zip(found.old, found.new, strict=False)) else (
        f" in {found.names[tie.which]}")  # fmt: skip
    if tie.outside:
        names = ", ".join(f"“{item.passage.name}”" for item in tie.outside[:3])
        words = f"The last passage{where} has the same score as a sibling that was not shown, {names}"
    else:
        span = f"{len(tie.inside)} passages, from rank {tie.inside[0]} on{where}"
        words = f"{span}, have the same score, the last one too"
    return Hint("tie", f"{words}: their order alone decides what is shown.", f"score {tie.score}")
