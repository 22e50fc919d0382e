"""``robustness STUDY``: how sure excess churn is, beyond its interval."""

from __future__ import annotations

import argparse

from audit_core import bundled
from audit_core.cli.commands import Result, public, sound
from audit_core.console import Progress, estimate_table, rule

HELP = "How sure the excess churn is: another test, joint intervals, other kernels and bounds, parts, single questions."
SENTENCE = "supportive or exploratory, as each line says; none of it can rescue or sink a decision"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("study", metavar="STUDY", help="a study's folder, or the name of a bundled study")


def robustness(arguments: argparse.Namespace) -> Result:
    """The estimates of the group; exploratory where the study's results were locked before they existed."""
    from audit_core import results
    from audit_core.estimators.groups import ROBUSTNESS, lacking
    from audit_core.study import Study

    path = bundled.resolve(arguments.study)
    sound(path)
    study = Study(path)
    study.need("gold")
    stored = study.results()
    with Progress("robustness") as progress:
        progress.say("reading the answers")
        answers = results.arrays_of(study.protocol, study.dossiers())
        late = stored is not None and ROBUSTNESS in lacking(results.measures_of(stored))
        progress.say(ROBUSTNESS.title)
        made = (
            results.newer(study.protocol, answers, [ROBUSTNESS])
            if late
            else results.robustness(study.protocol, answers)
        )
    rows = [public(results.as_row(estimate)) for estimate in made]
    facts = {"study": study.protocol.study_id, "locked": stored is not None and not late, "estimates": rows}
    return facts, estimate_table(rows) + "\n" + rule(SENTENCE), 0
