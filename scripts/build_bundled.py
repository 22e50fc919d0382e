"""Make data/studies/ from the reconstructed rows: python scripts/build_bundled.py ROWS_FOLDER data/studies

Each row holds one question: answers by state and repeat, the labels of all pairs, gold aliases and ranked documents.
The studies are reconstructed from published figures: texts are invented syllables, and only ids are kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from audit_core.model import Cell, Document, Evidence, Gold, Judgment, Question, State
from audit_core.protocol import Judge, Protocol, Rule
from audit_core.results import estimate_study
from audit_core.study import create_study

CREATED = "2026-11-30T00:00:00Z"
PROVENANCE = (
    "Reconstructed from published figures; ids only. Answers are invented syllables, document ids are invented, "
    "and nothing here is the authors' data."
)
LIMITS = (
    "The ledgers were constructed so that the published figures come out; only those figures carry information about "
    "the original study.",
    "Question texts and passages are not part of the reconstruction.",
    "Attempt records, the second retrieval pass and the judge's packets are not part of the reconstruction.",
)
STATES = {
    "n0": State("n0", "no retrieval", True),
    "n1": State("n1", "one shard"),
    "n3": State("n3", "three shards"),
    "n7": State("n7", "seven shards"),
}
STUDIES = {
    # id: (rows, title, generator, states, rule, seed)
    "nq-400": ("nq400", "Natural Questions", "DeepSeek V4-Flash", ("n0", "n1", "n3", "n7"), "nq_open/1", "nq-4"),
    "triviaqa-200": ("tqa200", "TriviaQA", "DeepSeek V4-Flash", ("n0", "n1", "n3", "n7"), "triviaqa/1", "tqa"),
    "v4pro-100": (
        "v4pro100",
        "Natural Questions, second generator",
        "DeepSeek V4-Pro",
        ("n1", "n7"),
        "nq_open/1",
        "v4-2",
    ),
}


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def main(rows_folder: Path, target: Path) -> None:
    second: dict[str, dict[str, list]] = {}
    for row in read(rows_folder / "crossjudge50.jsonl"):
        second.setdefault(row["cohort"], {})[row["qid"]] = row["sem_pairs"]
    for study_id, (name, title, generator, states, rule, seed) in STUDIES.items():
        rows = read(rows_folder / f"{name}.jsonl")
        judges = [Judge("primary", "primary", True, "the study's model judge, all pairs of a question's answers")]
        labels = {"primary": []}
        if name in second:
            judges.append(
                Judge(
                    "second",
                    "supplementary",
                    True,
                    f"a second model judge on {len(second[name])} of {len(rows)} questions",
                )
            )
            labels["second"] = []
        cells, evidence, gold = [], [], []
        for row in rows:
            slots = tuple((a["state"], a["repeat"] + 1) for a in row["answers"])
            cells += [
                Cell(
                    row["qid"],
                    a["state"],
                    a["repeat"] + 1,
                    "ok",
                    a["text"],
                    attempts=a["attempts"],
                    order=a.get("order_index"),
                )
                for a in row["answers"]
            ]
            gold.append(Gold(row["qid"], tuple(row["gold_aliases"])))
            labels["primary"].append(
                Judgment(row["qid"], slots, tuple(map(tuple, row["sem_pairs"])), row["judge_attempts"])
            )
            if row["qid"] in second.get(name, {}):
                labels["second"].append(Judgment(row["qid"], slots, tuple(map(tuple, second[name][row["qid"]]))))
            for state in states:
                documents = row.get("docs", {}).get(state, [])
                if documents:
                    evidence.append(
                        Evidence(
                            row["qid"],
                            state,
                            tuple(Document(document, rank) for rank, document in enumerate(documents, 1)),
                        )
                    )
        study = create_study(
            target / study_id,
            Protocol(
                study_id=study_id,
                title=title,
                origin="reconstructed",
                provenance=PROVENANCE,
                generator=generator,
                states=tuple(STATES[s] for s in states),
                endpoints=("n1", "n7"),
                normalization=rule,
                retrieval_depth=8 if evidence else None,
                judges=tuple(judges),
                seed=seed,
                decision=Rule("0.03", ("exact", "semantic")) if study_id != "v4pro-100" else None,
                limits=LIMITS,
                parent="nq-400" if study_id == "v4pro-100" else None,
            ),
            questions=[Question(row["qid"]) for row in rows],
            cells=cells,
            evidence=evidence,
            judgments=labels,
            gold=gold,
            created=CREATED,
        )
        estimate_study(study, created=CREATED)
        print(study_id, len(rows), "questions", study.chain[-1].sha256[:12])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
