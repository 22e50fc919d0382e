"""Fit the offline judge to people's labels: ``python scripts/fit_lexical_judge.py FOLDER [--write]``.

FOLDER holds NQ.json and TQ.json of EVOUNA (https://github.com/wangcunxiang/QA-Eval, Apache-2.0): five systems' answers
to each question, each judged right or wrong by a person. Two right answers are the same answer; a right one and a wrong
one differ; two wrong ones say nothing. Questions are halved by a hash: one half fits, the other is never seen by it.
Prints the JSON that ``audit_core/adapters/lexical.json`` holds; ``--write`` replaces that file. Same files, same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from audit_core.adapters import lexical, wording

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
SETS = ("NQ", "TQ")
SHORT = 10
"""Words of the longer answer up to which a pair counts as short."""
DRAWS = 2000
RIDGE = 1.0
Pair = tuple[str, str, str, int]


def pairs(folder: Path) -> list[Pair]:
    """(question, answer, answer, 1 for same) of every usable pair, in the order of the files."""
    found: list[Pair] = []
    for name in SETS:
        for item in json.loads((folder / f"{name}.json").read_text(encoding="utf-8")):
            if item.get("improper") is True:
                continue
            held = [
                (item[f"answer_{system}"], item[f"judge_{system}"]) for system in SYSTEMS
                if isinstance(item.get(f"answer_{system}"), str)
                and item[f"answer_{system}"].strip() not in ("", "None")
                and type(item.get(f"judge_{system}")) is bool
            ]  # fmt: skip
            found += [(item["question"], a, b, int(x and y)) for (a, x), (b, y) in combinations(held, 2) if x or y]
    return found


def half(question: str) -> int:
    """0 to fit, 1 to hold out."""
    return hashlib.sha256(question.encode()).digest()[0] & 1


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Newton's method with a small ridge on all but the intercept (the last column)."""
    design = np.column_stack([x, np.ones(len(x))])
    ridge = np.diag([RIDGE] * x.shape[1] + [0.0])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        step = np.linalg.solve(
            design.T @ (design * (weight * p * (1 - p))[:, None]) + ridge, design.T @ (weight * (y - p)) - ridge @ beta
        )
        beta = beta + step
        if np.abs(step).max() < 1e-12:
            break
    return beta


def monotone(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The fit in which likeness never counts against a pair: features with a negative coefficient are left out."""
    kept = list(range(x.shape[1]))
    while True:
        beta = logistic(x[:, kept], y, weight)
        if (beta[:-1] >= 0).all():
            break
        kept.pop(int(np.argmin(beta[:-1])))
    whole = np.zeros(x.shape[1] + 1)
    whole[kept], whole[-1] = beta[:-1], beta[-1]
    return whole


def kappa(table: np.ndarray) -> Any:
    """Cohen's kappa of 2 × 2 counts (last two axes: people, judge)."""
    total = table.sum(axis=(-2, -1))
    agreed = (table[..., 0, 0] + table[..., 1, 1]) / total
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
    return (agreed - chance) / (1 - chance)


def tables(held: list[Pair], said: list[int]) -> np.ndarray:
    """Counts per question: (questions, people, judge)."""
    place = {q: i for i, q in enumerate(dict.fromkeys(p[0] for p in held))}
    counts = np.zeros((len(place), 2, 2), dtype=np.int64)
    for (question, _, _, same), label in zip(held, said, strict=True):
        counts[place[question], same, label] += 1
    return counts


def quality(held: list[Pair], said: list[int], scores: list[int] | None = None) -> dict[str, Any]:
    """Agreement with people; the interval draws questions, because a question's pairs are not independent."""
    counts = tables(held, said)
    whole = counts.sum(axis=0)
    generator = np.random.default_rng(1)
    draws = np.array([
        kappa(counts[generator.integers(0, len(counts), len(counts))].sum(axis=0)) for _ in range(DRAWS)
    ])  # fmt: skip
    low, high = np.quantile(draws, [0.025, 0.975])
    found: dict[str, Any] = {
        "pairs": len(held), "questions": len(counts), "same": int(whole[1].sum()),
        "false_same": int(whole[0, 1]), "false_different": int(whole[1, 0]),
        "accuracy": f"{(whole[0, 0] + whole[1, 1]) / whole.sum():.3f}", "kappa": f"{kappa(whole):.3f}",
        "kappa_balanced": f"{whole[0, 0] / whole[0].sum() + whole[1, 1] / whole[1].sum() - 1:.3f}",
        "kappa_interval": [f"{low:.3f}", f"{high:.3f}"],
    }  # fmt: skip
    if scores is not None:
        found["auc"] = f"{auc(scores, [p[3] for p in held]):.3f}"
    return found


def auc(scores: list[int], same: list[int]) -> float:
    """Chance that a same pair scores above a different one; ties count half."""
    order = {s: i for i, s in enumerate(sorted(set(scores)))}
    ranks = np.array([order[s] for s in scores])
    y = np.array(same)
    at = np.bincount(ranks[y == 1], minlength=len(order)), np.bincount(ranks[y == 0], minlength=len(order))
    below = np.concatenate([[0], np.cumsum(at[1])[:-1]])
    return float((at[0] * (below + at[1] / 2)).sum() / (at[0].sum() * at[1].sum()))


def fit(folder: Path) -> bytes:
    """The bytes of lexical.json."""
    every = pairs(folder)
    parts = ([p for p in every if half(p[0]) == h] for h in (0, 1))
    seen, held = parts
    open_ = [(q, wording.wording(a), wording.wording(b), same) for q, a, b, same in seen]
    open_ = [p for p in open_ if lexical.decided(p[1], p[2]) is None]
    raw = np.array([wording.features(q, a, b) for q, a, b, _ in open_], dtype=float) / wording.ONE
    y = np.array([same for *_, same in open_], dtype=float)
    means = [f"{v:.6f}" for v in raw.mean(axis=0)]
    scales = [f"{max(v, 1e-6):.6f}" for v in raw.std(axis=0)]
    x = (raw - np.array(means, dtype=float)) / np.array(scales, dtype=float)
    weight = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))
    beta = monotone(x, y, weight)
    model: dict[str, Any] = {
        "model": lexical.MODEL, "features": list(wording.FEATURES), "means": means, "scales": scales,
        "coefficients": [f"{v:.4f}" for v in beta[:-1]], "intercept": f"{beta[-1]:.4f}", "threshold": "0.0000",
    }  # fmt: skip
    weights = lexical.weights_of(model)
    scores = [lexical.score(q, wording.wording(a), wording.wording(b), weights) for q, a, b, _ in held]
    said = [int(s >= 0) for s in scores]
    short = [max(len(a.split()), len(b.split())) <= SHORT for _, a, b, _ in held]
    model["note"] = (
        "Features are 0 to 1, the threshold is in log-odds. Rules decide the clear pairs; any other is the same where "
        "intercept + sum of coefficient * (feature - mean) / scale is at least the threshold. In the fit both classes "
        "weigh alike and likeness never counts against a pair: a feature with coefficient 0 is left out. kappa is of "
        "the held-out pairs as they come, kappa_balanced of as many same as different ones."
    )
    model["fitted_on"] = {
        "data": "EVOUNA (wangcunxiang/QA-Eval, Apache-2.0), half of the questions by SHA-256",
        "files": {
            f"{name}.json": hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest() for name in SETS
        },
        "pairs": len(seen), "pairs_for_the_model": len(open_), "questions": len({p[0] for p in seen}),
    }  # fmt: skip
    model["held_out"] = quality(held, said, scores)
    for word, wanted in (("short", True), ("long", False)):
        kept = [i for i, s in enumerate(short) if s is wanted]
        model[f"held_out_{word}"] = {
            "words": f"longer answer {'at most' if wanted else 'above'} {SHORT} words",
            **quality([held[i] for i in kept], [said[i] for i in kept], [scores[i] for i in kept]),
        }
    return (json.dumps(model, indent=1, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    made = fit(Path(sys.argv[1]))
    if "--write" in sys.argv:
        lexical.FILE.write_bytes(made)
    sys.stdout.buffer.write(made)
