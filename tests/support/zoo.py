"""Studies at the edges, by name, each of which the pages must show in words: no blank, no zero, no traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit_core.model import State
from audit_core.readmodel.load import load
from audit_core.results import estimate_study
from audit_core.verify import verify
from tests.support.relock import rewrite_results
from tests.support.simulator import CREATED, StudySimulator

EVIL = "**b** [x](https://evil.example/a) ![i](https://evil.example/b.png) $x^2$ :red[r] <img src=https://evil.example/c.png>"


@dataclass
class Animal:
    """A study to build, what its protocol changes, and what is done to its folder before it is loaded."""

    simulator: StudySimulator
    protocol: dict[str, object] = field(default_factory=dict)
    harm: Callable[[Path], None] = lambda _: None


def _simulated(study_id: str, **values: object) -> StudySimulator:
    return StudySimulator(study_id=study_id, **values)  # type: ignore[arg-type]


def _flattered(path: Path) -> None:
    """Results that do not follow from the ledgers, locked as if they did."""

    def change(record: dict[str, Any]) -> None:
        row = next(row for row in record["estimates"] if row["name"].startswith("excess_churn[semantic]"))
        row["numerator"], row["value"] = 0, "0.000000000000"

    rewrite_results(path, change)


ZOO: dict[str, Animal] = {
    "moved": Animal(_simulated("moved", questions=60, flips=0.4, noise=0.05, states=("n0", "n1", "n3", "n7"))),
    "quiet": Animal(_simulated("quiet", questions=40, flips=0, noise=0.25)),
    "still": Animal(_simulated("still", flips=0, noise=0)),
    "one-repeat": Animal(_simulated("one-repeat", repeats=1, decision=False)),
    "one-repeat-ladder": Animal(_simulated("one-repeat-ladder", states=("n1", "n3", "n7"), repeats=1, decision=False)),
    "all-failed": Animal(
        _simulated("all-failed", questions=10, decision=False,
                   answers={(f"q{q:05}", "n7", r): None for q in range(10) for r in (1, 2)})
    ),
    "one-question": Animal(_simulated("one-question", questions=1, decision=False)),
    "one-state": Animal(_simulated("one-state", states=("n1",), decision=False), {"endpoints": None, "decision": None}),
    "ragged": Animal(
        _simulated("ragged", repeats={"n1": 2, "n7": 3}, answers={("q00001", "n1", 2): None, ("q00002", "n7", 1): None})
    ),
    "bare": Animal(
        _simulated("bare", labels=False, gold=False, evidence=False, decision=False, tags=(), text=None),
        {
            "origin": "imported",
            "provenance": "Imported from a table: no attempts, no retrieval lock.",
            "endpoints": None,
        },
    ),
    "hostile": Animal(
        _simulated(
            "hostile",
            states=("n1", EVIL),
            text=EVIL + " {0}",
            tags=(EVIL, "=1+1"),
            flips=0.4,
            ids=[f"=cmd {q} {EVIL}" for q in range(30)],
        ),
        {
            "title": EVIL,
            "provenance": EVIL,
            "generator": EVIL,
            "limits": (EVIL,),
            "origin": "imported",
            "decision": None,
            "states": (State("n1", EVIL), State(EVIL, "=2+2")),
        },
    ),
    "broken": Animal(_simulated("broken"), harm=_flattered),
}


def build(folder: Path, names: Iterable[str] = tuple(ZOO), also: Iterable[Path] = ()) -> Path:
    """A database of some of these studies.

    Args:
        folder: Where studies and database go.
        names: Keys of `ZOO`.
        also: Folders of further studies, which come first.
    """
    paths = list(also)
    for name in names:
        animal = ZOO[name]
        path = folder / name
        study = animal.simulator.build(path, **animal.protocol)
        estimate_study(study, created=CREATED)
        animal.harm(path)
        paths.append(path)
    load(paths, folder / "audit.db", verifier=verify, allow_failed=True)
    return folder / "audit.db"
