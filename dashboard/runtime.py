"""What the whole process shares: where its two files are, and everything imported before the first visitor comes."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path

DATABASE = "SNAPSHOT_AUDIT_DB"
REVIEWS = "SNAPSHOT_AUDIT_REVIEWS"


def database() -> Path:
    """The read model, from the environment or `audit.db` in the working directory."""
    return Path(os.environ.get(DATABASE) or "audit.db")


def reviews() -> Path:
    """The verdict store, from the environment or `reviews.db` beside the read model."""
    return Path(os.environ.get(REVIEWS) or database().with_name("reviews.db"))


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
