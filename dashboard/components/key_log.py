"""Presses as an append-only log from the browser: each carries what was on screen, none is lost, none counts twice.

Button shortcuts are not enough for data that feed published numbers: when runs coalesce they lose presses, and a
press that races a repaint is stored for a question the reviewer has not seen. Here the browser numbers each press,
adds the question, base event and undo target that the page showed at that moment, and sends the whole unacknowledged
log as component state; the server takes what is new and acknowledges it. Number and tab make the request's identity,
so a press that arrives again after a crash is still one event. Notes travel in the same log, in order with the presses.

The same listener lets Esc leave a text field, focuses the search box, opens the help dialog, swallows the second
click of a double click on a verdict, and brings a new question to the top of the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard.components.keys import REGISTRY, Key, cap, sent

CARD = "triage-card"
"""Id of the element whose data attributes say what is on screen."""

_JS = """
const memory = new WeakMap();
const typing = (e) => {
  const t = (e.composedPath && e.composedPath()[0]) || e.target;
  return t && (/^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName) || t.isContentEditable) ? t : null;
};
const token = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
};
function helpDialog(root, data) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keys");
  const title = document.createElement("h2");
  title.textContent = "Keys";
  const table = document.createElement("table");
  for (const [key, label, help] of data.help) {
    const row = table.insertRow();
    const cap = document.createElement("kbd");
    cap.textContent = key;
    row.insertCell().append(cap);
    const name = document.createElement("th");
    name.scope = "row";
    name.textContent = label;
    row.append(name);
    row.insertCell().textContent = help;
  }
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.onclick = () => dialog.close();
  dialog.append(title, table, close);
  root.append(dialog);
  return dialog;
}
export default function (component) {
  const { data, parentElement, setStateValue } = component;
  let m = memory.get(parentElement);
  if (!m) {
    m = { log: [], n: 0, tab: token(), item: null, entered: -1000 };
    memory.set(parentElement, m);
  }
  m.data = data;
  m.set = setStateValue;
  m.log = m.log.filter((e) => e.t !== m.tab || e.n > (data.acked[m.tab] || 0));
  if (!m.keydown) {
    m.dialog = helpDialog(parentElement, data);
    const button = parentElement.querySelector("button.open-help");
    button.onclick = () => m.dialog.showModal();
    button.hidden = false;  // seen means: keys work now
    m.send = (action, value, item) => {
      const card = document.getElementById(m.data.card);
      const shown = item ? { ...card?.dataset, item } : card?.dataset || {};
      // after a verdict keys stand down while its question is still on screen: the save is under way
      if (action !== "note" && m.log.some((e) => /^(verdict|label):/.test(e.a) && e.i === shown.item)) return;
      m.n += 1;
      m.log = [...m.log, { n: m.n, t: m.tab, a: action, v: value || "", i: shown.item || "",
                           b: Number(shown.base || 0), u: Number(shown.undo || 0) }];
      m.again(1500);
    };
    // a server that has just come back can drop a message; what was not acknowledged is sent again
    m.again = (wait) => {
      m.set("log", [...m.log]);
      clearTimeout(m.timer);
      m.timer = setTimeout(() => { if (m.log.length) m.again(Math.min(2 * wait, 12000)); }, wait);
    };
    // a note is sent when its field is left, before whatever is pressed next; a crash brings it along
    m.note = (field) => {
      if (!field || !field.matches?.("textarea[data-note]")) return;
      if (field.value === (field.sent ?? field.defaultValue)) return;
      field.sent = field.value;
      m.typing = null;
      m.send("note", field.value, field.dataset.note);
    };
    m.input = (e) => {
      if (e.target.matches?.("textarea[data-note]")) m.typing = [e.target.dataset.note, e.target.value];
    };
    m.left = (e) => m.note(e.target);
    m.flush = () => m.note(document.querySelector("textarea[data-note]"));
    m.keydown = (e) => {
      if (e.repeat || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
      const field = typing(e);
      if (field) {
        if (e.key === "Escape") field.blur();
        const form = e.key === "Enter" && field.dataset?.field && field.closest("details");
        if (form) { e.preventDefault(); form.querySelector("[data-action]")?.click(); }
        return;
      }
      if (m.dialog.open) { if (e.key === "?") { e.preventDefault(); m.dialog.close(); } return; }
      if (document.querySelector('dialog[open], [role="dialog"], [role="listbox"]')) return;
      if (e.key === "?") { e.preventDefault(); m.dialog.showModal(); return; }
      if (e.key === "/") {
        const search = document.querySelector(".st-key-triage-find input");
        if (search) { e.preventDefault(); search.focus(); search.select(); }
        return;
      }
      const action = m.data.keys[e.key.toLowerCase()];
      if (!action) return;
      if (e.key === " " && e.composedPath()[0].closest?.("button, summary, a")) return;  // presses what has the focus
      e.preventDefault();
      if (action.startsWith("open:")) {  // a field of the page, or a fold with a form in it
        const fold = document.getElementById(`triage-${action.slice(5)}`);
        if (fold?.matches("textarea")) fold.focus();
        else if (fold) { fold.open = true; fold.querySelector("[data-field]")?.focus(); }
        return;
      }
      m.flush();
      m.send(action);
    };
    m.click = (e) => {
      const button = e.target.closest && e.target.closest(".sa [data-action]");
      if (!button || button.disabled) return;
      const { action } = button.dataset;
      let { value } = button.dataset;
      if (button.dataset.form !== undefined) {
        const fields = button.closest("details").querySelectorAll("[data-field]");
        value = JSON.stringify(Object.fromEntries([...fields].map((f) => [f.dataset.field, f.value])));
      }
      // the second click of a double click, or a click right after Enter, would fall on the next question's button
      const late = e.detail > 1 || (e.detail === 1 && performance.now() - m.entered < 400);
      if (e.detail === 0) m.entered = performance.now();
      if (late && !["next", "previous", "unreviewed", "pair"].includes(action)) return;
      m.pressed = [action, value];
      m.flush();
      m.send(action, value);
    };
    // others work on the same questions: look again now and then, but never under a hand that is at work
    m.look = setInterval(() => {
      const busy = m.log.length || m.dialog.open || document.hidden || document.querySelector(".sa-menu[open]")
        || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName || "");
      if (m.data.look && !busy) m.set("looked", Date.now());
    }, 1000 * (m.data.look || 3600));
    document.addEventListener("keydown", m.keydown);
    document.addEventListener("click", m.click);
    document.addEventListener("focusout", m.left);
    document.addEventListener("input", m.input);
    window.addEventListener("pagehide", m.flush);
  }
  if (!m.log.length) clearTimeout(m.timer);
  const moved = m.item !== null && m.item !== data.item;
  if (moved) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 });
  m.item = data.item;
  const pressed = m.pressed;
  m.pressed = null;
  // markup that was drawn anew has lost the focus: give it back to the same toggle, or to the new question
  requestAnimationFrame(() => {
    const note = document.querySelector("textarea[data-note]");  // drawn anew by a new server: what was typed stays
    if (note && m.typing && m.typing[0] === note.dataset.note && note.value !== m.typing[1]) {
      note.value = m.typing[1];
      note.focus({ preventScroll: true });
    }
    const active = document.activeElement;
    if (active && active !== document.body) return;
    const same = pressed && [...document.querySelectorAll(".sa [data-action]")].find(
      (b) => b.dataset.action === pressed[0] && b.dataset.value === pressed[1]);
    const target = moved ? document.querySelector(`#${data.card} h1`) : same;
    if (target) target.focus({ preventScroll: true });
  });
  return () => {
    clearTimeout(m.timer);
    clearInterval(m.look);
    document.removeEventListener("keydown", m.keydown);
    document.removeEventListener("click", m.click);
    document.removeEventListener("focusout", m.left);
    document.removeEventListener("input", m.input);
    window.removeEventListener("pagehide", m.flush);
    memory.delete(parentElement);
  };
}
"""

_HTML = '<button type="button" class="open-help" title="Show all keys" hidden>Keys <kbd>?</kbd></button>\n'

_CSS = """
button{font:inherit;font-size:13px;color:var(--st-text-color);background:transparent;border:1px solid
 var(--st-border-color);border-radius:7px;padding:2px 10px;cursor:pointer;line-height:1.6}
button:focus-visible{outline:2px solid var(--st-primary-color);outline-offset:1px}
kbd{font:12px ui-monospace,monospace;border:1px solid var(--st-border-color);border-bottom-width:2px;
 border-radius:4px;padding:0 5px}
dialog{color:var(--st-text-color);background:var(--st-background-color);border:1px solid var(--st-border-color);
 border-radius:12px;padding:16px 22px;max-width:640px;font:15px/1.5 var(--st-font)}
dialog::backdrop{background:rgba(10,15,20,.45)}
h2{font-size:17px;margin:0 0 8px}table{border-collapse:collapse;margin-bottom:12px}
td,th{padding:3px 12px 3px 0;text-align:left;font-weight:400;vertical-align:top}th{font-weight:600;white-space:nowrap}
"""

_component = st.components.v2.component("snapshot_audit_keys", html=_HTML, css=_CSS, js=_JS)


@dataclass(frozen=True, slots=True)
class Press:
    """One press or click of the log, with what the page showed when it happened.

    Attributes:
        request: Identity of the press over crashes and repeats.
        action: As in the registry.
        value: What an in-card button says beside its action.
        item: Question on screen, as `item_of` names it; empty where none was.
        base: Newest event that the page showed for it; None for none.
        undo: Event that the page offered to undo; None for none.
    """

    request: str
    action: str
    value: str
    item: str
    base: int | None
    undo: int | None

    def form(self) -> dict[str, str]:
        """The fields beside a button that sends a form; empty where the value is none."""
        try:
            found = json.loads(self.value)
        except ValueError:
            return {}
        return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def mount(item: str, acked: Mapping[str, int], on_change: Callable[[], None], *, key: str = "triage-keys",
          card: str = CARD, registry: Sequence[Key] = REGISTRY, look: int = 0) -> Any:
    """Place the listener and its *Keys* button.

    Args:
        item: The question that the page shows after this run.
        acked: Last number taken from each tab.
        on_change: Called when the log has grown.
        key: Of the component; the log is found under it in the session's state.
        card: Id of the element whose data attributes say what is on screen.
        registry: The page's keys.
        look: Seconds after which an idle page is drawn anew, so that it shows what others did; 0 for never.

    Returns:
        The log as the browser holds it. After a crash of the server a new session finds presses in it that nobody
        took, and no change that would call `on_change`.
    """
    return _component(
        key=key,
        data={"item": item, "acked": dict(acked), "card": card, "keys": sent(registry), "look": look,
              "help": [[cap(k), k.label, k.help] for k in registry]},
        on_log_change=on_change,
        on_looked_change=_nothing,
    ).get("log")


def _nothing() -> None:
    """A page that only looks again has nothing to do; being drawn anew is all."""


def new_presses(log: Any, acked: dict[str, int]) -> list[Press]:
    """Presses that were not taken before, in order; `acked` is moved on. What is not a press is left out.

    The log comes from a browser, so every part of it is checked.
    """
    found = []
    for entry in log if isinstance(log, list) else []:
        if not isinstance(entry, dict):
            continue
        number, tab = _whole(entry.get("n")), entry.get("t")
        texts = [entry.get(name) for name in ("a", "v", "i")]
        if number is None or not isinstance(tab, str) or not all(
                isinstance(text, str) for text in texts) or number <= acked.get(tab, 0):
            continue
        acked[tab] = number
        action, value, item = map(str, texts)
        found.append(Press(f"{tab[:64]}:{number}", action, value, item, _whole(entry.get("b")),
                           _whole(entry.get("u"))))
    return found


def _whole(number: Any) -> int | None:
    """A number as a browser counts, from 1; a fraction would never be acknowledged, and infinity is none."""
    if not isinstance(number, (int, float)) or not 0 < number < 2**53:
        return None
    return int(number) if number == int(number) else None
