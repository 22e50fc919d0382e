"""Simulated studies whose answers have known meanings, a judge that errs at known rates, and people who label."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from audit_core.model import Cell, Dossier, Judgment, Question
from audit_core.readmodel.load import load
from audit_core.report.labelled import Frame, frame
from audit_core.results import arrays_of, estimate_study
from audit_core.reviews import labels
from audit_core.reviews.events import FIRST, Entry, Event, chained
from audit_core.reviews.fold import Fold
from audit_core.reviews.labels import Asked, Sample
from audit_core.study import create_study
from audit_core.verify import verify
from tests.support.simulator import CREATED, StudySimulator

OLD, NEW = "n1", "n7"
BUNDLE = "b" * 64
Says = Callable[[Asked], str | None]


def meaning(text: str) -> str:
    """What a simulated answer means: its text without the wording in front."""
    return text.rpartition(" ")[2]


def truly(pair: Asked) -> str:
    """A person who never errs."""
    return "same" if meaning(pair.first.text) == meaning(pair.second.text) else "different"


@dataclass
class Simulated:
    """A study of `questions` questions.

    Attributes:
        flips: Share of questions that move.
        noise: Chance of an answer of a meaning of its own.
        merges: Chance that the judge calls a pair of two meanings the same.
        splits: Chance that it calls a pair of one meaning different.
        careless: Chance that it calls two answers of one text different.
        single: Share of questions whose answers are all the same text.
        repeats: Least and most answers of a question in a state.
    """

    questions: int = 40
    flips: float = 0.2
    noise: float = 0.1
    merges: float = 0.1
    splits: float = 0.05
    careless: float = 0.0
    single: float = 0.1
    repeats: tuple[int, int] = (2, 2)
    seed: int = 1
    study_id: str = "labelled"
    dossiers: list[Dossier] = field(init=False)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.dossiers = [self._question(rng, f"q{number:04d}") for number in range(self.questions)]
        self.protocol = StudySimulator(study_id=self.study_id, states=(OLD, NEW)).protocol(decision=None)
        self.frame: Frame = frame(arrays_of(self.protocol, self.dossiers), OLD, NEW)
        self.pairs: dict[str, list[Asked]] = {
            d.question.question_id: labels.pairs_of(d.question.question_id, d.question.text, d.cells, (OLD, NEW))
            for d in self.dossiers
        }

    def database(self, folder: Path) -> Path:
        """The study on disk, with its results, in `audit.db`."""
        path = folder / self.study_id
        judgments = [d.judgments["primary"] for d in self.dossiers]
        study = create_study(
            path,
            self.protocol,
            questions=[d.question for d in self.dossiers],
            cells=[c for d in self.dossiers for c in d.cells],
            judgments={"primary": judgments},
            created=CREATED,
        )
        estimate_study(study, created=CREATED)
        load([path], folder / "audit.db", verifier=verify)
        return folder / "audit.db"

    def _question(self, rng: random.Random, name: str) -> Dossier:
        flipped, single = rng.random() < self.flips, rng.random() < self.single
        cells = []
        for state in (OLD, NEW):
            for repeat in range(1, rng.randint(*self.repeats) + 1):
                word = "b" if flipped and state == NEW else "a"
                word = f"c{state}{repeat}" if rng.random() < self.noise else word
                text = "the one a" if single else f"wording {rng.randrange(3)} {word}"
                cells.append(Cell(name, state, repeat, "ok", text))
        rows = []
        for i, j in itertools.combinations(range(len(cells)), 2):
            a, b = cells[i].answer or "", cells[j].answer or ""
            same = meaning(a) == meaning(b)
            wrong = rng.random() < (self.careless if a == b else self.splits if same else self.merges)
            rows.append((i, j, int(same != wrong)))
        slots = tuple((c.state, c.repeat) for c in cells)
        judged = {"primary": Judgment(name, slots, tuple(rows))}
        return Dossier(Question(name, f"What is {name}?"), tuple(cells), judged, (), None)

    def drawn(self, size: int = labels.DEFAULT, seed: str = "s") -> Sample:
        return labels.drawn(self.frame.strata, (OLD, NEW), "primary", seed, size)

    def asked(self, sample: Sample) -> dict[str, list[Asked]]:
        drawn = sample.questions(self.frame.strata)
        assert drawn is not None
        return {question: self.pairs[question] for ids in drawn.values() for question in ids}

    def queue(self, sample: Sample, who: str) -> list[Asked]:
        drawn = sample.questions(self.frame.strata)
        assert drawn is not None
        return labels.queue(self.asked(sample), drawn, sample.seed, who)

    def labelled(self, sample: Sample, people: Mapping[str, Says], stop: int | None = None) -> Fold:
        """A fold in which each person labels the first `stop` pairs of their queue."""
        entries = [
            label(self.study_id, who, pair, value)
            for who, says in people.items()
            for pair in self.queue(sample, who)[:stop]
            if (value := says(pair)) is not None
        ]
        return Fold(events(entries))


def erring(name: str, merges: float, splits: float, cannot: float = 0.0) -> Says:
    """A person with known error rates, who always says the same about the same pair."""

    def says(pair: Asked) -> str:
        digest = hashlib.sha256(f"{name}|{pair.question_id}|{pair.subject}".encode()).digest()
        chance, doubt = digest[0] / 256, digest[1] / 256
        right = truly(pair)
        wrong = chance < (splits if right == "same" else merges)
        other = "different" if right == "same" else "same"
        return "cannot_tell" if doubt < cannot else other if wrong else right

    return says


def label(study_id: str, who: str, pair: Asked, value: str | None, digest: str | None = None) -> Entry:
    return Entry(
        request_id=f"{who}:{pair.question_id}:{pair.subject}:{value}",
        study_id=study_id,
        bundle=BUNDLE,
        question_id=pair.question_id,
        reviewer=who,
        kind="label",
        item_sha256=digest or pair.sha256,
        at="2026-01-31T09:00:00Z",
        old=OLD,
        new=NEW,
        kernel="semantic",
        verdict=value,
        sides=pair.sides("s", who)[0].name,
        subject=pair.subject,
    )


def events(entries: Sequence[Entry]) -> list[Event]:
    out: list[Event] = []
    for number, entry in enumerate(entries, 1):
        out.append(chained(entry, number, out[-1].sha256 if out else FIRST))
    return out
