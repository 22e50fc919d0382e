"""A release rule as tests, one a condition, without a plugin: ``STUDY=audit/study RULE=audit/release.toml pytest``.

RULE is for a study whose protocol fixed none. What cannot be decided fails too, and says so.
"""

import json
import os
import subprocess

import pytest

COMMAND = ["snapshot-audit", "gate", os.environ["STUDY"], "--json"]
COMMAND += ["--rule", os.environ["RULE"]] if os.environ.get("RULE") else []
DONE = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
FACTS = json.loads(DONE.stdout or "{}")


def test_the_gate_could_be_run():
    """No study, no rule, a failed check: nothing below would run."""
    assert FACTS.get("conditions"), DONE.stderr or FACTS.get("headline")


@pytest.mark.parametrize("condition", FACTS.get("conditions", []), ids=lambda condition: condition["name"])
def test_release(condition):
    """One condition of the rule."""
    if condition["met"] is None:
        pytest.fail(f"cannot be decided: {condition['sentence']}")
    assert condition["met"], condition["sentence"]
