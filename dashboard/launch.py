"""Start the server, say where it is, and stay until it is stopped."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from audit_core.errors import AuditError, InputError, Problem
from audit_core.reviews.names import LOCAL, unfit
from audit_core.reviews.roster import Roster, read
from audit_core.reviews.store import ReviewStore
from dashboard import copies, runtime, sign_in
from dashboard.gate import gate

CONFIG = (Path(__file__).parent / "config.toml", Path(__file__).parent.parent / ".streamlit" / "config.toml")
"""Where an installed package and a checkout keep Streamlit's options."""
PATIENCE = 60.0
FIXED = {
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableAgentApi": False,
    "logger.hideWelcomeMessage": True,
}
"""Options that no file in a working directory may turn."""


def launch(
    db: Path, reviews: Path, port: int, host: str = "127.0.0.1", team: Path | None = None, reviewer: str | None = None
) -> int:
    """Serve the dashboard in this process until it is interrupted.

    Args:
        db: Read model; need not exist, the pages then say how to build it.
        reviews: Verdict store; made at the first verdict.
        port: Port to listen on.
        host: Address to listen on.
        team: Team file; by default the one that the environment names, if any.
        reviewer: Name of the local reviewer, instead of the one that was chosen on the page; likewise.

    Returns:
        0 after an orderly stop, 2 where something given cannot be used (the reason is on stderr).
    """
    team, reviewer = team or runtime.team(), reviewer if reviewer is not None else runtime.reviewer()
    try:
        check_port(host, port)
        settings = {**options(), **who(team, reviewer, host), **FIXED}
    except InputError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
        return error.exit_code
    os.environ[runtime.DATABASE], os.environ[runtime.REVIEWS] = str(db.resolve()), str(reviews.resolve())
    os.environ[runtime.HOST] = host
    if team is not None:
        os.environ[runtime.TEAM] = str(team.resolve())
    if reviewer is not None:
        os.environ[runtime.REVIEWER] = reviewer
    with contextlib.suppress(AuditError):  # a page says what is wrong with them
        ReviewStore(reviews.resolve()).reconcile()  # a server that was killed may have left a verdict in one medium
    threading.Thread(target=_announce, args=(host, port), daemon=True).start()
    threading.Thread(target=copies.keep, args=(reviews.resolve(),), daemon=True).start()
    from dashboard.asgi import app

    with contextlib.suppress(KeyboardInterrupt):
        app.run(config={**settings, "server.port": port, "server.address": host})
    return 0


def who(team: Path | None, reviewer: str | None, host: str) -> dict[str, Any]:
    """Check that people can be known as the team file wants it; returns Streamlit's options for that.

    Raises:
        InputError: What is wrong with the file, or what it needs and does not find.
    """
    roster = read(team) if team is not None else Roster()
    gate(roster.sign_in, host)
    if reviewer is not None:
        problem = None
        if roster.sign_in.how != "local":
            problem = ("a name cannot be given here", "people who sign in", "--reviewer")
        elif lacks := unfit(reviewer):
            problem = ("this cannot be a name", lacks, reviewer)
        elif roster.team.people and roster.known_as(LOCAL + reviewer) is None:
            problem = ("this name is not in the team file", "a name of [people]", reviewer)
        if problem is not None:
            raise InputError(Problem(*problem, "--reviewer", "Give another name, or leave --reviewer out."))
    return sign_in.options(roster.sign_in, team)


def check_port(host: str, port: int) -> None:
    """Fail early and in words; Streamlit itself would search for another port.

    Raises:
        InputError: Another program listens there, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(
            Problem(
                f"the dashboard cannot listen on port {port}",
                "a free port",
                getattr(error, "strerror", None) or str(error),
                f"{host}:{port}",
                "Stop the program that uses it, or choose another with --port.",
            )
        ) from error


def options() -> dict[str, Any]:
    """Streamlit's options by dotted name, from our own file: the working directory must not decide on security.

    Raises:
        InputError: The installation has lost the file.
    """
    found = next((path for path in CONFIG if path.is_file()), None)
    if found is None:
        raise InputError(
            Problem(
                "the dashboard's settings are missing",
                "config.toml beside the package",
                "nothing",
                str(CONFIG[0]),
                "Install the package again.",
            )
        )
    return _flat(tomllib.loads(found.read_text("utf-8")))


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _announce(host: str, port: int) -> None:
    """Print the address once the server answers, so that nobody opens a page that is not there yet."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104  compared, not bound
    address, end = f"http://{shown}:{port}", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:  # noqa: S310  our own http
                if answer.status == 200:
                    print(f"Snapshot audit is at {address} (stop with Ctrl+C)", flush=True)
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
