"""What the whole process shares: where its files are, and everything imported before the first visitor comes."""

from __future__ import annotations

import gc
import ipaddress
import os
from functools import cache
from pathlib import Path

DATABASE = "SNAPSHOT_AUDIT_DB"
REVIEWS = "SNAPSHOT_AUDIT_REVIEWS"
TEAM = "SNAPSHOT_AUDIT_TEAM"
REVIEWER = "SNAPSHOT_AUDIT_REVIEWER"
HOST = "SNAPSHOT_AUDIT_HOST"
PROXIED = "name_from_proxy"
"""Where Streamlit keeps the name that a proxy has given; no sign-in writes there."""


def database() -> Path:
    """The read model, from the environment or `audit.db` in the working directory."""
    return Path(os.environ.get(DATABASE) or "audit.db")


def reviews() -> Path:
    """The verdict store, from the environment or `reviews.db` beside the read model."""
    return Path(os.environ.get(REVIEWS) or database().with_name("reviews.db"))


def team() -> Path | None:
    """The team file, from the environment; None for one local person."""
    found = os.environ.get(TEAM)
    return Path(found) if found else None


def reviewer() -> str | None:
    """The name of the local reviewer that was given at the start."""
    return os.environ.get(REVIEWER) or None


def host() -> str:
    """The address that the server listens on."""
    return os.environ.get(HOST, "127.0.0.1")


@cache
def loopback(host: str) -> bool:
    """Whether an address is one of this machine only."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


@cache
def warm() -> None:
    """Once per process: import everything, then take it out of the garbage collector's sight.

    Streamlit collects all generations after every interaction; with a full set of libraries that costs
    65 to 175 ms each time, and nothing once they are frozen. The first figure is built here because plotly
    before 7.2 is not safe when two threads build theirs at once.
    """
    import pandas as pd  # noqa: F401  what tables import at their first use
    import plotly.graph_objects as go
    import pyarrow as pa  # noqa: F401

    from dashboard import shell  # noqa: F401  and with it everything of ours

    figure = go.Figure(go.Bar(y=[1]))
    figure.add_scatter(y=[1], fill="toself")
    figure.add_heatmap(z=[[1]])
    figure.add_annotation(text="x")
    figure.add_shape(type="line")
    figure.to_json()
    gc.collect()
    gc.freeze()
