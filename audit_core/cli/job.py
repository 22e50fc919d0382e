"""An import in a process of its own, for the Import page: ``python -m audit_core.cli.job``, told by one JSON object.

The page that started it reads lines of JSON: how far each stage is, then one line with the report or with what is
wrong. Killed at any moment it leaves no study: a study is moved into place as a whole.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from audit_core.errors import AuditError, Problem
from audit_core.importers import judged
from audit_core.importers.options import Options
from audit_core.importers.report import ImportReport
from audit_core.importers.table import Progress, import_table
from audit_core.study import Study, free


def main(asked: TextIO = sys.stdin, told: TextIO = sys.stdout) -> int:
    """Do what the object on stdin asks for.

    Args:
        asked: ``files``, ``study``, ``options`` (fields of `importers.options.Options`), ``db``: the database that the
            new study is added to, or null, and ``judge``: whether the offline judge labels it. The study without
            labels then stays beside it, as ``NAME.answers``.
        told: Where the lines go.

    Returns:
        The exit code.
    """
    if asked is sys.stdin:
        # Whoever stops the import wants its scratch space back; everything that holds some cleans up on the way out.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def tell(**facts: Any) -> None:
        print(json.dumps(facts, ensure_ascii=True), file=told, flush=True)

    order = json.load(asked)
    try:
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in order["options"].items()}
        study = Path(order["study"])
        options = Options(**{"title": study.name, **given})
        judges = order.get("judge", False) and not options.dry_run

        def progress(stage: str, done: int, total: int | None) -> None:
            tell(stage=stage, done=done, total=total)

        if judges:
            free(study)
        if order["db"] and not options.dry_run:
            from audit_core.readmodel.load import check_target

            check_target(Path(order["db"]))  # rather than after a study was written that nobody can open
        answers = study.with_name(f"{study.name}.answers") if judges else study
        with _whole({answers, study} if not options.dry_run else set()):
            report = _made(order, options, study, answers, progress)
        tell(report=report.as_json())
        return 0
    except AuditError as error:
        tell(errors=[_as_json(problem) for problem in error.problems])
        return error.exit_code


def _made(order: dict[str, Any], options: Options, study: Path, answers: Path, progress: Progress) -> ImportReport:
    """Import, label where `answers` is another folder, and add to the database where one is named."""
    report = import_table([Path(file) for file in order["files"]], answers, options, progress)
    if answers != study:
        who, labels = judged.offline()
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        judged.judged(Study(answers), study, who, labels, created, progress)
    if order["db"] and not options.dry_run:
        from audit_core.readmodel.load import load
        from audit_core.verify import verify

        load([study], Path(order["db"]), verifier=verify, add=True,
             progress=lambda what, done: progress(what, done, None))  # fmt: skip
    return report


@contextlib.contextmanager
def _whole(folders: set[Path]) -> Iterator[None]:
    """Leave all of the folders or none that was not there before, also when the work is stopped."""
    made = {folder for folder in folders if not (folder.exists() or folder.is_symlink())}
    try:
        yield
    except BaseException:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _as_json(problem: Problem) -> dict[str, str]:
    return {"what": problem.what, "expected": problem.expected, "found": problem.found, "where": problem.where,
            "action": problem.action, "text": str(problem)}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
