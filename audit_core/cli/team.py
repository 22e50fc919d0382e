"""The command that reads a team file aloud: who may do what, how they are known, and who gets how many questions."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from audit_core import bundled
from audit_core.cli.commands import Result
from audit_core.console import rule, table

if TYPE_CHECKING:
    from audit_core.reviews.roster import Roster

MAY = {
    "viewer": "look",
    "reviewer": "look, give verdicts and labels",
    "adjudicator": "look, give verdicts and labels, settle disputes, draw samples, sign off",
}
KNOWN = {
    "local": "a name chosen once at this machine; nobody checks it",
    "proxy": "the header {header} of a proxy that proves itself in {secret_header}",
    "oidc": "sign-in with an OpenID provider, for {hours} hours; only verified addresses",
}
GIVEN = {
    "all": "every question to everyone",
    "share": "each question to {needed} of the reviewers, drawn by hash",
    "tag": "questions with a listed tag to the people named there, the rest shared out",
}


def team(arguments: argparse.Namespace) -> Result:
    """A team file."""
    from audit_core.reviews.roster import read

    roster = read(arguments.team)
    counts, unused = _questions(roster, arguments.study) if arguments.study else (None, [])
    people: list[dict[str, Any]] = [
        {"name": name, "role": role, **({} if counts is None else {"questions": counts[name]})}
        for name, role in roster.team.people.items()
    ]
    settings, sign_in = roster.team, roster.sign_in
    facts: dict[str, Any] = {
        "sign_in": sign_in.how, "people": people, "others": settings.others, "verdicts": settings.needed,
        "masked": settings.masked, "assignment": settings.assignment, "tags_without_questions": unused,
    }  # fmt: skip
    rows = [
        [person["name"], person["role"], MAY[person["role"]], f"{person.get('questions', ''):,}" if counts else ""]
        for person in people
    ]
    rows += [["anyone else who signs in", settings.others, MAY[settings.others], ""]] if settings.others else []
    text = table(rows, ["name", "role", "may", "questions"]) + "\n" if rows else ""
    fields = {name: getattr(sign_in, name) for name in ("header", "secret_header", "hours")}
    text += rule(f"known by: {KNOWN[sign_in.how].format(**fields)}")
    text += f"\n{settings.needed} verdict{'s' * (settings.needed > 1)} a question"
    text += f"{', masked' * settings.masked}; {GIVEN[settings.assignment].format(needed=settings.needed)}"
    text += "".join(f"\nNo question of the study has the tag {tag}." for tag in unused)
    return facts, text, 0


def _questions(roster: Roster, name: str) -> tuple[Counter[str], list[str]]:
    """How many questions of a study each person gets, and tags of the file that none of them has."""
    from audit_core.study import Study

    study = Study(bundled.resolve(name))
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for question in study.questions():
        seen.update(question.tags)
        given = roster.team.assigned(study.protocol.study_id, question.question_id, question.tags)
        counts.update(roster.team.reviewers if given is None else given)
    return counts, [tag for tag in roster.team.tags if tag not in seen]
