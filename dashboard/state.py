"""What is compared: study, two states, kernel, view. It lives in the URL and persists over pages.

The URL is the truth where it names a value; after a change of page it is empty, and what the session
remembers is written back. Widgets change the URL in their callbacks, never the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.selection import (
    CORRECTED,
    KERNEL,
    KERNELS,
    KEYS,
    NEW,
    OLD,
    STUDY,
    UNCORRECTED,
    VIEW,
    Selection,
    default_pair,
)  # fmt: skip

__all__ = [
    "CORRECTED", "KERNEL", "KERNELS", "KEYS", "NEW", "OLD", "STUDY", "UNCORRECTED", "VIEW", "Selection", "asked",
    "choose", "current", "default_pair", "forget_pair", "remember", "select",
]  # fmt: skip

Row = dict[str, Any]


def current() -> Selection:
    """The selection of this run, made by `app.py` before any page runs."""
    selection: Selection = st.session_state["selection"]
    return selection


def remember(selection: Selection) -> None:
    """Keep a selection for the pages of this run and write it into the URL."""
    st.session_state["selection"] = selection
    values = {**selection.parameters, VIEW: UNCORRECTED if selection.uncorrected else CORRECTED}
    for key, value in values.items():
        st.session_state[f"chosen-{key}"] = value
    wanted = {key: value for key, value in values.items() if key != VIEW or selection.uncorrected}
    address = {key: st.query_params.get_all(key) for key in st.query_params if key not in values}
    if {key: st.query_params[key] for key in values if key in st.query_params} != wanted:
        # one write is one entry in the browser's history; one write a key would be a trap for its back button
        st.query_params.from_dict({**address, **wanted})


def choose(key: str, value: str) -> None:
    """Change one part of the selection; for callbacks of widgets."""
    st.session_state[f"chosen-{key}"] = value
    st.query_params[key] = value


def forget_pair() -> None:
    """Drop states and kernel; another study has others."""
    for key in (OLD, NEW, KERNEL):
        st.session_state.pop(f"chosen-{key}", None)
        if key in st.query_params:
            del st.query_params[key]


def asked(key: str, options: Sequence[str], default: str, what: str, problems: list[str]) -> str:
    """The value of one key: from the URL, else remembered, else the default; says why an asked one is not shown."""
    wanted = st.query_params.get(key)
    if wanted is not None and wanted in options:
        return wanted
    remembered = st.session_state.get(f"chosen-{key}")
    value = str(remembered) if remembered in options else default
    if wanted is not None:
        problems.append(f"The address asks for the {what} “{wanted}”, which is not there. Shown instead: “{value}”.")
    return value


def select(study_ids: Sequence[str], study_of: Any) -> Selection:
    """The selection that URL, memory and the loaded studies allow.

    Args:
        study_ids: Ids of the loaded studies, at least one.
        study_of: Function from an id to the study's row.
    """
    problems: list[str] = []
    study_id = asked(STUDY, study_ids, study_ids[0], "study", problems)
    row = study_of(study_id)
    states = [state["state"] for state in row["states"]]
    old_default, new_default = default_pair(row)
    old = asked(OLD, states, old_default, "old state", problems)
    others = [state for state in states if state != old] or states
    if st.query_params.get(NEW) == old and len(states) > 1:
        problems.append("The address compares a state with itself. A state is compared with another one.")
        del st.query_params[NEW]
    new = asked(NEW, others, new_default if new_default in others else others[-1], "new state", problems)
    kernels = [kernel for kernel in KERNELS if kernel in row["kernels"]] or ["exact"]
    main = row["main_kernel"] if row["main_kernel"] in kernels else kernels[0]
    kernel = asked(KERNEL, kernels, main, "kernel", problems)
    view = asked(VIEW, (CORRECTED, UNCORRECTED), CORRECTED, "view", problems)
    return Selection(study_id, old, new, kernel, view == UNCORRECTED, tuple(problems))
