"""People check a judge: which questions are drawn, in what order their pairs are asked, and what people have said.

Questions are drawn, not pairs, because the corrected estimate needs a person's value of a whole question. Within each
stratum they stand in the order of a hash of seed and id, so the questions up to any place are a random sample of it,
wherever a person stops. The draw is one event; it is never changed, and a bigger one contains it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

from audit_core.digests import canonical, sha256
from audit_core.model import Cell
from audit_core.reviews.events import Event
from audit_core.reviews.fold import Fold, Pair

MOVED, STILL, IDENTICAL = "moved", "still", "identical"
"""The judge's contrast is not 0; it is 0; all answers are the same to the letter, so there is nothing to ask."""
DRAWN = (MOVED, STILL)
DEFAULT = 50
"""Questions of a sample where nobody says otherwise."""
BLOCK = 5
"""Questions whose pairs are mixed with each other before the next ones come."""

Strata = Mapping[str, Sequence[str]]
Place = tuple[str, str]
"""Question and the two cells of a pair, as `Asked.subject` writes them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What an adjudicator drew.

    Attributes:
        old: State shown as old; likewise `new`.
        judge: Whose labels are checked.
        seed: Of the order within strata.
        population: Questions of each stratum, also of `IDENTICAL`.
        sizes: Questions drawn from each stratum of `DRAWN`.
        sha256: Digest of the list of drawn questions.
        event: As it was recorded; None before.
    """

    old: str
    new: str
    judge: str
    seed: str
    population: Mapping[str, int]
    sizes: Mapping[str, int]
    sha256: str
    event: Event | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Questions drawn."""
        return sum(self.sizes.values())

    @property
    def content(self) -> str:
        """Canonical JSON, as the event holds it."""
        names = ("old", "new", "judge", "seed", "population", "sizes", "sha256")
        return canonical({"v": 1} | {name: getattr(self, name) for name in names}).decode()

    def questions(self, strata: Strata) -> dict[str, list[str]] | None:
        """The drawn questions by stratum, in order; None where the study's answers or labels are others by now."""
        found = _first(strata, self.seed, self.sizes)
        sizes = {name: len(ids) for name, ids in strata.items()}
        return found if self.sha256 == _digest(found) and sizes == dict(self.population) else None


def drawn(strata: Strata, pair: Pair, judge: str, seed: str, size: int = DEFAULT) -> Sample:
    """A sample of about `size` questions, half from each stratum as far as there are enough.

    Args:
        strata: Ids of all questions by stratum.
        pair: Old and new state.
        judge: Name of the judge.
        seed: Of the order.
        size: Questions wanted; all where there are fewer.
    """
    moved, still = (len(strata[name]) for name in DRAWN)
    half = min(max(size, 0) // 2, still)
    of_moved = min(max(size, 0) - half, moved)
    sizes = {MOVED: of_moved, STILL: min(max(size, 0) - of_moved, still)}
    population = {name: len(ids) for name, ids in strata.items()}
    return Sample(*pair, judge, seed, population, sizes, _digest(_first(strata, seed, sizes)))


def _first(strata: Strata, seed: str, sizes: Mapping[str, int]) -> dict[str, list[str]]:
    return {
        name: sorted(strata.get(name, ()), key=lambda question: _rank(seed, question))[: sizes.get(name, 0)]
        for name in DRAWN
    }


def _digest(found: Mapping[str, list[str]]) -> str:
    return sha256(canonical(found))


def _rank(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).digest()


def parse(event: Event) -> Sample | None:
    """The sample of an event; None where its content is not one."""
    try:
        found: dict[str, Any] = json.loads(event.content)
        old, new, judge, seed, digest = (str(found[name]) for name in ("old", "new", "judge", "seed", "sha256"))
        population, sizes = ({str(k): int(v) for k, v in found[n].items()} for n in ("population", "sizes"))
        return Sample(old, new, judge, seed, population, sizes, digest, event)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def samples(fold: Fold, study_id: str, pair: Pair, judge: str, strata: Strata) -> list[Sample]:
    """The draws that count, in order: the first one, and later ones of the same seed that contain the one before.

    Draws from answers or labels that the study no longer has do not count.
    """
    counted: list[Sample] = []
    for event in fold.of_kind(study_id, "sample"):
        sample = parse(event)
        if sample is None or (sample.old, sample.new, sample.judge) != (*pair, judge):
            continue
        if sample.questions(strata) is None:
            continue
        before = counted[-1] if counted else sample
        grows = all(sample.sizes.get(name, 0) >= before.sizes.get(name, 0) for name in DRAWN)
        if sample.seed == before.seed and grows and sample not in counted:
            counted.append(sample)
    return counted


@dataclass(frozen=True, slots=True)
class Answer:
    """One of two answers of a pair.

    Attributes:
        slot: Number of the answer among those of its state, from 0.
    """

    state: str
    repeat: int
    slot: int
    text: str

    @property
    def name(self) -> str:
        """The cell in words that `Asked.subject` can be taken apart by."""
        state = self.state.replace("%", "%25").replace("/", "%2F").replace("|", "%7C")
        return f"{state}/{self.repeat}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Two answers of one question, about which a person says whether they mean the same.

    Attributes:
        question_id: The question.
        question: Its text; None where the study holds ids only.
        like: Subject of an earlier pair of the question with the same two texts; empty for the first of them.
    """

    question_id: str
    question: str | None
    first: Answer
    second: Answer
    like: str = ""

    @property
    def subject(self) -> str:
        """The two cells, as events name them."""
        return f"{self.first.name}|{self.second.name}"

    @property
    def place(self) -> Place:
        """By what its label is found again; pairs with the same two texts have one."""
        return self.question_id, self.like or self.subject

    @property
    def identical(self) -> bool:
        """The same to the letter, hence the same by definition."""
        return self.first.text == self.second.text

    @property
    def asked(self) -> bool:
        """Whether a person is asked about this pair itself."""
        return not self.identical and not self.like

    @property
    def sha256(self) -> str:
        """Digest of exactly what a person is shown, whichever answer is called A."""
        texts = [t.encode("utf-8", "surrogatepass").hex() for t in (self.first.text, self.second.text)]
        return sha256(canonical([self.question or self.question_id, *texts]))

    def sides(self, seed: str, reviewer: str) -> tuple[Answer, Answer]:
        """The answers called A and B, in an order drawn for this pair and reviewer."""
        turned = _rank(seed, "sides", reviewer, self.question_id, self.subject)[0] & 1
        return (self.second, self.first) if turned else (self.first, self.second)


def pairs_of(question_id: str, question: str | None, cells: Iterable[Cell], pair: Pair) -> list[Asked]:
    """All pairs of a question's answers at two states: within old, within new, across.

    A pair of texts that comes up again is asked once, for nobody can say two things about the same two texts.
    """
    held: dict[str, list[Answer]] = {state: [] for state in pair}
    for cell in cells:
        if cell.state in held and cell.answer is not None:
            answers = held[cell.state]
            answers.append(Answer(cell.state, cell.repeat, len(answers), cell.answer))
    old, new = (held[state] for state in pair)
    subjects: dict[frozenset[str], str] = {}
    out = []
    for a, b in (*combinations(old, 2), *combinations(new, 2), *product(old, new)):
        made = Asked(question_id, question, a, b)
        before = subjects.setdefault(frozenset((a.text, b.text)), made.subject)
        out.append(made if before == made.subject else replace(made, like=before))
    return out


def queue(questions: Mapping[str, Sequence[Asked]], drawn_from: Mapping[str, Sequence[str]], seed: str,
          reviewer: str) -> list[Asked]:  # fmt: skip
    """The pairs that one person is asked, in their order.

    Questions of the strata alternate, and come in blocks: a person who stops leaves whole questions finished. In a
    block the pairs are shuffled, two of one question never stand together where that can be avoided, and the place of
    a pair says nothing about the judge.

    Args:
        questions: Pairs of each drawn question.
        drawn_from: Drawn questions by stratum, in the order of the draw.
        seed: Of the sample.
        reviewer: Whose queue it is.
    """
    places = ((i / len(ids), n, ids[i]) for n, ids in enumerate(drawn_from.values()) for i in range(len(ids)))
    order = [question for _, _, question in sorted(places)]
    out: list[Asked] = []
    for start in range(0, len(order), BLOCK):
        waiting = {
            question: sorted(
                (p for p in questions[question] if p.asked),
                key=lambda p: _rank(seed, "order", reviewer, p.question_id, p.subject),
            )
            for question in order[start : start + BLOCK]
        }
        while any(waiting.values()):
            last = out[-1].question_id if out else ""
            free = [q for q, pairs in waiting.items() if pairs and q != last] or [last]
            chosen = max(free, key=lambda q: (len(waiting[q]), _rank(seed, reviewer, waiting[q][0].subject, q)))
            out.append(waiting[chosen].pop(0))
    return out


def given(fold: Fold, study_id: str) -> dict[str, dict[Place, Event]]:
    """What stands by reviewer and pair: the newest label that was not taken back, in the order of first labels."""
    found: dict[str, dict[Place, Event]] = {}
    for event in fold.of_kind(study_id, "label"):
        own = found.setdefault(event.reviewer, {})
        if event.verdict is None:
            own.pop((event.question_id, event.subject), None)
        else:
            own[event.question_id, event.subject] = event
    return {reviewer: own for reviewer, own in found.items() if own}
