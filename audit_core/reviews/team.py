"""Who may record what: roles, how many verdicts a question needs, and who gets which question."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from audit_core.errors import InputError, Problem
from audit_core.reviews.events import Kind

Role = Literal["viewer", "reviewer", "adjudicator"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most that a person may do; each may do what the one before it may."""

ADJUDICATOR: tuple[Kind, ...] = ("adjudicate", "signoff", "sample")
"""Kinds of events that need an adjudicator; every other kind needs a reviewer."""


class RefusedError(InputError):
    """The person may not do this; nothing was stored."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone at the desk.

    Attributes:
        name: What verdicts carry: an address, or ``local:NAME`` where nobody signed in.
        role: What they may do.
        proved: True where a sign-in or a trusted proxy vouches for the name.
        reason: Why they may only look, where a role alone does not say it.
    """

    name: str
    role: Role
    proved: bool = False
    reason: str = ""

    def may(self, kind: Kind) -> bool:
        """Whether they may record an event of a kind."""
        needed: Role = "adjudicator" if kind in ADJUDICATOR else "reviewer"
        return ROLES.index(self.role) >= ROLES.index(needed)

    @property
    def independent(self) -> bool:
        """Whether what others said on a question is hidden from them until they have judged it themselves."""
        return self.may("verdict") and not self.may("adjudicate")


def permit(person: Person, kind: Kind) -> None:
    """Let a save pass.

    Raises:
        RefusedError: The person's role does not allow it.
    """
    if not person.may(kind):
        needed = "adjudicator" if kind in ADJUDICATOR else "reviewer or adjudicator"
        action = person.reason or "Ask whoever runs this dashboard for another role; nothing was saved."
        raise RefusedError(Problem("you may not record this", f"the role {needed}", person.role, person.name, action))


@dataclass(frozen=True, slots=True)
class Team:
    """How a team reviews; the defaults are one local person who may do everything.

    Attributes:
        people: Role by name.
        others: Role of a signed-in person who is not listed; None lets nobody else in.
        needed: Independent verdicts that each question needs.
        masked: Every question is masked until its verdict.
        assignment: ``all`` gives every question to everyone; ``share`` gives each to `needed` reviewers, drawn by
            hash; ``tag`` gives those with a tag of `tags` to the people named there, and shares out the rest.
        tags: Names by tag.
        seed: Of the shares.
    """

    people: Mapping[str, Role] = field(default_factory=dict)
    others: Role | None = None
    needed: int = 1
    masked: bool = False
    assignment: Literal["all", "share", "tag"] = "all"
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seed: str = "1"

    @property
    def reviewers(self) -> list[str]:
        """Everyone listed who may give verdicts, in the order of their names."""
        return sorted(name for name, role in self.people.items() if role != "viewer")

    def assigned(self, study_id: str, question_id: str, tags: Sequence[str]) -> tuple[str, ...] | None:
        """Who is to review a question; None for everyone.

        A share is drawn by rank of SHA-256 of seed, study, question and name, so that a person who joins or leaves
        moves only their own questions.
        """
        if self.assignment == "all" or not self.reviewers:
            return None
        if self.assignment == "tag":
            named = dict.fromkeys(name for tag in tags for name in self.tags.get(tag, ()))
            if named:
                return tuple(named)

        def rank(name: str) -> bytes:
            text = "\n".join((self.seed, study_id, question_id, name))
            return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

        return tuple(sorted(self.reviewers, key=rank)[: self.needed])
