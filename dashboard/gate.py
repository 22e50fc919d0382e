"""What a request must be before any page sees it: asked of this host, from this site, with no name that is forged.

Streamlit lets a page of any other port of this machine open its socket, and believes a name in a header whoever sent
it. A page of another site must not reach the dashboard through the visitor's browser either, by a name that it
lets point to this machine (DNS rebinding).
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from audit_core.errors import InputError, Problem
from audit_core.reviews.roster import SignIn

Headers = list[tuple[bytes, bytes]]
SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True)
class Gate:
    """What is let in.

    Attributes:
        hosts: Names under which this dashboard may be asked, beside addresses in numbers, which no site can fake.
        header: Header with a name, as `_plain` writes it; empty where no proxy is trusted.
        secret_header: Header that proves the proxy.
        secret: What must be in it.
    """

    hosts: frozenset[str]
    header: str = ""
    secret_header: str = ""
    secret: bytes = b""

    def refuses(self, scope: Scope) -> str:
        """Why a request is refused; empty where it may pass."""
        headers: Headers = scope["headers"]
        hosts, origins = _values(headers, "host"), _values(headers, "origin")
        if len(hosts) != 1 or not (self._proves(headers) or self._known(hosts[0])):
            return (
                "This dashboard does not answer to the name in the address. Open it by its number or by a name that "
                "its team file lists under hosts."
            )
        if any(_site(origin) != hosts[0].lower() for origin in origins):
            return "A page of another site may not use this dashboard."
        return ""

    def admit(self, scope: Scope) -> Scope:
        """The request without the secret, and without a name unless the secret vouches for it."""
        if not self.header:
            return scope
        headers: Headers = scope["headers"]
        dropped = {self.secret_header}
        if not self._proves(headers) or len(_values(headers, self.header)) != 1:
            dropped.add(self.header)
        return {**scope, "headers": [pair for pair in headers if _plain(pair[0]) not in dropped]}

    def _proves(self, headers: Headers) -> bool:
        given = _values(headers, self.secret_header) if self.secret_header else []
        return len(given) == 1 and hmac.compare_digest(given[0].encode("latin-1"), self.secret)

    def _known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            ipaddress.ip_address(name)
        except ValueError:
            return host.lower().rsplit(":", 1)[0].rstrip(".") in self.hosts
        return True


def gate(sign_in: SignIn, bound: str, public: str = "") -> Gate:
    """The gate for a way to sign in.

    Args:
        sign_in: As the team file says.
        bound: Address that the server listens on.
        public: Address under which people reach it, where one is known.

    Raises:
        InputError: The proxy's secret is missing or too short.
    """
    hosts = {"localhost", socket.gethostname().lower(), bound.lower(), *sign_in.hosts}
    hosts.add((urlsplit(public).hostname or "localhost").lower())
    if sign_in.how != "proxy":
        return Gate(frozenset(hosts))
    secret = os.environ.get(sign_in.secret_variable, "").encode("utf-8", "surrogateescape")
    if len(secret) < SHORTEST_SECRET:
        raise InputError(
            Problem(
                "the proxy's secret is missing or too short",
                f"at least {SHORTEST_SECRET} characters in the environment variable {sign_in.secret_variable}",
                f"{len(secret)} characters" if secret else "nothing",
                "sign_in.secret_variable",
                "Set the variable to the value that the proxy sends, then start again.",
            )
        )
    return Gate(frozenset(hosts), _plain(sign_in.header.encode()), _plain(sign_in.secret_header.encode()), secret)


def _site(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _plain(name: bytes) -> str:
    """A header's name in the one spelling of which all others are variants, also to servers behind."""
    return name.decode("latin-1").strip().lower().replace("_", "-")


def _values(headers: Headers, name: str) -> list[str]:
    return [value.decode("latin-1") for found, value in headers if _plain(found) == name]
