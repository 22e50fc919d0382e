"""What the browser does by itself on the stage: black and full screen, typed numbers, size, what is read aloud."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.components.keys import sent
from dashboard.presenting.keys import REGISTRY

SLIDE = "stage-slide"
"""Id of the element whose data attributes say what is on screen."""
KEY = "present-stage"
SCALES = (0.75, 1, 1.25, 1.5, 1.75, 2)

_HERE = Path(__file__).parent
STYLE = f"<style>{(_HERE / 'stage.css').read_text('utf-8')}</style>"
_HTML = """
<div class="black" role="img" aria-label="Black screen" hidden></div>
<div class="number" hidden></div>
<div class="said" role="status" aria-live="polite"></div>
<button type="button" class="full" title="Show on the whole screen" hidden>Full screen <kbd>f</kbd></button>
"""
_CSS = """
.black{position:fixed;inset:0;background:#000;z-index:10;cursor:none}
.number{position:fixed;right:4vw;bottom:9vh;font:700 64px/1 var(--st-font);color:var(--st-text-color);
 background:var(--st-background-color);border:2px solid var(--st-border-color);border-radius:14px;padding:14px 24px}
.black[hidden],.number[hidden],.full[hidden]{display:none}
.said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
button{font:inherit;font-size:13px;color:var(--st-text-color);background:transparent;border:1px solid
 var(--st-border-color);border-radius:7px;padding:2px 10px;cursor:pointer;line-height:1.6;white-space:nowrap}
button:focus-visible{outline:2px solid var(--st-primary-color);outline-offset:1px}
kbd{font:12px ui-monospace,monospace;border:1px solid var(--st-border-color);border-bottom-width:2px;
 border-radius:4px;padding:0 5px}
"""

_component = st.components.v2.component(
    "snapshot_audit_stage", html=_HTML, css=_CSS, js=(_HERE / "stage.js").read_text("utf-8")
)


def mount(said: str) -> None:
    """Place it.

    Args:
        said: What a screen reader says of the slide on screen; plain text.
    """
    _component(
        key=KEY, data={"said": said, "keys": sent(REGISTRY, own=True), "slide": SLIDE}, on_scale_change=lambda: None
    )


def scale() -> float:
    """Size of the window, by which figures grow; 1 until the browser has told it."""
    found = (st.session_state.get(KEY) or {}).get("scale")
    return found if isinstance(found, int | float) and found in SCALES else 1
