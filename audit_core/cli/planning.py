"""The planner on the command line: how many questions, what they would find, what they cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from audit_core import bundled
from audit_core.cli.commands import Result, sound
from audit_core.cli.places import refused
from audit_core.console import rule, table
from audit_core.errors import InputError, NotMeasurableError, Problem
from audit_core.protocol import DECIMAL

if TYPE_CHECKING:
    from audit_core.collect.plan import Charges, Wish
    from audit_core.estimators.pilot import Pilot
    from audit_core.study import Study

HELP = "How many questions an audit needs, what they would find and cost; writes a protocol."
SHARES = {
    "flips": (0.0, 1.0), "noise": (0.0, 0.5), "same_words": (0.0, 1.0), "reworded": (0.0, 1.0), "margin": (0.0, 1.0),
    "level": (0.5, 0.9999), "power": (0.01, 0.99), "tolerance": (0.0001, 0.99),
}  # fmt: skip
"""Options that are shares, with their least and largest value."""
WHOLE = {"questions": (50, 1_000_000), "repeats": (2, 10), "states": (2, 100)}
WITHOUT = "Plan without it, from --noise and --flips."
DEFAULTS = {"flips": "0.10", "noise": "0.11", "same_words": "0.40", "reworded": "0"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "How many questions an audit needs to confirm churn, or what a number of them can find. Shares are written as "
        "0.10 for 10 %. Without --questions and --power it speaks about 400 questions. Exit code 4 where the --power "
        "that was asked for cannot be reached."
    )
    group = parser.add_argument_group("what is planned")
    group.add_argument("--questions", metavar="N", help="how many questions; answers what they can find")
    group.add_argument("--power", metavar="P", help="chance to confirm churn, such as 0.8; answers how many questions")
    group.add_argument(
        "--repeats", metavar="K", default="2", help="answers per question and state (default: %(default)s)"
    )
    group.add_argument(
        "--states", metavar="S", default="2", help="states that are asked; for the cost (default: %(default)s)"
    )
    group = parser.add_argument_group("when churn is confirmed")
    group.add_argument("--margin", metavar="M", default="0.03", help="least exact excess churn (default: %(default)s)")
    group.add_argument("--level", metavar="C", default="0.95", help="confidence of the bounds (default: %(default)s)")
    group.add_argument("--exact-only", action="store_true", help="no judge: the exact kernel decides alone")
    group.add_argument(
        "--tolerance", metavar="T", help="also the chance to show that excess churn is below this (compatible); with "
        "--out also a release rule"
    )
    group = parser.add_argument_group(
        "what is expected", "A finished study of your own is the best guide; the defaults are near a published one."
    )
    group.add_argument("--pilot", metavar="STUDY", help="take all of this from a study: noise, wording, flips, tokens")
    group.add_argument(
        "--flips", metavar="F", help="share of questions whose meaning moves (default: 0.10, or the pilot's)"
    )
    differ = "how often answers of one state differ in meaning, 1 - within agreement (default: 0.11)"
    group.add_argument("--noise", metavar="D", help=differ)
    group.add_argument("--same-words", metavar="W",
                       help="how often two such answers of equal meaning have equal words (default: 0.40)")  # fmt: skip
    group.add_argument(
        "--reworded", metavar="R", help="share of the other questions that change words only (default: 0)"
    )
    group = parser.add_argument_group(
        "what it costs", "Prices are per million tokens; without them only tokens are said."
    )
    for who, what in (("answer", "an answer"), ("judge", "a judge's reply, one for each question")):
        group.add_argument(f"--{who}-tokens", metavar=("READ", "WRITTEN"), nargs=2, help=f"tokens of {what}")
        group.add_argument(f"--{who}-price", metavar=("READ", "WRITTEN"), nargs=2, help=f"prices for {what}")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write a protocol with these numbers; never over a file"
    )


def plan(arguments: argparse.Namespace) -> Result:
    """Answer what was asked, and write the protocol where one is wanted."""
    from audit_core.collect.draft import draft, write
    from audit_core.collect.plan import plan as made

    wish, charges, name = _read(arguments)
    facts = made(wish, charges)
    facts["pilot"] = name
    text = "\n".join([*facts["answer"], "", _alternatives(facts), "", _cost(facts)] if facts.get("cost") else
                     [*facts["answer"], "", _alternatives(facts)])  # fmt: skip
    text += "\n" + rule(_ground(facts))
    if facts["questions"] is None:
        return facts, text, 4
    if arguments.out is not None:
        write(arguments.out, draft(facts["questions"], wish.repeats, arguments.margin, arguments.level,
                                   wish.judged, facts["answer"], arguments.tolerance or ""))  # fmt: skip
        facts["protocol"] = str(arguments.out)
        text += f"\nWritten: {arguments.out}\nNext: edit it, put the files it names beside it, then: "
        text += f"snapshot-audit freeze {quote(str(arguments.out))}"
    unreached = facts["wanted"] is not None and facts["needed"] is None
    return facts, text, 4 if unreached else 0


def _read(arguments: argparse.Namespace) -> tuple[Wish, Charges, str | None]:
    """Options as numbers, every fault at once.

    Raises:
        InputError: An option is not what it must be.
        NotMeasurableError: The pilot cannot serve as one.
    """
    from audit_core.collect.plan import Charges, Wish
    from audit_core.estimators.planner import Rule
    from audit_core.estimators.population import Population

    faults: list[Problem] = []
    given = {name: getattr(arguments, name) for name in (*SHARES, *WHOLE)}
    if arguments.pilot is None:
        given |= {name: text for name, text in DEFAULTS.items() if given[name] is None}
    values = {name: _number(name, text, SHARES, faults) for name, text in given.items() if name in SHARES}
    whole = {name: _number(name, text, WHOLE, faults) for name, text in given.items() if name in WHOLE}
    if arguments.pilot is not None:
        faults += [
            Problem("an option is taken from the pilot already", "one of the two", f"--{_dashed(name)} and --pilot",
                    f"--{_dashed(name)}", "Leave one of them out; --flips may stand beside a pilot.")
            for name in ("noise", "same_words", "reworded") if given[name] is not None
        ]  # fmt: skip
    if arguments.out is not None and values["tolerance"] and values["tolerance"] > (values["margin"] or 0):
        faults.append(Problem("a protocol cannot hold this tolerance", f"at most the margin, {arguments.margin}",
                              arguments.tolerance, "--tolerance", "Lower it, or plan without --out."))  # fmt: skip
    if arguments.out is not None and (problem := refused(arguments.out, "--out")):
        faults.append(problem)
    parts = _charges(arguments, faults)
    if faults:
        raise InputError(faults)
    semantic = not arguments.exact_only
    pilot, study = _pilot(arguments.pilot) if arguments.pilot else (None, None)
    if pilot is not None and study is not None:
        from audit_core.collect.costs import measured

        semantic = semantic and pilot.semantic
        parts = {**dict(zip(("answer", "judge"), measured(study), strict=True)), **parts}
    questions = whole["questions"]
    if questions is None and values["power"] is None:
        questions = 400
    wish = Wish(
        None if questions is None else int(questions), int(whole["repeats"] or 2), values["power"],
        Rule(values["margin"] or 0.0, values["level"] or 0.95, semantic),
        Population(*(values[name] or 0.0 for name in ("flips", "noise", "same_words", "reworded"))),
        pilot, values["flips"] if pilot else None, values["tolerance"], int(whole["states"] or 2),
    )  # fmt: skip
    return wish, Charges(**parts), study.protocol.study_id if study else None


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _number(name: str, text: str | None, ranges: dict[str, Any], faults: list[Problem]) -> float | None:
    if text is None:
        return None
    low, high = ranges[name]
    good = text.isascii() and text.isdecimal() if ranges is WHOLE else bool(DECIMAL.fullmatch(text))
    if good and low <= float(text) <= high:
        return float(text)
    kind = "a whole number" if ranges is WHOLE else "a share, such as 0.10 for 10 %,"
    option = f"--{_dashed(name)}"
    faults.append(Problem(f"{option} is not what it must be", f"{kind} from {low:,} to {high:,}", repr(text)[:60],
                          option, "Correct the option."))  # fmt: skip
    return None


def _charges(arguments: argparse.Namespace, faults: list[Problem]) -> dict[str, Any]:
    from audit_core.collect.costs import Price, Tokens

    found: dict[str, Any] = {}
    for who in ("answer", "judge"):
        tokens, price = (getattr(arguments, f"{who}_{what}") for what in ("tokens", "price"))
        for what, pair, good in (
            ("tokens", tokens, lambda t: t.isascii() and t.isdecimal() and int(t) < 10**8),
            ("price", price, lambda t: bool(DECIMAL.fullmatch(t)) and not t.startswith("-")),
        ):
            if pair is not None and not all(map(good, pair)):
                faults.append(Problem(f"--{who}-{what} is not what it must be", "two numbers: read, written",
                                      " ".join(pair)[:60], f"--{who}-{what}", "Correct the option."))  # fmt: skip
        if not faults:
            found |= {who: Tokens(int(tokens[0]), int(tokens[1]))} if tokens else {}
            found |= {f"{who}_price": Price(*price)} if price else {}
    return found


def _pilot(name: str) -> tuple[Pilot, Study]:
    from audit_core.estimators.pilot import from_answers
    from audit_core.results import arrays_of
    from audit_core.study import Study

    path = bundled.resolve(name)
    sound(path)
    study = Study(path)
    if study.protocol.endpoints is None:
        raise NotMeasurableError(Problem("the pilot names no endpoints", "an old and a new state", "none",
                                         study.protocol.study_id, WITHOUT))  # fmt: skip
    found = from_answers(arrays_of(study.protocol, study.dossiers()), *study.protocol.endpoints)
    if found is None:
        raise NotMeasurableError(
            Problem("the pilot does not show its noise", "two questions asked twice in both states, not all flips",
                    "fewer", study.protocol.study_id, WITHOUT)
        )  # fmt: skip
    return found, study


def _alternatives(facts: dict[str, Any]) -> str:
    from audit_core.collect.plan import chance, least, share

    rows = [
        [f"{row['questions']:,}", row["repeats"], chance(row["power"]),
         least(row["smallest_flips"]), f"{row['answers']:,}",
         row.get("cost", "–")]
        for row in facts["alternatives"]
    ]  # fmt: skip
    wanted = share(facts["wanted"] or 0.8)
    head = ["questions", "repeats", "chance to confirm", f"smallest flips for {wanted}", "answers", "cost"]
    return table(rows, head)


def _cost(facts: dict[str, Any]) -> str:
    cost = facts["cost"]
    rows = [["searches", f"{cost['retrieval']['searches']:,}", "–", "–", "–", "two passes"]]
    rows += [
        [name, f"{part['calls']:,}", f"{part['input_tokens']:,}", f"{part['output_tokens']:,}", part.get("cost", "–"),
         part["tokens"]]
        for name, part in cost.items() if name in ("answers", "judging")
    ]  # fmt: skip
    return table(
        rows, [f"for {facts['questions']:,} questions", "calls", "input tokens", "output tokens", "cost", "tokens"]
    )


def _ground(facts: dict[str, Any]) -> str:
    assumed = facts["assumed"]
    if "pilot" not in assumed:
        return (
            f"assumed: repeats differ in meaning {assumed['noise']:.0%} of the time, equal meanings have equal words "
            f"{assumed['same_words']:.0%} of the time; --pilot STUDY takes this from a study"
        )
    pilot = assumed["pilot"]
    left = f", {pilot['excluded']} left out" if pilot["excluded"] else ""
    text = f"from {facts['pilot']}: {pilot['questions']:,} questions, {pilot['flips']} flips{left}"
    return text + "; a pilot is a sample, and this plan is as uncertain as it is"
