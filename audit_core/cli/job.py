"""An import in a process of its own, for the Import page: ``python -m audit_core.cli.job``, told by one JSON object.

The page that started it reads lines of JSON: how far each stage is, then one line with the report or with what is
wrong. Killed at any moment it leaves no study: a study is moved into place as a whole.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TextIO

from audit_core.errors import AuditError, Problem
from audit_core.importers.options import Options
from audit_core.importers.table import import_table


def main(asked: TextIO = sys.stdin, told: TextIO = sys.stdout) -> int:
    """Do what the object on stdin asks for.

    Args:
        asked: ``files``, ``study``, ``options`` (fields of `importers.options.Options`) and ``db``: the database that
            the new study is added to, or null.
        told: Where the lines go.

    Returns:
        The exit code.
    """

    def tell(**facts: Any) -> None:
        print(json.dumps(facts, ensure_ascii=True), file=told, flush=True)

    order = json.load(asked)
    try:
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in order["options"].items()}
        options = Options(**given)
        report = import_table(
            [Path(file) for file in order["files"]], Path(order["study"]), options,
            lambda stage, done, total: tell(stage=stage, done=done, total=total),
        )  # fmt: skip
        if order["db"] and not options.dry_run:
            from audit_core.readmodel.load import load
            from audit_core.verify import verify

            load([Path(order["study"])], Path(order["db"]), verifier=verify, add=True,
                 progress=lambda what, done: tell(stage=what, done=done, total=None))  # fmt: skip
        tell(report=report.as_json())
        return 0
    except AuditError as error:
        tell(errors=[_as_json(problem) for problem in error.problems])
        return error.exit_code


def _as_json(problem: Problem) -> dict[str, str]:
    return {"what": problem.what, "expected": problem.expected, "found": problem.found, "where": problem.where,
            "action": problem.action, "text": str(problem)}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
