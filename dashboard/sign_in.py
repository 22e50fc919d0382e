"""What a way to sign in needs before the server starts, and Streamlit's options for it."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from audit_core.errors import InputError, Problem
from audit_core.reviews.roster import SignIn
from dashboard.runtime import PROXIED

NEEDED = ("client_id", "client_secret", "server_metadata_url")
SHORTEST_SECRET = 32
CALLBACK = "/oauth2callback"


def secrets_file(team: Path) -> Path:
    """Where the client's secret and the one of the cookies are: in Streamlit's file beside the team file."""
    return team.resolve().parent / ".streamlit" / "secrets.toml"


def options(sign_in: SignIn, team: Path | None) -> dict[str, Any]:
    """Streamlit's options; the working directory and the environment must not add to them.

    Raises:
        InputError: Packages or secrets that the sign-in needs are missing.
    """
    mapping, secrets = {}, []
    if sign_in.how == "proxy":
        mapping[sign_in.header] = PROXIED
    elif sign_in.how == "oidc" and team is not None:
        check(sign_in, secrets_file(team))
        secrets = [str(secrets_file(team))]
    return {"server.trustedUserHeaders": json.dumps(mapping), "secrets.files": secrets}


def public(sign_in: SignIn, team: Path | None) -> str:
    """The address to which the provider sends people back; empty without one."""
    if sign_in.how != "oidc" or team is None:
        return ""
    try:
        return str(_auth(secrets_file(team)).get("redirect_uri", ""))
    except InputError:
        return ""


def check(sign_in: SignIn, path: Path) -> None:
    """Find everything that a sign-in with a provider lacks. No message quotes a secret.

    Raises:
        InputError: What is missing.
    """
    problems = []
    for module, package in (("authlib", "Authlib"), ("httpx", "httpx")):
        if importlib.util.find_spec(module) is None:
            action = "Install it with: pip install 'snapshot-audit[signin]'"
            problems.append(Problem("signing in needs another package", package, "nothing", "", action))
    try:
        problems += _faults(_auth(path), sign_in, str(path))
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)


def _auth(path: Path) -> dict[str, Any]:
    action = "docs/team.md shows a secrets.toml to start from."
    try:
        found = tomllib.loads(path.read_text("utf-8-sig")).get("auth")
    except FileNotFoundError:
        raise InputError(Problem("signing in needs secrets", "a file", "nothing", str(path), action)) from None
    except (OSError, ValueError) as error:  # of a file with secrets not even the place of a fault is quoted
        found_kind = type(error).__name__
        raise InputError(Problem("the secrets cannot be read", "TOML", found_kind, str(path), action)) from None
    if not isinstance(found, dict):
        raise InputError(
            Problem("the secrets say nothing about signing in", "[auth]", "no such table", str(path), action)
        )
    return found


def _faults(auth: dict[str, Any], sign_in: SignIn, path: str) -> list[Problem]:
    action = "docs/team.md shows a secrets.toml to start from."
    provider = auth if sign_in.provider is None else auth.get(sign_in.provider)
    place = "auth" if sign_in.provider is None else f"auth.{sign_in.provider}"
    if not isinstance(provider, dict):
        return [Problem("the provider is not in the secrets", f"[{place}]", "nothing", path, action)]
    wanted = [("auth", auth, name) for name in ("redirect_uri", "cookie_secret")]
    wanted += [(place, provider, name) for name in NEEDED]
    problems = [
        Problem("an entry for signing in is missing", f"{table}.{name}", "no text", path, action)
        for table, entries, name in wanted
        if not isinstance(entries.get(name), str) or not entries[name]
    ]
    if problems:
        return problems
    secret = auth["cookie_secret"]
    if len(secret) < SHORTEST_SECRET:
        expected, found = f"at least {SHORTEST_SECRET} random characters", f"{len(secret)}"
        problems.append(Problem("auth.cookie_secret is too short", expected, found, path, action))
    back = urlsplit(auth["redirect_uri"])
    if back.scheme not in ("http", "https") or not back.netloc or back.path != CALLBACK:
        expected = f"https://audit.example.org{CALLBACK}"
        problems.append(Problem("auth.redirect_uri is not ours", expected, auth["redirect_uri"], path, action))
    return problems
