"""The A/A check on the command line."""

from __future__ import annotations

import argparse

from audit_core import bundled
from audit_core.cli.commands import Result, public, sound
from audit_core.console import estimate_table, rule
from audit_core.errors import visible

HELP = "A/A check: a state against itself must show no excess churn."
_SAID = {
    True: "Every interval of excess churn holds zero: no churn is found where there is none.",
    False: "An interval of excess churn excludes zero: the two collections differ by more than repeat noise. Something "
    "other than the snapshot changed between them; until it is known, churn between states means little.",
    None: "Excess churn of the state against itself could not be measured.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "A/A check: compare two collections of one state, or split the repeats of a state that has four, and see "
        "whether excess churn covers zero. Exit code 1 where it does not, 4 where it cannot be measured."
    )
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument("state", metavar="STATE")
    parser.add_argument(
        "--with", dest="other", metavar="STUDY2", help="a second collection of the same questions, in another study"
    )
    parser.add_argument(
        "--state2", metavar="STATE2", help="the state of the second collection (default: of the same name)"
    )


def aa(arguments: argparse.Namespace) -> Result:
    """A state against itself."""
    from audit_core.report.nulls import against, as_facts, split_state
    from audit_core.study import Study

    paths = [bundled.resolve(name) for name in (arguments.study, arguments.other or arguments.study)]
    for path in dict.fromkeys(paths):
        sound(path)
    study = Study(paths[0])
    if arguments.other is None and arguments.state2 is None:
        nulls = split_state(study, arguments.state)
    else:
        nulls = against(study, arguments.state, Study(paths[1]), arguments.state2 or arguments.state)
    facts = as_facts(study, arguments.state, nulls)
    lines = []
    for comparison in facts["comparisons"]:
        comparison["estimates"] = [public(row) for row in comparison["estimates"]]
        lines += [f"{visible(comparison['split'])}:", estimate_table(comparison["estimates"]), ""]
    covers = facts["covers_zero"]
    lines.append(rule(_SAID[covers]))
    return facts, "\n".join(lines), {True: 0, False: 1, None: 4}[covers]
