"""The columns of a pair of states as a table of questions, which Triage and Present order and filter."""

from __future__ import annotations

import gc
from typing import Any

import streamlit as st

from audit_core.reviews.queues import Table
from dashboard import data


@st.cache_resource(show_spinner=False, max_entries=8)
def table(mark: data.Stamp, study: str, kernel: str, old: str, new: str) -> Table:
    """The table of a pair of states; shared between sessions.

    Args:
        mark: Identity of the database, `data.stamp`.
        study: Id of the study; likewise `kernel` and the states `old` and `new`.
    """
    columns: dict[str, list[Any]] = data.columns(study, kernel, old, new)
    if old == new:  # a study of one state has answers to read and nothing to compare
        columns = {name: columns[name] for name in ("question_id", "tags", "weight") if name in columns}
    found = Table(columns)
    # Streamlit collects garbage after every interaction; a large table costs nothing once it is out of its sight
    gc.collect()
    gc.freeze()
    return found
