"""Studies for the Triage page: hostile text, ids that look alike, long answers, labels that contradict themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from audit_core.digests import sha256
from audit_core.model import Cell, Document, Evidence, Gold, Judgment, Question, State
from audit_core.protocol import Judge, Protocol
from audit_core.readmodel.load import load
from audit_core.study import create_study
from audit_core.verify import verify

HOSTILE = (
    "**bold** ~~old~~ ![i](https://evil.example/a.png) [l](https://evil.example/) $\\frac{a}{b}$ :red[r] "
    ':material/home: :smile: <b>B</b> <img src="https://evil.example/b.png" onerror="document.title=1"> '
    "<script>document.title=1</script> <style>*{background:url(https://evil.example/c.png)}</style> "
    "=cmd|' /C calc'!A0 & &amp; &lt;i&gt;"
)
HOSTILE_STATE = "=2+2 **s** ![i](https://evil.example/s.png) $x$ <img src=https://evil.example/t.png>"
HIDDEN = "pay \u202e001\u202c euros\u200b now\x1b[31m\ufeff"
TWINS = ("q 1", "q_1", "q/1", "q'1", "[q1]", "Q1", "q1 ", "q1", "\uff51\uff11", "q1;DROP TABLE answers;--", "x" * 3_000)

Answers = Callable[[str, str, int], str]


def study(folder: Path, study_id: str, ids: Sequence[str], answers: Answers, *, text: Callable[[str], str] = str,
          states: Sequence[State] = (State("n1", "one shard"), State("n7", "seven shards")),
          same: Callable[[str, str], bool] = lambda a, b: a == b, passage: Callable[[str, str, int], str] | None = None,
          title: str = "Desk", tags: Sequence[str] = (), weights: Mapping[str, int] | None = None) -> Path:
    """A locked study with two repeats, labels by `same`, gold, evidence and (with `passage`) passages."""
    cells, judgments, evidence, passages = [], [], [], {}
    for question in ids:
        slots = [(state.name, repeat) for state in states for repeat in (1, 2)]
        given = [answers(question, *slot) for slot in slots]
        cells += [Cell(question, state, repeat, "ok", answer)
                  for (state, repeat), answer in zip(slots, given, strict=True)]
        judgments.append(Judgment(question, tuple(slots), tuple(
            (i, j, int(same(given[i], given[j]))) for i, j in itertools.combinations(range(len(slots)), 2))))
        for number, state in enumerate(states):
            documents = []
            for rank in range(1, 5):
                shown = passage(question, state.name, rank) if passage else None
                if shown is not None:
                    passages[sha256(shown.encode())] = shown
                documents.append(Document(f"d{rank + number}", rank, f"{9 - rank}.5", f"{title} {rank + number}",
                                          sha256(shown.encode()) if shown is not None else None))
            evidence.append(Evidence(question, state.name, tuple(documents)))
    protocol = Protocol(
        study_id=study_id, title=title, origin="imported", provenance="Made for a test.", generator="none",
        states=tuple(states), endpoints=(states[0].name, states[-1].name), normalization="nq_open/1", draws=200,
        judges=(Judge("primary", "primary", True, "made for a test"),))
    path = folder / study_id
    create_study(path, protocol, cells=cells, evidence=evidence, passages=passages or None,
                 questions=[Question(q, text(q), tuple(tags), (weights or {}).get(q)) for q in ids],
                 judgments={"primary": judgments}, gold=[Gold(q, (f"gold of {q[:40]}",)) for q in ids],
                 created="2026-01-31T09:00:00Z")
    return path


def flipped(question: str, state: str, _repeat: int) -> str:
    """Every question flips between the endpoints."""
    return f"answer {'old' if state == 'n1' else 'new'} to {question[:60]}"


def hostile(folder: Path) -> Path:
    """Hostile text in every place that a study can put text."""
    return study(
        folder, "hostile", [f"{HOSTILE} {number}" for number in range(3)] + ["hidden"],
        lambda question, state, repeat: f"{HIDDEN if question == 'hidden' else HOSTILE} {state} {repeat}",
        text=lambda question: HIDDEN if question == "hidden" else HOSTILE + question,
        states=(State("n1", HOSTILE), State(HOSTILE_STATE, "=2+2")), title=HOSTILE[:200], tags=(HOSTILE, "=1+1"),
        passage=lambda question, state, rank: f"{HOSTILE} passage {rank}")


def twins(folder: Path) -> Path:
    """Ids that look alike or would meet in one widget key."""
    return study(folder, "twins", TWINS, flipped, text=lambda q: f"Question named {q[:30]}?")


def contradiction(folder: Path) -> Path:
    """Labels of the form 1 = 2, 2 = 3, 1 ≠ 3, long answers, passages that mention an answer, three states."""
    words = {("n1", 1): "NYC", ("n1", 2): "New York", ("n3", 1): "New York State", ("n3", 2): "Boston",
             ("n7", 1): "New York State", ("n7", 2): "Boston"}
    chain = {frozenset(("NYC", "New York")), frozenset(("New York", "New York State"))}

    def answers(question: str, state: str, repeat: int) -> str:
        if question == "long":
            return f"{state} " + "word " * 200_000 + f"{state} end"
        return words[state, repeat] if question == "chain" else flipped(question, state, repeat)

    def passage(question: str, state: str, rank: int) -> str:
        return f"Beginning of {rank}. {'filler ' * 60}The answer old to {question} stands here. {'end ' * 80}"

    return study(
        folder, "desk", ["chain", "long", "plain"], answers, text=lambda q: f"What about {q}?", passage=passage,
        same=lambda a, b: a == b or frozenset((a, b)) in chain, weights={"plain": 5, "long": 1},
        states=(State("n1", "one"), State("n3", "three"), State("n7", "seven")))


def database(folder: Path, *studies: Path) -> Path:
    """`audit.db` of some studies."""
    load(studies, folder / "audit.db", verifier=verify)
    return folder / "audit.db"
