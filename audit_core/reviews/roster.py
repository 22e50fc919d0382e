"""The team file: who is on the team, what each may do, and how the dashboard knows who someone is.

TOML, read strictly: every fault is told at once, and nothing is guessed. Where the file says how people sign in,
secrets are never in it: it names the environment variable that holds the one of a proxy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from audit_core.errors import InputError, Problem
from audit_core.reviews.names import LOCAL, LONGEST, LONGEST_ADDRESS, fold, unfit
from audit_core.reviews.team import ROLES, Role, Team

How = Literal["local", "proxy", "oidc"]
LARGEST = 1 << 20

_PROXY = ("header", "secret_header", "secret_variable")
_OIDC = ("provider", "hours")
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{1,63}")
_TAKEN = {"host", "cookie", "authorization", "origin", "connection", "upgrade", "content-length", "content-type"}


@dataclass(frozen=True, slots=True)
class SignIn:
    """How the dashboard knows who someone is.

    Attributes:
        how: ``local``: whoever is at this machine; ``proxy``: a header of a proxy that knows the secret; ``oidc``:
            Streamlit's sign-in with an OpenID provider.
        contact: Whom to ask for access, shown to people who are not let in.
        hosts: Names under which the dashboard is reached, beside those of this machine.
        header: Header in which the proxy says the name; likewise `secret_header`, and `secret_variable`, the
            environment variable that holds the secret.
        provider: Name of the provider in Streamlit's secrets; None for the only one.
        hours: How long a sign-in is good for.
    """

    how: How = "local"
    contact: str = ""
    hosts: tuple[str, ...] = ()
    header: str = ""
    secret_header: str = ""
    secret_variable: str = ""
    provider: str | None = None
    hours: int = 24


@dataclass(frozen=True, slots=True)
class Roster:
    """A team file that was read; the defaults are those without one."""

    sign_in: SignIn = field(default_factory=SignIn)
    team: Team = field(default_factory=Team)

    def known_as(self, name: str) -> str | None:
        """The name that verdicts of somebody carry, in the spelling of the file; None for somebody without access.

        Spellings of one name are one person: nobody counts twice because an address was written in capitals.
        """
        if unfit(name, LONGEST_ADDRESS) or name.startswith(LOCAL) != (self.sign_in.how == "local"):
            return None
        wanted = fold(name)
        listed = next((person for person in self.team.people if fold(person) == wanted), None)
        return listed or (wanted if self.team.others else None)

    def role(self, known: str) -> Role:
        """What somebody with access may do."""
        return self.team.people.get(known) or self.team.others or "viewer"


def read(path: Path) -> Roster:
    """The team that a file describes.

    Raises:
        InputError: Everything that is wrong with the file.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would be waited for
            raise InputError(_problem("the team file cannot be read", "a regular file", "another kind", str(path)))
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise InputError(_problem("the team file is too large", "at most 1 MB", "more", str(path)))
        document = tomllib.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        found, action = error.strerror or str(error), "Check the path of --team."
        raise InputError(
            Problem("the team file cannot be read", "a readable file", found, str(path), action)
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            _problem("the team file is not TOML", "TOML in UTF-8", str(error) or "too deep", str(path))
        ) from error
    return _Reader(str(path)).roster(document)


def _problem(what: str, expected: str, found: str, where: str) -> Problem:
    return Problem(what, expected, found, where, "Correct the team file; docs/team.md shows every entry.")


class _Reader:
    """One reading of a document, with every fault that was found on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def fault(self, where: str, what: str, expected: str, found: Any) -> None:
        shown = found if isinstance(found, str) else repr(found)
        self.problems.append(_problem(what, expected, shown[:120], f"{self.path}: {where}"))

    def roster(self, document: dict[str, Any]) -> Roster:
        known = ("sign_in", "people", "others", "review")
        tables = {name: self.table(document, name, name) for name in known}
        self.unknown(document, known, "the file")
        sign_in = self.sign_in(tables["sign_in"])
        people = self.people(tables["people"], sign_in)
        others = self.others(tables["others"], "others" in document, sign_in)
        team = self.review(tables["review"], people, others)
        if sign_in.how != "local" and not people and others is None:
            self.fault("people", "nobody would be let in", "people, or a role for others", "neither")
        if self.problems:
            raise InputError(self.problems)
        return Roster(sign_in, team)

    def table(self, parent: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
        found = parent.get(name, {})
        if isinstance(found, dict):
            return found
        self.fault(where, "this must be a table", f"[{where}]", found)
        return {}

    def unknown(self, table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
        for name in table:
            if name not in known:
                self.fault(where, "unknown entry", " or ".join(known), name)

    def text(self, table: Mapping[str, Any], name: str, where: str, default: str = "") -> str:
        value = table.get(name, default)
        if not isinstance(value, str) or (name in table and (unfit(value, 200))):
            self.fault(f"{where}.{name}", "this must be a text", "1 to 200 visible characters in quotes", value)
            return default
        return value

    def choice(self, table: Mapping[str, Any], name: str, where: str, values: tuple[str, ...], default: str) -> str:
        value = table.get(name, default)
        if value in values:
            return cast(str, value)
        self.fault(f"{where}.{name}" if where else name, "unknown value", " or ".join(values), value)
        return default

    def number(self, table: Mapping[str, Any], name: str, where: str, default: int, most: int) -> int:
        value = table.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self.fault(f"{where}.{name}", "this must be a whole number", f"1 to {most}", value)
        return default

    def sign_in(self, table: dict[str, Any]) -> SignIn:
        how = cast(How, self.choice(table, "how", "sign_in", get_args(How), "local"))
        own = {"local": (), "proxy": _PROXY, "oidc": _OIDC}[how]
        self.unknown(table, ("how", "contact", "hosts", *own), f"sign_in with how = {how}")
        texts = {name: self.text(table, name, "sign_in") for name in ("contact", *(_PROXY if how == "proxy" else ()))}
        if how == "proxy":
            for name in _PROXY:
                if name not in table:
                    self.fault(f"sign_in.{name}", "a trusted proxy needs this entry", "a text", "nothing")
            for name in ("header", "secret_header"):
                if texts[name] and (not _TOKEN.fullmatch(texts[name]) or texts[name].lower() in _TAKEN):
                    self.fault(f"sign_in.{name}", "not a header of its own", "such as X-Forwarded-User", texts[name])
            if texts["header"] and texts["header"].lower() == texts["secret_header"].lower():
                self.fault("sign_in.secret_header", "name and secret need two headers", "another header",
                           texts["secret_header"])  # fmt: skip
            if texts["secret_variable"] and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", texts["secret_variable"]):
                expected = "such as SNAPSHOT_AUDIT_PROXY_SECRET; never the secret itself"
                self.fault("sign_in.secret_variable", "not the name of a variable", expected, "something else")
        provider, hours = None, 24
        if how == "oidc":
            provider = self.text(table, "provider", "sign_in") or None
            hours = self.number(table, "hours", "sign_in", 24, 720)
        return SignIn(how, hosts=self.hosts(table.get("hosts", [])), provider=provider, hours=hours, **texts)

    def hosts(self, found: Any) -> tuple[str, ...]:
        good = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
        if not isinstance(found, list) or not all(isinstance(h, str) and good.fullmatch(h.lower()) for h in found):
            self.fault("sign_in.hosts", "not a list of host names", '["audit.example.org"], without port', found)
            return ()
        return tuple(host.lower() for host in found)

    def people(self, table: dict[str, Any], sign_in: SignIn) -> dict[str, Role]:
        found: dict[str, Role] = {}
        seen: dict[str, str] = {}
        local = sign_in.how == "local"
        for name, role in table.items():
            where = f"people.{name}"
            if reason := unfit(name, LONGEST if local else LONGEST_ADDRESS):
                self.fault(where, "not a name", reason, name)
            elif fold(name).startswith(LOCAL):
                self.fault(where, f"a name does not begin with {LOCAL}", "the name alone", name)
            if (twin := seen.setdefault(fold(name), name)) != name:
                self.fault(where, "two names that look alike", "one entry a person", f"{twin} and {name}")
            value = self.choice({name: role}, name, "people", ROLES, "viewer")
            found[LOCAL + name if local else name] = cast(Role, value)
        return found

    def others(self, table: dict[str, Any], given: bool, sign_in: SignIn) -> Role | None:
        self.unknown(table, ("role",), "others")
        if not given:
            return None
        if sign_in.how == "local":
            self.fault("others", "others are people who signed in", "how = proxy or oidc", "how = local")
        if "role" not in table:
            self.fault("others.role", "the role is missing", " or ".join(ROLES), "nothing")
        return cast(Role, self.choice(table, "role", "others", ROLES, "viewer"))

    def review(self, table: dict[str, Any], people: dict[str, Role], others: Role | None) -> Team:
        self.unknown(table, ("verdicts", "masked", "assignment", "seed", "tags"), "review")
        needed = self.number(table, "verdicts", "review", 1, 100)
        masked, seed = table.get("masked", False), table.get("seed", "1")
        if not isinstance(masked, bool):
            self.fault("review.masked", "this must be true or false", "true or false", masked)
        if isinstance(seed, bool) or not isinstance(seed, int | str) or not str(seed):
            self.fault("review.seed", "not a seed", "a number or a text", seed)
        assignment = self.choice(table, "assignment", "review", ("all", "share", "tag"), "all")
        tags = self.tags(self.table(table, "tags", "review.tags"), people)
        if (assignment == "tag") != bool(tags):
            self.fault("review.tags", "tags and assignment do not fit", 'assignment = "tag" with [review.tags]',
                       f"assignment = {assignment}, {len(tags)} tags")  # fmt: skip
        for tag, names in tags.items():
            if len(names) < needed:
                self.fault(f"review.tags.{tag}", "a tag names fewer people than verdicts are needed",
                           f"{needed} people or more", f"{len(names)}")  # fmt: skip
        team = Team(people, others, needed, masked is True, cast(Any, assignment), tags, str(seed))
        anyone = others in ("reviewer", "adjudicator")
        if needed > max(1, len(team.reviewers)) and not anyone:
            self.fault("review.verdicts", "more verdicts a question than reviewers", f"at most {len(team.reviewers)}",
                       needed)  # fmt: skip
        if assignment != "all" and not team.reviewers:
            self.fault("people", "nobody to give questions to", "reviewers in [people]", "none")
        return team

    def tags(self, table: dict[str, Any], people: dict[str, Role]) -> dict[str, tuple[str, ...]]:
        found = {}
        listed = {fold(name.removeprefix(LOCAL)): name for name in people}
        for tag, names in table.items():
            where = f"review.tags.{tag}"
            if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
                self.fault(where, "not a list of names", '["ada@example.org"]', names)
                continue
            for name in names:
                person = listed.get(fold(name))
                if person is None:
                    self.fault(where, "a tag names somebody who is not in [people]", "a name of [people]", name)
                elif people[person] == "viewer":
                    self.fault(where, "a tag names a viewer", "a reviewer or adjudicator", name)
            found[tag] = tuple(dict.fromkeys(listed[fold(name)] for name in names if fold(name) in listed))
        return found
