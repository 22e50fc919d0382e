"""Who is looking, and what they may do: asked anew at every page and at every save.

A name comes from a sign-in, from a proxy that knows the secret, or from a file beside the verdicts; never from the
address and never from a widget. Nothing here pauses the run that asks, so that a save may ask in its middle.
"""

from __future__ import annotations

import getpass
import os
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews.chosen import chosen
from audit_core.reviews.names import LOCAL
from audit_core.reviews.roster import Roster, SignIn, read
from audit_core.reviews.team import Person, Team
from dashboard import runtime

NOT_LOOPBACK = (
    "Everyone may only look, because this dashboard can be reached from other machines and does not know who you are. "
    "To record verdicts, open it on this machine, or give it a team file with a sign-in (docs/team.md)."
)
CHOOSE = "Say who you are first; this team has a list."


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody in front of a page.

    Attributes:
        person: Who they are and what they may do.
        admitted: Whether they may see anything at all.
        action: What they can do about who they are: ``sign in``, ``sign out``, ``choose`` a name; or nothing.
    """

    person: Person
    admitted: bool = True
    action: Literal["", "sign in", "sign out", "choose"] = ""


def person() -> Person:
    """Who is in front of this session now; a viewer without a name where nobody may be known."""
    return visitor().person


def team() -> Team:
    """How the team reviews, by its file as it is now."""
    return roster().team


def roster() -> Roster:
    """The team file as it is now, or as it was when it was last without a fault."""
    return _watched(runtime.team()).roster()


def trouble() -> str:
    """What is wrong with the team file on the disk while an earlier state of it counts; empty where nothing is."""
    watched = _watched(runtime.team())
    watched.roster()
    return watched.trouble


def visitor() -> Visitor:
    """Who is in front of this session now, and whether they are let in."""
    try:
        found = roster()
    except AuditError as error:
        print(f"error: {error}", file=sys.stderr)
        reason = "The team file cannot be used, so nobody is let in. The server's window says what is wrong with it."
        return Visitor(Person("", "viewer", reason=reason), admitted=False)
    by = {"local": _local, "proxy": _proxied, "oidc": _signed_in}
    return by[found.sign_in.how](found)


def _local(found: Roster) -> Visitor:
    if _reachable():
        return Visitor(Person(LOCAL + "guest", "viewer", reason=NOT_LOOPBACK))
    try:
        name = runtime.reviewer() or chosen(runtime.reviews())
    except AuditError as error:
        return Visitor(Person(LOCAL + _account(), "viewer", reason=str(error)))
    listed = bool(found.team.people)
    if name is None:
        here = LOCAL + _account()
        person = Person(here, "viewer", reason=CHOOSE) if listed else Person(here, "adjudicator")
        return Visitor(person, action="choose")
    if not listed:
        return Visitor(Person(LOCAL + name, "adjudicator"))
    known = found.known_as(LOCAL + name)
    if known is None:
        reason = "The name chosen here is not in the team file. Ask whoever keeps it to add the name; nothing is saved."
        return Visitor(Person(LOCAL + name, "viewer", reason=reason))
    return Visitor(Person(known, found.role(known)))


def _proxied(found: Roster) -> Visitor:
    given = st.user.get(runtime.PROXIED)
    if not isinstance(given, str) or not given:
        return _outside("This dashboard is reached through a proxy that says who you are. Open the proxy's address, "
                        "not this one.", found.sign_in)  # fmt: skip
    try:  # a header is Latin-1 to the server, and UTF-8 to whoever wrote it
        given = given.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return _outside("The proxy gives a name that is not text in UTF-8.", found.sign_in)
    return _listed(given, found, "")


def _signed_in(found: Roster) -> Visitor:
    claims = st.user.to_dict()
    if claims.get("is_logged_in") is not True:
        return _outside("Sign in to see this dashboard.", found.sign_in, "sign in", ask=False)
    address, since = claims.get("email"), claims.get("iat")
    if not isinstance(address, str) or claims.get("email_verified") is not True:
        return _outside("Your sign-in gives no verified e-mail address, so nobody can say who you are.",
                        found.sign_in, "sign out")  # fmt: skip
    if not isinstance(since, int | float) or time.time() - since > 3600 * found.sign_in.hours:
        return _outside("Your sign-in has expired. Sign in again; what was saved is there.", found.sign_in, "sign in",
                        ask=False)  # fmt: skip
    return _listed(address, found, "sign out")


def _listed(given: str, found: Roster, action: Literal["", "sign out"]) -> Visitor:
    known = found.known_as(given)
    if known is None:
        return _outside(f"{given} is not on this team.", found.sign_in, action)
    return Visitor(Person(known, found.role(known), proved=True), action=action)


def _outside(
    reason: str, sign_in: SignIn, action: Literal["", "sign in", "sign out"] = "", ask: bool = True
) -> Visitor:
    whom = sign_in.contact or "whoever runs this dashboard"
    return Visitor(Person("", "viewer", reason=f"{reason} Ask {whom} for access." if ask else reason), False, action)


def _reachable() -> bool:
    """Whether the page may be in front of somebody at another machine."""
    headers = st.context.headers
    if any(name in headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-Ip")):
        return True
    remote = st.context.ip_address
    return not runtime.loopback(runtime.host()) or (isinstance(remote, str) and not runtime.loopback(remote))


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in many containers
        return str(os.getuid())


class _Watched:
    """A team file that is read again when it changes; a faulty change leaves the last good state in force.

    How people sign in is fixed at the first reading: the server was started with it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self._mark: tuple[int, int, int] | None = None
        self._found: Roster | None = None
        self._lock = threading.Lock()

    def roster(self) -> Roster:
        """The state in force.

        Raises:
            InputError: There has been no good one yet.
        """
        with self._lock:
            mark = self._stamp()
            if self._found is None or mark != self._mark:
                self._read()
                self._mark = mark
            assert self._found is not None
            return self._found

    def _read(self) -> None:
        try:
            fresh = read(self.path)
        except AuditError as error:
            if self._found is None:
                raise
            self.trouble = f"The team file has a fault; what it said before still counts. {error}"
            return
        before = self._found
        self.trouble = ""
        if before is not None and before.sign_in != fresh.sign_in:
            self.trouble = "The team file says something new about signing in. Start the dashboard again to follow it."
            fresh = Roster(before.sign_in, before.team) if before.sign_in.how != fresh.sign_in.how else Roster(
                before.sign_in, fresh.team)  # fmt: skip
        self._found = fresh

    def _stamp(self) -> tuple[int, int, int]:
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size


class _NoFile(_Watched):
    """Without a team file one local person may do everything."""

    def roster(self) -> Roster:
        return Roster()


@cache
def _watched(path: Path | None) -> _Watched:
    return _Watched(path) if path is not None else _NoFile(Path())
