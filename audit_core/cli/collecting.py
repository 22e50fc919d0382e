"""Commands that make a study: init, freeze, run, status; and probe, which asks a finished one again."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from audit_core.cli.commands import Result, now, sound
from audit_core.cli.places import refused
from audit_core.console import Progress, rule, table
from audit_core.errors import InputError


def init(arguments: argparse.Namespace) -> Result:
    """Write a protocol to start from; never over another one."""
    from audit_core.collect.draft import write
    from audit_core.collection import TEMPLATE

    target: Path = arguments.folder / "protocol.toml"
    if problem := refused(target, "FOLDER"):
        raise InputError(problem)
    write(target, TEMPLATE)
    text = f"Written: {target}\nNext: edit it, put the files it names beside it, then: "
    text += f"snapshot-audit freeze {quote(str(target))}"
    return {"protocol": str(target)}, text, 0


def freeze(arguments: argparse.Namespace) -> Result:
    """Lock a protocol as a new study."""
    from audit_core.collect import stages
    from audit_core.collection import read_toml
    from audit_core.protocol import attributions

    protocol, collection = read_toml(arguments.protocol)
    if collection.parent:
        sound(arguments.protocol.parent / collection.parent.path)
    path = arguments.study or arguments.protocol.parent / protocol.study_id
    with Progress("freeze") as progress:
        study = stages.freeze(arguments.protocol, path, now(), model_path=arguments.model_path, progress=progress.count)
    facts: dict[str, Any] = {
        "study": str(path),
        "bundle": study.bundle,
        "gold_sealed": study.protocol.gold_commit is not None,
    }
    differences = attributions(study.protocol)
    facts |= {"differences": differences} if differences else {}
    text = f"Frozen and locked: {path}\nIts id, to keep elsewhere: {study.bundle}\n"
    text += "".join(f"{sentence}\n" for sentence in differences)
    if study.protocol.parent:
        text += f"It repeats {study.protocol.parent}, whose gold and seal it uses.\n"
    elif study.protocol.gold_commit:
        secret = stages.nonce_file(arguments.protocol.parent, study.protocol)
        text += f"Gold is sealed; its nonce is in {secret}. Keep both away from whoever collects.\n"
    return facts, text + f"Next: snapshot-audit run {quote(str(path))}", 0


def run(arguments: argparse.Namespace) -> Result:
    """Do what is still open, up to the locked results."""
    from audit_core.collect import stages
    from audit_core.collect.frozen import check_locked
    from audit_core.collect.outlook import outlook
    from audit_core.results import estimate_study
    from audit_core.study import RESULTS, Study

    study = Study(arguments.study)
    check_locked(study)
    facts: dict[str, Any] = stages.status(study)
    if arguments.dry_run:
        left = outlook(study, stages.collection_of(study))
        rows = [
            [name, *(f"{part[key]:,}" for key in ("calls", "input_tokens", "output_tokens")), part.get("cost", "–")]
            for name, part in left.items()
        ]
        head = ["left", "calls", "input tokens, about", "output tokens, at most", "cost, at most"]
        closing = rule(f"the next gate is {facts['next'] or 'none'}; no call was made")
        return {**facts, "left": left}, table(rows, head) + "\n" + closing, 0
    base = arguments.inputs or arguments.study.resolve().parent
    with Progress("run") as progress:
        closed = stages.run(study, base, now, progress.count, arguments.model_path)
        if not study.has(RESULTS):
            sound(arguments.study)
            estimate_study(study, created=now(), progress=progress.say)
            closed.append("results")
    facts = {**stages.status(study), "closed_now": closed}
    text = table(
        [[lock.gate, ", ".join(f"{k} {v:,}" for k, v in lock.counts.items()), lock.note] for lock in study.chain],
        ["gate", "counts", "note"],
    )
    for lock in study.chain:
        for who in ("", "second_"):
            if f"{who}controls" in lock.counts:
                right, every = (lock.counts[f"{who}{name}"] for name in ("controls_right", "controls"))
                text += f"\n{who.replace('_', ' judge: ')}controls {right} of {every} right"
    return facts, text + "\n" + rule(f"the last lock is {study.chain[-1].sha256}"), 0


def status(arguments: argparse.Namespace) -> Result:
    """How far a study is; reads only."""
    from audit_core.collect import stages
    from audit_core.study import Study

    facts = stages.status(Study(arguments.study))
    return facts, table(list(_rows(facts)), ["what", ""]), 0


def probe(arguments: argparse.Namespace) -> Result:
    """More answers of one cell, in a ledger of their own."""
    from audit_core.collect import probing
    from audit_core.collect.frozen import check_locked
    from audit_core.explore import refusal_rate
    from audit_core.probes import outcomes
    from audit_core.study import Study

    study = Study(arguments.study)
    check_locked(study)
    with Progress("probe") as progress:
        asked = probing.probe(
            study, arguments.question, arguments.state, arguments.repeats, now(), progress.count,
            model_path=arguments.model_path,
        )  # fmt: skip
    found, before = (outcomes(study.protocol, cells) for cells in (asked.answers, asked.before))
    answers = Counter(cell.answer or "" for cell in asked.answers)
    facts = {
        "study": study.protocol.study_id, "question_id": arguments.question, "state": arguments.state,
        "probe": asked.probe.number, "answers": asked.probe.repeats, "outcomes": found,
        "outcomes_before": before, "texts": dict(answers.most_common()),
    }  # fmt: skip
    rows = [[outcome, f"{count} of {asked.probe.repeats}", f"{before[outcome]} of {sum(before.values())}"]
            for outcome, count in found.items()]  # fmt: skip
    refused, size, low, high = refusal_rate([word for word, number in found.items() for _ in range(number)])
    facts["refused"] = {"share": refused / size, "interval": [float(low), float(high)]}
    text = table(rows, ["outcome", "asked again", "in the study"]) + "\n"
    ends = f"{float(low):.1%} to {float(high):.1%}"
    text += f"refused {refused} of {size}, {refused / size:.1%}, exact 95% interval {ends}\n\n"
    text += table([[count, answer] for answer, count in answers.most_common(10)], ["times", "answer"])
    more = f", {len(answers) - 10} more texts" if len(answers) > 10 else ""
    return facts, text + "\n" + rule(f"probe {asked.probe.number:04d}{more}; in no estimate"), 0


LENGTHS = {"seconds_left": "time_left"}
"""Facts in seconds, and what they are called when they are shown in words."""


def _rows(facts: dict[str, Any], before: str = "") -> Iterator[list[str]]:
    """Facts as lines for people; those of a part under its name."""
    from audit_core.collect.progress import words

    for key, value in facts.items():
        name = before + LENGTHS.get(key, key).replace("_", " ")
        if isinstance(value, dict) and key != "outcomes":
            yield from _rows(value, f"{name}: ")
        elif isinstance(value, dict):
            yield [name, ", ".join(f"{count:,} {word}" for word, count in value.items())]
        elif isinstance(value, list):
            yield [name, ", ".join(value)]
        elif key in LENGTHS:
            yield [name, words(value)]
        else:
            yield [name, f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)]
