"""The commands that label an imported study, and that check a judge against a reader."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from audit_core import bundled, codec
from audit_core.cli.commands import Result, public, sound
from audit_core.console import estimate_table, table
from audit_core.errors import InputError, Problem

if TYPE_CHECKING:
    from audit_core.estimators.judges import JudgeAgreement
    from audit_core.study import Study


def check_judge(arguments: argparse.Namespace) -> Result:
    """The judge's labels against a reader's."""
    from audit_core.report import handlabels
    from audit_core.results import as_row
    from audit_core.study import Study

    path = bundled.resolve(arguments.study)
    sound(path)
    study = Study(path)
    if arguments.sheet:
        return _sheet(study, arguments.sheet)
    if not arguments.labels:
        raise InputError(Problem("there are no labels to check against", "a filled sheet", "nothing", "check-judge",
                                 "Make a blank sheet with --sheet FILE, fill it, and name it."))  # fmt: skip
    found = handlabels.check(study, [handlabels.read_sheet(path, study) for path in arguments.labels])
    churn = [public(as_row(estimate)) for estimate in found.churn]
    compared: list[dict[str, Any]] = [
        {
            "first": item.first,
            "second": item.second,
            "all_pairs": _agreement(item.everything),
            "pairs_with_different_texts": _agreement(item.different),
            "same_by": dict(zip(("both", "first", "second", "neither"), item.confusion, strict=True)),
        }
        for item in found.compared
    ]
    rows = [
        [
            f"{row['first']} and {row['second']}",
            name,
            f"{part['pairs']:,}",
            _share(part["agreement"]),
            _kappa(part),
            same,
        ]
        for row in compared
        for name, part, same in (
            ("all", row["all_pairs"], ""),
            (
                "texts differ",
                row["pairs_with_different_texts"],
                " · ".join(f"{n:,} {k}" for k, n in row["same_by"].items()),
            ),
        )
    ]
    head = ["who", "pairs", "number", "equal labels", "κ, 95 % interval", "the same by"]
    text = f"The judge: {found.judge}\n\n{table(rows, head)}"
    return {"judge": found.judge, "compared": compared, "excess_churn": churn}, text + "\n\n" + estimate_table(churn), 0


def judge(arguments: argparse.Namespace) -> Result:
    """Labels for a study without any, as a new study."""
    from audit_core.console import Progress
    from audit_core.importers import judged
    from audit_core.study import Study

    path = bundled.resolve(arguments.source)
    sound(path)
    source = Study(path, "verified")
    if arguments.settings:
        return _by_calls(source, arguments)
    if arguments.labels:
        description = arguments.description or f"labels of {arguments.labels.name}"
        who, labels = judged.from_file(arguments.labels, description, source)
    else:
        who, labels = judged.offline()
    with Progress("judge", unit="question") as progress:
        made = judged.judged(source, arguments.study, who, labels, _now(), progress.count)
    return _told(made)


def _by_calls(source: Study, arguments: argparse.Namespace) -> Result:
    """Labels of a judge that is called."""
    from audit_core.collect.labelling import label
    from audit_core.collection import judging_of
    from audit_core.console import Progress

    if arguments.labels:
        raise InputError(Problem("two judges are named", "--settings or --labels", "both", action="Leave one out."))
    repeats = max((len({c.repeat for c in d.cells}) for d in source.dossiers()), default=1)
    collection = judging_of(arguments.settings, sum(1 for _ in source.questions()), repeats)
    with Progress("judge", unit="packet") as progress:
        made = label(source, arguments.study, collection, _now(), model_path=arguments.model_path,
                     progress=progress.count)  # fmt: skip
    return _told(made)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _told(made: Study) -> Result:
    judge = made.protocol.primary_judge
    assert judge is not None
    lines = [
        f"Written and locked: {made.path}",
        f"Judge: {judge.description}",
        f"Next: snapshot-audit load {quote(str(made.path))} --db audit.db",
    ]
    return {"study": str(made.path), "judge": judge.description, "blind": judge.blind}, "\n".join(lines), 0


def _agreement(found: JudgeAgreement) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "agreement": found.agreeing / found.pairs if found.pairs else None,
        "kappa": None if found.kappa is None else float(found.kappa),
        "kappa_interval": None if found.kappa_interval is None else [float(v) for v in found.kappa_interval],
    }


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def _kappa(part: dict[str, Any]) -> str:
    if part["kappa"] is None:
        return "not measurable: one class in use"
    low, high = part["kappa_interval"] or (float("nan"), float("nan"))
    return f"{part['kappa']:.3f} [{low:.3f}, {high:.3f}]"


def _sheet(study: Study, path: Path) -> Result:
    """A blank sheet, never over another one."""
    from audit_core.report import handlabels

    lines = b"".join(codec.encode(line) + b"\n" for line in handlabels.sheet(study))
    try:
        with path.open("xb") as stream:
            stream.write(lines)
    except FileExistsError:
        raise InputError(
            Problem(
                "a sheet is there already",
                "a new file",
                path.name,
                str(path),
                "Choose another name; labels are never written over.",
            )
        ) from None
    number = lines.count(b"\n")
    text = f"Written: {path}: {number} questions. Give answers of one meaning one number, from 1."
    return {"sheet": str(path), "questions": number}, text, 0
