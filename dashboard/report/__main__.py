"""Writes a report: ``python -m dashboard.report``, started by the command line and told by one JSON object.

The core knows no plotly, so this is a process of its own. It answers with one line of JSON: the digests of what it
wrote, or what is wrong.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem, StorageError
from audit_core.reviews.fold import Fold
from audit_core.reviews.store import ReviewStore
from dashboard.report.document import SEAL
from dashboard.report.making import People, again, people_of, render
from dashboard.report.paper import browser, printed


def main(asked: TextIO = sys.stdin, told: TextIO = sys.stdout) -> int:
    """Do what the object on stdin asks for.

    Args:
        asked: ``db``, ``study_id``, ``reviews`` (a path or null), ``needed``, ``pair`` (two states or null),
            ``redacted``, ``html`` and ``pdf``: where to write, or null; and ``carried``, what a report carries of the
            review, instead of ``reviews`` where that report is made anew.
        told: Where the answer goes.

    Returns:
        The exit code.
    """
    if asked is sys.stdin:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    order = json.load(asked)
    try:
        answer: dict[str, Any] = {"files": _made(order)}
    except OSError as error:
        problem = Problem("the report cannot be written", "a folder that can be written", str(error))
        answer = _wrong([problem], 3)
    except AuditError as error:
        answer = _wrong(error.problems, error.exit_code)
    print(json.dumps(answer), file=told, flush=True)
    return int(answer.get("exit_code", 0))


def _wrong(problems: Sequence[Problem], code: int) -> dict[str, Any]:
    return {"problems": [asdict(problem) for problem in problems], "exit_code": code}


def _made(order: dict[str, Any]) -> list[dict[str, Any]]:
    html, pdf = (Path(order[name]) if order[name] else None for name in ("html", "pdf"))
    if pdf:
        browser()  # before anything is written
    for path, begins in ((html, b"<!doctype html>"), (pdf, b"%PDF-")):
        if path:
            _free(path, begins)
    page = _page(Path(order["db"]), order)
    made = [(html, page)] if html else []
    made += [(pdf, printed(page))] if pdf else []
    for path, data in made:
        _write(path, data)
    return [{"path": str(path), "sha256": sha256(data), "bytes": len(data)} for path, data in made]


def _page(db: Path, order: dict[str, Any]) -> bytes:
    pair = (order["pair"][0], order["pair"][1]) if order["pair"] else None
    if pair and order.get("carried"):
        return again(db, order["study_id"], order["carried"], pair=pair, redacted=order["redacted"])
    people = People(Fold([]))
    if order["reviews"]:
        people = people_of(ReviewStore(Path(order["reviews"])), order["needed"])
    return render(db, order["study_id"], people, pair=pair, redacted=order["redacted"])


def _free(path: Path, begins: bytes) -> None:
    """Refuse to write over what no report is."""
    if not path.parent.is_dir():
        raise StorageError(Problem("there is no such folder", "a folder", "none", str(path.parent), "Make it first."))
    if path.is_dir():
        raise InputError(Problem("a folder has this name", "a file", "a folder", str(path), "Choose another name."))
    if path.exists():
        with path.open("rb") as file:
            start = file.read(64)
            file.seek(max(path.stat().st_size - 100, 0))
            sealed = begins == b"%PDF-" or SEAL in file.read()
        if not start.startswith(begins) or not sealed:
            raise InputError(
                Problem("another file has this name", "a new name, or an earlier report", "some other file", str(path),
                        "Choose another name, or move the file away.")
            )  # fmt: skip


def _write(path: Path, data: bytes) -> None:
    """The whole file or nothing of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
