"""Small logs in the formats of other tools, made here."""

from __future__ import annotations

import json
from pathlib import Path


def promptfoo(folder: Path, questions: int = 12, flips: int = 3) -> list[Path]:
    """Two result files of promptfoo, one a state, two repeats of each question; the last `flips` questions move."""
    paths = []
    for state in ("may", "june"):
        rows = []
        for number in range(questions):
            question = f"What is the fee for service {number}?"
            moved = state == "june" and number >= questions - flips
            for _ in range(2):
                rows.append({
                    "id": f"{state}-{len(rows)}", "promptIdx": 0, "testIdx": len(rows), "promptId": "p",
                    "testCase": {"vars": {"question": question}}, "provider": {"id": "bot", "label": ""},
                    "prompt": {"raw": question, "label": "p"}, "vars": {"question": question},
                    "response": {"output": f"£{number + (9 if moved else 5)}"}, "failureReason": 0, "success": True,
                    "score": 1, "latencyMs": 90 + len(rows), "metadata": {},
                })  # fmt: skip
        path = folder / f"{state}.json"
        path.write_text(json.dumps({"evalId": f"eval-{state}", "results": {"version": 3, "results": rows}}), "utf-8")
        paths.append(path)
    return paths
